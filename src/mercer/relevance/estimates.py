"""The two estimates of the relevant dimension, over arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array


def two_component_nll(coefficients: ArrayLike, tail: ArrayLike = 0.0, n: int | None = None) -> Array:
    """Negative log-likelihood (d/n) log s1 + ((n-d)/n) log s2 of a cut after d = 0, 1, 2, ... coefficients.

    s1 is the mean of z_i² over i <= d and s2 the mean over i > d: two Gaussians, one of the relevant coefficients and
    one of the noise.

    Parameters
    ----------
    coefficients : array of shape (r,) or (r, n_targets)
        z = Uᵀ y for the leading eigenvectors, in the order of descending eigenvalues.
    tail : float or array of shape (n_targets,)
        Sum of squares of the coefficients r + 1, ..., n.
    n : int, optional
        Number of samples; by default there is no tail, and n = r.

    Returns
    -------
    array of shape (min(r, n - 1) + 1,)
        The value for each d, from 0 (no signal) on; for several targets, each with its own variances, their mean.

    Notes
    -----
    [Braun2008]_, eq. (3), whose minus signs in the variances are misprints. Where nothing but rounding remains of the
    tail, its variance counts as that of rounding, so that the logarithm exists.

    Examples
    --------
    >>> from mercer.relevance import two_component_nll
    >>> two_component_nll([5.0, 4.0, 0.1, -0.1, 0.2, 0.1]).argmin()
    np.int64(2)
    """
    z = np.asarray(coefficients, dtype=np.float64)
    z2 = (z[:, None] if z.ndim == 1 else z) ** 2
    n = len(z2) if n is None else n
    rest = np.broadcast_to(np.asarray(tail, dtype=np.float64), z2.shape[1:])
    # From the end: a difference of sums would drown a small tail in the rounding of the large coefficients.
    behind = np.cumsum(np.vstack([rest, z2[::-1]]), axis=0)[::-1]
    before = np.vstack([np.zeros_like(rest), np.cumsum(z2, axis=0)])
    d = np.arange(min(len(z2), n - 1) + 1)[:, None]
    floor = np.maximum((n * np.finfo(np.float64).eps) ** 2 * behind[0] / n, np.finfo(np.float64).tiny)
    s1 = np.maximum(before[: len(d)] / np.maximum(d, 1), floor)
    s2 = np.maximum(behind[: len(d)] / (n - d), floor)
    return np.mean(d / n * np.log(s1) + (n - d) / n * np.log(s2), axis=1)


def leave_one_out_errors(vectors: ArrayLike, y: ArrayLike) -> Array:
    """Mean squared error of predicting each sample from all others by least squares on d = 0, 1, ... columns.

    Parameters
    ----------
    vectors : array of shape (n, m)
        Orthonormal columns u_1, ..., u_m.
    y : array of shape (n,) or (n, n_targets)
        The targets.

    Returns
    -------
    array of shape (m + 1,)
        mean(((y_i - ŷ_i) / (1 - S_ii))²) with S = Σ_{m<=d} u_m u_mᵀ and ŷ = S y, for d = 0, ..., m; for several targets
        the mean. O(n) for each d.

    Notes
    -----
    Exact for least squares on fixed columns; that the columns themselves would change with a sample is left out. A
    sample with S_ii = 1 is alone in its direction: without it the prediction is 0. [Braun2008]_, section 4.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.relevance import leave_one_out_errors
    >>> leave_one_out_errors(np.full((4, 1), 0.5), np.array([1.0, 2.0, 3.0, 4.0])).round(3)
    array([7.5  , 2.222])
    """
    U = np.asarray(vectors, dtype=np.float64)
    Y = np.asarray(y, dtype=np.float64)
    targets = np.reshape(Y, (len(Y), -1))
    residual = targets.copy()
    z = U.T @ residual
    left = np.ones(len(U))  # 1 - S_ii
    errors = [float(np.mean(residual**2))]
    for m in range(U.shape[1]):
        u = U[:, m]
        residual -= np.outer(u, z[m])
        left -= u**2
        errors.append(_left_out_error(residual, targets, left))
    return np.array(errors)


def leave_one_out_error(vectors: Array, Y: Array) -> float:
    """The last of the `leave_one_out_errors`, that on all columns, for targets of shape (n, n_targets)."""
    return _left_out_error(Y - vectors @ (vectors.T @ Y), Y, 1.0 - np.einsum("ij,ij->i", vectors, vectors))


def _left_out_error(residual: Array, targets: Array, left: Array) -> float:
    alone = left < 1e-10
    left_out = np.where(alone[:, None], targets, residual / np.where(alone, 1.0, left)[:, None])
    return float(np.mean(left_out**2))
