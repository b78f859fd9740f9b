"""The two lowest rungs of the ladder of models: a point, and a flat box along the principal components."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtr
from sklearn.utils.extmath import svd_flip

from mercer.arrays import Array
from mercer.losses.rows import RowLoss, SquaredRows
from mercer.manifolds.latent.kernels import default_kernel
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.density import Cells, ManifoldDensity
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.result import ManifoldFit
from mercer.running import Status

# Half-widths of the box that are tried, as multiples of what the variance along it says.
_FACTORS = np.linspace(0.6, 1.5, 19)
# The least noise around a plane, as a share of the variance.
_LEAST_NOISE = 1e-9
# Shares of the least variance that are tried as noise if no direction is left for it.
_SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001)


def constant_map(X: Array, space: LatentSpace) -> LatentMap:
    """f(z) = the mean of the rows."""
    return _affine(X.mean(axis=0), np.zeros((space.n_dims, X.shape[1])), space)


def principal_map(X: Array, space: LatentSpace) -> LatentMap:
    """f(z) = mean + Σ_a z_a h_a v_a, with principal directions v_a and the most likely half-widths h_a of the box.

    Under a uniform z in [-1, 1] and noise of variance s², the density along v_a is
    (Φ((t + h_a)/s) - Φ((t - h_a)/s)) / (2 h_a).
    """
    mean, q = X.mean(axis=0), space.n_dims
    U, values, V = np.linalg.svd(X - mean, full_matrices=False)
    U, V = svd_flip(U, V)
    variances = np.zeros(X.shape[1])
    variances[: len(values)] = values**2 / len(X)
    noises = [variances[q:].mean()] if X.shape[1] > q else [share * variances[q - 1] for share in _SHARES]
    best, half_widths = -np.inf, np.zeros(q)
    for noise in noises:
        s = np.sqrt(max(noise, 1e-12 * variances[0]))
        found = [_half_width(U[:, a] * values[a], variances[a], s) for a in range(q)]
        total = sum(value for value, _ in found)
        if total > best:
            best, half_widths = total, np.array([h for _, h in found])
    return _affine(mean, half_widths[:, None] * V[:q], space)


def normal_density(X: Array, n_components: int) -> ManifoldDensity:
    """The density of rows whose places on the plane of the principal components are normal: a single, wide cell.

    Boxes are for rows that fill them evenly; a table that is flat need not do so.
    """
    mean = X.mean(axis=0)
    _, values, V = np.linalg.svd(X - mean, full_matrices=False)
    q = min(n_components, X.shape[1] - 1)
    variances = values**2 / len(X)
    noise = max(variances[q:].sum() / (X.shape[1] - q), _LEAST_NOISE * variances.sum())
    slopes = np.zeros((n_components, 1, X.shape[1]))
    slopes[:q, 0] = np.sqrt(np.maximum(variances[:q] - noise, 0.0))[:, None] * V[:q]
    cells = Cells(np.zeros((1, X.shape[1])), slopes, (slopes**2).sum(axis=2), np.eye(n_components)[None], mean)
    return ManifoldDensity(cells, noise)


def unchanged_fit(
    X: Array, f: LatentMap, penalty: float, status: Status, cost: RowLoss | None = None, kind: str = "manifold"
) -> ManifoldFit:
    """A map as a fit to rows, without any adaptation; the objective is the mean cost alone."""
    cost = SquaredRows() if cost is None else cost
    projection = project(Rows(X), f, cost=cost)
    error = float(projection.costs.mean())
    return ManifoldFit(f, projection.Z, projection.costs, error, [error], 0, status, penalty, cost, kind)


def _half_width(t: Array, variance: float, s: float) -> tuple[float, float]:
    """The most likely half-width along a direction with coordinates t, and its log-likelihood before it."""
    h = _FACTORS * np.sqrt(3.0 * max(variance - s**2, 1e-6 * s**2))
    mass = ndtr((t[:, None] + h) / s) - ndtr((t[:, None] - h) / s)
    values = np.log(np.maximum(mass, 1e-300)).sum(axis=0) - len(t) * np.log(2 * h)
    return float(values.max()), float(h[np.argmax(values)])


def _affine(mean: Array, slopes: Array, space: LatentSpace) -> LatentMap:
    basis = affine_basis(space)
    penalised = np.zeros((basis.n_features, len(mean)))
    return basis.map_of(np.vstack([penalised, mean, slopes] if basis.linear else [penalised, mean]))


@cache
def affine_basis(space: LatentSpace) -> LatentBasis:
    """A basis of few functions, of which the polynomials are used."""
    kernel = default_kernel(space, np.ones(space.n_dims))
    return LatentBasis(space, kernel, space.fewest_sides, linear=not space.is_circle.any())
