"""ν-machines and the one-class machine against LIBSVM, and what ν means."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, NuSVC, NuSVR, OneClassSVM

from mercer import (
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.kernels import Gaussian, Linear, Multiquadric, Polynomial, Precomputed, ThinPlate
from mercer.losses import EpsilonInsensitive
from tests.contracts.all_problems import labels, rows, smooth_targets

WIDTH = 0.8
GAMMA = 0.5 / WIDTH**2
KERNELS = [
    (Gaussian(WIDTH), {"kernel": "rbf", "gamma": GAMMA}),
    (Polynomial(2, 1.0), {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}),
    (Linear(), {"kernel": "linear"}),
]
SOLVERS = ["interior_point", "smo"]
every_kernel = pytest.mark.parametrize(("kernel", "theirs"), KERNELS, ids=lambda value: str(value)[:20])
every_solver = pytest.mark.parametrize("solver", SOLVERS)
# Shares ν such that no sum of bounds is ν n: else ρ, ε and the constant need not be unique.
X = rows(120)
WEIGHTS = np.random.default_rng(3).integers(0, 4, size=120).astype(float)


# Regression -----------------------------------------------------------------------------------------------------------


@every_solver
@every_kernel
@pytest.mark.parametrize(("C", "nu"), [(0.01, 0.4321), (1.0, 0.0531), (1.0, 0.9537), (100.0, 0.3123)])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_regression_is_that_of_libsvm(solver, kernel, theirs, C, nu, weights):
    y = smooth_targets(X)
    ours = NuSupportVectorRegressor(kernel, nu=nu, C=C, solver=solver, tol=1e-8).fit(X, y, weights)
    reference = NuSVR(nu=nu, C=C, tol=1e-7, **theirs).fit(X, y, sample_weight=weights)
    assert ours.status_ == "optimal"
    scale = np.abs(y).max()
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), atol=1e-3 * scale)


@pytest.mark.parametrize("nu", [1e-3, 0.3, 0.97, 1.0])
@pytest.mark.parametrize(
    ("solver", "C", "tol"),
    [(solver, C, tol) for solver in SOLVERS for C in (1e-2, 1.0, 1e2, 1e4) for tol in (1e-3, 1e-6)],
)
def test_regression_is_certified(solver, C, nu, tol):
    y = smooth_targets(X)
    model = NuSupportVectorRegressor(Gaussian(WIDTH), nu=nu, C=C, solver=solver, tol=tol).fit(X, y)
    exact = NuSupportVectorRegressor(Gaussian(WIDTH), nu=nu, C=C, solver="interior_point", tol=1e-9).fit(X, y)
    assert model.status_ == "optimal"
    assert model.gap_ <= tol
    values = [machine.history_[-1].primal for machine in (model, exact)]
    np.testing.assert_allclose(*values, rtol=1.1 * tol, atol=1.1 * tol)
    assert np.abs(model.dual_coef_).sum() <= C * nu * 120 * (1 + 1e-9)


def test_smo_that_finds_no_tube_leaves_part_of_the_budget():
    y = smooth_targets(X)
    model = NuSupportVectorRegressor(Gaussian(0.2), nu=1.0, C=100.0, solver="smo", tol=1e-6).fit(X, y)
    assert model.epsilon_ < 1e-4
    assert np.abs(model.dual_coef_).sum() < 0.5 * 100.0 * 120
    assert model.status_ == "optimal"


def test_thousands_of_rows_need_no_matrix():
    many = rows(4000)
    y = smooth_targets(many)
    model = NuSupportVectorRegressor(Gaussian(WIDTH), nu=0.3, C=1.0, tol=1e-5, memory=2**24).fit(many, y)
    assert model.solver_ == "smo"
    loss = EpsilonInsensitive(model.epsilon_)
    same = SupportVectorRegressor(Gaussian(WIDTH), loss=loss, C=1.0, tol=1e-5).fit(many, y)
    np.testing.assert_allclose(model.predict(many), same.predict(many), atol=0.01)
    outside = np.abs(y - model.predict(many)) > model.epsilon_ + 1e-2
    assert outside.mean() <= 0.3 <= len(model.support_) / 4000


def test_a_trend_and_no_constant_at_scale():
    many = rows(1500)
    y = smooth_targets(many)
    for parametric in ("linear", None):
        options = {"nu": 0.3, "parametric": parametric, "tol": 1e-4}
        model = NuSupportVectorRegressor(Gaussian(WIDTH), memory=2**24, **options).fit(many, y)
        exact = NuSupportVectorRegressor(Gaussian(WIDTH), solver="interior_point", **options).fit(many, y)
        assert model.solver_ == "working_set"
        assert model.status_ == "optimal"
        np.testing.assert_allclose(model.history_[-1].primal, exact.history_[-1].primal, rtol=2e-4)


def test_warm_start_goes_on_with_another_weight():
    y = smooth_targets(X)
    model = NuSupportVectorRegressor(Gaussian(WIDTH), C=1.0, solver="smo", tol=1e-6, warm_start=True).fit(X, y)
    model.set_params(C=2.0).fit(X, y)
    cold = NuSupportVectorRegressor(Gaussian(WIDTH), C=2.0, solver="smo", tol=1e-6).fit(X, y)
    assert model.n_iter_ <= cold.n_iter_
    np.testing.assert_allclose(model.history_[-1].primal, cold.history_[-1].primal, rtol=3e-6)


# Classification -------------------------------------------------------------------------------------------------------


@every_solver
@every_kernel
@pytest.mark.parametrize("nu", [0.4123, 0.5987])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_classification_is_that_of_libsvm(solver, kernel, theirs, nu, weights):
    y = labels(X)
    ours = NuSupportVectorClassifier(kernel, nu=nu, solver=solver, tol=1e-9).fit(X, y, weights)
    reference = NuSVC(nu=nu, tol=1e-8, **theirs).fit(X, y, sample_weight=weights)
    assert ours.status_ == "optimal"
    np.testing.assert_allclose(ours.decision_function(X), reference.decision_function(X), atol=1e-4, rtol=1e-4)


@every_solver
def test_classification_is_that_of_the_machine_with_one_over_rho(solver):
    y = labels(X)
    ours = NuSupportVectorClassifier(Gaussian(WIDTH), nu=0.5, solver=solver, tol=1e-9).fit(X, y)
    same = SupportVectorClassifier(Gaussian(WIDTH), C=1.0 / ours.rho_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), same.decision_function(X), atol=1e-4)


@every_solver
def test_nu_bounds_margin_errors_and_support_vectors(solver):
    points, y = make_moons(400, noise=0.3, random_state=0)
    model = NuSupportVectorClassifier(Gaussian(0.5), nu=0.4, solver=solver, tol=1e-6).fit(points, y)
    errors = model.decision_function(points) * (2 * y - 1) < 1 - 1e-2
    assert errors.mean() <= 0.4 <= len(model.support_) / 400


def test_several_classes_against_the_rest():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = NuSupportVectorClassifier(Gaussian(WIDTH), nu=0.3, tol=1e-8).fit(X, y)
    assert model.dual_coef_.shape[1] == len(model.rho_) == len(model.status_) == 3
    for k in range(3):
        alone = NuSupportVectorClassifier(Gaussian(WIDTH), nu=0.3, tol=1e-8).fit(X, y == k)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-5)
    assert model.score(X, y) > 0.9


@every_solver
def test_conditional_kernels_whose_polynomials_are_a_constant(solver):
    y = labels(X)
    ours = NuSupportVectorClassifier(Multiquadric(0.5), nu=0.4987, solver=solver, tol=1e-8).fit(X, y)
    same = SupportVectorClassifier(Multiquadric(0.5), C=1.0 / ours.rho_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), same.decision_function(X), atol=1e-3)
    with pytest.raises(ValueError, match="must be positive definite, or conditionally of order 1, got ThinPlate"):
        NuSupportVectorClassifier(ThinPlate()).fit(X, y)


def test_classification_of_thousands_of_rows():
    points, y = make_moons(4000, noise=0.3, random_state=0)
    model = NuSupportVectorClassifier(Gaussian(0.5), nu=0.3, memory=2**24).fit(points, y)
    assert model.solver_ == "smo"
    assert model.status_ == "optimal"
    same = SVC(gamma=2.0, C=1.0 / model.rho_).fit(points, y)
    np.testing.assert_array_equal((model.predict(points) != same.predict(points)).mean() < 0.01, True)


@pytest.mark.parametrize("nu", [0.0, 1.1, -0.2, True, "half", None, np.nan])
def test_classification_refuses_what_is_no_share(nu):
    with pytest.raises(
        ValueError, match=r"nu of NuSupportVectorClassifier must be in \(0, 1\], got .*; it is the share"
    ):
        NuSupportVectorClassifier(nu=nu).fit(X, labels(X))


def test_classification_refuses_a_share_that_no_margin_has():
    y = np.where(np.arange(120) < 30, "few", "many")
    with pytest.raises(
        ValueError, match=r"must be at most 0\.5, twice the share of the smaller .*, got 0\.51; lower nu"
    ):
        NuSupportVectorClassifier(nu=0.51).fit(X, y)
    assert NuSupportVectorClassifier(Gaussian(WIDTH), nu=0.5).fit(X, y).status_ == "optimal"
    heavy = np.where(y == "few", 3.0, 1.0)
    assert NuSupportVectorClassifier(Gaussian(WIDTH), nu=1.0).fit(X, y, heavy).status_ == "optimal"
    three = np.digitize(np.arange(120), [12, 60])
    with pytest.raises(
        ValueError, match=r"must be at most 0\.2, .* where class 0 is separated from the rest, got 0\.3"
    ):
        NuSupportVectorClassifier(nu=0.3).fit(X, three)


def test_classification_warns_of_classes_without_a_margin():
    same, y = np.repeat(rows(2), 2, axis=0), np.array([0, 1, 0, 1])
    with pytest.warns(
        ConvergenceWarning, match="found no margin: with nu = 0.5 no function is better than zero; raise"
    ):
        model = NuSupportVectorClassifier(Gaussian(WIDTH)).fit(same, y)
    assert model.rho_ == 1.0
    np.testing.assert_allclose(model.decision_function(same), 0.0, atol=1e-6)


# One class ------------------------------------------------------------------------------------------------------------


@every_solver
@every_kernel
@pytest.mark.parametrize("nu", [0.0312, 0.3123, 0.8123])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_one_class_is_that_of_libsvm(solver, kernel, theirs, nu, weights):
    points = X + 2.0
    ours = OneClassMachine(kernel, nu=nu, solver=solver, tol=1e-9).fit(points, sample_weight=weights)
    reference = OneClassSVM(nu=nu, tol=1e-8, **theirs).fit(points, sample_weight=weights)
    assert ours.status_ == "optimal"
    scale = np.abs(reference.score_samples(points)).max()
    np.testing.assert_allclose(ours.score_samples(points), reference.score_samples(points), rtol=0, atol=1e-4 * scale)
    np.testing.assert_allclose(ours.offset_, reference.offset_, rtol=0, atol=1e-4 * scale)
    total = 120 if weights is None else weights.sum()
    np.testing.assert_allclose(ours.dual_coef_.sum(), nu * total, rtol=1e-6)


def test_one_class_takes_default_and_precomputed_kernels():
    model = OneClassMachine(nu=0.2).fit(X)
    K = model.kernel_(X)
    given = OneClassMachine(Precomputed(), nu=0.2).fit(K)
    np.testing.assert_allclose(given.decision_function(K), model.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.fit_predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    clear = np.abs(model.decision_function(X)) > 1e-4  # free support vectors lie on the boundary
    np.testing.assert_array_equal(model.predict(X, dtype=np.float32)[clear], model.predict(X)[clear])


def test_one_class_of_thousands_of_rows():
    many = rows(5000)
    model = OneClassMachine(Gaussian(WIDTH), nu=0.1, memory=2**24).fit(many)
    assert model.solver_ == "smo"
    assert model.status_ == "optimal"
    outside = model.decision_function(many) < -1e-2 * model.offset_
    assert outside.mean() <= 0.1 <= len(model.support_) / 5000
    assert model.predict([[8.0, 8.0]]).tolist() == [-1]


@pytest.mark.parametrize("nu", [0.0, 1.1, False, "auto", np.inf])
def test_one_class_refuses_what_is_no_share(nu):
    with pytest.raises(ValueError, match=r"nu of OneClassMachine must be in \(0, 1\], got .*; it is the share"):
        OneClassMachine(nu=nu).fit(X)


def test_one_class_refuses_conditional_kernels():
    with pytest.raises(ValueError, match="kernel of OneClassMachine must be positive definite, got Multiquadric"):
        OneClassMachine(Multiquadric(1.0)).fit(X)
