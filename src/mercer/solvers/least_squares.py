"""Squared loss: one linear system."""

from __future__ import annotations

import numpy as np

from mercer.problems import KernelProgram
from mercer.running import Status
from mercer.solvers.interior_point.kkt import KKTSystem, SingularSystem
from mercer.solvers.needs import (
    EQUAL_WEIGHTS,
    IN_MEMORY,
    NO_BUDGET,
    NO_TARGET,
    QUADRATIC_PENALTY,
    SQUARED_LOSS,
    unmet,
)
from mercer.solvers.projection import Projected
from mercer.solvers.result import Options, Solver, SolverResult


class LeastSquares(Solver):
    """Cholesky, for the squared loss: (K + 1/C) B + Φ d = y, ΦᵀB = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers import LeastSquares
    >>> x = np.linspace(-1, 1, 20)
    >>> penalty = RKHSNorm().penalty(np.exp(-((x[:, None] - x) ** 2)), np.ones((20, 1)))
    >>> problem = KernelProgram.build(penalty, np.sin(3 * x), Squared(), C=10.0)
    >>> problem.certificate(LeastSquares().solve(problem)).holds(1e-12)
    True
    """

    name = "least_squares"

    def n_matrices(self, problem: KernelProgram) -> int:
        """The matrix, its factor, and what forming it takes."""
        return 3 if problem.gram.factor is None else 0

    def refusal(self, problem: KernelProgram) -> str | None:
        """A loss that is not the squared one, coefficients with an l1 price, or a matrix that is not in memory."""
        return unmet(problem, IN_MEMORY, SQUARED_LOSS, QUADRATIC_PENALTY, EQUAL_WEIGHTS, NO_BUDGET, NO_TARGET)

    def _solve(self, problem: KernelProgram, options: Options) -> SolverResult:
        projected = Projected(problem)
        system = KKTSystem(projected.problem)
        n_columns = problem.columns.shape[1]
        ridge = 1.0 / problem.C_above
        status = Status.OPTIMAL
        try:
            system.factor_with(ridge, problem.columns, np.full(n_columns, np.inf))
            B, d = system.solve_with(problem.y, np.zeros(n_columns))
            # One step of refinement makes up for the conditioning of K.
            missing = problem.y - projected.problem.fitted(B, d) - ridge * B
            dB, dd = system.solve_with(missing, -(problem.columns.T @ B))
            B, d = B + dB, d + dd
        except SingularSystem:
            status, B, d = Status.STALLED, np.zeros(len(problem.y)), np.zeros(n_columns)
        B, d = projected.to_original(B, d)
        return self._result(status, problem, B, d, 1, options)
