"""Soft assignment: rows are shared among the cells of the latent space by their posterior, not projected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Array
from mercer.losses.rows import SquaredRows
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.density import Cells, CellSums, ManifoldDensity
from mercer.manifolds.principal.fitting import fit_manifold
from mercer.manifolds.principal.problem import ManifoldProblem
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.result import Callback, ManifoldFit
from mercer.manifolds.principal.solver import ManifoldSolver
from mercer.running import Run, Status, Stopping, descent
from mercer.threads import single_threaded_blas

# Added to the normal equations, as a share of their trace: kernel functions may be nearly dependent.
_JITTER = 1e-14
# So many steps ahead nothing is known.
_FARTHEST = 100.0
# Hard iterations at the end of a soft fit: more of them wind.
_LAST = 4


@dataclass(frozen=True)
class SoftMap:
    """A map that EM has found.

    Attributes
    ----------
    map, density : LatentMap, ManifoldDensity
        f, and the density with its s².
    history, status : list of float, Status
        The objective, which never rises, and how it ended.
    posterior : object
        What the rows say of the cells, to go on from.
    """

    map: LatentMap
    density: ManifoldDensity
    history: list[float]
    status: Status
    posterior: Any


def soft_map(
    X: Array,
    start: Any,
    basis: LatentBasis,
    penalty: float,
    stopping: Stopping,
    *,
    variance: float | None = None,
    accelerated: bool = False,
    tell: Callable[[int, LatentMap], Any] | None = None,
) -> SoftMap:
    """Maximise the penalised likelihood of the density that a manifold implies by EM.

    Minimises -1/m Σ log p(x_i) + λ/(4 s²) ||f||² over f and s², with the p of `ManifoldDensity`: R_reg / (2 s²) with
    expectations over the posterior of the latent place in the stead of projections. Where noise is large, projections
    take noise for signal, since the nearest point of the manifold is nearer than the true one; posteriors do not.

    Parameters
    ----------
    X : array of shape (m, d)
        Rows without missing entries.
    start : array of shape (m, q), LatentMap or SoftMap
        Latent coordinates of the rows, a map of any basis on the same space, or what was found for the same rows and
        basis with another penalty: a penalty path is a chain of these.
    basis : LatentBasis
        The functions that f is made of.
    penalty : float
        λ, for a quadratic penalty.
    stopping : Stopping
        When to end; tol is in units of the log density per row.
    variance : float, optional
        s² to start from a map with; by default the most likely one.
    accelerated : bool
        Whether an iteration is two steps of EM and, where that is better, a leap on from these; it pays for fits that
        are to converge.
    tell : callable, optional
        Called as tell(iteration, map) after each step; ends the fit if it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_arc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import LatentBasis, LatentSpace, fit_manifold, soft_map
    >>> from mercer.running import Stopping
    >>> X, t = make_arc(300, angle=4.0, noise=0.3, random_state=0)
    >>> basis = LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), sides=(7,))
    >>> hard = fit_manifold(X, t[:, None] / 2 - 1, basis, penalty=1e-3)
    >>> soft = soft_map(X, hard.map, basis, 1e-3, Stopping(tol=1e-4, max_iter=100))
    >>> z = np.linspace(-1, 1, 100)[:, None]
    >>> [round(float(np.std(np.linalg.norm(f(z), axis=1))), 1) for f in (hard.map, soft.map)]
    [0.3, 0.1]
    """
    offset = X.mean(axis=0)
    rows = Rows(X - offset)
    with single_threaded_blas:  # once, since to set the limit takes longer than a small product
        em = _Steps(rows, basis, penalty)
        state, value = em.first(start, offset, variance)
        if isinstance(start, LatentMap) and start.basis != basis:
            # The value of the start is no bound: its norm is that of another basis.
            state, value = em.step(state)

        def told(iteration: int, state: _State) -> Any:
            return iteration > 0 and tell is not None and tell(iteration, _moved(state.map, offset))

        with Run[_State](stopping, "Soft manifold", scale=1.0, tell=told) as run:
            run.follow(descent(state, value, em.leap if accelerated else em.step))
    cells = run.state.density.cells
    density = ManifoldDensity(replace(cells, centre=cells.centre + offset), run.state.density.variance)
    return SoftMap(_moved(run.state.map, offset), density, run.history, run.status, run.state)


@dataclass(frozen=True)
class ExpectationMaximisation(ManifoldSolver):
    """EM for the density that a manifold implies, see `soft_map`, and then the projections of the rows.

    The history is that of EM, which is -1/m Σ log p(x_i) + λ/(2 s²) Ω(f); the callback is told of R_reg.

    Parameters
    ----------
    variance : float, optional
        s² to start from a map with; by default the most likely one.
    accelerated : bool
        Whether an iteration is two steps of EM and an extrapolation from them.
    """

    name = "expectation_maximisation"
    variance: float | None = None
    accelerated: bool = True

    def refusal(self, problem: ManifoldProblem) -> str | None:
        """It is for normal noise, normal priors and complete rows."""
        if problem.cost != SquaredRows():
            return "its cost is not the negative log-likelihood of normal noise; choose the cost 'squared'"
        if not problem.regularizer.quadratic:
            return "its regularizer is not quadratic; choose 'rkhs'"
        return None if problem.rows.seen is None else "its rows have missing entries; fill them first"

    def _solve(
        self, problem: ManifoldProblem, start: Any, stopping: Stopping, callback: Callback | None
    ) -> ManifoldFit:
        rows, basis = problem.rows, problem.basis

        def fit_of(f: LatentMap, history: list[float] | None, n_iter: int, status: Status) -> ManifoldFit:
            found = project(rows, f)
            norm = problem.regularizer.value(f.coefficients[: basis.n_features])
            objective = float(found.costs.mean()) + problem.penalty * norm
            return ManifoldFit(
                f, found.Z, found.costs, objective, history or [objective], n_iter, status, problem.penalty,
                problem.cost,
            )  # fmt: skip

        def tell(iteration: int, f: LatentMap) -> Any:
            return callback is not None and callback(iteration, fit_of(f, None, iteration, Status.MAX_ITER))

        soft = soft_map(
            rows.X, start, basis, problem.penalty, stopping,
            variance=self.variance, accelerated=self.accelerated, tell=tell,
        )  # fmt: skip
        return fit_of(soft.map, soft.history, len(soft.history) - 1, soft.status)


def soft_fit(
    X: Array,
    start: Any,
    basis: LatentBasis,
    penalty: float,
    stopping: Stopping,
    callback: Callback | None = None,
    variance: float | None = None,
) -> ManifoldFit:
    """The fit by `ExpectationMaximisation`, with the parameters of `soft_map`."""
    problem = ManifoldProblem.of(X, basis, penalty)
    return ExpectationMaximisation(variance).solve(problem, start, stopping, callback)


def hard_end(X: Array, soft: ManifoldFit, callback: Callback | None = None) -> ManifoldFit:
    """A soft fit after four hard iterations, which bring it nearer to new rows.

    EM aims at the manifold that rows lie around. The one that is nearest to them goes on beyond the ends of that, and
    lies outward of its bends, by half of the variance of the noise times their curvature; a few iterations of
    `fit_manifold` go most of the way there. They must be few: what is aimed at is a saddle point of the mean squared
    distance [Duchamp1996]_, from which a descent goes on to manifolds that wind through the noise.

    The history, the number of iterations and the status are those of the soft fit, unless it is interrupted here. The
    callback is told of R_reg, which never rises, with numbers that go on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_arc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import LatentBasis, LatentSpace, fit_manifold, hard_end, soft_fit
    >>> from mercer.running import Stopping
    >>> X, t = make_arc(500, angle=4.0, noise=0.1, random_state=0)
    >>> basis = LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), sides=(7,))
    >>> start = fit_manifold(X, t[:, None] / 2 - 1, basis, penalty=1e-3).map
    >>> soft = soft_fit(X, start, basis, 1e-4, Stopping(tol=1e-4, max_iter=100))
    >>> bool(hard_end(X, soft).costs.mean() < soft.costs.mean())
    True
    """

    def tell(iteration: int, fit: ManifoldFit) -> Any:
        return callback is not None and callback(soft.n_iter + iteration, fit)

    end = fit_manifold(X, soft, soft.map.basis, soft.penalty, max_iter=_LAST, callback=tell)
    status = end.status if end.status == Status.INTERRUPTED else soft.status
    return replace(end, history=soft.history, n_iter=soft.n_iter, status=status)


def share_moved(old: LatentMap, new: LatentMap, variance: float) -> float:
    """How far a manifold lies from another, from which it was moved, as a share of the noise.

    The root of the mean squared distance of the images of the cells of the old one; what the new one has beyond the
    ends of the old one does not count.
    """
    cells = Cells.of(old)
    return float(np.sqrt(project(Rows(cells.F + cells.centre), new).costs.mean() / variance))


@dataclass(frozen=True)
class _State:
    """A map, its density, and what the rows say of the cells."""

    map: LatentMap
    density: ManifoldDensity
    sums: CellSums

    @property
    def unturned(self) -> tuple[Array, Array]:
        """Moments and totals of places along the coordinates, and not along the axes of the cells' images."""
        turns, moments, totals = self.density.cells.turns, self.sums.moments.copy(), self.sums.totals.copy()
        totals[:, 1:] = turns @ totals[:, 1:]
        moments[:, 1:] = turns @ moments[:, 1:]
        moments[:, :, 1:] = moments[:, :, 1:] @ turns.transpose(0, 2, 1)
        return moments, totals


class _Steps:
    """Within a cell, f(z_g + e) = (φ_g + Σ_a e_a φ_ga) W is linear in W, also for a place e that is not known."""

    def __init__(self, rows: Rows, basis: LatentBasis, penalty: float):
        self._rows, self._basis, self._penalty = rows, basis, penalty
        self._cells = basis.cell_features
        self._squared_norm = float(np.sum(rows.X**2))

    def step(self, state: _State) -> tuple[_State, float]:
        """The best map for the posterior and then the best noise for the map; then the posterior."""
        moments, totals = state.unturned
        W, squares = self._solved(self._cells.gram(moments), self._cells.sums(totals))
        return self._expected(self._basis.map_of(W), squares / self._rows.X.size)

    def leap(self, state: _State) -> tuple[_State, float]:
        """Two steps, and on along the parabola through all three states, as far as these say, if that is better.

        The squared extrapolation of [Varadhan2008]_: θ + 2αr + α²v, with the first step r, the change v from it to the
        second, and α = ||r|| / ||v||; a single step is α = 1/2, and two steps are α = 1.
        """
        one, _ = self.step(state)
        two, value = self.step(one)
        (W, s), (W1, s1), (W2, s2) = ((x.map.coefficients, np.log(x.density.variance)) for x in (state, one, two))
        r, v = W1 - W, W2 - 2 * W1 + W
        alpha = float(np.linalg.norm(r)) / max(float(np.linalg.norm(v)), np.finfo(np.float64).tiny)
        if not 1.0 < alpha < _FARTHEST:
            return two, value
        f = self._basis.map_of(W + 2 * alpha * r + alpha**2 * v)
        log_variance = s + 2 * alpha * (s1 - s) + alpha**2 * (s2 - 2 * s1 + s)
        if not s2 - 1.0 < log_variance < s2 + 1.0:
            return two, value
        far, far_value = self._expected(f, float(np.exp(log_variance)))
        return (far, far_value) if far_value < value else (two, value)

    def first(self, start: Any, offset: Array, variance: float | None) -> tuple[_State, float]:
        """The posterior to start from, for rows that an offset was taken from, and the objective."""
        if isinstance(start, SoftMap):
            return start.posterior, self._value(start.posterior)
        if not isinstance(start, LatentMap):
            return self._from_coordinates(self._basis.space.inside(start))
        same_cells = start.basis.with_cells(self._basis.space.n_cells)
        f = _moved(replace(start, basis=same_cells), -offset)
        return self._expected(f, ManifoldDensity.of(self._rows, f).variance if variance is None else variance)

    def _from_coordinates(self, Z: Array) -> tuple[_State, float]:
        """The best map for places that are given."""
        g, e = self._basis.space.in_cells(Z)
        e = np.column_stack([np.ones(len(Z)), e])
        n_cells, d = len(self._basis.space.cells[0]), self._rows.X.shape[1]
        moments, totals = np.zeros((n_cells, e.shape[1], e.shape[1])), np.zeros((n_cells, e.shape[1], d))
        np.add.at(moments, g, e[:, :, None] * e[:, None])
        np.add.at(totals, g, e[:, :, None] * self._rows.X[:, None])
        A = self._cells.gram(moments)
        W, squares = self._solved(A, self._cells.sums(totals))
        squares -= float(self._ridge(A) @ (W**2).sum(axis=1))
        # What is off the manifold is spread over the directions normal to it.
        n_normal = max(self._rows.X.shape[1] - Z.shape[1], 1)
        return self._expected(self._basis.map_of(W), squares / (len(Z) * n_normal))

    def _ridge(self, A: Array) -> Array:
        """What the penalty adds to the diagonal."""
        ridge = np.full(len(A), _JITTER * np.trace(A))
        ridge[: self._basis.n_features] += self._penalty * len(self._rows) / 2
        return ridge

    def _solved(self, A: Array, C: Array) -> tuple[Array, float]:
        """The best coefficients, and what is left of the squares of the rows, with the penalty."""
        ridge = self._ridge(A)
        system = A.copy()
        system.flat[:: len(A) + 1] += ridge
        W = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), C, check_finite=False)
        squares = self._squared_norm - 2.0 * np.vdot(W, C) + np.vdot(W, A @ W) + ridge @ (W**2).sum(axis=1)
        return W, float(squares)

    def _expected(self, f: LatentMap, variance: float) -> tuple[_State, float]:
        """The posterior, and the objective."""
        density = ManifoldDensity(Cells.of(f), max(variance, np.finfo(np.float64).tiny))
        state = _State(f, density, density.sums(self._rows))
        return state, self._value(state)

    def _value(self, state: _State) -> float:
        norm = float(np.sum(state.map.coefficients[: state.map.basis.n_features] ** 2))
        penalty = self._penalty / (4 * state.density.variance) * norm
        return -state.sums.log_likelihood / len(self._rows) + penalty


def _moved(f: LatentMap, offset: Array) -> LatentMap:
    coefficients = f.coefficients.copy()
    coefficients[f.basis.n_features] += offset
    return f.basis.map_of(coefficients)
