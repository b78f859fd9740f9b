"""Capacity of penalties on coefficients: any basis with a quadratic one, and weight decay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.checks import check_norm
from mercer.parameters import is_number

_NULL = 1e-12


class PenalizedBasis(NamedTuple):
    """What `penalized_basis` found.

    Attributes
    ----------
    K : array of shape (m, m)
        Gram matrix of the kernel f(x)ᵀD⁺f(y).
    free : array of shape (m, r)
        Values of an orthonormal basis of the combinations that are not penalised.
    """

    K: Array
    free: Array


def penalized_basis(F: ArrayLike, penalty: ArrayLike) -> PenalizedBasis:
    """The kernel of functions Σ α_i f_i with the penalty αᵀDα: f(x)ᵀD⁺f(y) [Smola1998]_, eq. (9.1) and (9.2).

    Parameters
    ----------
    F : array_like of shape (m, n)
        Values of n functions on m rows.
    penalty : array_like of shape (n, n)
        D, symmetric with no negative eigenvalue.

    Returns
    -------
    PenalizedBasis
        K, for `SampleCapacity.of`; and the functions of the null space of D, which need a class of their own with
        bounded coefficients, added by ``+``.

    Examples
    --------
    >>> from mercer.capacity import penalized_basis
    >>> basis = penalized_basis([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 4.0]])
    >>> basis.K.tolist(), basis.free.shape
    ([[0.0, 0.0, 0.0], [0.0, 0.25, 0.5], [0.0, 0.5, 1.0]], (3, 1))
    """
    owner = "penalized_basis"
    values, D = np.asarray(F, dtype=np.float64), np.asarray(penalty, dtype=np.float64)
    if values.ndim != 2 or not values.size or D.shape != (values.shape[1],) * 2:
        raise ValueError(
            f"penalty of {owner} must be square with one row for each column of F, got shapes {D.shape} and "
            f"{values.shape}; give one row of F for each row of the data."
        )
    if not (np.isfinite(values).all() and np.isfinite(D).all()) or np.abs(D - D.T).max() > 1e-8 * np.abs(D).max():
        raise ValueError(f"penalty of {owner} must be symmetric, and F and penalty finite; take (D + D.T) / 2.")
    eigenvalues, vectors = np.linalg.eigh(D)
    largest = float(np.abs(eigenvalues).max())
    if eigenvalues[0] < -1e-8 * largest:
        raise ValueError(f"penalty of {owner} must have no negative eigenvalue, got {eigenvalues[0]:.3g}; square it.")
    penalised = eigenvalues > _NULL * largest
    coordinates = values @ vectors
    factor = coordinates[:, penalised] / np.sqrt(eigenvalues[penalised])
    return PenalizedBasis(factor @ factor.T, coordinates[:, ~penalised])


def coefficient_radius(K: ArrayLike, *, power: float = 2.0, norm: float = 1.0) -> float:
    """Largest value of a combination Σ α_i k(x_i, x) with (Σ abs(α_i)^p)^(1/p) ≤ Λ: Λ max_x ‖k(X, x)‖_q, 1/p + 1/q = 1.

    Parameters
    ----------
    K : array_like of shape (n_points, m)
        kernel(points, X), one row for each point x.
    power : float
        p ≥ 1; infinity for a bound on each coefficient.
    norm : float
        Λ.

    Notes
    -----
    For p > 1 it grows with the number m of functions, so that weight decay has no bound on its capacity that holds for
    all m [Smola1998]_, eq. (9.20). For p = 1 it is the largest value of the kernel: `KernelHull`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import coefficient_radius
    >>> [round(coefficient_radius(np.ones((1, 100)), power=p), 6) for p in (1.0, 2.0, np.inf)]
    [1.0, 10.0, 100.0]
    """
    owner = "coefficient_radius"
    values = np.asarray(K, dtype=np.float64)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"K of {owner} must be a finite matrix, got shape {values.shape}; give kernel(points, X).")
    if not (power == np.inf or is_number(power)) or not power >= 1:
        raise ValueError(f"power of {owner} must be a number >= 1, got {power!r}; 2 is weight decay.")
    q = np.inf if power == 1 else 1.0 if power == np.inf else power / (power - 1.0)
    return check_norm(norm, owner) * float(np.linalg.norm(values, ord=q, axis=1).max())
