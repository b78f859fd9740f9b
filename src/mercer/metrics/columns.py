"""Columns that a metric can be learned on: known everywhere, standardised, and not too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer.metrics.tuning import TUNING

Array = NDArray[Any]

# Spread below this share of the largest value is rounding: such columns count as constant.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Columns:
    """Standardised columns, followed by one indicator for each column that has missing values.

    A missing value counts as the mean of its column, so that it says nothing; that it is missing may say something,
    and has a weight of its own.

    Attributes
    ----------
    mean, spread : array of shape (d,)
        Of the known values; columns that do not vary have the spread inf and are zero.
    missing : array of int
        Columns with an indicator.
    indicator_mean, indicator_spread : array
        Of the indicators.
    """

    mean: Array
    spread: Array
    missing: Array
    indicator_mean: Array
    indicator_spread: Array

    @classmethod
    def fit(cls, X: Array) -> Self:
        """Mean and spread of the columns of X, where NaN is a missing value."""
        unknown = np.isnan(X)
        mean, spread = _moments(X)
        missing = np.flatnonzero(unknown.any(axis=0) & ~unknown.all(axis=0))
        indicator_mean, indicator_spread = _moments(unknown[:, missing].astype(np.float64))
        return cls(mean, spread, missing, indicator_mean, indicator_spread)

    def transform(self, X: Array) -> Array:
        """Standardised columns and indicators."""
        unknown = np.isnan(X)
        Z = np.where(unknown, 0.0, X / self._unit - self.mean / self._unit) / (self.spread / self._unit)
        indicators = (unknown[:, self.missing] - self.indicator_mean) / self.indicator_spread
        return np.hstack([Z, indicators])

    @property
    def _unit(self) -> Array:
        """A power of two near the spread: differences of huge values must not overflow."""
        finite = np.where(np.isfinite(self.spread), self.spread, 1.0)
        return np.asarray(2.0 ** np.floor(np.log2(finite)))

    @property
    def varies(self) -> Array:
        """Which columns and indicators are not constant."""
        return np.isfinite(np.concatenate([self.spread, self.indicator_spread]))

    def sources(self) -> Array:
        """The column of X that each column or indicator comes from."""
        return np.concatenate([np.arange(len(self.mean)), self.missing])


def _moments(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the known values of each column; inf for columns that do not vary."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    size = np.max(np.abs(X), axis=0, initial=0.0, where=known)
    unit = np.where(size > 0, size, 1.0)
    scaled = np.where(known, X / unit, 0.0)
    mean = scaled.sum(axis=0) / count
    spread = np.sqrt(np.sum(np.where(known, scaled - mean, 0.0) ** 2, axis=0) / count)
    return mean * unit, np.where(spread > _ROUNDING, spread * unit, np.inf)


def relevance(X: Array, Y: Array) -> Array:
    """Share of the variance of the targets that each column explains by itself: the correlation ratio of ten bins.

    The largest of several targets. Bins hold the same number of rows; equal values come into one bin.
    """
    n = len(X)
    bins = np.minimum(TUNING.n_bins * (rankdata(X, axis=0) - 0.5) / n, TUNING.n_bins - 1).astype(np.intp)
    centred = Y - Y.mean(axis=0)
    total = np.maximum(np.sum(centred**2, axis=0), np.finfo(np.float64).tiny)
    shares = np.zeros(X.shape[1])
    for j, column in enumerate(bins.T):
        count = np.maximum(np.bincount(column, minlength=TUNING.n_bins), 1)
        for y, y_total in zip(centred.T, total, strict=True):
            between = np.sum(np.bincount(column, y, TUNING.n_bins) ** 2 / count)
            shares[j] = max(shares[j], float(between / y_total))
    return shares


def group_numbers(groups: Sequence[Sequence[int]] | None, d: int, sources: Array) -> Array:
    """The number of the weight of each column: shared within the groups, one for each other column and indicator.

    Numbers are those of the first column of each group; the indicators of a group share one, too.
    """
    leader = np.arange(d)
    for group in groups or ():
        leader[list(group)] = min(group)
    is_indicator = np.arange(len(sources)) >= d
    return leader[sources] + d * is_indicator
