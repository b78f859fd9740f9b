"""Training rows that a model keeps: predictions for rows far from all of them are marked as guesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import counted
from mercer.workflows.nearest_rows import nearest_rows

# Rows that are kept, and as many others, whose distances to them set the limit.
_MOST_ROWS = 2000
# A row is far if its distance is more than this many times that of 99% of the training rows, by default.
_FAR_FACTOR, _FAR_SHARE = 1.5, 0.99
# Rounding of the distance between equal rows, in standard deviations.
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
    >>> from mercer.workflows.seen_rows import SeenRows
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
        return nearest_rows(self.rows, X, 1)[0][:, 0]


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
    return nearest_rows(X, X, 2)[0][:, 1]
