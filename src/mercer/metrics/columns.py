"""Columns that a metric can be learned on: known everywhere, standardised, and not too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import norm, rankdata

from mercer.arrays import Array
from mercer.metrics.tuning import TUNING

# Spread below this fraction of the largest value is rounding: such columns count as constant.
_LEAST_SPREAD = 1e-13
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class Columns:
    """Standardised columns, followed by one indicator for each column that has missing values.

    A missing value counts as the mean of its column, so that it says nothing; that it is missing may say something,
    and has a weight of its own.

    Attributes
    ----------
    mean, spread : array of shape (d,)
        Of the known values; columns that do not vary have the spread inf and are zero. Robust ones are the median and
        the interquartile range in units of the standard deviation of a Gaussian.
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
    def fit(cls, X: Array, *, robust: bool = False) -> Self:
        """Mean and spread of the columns of X, where NaN is a missing value."""
        unknown = np.isnan(X)
        mean, spread = _robust_moments(X) if robust else _moments(X)
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
    return mean * unit, np.where(spread > _LEAST_SPREAD, spread * unit, np.inf)


def _robust_moments(X: Array) -> tuple[Array, Array]:
    """Median and scaled interquartile range; the moments where half of the values or more are equal."""
    mean, spread = _moments(X)
    varies = np.isfinite(spread)
    low, median, high = np.nanquantile(X[:, varies], [0.25, 0.5, 0.75], axis=0)
    # Halves are taken before the difference, which may overflow.
    middle = 2.0 * np.minimum((0.5 * high - 0.5 * low) / (norm.ppf(0.75) - norm.ppf(0.25)), 0.5 * _LARGEST)
    is_wide = middle > _LEAST_SPREAD * np.maximum(np.abs(low), np.abs(high))
    mean[varies] = np.where(is_wide, median, mean[varies])
    spread[varies] = np.where(is_wide, middle, spread[varies])
    return mean, spread


@contextmanager
def text_refused(X: Any, owner: str) -> Iterator[None]:
    """Where rows are read as numbers: say what to do with categories."""
    try:
        yield
    except ValueError as error:
        values = np.asarray(X)
        if not any(isinstance(value, str) for value in (values.ravel() if values.dtype.kind in "OU" else ())):
            raise
        raise ValueError(
            f"X of {owner} must hold numbers to have a learned metric, got text ({error}); give categories as one "
            "column for each level, as pandas.get_dummies does, and name these in the groups of a LearnedMetric."
        ) from error


def most_relevant(X: Array, Y: Array, groups: Array) -> Array:
    """Which columns to use: all, unless they are very many; then those of the groups that tell most by themselves.

    Groups are taken or left as a whole, in the order of their relevance, as long as there is room.
    """
    if len(groups) <= TUNING.most_columns:
        return np.ones(len(groups), dtype=bool)
    used = np.zeros(len(groups), dtype=bool)
    for group in np.argsort(-relevance(X, Y, groups), kind="stable"):
        members = groups == group
        if not used.any() or used.sum() + members.sum() <= TUNING.most_columns:
            used |= members
        if used.sum() >= TUNING.most_columns:
            break
    return used


def relevance(X: Array, Y: Array, groups: Array) -> Array:
    """Fraction of the variance of the targets that each group of columns explains by itself, beyond what chance does.

    The adjusted correlation ratio of ten bins: the largest of several targets. Bins hold the same number of rows; equal
    values come into one bin. A group counts as much as the best of its columns, and not less than the cells that the
    bins of all its columns make together, as levels of a category do.
    """
    n, centred = len(X), Y - Y.mean(axis=0)
    bins = np.minimum(TUNING.n_bins * (rankdata(X, axis=0) - 0.5) / n, TUNING.n_bins - 1).astype(np.intp)
    shares = np.full(int(groups.max()) + 1, -np.inf)
    np.maximum.at(shares, groups, [_correlation_ratio(column, centred) for column in bins.T])
    sizes = np.bincount(groups)
    for group in np.flatnonzero(sizes > 1):
        cells = np.unique(bins[:, groups == group], axis=0, return_inverse=True)[1].ravel()
        shares[group] = max(shares[group], _correlation_ratio(cells, centred))
    return shares


def _correlation_ratio(cells: Array, centred: Array) -> float:
    """Fraction of the variance between cells, less that of random cells; zero if each row is a cell of its own."""
    n, count = len(cells), np.bincount(cells)
    n_cells = np.count_nonzero(count)
    if n_cells == n:
        return 0.0
    sums = np.column_stack([np.bincount(cells, y) for y in centred.T])
    between = np.sum(sums**2 / np.maximum(count, 1)[:, None], axis=0)
    total = np.maximum(np.sum(centred**2, axis=0), np.finfo(np.float64).tiny)
    return 1.0 - (1.0 - float(np.max(between / total))) * (n - 1) / (n - n_cells)


def group_numbers(groups: Sequence[Sequence[int]] | None, d: int, sources: Array) -> Array:
    """The number of the weight of each column: shared within the groups, one for each other column and indicator.

    Numbers are those of the first column of each group; the indicators of a group share one, too.
    """
    leader = np.arange(d)
    for group in groups or ():
        leader[list(group)] = min(group)
    is_indicator = np.arange(len(sources)) >= d
    return leader[sources] + d * is_indicator
