"""Kernels in the hands of scikit-learn's estimators, against the direct computation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels

from mercer.compat import ScikitLearnKernel
from mercer.kernels import FromFunction, Gaussian, Linear, Polynomial, WeightedDegree
from tests.contracts.all_kernels import INDEFINITE_KERNELS, VECTOR_KERNELS, name_of, rows_for

every_kernel = pytest.mark.parametrize("kernel", VECTOR_KERNELS + INDEFINITE_KERNELS, ids=name_of)
every_positive_kernel = pytest.mark.parametrize(
    "kernel", [kernel for kernel in VECTOR_KERNELS if kernel.order == 0], ids=name_of
)


def forms(kernel):
    """As it is, for kernels on vectors, and in scikit-learn's form."""
    return [ScikitLearnKernel(kernel)] if isinstance(kernel, FromFunction) else [kernel, ScikitLearnKernel(kernel)]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


@every_kernel
def test_pairwise_kernels(kernel):
    X, Y = rows_for(kernel, 8), rows_for(kernel, 3, seed=1)
    for form in forms(kernel):
        close(pairwise_kernels(X, Y, metric=form), kernel(X, Y))
        close(pairwise_kernels(X, metric=form), kernel(X))


@every_positive_kernel
def test_kernel_ridge(kernel):
    X, new, y = rows_for(kernel, 8), rows_for(kernel, 3, seed=1), np.arange(8.0)
    expected = kernel(new, X) @ np.linalg.solve(kernel(X) + 3.0 * np.eye(8), y)
    for form in forms(kernel):
        close(KernelRidge(alpha=3.0, kernel=form).fit(X, y).predict(new), expected)


@every_positive_kernel
def test_kernel_pca(kernel):
    X, new = rows_for(kernel, 8), rows_for(kernel, 3, seed=1)
    given = KernelPCA(2, kernel="precomputed").fit(kernel(X))
    for form in forms(kernel):
        close(np.abs(KernelPCA(2, kernel=form).fit(X).transform(new)), np.abs(given.transform(kernel(new, X))))


@every_positive_kernel
def test_nystroem(kernel):
    X = rows_for(kernel, 8)
    for form in forms(kernel):
        features = Nystroem(form, n_components=8, random_state=0).fit_transform(X)
        np.testing.assert_allclose(features @ features.T, kernel(X), atol=1e-6 * np.abs(kernel(X)).max())


@every_positive_kernel
def test_gaussian_process(kernel):
    X, new, y = rows_for(kernel, 8), rows_for(kernel, 3, seed=1), np.arange(8.0)
    inverse, cross = np.linalg.inv(kernel(X) + 0.5 * np.eye(8)), kernel(new, X)
    process = GaussianProcessRegressor(ScikitLearnKernel(kernel), alpha=0.5).fit(X, y)
    mean, covariance = process.predict(new, return_cov=True)
    close(mean, cross @ inverse @ y)
    close(covariance, kernel(new) - cross @ inverse @ cross.T)
    close(process.predict(new, return_std=True)[1] ** 2, np.diagonal(covariance))


def test_a_gaussian_process_tunes_as_with_its_own_kernel():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40)
    for width, length in ((1.0, 1.0), ([1.0, 1.0], [1.0, 1.0])):
        ours = ScikitLearnKernel(Gaussian(width), tuned={"width": (1e-2, 1e3)})
        theirs = RBF(length, length_scale_bounds=(1e-2, 1e3))
        for a, b in zip(ours(X, eval_gradient=True), theirs(X, eval_gradient=True), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
        fitted, expected = (GaussianProcessRegressor(kernel, alpha=0.01).fit(X, y) for kernel in (ours, theirs))
        np.testing.assert_allclose(fitted.kernel_.theta, expected.kernel_.theta, rtol=1e-3)
        np.testing.assert_allclose(fitted.predict(X), expected.predict(X), atol=1e-3)
        assert ours.kernel.width == width


def test_nested_parameters_and_scikit_learns_algebra():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = X[:, 0] ** 2 + 0.3 * rng.normal(size=30)
    kernel = ScikitLearnKernel(2.0 * Gaussian(0.5) + Linear(), tuned={"left__factor": (0.1, 10.0)})
    process = GaussianProcessRegressor(kernel + WhiteKernel(0.1)).fit(X, y)
    assert process.kernel_.n_dims == 2
    assert 0.1 < process.kernel_.k1.kernel.left.factor < 10.0
    assert process.kernel_.k1.kernel.left.factor != 2.0
    assert kernel.clone_with_theta(np.log([3.0])).kernel.left.factor == pytest.approx(3.0)
    assert repr(clone(kernel)) == repr(kernel) == f"ScikitLearnKernel({kernel.kernel!r})"
    assert GaussianProcessClassifier(ScikitLearnKernel(Gaussian())).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9


def test_capabilities_are_passed_on():
    assert ScikitLearnKernel(Gaussian()).is_stationary()
    assert not ScikitLearnKernel(Linear()).is_stationary()
    assert ScikitLearnKernel(Gaussian()).requires_vector_input
    strings = ["ACGT", "AAGT", "TTTT", "ACGA"]
    process = GaussianProcessRegressor(ScikitLearnKernel(WeightedDegree(2)), alpha=0.1).fit(strings, np.arange(4.0))
    assert process.predict(strings).shape == (4,)
    X = sparse.random_array((12, 5), density=0.5, rng=0, format="csr")
    machine = KernelRidge(alpha=1.0, kernel=ScikitLearnKernel(Gaussian())).fit(X, np.arange(12.0))
    expected = KernelRidge(alpha=1.0, kernel="rbf", gamma=0.5).fit(X, np.arange(12.0))
    np.testing.assert_allclose(machine.predict(X), expected.predict(X), rtol=1e-9)


def test_bad_input():
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="eval_gradient of ScikitLearnKernel must be False for two tables, got True"):
        ScikitLearnKernel(Gaussian())(X, X, eval_gradient=True)
    for kernel, name in [(Gaussian(), "rate"), (Polynomial(offset=0.0), "offset"), (Gaussian() + Linear(), "left")]:
        with pytest.raises(ValueError, match=f"tuned of ScikitLearnKernel must name positive .*, got '{name}'; see"):
            GaussianProcessRegressor(ScikitLearnKernel(kernel, tuned={name: (1e-3, 1e3)})).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="kernel of ScikitLearnKernel must be a Kernel of mercer.kernels, got RBF"):
        ScikitLearnKernel(RBF())(X)
