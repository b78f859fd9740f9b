"""The margin at which functions of bounded norm can take all signs on given points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from mercer.arrays import Array
from mercer.capacity.checks import check_gram, check_norm

_MOST_POINTS = 14
_SINGULAR = 1e-13


def shattering_margin(K: ArrayLike, *, norm: float = 1.0) -> float:
    """Largest γ such that functions of norm Λ reach all 2^m signs on the points, each with values y_i f(x_i) ≥ γ.

    γ = Λ / max_y sqrt(min αᵀKα : y_i (Kα)_i ≥ 1), at least Λ sqrt(λ_min(K)/m).

    Parameters
    ----------
    K : array_like of shape (m, m)
        Gram matrix of at most 14 points.
    norm : float
        Λ.

    Returns
    -------
    float
        γ; 0 if the points are linearly dependent in feature space, since then some signs are out of reach.

    Notes
    -----
    Small quadratic programs, one for each choice of signs; [Smola1998]_, definitions 7.9 to 7.12.

    Examples
    --------
    >>> from mercer.capacity import shattering_margin
    >>> from mercer.kernels import Gaussian
    >>> round(shattering_margin(Gaussian(1.0)([[0.0], [1.0], [2.0], [3.0]])), 6)
    0.189562
    """
    matrix, norm = check_gram(K, "shattering_margin"), check_norm(norm, "shattering_margin")
    if len(matrix) > _MOST_POINTS:
        raise ValueError(
            f"K of shattering_margin must have at most {_MOST_POINTS} rows, got {len(matrix)}; there are 2^m programs: "
            "take norm * sqrt(smallest eigenvalue / rows), a lower bound."
        )
    values = np.linalg.eigvalsh(matrix)
    if values[0] <= _SINGULAR * values[-1]:
        return 0.0
    L = cholesky(matrix, lower=True)
    signs = _half_of_all_signs(len(matrix))
    # Interpolating the signs themselves bounds the norm that is needed from above: try the largest of these first.
    interpolated = np.sum(solve_triangular(L, signs.T, lower=True) ** 2, axis=0)
    largest = 0.0
    for index in np.argsort(-interpolated):
        if interpolated[index] <= largest:
            break
        largest = max(largest, _least_squared_norm(L, signs[index]))
    return norm / float(np.sqrt(largest))


def shattering_functions(K: ArrayLike, *, norm: float = 1.0) -> Array:
    """Values on the points of the 2^m functions of norm Λ with the largest margins, one row for each choice of signs.

    Parameters
    ----------
    K, norm
        As in `shattering_margin`; the points must be linearly independent in feature space.

    Returns
    -------
    array of shape (2^m, m)
        Values; the coefficients are solutions of K α = values.

    Examples
    --------
    >>> from mercer.capacity import shattering_functions
    >>> shattering_functions([[1.0, 0.0], [0.0, 1.0]]).round(3).tolist()
    [[-0.707, -0.707], [-0.707, 0.707], [0.707, -0.707], [0.707, 0.707]]
    """
    if not shattering_margin(K, norm=norm):
        raise ValueError(
            "K of shattering_functions must be regular, got linearly dependent points; leave equal points out."
        )
    matrix = check_gram(K, "shattering_functions")
    L = cholesky(matrix, lower=True)
    signs = _half_of_all_signs(len(matrix))
    values = []
    for y in signs:
        w = _separator(L, y)
        values.append(norm * (L @ w) / np.linalg.norm(w))
    return np.vstack([values, -np.array(values)[::-1]])


def _half_of_all_signs(m: int) -> Array:
    """Rows of ±1 that begin with -1: the others are their negatives."""
    codes = np.arange(2 ** (m - 1))[:, None]
    return np.where(codes >> np.arange(m - 1, -1, -1) & 1, 1.0, -1.0)


def _separator(L: Array, y: Array) -> Array:
    """The shortest w with y_i (L w)_i ≥ 1, from its dual: w = Lᵀ(y∘β), min ‖w‖²/2 - Σβ over β ≥ 0."""
    A = (L * y[:, None]).T
    beta = nnls(A, solve_triangular(L, y, lower=True))[0]
    return A @ beta


def _least_squared_norm(L: Array, y: Array) -> float:
    w = _separator(L, y)
    return float(w @ w)
