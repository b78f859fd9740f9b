"""Newton steps of the free variables, for sets of these that differ little: one factorisation serves several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from mercer.kernels.gram.columns import UsedMemory
from mercer.kernels.tiles import run_over_rows
from mercer.solvers.cholesky import Cholesky

Array = NDArray[Any]

# Sets are factored anew if they differ by more than this share of the variables, and by more than so many of them.
_CORRECTED, _FEW = 0.1, 16
# Rows that are gathered at once: they stay in the cache.
_GATHERED = 64


class FreeSystem:
    """Solves (K_FF + D) s = r + offset 1, with a given Σ s if there is one, for one set F of variables after the other.

    A set that differs from the one that was factored by some variables is solved by way of the same factor: those that
    are gone are held by multipliers, and those that joined it border the matrix. Each costs two triangular solves.

    Parameters
    ----------
    precision : float
        Relative rounding of the entries of K: the diagonal is raised so that it is positive in spite of that.
    shift : float
        A constant that was taken from the entries of the matrices, and belongs to them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.smo.free_system import FreeSystem
    >>> K, system = np.diag([1.0, 2.0, 4.0]), FreeSystem(precision=1e-16)
    >>> system.enter(K)
    >>> step, offset = system.step(np.array([0, 2]), np.zeros(3), np.array([-1.0, 0.0, 4.0]), total=None)
    >>> step.round(6), offset
    (array([ 1., -1.]), 0.0)
    """

    def __init__(self, precision: float, shift: float = 0.0):
        self._precision, self._shift = precision, shift
        self._memory = UsedMemory()

    def enter(self, K: Array) -> None:
        """Go to another matrix: symmetric and positive semidefinite, in either precision."""
        self._K: Array = K
        self._factor: Any = None
        self._rounding = self._precision if self._shift else max(self._precision, float(np.finfo(K.dtype).eps))
        self._dtype: Any = np.float32 if self._rounding >= np.finfo(np.float32).eps else np.float64

    def step(self, free: Array, curve: Array, slope: Array, total: float | None) -> tuple[Array, float] | None:
        """The change s of the variables F, and the offset; None if the matrix is not positive.

        Parameters
        ----------
        free : array of int
            F, ascending.
        curve, slope : array of shape (n,)
            The diagonal D, and -r, of all variables.
        total : float, optional
            Σ s; the offset is 0 without it.
        """
        gone, joined = self._difference(free, curve)
        try:
            if self._factor is None or len(gone) + len(joined) > max(_FEW, _CORRECTED * len(self._base)):
                self._factorise(free, curve)
                gone = joined = free[:0]
            step, ones = self._solutions(gone, joined, curve, slope)[:, free]
        except LinAlgError:
            return None
        offset = 0.0 if total is None else float((total - step.sum()) / ones.sum())
        step = step + offset * ones
        if total is not None:
            offset -= self._shift * total  # that of the matrix without the constant
        return (step, offset) if np.isfinite(step).all() else None

    def _difference(self, free: Array, curve: Array) -> tuple[Array, Array]:
        """Which of the factored variables (by their places) are not in a set as they were, and which of it are new."""
        if self._factor is None:
            return free[:0], free
        is_new = np.zeros(len(self._K), dtype=bool)
        is_new[free] = True
        same = is_new[self._base] & (self._curve == curve[self._base])
        is_new[self._base[same]] = False
        return np.flatnonzero(~same), np.flatnonzero(is_new)

    def _factorise(self, free: Array, curve: Array) -> None:
        """Factor the matrix of a set."""
        matrix, self._factor = self._gathered(free), None  # its memory is that of the last factor
        self._raised = 8.0 * np.sqrt(len(free)) * self._rounding
        matrix[np.diag_indices(len(free))] += self._raise(free, curve).astype(matrix.dtype)
        self._factor = Cholesky(matrix)
        self._base, self._curve = free, curve[free]
        self._of_gone: dict[int, Array] = {}
        self._of_joined: dict[int, Array] = {}

    def _solutions(self, gone: Array, joined: Array, curve: Array, slope: Array) -> Array:
        """Solutions for the right-hand sides -slope and 1, for all variables, zero where they are fixed."""
        n, n_joined = len(self._K), len(joined)
        slopes = np.stack([-slope, np.ones(n)], axis=1)
        inside = self._factor.solve(slopes[self._base]).astype(np.float64)
        outside = np.zeros((n_joined, 2))
        if len(gone) or n_joined:
            rows = np.take(self._K[joined], self._base, axis=1).astype(self._dtype, copy=False) + self._shift
            W = self._corrections(gone, joined, rows)
            # What is left of the matrix of the multipliers and of the variables that joined.
            schur = -np.concatenate([rows @ W, W[gone]]).astype(np.float64)
            schur[:n_joined, :n_joined] += self._K[np.ix_(joined, joined)] + self._shift
            schur[np.arange(n_joined), np.arange(n_joined)] += self._raise(joined, curve)
            right_sides = -np.concatenate([rows @ inside, inside[gone]])
            right_sides[:n_joined] += slopes[joined]
            multipliers = np.linalg.solve(schur, right_sides)
            inside -= W @ multipliers
            outside = multipliers[:n_joined]
        solutions = np.zeros((2, n))
        solutions[:, self._base], solutions[:, joined] = inside.T, outside.T
        return solutions

    def _corrections(self, gone: Array, joined: Array, rows: Array) -> Array:
        """Solutions with the column of each variable that joined, and the unit vector of each that is gone."""
        new_joined = [k for k, i in enumerate(joined) if i not in self._of_joined]
        new_gone = [place for place in gone if place not in self._of_gone]
        if new_joined or new_gone:
            units = np.zeros((len(new_gone), len(self._base)), dtype=self._dtype)
            units[np.arange(len(new_gone)), new_gone] = 1.0
            found = self._factor.solve(np.concatenate([rows[new_joined], units]).T).T
            self._of_joined |= dict(zip(joined[new_joined], found, strict=False))
            self._of_gone |= dict(zip(new_gone, found[len(new_joined) :], strict=True))
        return np.array([self._of_joined[i] for i in joined] + [self._of_gone[place] for place in gone]).T

    def _gathered(self, free: Array) -> Array:
        """K_FF in memory that is used again, in the precision that K has."""
        n = len(free)
        matrix = self._memory.square(n, self._dtype)

        def gather(tile: Any, _: None) -> None:
            matrix[tile[0]] = np.take(self._K[free[tile[0]]], free, axis=1)
            matrix[tile[0]] += self._shift

        run_over_rows(gather, n, n, task=_GATHERED)
        return matrix

    def _raise(self, variables: Array, curve: Array) -> Array:
        """What is added to the diagonal."""
        return np.asarray(curve[variables] + self._raised * (self._K[variables, variables] + self._shift))
