"""Products with a few columns of a Gram matrix: what decomposition methods spend their time on."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.gaussian import add_gaussian_products, fill_gaussian_tile
from mercer.kernels.gram.operator import Gram
from mercer.kernels.gram.rows import RowCache
from mercer.kernels.tiles import run_threaded, threads_for

Array = NDArray[Any]

# Rows of one task of a thread: enough to forget its start, few enough to share the work evenly.
_TASK = 2048
# Rows that are added up in single precision before the sum goes to double precision.
_FLUSHED = 256
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


def columns_of(gram: Any, memory: int) -> Columns:
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


class _DenseColumns:
    """Columns of a matrix that is in memory."""

    def __init__(self, K: Array):
        self._K = K
        self.precision = float(np.finfo(K.dtype).eps)

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        total = np.asarray(weights @ self._K[chosen])
        return total if rows is None else total[rows]

    def corner(self, chosen: Array) -> Array:
        return np.ascontiguousarray(self._K[np.ix_(chosen, chosen)])


class _CachedColumns:
    """Columns that are evaluated when they are needed; the ones used last are kept."""

    precision = _SINGLE

    def __init__(self, cache: RowCache):
        self._cache = cache

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        total = np.zeros(self._cache.gram.shape[0])
        for start in range(0, len(chosen), _FLUSHED):
            part = slice(start, start + _FLUSHED)
            total += weights[part].astype(np.float32) @ self._cache.rows(chosen[part])
        return total if rows is None else total[rows]

    def corner(self, chosen: Array) -> Array:
        return self._cache.gram.block(chosen, chosen).astype(np.float32)


class _GaussianColumns:
    """Columns of a Gaussian Gram matrix, which cost less to compute again than to fetch from memory."""

    precision = _SINGLE

    def __init__(self, scaled_rows: Array):
        self._rows = np.ascontiguousarray(scaled_rows, dtype=np.float32)
        self._corner = np.empty(0, dtype=np.float32)  # memory that was used before costs less than fresh one

    def times(self, chosen: Array, weights: Array, rows: Array | None = None) -> Array:
        columns, weights = self._rows[chosen], weights.astype(np.float32)[:, None]
        at = self._rows if rows is None else self._rows[rows]
        total = np.zeros((len(at), 1))

        def work(tile: Any, _: None) -> None:
            add_gaussian_products(at[tile[0]], columns, weights, total[tile[0]])

        run_over_rows(work, len(total), len(chosen))
        return total[:, 0]

    def corner(self, chosen: Array) -> Array:
        columns, n = self._rows[chosen], len(chosen)
        if self._corner.size < n * n:
            self._corner = np.empty(n * n, dtype=np.float32)
        out = self._corner[: n * n].reshape(n, n)

        def work(tile: Any, _: None) -> None:
            fill_gaussian_tile(columns[tile[0]], columns, out[tile[0]])

        run_over_rows(work, n, n, task=_TASK // 8)
        return out


def run_over_rows(work: Any, n_rows: int, n_columns: int, task: int = _TASK) -> None:
    """Call ``work(tile, None)`` for slices of all rows against all columns, on threads where there is enough to do."""
    tiles = ((slice(start, min(start + task, n_rows)), slice(0, n_columns)) for start in range(0, n_rows, task))
    run_threaded(work, tiles, lambda: None, threads_for(n_rows * n_columns))
