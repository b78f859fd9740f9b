"""Soft assignment: rows are shared among the cells of the latent space by their posterior, not projected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mercer.manifolds.adaptation import Adaptation
from mercer.manifolds.costs import SquaredCost
from mercer.manifolds.density import CellPosterior, Cells, ManifoldDensity, latent_cells
from mercer.manifolds.fitting import ManifoldFit
from mercer.manifolds.latent_map import LatentBasis, LatentMap
from mercer.manifolds.projection import Rows, project
from mercer.quantizers import Stopping, descend

Array = NDArray[Any]

# Added to the normal equations, as a share of their trace: kernel functions may be nearly dependent.
_JITTER = 1e-14


@dataclass(frozen=True)
class SoftMap:
    """A map that EM has found.

    Attributes
    ----------
    map, density : LatentMap, ManifoldDensity
        f, and the density with its s².
    n_parameters : float
        Trace of the matrix that takes a column of the rows to its expected values.
    history, status : list of float, str
        The objective, which never rises, and how it ended: "optimal", "max_iter" or "interrupted".
    """

    map: LatentMap
    density: ManifoldDensity
    n_parameters: float
    history: list[float]
    status: Any


def soft_map(
    X: Array,
    start: LatentMap,
    basis: LatentBasis,
    penalty: float,
    stopping: Stopping,
    *,
    variance: float | None = None,
) -> SoftMap:
    """Maximise the penalised likelihood of the density that a manifold implies by EM.

    Minimises -1/m Σ log p(x_i) + λ/(4 s²) ||f||² over f and s², with the p of `ManifoldDensity`: R_reg / (2 s²) with
    expectations over the posterior of the latent place in the stead of projections. Where noise is large, projections
    take noise for signal, since the nearest point of the manifold is nearer than the true one; posteriors do not.

    Parameters
    ----------
    X : array of shape (m, d)
        Rows without missing entries.
    start : LatentMap
        Of any basis on the same space.
    basis : LatentBasis
        The functions that f is made of.
    penalty : float
        λ, for a quadratic penalty.
    stopping : Stopping
        When to end; tol is in units of the log density per row.
    variance : float, optional
        s² to start from; by default the most likely one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_arc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import LatentBasis, LatentSpace, fit_manifold, soft_map
    >>> from mercer.quantizers import Stopping
    >>> X, t = make_arc(300, angle=4.0, noise=0.3, random_state=0)
    >>> basis = LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), sides=(7,))
    >>> hard = fit_manifold(X, t[:, None] / 2 - 1, basis, penalty=1e-3)
    >>> soft = soft_map(X, hard.map, basis, 1e-3, Stopping(tol=1e-4, max_iter=100))
    >>> z = np.linspace(-1, 1, 100)[:, None]
    >>> [round(float(np.std(np.linalg.norm(f(z), axis=1))), 1) for f in (hard.map, soft.map)]
    [0.3, 0.1]
    """
    offset = X.mean(axis=0)
    em = _ExpectationMaximisation(Rows(X - offset), basis, penalty)
    first, value = em.expected(_moved(start, -offset), variance)
    # The value of the start is no bound: its norm may be that of another basis.
    state, value = em.step(first)
    run = descend(state, value, em.step, stopping, name="Soft manifold", scale=1.0)
    cells = run.state.density.cells
    density = ManifoldDensity(replace(cells, centre=cells.centre + offset), run.state.density.variance)
    return SoftMap(_moved(run.state.map, offset), density, run.state.n_parameters, run.history, run.status)


def soft_fit(X: Array, start: LatentMap, basis: LatentBasis, penalty: float, stopping: Stopping) -> ManifoldFit:
    """The map of `soft_map` with the projections of the rows on it; its history is that of EM."""
    soft = soft_map(X, start, basis, penalty, stopping)
    rows = Rows(X)
    projection = project(rows, soft.map)
    objective = float(projection.costs.mean()) + Adaptation(rows, basis, penalty).penalty_of(soft.map)
    return ManifoldFit(
        soft.map, projection.Z, projection.costs, objective, soft.history, len(soft.history) - 1, soft.status, penalty,
        SquaredCost(),
    )  # fmt: skip


@dataclass(frozen=True)
class _State:
    """A map, its density, and what the rows say of the cells: sums over rows of r_ig, with e_0 = 1.

    Attributes
    ----------
    moments : array of shape (G, 1 + q, 1 + q)
        Σ_i r_ig E e_a e_b.
    totals : array of shape (G, 1 + q, d)
        Σ_i r_ig E e_a x_i.
    n_parameters : float
        Of the step that led here.
    """

    map: LatentMap
    density: ManifoldDensity
    moments: Array
    totals: Array
    n_parameters: float


class _ExpectationMaximisation:
    """Within a cell, f(z_g + e) = (φ_g + Σ_a e_a φ_ga) W is linear in W, also for a place e that is not known."""

    def __init__(self, rows: Rows, basis: LatentBasis, penalty: float):
        self._rows, self._basis, self._penalty = rows, basis, penalty
        points, side = latent_cells(basis.space)
        self._features = basis.features(points)
        self._slopes = basis.slopes(points) * (side / np.sqrt(12.0))
        self._squared_norm = float(np.sum(rows.X**2))

    def step(self, state: _State) -> tuple[_State, float]:
        """The best map for the posterior and then the best noise for the map; then the posterior."""
        turned = state.density.cells.turns.transpose(0, 2, 1) @ self._slopes
        features = np.concatenate([self._features[:, None], turned], axis=1)
        flat = features.reshape(-1, features.shape[2])
        A = flat.T @ (state.moments @ features).reshape(flat.shape)
        C = flat.T @ state.totals.reshape(len(flat), -1)
        ridge = np.full(len(A), _JITTER * np.trace(A))
        ridge[: self._basis.n_features] += self._penalty * len(self._rows) / 2
        factor = cho_factor(A + np.diag(ridge))
        W = cho_solve(factor, C)
        squares = self._squared_norm - 2.0 * np.vdot(W, C) + np.vdot(W, A @ W) + ridge @ (W**2).sum(axis=1)
        n_parameters = float(np.trace(cho_solve(factor, A)))
        return self.expected(self._basis.map_of(W), float(squares) / self._rows.X.size, n_parameters)

    def expected(self, f: LatentMap, variance: float | None, n_parameters: float = np.nan) -> tuple[_State, float]:
        """The posterior, and the objective."""
        if variance is None:
            density = ManifoldDensity.of(self._rows, f)
        else:
            density = ManifoldDensity(Cells.of(f), max(variance, np.finfo(np.float64).tiny))
        uncertain = density.variance / (density.variance + density.cells.squares)

        def sums(block: slice, post: CellPosterior) -> tuple[Array, Array, float]:
            X = self._rows.X[block]
            weighted = [post.R, *(post.R * e for e in post.places)]
            totals = np.stack([W.T @ X for W in weighted], axis=1)
            moments = np.empty((post.R.shape[1], len(weighted), len(weighted)))
            for a, W in enumerate(weighted):
                moments[:, a, 0] = moments[:, 0, a] = W.sum(axis=0)
                for b, e in enumerate(post.places[:a], start=1):
                    moments[:, a, b] = moments[:, b, a] = np.einsum("ig,ig->g", W, e)
            for a, left in enumerate(uncertain, start=1):
                moments[:, a, a] += moments[:, 0, 0] * left
            return moments, totals, float(post.log_p.sum())

        moments, totals, log_likelihoods = zip(*density.over_rows(self._rows, sums), strict=True)
        norm = np.sum(f.coefficients[: f.basis.n_features] ** 2)
        value = -sum(log_likelihoods) / len(self._rows) + self._penalty / (4 * density.variance) * float(norm)
        return _State(f, density, sum(moments), sum(totals), n_parameters), value


def _moved(f: LatentMap, offset: Array) -> LatentMap:
    coefficients = f.coefficients.copy()
    coefficients[f.basis.n_features] += offset
    return f.basis.map_of(coefficients)
