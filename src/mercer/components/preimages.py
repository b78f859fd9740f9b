"""From a point in feature space back to a row: three methods, none exact.

A point is given by coefficients c of kernel functions: Σ_i c_i Φ(x_i).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances

from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram import Gram

Array = NDArray[Any]

PREIMAGES = ("auto", "fixed_point", "distance", "ridge")
# Rows that the ridge map is learned on at most: its cost is cubic.
_LEARNED_ROWS = 2000
_BLOCK_MEMORY = 2**25


def fixed_point_preimages(
    kernel: Kernel, X: Array, coef: Array, start: Array | None = None, *, max_iter: int = 200, tol: float = 1e-6
) -> Array:
    """Rows z whose images are nearest to Σ_i c_i Φ(x_i), for a function k(r²) of the distance.

    z ← Σ_i c_i k'(r_i²) x_i / Σ_i c_i k'(r_i²), for the Gaussian kernel the iteration of Mika et al. (1999). A step is
    halved until the value Σ_i c_i k(x_i, z) does not fall, so that the best row so far is never lost.

    Parameters
    ----------
    kernel : Kernel
        With ``kernel.stationary``.
    X : array of shape (n, d)
        The x_i.
    coef : array of shape (m, n)
        Coefficients of m points.
    start : array of shape (m, d), optional
        By default the nearest of the rows of X.
    max_iter, tol : int, float
        Most steps, and the length of a step at which to stop, relative to the spread of X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.components import fixed_point_preimages
    >>> from mercer.kernels import Gaussian
    >>> fixed_point_preimages(Gaussian(1.0), np.array([[0.0], [1.0]]), np.array([[0.5, 0.5]])).round(3)
    array([[0.5]])
    """
    return _in_blocks(
        lambda part: _fixed_points(
            kernel, X, coef[part], None if start is None else start[part], max_iter, tol * np.sqrt(X.var(axis=0).sum())
        ),
        len(coef),
        len(X),
    )


def _fixed_points(kernel: Any, X: Array, coef: Array, start: Array | None, max_iter: int, shortest: float) -> Array:
    n_dims = X.shape[1]

    def value(Z: Array, active: Array) -> tuple[Array, Array]:
        r2 = euclidean_distances(Z, X, squared=True)
        return np.einsum("ij,ij->i", coef[active], kernel.of_squared_distance(r2, n_dims)), r2

    Z = X[np.argmax(_against_training(kernel, X, coef), axis=1)] if start is None else start.copy()
    active = np.arange(len(Z))
    best, r2 = value(Z, active)
    length = np.ones(len(Z))
    for _ in range(max_iter):
        weights = -coef[active] * _slope(kernel, r2, n_dims)
        total = weights.sum(axis=1, keepdims=True)
        # Uphill is where the weighted mean lies, or away from it if the weights sum to less than zero.
        towards = (weights @ X - total * Z[active]) / np.maximum(np.abs(total), 1e-300)
        step = length[active, None] * towards
        candidate = Z[active] + step
        reached, distances = value(candidate, active)
        uphill = reached >= best[active]
        improved = active[uphill]
        Z[improved], best[improved] = candidate[uphill], reached[uphill]
        r2[uphill] = distances[uphill]
        length[active] = np.where(uphill, np.minimum(1.0, 2 * length[active]), 0.5 * length[active])
        going = np.linalg.norm(step, axis=1) > shortest
        active, r2 = active[going], r2[going]
        if not active.size:
            break
    return Z


def distance_preimages(kernel: Kernel, X: Array, coef: Array, *, n_neighbors: int = 10) -> Array:
    """Rows at the right distances from their nearest neighbours, for a decreasing function k(r²) of the distance.

    The distance of the point from Φ(x_i) tells that of z from x_i; z is placed among the neighbours by least squares in
    their span (Kwok and Tsang 2004). No iteration.

    Parameters
    ----------
    kernel : Kernel
        With ``kernel.stationary``.
    X : array of shape (n, d)
        The x_i.
    coef : array of shape (m, n)
        Coefficients of m points.
    n_neighbors : int
        How many neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.components import distance_preimages
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> distance_preimages(Gaussian(1.0), X, np.eye(3)).round(3)
    array([[0.],
           [1.],
           [3.]])
    """
    return _in_blocks(lambda part: _by_distances(kernel, X, coef[part], n_neighbors), len(coef), len(X))


def _by_distances(kernel: Any, X: Array, coef: Array, n_neighbors: int) -> Array:
    n_dims = X.shape[1]
    inner = _against_training(kernel, X, coef)
    at_zero = float(kernel.of_squared_distance(np.zeros(1), n_dims)[0])
    norms = np.einsum("ij,ij->i", inner, coef)[:, None]
    nearest = np.argsort(-inner, axis=1)[:, :n_neighbors]
    # ||Φ(z) - Φ(x_i)||² = 2 k(0) - 2 k(r²) is set to the squared distance of the point from Φ(x_i).
    similar = 0.5 * (at_zero - norms) + np.take_along_axis(inner, nearest, axis=1)
    largest = euclidean_distances(X[:1], X, squared=True).max()
    r2 = _inverse_profile(kernel, similar, 4.0 * largest + 1.0, n_dims)
    Z = np.empty((len(coef), n_dims))
    for i, neighbours in enumerate(nearest):
        centre = X[neighbours].mean(axis=0)
        spread = X[neighbours] - centre
        own = np.einsum("ij,ij->i", spread, spread)
        # |z - x_j|² = |z - c|² - 2 (z - c)ᵀ(x_j - c) + |x_j - c|²; the mean over j removes |z - c|².
        right = 0.5 * (own - own.mean() - (r2[i] - r2[i].mean()))
        Z[i] = centre + np.linalg.lstsq(spread, right, rcond=1e-6)[0]
    return Z


class RidgePreimages:
    """A kernel ridge regression of rows on scores, with the penalty that predicts left-out rows best.

    A learned map, after Bakır et al. (2004).

    Parameters
    ----------
    Z : array of shape (n, k)
        Scores.
    X : array of shape (n, d)
        Their rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.components import RidgePreimages
    >>> Z = np.linspace(-1, 1, 30)[:, None]
    >>> bool(np.abs(RidgePreimages(Z, Z**2)([[0.55]]) - 0.3025).max() < 1e-3)
    True
    """

    def __init__(self, Z: Array, X: Array):
        self._kernel = Gaussian.scaled_to(Z)
        self._Z = Z
        self._mean = X.mean(axis=0)
        values, vectors = eigh(self._kernel(Z))
        rotated = vectors.T @ (X - self._mean)
        squared = vectors**2
        errors = {}
        for penalty in max(values[-1], 1.0) * np.geomspace(1e-12, 1.0, 25):
            inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
            # Residual of each row when it is left out.
            left_out = (vectors @ (inverse[:, None] * rotated)) / (squared @ inverse)[:, None]
            errors[penalty] = np.sum(left_out**2)
        self.penalty = min(errors, key=lambda penalty: errors[penalty])
        self._coef = vectors @ (rotated / (np.maximum(values, 0.0) + self.penalty)[:, None])

    def __call__(self, Z: Any) -> Array:
        """Rows for these scores."""
        return np.asarray(Gram(self._kernel, Z, self._Z) @ self._coef) + self._mean


def learned_rows(n: int) -> Array:
    """Positions of the rows that a ridge map is learned on: all, or a fixed sample."""
    if n <= _LEARNED_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _LEARNED_ROWS, replace=False))


def _against_training(kernel: Kernel, X: Array, coef: Array) -> Array:
    """Inner products of the points with the images of the rows."""
    return np.asarray(Gram(kernel, X) @ coef.T).T


def _slope(kernel: Any, r2: Array, n_dims: int) -> Array:
    """dk/dr², by differences: all stationary kernels can be evaluated, not all know their derivative."""
    h = 1e-4 * float(r2.mean()) + 1e-300
    low = np.maximum(r2 - h, 0.0)
    high = r2 + h
    return (kernel.of_squared_distance(high, n_dims) - kernel.of_squared_distance(low, n_dims)) / (high - low)


def _inverse_profile(kernel: Any, values: Array, largest: float, n_dims: int) -> Array:
    """Squared distances at which a decreasing kernel has these values, by bisection."""
    low, high = np.zeros_like(values), np.full_like(values, largest)
    for _ in range(60):
        middle = 0.5 * (low + high)
        farther = kernel.of_squared_distance(middle, n_dims) > values
        low, high = np.where(farther, middle, low), np.where(farther, high, middle)
    return 0.5 * (low + high)


def _in_blocks(find: Callable[[slice], Array], n_points: int, n_rows: int) -> Array:
    size = max(1, _BLOCK_MEMORY // (8 * n_rows))
    return np.vstack([find(slice(start, start + size)) for start in range(0, n_points, size)])
