"""Checks of the rows that `UnsupervisedKernelRegression` is given, and their origin and unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer.hosts import ArrayRows, column_means, largest_deviation
from mercer.kernels import Kernel
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.manifolds.latent.known_rows import check_known_rows
from mercer.manifolds.ukr.rows import count_of
from mercer.manifolds.ukr.settings import OWNER

_FEWEST_ROWS = 4


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, Any]:
    """Rows in double precision, and the precision that they had; objects that are no vectors stay as they are."""
    kernel, dtype = estimator.feature_kernel, np.dtype(np.float64)
    if kernel is not None and not isinstance(kernel, Kernel):
        raise TypeError(
            f"feature_kernel of {OWNER} must be a Kernel or None, got {kernel!r}; wrap a function in "
            "mercer.kernels.FromFunction."
        )
    if kernel is not None and not kernel.takes_vectors:
        X = indexable_rows(X)
    else:
        finite: Any = "allow-nan" if kernel is None else True
        X = validate_data(estimator, X, dtype=[np.float64, np.float32], ensure_all_finite=finite, reset=reset)
        X, dtype = X.astype(np.float64, copy=False), X.dtype
    if reset and count_of(X) < _FEWEST_ROWS:
        raise ValueError(
            f"X of {OWNER} must have {_FEWEST_ROWS} rows or more, got {count_of(X)} sample(s); there is nothing to "
            "leave out."
        )
    if kernel is None:
        check_known_rows(X, OWNER, "surface", training=reset)
    return X, dtype


def check_n_components(q: int, X: Any, kernel: Kernel | None) -> None:
    """A surface has no more coordinates than its rows can span."""
    most = X.shape[1] if kernel is None else count_of(X) - 1
    if q > most:
        what = "columns, n_features" if kernel is None else "rows less one, n_samples - 1"
        raise ValueError(
            f"n_components of {OWNER} must be at most the number of {what}={most}, got {q!r}; ask for fewer "
            "coordinates."
        )


def origin_and_unit(X: Any, kernel: Kernel | None) -> tuple[Any, float]:
    """Means of the columns, and the power of two next above the largest deviation from them; 0 and 1 for a kernel.

    Squares of rows in this unit are numbers in single precision, and no digits are lost where rows are far from zero.
    """
    if kernel is not None:
        return 0.0, 1.0
    rows = ArrayRows(X)
    origin = column_means(rows)
    return origin, float(np.ldexp(1.0, int(np.frexp(largest_deviation(rows, origin))[1])))
