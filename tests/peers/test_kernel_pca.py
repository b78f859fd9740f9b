"""scikit-learn's own tests of its kernel PCA, run on Mercer's."""

import importlib.util

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

import mercer
from mercer.kernels import FromFunction, Gaussian, Linear, Polynomial, Precomputed
from tests.peers.collect import peer_tests

pytestmark = [
    # Fewer components than were asked for are told, not filled up with zeros.
    pytest.mark.filterwarnings("ignore:.*components above rounding:UserWarning"),
    # Of the perceptrons that the scores are given to.
    pytest.mark.filterwarnings("ignore:Maximum number of iteration reached:sklearn.exceptions.ConvergenceWarning"),
]
SOLVERS = {"auto": "auto", "dense": "dense", "arpack": "lanczos", "randomized": "lanczos"}


@pytest.fixture(params=[0, 1])
def global_random_seed(request):
    return request.param


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """scikit-learn's signature: kernels by name, and a way back only where it was asked for."""

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        remove_zero_eig=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state

    def fit(self, X, y=None):
        self.gamma_ = 1.0 / np.shape(X)[1] if self.gamma is None else self.gamma
        kernels = {
            "linear": Linear(),
            "rbf": Gaussian(1.0 / np.sqrt(2.0 * self.gamma_)),
            "poly": self.gamma_**self.degree * Polynomial(self.degree, self.coef0 / self.gamma_),
            "precomputed": Precomputed(),
        }
        self.model_ = mercer.KernelPCA(
            self.n_components,
            kernel=FromFunction(self.kernel) if callable(self.kernel) else kernels[self.kernel],
            eigen_solver=SOLVERS[self.eigen_solver],
            fit_inverse_transform=self.fit_inverse_transform,
            random_state=self.random_state,
        ).fit(X)
        self.eigenvalues_, self.eigenvectors_ = self.model_.eigenvalues_, self.model_.eigenvectors_
        return self

    def transform(self, X):
        return self.model_.transform(X)

    def inverse_transform(self, X):
        if not self.fit_inverse_transform:
            raise NotFittedError
        return self.model_.inverse_transform(X)

    @property
    def _n_features_out(self):
        return self.model_.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


NOT_APPLICABLE = {
    "test_kernel_pca_invalid_parameters": "refused in other words: tests/components/test_preimages.py",
    "test_remove_zero_eig": "rows that all look alike are refused, not mapped to no columns or to columns of zeros",
    "test_kernel_pca_precomputed_non_symmetric": "a matrix that is not symmetric is no Gram matrix, and refused",
    "test_kernel_conditioning": "components of rounding are left out, not kept with an eigenvalue of zero",
    "test_precomputed_kernel_not_psd": "indefinite kernels are taken: their components are ordered by absolute value",
}

_spec = importlib.util.find_spec("sklearn.decomposition.tests.test_kernel_pca")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update(peer_tests(_module, {"KernelPCA": KernelPCA}, NOT_APPLICABLE))
