"""The kernels to choose from, and the rows they are evaluated on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from mercer.kernels import Gaussian, Kernel, widths_for

_N_WIDTHS = 20
_FEWEST_ROWS = 4


def given_kernels(owner: str, kernel: Any) -> list[Kernel] | None:
    """Copies of the kernels that the user gave; None if Gaussians are to be made for the data."""
    if kernel is None:
        return None
    kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):
        raise TypeError(
            f"kernel of {owner} must be a Kernel, a list of them or None, got {kernel!r}; wrap a function in "
            "mercer.kernels.FromFunction."
        )
    if len({(k.takes_vectors, k.pairwise) for k in kernels}) > 1:
        raise ValueError(
            f"kernel of {owner} must be kernels on the same kind of rows, got {kernel!r}; fit one list for vectors and "
            "another one for other objects."
        )
    conditional = [k for k in kernels if k.order != 0]
    if conditional:
        raise ValueError(
            f"kernel of {owner} must be positive definite (order 0), got {conditional[0]!r} of order "
            f"{conditional[0].order}; its eigenvectors span no subspace of functions. Choose another kernel."
        )
    return [clone(kernel) for kernel in kernels]


def family_of(owner: str, kernel: Any, widths: Any, X: Any) -> list[Kernel]:
    """The kernels to choose from on the rows X."""
    kernels = given_kernels(owner, kernel)
    automatic = isinstance(widths, str) and widths == "auto"
    if kernels is not None:
        if not automatic:
            raise ValueError(
                f"widths of {owner} must be 'auto' where a kernel is given, got {widths!r}; give a list of kernels."
            )
        return kernels
    if automatic:
        return [Gaussian(float(width)) for width in widths_for(X, _N_WIDTHS)]
    try:
        values = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"widths of {owner} must be 'auto' or positive numbers, got {widths!r}; give one or a list.")
    return [Gaussian(float(width)) for width in values]


def checked_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Validated rows, in float64; kernels on other objects than vectors validate them themselves."""
    owner = type(estimator).__name__
    kernels = given_kernels(owner, estimator.kernel) or [Gaussian()]
    if not kernels[0].takes_vectors:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if reset and n < _FEWEST_ROWS:
            raise ValueError(f"X of {owner} must have {_FEWEST_ROWS} rows or more, got {n}; give more data.")
        return X
    # A matrix that was computed in single precision must not look as if it were accurate to double precision.
    dtype: Any = [np.float64, np.float32] if kernels[0].pairwise else np.float64
    sparse = "csr" if all(k.takes_sparse for k in kernels) else False
    fewest = _FEWEST_ROWS if reset else 1
    return validate_data(estimator, X, accept_sparse=sparse, dtype=dtype, reset=reset, ensure_min_samples=fewest)


def kernel_tags(tags: Any, kernel: Any) -> Any:
    """Say in the tags of an estimator which input its kernels take."""
    kernels = kernel if isinstance(kernel, list | tuple) else [kernel]
    tags.input_tags.pairwise = any(getattr(k, "pairwise", False) for k in kernels)
    tags.input_tags.sparse = all(k is None or getattr(k, "takes_sparse", False) for k in kernels)
    tags.input_tags.positive_only = not all(getattr(k, "takes_negative", True) for k in kernels)
    tags.target_tags.required = True
    return tags
