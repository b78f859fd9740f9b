"""What machines take and give back."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, NuSupportVectorRegressor, QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.kernels import Gaussian, Linear, Multiquadric, Precomputed, ThinPlate, WeightedDegree
from mercer.losses import (
    EpsilonInsensitive,
    Huber,
    Laplace,
    Logistic,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
    optimal_nu,
)
from mercer.regularizers import L2Coefficients, Mixed
from tests.contracts.all_problems import labels, positive_matrix, rows, smooth_targets

N = 50
REGRESSORS = [
    SupportVectorRegressor(Gaussian(0.8), tol=1e-10),
    SupportVectorRegressor(Gaussian(0.8), loss=Huber(0.2), tol=1e-10),
    SupportVectorRegressor(Gaussian(0.8), loss=Squared(), tol=1e-10),
    SupportVectorRegressor(ThinPlate(), loss=PolynomialLoss(1.5), tol=1e-10),
    SupportVectorRegressor(Gaussian(0.8), regularizer="l2", tol=1e-10),
    SupportVectorRegressor(Gaussian(0.8), regularizer="mixed", parametric="linear", tol=1e-10),
    NuSupportVectorRegressor(Gaussian(0.8), tol=1e-10),
]
CLASSIFIERS = [
    SupportVectorClassifier(Gaussian(0.8), tol=1e-10),
    SupportVectorClassifier(Gaussian(0.8), loss=SquaredHinge(), tol=1e-10),
    SupportVectorClassifier(ThinPlate(), loss=Logistic(), tol=1e-10),
]
every_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=repr)
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
every_machine = pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)


@pytest.fixture
def X():
    return rows(N)


@pytest.fixture
def y(X):
    return smooth_targets(X)


@pytest.fixture
def X_new():
    return rows(20, seed=7)


def targets(model, X):
    return labels(X) if isinstance(model, SupportVectorClassifier) else smooth_targets(X)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


# Weights -------------------------------------------------------------------------------------------------------------


@every_machine
def test_weight_zero_leaves_a_sample_out(model, X, X_new):
    y = targets(model, X)
    weight = np.ones(N)
    weight[10:] = np.arange(N - 10) % 3
    left_out = clone(model).fit(X, y, weight)
    without = clone(model).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    np.testing.assert_allclose(values(left_out, X_new), values(without, X_new), atol=1e-7)
    assert not set(left_out.support_) & set(np.flatnonzero(weight == 0))
    np.testing.assert_array_equal(left_out.support_, np.flatnonzero(weight)[without.support_])


@every_machine
def test_weight_two_doubles_a_sample(model, X, X_new):
    if model.regularizer == "l2":
        pytest.skip("two copies share their coefficient, which then costs half")
    y = targets(model, X)
    weight = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(N), weight.astype(int))
    weighted = clone(model).fit(X, y, weight)
    doubled = clone(model).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(values(weighted, X_new), values(doubled, X_new), atol=2e-4)


@every_machine
def test_weights_scale_c(model, X, X_new):
    y = targets(model, X)
    weighted = clone(model).fit(X, y, np.full(N, 3.0))
    scaled = clone(model).set_params(C=3.0).fit(X, y)
    np.testing.assert_allclose(values(weighted, X_new), values(scaled, X_new), atol=1e-6)


def test_losses_with_an_entry_for_each_sample_follow_the_weights(X, y, X_new):
    weight = (np.arange(N) % 4 > 0).astype(float)
    epsilon = np.linspace(0.0, 0.4, N)
    model = SupportVectorRegressor(Gaussian(0.8), loss=EpsilonInsensitive(epsilon), tol=1e-10)
    left_out = clone(model).fit(X, y, weight)
    kept = weight > 0
    without = model.set_params(loss=EpsilonInsensitive(epsilon[kept])).fit(X[kept], y[kept])
    np.testing.assert_allclose(left_out.predict(X_new), without.predict(X_new), atol=1e-7)


def test_matrices_with_a_row_for_each_sample_follow_the_weights(X, y, X_new):
    weight = (np.arange(N) % 4 > 0).astype(float)
    M, kept = positive_matrix(N), weight > 0
    left_out = SupportVectorRegressor(Gaussian(0.8), regularizer=L2Coefficients(M), tol=1e-10).fit(X, y, weight)
    regularizer = L2Coefficients(M[np.ix_(kept, kept)])
    without = SupportVectorRegressor(Gaussian(0.8), regularizer=regularizer, tol=1e-10).fit(X[kept], y[kept])
    np.testing.assert_allclose(left_out.predict(X_new), without.predict(X_new), atol=1e-7)


def test_c_of_each_sample_and_side(X, y, X_new):
    C = np.linspace(0.5, 2.0, N)
    by_c = SupportVectorRegressor(Gaussian(0.8), C=C, tol=1e-10).fit(X, y)
    by_weight = SupportVectorRegressor(Gaussian(0.8), tol=1e-10).fit(X, y, C)
    np.testing.assert_allclose(by_c.predict(X_new), by_weight.predict(X_new), atol=1e-7)
    sides = SupportVectorRegressor(Gaussian(0.8), loss=Laplace(), C=(0.2, 0.8), tol=1e-10).fit(X, y)
    quantile = SupportVectorRegressor(Gaussian(0.8), loss=Quantile(0.8), C=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(sides.predict(X_new), quantile.predict(X_new), atol=1e-3)


# Targets -------------------------------------------------------------------------------------------------------------


@every_regressor
def test_several_targets_equal_single_fits(model, X, X_new):
    Y = np.column_stack([smooth_targets(X), X[:, 0] ** 2, np.cos(X[:, 1])])
    together = clone(model).fit(X, Y)
    assert together.predict(X_new).shape == (20, 3)
    for j, column in enumerate(Y.T):
        alone = clone(model).fit(X, column)
        np.testing.assert_allclose(together.predict(X_new)[:, j], alone.predict(X_new), atol=1e-7)
        np.testing.assert_allclose(together.parametric_coef_[:, j], alone.parametric_coef_, atol=1e-6)
        np.testing.assert_allclose(together.intercept_[j], alone.intercept_, atol=1e-6)
        assert together.status_[j] == alone.status_ == "optimal"
        assert together.n_iter_[j] == alone.n_iter_
        assert len(together.history_[j]) == len(alone.history_)
        if hasattr(alone, "epsilon_"):
            np.testing.assert_allclose(together.epsilon_[j], alone.epsilon_, atol=1e-6)
    one_column = clone(model).fit(X, Y[:, :1])
    assert one_column.predict(X_new).shape == (20, 1)


def test_ridge_with_several_targets_shares_the_penalty(X, X_new):
    Y = np.column_stack([smooth_targets(X), X[:, 0] ** 2])
    model = KernelRidge(Gaussian(0.8)).fit(X, Y)
    for j in range(2):
        alone = KernelRidge(Gaussian(0.8), penalties=model.penalty_).fit(X, Y[:, j])
        np.testing.assert_allclose(model.predict(X_new)[:, j], alone.predict(X_new), atol=1e-8)
        np.testing.assert_allclose(model.intercept_[j], alone.intercept_, atol=1e-8)
    separate = [KernelRidge(Gaussian(0.8), penalties=model.penalties_).fit(X, Y[:, j]) for j in range(2)]
    mean_square = sum(m.leave_one_out_error_**2 for m in separate) / 2
    np.testing.assert_allclose(model.leave_one_out_error_, np.sqrt(mean_square), rtol=1e-9)


@every_regressor
def test_constant_targets(model, X):
    fitted = clone(model).set_params(tol=1e-6).fit(X, np.full(N, 3.0))
    assert fitted.status_ == "optimal"
    np.testing.assert_allclose(fitted.predict(X), 3.0, atol=0.11)


@pytest.mark.parametrize("value", [0.0, -2.5, 1e6])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Laplace(), Squared(), Huber(), Quantile(0.9)], ids=repr)
def test_constant_targets_and_every_kind_of_loss(value, loss, X, X_new):
    tol = 1e-8 * max(1.0, abs(value))  # the gap is measured in units of the primal value, which is zero, plus one
    model = SupportVectorRegressor(Gaussian(0.8), loss=loss, tol=tol).fit(X, np.full(N, value))
    assert model.status_ == "optimal"
    np.testing.assert_allclose(model.predict(X_new), value, atol=0.11)


# The parametric part -------------------------------------------------------------------------------------------------


def test_parametric_none(X, y, X_new):
    model = SupportVectorRegressor(Gaussian(0.8), parametric=None, loss=Huber(0.2), tol=1e-10).fit(X, y)
    assert model.intercept_ == 0.0
    assert model.parametric_coef_.shape == (0,)
    far = model.predict(np.array([[1e3, 1e3]]))
    np.testing.assert_allclose(far, 0.0, atol=1e-12)


def test_parametric_constant(X, y):
    model = SupportVectorRegressor(Gaussian(0.8), loss=Huber(0.2), tol=1e-10).fit(X, y)
    assert model.parametric_coef_ == [model.intercept_]
    np.testing.assert_allclose(model.predict(np.array([[1e3, 1e3]])), model.intercept_)
    np.testing.assert_allclose(model.dual_coef_.sum(), 0.0, atol=1e-8)


def test_parametric_linear(X, y):
    trend = 100.0 * X[:, 0] - 30.0 * X[:, 1] + 7.0
    model = SupportVectorRegressor(Gaussian(0.8), loss=Huber(0.2), parametric="linear", tol=1e-11)
    with_trend, without = clone(model).fit(X, y + trend), clone(model).fit(X, y)
    np.testing.assert_allclose(with_trend.predict(X) - trend, without.predict(X), atol=1e-3)
    np.testing.assert_allclose(with_trend.parametric_coef_ - without.parametric_coef_, [7.0, 100.0, -30.0], atol=1e-2)
    assert with_trend.intercept_ == with_trend.parametric_coef_[0]


def test_parametric_functions(X, y):
    def wave(X):
        return np.sin(5 * X[:, 0])

    for items, columns in [
        ([wave], [wave(X)]),
        (["constant", wave], [np.ones(N), wave(X)]),
        ([wave, "constant"], [wave(X), np.ones(N)]),
        (("linear", wave), [X[:, 0], X[:, 1], wave(X)]),
        ([], []),
    ]:
        model = SupportVectorRegressor(Gaussian(0.8), loss=Huber(0.2), parametric=items, tol=1e-10).fit(X, y)
        assert model.parametric_coef_.shape == (len(columns),)
        for column in columns:
            size = np.abs(column[model.support_] * model.dual_coef_).sum()
            np.testing.assert_allclose(column[model.support_] @ model.dual_coef_, 0.0, atol=1e-8 * size)
        constant = [k for k, column in enumerate(columns) if np.all(column == 1)]
        assert model.intercept_ == (model.parametric_coef_[constant[0]] if constant else 0.0)


def test_kernels_bring_their_polynomials(X, y):
    for kernel, n_columns in ((Multiquadric(), 1), (ThinPlate(), 3)):
        models = [SupportVectorRegressor(kernel, loss=Squared(), parametric=p).fit(X, y) for p in (None, "constant")]
        for model in models:
            assert model.parametric_coef_.shape == (n_columns,)
            assert model.intercept_ == model.parametric_coef_[0]
        np.testing.assert_allclose(models[0].predict(X), models[1].predict(X))
    both = SupportVectorRegressor(ThinPlate(), loss=Squared(), parametric="linear").fit(X, y)
    np.testing.assert_allclose(both.predict(X), models[0].predict(X), atol=1e-9)


def test_mixed_makes_the_parametric_part_sparse(X, y):
    rng = np.random.default_rng(0)
    waves = [lambda X, f=f: np.sin(f * X[:, 0]) for f in rng.uniform(1, 9, size=8)]
    model = SupportVectorRegressor(
        Gaussian(0.8), loss=Huber(0.2), regularizer=Mixed([0.0, *[5.0] * 8]), parametric=["constant", *waves], tol=1e-10
    ).fit(X, y)
    free = SupportVectorRegressor(
        Gaussian(0.8), loss=Huber(0.2), regularizer=Mixed(0.0), parametric=["constant", *waves], tol=1e-10
    ).fit(X, y)
    assert np.sum(np.abs(model.parametric_coef_) > 1e-6) < 6
    assert np.sum(np.abs(free.parametric_coef_) > 1e-6) == 9


# Rows of many kinds --------------------------------------------------------------------------------------------------


def test_strings():
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(40)]
    y = np.array([s.count("A") for s in strings], dtype=float)
    classes = np.where(y > 2, "many", "few")
    model = SupportVectorRegressor(WeightedDegree(3), C=10.0).fit(strings[:30], y[:30])
    assert model.predict(strings[30:]).shape == (10,)
    same = SupportVectorRegressor(WeightedDegree(3), C=10.0).fit(np.array(strings[:30]), y[:30])
    np.testing.assert_allclose(same.predict(strings[30:]), model.predict(strings[30:]))
    classifier = SupportVectorClassifier(WeightedDegree(3)).fit(strings, classes)
    assert set(classifier.predict(strings)) <= {"many", "few"}
    weighted = SupportVectorRegressor(WeightedDegree(3)).fit(strings, y, (np.arange(40) % 2).astype(float))
    assert np.all(weighted.support_ % 2 == 1)


@every_machine
def test_precomputed(model, X, X_new):
    kernel, y = model.kernel, targets(model, X)
    if kernel.order:
        pytest.skip("a matrix does not know its polynomials")
    if model.parametric == "linear":
        pytest.skip("rows of a matrix are no coordinates")
    weight = (np.arange(N) % 5 > 0).astype(float)
    for w in (None, weight):
        direct = clone(model).fit(X, y, w)
        given = clone(model).set_params(kernel=Precomputed()).fit(kernel(X), y, w)
        np.testing.assert_allclose(values(given, kernel(X_new, X)), values(direct, X_new), atol=1e-7)
        np.testing.assert_array_equal(given.support_, direct.support_)


def test_precomputed_in_cross_validation(X, y):
    """scikit-learn cuts rows and columns of a pairwise matrix."""
    direct = cross_val_score(SupportVectorRegressor(Gaussian(0.8), tol=1e-9), X, y, cv=3)
    given = cross_val_score(SupportVectorRegressor(Precomputed(), tol=1e-9), Gaussian(0.8)(X), y, cv=3)
    np.testing.assert_allclose(given, direct, atol=1e-6)
    ridge = cross_val_score(KernelRidge(Precomputed(), penalties=0.1), Gaussian(0.8)(X), y, cv=3)
    np.testing.assert_allclose(ridge, cross_val_score(KernelRidge(Gaussian(0.8), penalties=0.1), X, y, cv=3), atol=1e-8)


def test_frames_with_names(X, y, X_new):
    kernel = Gaussian(0.8).on(["a"]) + Linear().on(["b"])
    expected = SupportVectorRegressor(Gaussian(0.8).on([0]) + Linear().on([1]), tol=1e-9).fit(X, y).predict(X_new)
    for frame in (pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)):
        model = SupportVectorRegressor(kernel, tol=1e-9).fit(frame(X, columns=["a", "b"]), y)
        np.testing.assert_allclose(model.predict(frame(X_new, columns=["a", "b"])), expected, atol=1e-7)
        np.testing.assert_allclose(model.predict(frame(X_new[:, ::-1], columns=["b", "a"])), expected, atol=1e-7)
        weight = (np.arange(N) % 2).astype(float)
        assert np.all(clone(model).fit(frame(X, columns=["a", "b"]), y, weight).support_ % 2 == 1)


def test_frames_without_names_in_the_kernel(X, y, X_new):
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = SupportVectorRegressor(Gaussian(0.8)).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b"])
    expected = SupportVectorRegressor(Gaussian(0.8)).fit(X, y).predict(X_new)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X_new, columns=["a", "b"])), expected)


@pytest.mark.parametrize("kernel", [None, Gaussian(0.8), Linear()], ids=repr)
def test_sparse_rows(kernel, X, y, X_new):
    X = X * (rows(N, seed=9) > 0)
    for parametric in ("constant", "linear"):
        model = SupportVectorRegressor(kernel, parametric=parametric, loss=Huber(0.2), tol=1e-10)
        dense = clone(model).fit(X, y)
        for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
            thin = clone(model).fit(form(X), y)
            np.testing.assert_allclose(thin.predict(form(X_new)), dense.predict(X_new), atol=1e-6)
            np.testing.assert_allclose(thin.predict(X_new), dense.predict(X_new), atol=1e-6)


@every_machine
def test_float32(model, X, X_new):
    y = targets(model, X)
    single = clone(model).fit(X.astype(np.float32), y.astype(np.float32))
    double = clone(model).fit(X.astype(np.float32).astype(np.float64), y)
    assert single.status_ == "optimal"
    np.testing.assert_allclose(values(single, X_new.astype(np.float32)), values(double, X_new), atol=2e-3)


def test_lists(X, y):
    expected = SupportVectorRegressor(Gaussian(0.8)).fit(X, y).predict(X)
    np.testing.assert_allclose(SupportVectorRegressor(Gaussian(0.8)).fit(X.tolist(), y.tolist()).predict(X), expected)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_samples(n):
    X, y = rows(n), np.arange(n) - 0.5
    assert np.isfinite(SupportVectorRegressor(Gaussian(2.0)).fit(X, y).predict(X)).all()
    assert np.isfinite(NuSupportVectorRegressor(Gaussian(2.0)).fit(X, y).predict(X)).all()
    assert np.isfinite(KernelRidge(Gaussian(2.0)).fit(X, y).predict(X)).all()
    np.testing.assert_array_equal(SupportVectorClassifier(Gaussian(0.5), C=100.0).fit(X, y > 0).predict(X), y > 0)


# Low rank ------------------------------------------------------------------------------------------------------------


@every_machine
def test_low_rank(model, X, X_new):
    y = targets(model, X)
    if model.kernel.order or model.regularizer == "l2":
        return
    full = clone(model).fit(X, y)
    thin = clone(model).set_params(low_rank_tol=1e-10).fit(X, y)
    np.testing.assert_allclose(values(thin, X_new), values(full, X_new), atol=1e-3)
    coarse = clone(model).set_params(low_rank_tol=1e-2, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="gap"):
        coarse.fit(X, y)
    assert coarse.gap_ > 1e-6
    assert len(coarse.support_) < N


@pytest.mark.parametrize("regularizer", ["l1", "l2"])
def test_low_rank_refuses_norms_of_coefficients(regularizer, X, y):
    with pytest.raises(
        ValueError, match="needs the whole Gram matrix, got a low-rank factor; choose 'rkhs' or 'mixed'"
    ):
        SupportVectorRegressor(Gaussian(0.8), regularizer=regularizer, low_rank_tol=1e-6).fit(X, y)


# Regularizers --------------------------------------------------------------------------------------------------------


def test_l1_is_sparse_and_takes_any_kernel(X, y):
    model = SupportVectorRegressor(Gaussian(0.8), regularizer="l1", C=10.0, tol=1e-9).fit(X, y)
    assert model.solver_ == "linear_program"
    assert 0 < len(model.support_) < N
    slow = SupportVectorRegressor(Gaussian(0.8), regularizer="l1", C=10.0, solver="interior_point", tol=1e-9).fit(X, y)
    assert slow.solver_ == "interior_point"
    np.testing.assert_allclose(np.abs(slow.dual_coef_).sum(), np.abs(model.dual_coef_).sum(), rtol=1e-2)
    K = np.sin(3 * X[:, [0]] + 3 * X[:, 0])
    assert np.linalg.eigvalsh(K)[0] < -1
    for regularizer in ("l1", "l2"):
        given = SupportVectorRegressor(Precomputed(), regularizer=regularizer, C=10.0, loss=Huber(0.2)).fit(K, y)
        assert given.status_ == "optimal"


def test_regularizer_by_object_and_name(X, y):
    names = SupportVectorRegressor(Gaussian(0.8), regularizer="l2", tol=1e-9).fit(X, y)
    matrix = SupportVectorRegressor(Gaussian(0.8), regularizer=L2Coefficients(np.eye(N)), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(names.predict(X), matrix.predict(X), atol=1e-6)


# Classes -------------------------------------------------------------------------------------------------------------


@every_classifier
def test_several_classes(model):
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    X = StandardScaler().fit_transform(X)
    fitted = clone(model).set_params(tol=1e-6).fit(X, names)
    np.testing.assert_array_equal(fitted.classes_, ["setosa", "versicolor", "virginica"])
    assert fitted.decision_function(X).shape == (75, 3)
    assert fitted.score(X, names) > 0.95
    assert fitted.status_ == ["optimal"] * 3
    for k, name in enumerate(fitted.classes_):
        one = clone(model).set_params(tol=1e-6).fit(X, names == name)
        np.testing.assert_allclose(fitted.decision_function(X)[:, k], one.decision_function(X), atol=1e-2)
    pairs = OneVsOneClassifier(clone(model).set_params(tol=1e-4)).fit(X, names)
    assert pairs.score(X, names) > 0.95


@every_classifier
def test_decision_function_decides(model, X):
    y = labels(X)
    fitted = clone(model).fit(X, np.where(y > 0, "yes", "no"))
    np.testing.assert_array_equal(fitted.classes_, ["no", "yes"])
    decisions = fitted.decision_function(X)
    assert decisions.shape == (N,)
    np.testing.assert_array_equal(fitted.predict(X) == "yes", decisions > 0)
    flipped = clone(model).fit(X, np.where(y > 0, "a", "b"))
    np.testing.assert_allclose(flipped.decision_function(X), -decisions, atol=1e-5)


@every_classifier
def test_probabilities_through_scikit_learn(model):
    X, y = make_moons(80, noise=0.2, random_state=0)
    calibrated = CalibratedClassifierCV(clone(model).set_params(tol=1e-4), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.8
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


# Tools of scikit-learn -----------------------------------------------------------------------------------------------


def test_grid_search_over_the_kernel(X, y):
    grid = {"kernel__width": [0.1, 0.8, 20.0], "C": [0.1, 10.0], "loss__epsilon": [0.0, 0.1]}
    search = GridSearchCV(SupportVectorRegressor(Gaussian(), loss=EpsilonInsensitive()), grid, cv=3).fit(X, y)
    assert search.best_params_["kernel__width"] == 0.8
    classifier = GridSearchCV(SupportVectorClassifier(Gaussian()), {"kernel__width": [0.3, 1.0]}, cv=3)
    assert classifier.fit(X, labels(X)).best_score_ > 0.5


def test_pipeline(X, y):
    model = make_pipeline(StandardScaler(), SupportVectorRegressor()).fit(X * [1e6, 1e-6], y)
    expected = make_pipeline(StandardScaler(), SupportVectorRegressor()).fit(X, y)
    np.testing.assert_allclose(model.predict(X * [1e6, 1e-6]), expected.predict(X), atol=1e-6)


@every_machine
def test_clone_and_pickle(model, X, X_new):
    y = targets(model, X)
    fitted = clone(model).fit(X, y)
    expected = values(fitted, X_new)
    np.testing.assert_array_equal(values(pickle.loads(pickle.dumps(fitted)), X_new), expected)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X_new)
    np.testing.assert_array_equal(values(clone(fitted).fit(X, y), X_new), expected)


@every_machine
def test_fit_reports_what_it_did(model, X):
    fitted = clone(model).fit(X, targets(model, X))
    assert fitted.status_ == "optimal"
    assert -1e-9 <= fitted.gap_ <= max(fitted.tol, 1e-9)
    assert len(fitted.history_) >= 1
    assert fitted.n_iter_ >= 1 or fitted.solver_ != "least_squares"
    assert repr(fitted.kernel_) == repr(fitted.kernel)
    assert fitted.support_.dtype.kind == "i"
    assert len(fitted.dual_coef_) == len(fitted.support_)


@every_machine
def test_a_kernel_that_changes_later_does_not_change_the_fit(model, X):
    fitted = clone(model).set_params(kernel=Gaussian(0.7)).fit(X, targets(model, X))
    before = values(fitted, X)
    fitted.set_params(kernel__width=3.0)
    np.testing.assert_array_equal(values(fitted, X), before)


def test_default_kernel_is_scaled_to_the_data(X, y):
    model = SupportVectorRegressor().fit(X, y)
    assert model.kernel is None
    assert isinstance(model.kernel_, Gaussian)
    wide = SupportVectorRegressor().fit(1000 * X, y)
    np.testing.assert_allclose(wide.predict(1000 * X), model.predict(X), atol=1e-6)


# Iterations ----------------------------------------------------------------------------------------------------------


def test_one_iteration_warns(X, y):
    with pytest.warns(ConvergenceWarning, match=r"SupportVectorRegressor ended as 'max_iter'; scale .* raise max_iter"):
        model = SupportVectorRegressor(Gaussian(0.8), max_iter=1, tol=1e-8).fit(X, y)
    assert model.status_ == "max_iter"
    assert model.gap_ > 1e-8
    assert np.isfinite(model.predict(X)).all()
    with pytest.warns(ConvergenceWarning, match=r"SupportVectorClassifier ended as 'max_iter'"):
        SupportVectorClassifier(Gaussian(0.8), max_iter=1, tol=1e-8).fit(X, labels(X))


def test_interruption_warns_and_can_be_taken_up(X, y, monkeypatch):
    from mercer.solvers.interior_point import method

    n_calls = []

    def interrupted(*args, **options):
        n_calls.append(1)
        if len(n_calls) == 3:
            raise KeyboardInterrupt
        return iterate(*args, **options)

    iterate = method._iterate
    monkeypatch.setattr(method, "_iterate", interrupted)
    model = SupportVectorRegressor(Gaussian(0.8), loss=Huber(0.2), tol=1e-9, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="was interrupted; set warm_start=True and call fit again to go on"):
        model.fit(X, y)
    assert model.status_ == "interrupted"
    assert model.fit(X, y).status_ == "optimal"


@every_machine
def test_callbacks_are_told_of_each_iteration_and_may_end_the_fit(model, X):
    y, told = targets(model, X), []

    def listen(iteration, values):
        told.append((iteration, values.primal, values.dual, values.gap))

    model = clone(model).set_params(solver="interior_point", callback=listen).fit(X, y)
    assert [iteration for iteration, *_ in told] == list(range(len(told)))
    assert len(told) in (model.n_iter_, model.n_iter_ + 1)
    history = [(entry.primal, entry.dual, entry.gap) for entry in model.history_]
    assert [entry[1:] for entry in told[:-1]] == history[: len(told) - 1]
    if model.n_iter_ == 0:
        return  # the start is the solution, as for squares
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model.set_params(callback=lambda iteration, values: True).fit(X, y)
    assert (model.status_, model.n_iter_) == ("interrupted", 0)


@pytest.mark.parametrize(
    ("loss", "solver"), [(Laplace(), "smo"), (Huber(), "working_set"), (Squared(), "conjugate_gradients")]
)
def test_every_solver_tells_callbacks(loss, solver, X, y):
    told = []
    model = SupportVectorRegressor(
        Gaussian(0.8), loss=loss, solver=solver, tol=1e-8, callback=lambda *_: told.append(_)
    )
    assert model.fit(X, y).status_ == "optimal"
    assert len(told) == model.n_iter_ > 0
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model.set_params(callback=lambda iteration, values: True).fit(X, y)
    assert (model.status_, model.n_iter_) == ("interrupted", 0)


def test_a_fit_of_several_machines_that_is_ended_begins_no_other(X, monkeypatch):
    from mercer.solvers.interior_point import method

    begun = []

    def interrupted(*args, **options):
        begun.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(method, "_iterate", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = SupportVectorClassifier(Gaussian(0.8), solver="interior_point").fit(X, np.arange(len(X)) % 3)
    assert model.status_ == ["interrupted"] * 3
    assert len(begun) == 1


@every_machine
def test_warm_start(model, X, X_new):
    y = targets(model, X)
    warm = clone(model).set_params(warm_start=True, solver="interior_point").fit(X, y)
    n_iter = warm.n_iter_
    again = warm.fit(X, y)
    assert again.status_ == "optimal"
    assert again.n_iter_ <= n_iter
    moved = warm.set_params(C=1.5).fit(X, y)
    cold = clone(model).set_params(C=1.5).fit(X, y)
    np.testing.assert_allclose(values(moved, X_new), values(cold, X_new), atol=1e-4)


def test_warm_start_forgets_what_does_not_fit(X, y, X_new):
    """Another number of rows, targets, parametric columns, or another regularizer."""
    model = SupportVectorRegressor(Gaussian(0.8), loss=Huber(0.2), tol=1e-10, warm_start=True).fit(X, y)
    for change in ({}, {"parametric": "linear"}, {"parametric": None}, {"regularizer": "l1"}, {"kernel": ThinPlate()}):
        model.set_params(**change).fit(X, y)
        cold = clone(model).set_params(warm_start=False).fit(X, y)
        np.testing.assert_allclose(model.predict(X_new), cold.predict(X_new), atol=1e-4)
    model.fit(X[:30], y[:30])
    model.fit(X, np.column_stack([y, -y]))
    np.testing.assert_allclose(model.predict(X_new)[:, 0], -model.predict(X_new)[:, 1], atol=1e-4)


def test_verbose(X, y, capsys):
    SupportVectorRegressor(Gaussian(0.8), verbose=True).fit(X, y)
    assert "Interior point" in capsys.readouterr().err


@pytest.mark.parametrize("solver", ["interior_point", "least_squares"])
def test_solver_by_name(solver, X, y):
    model = SupportVectorRegressor(Gaussian(0.8), loss=Squared(), solver=solver, tol=1e-9).fit(X, y)
    assert model.solver_ == solver
    auto = SupportVectorRegressor(Gaussian(0.8), loss=Squared()).fit(X, y)
    assert auto.solver_ == "least_squares"
    np.testing.assert_allclose(model.predict(X), auto.predict(X), atol=1e-4)


# ν and bands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["normal", "laplace", "uniform"])
def test_nu_by_name(name, X, y):
    try:
        expected = optimal_nu(name)
    except ValueError:
        pytest.skip("the best ν is zero")
    if not 0 < expected <= 1:
        with pytest.raises(ValueError, match="nu of NuSupportVectorRegressor must be in"):
            NuSupportVectorRegressor(Gaussian(0.8), nu=name).fit(X, y)
        return
    model = NuSupportVectorRegressor(Gaussian(0.8), nu=name).fit(X, y)
    assert model.nu_ == expected


def test_nu_one_is_the_absolute_loss(X, y, X_new):
    nu = NuSupportVectorRegressor(Gaussian(0.8), nu=1.0, tol=1e-10).fit(X, y)
    absolute = SupportVectorRegressor(Gaussian(0.8), loss=Laplace(), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(nu.predict(X_new), absolute.predict(X_new), atol=1e-3)
    np.testing.assert_allclose(nu.epsilon_, 0.0, atol=1e-3)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_band_never_crosses_and_covers(coverage):
    X, y = make_sinc(120, noise=0.2, random_state=0)
    X_new, y_new = make_sinc(500, noise=0.2, random_state=1)
    band = QuantileBand(Gaussian(1.0), coverage=coverage).fit(X, y)
    lower, upper = band.predict_interval(X_new).T
    assert np.all(lower <= upper)
    inside = np.mean((lower <= y_new) & (y_new <= upper))
    assert coverage - 0.12 < inside < coverage + 0.12
    lower, upper = band.predict_interval(X).T
    assert abs(np.mean(y < lower) - (1 - coverage) / 2) < 0.06
    assert abs(np.mean(y > upper) - (1 - coverage) / 2) < 0.06


def test_band_that_crosses_is_rearranged():
    """Two interpolating machines on noise cross; the band does not."""
    X, y = make_sinc(40, noise=0.3, random_state=0)
    band = QuantileBand(Gaussian(0.3), coverage=0.02, C=100.0, tol=1e-6).fit(X, y)
    grid = np.linspace(-5, 5, 500)[:, None]
    raw = band.lower_.predict(grid), band.upper_.predict(grid)
    assert np.any(raw[0] > raw[1])
    interval = band.predict_interval(grid)
    np.testing.assert_array_equal(interval, np.sort(np.column_stack(raw), axis=1))
    assert band.n_crossings_ == np.sum(band.lower_.predict(X) > band.upper_.predict(X))


def test_band_takes_weights_frames_and_clone(X, y):
    frame = pd.DataFrame(X, columns=["a", "b"])
    weight = (np.arange(N) % 3 > 0).astype(float)
    band = QuantileBand(Gaussian(0.8), tol=1e-9).fit(frame, y, weight)
    np.testing.assert_array_equal(band.feature_names_in_, ["a", "b"])
    assert band.n_features_in_ == 2
    kept = weight > 0
    same = clone(band).fit(frame[kept], y[kept])
    np.testing.assert_allclose(band.predict_interval(frame), same.predict_interval(frame), atol=1e-5)
    copy = pickle.loads(pickle.dumps(band))
    np.testing.assert_array_equal(copy.predict_interval(frame), band.predict_interval(frame))
    with pytest.raises(NotFittedError):
        clone(band).predict_interval(frame)


def test_band_refuses_several_targets(X, y):
    with pytest.raises(ValueError, match="y"):
        QuantileBand(Gaussian(0.8)).fit(X, np.column_stack([y, y + 100]))
