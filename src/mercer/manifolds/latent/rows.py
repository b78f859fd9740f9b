"""Rows some of whose entries may be missing, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.threads import allowed_threads

# Numbers in the largest temporary array of a block of rows.
_BLOCK = 2**19
# So few rows are done before a second thread has started.
_FEW_ROWS = 500


class Rows:
    """Rows with their missing entries, NaN, set to zero and remembered.

    Attributes
    ----------
    X : array of shape (m, d)
        The rows.
    seen : array of shape (m, d) or None
        1 where an entry is known; None if all are.
    n_threads : int
        Threads that may work on them.
    """

    def __init__(self, X: Array):
        missing = np.isnan(X)
        self.seen = None
        if missing.any():
            self.seen = (~missing).astype(np.float64)
            X = np.where(missing, 0.0, X)
        self.X = np.require(X, np.float64, ["C", "W"])  # compiled functions take no arrays that are read-only
        self.n_threads = allowed_threads() if len(X) > _FEW_ROWS else 1

    def __len__(self) -> int:
        return len(self.X)

    def divided(self) -> tuple[Array, Array]:
        """Positions of rows with missing entries, and of those without."""
        holes = np.zeros(len(self), dtype=bool) if self.seen is None else (self.seen == 0).any(axis=1)
        return np.flatnonzero(holes), np.flatnonzero(~holes)

    def part(self, positions: Array) -> Rows:
        """Some of the rows."""
        if self.seen is None:
            return Rows(self.X[positions])
        return Rows(np.where(self.seen[positions] > 0, self.X[positions], np.nan))

    def residuals(self, rows: Any, F: Array) -> Array:
        """X - f for some rows, 0 where x is missing."""
        R = self.X[rows] - F
        if self.seen is not None:
            R *= self.seen[rows]
        return R

    def blocks(self, n_columns: int) -> Iterator[slice]:
        """Slices of rows so short that n_columns numbers for each of them are no burden."""
        height = max(64, _BLOCK // n_columns)
        for start in range(0, len(self), height):
            yield slice(start, min(start + height, len(self)))
