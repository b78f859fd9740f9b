"""Newton steps of the free variables, for sets of these that differ little: one factorisation serves several."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer.arrays import Array
from mercer.kernels.gram.columns import UsedMemory
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.smo.tuning import TUNING, Tuning
from mercer.threads import run_over_rows

# Rows that are gathered at once: they stay in the cache.
_GATHERED = 64


class FreeSystem:
    """Solves (K_FF + D) s = r + E offsets, with given sums Eᵀs, for one set F of variables after the other.

    Each column of E has ones at some of the variables.

    A set that differs from the one that was factored by some variables is solved by way of the same factor: those that
    are gone are held by multipliers, and those that joined it border the matrix. Each costs two triangular solves.

    Parameters
    ----------
    precision : float
        Relative rounding of the entries of K: the diagonal is raised so that it is positive in spite of that.
    shift : float
        A constant that was taken from the entries of the matrices, and belongs to them.
    tuning : Tuning
        When a set is factored anew.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.smo.free_system import FreeSystem
    >>> K, system = np.diag([1.0, 2.0, 4.0]), FreeSystem(precision=1e-16)
    >>> system.enter(K)
    >>> free, zero, slope = np.array([0, 2]), np.zeros(3), np.array([-1.0, 0.0, 4.0])
    >>> step, offsets = system.step(free, zero, slope, np.ones((1, 3)), np.array([0.0]))
    >>> step.round(6), offsets.round(6)
    (array([ 1., -1.]), array([0.]))
    """

    def __init__(self, precision: float, shift: float = 0.0, tuning: Tuning = TUNING):
        self._precision, self._shift, self._tuning = precision, shift, tuning
        self._memory = UsedMemory()

    def enter(self, K: Array) -> None:
        """Go to another matrix: symmetric and positive semidefinite, in either precision."""
        self._K: Array = K
        self._factor: Any = None
        self._rounding = self._precision if self._shift else max(self._precision, float(np.finfo(K.dtype).eps))
        self._dtype: Any = np.float32 if self._rounding >= np.finfo(np.float32).eps else np.float64

    def step(self, free: Array, curve: Array, slope: Array, groups: Array, totals: Array) -> tuple[Array, Array] | None:
        """The change s of the variables F, and the offsets; None if the matrix is not positive, or a group is empty.

        Parameters
        ----------
        free : array of int
            F, ascending.
        curve, slope : array of shape (n,)
            The diagonal D, and -r, of all variables.
        groups : array of shape (n_sums, n)
            Eᵀ of all variables: which of them each sum is of.
        totals : array of shape (n_sums,)
            The sums.
        """
        gone, joined = self._difference(free, curve)
        few, share = self._tuning.few_corrected, self._tuning.corrected
        try:
            if self._factor is None or len(gone) + len(joined) > max(few, share * len(self._base)):
                self._factorise(free, curve)
                gone = joined = free[:0]
            step, *moves = self._solutions(gone, joined, curve, slope, groups)[:, free]
            inside = groups[:, free]
            offsets = np.linalg.solve(inside @ np.reshape(moves, inside.shape).T, totals - inside @ step)
        except LinAlgError:
            return None
        for offset, move in zip(offsets, moves, strict=True):
            step = step + offset * move
        offsets = offsets - self._shift * totals.sum()  # those of the matrix without the constant
        return (step, offsets) if np.isfinite(step).all() else None

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

    def _solutions(self, gone: Array, joined: Array, curve: Array, slope: Array, groups: Array) -> Array:
        """Solutions for the right-hand sides -slope and E, for all variables, zero where they are fixed."""
        n, n_joined = len(self._K), len(joined)
        slopes = np.column_stack([-slope, groups.T])
        inside = self._factor.solve(slopes[self._base]).astype(np.float64)
        outside = np.zeros((n_joined, slopes.shape[1]))
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
        solutions = np.zeros((slopes.shape[1], n))
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

        def gather(part: slice) -> None:
            matrix[part] = np.take(self._K[free[part]], free, axis=1)
            matrix[part] += self._shift

        run_over_rows(gather, n, n, task=_GATHERED)
        return matrix

    def _raise(self, variables: Array, curve: Array) -> Array:
        """What is added to the diagonal."""
        return np.asarray(curve[variables] + self._raised * (self._K[variables, variables] + self._shift))
