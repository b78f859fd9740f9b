"""Squared Euclidean distances as one matrix product per tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.kernels.base import Sides

# Squared norms beyond which the error of the expanded square may reach 1e-12.
_LARGE = 5e3
# Kernels that are not smooth at zero take the root of squared distances, whose error is 1e-16 times the squared norms
# over twice the distance. It is at most 1e-14 beyond this fraction of those norms; farther out than the last number, in
# units of the length, kernels are small.
_SHARE_NEAR_ZERO, _FAR_FROM_ZERO = 1e-2, 5.0


def distance_sides(X: Any, Y: Any, length: float | Array) -> Sides:
    """Prepare rows so that a product of two tiles is their squared distance, in units of `length`.

    With the rows [-2x, |x|², 1] on the left and [y, 1, |y|²] on the right, ||x - y||² is a single inner product. Dense
    rows are centred first, at their median, which no outlier moves: the cancellation in |x|² + |y|² - 2xᵀy then depends
    on the spread of the data and not on its distance from the origin. Products are taken in float64, also for float32
    rows, for the same reason.
    """
    Y = X if Y is None else Y
    shape, dtype = (X.shape[0], Y.shape[0]), X.dtype
    if sparse.issparse(X) or sparse.issparse(Y):
        X, Y = _scaled_csr(X, length), _scaled_csr(Y, length)
        return Sides((X, _squared_norms(X)), (Y, _squared_norms(Y)), shape, dtype)
    centre = np.median(X[:: max(1, len(X) // 1000)], axis=0).astype(np.float64)
    left = (X - centre) / length
    return Sides(*_augmented(left, left if Y is X else (Y - centre) / length), shape, dtype)


def squared_distance_tile(left: Any, right: Any, *, exact_near_zero: bool = False) -> Array:
    """Squared distances of prepared rows.

    Rounding leaves an error of about 1e-16 times the squared norms. Where that matters, small distances are computed
    again from differences: if the norms are large in units of the kernel's length (an outlier, or a narrow kernel), and
    for kernels that are not smooth at zero, which take the root of the error (`exact_near_zero`).
    """
    r2: Array
    if exact_near_zero and not isinstance(left, tuple) and n_columns_of(left) == 1:
        r2 = np.subtract.outer(-0.5 * left[:, 0], right[:, 0])  # which costs less than the product
        return np.square(r2, out=r2)
    if isinstance(left, tuple):
        (X, x2), (Y, y2) = left, right
        r2 = np.asarray((X @ Y.T).toarray())
        r2 *= -2.0
        r2 += x2[:, None]
        r2 += y2
        scale = x2.max(initial=0.0) + y2.max(initial=0.0)
    else:
        r2 = left @ right.T
        scale = left[:, -2].max(initial=0.0) + right[:, -1].max(initial=0.0)
    np.maximum(r2, 0.0, out=r2)
    small = 1e-6 * scale if scale > _LARGE else 0.0
    if exact_near_zero:
        small = max(small, min(_SHARE_NEAR_ZERO * scale, _FAR_FROM_ZERO) ** 2)
    if small > 0:
        _recompute_small(r2, left, right, small)
    return r2


def n_columns_of(side: Any) -> int:
    """Number of columns of the data behind a prepared side."""
    return int(side[0].shape[1] if isinstance(side, tuple) else side.shape[1] - 2)


def _augmented(X: Array, Y: Array) -> tuple[Array, Array]:
    n_columns = X.shape[1]
    left = np.empty((len(X), n_columns + 2))
    right = np.empty((len(Y), n_columns + 2))
    np.multiply(X, -2.0, out=left[:, :n_columns])
    left[:, n_columns] = _squared_norms(X)
    left[:, n_columns + 1] = 1.0
    right[:, :n_columns] = Y
    right[:, n_columns] = 1.0
    right[:, n_columns + 1] = left[:, n_columns] if Y is X else _squared_norms(Y)
    return left, right


def _scaled_csr(X: Any, length: float | Array) -> Any:
    X = sparse.csr_array(X, dtype=np.float64)
    return X / length if np.isscalar(length) else sparse.csr_array(X @ sparse.diags_array(1.0 / np.asarray(length)))


def _squared_norms(X: Any) -> Array:
    with np.errstate(over="ignore"):
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    if not np.isfinite(norms).all():
        raise ValueError(
            "Values of X must be small enough for their squares to be finite; rescale the columns, "
            "for example with sklearn.preprocessing.StandardScaler, or give the kernel a width of their size."
        )
    return norms


def _recompute_small(r2: Array, left: Any, right: Any, threshold: float) -> None:
    rows, columns = np.nonzero(r2 <= threshold)
    n_at_once = max(1, 2**19 // n_columns_of(left))
    for start in range(0, len(rows), n_at_once):
        i, j = rows[start : start + n_at_once], columns[start : start + n_at_once]
        if isinstance(left, tuple):
            difference = left[0][i] - right[0][j]
            r2[i, j] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            difference = -0.5 * left[i, :-2] - right[j, :-2]
            r2[i, j] = np.einsum("ij,ij->i", difference, difference)
