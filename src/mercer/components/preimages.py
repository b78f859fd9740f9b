"""From a point in feature space back to a row: three methods, none exact unless the kernel is linear.

A point is given by coefficients c of kernel functions: Σ_i c_i Φ(x_i).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

from mercer.arrays import Array
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram import Gram
from mercer.running import Status, unless_interrupted

PREIMAGES = ("auto", "fixed_point", "distance", "ridge")
# Rows that the ridge map is learned on at most: its cost is cubic.
_LEARNED_ROWS = 2000
# Length of the largest noise of the map for noisy rows, in median distances of the rows (benchmarks/components.py).
_LARGEST_NOISE = 1.5
_BLOCK_MEMORY = 2**25


def fixed_point_preimages(
    kernel: Kernel, X: Array, coef: Array, start: Array | None = None, *, max_iter: int = 200, tol: float = 1e-6
) -> Array:
    """Rows z whose images are nearest to Σ_i c_i Φ(x_i), for a function k(r²) of the distance.

    z ← Σ_i c_i k'(r_i²) x_i / Σ_i c_i k'(r_i²), for the Gaussian kernel the iteration of [Mika1999]_. A step is halved
    until the value Σ_i c_i k(x_i, z) does not fall, so that the best row so far is never lost, not by Ctrl-C either.

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
        Most steps, and the length of a step at which to stop, relative to the distance at which the kernel has fallen
        to half of k(0).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.components import fixed_point_preimages
    >>> from mercer.kernels import Gaussian
    >>> fixed_point_preimages(Gaussian(1.0), np.array([[0.0], [1.0]]), np.array([[0.5, 0.5]])).round(3)
    array([[0.5]])
    """
    centre, X, largest = _centred(X)
    half = np.array([0.5 * _at_zero(kernel, X.shape[1])])
    length2 = float(_inverse_profile(kernel, half, largest, X.shape[1])[0])
    Z = X[np.argmax(inner_products(kernel, X, coef), axis=1)] if start is None else start - centre

    def ascended() -> Status:
        for part in _blocks(len(coef), len(X)):
            _ascend(kernel, X, coef[part], Z[part], length2, max_iter, tol * np.sqrt(length2))
        return Status.OPTIMAL

    if unless_interrupted(ascended, lambda: Status.INTERRUPTED) == Status.INTERRUPTED:
        warnings.warn(
            "fixed_point_preimages was interrupted and returns the best rows so far; give them as start to go on.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Z + centre


def _ascend(kernel: Any, X: Array, coef: Array, Z: Array, length2: float, max_iter: int, shortest: float) -> None:
    """Improve the rows Z in place."""
    n_dims = X.shape[1]

    def value(Z: Array, active: Array) -> tuple[Array, Array]:
        r2 = euclidean_distances(Z, X, squared=True)
        return np.einsum("ij,ij->i", coef[active], kernel.of_squared_distance(r2, n_dims)), r2

    active = np.arange(len(Z))
    best, r2 = value(Z, active)
    length = np.ones(len(Z))
    for _ in range(max_iter):
        weights = -coef[active] * _slope(kernel, r2, length2, n_dims)
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


def distance_preimages(
    kernel: Kernel, X: Array, coef: Array, inner: Array | None = None, *, n_neighbors: int = 10
) -> Array:
    """Rows at the right distances from their nearest neighbours, for a decreasing function k(r²) of the distance.

    The distance of the point from Φ(x_i) tells that of z from x_i; z is placed among the neighbours by least squares in
    their span [Kwok2004]_. No iteration.

    Parameters
    ----------
    kernel : Kernel
        With ``kernel.stationary``.
    X : array of shape (n, d)
        The x_i.
    coef : array of shape (m, n)
        Coefficients of m points.
    inner : array of shape (m, n), optional
        Inner products of the points with the images of the rows, where they are known.
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
    centre, X, largest = _centred(X)
    n_dims = X.shape[1]
    inner = inner_products(kernel, X, coef) if inner is None else inner
    norms = np.einsum("ij,ij->i", inner, coef)[:, None]
    parts = _blocks(len(coef), len(X))
    nearest = np.vstack([np.argsort(-inner[part], axis=1)[:, :n_neighbors] for part in parts])
    # ||Φ(z) - Φ(x_i)||² = 2 k(0) - 2 k(r²) is set to the squared distance of the point from Φ(x_i).
    similar = 0.5 * (_at_zero(kernel, n_dims) - norms) + np.take_along_axis(inner, nearest, axis=1)
    r2 = _inverse_profile(kernel, similar, largest, n_dims)
    Z = np.empty((len(coef), n_dims))
    for i, neighbours in enumerate(nearest):
        middle = X[neighbours].mean(axis=0)
        spread = X[neighbours] - middle
        own = np.einsum("ij,ij->i", spread, spread)
        # |z - x_j|² = |z - c|² - 2 (z - c)ᵀ(x_j - c) + |x_j - c|²; the mean over j removes |z - c|².
        right = 0.5 * (own - own.mean() - (r2[i] - r2[i].mean()))
        Z[i] = middle + np.linalg.lstsq(spread, right, rcond=1e-6)[0]
    return Z + centre


class RidgePreimages:
    """A kernel ridge regression of rows on scores, with the penalty that predicts left-out rows best.

    A learned map, after [Bakir2004]_.

    Parameters
    ----------
    Z : array of shape (n, k)
        Scores.
    X : array of shape (n, d)
        Their rows.

    Attributes
    ----------
    penalty : float
        The penalty.
    scores : array of shape (n, k)
        Z.
    left_out : array of shape (n, d)
        What the map says of each row when it is left out.

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
        self.scores = Z
        self._mean = X.mean(axis=0)
        values, vectors = eigh(self._kernel(Z), driver="evd")
        rotated = vectors.T @ (X - self._mean)
        squared = vectors**2
        smallest = np.inf
        for penalty in max(values[-1], 1.0) * np.geomspace(1e-12, 1.0, 25):
            inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
            coef = vectors @ (inverse[:, None] * rotated)
            # Residual of each row when it is left out.
            residuals = coef / (squared @ inverse)[:, None]
            if np.sum(residuals**2) < smallest:
                smallest = float(np.sum(residuals**2))
                self.penalty, self._coef, self.left_out = float(penalty), coef, X - residuals

    def __call__(self, Z: Any) -> Array:
        """Rows for these scores."""
        return np.asarray(Gram(self._kernel, Z, self.scores) @ self._coef) + self._mean


class LearnedPreimages:
    """Two ridge maps from scores to rows: for scores of rows like those of the training, and for those of noisy rows.

    The first map is learned on the scores of the training rows. The second is learned on the scores of the same rows
    with Gaussian noise, whose deviation is another one for each row, and goes back to the rows without noise.

    Parameters
    ----------
    Z : array of shape (n, k)
        Scores of training rows.
    X : array of shape (n, d)
        The rows.
    features : callable, optional
        Gives the scores of rows, to learn the second map at once; otherwise it is learned in each call that needs it.

    Attributes
    ----------
    plain : RidgePreimages
        The map for rows like those of the training.
    noisy : RidgePreimages or None
        The map for noisy rows.
    """

    def __init__(self, Z: Array, X: Array, features: Callable[[Array], Array] | None = None):
        self._X = X
        self.plain = RidgePreimages(Z, X)
        self.noisy = None if features is None else self._map_of_noisy_rows(features)

    def __call__(self, Z: Array, features: Callable[[Array], Array]) -> Array:
        """Rows for the scores Z.

        They are those of the first map if their own scores are as near to Z as those of training rows that were left
        out; else those of the second.
        """

        def mismatch(X: Array, Z: Array) -> Array:
            return np.sum((features(X) - Z) ** 2, axis=1)

        X = self.plain(Z)
        doubtful = mismatch(X, Z) > np.max(mismatch(self.plain.left_out, self.plain.scores))
        if doubtful.any():
            X[doubtful] = (self.noisy or self._map_of_noisy_rows(features))(Z[doubtful])
        return X

    def _map_of_noisy_rows(self, features: Callable[[Array], Array]) -> RidgePreimages:
        rng = np.random.default_rng(0)
        n, d = self._X.shape
        largest = _LARGEST_NOISE * Gaussian.scaled_to(self._X).width / np.sqrt(d)
        noise = rng.uniform(0.0, largest, size=(n, 1)) * rng.normal(size=(n, d))
        return RidgePreimages(features(self._X + noise), self._X)


def learned_rows(n: int) -> Array:
    """Positions of the rows that a ridge map is learned on: all, or a fixed sample."""
    if n <= _LEARNED_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _LEARNED_ROWS, replace=False))


def inner_products(kernel: Kernel, X: Array, coef: Array) -> Array:
    """Inner products of points Σ_i c_i Φ(x_i), one for each row of `coef`, with all Φ(x_j)."""
    return np.asarray(Gram(kernel, X) @ coef.T).T


def _centred(X: Array) -> tuple[Array, Array, float]:
    """The median of the rows, the rows without it, which would cost digits of their distances, and their diameter².

    The diameter is that of a ball around the median, which a row that is far from all others does not move.
    """
    centre = np.median(X, axis=0)
    X = X - centre
    return centre, X, max(4.0 * float(np.einsum("ij,ij->i", X, X).max()), float(np.finfo(np.float64).tiny))


def _at_zero(kernel: Any, n_dims: int) -> float:
    return float(kernel.of_squared_distance(np.zeros(1), n_dims)[0])


def _slope(kernel: Any, r2: Array, length2: float, n_dims: int) -> Array:
    """dk/dr², by differences: all stationary kernels can be evaluated, not all know their derivative."""
    h = 1e-4 * (r2 + length2)
    low = np.maximum(r2 - h, 0.0)
    high = r2 + h
    return (kernel.of_squared_distance(high, n_dims) - kernel.of_squared_distance(low, n_dims)) / (high - low)


def _inverse_profile(kernel: Any, values: Array, largest: float, n_dims: int) -> Array:
    """Squared distances, `largest` at most, at which a decreasing kernel has these values: bisection of logarithms."""
    low, high = np.full_like(values, np.log(largest) - 100.0), np.full_like(values, np.log(largest))
    for _ in range(60):
        middle = 0.5 * (low + high)
        farther = kernel.of_squared_distance(np.exp(middle), n_dims) > values
        low, high = np.where(farther, middle, low), np.where(farther, high, middle)
    return np.exp(0.5 * (low + high))


def _blocks(n_points: int, n_rows: int) -> Iterator[slice]:
    size = max(1, _BLOCK_MEMORY // (8 * n_rows))
    return (slice(start, start + size) for start in range(0, n_points, size))
