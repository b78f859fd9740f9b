"""Rows of a Gram matrix on demand, with a cache: what solvers that touch few rows at a time work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mercer.kernels.gram.operator import Gram
from mercer.kernels.positions import positions

Array = NDArray[Any]


class RowCache:
    """Rows of a Gram matrix; those used last are kept within a memory budget.

    Parameters
    ----------
    gram : Gram
        The matrix.
    memory : int
        Bytes for the rows that are kept. A small cache is often the fastest: computing a row again may cost less than
        touching fresh memory.
    dtype : dtype, optional
        Precision in which rows are kept and returned; by default that of the matrix.

    Attributes
    ----------
    n_computed : int
        Number of rows evaluated so far.
    n_found : int
        Number of rows found in the cache so far.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram, RowCache
    >>> cache = RowCache(Gram(Gaussian(), np.arange(6.0)[:, None]))
    >>> _ = cache.rows([0, 2]), cache.rows([2, 3])
    >>> cache.n_computed, cache.n_found
    (3, 1)
    """

    def __init__(self, gram: Gram, *, memory: int = 100 * 2**20, dtype: DTypeLike | None = None):
        self.gram = gram
        self.dtype = np.dtype(gram.dtype if dtype is None else dtype)
        self.capacity = min(gram.shape[0], memory // (self.dtype.itemsize * gram.shape[1]))
        if self.capacity < min(2, gram.shape[0]):
            needed = 2 * self.dtype.itemsize * gram.shape[1]
            raise ValueError(f"memory of RowCache must hold two rows, got {memory}; give {needed} bytes or more.")
        self.n_computed = 0
        self.n_found = 0
        self._values = np.empty((self.capacity, gram.shape[1]), dtype=self.dtype)
        self._slot_of_row = np.full(gram.shape[0], -1)
        self._row_in_slot = np.full(self.capacity, -1)
        self._last_use = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0

    def rows(self, indices: ArrayLike) -> Array:
        """The rows `indices` of the matrix as a new array; those that are missing are evaluated together."""
        wanted = positions(indices, self.gram.shape[0], "indices")
        result = np.empty((len(wanted), self.gram.shape[1]), dtype=self.dtype)
        slots = self._slot_of_row[wanted]
        known = slots >= 0
        result[known] = self._values[slots[known]]
        self._clock += 1
        self._last_use[slots[known]] = self._clock
        missing, where = np.unique(wanted[~known], return_inverse=True)
        if missing.size:
            fresh = self.gram.block(missing).astype(self.dtype, copy=False)
            result[~known] = fresh[where]
            self._keep(missing, fresh)
        self.n_computed += missing.size
        self.n_found += int(known.sum())
        return result

    def _keep(self, rows: Array, values: Array) -> None:
        """Store as many rows as fit in place of those that were used longest ago."""
        rows, values = rows[: self.capacity], values[: self.capacity]
        slots = np.argpartition(self._last_use, len(rows) - 1)[: len(rows)]
        dropped = self._row_in_slot[slots]
        self._slot_of_row[dropped[dropped >= 0]] = -1
        self._values[slots] = values
        self._slot_of_row[rows] = slots
        self._row_in_slot[slots] = rows
        self._last_use[slots] = self._clock
