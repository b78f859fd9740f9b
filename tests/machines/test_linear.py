"""Slopes of linear machines, and numbers of support vectors."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import RFE
from sklearn.svm import SVC, SVR

from mercer import KernelRidge, NuSupportVectorRegressor, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.losses import Huber
from tests.contracts.all_kernels import VECTOR_KERNELS, name_of, rows_for
from tests.contracts.all_problems import labels, rows, smooth_targets

N = 40
X = rows(N, n_columns=3)
LINEAR_KERNELS = [Linear(), 3 * Linear(), Linear() + 0.5 * Linear(), Linear().on([2, 0]) + 2 * Linear().on([0, 0])]
every_linear_kernel = pytest.mark.parametrize("kernel", LINEAR_KERNELS, ids=repr)


@every_linear_kernel
@pytest.mark.parametrize("coef", [np.linspace(-1, 2, N), np.linspace(-1, 2, 2 * N).reshape(N, 2)], ids=np.ndim)
def test_coefficients_of_kernels(kernel, coef):
    assert kernel.linear
    new = rows(7, n_columns=3, seed=1)
    np.testing.assert_allclose(new @ kernel.linear_coefficients(X, coef), kernel(new, X) @ coef, atol=1e-12)
    np.testing.assert_allclose(
        kernel.linear_coefficients(sparse.csr_array(X), coef), kernel.linear_coefficients(X, coef), atol=1e-12
    )


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=name_of)
def test_kernels_that_say_they_are_linear_are(kernel):
    x, y = rows_for(kernel, 5), rows_for(kernel, 4, seed=1)
    doubled = np.allclose(kernel(2 * x, y), 2 * kernel(x, y)) and np.allclose(kernel(x, 3 * y), 3 * kernel(x, y))
    assert kernel.linear == doubled
    if not kernel.linear:
        with pytest.raises(TypeError, match="is not linear; take the sum of kernel functions"):
            kernel.linear_coefficients(x, np.ones(5))


@every_linear_kernel
@pytest.mark.parametrize("parametric", ["constant", None, "linear", ["linear"]], ids=str)
@pytest.mark.parametrize(
    "machine",
    [SupportVectorRegressor(), NuSupportVectorRegressor(), KernelRidge(penalties=1.0)],
    ids=lambda machine: type(machine).__name__,
)
@pytest.mark.parametrize("n_targets", [None, 1, 2])
def test_slopes_of_regressors(kernel, parametric, machine, n_targets):
    y = smooth_targets(X)
    y = y if n_targets is None else np.column_stack([y, 3 - y**2])[:, :n_targets]
    model = clone(machine).set_params(kernel=kernel, parametric=parametric).fit(X, y)
    assert model.coef_.shape == (n_targets or 1, 3)
    new = rows(10, n_columns=3, seed=2)
    values = new @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(new).reshape(10, -1), values, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_slopes_of_a_classifier(n_classes, container):
    table, y = load_iris(return_X_y=True)
    table, y = table[y < n_classes], y[y < n_classes]
    model = SupportVectorClassifier(Linear()).fit(container(table), y)
    assert model.coef_.shape == (1 if n_classes == 2 else 3, 4)
    values = table @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(container(table)).reshape(len(table), -1), values, atol=1e-9)


def test_slopes_are_those_of_scikit_learn():
    y = smooth_targets(X)
    ours = SupportVectorRegressor(Linear(), C=2.0, tol=1e-10).fit(X, y)
    theirs = SVR(kernel="linear", C=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    ours = SupportVectorClassifier(Linear(), C=2.0, tol=1e-10).fit(X, labels(X))
    theirs = SVC(kernel="linear", C=2.0, tol=1e-10).fit(X, labels(X))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_slopes_cannot_be_changed():
    model = SupportVectorRegressor(Linear()).fit(X, smooth_targets(X))
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    with pytest.raises(AttributeError):
        model.coef_ = np.ones((1, 3))


def test_no_support_vector():
    model = SupportVectorRegressor(Linear()).fit(X, np.zeros(N))
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 3)))
    np.testing.assert_array_equal(model.n_support_, [0])


@pytest.mark.parametrize(
    ("kernel", "parametric"),
    [(Gaussian(), "constant"), (Polynomial(2), None), (Linear() + Gaussian(), "linear"), (Linear(), [np.ravel])],
    ids=["Gaussian", "Polynomial", "sum", "function"],
)
def test_functions_that_are_not_linear(kernel, parametric):
    column = X[:, :1]
    model = SupportVectorRegressor(kernel, parametric=parametric).fit(column, smooth_targets(X))
    assert not hasattr(model, "coef_")
    with pytest.raises(
        AttributeError, match=r"coef_ of SupportVectorRegressor needs a linear kernel .*, got .*; choose mercer.k"
    ):
        _ = model.coef_


def test_attributes_need_a_fit():
    for model in (SupportVectorRegressor(Linear()), SupportVectorClassifier(Linear()), KernelRidge(Linear())):
        assert not hasattr(model, "coef_")
        assert not hasattr(model, "n_support_")


def test_feature_elimination_uses_slopes():
    table = np.column_stack([X, rows(N, n_columns=2, seed=9)])
    selected = RFE(SupportVectorRegressor(Linear()), n_features_to_select=3).fit(table, X @ [1.0, -2.0, 3.0])
    np.testing.assert_array_equal(selected.support_, [True, True, True, False, False])


def test_number_of_support_vectors():
    y = smooth_targets(X)
    model = SupportVectorRegressor(Gaussian(0.8), tol=1e-8).fit(X, y)
    theirs = SVR(gamma=1 / (2 * 0.8**2), tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(model.n_support_, theirs.n_support_)
    both = SupportVectorRegressor(Gaussian(0.8), tol=1e-8).fit(X, np.column_stack([y, 10 * y]))
    assert both.n_support_[0] == model.n_support_[0] < both.n_support_[1]
    assert KernelRidge(Gaussian(0.8), penalties=1.0).fit(X, y).n_support_ == [N]


def test_number_of_support_vectors_of_classes():
    table, y = load_iris(return_X_y=True)
    two, names = table[y > 0], np.array(["b", "a"])[y[y > 0] - 1]
    model = SupportVectorClassifier(Gaussian(1.0), tol=1e-8).fit(two, names)
    theirs = SVC(gamma=0.5, tol=1e-8).fit(two, names)
    np.testing.assert_array_equal(model.n_support_, theirs.n_support_)
    model = SupportVectorClassifier(Gaussian(1.0)).fit(table, y, np.where(np.arange(150) % 3, 1.0, 0.0))
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_]))
    short = model.reduce(tol=0.1)
    np.testing.assert_array_equal(short.n_support_, np.bincount(y[short.support_], minlength=3))
    assert short.n_support_.sum() < model.n_support_.sum()


def test_slopes_after_reduction():
    y = X @ [1.0, 0.5, -2.0] + 0.3 * np.sin(5 * X[:, 0])
    model = SupportVectorRegressor(Linear(), loss=Huber(0.1)).fit(X, y)
    short = model.reduce(tol=1e-8)
    assert len(short.support_) <= 3
    np.testing.assert_allclose(short.coef_, model.coef_, atol=1e-6)
