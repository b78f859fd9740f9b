"""The loop, which reads as the algorithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays import Array
from mercer.problems import Iterate, KernelProgram
from mercer.rounding import HOLDS
from mercer.running import Iterates, Status, Step
from mercer.solvers.interior_point.implied_bounds import with_balanced_bounds
from mercer.solvers.interior_point.kkt import KKTSystem, SingularSystem
from mercer.solvers.interior_point.residuals import Residuals
from mercer.solvers.interior_point.rounding import rounded_to_boundary
from mercer.solvers.interior_point.start import starting_point
from mercer.solvers.interior_point.steepness import with_bounds_where_steep
from mercer.solvers.interior_point.step import Targets, largest_step, move
from mercer.solvers.interior_point.variables import Sides, Variables
from mercer.solvers.needs import ABSOLUTE_LOSS_OF_BUDGET, IN_MEMORY, unmet
from mercer.solvers.projection import Projected
from mercer.solvers.result import Options, Solver, SolverResult
from mercer.threads import single_threaded_numpy

# About ten are needed; many more mean that something is wrong.
_MAX_ITER = 200
# The best point must be one of the last few, or the last ones be better by a factor than as many before.
_PATIENCE, _WINDOW, _PROGRESS = 15, 5, 0.5
# Iterations spent after convergence until coefficients can be set to zero without harm.
_MAX_POLISHING = 2
# Complementarity products are not driven below this share of what the tolerance allows: smaller ones buy nothing, and
# the system of the step loses its digits.
_LEAST_SHARE = 1e-3


class InteriorPoint(Solver):
    """Mehrotra's predictor-corrector method on the split dual variables α, α* (B = sign (α - α*)).

    Each iteration factors one n x n matrix K + E (n x r for a low-rank K), whatever the loss, and solves with it twice.
    The multipliers of the constraints on columnsᵀB are the coefficients of the columns.

    Notes
    -----
    [Smola1998]_, section 4.2, with the corrections that eq. (4.12) and (4.13) need; [Mehrotra1992]_. Cost n³/3 for each
    of about 10 iterations, memory two n x n matrices; with a factor of rank r, O(n r²) and two n x r matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers import InteriorPoint
    >>> x = np.linspace(-1, 1, 20)
    >>> K = np.exp(-((x[:, None] - x) ** 2))
    >>> penalty = RKHSNorm().penalty(K, np.ones((20, 1)))
    >>> problem = KernelProgram.build(penalty, np.sin(3 * x), EpsilonInsensitive(0.1), C=10.0)
    >>> result = InteriorPoint().solve(problem, tol=1e-8)
    >>> result.status, problem.certificate(result).holds(1e-8)
    ('optimal', True)
    """

    name = "interior_point"
    reaches_rounding = True

    def n_matrices(self, problem: KernelProgram) -> int:
        """The matrix, its factor, and what forming it takes; with an l1 penalty products of all columns."""
        if problem.gram.is_zero:
            return 10
        return 3 if problem.gram.factor is None else 0

    def refusal(self, problem: KernelProgram) -> str | None:
        """Matrices that are not in memory, programs that are not convex, tubes around other losses than |r|."""
        if problem.in_memory and problem.conditional and not problem.gram.is_zero and np.all(problem.bounds > 0):
            return (
                "the kernel is only conditionally positive definite, and all columns have a price: its polynomials "
                "must be free; choose the regularizer 'rkhs'"
            )
        return unmet(problem, IN_MEMORY, ABSOLUTE_LOSS_OF_BUDGET)

    def _solve(self, problem: KernelProgram, options: Options) -> SolverResult:
        with single_threaded_numpy:
            result = self._run(problem, options)
            if result.status == Status.STALLED or (result.status == Status.MAX_ITER and options.max_iter is None):
                # A start near the boundary can be worse than none: what a cold start can, a warm one must. And one that
                # has lost its way by rounding, near the solution, mostly finds it from there.
                start = None if options.start is not None else result
                again = self._run(problem, replace(options, start=start))
                result = again if again.status == Status.OPTIMAL or abs(again.gap) < abs(result.gap) else result
        return result

    def _run(self, problem: KernelProgram, options: Options) -> SolverResult:
        projected = Projected(problem)
        path = _Path(projected.problem, options.tol)
        start = None if options.start is None else projected.from_original(options.start)
        run = options.run(path.iterates(start), "Interior point", _MAX_ITER)
        B, d = projected.to_original(*path.solution())
        iterate = projected.original.iterate(B, d)
        history = [*path.history[:-1], iterate]  # that of the solution, with its zeros
        status = Status.OPTIMAL if path.converged else run.status
        return SolverResult(status, B, d, iterate.primal, iterate.dual, len(history) - 1, history)


class _Path:
    """The way to the solution, with the values of its points and the best of them."""

    def __init__(self, problem: KernelProgram, tol: float):
        self.history: list[Iterate] = []
        self.converged = False
        self._problem, self._tol = problem, tol
        self._sides = with_balanced_bounds(problem, with_bounds_where_steep(problem))
        self._best: Variables | None = None
        self._sparse: tuple[Array, Array] | None = None
        self._merits: list[float] = []
        self._gaps: list[float] = []

    def iterates(self, start: tuple[Array, Array] | None) -> Iterates[Iterate]:
        """The values at each point; stalled where rounding leaves no system of a step."""
        try:
            return (yield from self._iterates(start))
        except SingularSystem:
            return Status.STALLED

    def _iterates(self, start: tuple[Array, Array] | None) -> Iterates[Iterate]:
        problem, sides, system = self._problem, self._sides, KKTSystem(self._problem)
        v, n_polishing, n_cautious = starting_point(problem, sides, system, start), 0, 0
        while True:
            residuals = Residuals(problem, sides, v)
            n_cautious = max(0, n_cautious - 1) if self._improves(residuals, v) else min(4, n_cautious + 2)
            if residuals.converged(self._tol):
                self.converged, self._sparse = True, _sparse_solution(problem, sides, v, self._tol)
            status = None
            if self.converged:
                status = Status.OPTIMAL if self._sparse is not None or n_polishing == _MAX_POLISHING else None
                n_polishing += 1
            yield Step(residuals.iterate, residuals.merit, status)
            if not self.converged and _is_lost(self._merits) and _is_lost(self._gaps):
                return Status.STALLED
            least_mu = _LEAST_SHARE * self._tol * abs(residuals.iterate.primal) / max(1, sides.n_pairs)
            v = _iterate(v, residuals, sides, system, least_mu, cautious=n_cautious > 2)

    def _improves(self, residuals: Residuals, v: Variables) -> bool:
        """Take note of a point; whether it is better than those before.

        The relative gap stays at one while the primal value falls by orders of magnitude: the gap tells more.
        """
        merit, gap = residuals.merit, abs(residuals.iterate.gap)
        best_merit, best_gap = (min(values, default=np.inf) for values in (self._merits, self._gaps))
        if merit < best_merit:
            self._best = v
        self.history.append(residuals.iterate)
        self._merits.append(merit)
        self._gaps.append(gap)
        return merit < best_merit or gap < best_gap

    def solution(self) -> tuple[Array, Array]:
        """The solution with its zeros, or else the best point."""
        return self._sparse or _plain_solution(self._problem, self._sides, self._best)


def _is_lost(merits: list[float]) -> bool:
    """Whether nothing was gained for long: no new best, and no way back to it either."""
    if len(merits) <= _PATIENCE or min(merits[-_PATIENCE:]) == min(merits):
        return False
    return min(merits[-_WINDOW:]) > _PROGRESS * min(merits[-2 * _WINDOW : -_WINDOW])


def _plain_solution(problem: KernelProgram, sides: Sides, v: Variables | None) -> tuple[Array, Array]:
    if v is None:  # interrupted before the first point
        return np.zeros(len(problem.y)), np.zeros(problem.columns.shape[1])
    return np.sum(sides.sign * v.alpha, axis=0), v.d


def _sparse_solution(problem: KernelProgram, sides: Sides, v: Variables, tol: float) -> tuple[Array, Array] | None:
    """The solution with exact zeros, if that keeps the gap within the tolerance."""
    if not sides.sparse:
        return _plain_solution(problem, sides, v)
    B, d = rounded_to_boundary(problem, sides, v)
    keeps = problem.iterate(B, d).relative_gap <= tol and problem.column_violation(B) <= HOLDS
    return (B, d) if keeps else None


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _iterate(
    v: Variables, residuals: Residuals, sides: Sides, system: KKTSystem, least_mu: float, *, cautious: bool
) -> Variables:
    """One predictor-corrector iteration; a cautious one turns back to the centre and corrects for nothing."""
    mu = v.complementarity(sides)
    if not mu > 0:
        raise SingularSystem
    system.factor(v, sides)
    predictor = system.solve(v, sides, residuals, Targets.predictor(v, sides))
    length = min(1.0, largest_step(v, predictor, sides))
    centring = (v.moved(predictor, length).complementarity(sides) / mu) ** 3
    centring, share = (max(centring, 0.5), 0.0) if cautious else (centring, 1.0)
    corrector = system.solve(
        v, sides, residuals, Targets.corrector(v, sides, predictor, max(centring * mu, least_mu), share)
    )
    if not np.isfinite(corrector.alpha).all():
        raise SingularSystem
    total = mu * sides.n_pairs
    return move(v, corrector, sides, total / max(abs(residuals.iterate.primal), total), residuals.tolerated)
