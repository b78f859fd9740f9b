"""Gram matrices tile by tile: small enough for the cache, spread over threads, symmetric halves computed once.

A tile of 384 x 384 doubles (1.2 MB) was the fastest on the machines measured (``benchmarks/kernels.py``): smaller ones
pay Python's overhead, larger ones leave the cache between the matrix product and the exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.threads import run_threaded, threads_for

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel, Sides

TILE = 384
_STRIP = 64

Tile = tuple[slice, slice]


def rectangle(n_rows: int, n_columns: int, side: int = TILE) -> Iterator[Tile]:
    """Tiles of a whole matrix, row by row: square, or longer where the matrix is narrow."""
    height = max(side, side**2 // max(1, n_columns))
    width = max(side, side**2 // max(1, n_rows))
    for i in range(0, n_rows, height):
        for j in range(0, n_columns, width):
            yield slice(i, min(i + height, n_rows)), slice(j, min(j + width, n_columns))


def upper_triangle(n: int, side: int = TILE) -> Iterator[Tile]:
    """Tiles on and above the diagonal of a square matrix."""
    return ((rows, columns) for rows, columns in rectangle(n, n, side) if rows.start <= columns.start)


def take(side: Any, rows: Any) -> Any:
    """Some rows of a prepared side, which is an array or a (nested) tuple of arrays."""
    return tuple(take(part, rows) for part in side) if isinstance(side, tuple) else side[rows]


def symmetric_tile(kernel: Kernel, sides: Sides, tile: Tile) -> Array:
    """A tile of a symmetric Gram matrix: tiles on the diagonal are exactly symmetric with the exact diagonal."""
    rows, columns = tile
    left, right = take(sides.left, rows), take(sides.right, columns)
    values = kernel._tile(left, right)
    if rows == columns:
        mirror(values)
        if kernel._exact_diagonal:
            np.fill_diagonal(values, kernel._diagonal(left, right))
    return values


def mirror(values: Array) -> None:
    """Copy the upper triangle of a square matrix onto its lower triangle.

    Strip by strip, since a transposed copy of the whole would cost fresh memory.
    """
    below = np.tri(_STRIP, k=-1, dtype=bool)
    for start in range(0, len(values), _STRIP):
        stop = start + _STRIP
        values[stop:, start:stop] = values[start:stop, stop:].T
        corner = values[start:stop, start:stop]
        np.copyto(corner, corner.T.copy(), where=below[: len(corner), : len(corner)])


def fill_symmetric(out: Array, value_of: Callable[[Tile], Array]) -> None:
    """Fill a symmetric matrix from the tiles of its upper triangle."""

    def write(tile: Tile, _: None) -> None:
        rows, columns = tile
        values = value_of(tile)
        out[rows, columns] = values
        if rows != columns:
            out[columns, rows] = values.T

    run_threaded(write, upper_triangle(len(out)), lambda: None, threads_for(out.size))


def fill(out: Array, value_of: Callable[[Tile], Array]) -> None:
    """Fill a matrix tile by tile."""

    def write(tile: Tile, _: None) -> None:
        out[tile] = value_of(tile)

    run_threaded(write, rectangle(*out.shape), lambda: None, threads_for(out.size))


def dense_gram(kernel: Kernel, sides: Sides, *, symmetric: bool) -> Array:
    """The whole Gram matrix of two prepared sides."""
    out = np.empty(sides.shape, dtype=sides.dtype)
    if symmetric:
        fill_symmetric(out, lambda tile: symmetric_tile(kernel, sides, tile))
    else:
        fill(out, lambda tile: kernel._tile(take(sides.left, tile[0]), take(sides.right, tile[1])))
    return out
