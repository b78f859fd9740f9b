"""Products with a few columns of a Gram matrix: what decomposition methods spend their time on."""

from __future__ import annotations

from copy import copy
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from mercer.arrays import Array
from mercer.kernels.gaussian import add_gaussian_products, fill_gaussian_tile
from mercer.kernels.gram.matrix import GramMatrix
from mercer.kernels.gram.operator import Gram
from mercer.kernels.gram.rows import RowCache, fill_with_part
from mercer.threads import run_over_rows

# Rows of a block that are one task of a thread.
_ROWS_OF_BLOCK = 256
_SINGLE = float(np.finfo(np.float32).eps)


class Columns(Protocol):
    """Some columns of a symmetric matrix K at a time, to single precision or better.

    Attributes
    ----------
    precision : float
        Relative rounding of their entries.
    """

    precision: float

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        """Σ_j weights_j K[rows, chosen_j] in float64; all rows by default."""

    def corner(self, chosen: Array) -> Array:
        """K[chosen, chosen], C-contiguous; it may be overwritten by the next call."""


def columns_of(gram: GramMatrix | Array, memory: int) -> Columns:
    """The columns of a matrix, or of a Gram matrix that is not formed; kept ones take at most `memory` bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram, columns_of
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> columns = columns_of(Gram(Gaussian(), X), memory=2**20)
    >>> chosen, weights = np.array([3, 5]), np.array([1.0, -2.0])
    >>> np.allclose(columns.times(chosen, weights), Gaussian()(X)[:, chosen] @ weights, atol=1e-6)
    True
    """
    if not isinstance(gram, Gram):
        return _DenseColumns(np.asarray(gram))
    scaled = gram.kernel._gaussian_rows(gram._sides)
    return (
        _CachedColumns(RowCache(gram, memory=memory, dtype=np.float32)) if scaled is None else _GaussianColumns(scaled)
    )


def shifted_columns_of(gram: GramMatrix | Array, shift: float) -> Columns:
    """The columns of a matrix less a constant, for matrices of which single precision would keep the constant alone.

    Everything is evaluated in double precision. Products are those with the matrix itself: for weights that add up to
    zero there is no difference.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram, shifted_columns_of
    >>> X = np.array([[0.0], [1.0]])
    >>> shifted_columns_of(Gram(Gaussian(1e4), X), shift=1.0).corner(np.array([0, 1]))
    array([[ 0.e+00, -5.e-09],
           [-5.e-09,  0.e+00]], dtype=float32)
    """
    return _ShiftedColumns(_DoubleColumns(gram) if isinstance(gram, Gram) else _DenseColumns(np.asarray(gram)), shift)


class UsedMemory:
    """Memory for one square matrix after the other: it costs less than fresh one."""

    def __init__(self) -> None:
        self._values = np.empty(0, dtype=np.float32)

    def square(self, n: int, dtype: DTypeLike) -> Array:
        """An array of shape (n, n), in place of the last one."""
        if self._values.size < n * n or self._values.dtype != dtype:
            self._values = np.empty(n * n, dtype=dtype)
        return self._values[: n * n].reshape(n, n)


class _DenseColumns:
    """Columns of a matrix that is in memory."""

    def __init__(self, K: Array):
        self._K = K if K.flags.c_contiguous else np.ascontiguousarray(K.T)
        self._memory = UsedMemory()
        self.precision = float(np.finfo(K.dtype).eps)

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        total = _sum_of_rows(self._K, chosen, weights)
        return total if rows is None else total[rows]

    def corner(self, chosen: Array) -> Array:
        return fill_with_part(self._K, chosen, chosen, self._memory.square(len(chosen), self._K.dtype))


class _DoubleColumns:
    """Columns of a Gram matrix in double precision, which are evaluated when they are needed."""

    precision = float(np.finfo(np.float64).eps)

    def __init__(self, gram: Gram):
        self._gram = copy(gram)
        self._gram.dtype = np.dtype(np.float64)  # also for rows in single precision

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        total = np.asarray(self._gram.columns(chosen) @ weights)
        return total if rows is None else total[rows]

    def corner(self, chosen: Array) -> Array:
        return self._gram.block(chosen, chosen)


class _ShiftedColumns:
    """Products with columns, and their blocks less a constant."""

    precision = _SINGLE

    def __init__(self, columns: Columns, shift: float):
        self.times = columns.times
        self._columns, self._shift = columns, shift

    def corner(self, chosen: Array) -> Array:
        return (self._columns.corner(chosen) - self._shift).astype(np.float32)


class _CachedColumns:
    """Columns that are evaluated when they are needed; the ones used last are kept."""

    precision = _SINGLE

    def __init__(self, cache: RowCache):
        self._cache = cache
        self._memory = UsedMemory()

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        cache, n_kept = self._cache, self._cache.capacity
        total = _sum_of_rows(cache.values, cache.places(chosen[:n_kept]), weights[:n_kept])
        if len(chosen) > n_kept:
            total += cache.gram.columns(chosen[n_kept:]) @ weights[n_kept:]
        return total if rows is None else total[rows]

    def corner(self, chosen: Array) -> Array:
        return self._cache.part(chosen, chosen, self._memory.square(len(chosen), self._cache.dtype))


class _GaussianColumns:
    """Columns of a Gaussian Gram matrix, which cost less to compute again than to fetch from memory."""

    precision = _SINGLE

    def __init__(self, scaled_rows: Array):
        self._rows = np.ascontiguousarray(scaled_rows, dtype=np.float32)
        self._memory = UsedMemory()

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        columns, weights = self._rows[chosen], weights.astype(np.float32)[:, None]
        at = self._rows if rows is None else self._rows[rows]
        total = np.zeros((len(at), 1))

        def work(part: slice) -> None:
            add_gaussian_products(at[part], columns, weights, total[part])

        run_over_rows(work, len(total), len(chosen))
        return total[:, 0]

    def corner(self, chosen: Array) -> Array:
        columns, out = self._rows[chosen], self._memory.square(len(chosen), np.float32)

        def work(part: slice) -> None:
            fill_gaussian_tile(columns[part], columns, out[part])

        run_over_rows(work, len(out), len(out), task=_ROWS_OF_BLOCK)
        return out


def _sum_of_rows(K: Array, rows: Array, weights: Array) -> Array:
    """Σ_i weights_i K[rows_i], in float64."""
    from mercer.kernels.gram.rows_numba import add_rows

    weights, total = np.ascontiguousarray(weights, dtype=K.dtype), np.zeros(K.shape[1])

    def work(part: slice) -> None:
        add_rows(K, rows, weights, part.start, total[part])

    run_over_rows(work, len(total), len(rows))
    return total
