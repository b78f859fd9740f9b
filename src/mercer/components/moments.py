"""Covariances of features as sums over rows, with parts of the rows left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array

# Rows whose features are held at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class Moments:
    """Number, sum, and sum of products of some rows of features; those of two sets of rows add up."""

    n: int
    total: Array
    products: Array

    @classmethod
    def of(cls, features: Callable[[Array], Array], positions: Array) -> Moments:
        """Those of the features of rows at some positions, block by block."""
        blocks = (features(positions[start : start + _BLOCK]) for start in range(0, len(positions), _BLOCK))
        return sum_of([cls(len(F), F.sum(axis=0), F.T @ F) for F in blocks])

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.n + other.n, self.total + other.total, self.products + other.products)

    def __sub__(self, other: Moments) -> Moments:
        return Moments(self.n - other.n, self.total - other.total, self.products - other.products)

    @property
    def mean(self) -> Array:
        """Mean of the features."""
        return np.asarray(self.total / self.n)

    @property
    def covariance(self) -> Array:
        """Covariance of the features, over n."""
        return np.asarray(self.products / self.n - np.outer(self.mean, self.mean))


def sum_of(parts: list[Any]) -> Any:
    """The sum of moments."""
    first, *others = parts
    for other in others:
        first = first + other
    return first


def folds_of(n: int, n_folds: int) -> list[Array]:
    """Positions of rows in parts of nearly equal size, drawn with a fixed seed."""
    return [np.sort(part) for part in np.array_split(np.random.default_rng(0).permutation(n), n_folds)]
