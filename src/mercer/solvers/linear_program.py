"""Linear programs through HiGHS."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from mercer.problems import KernelProgram
from mercer.running import Status
from mercer.solvers.needs import IN_MEMORY, NO_BUDGET, NO_TARGET, STRAIGHT_LOSS, unmet
from mercer.solvers.result import Options, Solver, SolverResult


class LinearProgram(Solver):
    """HiGHS, for programs without a quadratic part and with a piecewise linear loss (the linear programming machine).

    With d = d⁺ - d⁻ and ξ, ξ* >= 0: min Σ bounds (d⁺ + d⁻) + Σ C (slope⁺ ξ + slope⁻ ξ*) subject to
    sign (y - columns d) <= above + ξ and -sign (y - columns d) <= below + ξ*.

    Notes
    -----
    [Smola1998]_, section 3.9.1; HiGHS is called through `scipy.optimize.linprog`. It takes no start, shows no progress
    bar, and its history holds the final values only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import L1Coefficients
    >>> from mercer.solvers import LinearProgram
    >>> x = np.linspace(-1, 1, 20)
    >>> penalty = L1Coefficients().penalty(np.exp(-((x[:, None] - x) ** 2)), np.ones((20, 1)))
    >>> problem = KernelProgram.build(penalty, np.sin(3 * x), EpsilonInsensitive(0.1), C=10.0)
    >>> problem.certificate(LinearProgram().solve(problem)).holds(1e-8)
    True
    """

    name = "linear_program"

    def n_matrices(self, problem: KernelProgram) -> int:
        """Four sparse copies of the columns, as many in HiGHS, and what its presolve and factors take."""
        return 80

    def refusal(self, problem: KernelProgram) -> str | None:
        """A quadratic part, or a loss that is not piecewise linear."""
        if problem.in_memory and not problem.gram.is_zero:
            return "it has a quadratic part; choose the regularizer 'l1', or the solver 'interior_point'"
        return unmet(problem, IN_MEMORY, STRAIGHT_LOSS, NO_BUDGET, NO_TARGET)

    def _solve(self, problem: KernelProgram, options: Options) -> SolverResult:
        n, n_columns = problem.columns.shape
        below, above = (np.broadcast_to(side, n) for side in problem.loss.insensitivity)
        low, high = problem.box()
        signed = sparse.csr_array(problem.sign[:, None] * problem.columns)
        unit = sparse.identity(n, format="csr")
        empty = sparse.csr_array((n, n))
        # Rows: -sign columns d - ξ <= above - sign y, and sign columns d - ξ* <= below + sign y.
        A = sparse.vstack(
            [sparse.hstack([-signed, signed, -unit, empty]), sparse.hstack([signed, -signed, empty, -unit])],
            format="csr",
        )
        # HiGHS has tolerances of its own, which are absolute: the largest target and the largest cost are its units.
        signed_y = problem.sign * problem.y
        unit = float(np.max(np.abs(problem.y))) or 1.0
        b = np.concatenate([above - signed_y, below + signed_y]) / unit
        cost = np.concatenate([problem.bounds, problem.bounds, high, -low])
        price = float(cost.max())
        limits = {} if options.max_iter is None else {"maxiter": options.max_iter}
        solution = linprog(
            cost / price, A_ub=A, b_ub=b, bounds=(0, None), method="highs", options={"disp": options.verbose, **limits}
        )
        if solution.status not in (0, 1):
            raise ArithmeticError(f"HiGHS failed on a program that has a solution: {solution.message}")
        if solution.x is None:  # stopped before it had a solution: the zero function is one
            B, d = np.zeros(n), np.zeros(n_columns)
            return self._result(Status.MAX_ITER, problem, B, d, solution.nit, options)
        d = unit * (solution.x[:n_columns] - solution.x[n_columns : 2 * n_columns])
        multipliers = -price * solution.ineqlin.marginals
        B = problem.sign * (multipliers[:n] - multipliers[n:])
        status = Status.OPTIMAL if solution.status == 0 else Status.MAX_ITER
        return self._result(status, problem, B, d, solution.nit, options)
