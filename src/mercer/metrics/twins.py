"""Columns that are the same but for their units: what they tell cannot be distinguished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from mercer.arrays import Array

# Standardised columns that differ by less than this are the same.
_EQUAL = 1e-9
# Most twins that are named.
_MOST_NAMED = 3


@dataclass(frozen=True)
class Twins:
    """Which standardised columns are equal to others, or to their negatives.

    Attributes
    ----------
    leaders : array of int
        For each column the first that it is equal to.
    signs : array
        -1 for the negative of that column, else 1.
    """

    leaders: Array
    signs: Array

    @classmethod
    def among(cls, Z: Array, groups: Array) -> Self:
        """Those among columns that do not share a group already.

        Candidates are neighbours in the order of a random projection, which is the same for equal columns.
        """
        n, d = Z.shape
        projections = np.abs(np.random.default_rng(0).normal(size=n) @ Z)
        order = np.argsort(projections, kind="stable")
        leaders, signs = np.arange(d), np.ones(d)
        for before, column in pairwise(order):
            if groups[before] == groups[column] or projections[column] - projections[before] > n * _EQUAL:
                continue
            sign = 1.0 if Z[:, before] @ Z[:, column] > 0 else -1.0
            if np.all(np.abs(Z[:, before] - sign * Z[:, column]) <= _EQUAL):
                _join(leaders, signs, before, column, sign)
        return cls(leaders, signs)

    def sharing(self, groups: Array) -> Array:
        """Groups, of which those with the same column are one."""
        for column in np.flatnonzero(self.leaders != np.arange(len(self.leaders))):
            groups = np.where(groups == groups[column], groups[self.leaders[column]], groups)
        return groups

    def together(self, slopes: Array) -> Array:
        """Slopes along columns, on the last axis, where twins move together: each has the sum of all."""
        moved = slopes.copy()
        for leader in np.unique(self.leaders[self.leaders != np.arange(len(self.leaders))]):
            members = np.flatnonzero(self.leaders == leader)
            moved[..., members] = (slopes[..., members] @ self.signs[members])[..., None]
        return moved

    def words(self, names: Sequence[Any]) -> list[str]:
        """A sentence on the twins among the first columns, which have names."""
        later = np.flatnonzero(self.leaders[: len(names)] != np.arange(len(names)))
        if not later.size:
            return []
        named = [f"{names[j]} (of {names[self.leaders[j]]})" for j in later[:_MOST_NAMED]]
        rest = f" and {len(later) - _MOST_NAMED} more" if len(later) > _MOST_NAMED else ""
        say = (
            f"{len(later)} columns are duplicates and share" if len(later) > 1 else "1 column is a duplicate and shares"
        )
        return [f"{say} the weight: {', '.join(named)}{rest}."]


def _join(leaders: Array, signs: Array, left: int, right: int, sign: float) -> None:
    """Make one family of those of two columns that are equal but for a sign."""
    flip = sign * signs[left] * signs[right]
    first, second = leaders[left], leaders[right]
    if first > second:
        first, second = second, first
    members = leaders == second
    leaders[members], signs[members] = first, flip * signs[members]
