"""Squared loss: one linear system."""

from __future__ import annotations

import numpy as np

from mercer.problems import KernelProgram
from mercer.running import Status
from mercer.solvers.interior_point.kkt import KKTSystem, SingularSystem
from mercer.solvers.projection import Projected
from mercer.solvers.result import HAS_TARGET, NOT_IN_MEMORY, Options, Solver, SolverResult


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
        return 0 if hasattr(problem.gram, "factor") else 3

    def refusal(self, problem: KernelProgram) -> str | None:
        """A loss that is not the squared one, coefficients with an l1 price, or a matrix that is not in memory."""
        if not problem.in_memory:
            return NOT_IN_MEMORY
        if not problem.loss.quadratic:
            return f"{problem.loss!r} is not the squared loss; choose the solver 'interior_point'"
        if problem.gram is None or np.any(problem.bounds > 0):
            return "it has an l1 penalty; choose the solver 'interior_point'"
        if np.any(problem.C_above != problem.C_below):
            return "C differs above and below; choose the solver 'interior_point'"
        if problem.budget is not None:
            return "it has a budget; choose the solver 'interior_point'"
        if np.any(problem.target):
            return HAS_TARGET
        return None

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
