"""The fit: projection and adaptation in turns, so that the regularized quantization error never rises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mercer.arrays import Array
from mercer.losses.rows import RowLoss, SquaredRows
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.adaptation import Adaptation
from mercer.manifolds.principal.problem import ManifoldProblem
from mercer.manifolds.principal.projection import Projection, project, residuals_at
from mercer.manifolds.principal.result import Callback, ManifoldFit
from mercer.manifolds.principal.solver import ManifoldSolver
from mercer.running import Iterates, Run, Status, Step, Stopping
from mercer.threads import single_threaded_blas


@dataclass(frozen=True)
class AlternationTuning:
    """Numbers of `Alternation`, set by the fits of `benchmarks/manifolds.py`.

    Attributes
    ----------
    first_weight, least_weight : float
        The weight of residuals along the manifold, at first and at the least.
    bolder, shyer : float
        Its factors after a success and after a failure.
    patience : int
        Number of gains below the tolerance in a row that end a fit.
    steps, tol : int, float
        Of a projection between two adaptations: most steps, and the gain as a share of the cost that is worth another.
    """

    first_weight: float = 0.1
    least_weight: float = 1e-3
    bolder: float = 0.3
    shyer: float = 10.0
    patience: int = 3
    steps: int = 15
    tol: float = 1e-7


_TUNING = AlternationTuning()


class Alternation(ManifoldSolver):
    """Projection of the rows and adaptation of the map in turns.

    Each iteration adapts the map with residuals along the manifold weighed by some μ ≤ 1, and projects all rows again.
    If R_reg fell the step is kept and the next one is bolder (smaller μ), else it is taken back and μ grows, as in
    Levenberg's method; at μ = 1 both halves of the iteration decrease R_reg by themselves.
    """

    name = "alternation"

    def refusal(self, problem: ManifoldProblem) -> None:
        """There is none: it takes every cost, every penalty, and missing entries."""

    def _solve(
        self, problem: ManifoldProblem, start: Any, stopping: Stopping, callback: Callback | None
    ) -> ManifoldFit:
        def tell(n_iter: int, state: _State) -> Any:
            return n_iter > 0 and callback is not None and callback(n_iter, state.fit(run, Status.MAX_ITER))

        run = Run[_State](replace(stopping, tol=-1.0), "Principal manifold", tell=tell)
        with single_threaded_blas, run:  # once, since to set the limit takes longer than a small product
            run.follow(_iterates(problem, start, stopping.tol))
            if run.last is not None and run.last.status is not None:  # `Run` tells of those that it goes on from
                tell(run.n_iter, run.last.state)
        # Values never rise. Without a first one, to ask for the best raises the interrupt again.
        last = run.last.state if run.last else run.state
        with single_threaded_blas:
            return last.finished().fit(run, run.status)


def _iterates(problem: ManifoldProblem, start: Any, tol: float) -> Iterates[_State]:
    """Iterates whose values never rise, until `patience` of them in a row gain too little, or none is left."""
    state = _State.first(problem, start)
    weight, n_small = _TUNING.first_weight, 0
    yield Step(state, state.value)
    while True:
        new = state.advanced(weight)
        gain = state.value - new.value
        if gain >= 0.0:
            state, n_small = new, n_small + 1 if gain <= tol * new.value else 0
            has_converged = n_small >= _TUNING.patience
            yield Step(state, state.value, Status.OPTIMAL if has_converged else None)
            weight = max(_TUNING.least_weight, weight * _TUNING.bolder)
        elif weight == 1.0:
            return None
        else:
            weight = min(1.0, weight * _TUNING.shyer)


@dataclass(frozen=True)
class _State:
    """A map, the projections on it, and R_reg with a cost that may be smoothed."""

    problem: ManifoldProblem
    cost: RowLoss
    map: LatentMap
    projection: Projection

    @classmethod
    def first(cls, problem: ManifoldProblem, start: Any) -> _State:
        """Adapt a map to the start, and project on it."""
        rows = problem.rows
        if isinstance(start, ManifoldFit):
            start = start.Z if len(start.Z) == len(rows) else start.map
        if isinstance(start, LatentMap):
            start = _roughly_projected(rows, start).Z
        start = problem.basis.space.inside(start)
        f = _adaptation(problem).solve(start, SquaredRows())
        cost = problem.cost.scaled_to(residuals_at(rows, f, start))
        return cls(problem, cost, f, _roughly_projected(rows, f, cost, start))

    @cached_property
    def value(self) -> float:
        """R_reg."""
        return float(self.projection.costs.mean()) + _adaptation(self.problem).penalty_of(self.map)

    def advanced(self, weight: float) -> _State:
        """One iteration; the cost may become sharper."""
        Z = self.projection.Z
        f = _adaptation(self.problem).solve(Z, self.cost, self.map, tangential=weight)
        cost = self.cost.annealed()
        return replace(self, map=f, projection=_roughly_projected(self.problem.rows, f, cost, Z), cost=cost)

    def finished(self) -> _State:
        """Project to the last digit, from several starts."""
        cost = self.cost.exact()
        return replace(
            self, projection=project(self.problem.rows, self.map, cost=cost, start=self.projection.Z), cost=cost
        )

    def fit(self, run: Run[_State], status: Status) -> ManifoldFit:
        """What is handed out."""
        history = [*run.history[:-1], self.value]
        return ManifoldFit(
            self.map, self.projection.Z, self.projection.costs, self.value, history, run.n_iter, status,
            self.problem.penalty, self.cost,
        )  # fmt: skip


def _adaptation(problem: ManifoldProblem) -> Adaptation:
    return Adaptation(problem.rows, problem.basis, problem.penalty, problem.regularizer)


def _roughly_projected(rows: Rows, f: LatentMap, cost: RowLoss | None = None, start: Array | None = None) -> Projection:
    return project(rows, f, cost=cost, start=start, n_starts=1, max_steps=_TUNING.steps, tol=_TUNING.tol)


def fit_manifold(
    X: Array | Rows,
    start: Array | LatentMap | ManifoldFit,
    basis: LatentBasis,
    penalty: float,
    *,
    cost: Any = "squared",
    regularizer: Any = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    verbose: bool = False,
    callback: Callback | None = None,
) -> ManifoldFit:
    """Minimise R_reg = 1/m Σ_i min_z c(x_i, f(z)) + λ/2 ||f||² over the maps f of a basis, from a start.

    By `Alternation`: projection of the rows and adaptation of the map in turns.

    Parameters
    ----------
    X : array of shape (m, d) or Rows
        Data; NaN are missing entries.
    start : array of shape (m, q), LatentMap or ManifoldFit
        Latent coordinates of the rows, a map (of any basis on the same space) to project them on, or another fit, of
        the same rows or of others: a penalty path is a chain of these.
    basis : LatentBasis
        The functions that f is made of.
    penalty : float
        λ > 0.
    cost : {"squared", "l1", "huber"}, Loss or RowLoss
        See `as_row_loss`.
    regularizer : {"rkhs", "length", "l2", "l1", "group_l1"}, Regularizer or MapPenalty, optional
        See `as_map_penalty`; by default "rkhs" for a whitened basis, and else "l2". "length" is "rkhs" with the kernel
        `Length`; "l2", "l1" and "group_l1" need a basis that is not whitened.
    max_iter : int
        Most iterations.
    tol : float
        The fit ends when three iterations in a row gain less than this share of R_reg.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(n_iter, fit) after each iteration; ends the fit if it returns True.

    Returns
    -------
    ManifoldFit
        Ctrl-C ends the fit, too, with the best map so far. Memory: see `Adaptation`; time is linear in m.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import LatentBasis, LatentSpace, fit_manifold
    >>> t = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([t, t**2])
    >>> basis = LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), sides=(8,))
    >>> fit = fit_manifold(X, t[:, None], basis, penalty=1e-6)
    >>> bool(fit.costs.mean() < 1e-5), all(np.diff(fit.history) <= 0)
    (True, True)
    """
    problem = ManifoldProblem.of(X, basis, penalty, cost, regularizer)
    return Alternation().solve(problem, start, Stopping(tol, max_iter, verbose=verbose), callback)


def fit_path(
    X: Array | Rows, start: Any, basis: LatentBasis, penalties: Sequence[float], **options: Any
) -> list[ManifoldFit]:
    """Fits for several penalties, each of which starts from the one before: falling penalties unfold step by step.

    Ctrl-C ends the path with the fit that it interrupts.
    """
    fits: list[ManifoldFit] = []
    rows = X if isinstance(X, Rows) else Rows(X)
    for penalty in penalties:
        fits.append(fit_manifold(rows, fits[-1] if fits else start, basis, penalty, **options))
        if fits[-1].status == Status.INTERRUPTED:
            break
    return fits
