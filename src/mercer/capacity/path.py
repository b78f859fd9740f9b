"""Exact leave-one-out: the solution is followed as the coefficient of a sample goes to zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.capacity.fitted import ABOVE, AT_HIGH, BELOW, ZERO, Signed, pieces
from mercer.capacity.path_numba import follow
from mercer.threads import run_threaded, threads_for

# Events of one path, in units of the number of samples; what is left of the conditions at its end, relative to the
# residuals; and the share of a column's square that stands for a free coefficient.
_EVENTS, _MISSED, _NEARLY_FREE = 10, 1e-7, 1e-10
# How often the solution is polished.
_POLISHED = 2


class SolutionPath:
    """The exact solution of a program of lines and parabolas, and what becomes of it without a sample.

    Notes
    -----
    The dual solution is piecewise linear in the coefficient of the sample [Cauwenberghs2001]_. At a kink a variable
    becomes free or is bound, which changes the inverse of the saddle-point matrix by a rank of one: O(F² + n F)
    operations for F free samples of n. So that matrices are never singular, curvatures are raised by 1e-10 of the
    diagonal, and coefficients of columns have a tiny price.
    """

    def __init__(self, signed: Signed):
        program = signed.program
        everything = np.arange(len(signed.A))
        self._K = np.ascontiguousarray(signed.block(everything, everything), dtype=np.float64)
        self._Phi = np.ascontiguousarray(signed.columns, dtype=np.float64)
        below, above, curve_below, curve_above = pieces(program)
        low, high = program.box()
        raised = signed.raised
        self._pieces = np.array([low, high, below, above, curve_below + raised, curve_above + raised])
        self._kappa = _NEARLY_FREE * np.mean(self._Phi**2, axis=0) / signed.size
        self._limit = _EVENTS * len(signed.A) + 100
        y = signed.r + self._K @ signed.A + self._Phi @ signed.d  # sign · y
        self._target = np.zeros(len(signed.d)) + signed.program.target
        self._share = program.C_above / program.C_above.sum()  # of each sample in the target
        self._A, self._d, self._state = signed.A, signed.d, signed.state.astype(np.int64)
        self._smooth = (below + above == 0) & (self._pieces[4] == self._pieces[5])
        self._state[self._smooth & (self._state == BELOW)] = ABOVE
        for _ in range(_POLISHED):  # again for the last digits
            self._polish(y)

    def _polish(self, y: Array) -> None:
        """Follow the solution from that of other targets, for which the present point is exact."""
        low, high = self._pieces[:2]
        lowest, state = np.where(self._smooth, low, 0.0), self._state
        places = [state == AT_HIGH, state == ABOVE, state == ZERO, state == BELOW]
        values = [high, np.clip(self._A, lowest, high), np.zeros(len(low)), np.clip(self._A, low, 0.0)]
        A = self._A = np.select(places, values, low)
        self._d = self._d.copy()
        r = y - self._K @ A - self._Phi @ self._d
        self._r = _projected(self._pieces, self._bent(A, state), r, state)
        free = np.flatnonzero(np.abs(state) == ABOVE)
        self._order, self._n_free = np.zeros(len(low) + 1, dtype=np.int64), len(free)
        self._order[: len(free)] = free
        missing = self._target - (self._Phi.T @ A - self._kappa * self._d)
        _, self._n_free = follow(
            self._K, self._Phi, self._pieces, self._kappa, A, self._r, self._d, state, self._order, self._n_free,
            self._inverted(free), r - self._r, missing, -1, self._limit,
        )  # fmt: skip
        self._inverse = self._inverted(self._order[: self._n_free])

    def _bent(self, A: Array, state: Array) -> Array:
        """The residuals at which the loss has the slopes A on the pieces where the variables are."""
        _, _, below, above, curve_below, curve_above = self._pieces
        curve, edge = np.where(state > 0, curve_above, curve_below), np.where(state > 0, above, -below)
        bent = np.where(np.isfinite(edge) & np.isfinite(A), edge, 0.0)
        return bent + curve * np.where(np.isfinite(A), A, 0.0)

    def _inverted(self, free: Array) -> Array:
        """The inverse of the saddle-point matrix, in a matrix that has room for all samples."""
        p, m = self._Phi.shape[1], self._Phi.shape[1] + len(free)
        n = sum(self._Phi.shape)
        M = np.zeros((m, m))
        M[:p, :p] = -np.diag(self._kappa)
        M[:p, p:], M[p:, :p] = self._Phi[free].T, self._Phi[free]
        M[p:, p:] = self._K[np.ix_(free, free)]
        curve = np.where(self._state[free] > 0, self._pieces[5, free], self._pieces[4, free])
        M[range(p, m), range(p, m)] += curve
        whole = np.zeros((n + 1, n + 1))
        whole[:m, :m] = np.linalg.inv(M)
        return whole

    def without_each(self) -> tuple[Array, Array, Array, Array]:
        """Residuals and coefficients of columns without each sample, whether others moved, and which paths were lost.

        The residual is that of the sample that is left out; coefficients have a row for each sample.
        """
        n = len(self._A)
        residuals, moved, lost = self._r.copy(), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        coefficients = np.tile(self._d, (n, 1))
        # A target is a share of all weights, and changes with each sample.
        supports = np.flatnonzero((self._A != 0) | np.any(self._target != 0))

        def work(tile: Any, workspace: Array) -> None:
            for i in supports[tile[0]]:
                residuals[i], coefficients[i], moved[i], lost[i] = self._without(int(i), workspace)

        tasks = ((slice(k, k + 4), slice(0)) for k in range(0, len(supports), 4))
        run_threaded(work, tasks, lambda: np.empty_like(self._inverse), threads_for(len(supports) * n * n))
        return residuals, coefficients, moved, np.flatnonzero(lost)

    def _without(self, i: int, inverse: Array) -> tuple[float, Array, bool, bool]:
        """The residual of a sample without itself, d, whether there were events, and whether the path was lost."""
        m = self._Phi.shape[1] + self._n_free
        inverse[:m, :m] = self._inverse[:m, :m]
        A, r, d = self._A.copy(), self._r.copy(), self._d.copy()
        state, order = self._state.copy(), self._order.copy()
        events, _ = follow(
            self._K, self._Phi, self._pieces, self._kappa, A, r, d, state, order, self._n_free, inverse,
            np.zeros(len(A)), -self._share[i] * self._target, i, self._limit,
        )  # fmt: skip
        others = np.arange(len(A)) != i
        wanted = _projected(self._pieces, self._bent(A, state), r, state)
        missed = np.abs(r - wanted)[others].max(initial=0.0)
        return float(r[i]), d, events > 0, events < 0 or not missed <= _MISSED * (1.0 + np.abs(self._r).max())


def _projected(pieces_: Array, bent: Array, r: Array, state: Array) -> Array:
    """The residuals nearest to r that belong to variables with these states."""
    below, above = pieces_[2:4]
    places = [state == AT_HIGH, np.abs(state) == ABOVE, state == ZERO]
    return np.select(places, [np.maximum(r, bent), bent, np.clip(r, -below, above)], np.minimum(r, bent))
