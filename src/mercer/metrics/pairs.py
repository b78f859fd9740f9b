"""What the likelihood of kernels exp(-r) needs of all pairs of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mercer.arrays import Array
from mercer.threads import run_threaded, threads_for

# Rows of one task of a thread. Sums of tasks are added in the order of the rows: results are the same for any number of
# threads.
_TASK = 64


class Pairs:
    """Sums over pairs of n rows, with memory that is used again: two n x n matrices.

    Attributes
    ----------
    K : array of shape (n, n)
        exp(-r) below the diagonal, after `fill`; whoever factors it may do so in place.
    """

    def __init__(self, kind: int, degree: int, n: int):
        self.K, self._R = np.empty((n, n)), np.empty((n, n))
        self._kind, self._degree = kind, degree

    def fill(self, A: Array) -> None:
        """Write exp(-r) of the rows A below the diagonal of K."""
        from mercer.metrics.pairs_numba import fill

        columns = np.ascontiguousarray(A.T)
        over_rows(len(A), lambda rows, _: fill(columns, rows.start, rows.stop, self._kind, self._R, self.K))

    def fill_scaled(self, factor: float) -> None:
        """Write exp(-r) of the rows of the last `fill`, times a factor, below the diagonal of K."""
        from mercer.metrics.pairs_numba import fill_scaled

        power = factor**self._degree
        over_rows(len(self.K), lambda rows, _: fill_scaled(rows.start, rows.stop, power, self._R, self.K))

    def scale_gradient(self, factor: float, C: Array, alpha: Array, share: float) -> float:
        """Σ_ik S_ik dK_ik/dlog factor for S = share C - alpha alphaᵀ, C below its diagonal."""
        from mercer.metrics.pairs_numba import add_scale_gradient

        power, rows_of_alpha = factor**self._degree, np.ascontiguousarray(alpha.T)
        sums = np.zeros((len(tasks(len(self.K))), 1))

        def work(rows: slice, task: int) -> None:
            add_scale_gradient(rows.start, rows.stop, power, self._R, C, rows_of_alpha, share, sums[task])

        over_rows(len(self.K), work)
        return -2.0 * self._degree * float(sums.sum())

    def gradient(self, B: Array, turned: Array, C: Array, alpha: Array, share: float) -> Array:
        """Σ_ik S_ik dK_ik/dlog w_j for S = share C - alpha alphaᵀ, C below its diagonal, and the rows of the last fill.

        B are the rows before a rotation R, times w; `turned` is B R Rᵀ.
        """
        from mercer.metrics.pairs_numba import add_gradient

        columns, others = np.ascontiguousarray(B.T), np.ascontiguousarray(turned.T)
        rows_of_alpha = np.ascontiguousarray(alpha.T)
        sums = np.zeros((len(tasks(len(B))), B.shape[1]))

        def work(rows: slice, task: int) -> None:
            fixed = (self._kind, self._R, C, rows_of_alpha, share)
            add_gradient(columns, others, rows.start, rows.stop, *fixed, sums[task])

        over_rows(len(B), work)
        return -2.0 * sums.sum(axis=0)


def slopes(kind: int, A: Array, coef: Array) -> Array:
    """Gradients of f_c(a) = Σ_k coef_kc exp(-r(a, a_k)) at the rows of A, each without its own term.

    Returns an array of shape (n_functions, n, n_columns).
    """
    from mercer.metrics.pairs_numba import fill_slopes

    columns, rows_of_coef = np.ascontiguousarray(A.T), np.ascontiguousarray(coef.T)
    found = np.empty((len(rows_of_coef), *A.shape))
    over_rows(len(A), lambda rows, _: fill_slopes(columns, rows.start, rows.stop, kind, rows_of_coef, found))
    return found


def over_rows(n: int, work: Callable[[slice, int], None]) -> None:
    """Call ``work(rows, task)`` for slices of n rows, on threads where there is enough to do."""
    slices = tasks(n)

    def call(tile: tuple[slice, slice], _: None) -> None:
        work(tile[0], tile[0].start // _TASK)

    # The last rows first: they have the most rows before them.
    tiles: Iterator[tuple[slice, slice]] = ((rows, slice(0)) for rows in reversed(slices))
    run_threaded(call, tiles, lambda: None, threads_for(n * n))


def tasks(n: int) -> list[slice]:
    """The slices of n rows of `over_rows`."""
    return [slice(start, min(start + _TASK, n)) for start in range(0, n, _TASK)]
