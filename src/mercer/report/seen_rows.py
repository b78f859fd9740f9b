"""What a machine has seen: rows far from all of it are guesses, and are told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from mercer.tables.columns import counted

Array = NDArray[Any]

# Rows that are kept, and as many others that tell how far rows are from them.
_MOST_ROWS = 2000
# A row is far if its distance is more than this many times that of 99% of the training rows, if nothing else is said.
_FAR_FACTOR, _FAR_SHARE = 1.5, 0.99
# Trees of neighbours are faster than all distances for no more columns than this.
_MOST_TREE_COLUMNS = 8
# Equal rows may seem to be so far apart, in standard deviations.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class SeenRows:
    """Some of the training rows, and the distance from them beyond which a row is far.

    Attributes
    ----------
    rows : array of shape (n_kept, n_columns)
        Drawn from the training rows.
    far : float
        A distance that few training rows have from their nearest neighbours among them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report.seen_rows import SeenRows
    >>> seen = SeenRows.of(np.random.default_rng(0).normal(size=(500, 2)), seed=0)
    >>> (seen.distances(np.array([[0.0, 0.0], [20.0, 0.0]])) > seen.far).tolist()
    [False, True]
    """

    rows: Array
    far: float

    @classmethod
    def of(cls, X: Array, *, seed: int, factor: float = _FAR_FACTOR) -> Self:
        """What has been seen in the rows of X; `factor` is that of `far_distance`."""
        order = np.random.default_rng(seed).permutation(len(X))
        kept, others = X[np.sort(order[:_MOST_ROWS])], X[order[_MOST_ROWS : 2 * _MOST_ROWS]]
        distances = cls(kept, np.inf).distances(others) if len(others) else _to_others(kept)
        return cls(kept, far_distance(distances, factor))

    def distances(self, X: Array) -> Array:
        """Distance of each row from the nearest one that has been seen."""
        return _nearest_distances(self.rows, X, 1)


def far_distance(distances: Array, factor: float = _FAR_FACTOR) -> float:
    """The distance beyond which a row is far: a multiple of that of nearly all training rows."""
    return max(factor * float(np.nanquantile(distances, _FAR_SHARE)), _ROUNDING)


def far_note(result: pl.DataFrame, what: str) -> list[str]:
    """How many rows of a result are far."""
    n_far = int(result["far"].sum())
    if not n_far:
        return []
    return [f"{n_far:,} of {counted(result.height, 'row lies', 'rows lie')} {what}; see the column far."]


def unknown_note(unknown: Array, so: str) -> list[str]:
    """How many rows have nothing that can be read, and what that means."""
    n = int(unknown.sum())
    return [counted(n, "row has", "rows have") + f" no usable entry, {so}: nothing else is known."] if n else []


def _to_others(X: Array) -> Array:
    """Distance of each row from the nearest other one."""
    if len(X) < 2:
        return np.zeros(len(X))
    return _nearest_distances(X, X, 2)


def _nearest_distances(rows: Array, X: Array, n: int) -> Array:
    """Distance of each row of X from the n-th nearest of others: places on maps have few coordinates, tables many."""
    if X.shape[1] <= _MOST_TREE_COLUMNS:
        return np.asarray(cKDTree(rows).query(X, k=[n])[0][:, 0])
    return np.asarray(NearestNeighbors(n_neighbors=n, algorithm="brute").fit(rows).kneighbors(X)[0][:, n - 1])
