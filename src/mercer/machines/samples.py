"""Weights and fractions of the samples of a training set."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from mercer.arrays import Array
from mercer.kernels import Kernel

# Weights beyond this, or below its inverse, leave the range of double precision in products.
_LEAST_WEIGHT = 1e-100


def rows_in_use(X: Any, used: Array, kernel: Kernel | None) -> Any:
    """The rows of a training set that have a weight (and the columns, if they are objects too)."""
    if len(used) == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    X = _safe_indexing(X, used)
    return X[:, used] if kernel is not None and kernel.pairwise else X


def checked_weights(machine: BaseEstimator, sample_weight: Any, n: int) -> Array:
    """One weight for each of n samples."""
    weight = np.ones(n) if sample_weight is None else _check_sample_weight(sample_weight, np.empty((n, 1)))
    if np.any(weight < 0) or not np.any(weight > 0):
        raise ValueError(
            f"sample_weight of {type(machine).__name__} must be non-negative and not all zero, got {sample_weight!r}; "
            "leave samples out instead."
        )
    positive = weight[weight > 0]
    if positive.min() < _LEAST_WEIGHT or positive.max() > 1.0 / _LEAST_WEIGHT:
        raise ValueError(
            f"sample_weight of {type(machine).__name__} must be zero or between {_LEAST_WEIGHT:g} and "
            f"{1.0 / _LEAST_WEIGHT:g}, got {positive.min():g} and {positive.max():g}; divide by a typical weight."
        )
    return weight


def is_positive(number: Any) -> bool:
    """Whether something is a positive finite number."""
    return isinstance(number, Real) and not isinstance(number, bool) and 0 < float(number) < np.inf


def is_share(nu: Any) -> bool:
    """Whether ν is a number in (0, 1]."""
    return isinstance(nu, Real) and not isinstance(nu, bool) and 0 < float(nu) <= 1
