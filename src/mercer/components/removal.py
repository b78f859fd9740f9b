"""Functions that are projected out of a feature space: constants, linear functions, the polynomials of a kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.kernels import Kernel

REMOVABLE = (None, "constant", "linear")


class RemovedFunctions:
    """Functions q_1, ..., q_p, orthonormal on the training rows, that no component may contain.

    With Q_ij = q_j(x_i) the image of x becomes Φ(x) - Σ_i (Q q(x))_i Φ(x_i): the Gram matrix of the training rows turns
    into (I - QQᵀ) K (I - QQᵀ), and new rows carry the same projection [Smola1998]_, section 5.1.2 and eq. (3.90).

    Parameters
    ----------
    remove : None, "constant" or "linear"
        What the user wants removed; "linear" includes the constant.
    kernel : Kernel
        A conditionally positive kernel adds its own polynomials, without which it has no feature space.

    Attributes
    ----------
    Q : array of shape (n, p)
        Values on the training rows. Columns that are constant or depend on others count once.
    """

    def __init__(self, remove: str | None, kernel: Kernel):
        self._linear = remove == "linear"
        self._kernel = kernel
        self._any = remove is not None or bool(kernel.order)

    def fit(self, X: Any) -> Self:
        """Orthonormalise the functions on the rows of X."""
        n = _n_rows(X)
        self._constant = n**-0.5
        columns = self._columns(X)
        self._mean = columns.mean(axis=0)
        scale = columns.std(axis=0)
        rounding = 10 * np.finfo(np.float64).eps
        largest = np.abs(columns).max(axis=0, initial=0.0)
        self._varying = scale > rounding * largest
        standard = (columns[:, self._varying] - self._mean[self._varying]) / scale[self._varying]
        U, s, Vt = np.linalg.svd(standard, full_matrices=False)
        # Columns far from zero have lost digits: what they differ by may be rounding.
        lost = np.max(largest[self._varying] / scale[self._varying], initial=0.0)
        kept = s > max(*standard.shape, lost) * rounding * s.max(initial=0.0)
        self._map = (Vt[kept].T / s[kept]) / scale[self._varying, None]
        self.Q = np.hstack([np.full((n, int(self._any)), self._constant), U[:, kept]])
        return self

    def __call__(self, X: Any) -> Array:
        """Values q(x) at new rows."""
        centred = self._columns(X)[:, self._varying] - self._mean[self._varying]
        return np.hstack([np.full((_n_rows(X), int(self._any)), self._constant), centred @ self._map])

    def project_out(self, V: Array) -> Array:
        """(I - QQᵀ) V."""
        return np.asarray(V - self.Q @ (self.Q.T @ V))

    def _columns(self, X: Any) -> Array:
        """The functions other than the constant, as they are."""
        parts = [np.empty((_n_rows(X), 0))]
        if self._linear:
            parts.append(np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64))
        if self._kernel.order:
            parts.append(self._kernel.polynomial_part(X)[:, 1:])
        return np.hstack(parts)


def is_table(X: Any) -> bool:
    """Whether rows are vectors of finite numbers, so that there are linear functions of them."""
    if sparse.issparse(X):
        return True
    rows = np.asarray(X) if hasattr(X, "shape") else np.empty(0)
    return rows.ndim == 2 and rows.dtype.kind in "fiub" and bool(np.isfinite(rows).all())


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
