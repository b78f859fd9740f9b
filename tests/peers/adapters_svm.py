"""scikit-learn's support vector machines with Mercer's inside: signatures and shapes of the one, fits of the other."""

from __future__ import annotations

import importlib.util
from types import ModuleType, SimpleNamespace
from unittest import mock

import numpy as np
import sklearn.svm
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed
from mercer.losses import EpsilonInsensitive


def _rounded(values):
    """Numbers without their rounding errors, where tests compare bit by bit."""
    return np.round(values, 10)


class _Machine(BaseEstimator):
    """Kernels by name, and fitted attributes in scikit-learn's shapes."""

    def _machine(self, kernel):
        raise NotImplementedError

    def _fit(self, X, y=None, sample_weight=None):
        # Samples with a negative weight are left out by LIBSVM.
        weight = None if sample_weight is None else np.maximum(sample_weight, 0.0)
        self.machine_ = self._machine(self._kernel(X))
        self._rows = X if callable(self.kernel) else None
        self.machine_.fit(self._given(X), *(() if y is None else (y,)), sample_weight=weight)
        return self

    def _kernel(self, X):
        """The kernel of a name; functions of two tables become precomputed matrices."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return Precomputed()
        gamma = self.gamma
        if isinstance(gamma, str):
            X = X if hasattr(X, "shape") else np.asarray(X, dtype=float)
            dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
            gamma = 1.0 / (dense.shape[1] * ((dense.var() or 1.0) if gamma == "scale" else 1.0))
        self._gamma = gamma
        if self.kernel == "poly":
            return gamma**self.degree * Polynomial(self.degree, self.coef0 / gamma)
        return {"linear": Linear(), "rbf": Gaussian(1.0 / np.sqrt(2.0 * gamma))}[self.kernel]

    def _given(self, X):
        return self.kernel(X, self._rows) if callable(self.kernel) else X

    def predict(self, X):
        check_is_fitted(self, "machine_")
        return self.machine_.predict(self._given(X))

    @property
    def _options(self):
        # scikit-learn's -1 is no limit.
        return {"tol": self.tol, "max_iter": None if self.max_iter == -1 else self.max_iter}

    @property
    def dual_coef_(self):
        coef = _rounded(np.atleast_2d(self.machine_.dual_coef_.T))
        return sparse.csr_matrix(coef) if sparse.issparse(self.support_vectors_) else coef

    @property
    def intercept_(self):
        return _rounded(np.atleast_1d(self.machine_.intercept_))

    @property
    def coef_(self):
        return self.machine_.coef_


for _name in ("support_", "support_vectors_", "n_support_", "n_iter_"):
    setattr(_Machine, _name, property(lambda self, name=_name: getattr(self.machine_, name)))


def _has_probabilities(adapter):
    return adapter.probability is True


class _Classifier(ClassifierMixin, _Machine):
    def fit(self, X, y, sample_weight=None):
        return self._fit(X, y, sample_weight)

    def decision_function(self, X):
        check_is_fitted(self, "machine_")
        return self.machine_.decision_function(self._given(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        return self.machine_.set_params(probability=True).predict_proba(self._given(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        return self.machine_.predict_log_proba(self._given(X))

    @property
    def classes_(self):
        return self.machine_.classes_

    @property
    def n_iter_(self):
        return np.atleast_1d(self.machine_.n_iter_)


class SVC(_Classifier):
    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        probability=False,
        tol=1e-3,
        class_weight=None,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state

    def _machine(self, kernel):
        return mercer.SupportVectorClassifier(
            kernel,
            C=self.C,
            class_weight=self.class_weight,
            probability=self.probability,
            random_state=self.random_state,
            **self._options,
        )


class NuSVC(_Classifier):
    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        probability=False,
        tol=1e-3,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state

    def _machine(self, kernel):
        return mercer.NuSupportVectorClassifier(
            kernel, nu=self.nu, probability=self.probability, random_state=self.random_state, **self._options
        )


class _Regressor(RegressorMixin, _Machine):
    def fit(self, X, y, sample_weight=None):
        return self._fit(X, y, sample_weight)

    def predict(self, X):
        return _rounded(super().predict(X))


class SVR(_Regressor):
    def __init__(self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, C=1.0, epsilon=0.1, max_iter=-1):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.max_iter = max_iter

    def _machine(self, kernel):
        loss = EpsilonInsensitive(self.epsilon)
        return mercer.SupportVectorRegressor(kernel, loss=loss, C=self.C, **self._options)


class NuSVR(_Regressor):
    def __init__(self, *, nu=0.5, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, max_iter=-1):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _machine(self, kernel):
        return mercer.NuSupportVectorRegressor(kernel, nu=self.nu, C=self.C, **self._options)


class OneClassSVM(OutlierMixin, _Machine):
    def __init__(self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, nu=0.5, max_iter=-1):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.max_iter = max_iter

    def _machine(self, kernel):
        return mercer.OneClassMachine(kernel, nu=self.nu, **self._options)

    def fit(self, X, y=None, sample_weight=None):
        return self._fit(X, None, sample_weight)

    def decision_function(self, X):
        return self.machine_.decision_function(self._given(X))

    def score_samples(self, X):
        return self.machine_.score_samples(self._given(X))

    @property
    def offset_(self):
        return np.atleast_1d(self.machine_.offset_)


ADAPTERS = {adapter.__name__: adapter for adapter in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}
# The module `sklearn.svm` as its tests see it.
SVM = SimpleNamespace(**{name: getattr(sklearn.svm, name) for name in sklearn.svm.__all__} | ADAPTERS)


def svm_tests() -> ModuleType:
    """A copy of scikit-learn's test module whose parametrised tests hold the adapters."""
    spec = importlib.util.find_spec("sklearn.svm.tests.test_svm")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple(sklearn.svm, **ADAPTERS):
        spec.loader.exec_module(module)
    return module
