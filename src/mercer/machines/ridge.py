"""Kernel ridge regression with its whole leave-one-out path from one eigendecomposition."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.machines.base import KernelMachine
from mercer.machines.regressor import regression_targets

Array = NDArray[Any]


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelMachine):
    """Squared loss, min penalty/2 ||f||² + 1/2 Σ (y_i - f(x_i))², with the penalty of least leave-one-out error.

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
        The path: root mean square error of predicting each sample from all others, for every penalty.
    dual_coef_, support_, parametric_coef_, intercept_, kernel_
        As in `SupportVectorRegressor`.

    Notes
    -----
    There is no sample_weight: a repeated sample knows its copy when it is left out, a weighted one does not, so that
    weights would not mean what they mean elsewhere.

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

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows X and one or several targets y, which share the penalty."""
        X = self._rows(X, reset=True)
        y = regression_targets(y, X)
        targets = y.reshape(len(y), -1)
        K, Phi = self._prepare(X)
        # An orthonormal basis Q of the complement of Φ turns the saddle-point system into (QᵀKQ + penalty) b = Qᵀy.
        Q = np.linalg.qr(Phi, mode="complete")[0][:, Phi.shape[1] :]
        values, vectors = eigh(Q.T @ K @ Q)
        values = np.maximum(values, 0.0)
        basis = Q @ vectors
        z = basis.T @ targets
        self.penalties_ = self._grid(values)
        squared = basis**2
        errors = []
        for penalty in self.penalties_:
            inverse = 1.0 / (values + penalty)
            B = basis @ (inverse[:, None] * z)
            left_out = B / np.maximum(squared @ inverse, np.finfo(np.float64).tiny)[:, None]
            errors.append(np.sqrt(np.mean(left_out**2)))
        self.leave_one_out_error_ = np.array(errors)
        self.penalty_ = float(self.penalties_[np.argmin(self.leave_one_out_error_)])
        B = basis @ (z / (values + self.penalty_)[:, None])
        residual = targets - K @ B - self.penalty_ * B
        d = np.linalg.lstsq(Phi, residual, rcond=None)[0]
        single = y.ndim == 1
        self.support_ = np.arange(len(y))
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
