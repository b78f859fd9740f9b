"""How far eigenvalues and eigenvectors of a symmetric matrix can move when the matrix does."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.checks import check_scale


def eigenvalue_bound(A: ArrayLike, B: ArrayLike) -> float:
    """Weyl's bound: the j-th eigenvalues of two symmetric matrices differ by at most the operator norm ‖A - B‖.

    Parameters
    ----------
    A, B : array_like of shape (d, d)
        Symmetric matrices, as a covariance and its estimate.

    Examples
    --------
    >>> from mercer.capacity import eigenvalue_bound
    >>> eigenvalue_bound([[2.0, 0.0], [0.0, 1.0]], [[2.0, 0.5], [0.5, 1.0]])
    0.5
    """
    A, B = _symmetric_pair(A, B, "eigenvalue_bound")
    return float(np.abs(np.linalg.eigvalsh(A - B)).max())


def eigenvector_bound(A: ArrayLike, B: ArrayLike) -> Array:
    """Bounds 2^(3/2) ‖A - B‖ / min(λ_{j-1} - λ_j, λ_j - λ_{j+1}) on distances of unit eigenvectors [Yu2015]_.

    Parameters
    ----------
    A, B : array_like of shape (d, d)
        Symmetric matrices; the gaps are those of A, the eigenvalues in descending order.

    Returns
    -------
    array of shape (d,)
        For each j a bound on ‖e_j(A) - e_j(B)‖, with the sign that makes it smallest. Such vectors are never farther
        apart than √2: where a bound is √2 it is vacuous, as for multiple eigenvalues.

    Examples
    --------
    >>> from mercer.capacity import eigenvector_bound
    >>> eigenvector_bound([[2.0, 0.0], [0.0, 1.0]], [[2.0, 0.1], [0.1, 1.0]]).round(4)
    array([0.2828, 0.2828])
    """
    A, B = _symmetric_pair(A, B, "eigenvector_bound")
    error = eigenvalue_bound(A, B)
    edges = np.concatenate([[np.inf], np.linalg.eigvalsh(A)[::-1], [-np.inf]])
    gaps = np.abs(np.diff(edges))
    gap = np.minimum(gaps[:-1], gaps[1:])
    if error == 0:
        return np.where(gap > 0, 0.0, np.sqrt(2.0))
    with np.errstate(divide="ignore", over="ignore"):
        return np.minimum(2**1.5 * error / gap, np.sqrt(2.0))


def sin_theta_bound(eigenvalues: ArrayLike, eigenvalue: float, error: float) -> float:
    """Davis and Kahan's bound ‖U₂ᵀx‖ ≤ ‖E‖ / min abs(λ - l_i) for a unit eigenvector x of A + E.

    Parameters
    ----------
    eigenvalues : array_like
        Eigenvalues l_i of A that belong to the columns of U₂.
    eigenvalue : float
        λ, of A + E, that belongs to x.
    error : float
        ‖E‖, the operator norm.

    Returns
    -------
    float
        At most 1, and vacuous there. [Braun2008]_, theorem 2, with the minimum over the eigenvalues of U₂.

    Examples
    --------
    >>> from mercer.capacity import sin_theta_bound
    >>> sin_theta_bound([1.0, 0.5], 2.0, 0.1)
    0.1
    """
    error = check_scale(error, "sin_theta_bound", "error")
    values = np.asarray(eigenvalues, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all() or not np.isfinite(eigenvalue):
        raise ValueError(
            "eigenvalues of sin_theta_bound must be finite numbers, one or more; give those of the other eigenvectors."
        )
    gap = float(np.abs(eigenvalue - values).min())
    return error / gap if gap > error else 1.0


def _symmetric_pair(A: ArrayLike, B: ArrayLike, owner: str) -> tuple[Array, Array]:
    first, second = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    for matrix in (first, second):
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.size > 0
        if not square or matrix.shape != first.shape or not np.isfinite(matrix).all():
            raise ValueError(
                f"A and B of {owner} must be finite square matrices of one size, got shapes {first.shape} and "
                f"{second.shape}; give covariances or Gram matrices of the same objects."
            )
        if np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
            raise ValueError(f"A and B of {owner} must be symmetric; take (A + A.T) / 2 if rounding is to blame.")
    return first, second
