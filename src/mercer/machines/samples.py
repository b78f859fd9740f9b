"""Rows of a training set: which have a weight, and which are the same."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from mercer.kernels import Kernel

Array = NDArray[Any]


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
    return weight


def distinct_rows(X: Any) -> tuple[Array, Array]:
    """Positions where each distinct row is first seen, and for each row which of these it is.

    All objects but vectors count as distinct.
    """
    if sparse.issparse(X):
        used = sparse.csr_array(X)
        used.sum_duplicates()
        used.eliminate_zeros()
        spans = list(pairwise(used.indptr))
        keys: Any = [used.indices[i:j].tobytes() + used.data[i:j].tobytes() for i, j in spans]
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        keys = [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]  # -0 is 0
    else:
        keys = range(len(X))
    first: dict[Any, int] = {}
    group = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.intp)
    return np.unique(group, return_index=True)[1], group
