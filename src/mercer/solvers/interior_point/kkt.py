"""The linear system of a Newton step, reduced to one n x n (or r x r) matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from mercer.arrays import Array
from mercer.kernels.gram import GramMatrix
from mercer.problems import KernelProgram
from mercer.solvers.interior_point.residuals import Residuals
from mercer.solvers.interior_point.step import Targets
from mercer.solvers.interior_point.variables import Sides, Variables


class SingularSystem(ArithmeticError):
    """The matrix of the Newton step is not positive definite to working precision."""


class KKTSystem:
    """The Newton equations of the optimality conditions.

        D Δα + sign (K ΔB + Φ Δd) = ρ     for both sides,       ΔB = Σ sign Δα,
        D_w Δw - Δd               = ρ_w   for penalised columns,
        ΦᵀΔB - Δw                 = ρ_Φ,

    with Φ the columns. Eliminating Δα and Δw leaves (K + E) ΔB + Φ Δd = E Σ sign ρ / D with 1/E = Σ 1/D over the two
    sides, and a small system for Δd: never 2n x 2n. A budget for Σα, whose multiplier enters every ρ, becomes one more
    column E Σ sign / D.
    """

    def __init__(self, problem: KernelProgram):
        self._inverse = _inverse_of(problem.gram)
        self._own_columns = problem.columns

    def factor(self, v: Variables, sides: Sides) -> None:
        """Prepare for solutions at the point v."""
        diagonal = sides.curvature(v.alpha) + np.where(sides.bounded, v.s / v.room, 0.0)
        diagonal += np.divide(v.z, v.alpha, out=np.zeros_like(v.z), where=sides.exists)
        self._flexibility = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=sides.exists)
        E = 1.0 / self._flexibility.sum(axis=0)
        stiffness = np.divide(v.w_low, sides.bounds + v.w, out=np.zeros_like(v.w), where=sides.penalised)
        stiffness += np.divide(v.w_high, sides.bounds - v.w, out=np.zeros_like(v.w), where=sides.penalised)
        stiffness = np.where(sides.penalised, stiffness, np.inf)
        columns = self._own_columns
        if len(sides.budget):
            lean = np.sum(sides.sign * self._flexibility, axis=0)
            # Σ 1/D - Σ E lean², in a form without cancellation.
            softness = v.left_over(sides) / v.tube + 4 * np.sum(np.prod(self._flexibility, axis=0) * E)
            columns = np.column_stack([columns, E * lean])
            stiffness = np.append(stiffness, 1.0 / softness)
        self.factor_with(E, columns, stiffness)

    def factor_with(self, E: Array, columns: Array, stiffness: Array) -> None:
        """Factor K + diag(E) and the system of the columns, whose w move by force / stiffness."""
        self._E, self._columns, self._stiffness = E, columns, stiffness
        self._inverse.factor(E)
        self._solved_columns = self._inverse.solve(columns)
        schur = columns.T @ self._solved_columns + np.diag(1.0 / stiffness)
        try:
            # A jitter for each column by itself: those without a price are small beside those far from their bound.
            self._schur = cho_factor(schur + 1e-15 * np.diag(np.diagonal(schur)))
        except (LinAlgError, ValueError) as error:  # not definite, or not finite
            raise SingularSystem from error

    def solve_with(self, right: Array, missing: Array) -> tuple[Array, Array]:
        """ΔB and Δd of (K + E) ΔB + Φ Δd = right, ΦᵀΔB - Δd / stiffness = missing."""
        solved = self._inverse.solve(right)
        right_of_d = self._columns.T @ solved - missing
        if not len(missing):
            return solved, missing
        d = cho_solve(self._schur, right_of_d, check_finite=False)
        # One step of refinement: the constraints on the columns are to hold to the last digits.
        B = solved - self._solved_columns @ d
        d -= cho_solve(self._schur, missing - self._columns.T @ B + d / self._stiffness, check_finite=False)
        return solved - self._solved_columns @ d, d

    def solve(self, v: Variables, sides: Sides, residuals: Residuals, targets: Targets) -> Variables:
        """The Newton direction that reaches the targets of the complementarity products."""
        alpha = np.where(sides.exists, v.alpha, 1.0)
        rho = residuals.stationarity + np.where(sides.exists, targets.z / alpha, 0.0)
        rho -= np.where(sides.bounded, targets.s / v.room, 0.0)
        low = np.where(sides.penalised, sides.bounds + v.w, 1.0)
        high = np.where(sides.penalised, sides.bounds - v.w, 1.0)
        rho_w = np.where(sides.penalised, residuals.penalty + targets.w_low / low - targets.w_high / high, 0.0)

        n_columns = len(v.d)
        compliant = np.sum(sides.sign * rho * self._flexibility, axis=0)
        right = self._E * compliant
        missing = residuals.columns + rho_w / self._stiffness[:n_columns]
        if len(sides.budget):
            lean = self._columns[:, -1]
            missing = np.append(missing, lean @ compliant - np.sum(rho * self._flexibility) - targets.tube / v.tube)
        dB, dd = self.solve_with(right, missing)
        dd, dtube = dd[:n_columns], dd[n_columns:]
        force = right - self._E * dB - self._columns[:, n_columns:] @ dtube  # K ΔB + Φ Δd
        dalpha = (rho - sides.sign * force - dtube.sum()) * self._flexibility
        dz = np.where(sides.exists, (targets.z - v.z * dalpha) / alpha, 0.0)
        ds = np.where(sides.bounded, (targets.s + v.s * dalpha) / v.room, 0.0)
        dw = np.where(sides.penalised, (rho_w + dd) / self._stiffness[:n_columns], 0.0)
        dw_low = np.where(sides.penalised, (targets.w_low - v.w_low * dw) / low, 0.0)
        dw_high = np.where(sides.penalised, (targets.w_high + v.w_high * dw) / high, 0.0)
        return Variables(dalpha, np.where(sides.bounded, -dalpha, 0.0), dz, ds, dd, dw, dw_low, dw_high, dtube)


def _inverse_of(gram: GramMatrix) -> _DenseInverse | _LowRankInverse | _DiagonalInverse:
    if gram.is_zero:
        return _DiagonalInverse()
    return _DenseInverse(np.asarray(gram.formed)) if gram.factor is None else _LowRankInverse(gram.factor)


class _DenseInverse:
    """(K + E)⁻¹ by Cholesky, in a buffer that is used again and again."""

    def __init__(self, K: Array):
        self._K = np.asarray(K, dtype=np.float64)
        self._buffer = np.empty_like(self._K, order="F")
        # K may be singular to rounding, and E vanish where nothing holds a variable: the least that makes it definite.
        self._jitter = 1e-15 * float(np.trace(self._K))

    def factor(self, E: Array) -> None:
        for jitter in self._jitter * np.array([1.0, 1e2, 1e4, 1e6]):
            np.copyto(self._buffer.T, self._K)  # symmetric: row by row is as good as column by column
            self._buffer[np.diag_indices(len(E))] += E + jitter
            try:
                self._factor = cho_factor(self._buffer, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                continue
            return
        raise SingularSystem

    def solve(self, right: Array) -> Array:
        return cho_solve(self._factor, right, check_finite=False)


class _LowRankInverse:
    """(L Lᵀ + E)⁻¹ = E⁻¹ - E⁻¹ L (I + Lᵀ E⁻¹ L)⁻¹ Lᵀ E⁻¹, r x r."""

    def __init__(self, L: Array):
        self._L = np.asfortranarray(L)

    def factor(self, E: Array) -> None:
        self._E = E
        scaled = self._L / np.sqrt(E)[:, None]
        inner = dsyrk(1.0, scaled, trans=1)
        inner[np.diag_indices(len(inner))] += 1.0
        try:
            self._factor = cho_factor(inner, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise SingularSystem from error

    def solve(self, right: Array) -> Array:
        over_E = (right.T / self._E).T
        return over_E - ((self._L @ cho_solve(self._factor, self._L.T @ over_E, check_finite=False)).T / self._E).T


class _DiagonalInverse:
    """E⁻¹, where there is no quadratic part."""

    def factor(self, E: Array) -> None:
        self._E = E

    def solve(self, right: Array) -> Array:
        return (right.T / self._E).T
