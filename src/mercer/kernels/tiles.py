"""Gram matrices tile by tile: small enough for the cache, spread over threads, symmetric halves computed once.

A tile of 384 x 384 doubles (1.2 MB) was the fastest on the machines measured (``benchmarks/kernels.py``): smaller ones
pay Python's overhead, larger ones leave the cache between the matrix product and the exponential.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.blas import allowed_threads, single_threaded_blas

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel, Sides

TILE = 384
_STRIP = 64
# Rows of one task of a thread: enough to forget its start, few enough to share the work evenly.
_TASK = 2048

T = TypeVar("T")
Array = NDArray[Any]
Tile = tuple[slice, slice]


def run_threaded(
    work: Callable[[Tile, T], None], tiles: Iterable[Tile], new_state: Callable[[], T], n_threads: int
) -> list[T]:
    """Call ``work(tile, state)`` for every tile, with one state for each thread; returns the states.

    Threads, of which the caller's is one, take the next tile when they are free. An exception or Ctrl-C stops all of
    them after their current tile.
    """
    if n_threads == 1:
        state = new_state()
        for tile in tiles:
            work(tile, state)
        return [state]

    remaining, lock, stop = iter(tiles), threading.Lock(), threading.Event()

    def take_tiles() -> T:
        state = new_state()
        try:
            while not stop.is_set():
                with lock:
                    tile = next(remaining, None)
                if tile is None:
                    break
                work(tile, state)
        except BaseException:
            stop.set()
            raise
        return state

    with single_threaded_blas:
        helpers = [_pool().submit(take_tiles) for _ in range(n_threads - 1)]
        try:
            own = take_tiles()
            return [own] + [helper.result() for helper in helpers if not helper.cancel()]
        finally:
            stop.set()  # also when this thread is interrupted while it waits
            wait([helper for helper in helpers if not helper.cancel()])


def run_over_rows(work: Callable[[Tile, None], None], n_rows: int, n_columns: int, task: int = _TASK) -> None:
    """Call ``work(tile, None)`` for slices of all rows against all columns, on threads where there is enough to do."""
    tiles = ((slice(start, min(start + task, n_rows)), slice(0, n_columns)) for start in range(0, n_rows, task))
    run_threaded(work, tiles, lambda: None, threads_for(n_rows * n_columns))


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that are kept: to start one takes as long as a tile."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="mercer")


if hasattr(os, "register_at_fork"):  # a child process has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


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


def threads_for(n_values: int) -> int:
    """One thread for matrices so small that starting a second one costs more than it saves."""
    return 1 if n_values <= 2 * TILE**2 else allowed_threads()


def dense_gram(kernel: Kernel, sides: Sides, *, symmetric: bool) -> Array:
    """The whole Gram matrix of two prepared sides."""
    out = np.empty(sides.shape, dtype=sides.dtype)
    if symmetric:
        fill_symmetric(out, lambda tile: symmetric_tile(kernel, sides, tile))
    else:
        fill(out, lambda tile: kernel._tile(take(sides.left, tile[0]), take(sides.right, tile[1])))
    return out
