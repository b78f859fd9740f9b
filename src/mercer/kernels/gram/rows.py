"""Rows of a Gram matrix on demand, with a cache: what solvers that touch few rows at a time work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mercer.arrays import Array
from mercer.kernels.gram.operator import Gram
from mercer.kernels.positions import positions
from mercer.kernels.tiles import Tile, rectangle, take
from mercer.threads import run_over_rows, run_threaded, threads_for

# Rows of which one task of a thread copies parts.
_GATHERED = 256


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
        Precision in which rows are kept and returned; by default that of the matrix. In single precision some rows are
        evaluated in it as well, to six digits: those of Gaussians of many columns, where that is much faster.

    Attributes
    ----------
    n_computed : int
        Number of rows, or parts of rows, evaluated so far.
    n_found : int
        Number of rows found in the cache so far.
    capacity : int
        Number of rows that may be kept.
    values : array of shape (capacity, n)
        The rows that are kept; `places` says where.

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
        self.values = np.empty((self.capacity, gram.shape[1]), dtype=self.dtype)
        self._sides = gram._sides if self.dtype == np.float64 else gram.kernel._single_sides(gram._sides)
        self._slot_of_row = np.full(gram.shape[0], -1)
        self._row_in_slot = np.full(self.capacity, -1)
        self._last_use = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0

    def rows(self, indices: ArrayLike) -> Array:
        """The rows `indices` of the matrix as a new array; if there is room for all of them, they are kept."""
        wanted = positions(indices, self.gram.shape[0], "indices")
        if len(wanted) <= self.capacity:
            return np.asarray(self.values[self.places(wanted)])
        out = np.empty((len(wanted), self.gram.shape[1]), dtype=self.dtype)
        return self.part(wanted, np.arange(self.gram.shape[1]), out)

    def places(self, wanted: Array) -> Array:
        """Where rows, at most `capacity` of them, lie in `values` until the next call; missing ones are evaluated."""
        slots = self._slots_of_known(wanted)
        missing = np.unique(wanted[slots < 0])
        if missing.size:
            self._keep(missing)
        return self._slot_of_row[wanted]

    def part(self, wanted: Array, columns: Array, out: Array) -> Array:
        """Some columns of some rows, written to `out`; whole rows are evaluated, and kept, if there is room for all."""
        slots = self.places(wanted) if self.capacity == self.gram.shape[0] else self._slots_of_known(wanted)
        known, missing = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        fill_with_part(self.values, slots[known], columns, out, known)
        if missing.size:
            self._evaluate(wanted[missing], columns, out, missing)
        return out

    def _slots_of_known(self, wanted: Array) -> Array:
        """Places of rows, negative for those that are missing; they count as used now."""
        slots = self._slot_of_row[wanted]
        known = slots[slots >= 0]
        self._clock += 1
        self._last_use[known] = self._clock
        self.n_found += len(known)
        return slots

    def _keep(self, rows: Array) -> None:
        """Put rows in the places of those that were used longest ago."""
        slots = np.argpartition(self._last_use, len(rows) - 1)[: len(rows)]
        dropped = self._row_in_slot[slots]
        self._slot_of_row[dropped[dropped >= 0]] = -1
        self._row_in_slot[slots] = -1  # until all are written: that may be interrupted
        self._evaluate(rows, slice(None), self.values, slots)
        self._slot_of_row[rows] = slots
        self._row_in_slot[slots] = rows
        self._last_use[slots] = self._clock

    def _evaluate(self, rows: Array, columns: Any, out: Array, places: Array) -> None:
        """Write some columns of some rows to places of another array."""
        kernel, left, right = self.gram.kernel, take(self._sides.left, rows), take(self._sides.right, columns)

        def write(tile: Tile, _: None) -> None:
            out[places[tile[0]], tile[1]] = kernel._tile(take(left, tile[0]), take(right, tile[1]))

        run_threaded(write, rectangle(len(rows), out.shape[1]), lambda: None, threads_for(len(rows) * out.shape[1]))
        self.n_computed += len(rows)


def fill_with_part(K: Array, rows: Array, columns: Array, out: Array, places: Array | None = None) -> Array:
    """Write K[rows][:, columns] to `out`, or to some rows of it; returns `out`."""
    from mercer.kernels.gram.rows_numba import copy_parts

    places = np.arange(len(rows)) if places is None else places
    ascending, ranks = np.unique(columns, return_inverse=True)

    def work(part: slice) -> None:
        copy_parts(K, rows[part], ascending, ranks, out, places[part])

    run_over_rows(work, len(rows), len(columns), task=_GATHERED)
    return out
