"""Gram matrices of many kernels from one distance matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.distances import distance_sides, squared_distance_tile
from mercer.kernels.tiles import Tile, fill, fill_symmetric, mirror, take


def gram_family(kernels: Iterable[Kernel], X: Any, Y: Any = None, *, reuse_buffer: bool = False) -> Iterator[Array]:
    """Gram matrices of several kernels on the same data, one after the other.

    The squared distances are computed once; each stationary kernel only applies its own function to them. A kernel
    that is not stationary is evaluated as usual.

    Parameters
    ----------
    kernels : iterable of Kernel
        For example ``[Gaussian(w) for w in widths_for(X)]``.
    X, Y : array_like
        Rows and columns; Y = None means X.
    reuse_buffer : bool
        Write every matrix into the same memory: faster, since fresh memory costs as much as the arithmetic, but each
        matrix is overwritten by the next one. Memory: two matrices then, else one more for each that is kept.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import gram_family
    >>> [K.sum().round(2) for K in gram_family([Gaussian(1.0), Gaussian(2.0)], [[0.0], [1.0]])]
    [np.float64(3.21), np.float64(3.76)]
    """
    r2: Array | None = None
    buffer: Array | None = None
    for kernel in kernels:
        if not kernel.stationary:
            yield kernel(X, Y)
            continue
        if r2 is None:
            X_rows, Y_rows = kernel._check_rows(X, Y, accept_sparse=True)
            r2, n_columns = _squared_distances(X_rows, Y_rows), X_rows.shape[1]
        if buffer is None or not reuse_buffer:
            buffer = np.empty_like(r2, dtype=X_rows.dtype)
        (fill_symmetric if Y is None else fill)(buffer, partial(_of_tile, kernel, r2, n_columns))
        yield buffer


def _of_tile(kernel: Any, r2: Array, n_columns: int, tile: Tile) -> Array:
    return kernel.of_squared_distance(r2[tile], n_columns)


def _squared_distances(X: Any, Y: Any) -> Array:
    sides = distance_sides(X, Y, 1.0)
    r2 = np.empty(sides.shape)

    def value_of(tile: Tile) -> Array:
        rows, columns = tile
        left, right = take(sides.left, rows), take(sides.right, columns)
        values = squared_distance_tile(left, right, exact_near_zero=True)
        if Y is None and rows == columns:
            mirror(values)
            np.fill_diagonal(values, 0.0)
        return values

    (fill_symmetric if Y is None else fill)(r2, value_of)
    return r2
