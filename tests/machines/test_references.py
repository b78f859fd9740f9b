"""Machines against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR, NuSVR

from mercer import KernelRidge, NuSupportVectorRegressor, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import Gaussian, Linear, Multiquadric, ThinPlate
from mercer.losses import EpsilonInsensitive, Logistic, Squared
from tests.contracts.all_problems import labels, rows, smooth_targets

N = 80
WIDTH = 0.8
GAMMA = 1 / (2 * WIDTH**2)


@pytest.fixture
def X():
    return rows(N)


@pytest.fixture
def y(X):
    return smooth_targets(X)


@pytest.fixture
def X_new():
    return rows(50, seed=7)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
def test_epsilon_insensitive_equals_svr(C, epsilon, X, y, X_new):
    theirs = SVR(gamma=GAMMA, C=C, epsilon=epsilon, tol=1e-9).fit(X, y)
    ours = SupportVectorRegressor(Gaussian(WIDTH), loss=EpsilonInsensitive(epsilon), C=C, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict(X_new), theirs.predict(X_new), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_[0], atol=1e-4)
    whole = np.zeros(N)
    whole[ours.support_] = ours.dual_coef_
    whole_theirs = np.zeros(N)
    whole_theirs[theirs.support_] = theirs.dual_coef_[0]
    np.testing.assert_allclose(whole, whole_theirs, atol=1e-4 * C)


def test_sample_weights_equal_those_of_svr(X, y, X_new):
    weight = np.random.default_rng(3).uniform(0.1, 3.0, size=N)
    theirs = SVR(gamma=GAMMA, epsilon=0.1, tol=1e-9).fit(X, y, weight)
    ours = SupportVectorRegressor(Gaussian(WIDTH), tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X_new), theirs.predict(X_new), atol=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_nu_equals_nusvr(C, nu, X, y, X_new):
    theirs = NuSVR(gamma=GAMMA, C=C, nu=nu, tol=1e-9).fit(X, y)
    ours = NuSupportVectorRegressor(Gaussian(WIDTH), nu=nu, C=C, tol=1e-10).fit(X, y)
    # The constant is not unique where all samples are at their bounds or inside the tube.
    h, h_theirs = ours.predict(X_new) - ours.intercept_, theirs.predict(X_new) - theirs.intercept_[0]
    np.testing.assert_allclose(h, h_theirs, atol=1e-4)
    if C >= 1:
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_[0], atol=1e-4)
    # The tube is not an attribute of theirs; it runs through their free support vectors.
    coef = np.abs(theirs.dual_coef_[0])
    free = theirs.support_[(coef > 1e-3 * C) & (coef < (1 - 1e-3) * C)]
    if C >= 1:
        assert len(free)
        np.testing.assert_allclose(np.abs(y - theirs.predict(X))[free], ours.epsilon_, atol=1e-4)
    # An ε-machine with the tube of ours must give the same function.
    same = SVR(gamma=GAMMA, C=C, epsilon=ours.epsilon_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(same.predict(X_new) - same.intercept_[0], h, atol=1e-4)


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.8])
def test_nu_bounds_errors_and_support_vectors(nu, X, y):
    model = NuSupportVectorRegressor(Gaussian(WIDTH), nu=nu, tol=1e-10).fit(X, y)
    outside = np.abs(y - model.predict(X)) > model.epsilon_ * (1 + 1e-6) + 1e-9
    assert np.mean(outside) <= nu + 1e-9
    assert len(model.support_) / N >= nu - 1e-9


def test_nu_of_an_epsilon_machine_gives_its_epsilon_back(X, y):
    """An ε-machine uses ν = Σ|B| / (C n); a ν-machine with this ν finds ε."""
    model = SupportVectorRegressor(Gaussian(WIDTH), loss=EpsilonInsensitive(0.2), C=2.0, tol=1e-11).fit(X, y)
    nu = np.abs(model.dual_coef_).sum() / (2.0 * N)
    back = NuSupportVectorRegressor(Gaussian(WIDTH), nu=nu, C=2.0, tol=1e-11).fit(X, y)
    np.testing.assert_allclose(back.epsilon_, 0.2, atol=1e-3)
    np.testing.assert_allclose(back.predict(X), model.predict(X), atol=1e-3)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_hinge_equals_svc(C, X, X_new):
    y = labels(X)
    theirs = SVC(gamma=GAMMA, C=C, tol=1e-9).fit(X, y)
    ours = SupportVectorClassifier(Gaussian(WIDTH), C=C, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X_new), theirs.decision_function(X_new), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X_new), theirs.predict(X_new))


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_logistic_with_a_linear_kernel_equals_logistic_regression(C, X, X_new):
    y = labels(X)
    theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(X, y)
    ours = SupportVectorClassifier(Linear(), loss=Logistic(), C=C, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X_new), theirs.decision_function(X_new), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (Multiquadric(1.0), {"kernel": "multiquadric", "epsilon": 1.0}),
        (Multiquadric(0.0), {"kernel": "linear"}),
        (ThinPlate(), {"kernel": "thin_plate_spline"}),
    ],
    ids=repr,
)
def test_squared_loss_equals_rbf_interpolator(kernel, theirs, C, X, y, X_new):
    expected = RBFInterpolator(X, y, smoothing=1 / C, **theirs)(X_new)
    model = SupportVectorRegressor(kernel, loss=Squared(), C=C, tol=1e-14).fit(X, y)
    assert model.solver_ == "least_squares"
    np.testing.assert_allclose(model.predict(X_new), expected, rtol=1e-10, atol=1e-10)
    slow = SupportVectorRegressor(kernel, loss=Squared(), C=C, tol=1e-12, solver="interior_point").fit(X, y)
    np.testing.assert_allclose(slow.predict(X_new), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_kernel_ridge_equals_scikit_learn(penalty, X, y, X_new):
    theirs = kernel_ridge.KernelRidge(alpha=penalty, kernel="rbf", gamma=GAMMA).fit(X, y)
    ours = KernelRidge(Gaussian(WIDTH), penalties=penalty, parametric=None).fit(X, y)
    np.testing.assert_allclose(ours.predict(X_new), theirs.predict(X_new), atol=1e-9)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)
    assert ours.penalty_ == penalty
    assert ours.intercept_ == 0.0


@pytest.mark.parametrize(
    "parametric", [None, "constant", "linear", [lambda X: np.sin(X[:, 0])]], ids=["none", "constant", "linear", "sine"]
)
@pytest.mark.parametrize("kernel", [Gaussian(WIDTH), ThinPlate()], ids=repr)
def test_leave_one_out_equals_refits(kernel, parametric, X, y):
    X, y = X[:25], y[:25]
    penalties = np.array([1e-2, 1.0])
    model = KernelRidge(kernel, penalties=penalties, parametric=parametric).fit(X, y)
    for penalty, claimed in zip(penalties, model.leave_one_out_error_, strict=True):
        one = KernelRidge(kernel, penalties=penalty, parametric=parametric)
        errors = []
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            errors.append(y[i] - clone(one).fit(X[rest], y[rest]).predict(X[[i]])[0])
        np.testing.assert_allclose(claimed, np.sqrt(np.mean(np.square(errors))), rtol=1e-8)
    assert model.penalty_ == penalties[np.argmin(model.leave_one_out_error_)]


def test_kernel_ridge_equals_the_squared_machine(X, y, X_new):
    for kernel in (Gaussian(WIDTH), Multiquadric(), ThinPlate()):
        ridge = KernelRidge(kernel, penalties=0.5, parametric="linear").fit(X, y)
        machine = SupportVectorRegressor(kernel, loss=Squared(), C=2.0, parametric="linear").fit(X, y)
        np.testing.assert_allclose(ridge.predict(X_new), machine.predict(X_new), atol=1e-9)
        np.testing.assert_allclose(ridge.parametric_coef_, machine.parametric_coef_, atol=1e-8)


def test_weighted_ridge_is_that_of_scikit_learn(X, y):
    weight = np.random.default_rng(3).uniform(0.2, 3.0, size=len(y))
    theirs = kernel_ridge.KernelRidge(alpha=0.3, kernel="rbf", gamma=GAMMA).fit(X, y, weight)
    ours = KernelRidge(Gaussian(WIDTH), penalties=0.3, parametric=None).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)


def test_weighted_leave_one_out_error_is_that_of_fits_without_the_row(X, y):
    X, y = np.vstack([X[:20], X[:5]]), np.concatenate([y[:20], y[:5] + 0.1])  # five rows come twice
    weight = np.random.default_rng(4).uniform(0.2, 3.0, size=len(y))
    model = KernelRidge(Gaussian(WIDTH), penalties=0.3).fit(X, y, weight)
    total = 0.0
    for row in X[:20]:
        out = np.all(row == X, axis=1)
        predicted = KernelRidge(Gaussian(WIDTH), penalties=0.3).fit(X[~out], y[~out], weight[~out]).predict(X[out])
        total += np.sum(weight[out] * (y[out] - predicted) ** 2)
    np.testing.assert_allclose(model.leave_one_out_error_, [np.sqrt(total / weight.sum())], rtol=1e-9)
