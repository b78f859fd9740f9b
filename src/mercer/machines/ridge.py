"""Kernel ridge regression with its whole leave-one-out path from one eigendecomposition."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.machines.base import KernelMachine, checked_weights, distinct_rows, rows_in_use
from mercer.machines.regressor import regression_targets

Array = NDArray[Any]


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelMachine):
    """Squared loss, min penalty/2 ||f||² + 1/2 Σ weight_i (y_i - f(x_i))², with the penalty that predicts best.

    Parameters
    ----------
    kernel : Kernel, optional
        By default a Gaussian whose width is the median distance of the data.
    penalties : float or array, optional
        Penalties to choose from; by default 60 from 1e-10 to 1e2 times the mean eigenvalue of K. One number fixes it.
    parametric : None, "constant", "linear" or list
        Unpenalised functions, as in `SupportVectorRegressor`.

    Attributes
    ----------
    penalty_ : float
        The penalty with the least leave-one-out error.
    penalties_, leave_one_out_error_ : array
        The path: root mean square error of predicting each row from all others, for every penalty.
    dual_coef_, support_, parametric_coef_, intercept_, kernel_
        As in `SupportVectorRegressor`.

    Notes
    -----
    Equal rows are left out together, since one would give the other away; weighing a row is then the same as repeating
    it.

    With the parametric columns Φ projected out, the residual of sample i when it is left out is B_i / (S⁻¹)_ii, where
    (K̃ + penalty) B = y on the complement of Φ: each penalty costs O(n²) after one eigendecomposition, O(n³).

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> model = KernelRidge().fit(X, y)
    >>> bool(0.09 < model.leave_one_out_error_.min() < 0.12)
    True
    """

    def __init__(self, kernel: Any = None, *, penalties: Any = None, parametric: Any = "constant"):
        self.kernel = kernel
        self.penalties = penalties
        self.parametric = parametric

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and one or several targets y, which share the penalty."""
        X = self._rows(X, reset=True)
        y = regression_targets(y, X)
        weight = checked_weights(self, sample_weight, len(y))
        used = np.flatnonzero(weight)
        X, weight = rows_in_use(X, used, self.kernel), weight[used]
        rows, targets, weight, scatter = _merged(X, y[used].reshape(len(used), -1), weight)
        X, used = rows_in_use(X, rows, self.kernel), used[rows]
        K, Phi = self._prepare(X)
        # In units of 1 / √weight all samples weigh the same.
        root = np.sqrt(weight)[:, None]
        # An orthonormal basis Q of the complement of Φ turns the saddle-point system into (QᵀKQ + penalty) b = Qᵀy.
        Q = np.linalg.qr(root * Phi, mode="complete")[0][:, Phi.shape[1] :]
        values, vectors = eigh(Q.T @ (root * K * root.T) @ Q)
        values = np.maximum(values, 0.0)
        basis = Q @ vectors
        z = basis.T @ (root * targets)
        self.penalties_ = self._grid(values)
        squared = basis**2
        errors = []
        for penalty in self.penalties_:
            inverse = 1.0 / (values + penalty)
            left_out = basis @ (inverse[:, None] * z)
            left_out /= np.maximum(squared @ inverse, np.finfo(np.float64).tiny)[:, None]
            errors.append(np.sqrt((np.sum(left_out**2) + scatter) / (weight.sum() * targets.shape[1])))
        self.leave_one_out_error_ = np.array(errors)
        self.penalty_ = float(self.penalties_[np.argmin(self.leave_one_out_error_)])
        B = root * (basis @ (z / (values + self.penalty_)[:, None]))
        d = np.linalg.lstsq(root * Phi, root * (targets - K @ B) - self.penalty_ * B / root, rcond=None)[0]
        single = y.ndim == 1
        self.support_ = used
        self.support_vectors_ = X
        self.dual_coef_ = B[:, 0] if single else B
        self.parametric_coef_ = d[:, 0] if single else d
        constant = self._part.constant
        intercept = np.zeros(targets.shape[1]) if constant is None else d[constant]
        self.intercept_ = float(intercept[0]) if single else intercept
        return self

    def predict(self, X: Any) -> Array:
        """Values of the fitted function."""
        return self._function(X)

    @property
    def regularizer(self) -> str:
        """The norm of the feature space."""
        return "rkhs"

    def _grid(self, eigenvalues: Array) -> Array:
        if self.penalties is None:
            scale = float(eigenvalues.mean()) if eigenvalues.size and eigenvalues.any() else 1.0
            return scale * np.geomspace(1e-10, 1e2, 60)
        penalties = np.atleast_1d(np.asarray(self.penalties, dtype=np.float64))
        if penalties.ndim != 1 or not penalties.size or not np.all(np.isfinite(penalties) & (penalties > 0)):
            raise ValueError(
                f"penalties of KernelRidge must be positive numbers, got {self.penalties!r}; give one or a list."
            )
        return penalties


def _merged(X: Any, targets: Array, weight: Array) -> tuple[Array, Array, Array, float]:
    """Positions of the distinct rows, their mean targets and total weights, and the weighted scatter around the means.

    The sum of squares of rows that are equal is that of their mean, plus the scatter.
    """
    rows, group = distinct_rows(X)
    total = np.bincount(group, weight)
    means = np.column_stack([np.bincount(group, weight * column) / total for column in targets.T])
    return rows, means, total, float(np.sum(weight[:, None] * (targets - means[group]) ** 2))
