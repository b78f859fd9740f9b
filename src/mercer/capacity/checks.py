"""What the functions of this package take: probabilities, scales, sizes, and their messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.parameters import check_positive, is_number


def check_delta(delta: Any, owner: str) -> float:
    """A probability of being wrong, strictly between 0 and 1."""
    if not is_number(delta) or not 0 < delta < 1:
        raise ValueError(
            f"delta of {owner} must be a number between 0 and 1, got {delta!r}; "
            "it is the probability of being wrong: give 0.05 for 95 % confidence."
        )
    return float(delta)


def check_log_n(log_n: Any, owner: str) -> float:
    """The natural logarithm of a number of balls, which is one or more."""
    if not is_number(log_n) or log_n < 0:
        raise ValueError(
            f"log_n of {owner} must be a number >= 0, got {log_n!r}; it is the natural logarithm of a number of balls."
        )
    return float(log_n)


def check_scale(epsilon: Any, owner: str, name: str = "epsilon") -> float:
    """The radius of balls, a deviation, or another length."""
    return check_positive(epsilon, name, owner, "it is a distance between functions")


def check_norm(norm: Any, owner: str) -> float:
    """A bound on the norm of functions."""
    return check_positive(norm, "norm", owner, "it bounds the norm of all functions of the class")


def check_functions(functions: Any, owner: str) -> None:
    """A class of functions, which knows its covering numbers."""
    if not callable(getattr(functions, "log_covering", None)):
        raise TypeError(
            f"functions of {owner} must have a method log_covering(scale, n_samples), got {functions!r}; give a class "
            "of functions such as KernelBall()."
        )


def check_share(value: Any, name: str, owner: str) -> float:
    """A number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} of {owner} must be a number from 0 to 1, got {value!r}; give a share, not a count.")
    return float(value)


def check_axes(axes: ArrayLike, owner: str) -> Array:
    """Semi-axes of an ellipsoid or eigenvalues: finite numbers >= 0, not all zero, in descending order."""
    values = np.asarray(axes, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all() or values.min() < 0 or not values.max() > 0:
        raise ValueError(
            f"Numbers of {owner} must be finite, >= 0 and not all zero, got {axes!r}; give one for each direction."
        )
    return np.sort(values)[::-1]


def check_gram(K: ArrayLike, owner: str) -> Array:
    """A Gram matrix: square, finite, symmetric, with no clearly negative eigenvalue on its diagonal."""
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"K of {owner} must be a square matrix, got shape {matrix.shape}; give kernel(X).")
    if not np.isfinite(matrix).all():
        raise ValueError(f"K of {owner} must be finite, got NaN or infinity; remove such rows first.")
    largest = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > 1e-8 * largest:
        raise ValueError(f"K of {owner} must be symmetric; give kernel(X), not kernel(X, Y).")
    if matrix.diagonal().min() < -1e-8 * largest or not matrix.diagonal().max() > 0:
        raise ValueError(
            f"K of {owner} must have a diagonal >= 0 that is not zero, got {matrix.diagonal().min():.3g}; "
            "only positive definite kernels have a norm."
        )
    return matrix
