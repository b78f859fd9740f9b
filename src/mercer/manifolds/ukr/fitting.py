"""Solvers for all latent points: RPROP, L-BFGS, or one after the other, and homotopy before them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from mercer.arrays import Array
from mercer.manifolds.ukr.lists import ListProblem
from mercer.manifolds.ukr.problem import Evaluated, Evaluator, LatentProblem
from mercer.manifolds.ukr.tuning import DESCENTS
from mercer.running import Iterates, Run, Status, Step, Stopping, with_progress
from mercer.solvers.rprop import rprop_steps
from mercer.threads import allowed_threads, single_threaded_blas

# Density thresholds of [Meinicke2005]_, section 4.3.
THRESHOLDS = (0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005)


@dataclass(frozen=True)
class LatentFit:
    """Latent points that were optimised.

    Attributes
    ----------
    Z : array of shape (N, q)
        The best points that were seen.
    objective : float
        The objective there.
    history : list of float
        The best objective so far, at the start and after each iteration: it never rises.
    n_iter : int
        Number of iterations.
    status : Status
        How it ended: "optimal", "max_iter" or "interrupted".
    """

    Z: Array
    objective: float
    history: list[float]
    n_iter: int
    status: Status

    @classmethod
    def of(cls, run: Run[Array], before: LatentFit | None = None, status: Status | None = None) -> LatentFit:
        """What a run has found, or has found so far, after another descent that it goes on from."""
        history = run.history if before is None else before.history + run.history[1:]
        return cls(run.state, run.value, list(history), len(history) - 1, status or run.status)

    def times(self, factor: float) -> LatentFit:
        """The same with values in another unit."""
        return replace(self, objective=factor * self.objective, history=[factor * value for value in self.history])

    @classmethod
    def at(cls, Z: Array, value: float, status: Status = Status.MAX_ITER) -> LatentFit:
        """Points that no iteration has changed."""
        return cls(Z, value, [value], 0, status)


Callback = Callable[[int, LatentFit], Any]


class _Descent:
    """The points, lists and constraint that algorithms which follow each other work on."""

    def __init__(self, problem: Evaluated, start: Array, tol: float, verbose: bool, callback: Callback | None):
        self.evaluator, self.Z = problem.evaluator(), np.array(start, dtype=np.float64)
        self.first = self.evaluator.value(self.Z)
        self.admissible = admissible_from(self.Z, problem, self.evaluator)
        self._tol, self._verbose, self._callback = tol, verbose, callback
        self.fit: LatentFit | None = None

    def go_on(self, algorithm: Callable[[Run[Array], _Descent, int], object], max_iter: int) -> None:
        """Follow an algorithm from the best points, and add what it finds to the fit."""
        before = self.fit

        def told(n_iter: int, _: Array) -> object:
            if self._callback is None or n_iter == 0:
                return False
            fit = LatentFit.of(run, before, Status.MAX_ITER)
            return self._callback(fit.n_iter, fit)

        stopping = Stopping(self._tol, max_iter, verbose=self._verbose, patience=DESCENTS.patience)
        with Run[Array](stopping, "Unsupervised kernel regression", tell=told) as run:
            algorithm(run, self, max_iter)
        self.fit = LatentFit.of(run, before)
        self.Z = self.fit.Z


class LatentSolver(ABC):
    """An algorithm that minimises a problem over all latent points.

    Attributes
    ----------
    name : str
        What users call it.
    """

    name: ClassVar[str]

    def refusal(self, problem: Evaluated) -> str | None:
        """Why this solver cannot take the problem; None if it can."""
        return None

    @abstractmethod
    def _descend(self, descent: _Descent, max_iter: int) -> None:
        """Let one or several algorithms go on."""

    def solve(
        self,
        problem: Evaluated,
        start: Array,
        *,
        max_iter: int = 500,
        tol: float = 1e-4,
        verbose: bool = False,
        callback: Callback | None = None,
    ) -> LatentFit:
        """Minimise a problem; see `fit_latent`."""
        reason = self.refusal(problem)
        if reason is not None:
            raise ValueError(f"optimizer {self.name!r} cannot solve this problem: {reason}.")
        descent = _Descent(problem, start, tol, verbose, callback)
        self._descend(descent, max_iter)
        assert descent.fit is not None
        return descent.fit


class Rprop(LatentSolver):
    """Resilient propagation: steps by the signs of the gradient. No step leaves where points may be."""

    name = "rprop"

    def steps(self, problem: Evaluated, start: Array) -> Iterates[Array]:
        """The start and all further points, for a run of one's own."""
        evaluator = problem.evaluator()
        evaluator.value(start)  # points that are not finite are refused at once
        admissible = admissible_from(start, problem, evaluator)
        return rprop_steps(evaluator.value_and_gradient, start, admissible=admissible)

    def _descend(self, descent: _Descent, max_iter: int) -> None:
        descent.go_on(_rprop, max_iter)


class LBFGS(LatentSolver):
    """L-BFGS of SciPy. It may leave where points may be, but keeps the best points where they are."""

    name = "lbfgs"

    def refusal(self, problem: Evaluated) -> str | None:
        """It knows no constraint, and needs one function along a line."""
        if problem.least_density > 0.0:
            return "it keeps no density above a threshold; choose the optimizer 'rprop'"
        if isinstance(problem, ListProblem):
            return "its lists of neighbours change along a line; choose the optimizer 'rprop'"
        return None

    def _descend(self, descent: _Descent, max_iter: int) -> None:
        descent.go_on(_lbfgs, max_iter)


class RpropThenLBFGS(LBFGS):
    """A hundred iterations of RPROP, half of all at most, and L-BFGS from there."""

    name = "rprop+lbfgs"

    def _descend(self, descent: _Descent, max_iter: int) -> None:
        before = min(DESCENTS.before, max_iter // 2)
        if before:
            descent.go_on(_rprop, before)
        if descent.fit is None or descent.fit.status != Status.INTERRUPTED:
            descent.go_on(_lbfgs, max_iter - (0 if descent.fit is None else descent.fit.n_iter))


OPTIMIZERS: dict[str, LatentSolver] = {solver.name: solver for solver in (Rprop(), LBFGS(), RpropThenLBFGS())}


def fit_latent(problem: Evaluated, start: Array, *, optimizer: str = "lbfgs", **options: Any) -> LatentFit:
    """Minimise a problem over all latent points.

    Parameters
    ----------
    problem : LatentProblem or ListProblem
        What is minimised.
    start : array of shape (N, q)
        Where to start, in widths of the kernel.
    optimizer : {"rprop", "lbfgs", "rprop+lbfgs"}
        "rprop+lbfgs": a hundred iterations of RPROP (half of `max_iter` at most), then L-BFGS. With a density kernel
        that ends, no step of RPROP leaves a point without neighbours, and L-BFGS keeps the best points where none is.
    max_iter : int
        Most iterations.
    tol : float
        The fit ends when twenty iterations gain less than this share of the objective.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(n_iter, fit) after each iteration; ends the fit if it returns True. So does Ctrl-C, with the
        best points so far.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.fitting import fit_latent
    >>> from mercer.manifolds.ukr.problem import LatentProblem
    >>> from mercer.manifolds.ukr.targets import data_targets
    >>> t = np.linspace(0, 3, 60)
    >>> problem = LatentProblem(data_targets(np.column_stack([np.cos(t), np.sin(t)])))
    >>> fit = fit_latent(problem, 5 * np.cos(t)[:, None])
    >>> bool(fit.objective < 0.1 * fit.history[0]), problem.check(fit.Z, fit.history).holds()
    (True, True)
    """
    return OPTIMIZERS[optimizer].solve(problem, start, **options)


def homotopy(
    problem: LatentProblem, start: Array, thresholds: Sequence[float] = THRESHOLDS, *, verbose: bool = False
) -> LatentFit:
    """Points that unfold step by step: minima under constraints on their density, that are relaxed one by one.

    The start is shrunk to a total variance of 0.01; then for each threshold η a hundred iterations of RPROP among
    points whose density is p(z_i) >= η K(0) [Meinicke2005]_, step 4 of section 2.3.

    Parameters
    ----------
    problem : LatentProblem
        What is minimised.
    start : array of shape (N, q)
        Principal components, as a rule.
    thresholds : sequence of float
        η, falling, between 0 and 1.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    LatentFit
        Where to go on from; Ctrl-C ends it with the best points so far.
    """
    total = float(np.sum(np.var(start, axis=0)))
    Z = start * np.sqrt(DESCENTS.total_variance / total) if total > DESCENTS.total_variance else start
    whole = LatentFit.at(Z, problem.value(Z))
    for eta in with_progress(thresholds, "Homotopy", total=len(thresholds), shown=verbose):
        constrained = replace(problem, least_density=eta)
        fit = Rprop().solve(constrained, whole.Z, max_iter=DESCENTS.homotopy_steps, tol=0.0)
        history = whole.history + fit.history[1:]
        interrupted = fit.status == Status.INTERRUPTED
        whole = LatentFit(fit.Z, history[-1], history, len(history) - 1, fit.status if interrupted else Status.MAX_ITER)
        if interrupted:
            break
    return whole


def admissible_from(start: Array, problem: Evaluated, evaluator: Evaluator) -> Callable[[Array], Array] | None:
    """Which points may be where they are: dense enough, or else within reach of others, if they were at the start."""
    if problem.least_density > 0.0:
        assert isinstance(problem, LatentProblem)
        density, least = problem.density, problem.least_density / problem.density.integral(start.shape[1])
        return lambda Z: density(Z, Z) >= least
    if not problem.density_kernel.ends:
        return None
    # Points that are isolated from the start must not keep all others where they are.
    alone = evaluator.isolated(start)

    def reached(Z: Array) -> Array:
        evaluator.value_and_gradient(Z)  # which is asked for next, and is then known
        return ~evaluator.isolated(Z) | alone

    return reached


def _rprop(run: Run[Array], descent: _Descent, max_iter: int) -> None:
    run.follow(rprop_steps(descent.evaluator.value_and_gradient, descent.Z, admissible=descent.admissible))


def _lbfgs(run: Run[Array], descent: _Descent, max_iter: int) -> None:
    evaluator, Z, admissible = descent.evaluator, descent.Z, descent.admissible
    first = descent.first if descent.fit is None else descent.fit.objective
    n_threads, scale = allowed_threads(), 1.0 / max(first, np.finfo(np.float64).tiny)

    def function(flat: Array) -> tuple[float, Array]:
        value, gradient = evaluator.value_and_gradient(flat.reshape(Z.shape), n_threads)
        return value * scale, gradient.ravel() * scale

    def seen(intermediate_result: Any) -> None:
        # SciPy goes on to write to its points.
        points, value = intermediate_result.x.reshape(Z.shape).copy(), float(intermediate_result.fun / scale)
        # Points that may not be there are no candidates for the best.
        refused = value < run.value and admissible is not None and not admissible(points).all()
        if run.see(Step(points, np.inf if refused else value)):
            raise StopIteration

    run.see(Step(Z, first))
    with single_threaded_blas:  # small products of SciPy's, between gradients, wait longer for threads
        minimize(
            function, Z.ravel(), jac=True, method="L-BFGS-B", callback=seen,
            options={
                "maxiter": max_iter, "maxfun": DESCENTS.evaluations * max_iter, "ftol": 0.0, "gtol": 0.0,
                "maxcor": DESCENTS.corrections,
            },
        )  # fmt: skip
