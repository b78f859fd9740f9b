"""The Cholesky factor of a matrix on Mercer's own threads.

Threads of BLAS go on waiting for work for a while after each call: where steps that are not linear algebra come in
between, they take the cores from these. Written by hand: no library factors on threads that are handed to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.solvers.lapack import call_blas, call_lapack
from mercer.threads import run_threaded, single_threaded_blas, threads_for

# Columns that are factored at a time, in matrices of more rows than one thread factors as fast.
_PANEL, _FEW_ROWS = 256, 900
# Rows of a panel, and right-hand sides, that are one task of a thread: the same for any number of threads, so that all
# give the same digits.
_ROWS, _RIGHT_SIDES = 512, 64
# So few right-hand sides are substituted one by one: LAPACK would copy the factor first.
_FEW_RIGHT_SIDES = 2


class Cholesky:
    """A = L Lᵀ.

    Parameters
    ----------
    A : array of shape (n, n), C-contiguous, float32 or float64
        Symmetric and positive definite; its memory is that of the factor afterwards.

    Raises
    ------
    scipy.linalg.LinAlgError
        If it is not positive definite.

    Notes
    -----
    Panels of columns are factored one after the other; what each takes from the columns to its right is computed strip
    by strip. Two threads take .6 of the time of one for 1,500 rows and more.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.cholesky import Cholesky
    >>> Cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).solve(np.array([[6.0], [7.0]]))
    array([[1.],
           [1.]])
    """

    def __init__(self, A: Array):
        self._L = A.T  # in the order of Fortran; what lies above the diagonal is not used
        self._letter = "s" if A.dtype == np.float32 else "d"
        self._n_threads = threads_for(A.size)
        n = len(A)
        width = _PANEL if n > _FEW_ROWS else n
        with single_threaded_blas:
            for start in range(0, n, width):
                self._factor_panel(start, min(start + width, n))

    def solve(self, right_sides: Array) -> Array:
        """A⁻¹ times the columns of a matrix."""
        n, n_columns = right_sides.shape
        solution = np.array(right_sides, dtype=self._L.dtype, order="F")

        def work(columns: Any, _: None) -> None:
            part = solution[:, columns[0]]
            if n_columns > _FEW_RIGHT_SIDES:
                call_lapack(f"{self._letter}potrs", b"L", n, part.shape[1], self._L, n, part, n)
                return
            for transposed in (b"N", b"T"):
                call_blas(f"{self._letter}trsv", b"L", transposed, b"N", n, self._L, n, part, 1)

        size = _RIGHT_SIDES if n_columns > _FEW_RIGHT_SIDES else 1
        with single_threaded_blas:
            run_threaded(work, _tasks(0, n_columns, size), lambda: None, self._n_threads)
        return solution

    def _factor_panel(self, start: int, stop: int) -> None:
        """Factor the columns from `start` to `stop`, and take what they explain from all columns after them."""
        L, letter, n, width = self._L, self._letter, len(self._L), stop - start
        one, minus_one = np.ones(1, L.dtype), -np.ones(1, L.dtype)
        corner = L[start:, start:]
        call_lapack(f"{letter}potrf", b"L", width, corner, n)

        def divide(rows: Any, _: None) -> None:
            part = L[rows[0], start:]
            call_blas(f"{letter}trsm", b"R", b"L", b"T", b"N", part.shape[0], width, one, corner, n, part, n)

        def subtract(columns: Any, _: None) -> None:
            first, n_columns = columns[0].start, columns[0].stop - columns[0].start
            factor, strip = L[first:, start:], L[first:, first:]
            call_blas(
                f"{letter}gemm", b"N", b"T", n - first, n_columns, width, minus_one, factor, n, factor, n, one, strip, n
            )  # fmt: skip

        run_threaded(divide, _tasks(stop, n, _ROWS), lambda: None, self._n_threads)
        run_threaded(subtract, _tasks(stop, n, _PANEL), lambda: None, self._n_threads)


def _tasks(start: int, stop: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Slices from `start` to `stop`, as tiles of which only the first side counts."""
    return ((slice(at, min(at + size, stop)), slice(0)) for at in range(start, stop, size))
