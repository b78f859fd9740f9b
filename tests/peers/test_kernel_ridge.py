"""scikit-learn's own tests of its kernel ridge regression, run on Mercer's."""

import importlib.util

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import pairwise_kernels

import mercer
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed
from tests.peers.collect import peer_tests


class KernelRidge(RegressorMixin, BaseEstimator):
    """scikit-learn's signature: no intercept, one penalty, kernels by name."""

    def __init__(self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def fit(self, X, y, sample_weight=None):
        self._X = X
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        kernels = {
            "linear": Linear(),
            "rbf": Gaussian(1.0 / np.sqrt(2.0 * gamma)),
            "poly": gamma**self.degree * Polynomial(self.degree, self.coef0 / gamma),
        }
        # A kernel that Mercer does not have is precomputed.
        kernel = kernels.get(self.kernel, Precomputed())
        self.machine_ = mercer.KernelRidge(kernel, penalties=self.alpha, parametric=None)
        self.machine_.fit(self._given(X), y, sample_weight)
        return self

    def predict(self, X):
        return self.machine_.predict(self._given(X))

    def _given(self, X):
        return pairwise_kernels(X, self._X, metric=self.kernel) if self.kernel == "cosine" else X


NOT_APPLICABLE = {
    "test_kernel_ridge_singular_kernel": "a penalty of zero is refused: penalties are positive",
}

_spec = importlib.util.find_spec("sklearn.tests.test_kernel_ridge")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update(peer_tests(_module, {"KernelRidge": KernelRidge}, NOT_APPLICABLE))
