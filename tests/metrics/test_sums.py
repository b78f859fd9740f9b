"""Metrics of sums over sets of columns: each column has a share beside its weight."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelRidge, LearnedMetric
from mercer.kernels import Anova
from mercer.metrics.families import FAMILIES, families_named
from mercer.metrics.search import Search


def additive(n, noise=0.05, seed=0):
    """A sum of functions of four columns of six, of which two act together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 6))
    y = np.sin(7 * X[:, 0]) + np.cos(9 * X[:, 1]) + 4 * (X[:, 2] - 0.5) * (X[:, 3] - 0.5)
    return X, y + noise * rng.normal(size=n)


def search(X, y, families=FAMILIES):
    Z, Y = (X - X.mean(axis=0)) / X.std(axis=0), ((y - y.mean()) / y.std())[:, None]
    options = {"rotation": False, "rows": 1000, "refine_rows": 2000, "callback": None, "verbose": False}
    return Search(
        Z, Y, families=list(families), groups=np.arange(X.shape[1]), prior=1.0,
        random_state=np.random.RandomState(0), **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    X, y = additive(200)
    return LearnedMetric().fit(X, y), X, y


def test_sums_of_functions_of_few_columns_are_found(fitted):
    metric, X, y = fitted
    assert isinstance(metric.kernel_, Anova)
    assert "Anova with a weight and a share for each column" in metric.reason_
    X_new, y_new = additive(1000, noise=0.0, seed=1)
    errors = {}
    for learned in (metric, LearnedMetric("ProductLaplace").fit(X, y), LearnedMetric("Gaussian").fit(X, y)):
        model = KernelRidge(learned.kernel_, penalties=learned.penalty_).fit(learned.transform(X), y)
        errors[type(learned.kernel_).__name__] = np.mean((model.predict(learned.transform(X_new)) - y_new) ** 2)
    assert errors["Anova"] < 0.5 * min(errors["ProductLaplace"], errors["Gaussian"])


def test_importance_and_interactions_are_those_of_the_function(fitted):
    metric, X, _ = fitted
    assert metric.importance_[:4].min() > 3 * metric.importance_[4:].max()
    h, differences = 1e-6, []
    for step in h * np.diag(X.std(axis=0)):
        differences.append((metric._predict(X + step) - metric._predict(X - step)) / (2 * h))
    np.testing.assert_allclose(metric.importance_, np.sqrt(np.mean(np.square(differences), axis=(1, 2))), rtol=0.1)
    table = metric.interactions(X, n_columns=4)
    assert table[2, 3] > 5 * max(table[0, 1], table[0, 2], table[1, 3])


def test_the_error_without_a_row_is_that_of_fits_without_it():
    X, y = additive(40)
    metric = LearnedMetric("Anova").fit(X, y)
    A, target = metric.transform(X), (y - y.mean()) / y.std()
    errors = []
    for i in range(40):
        rest = np.arange(40) != i
        model = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(A[rest], target[rest])
        errors.append(model.predict(A[[i]])[0] - target[i])
    assert metric.leave_one_out_error_ == pytest.approx(np.mean(np.square(errors)), rel=1e-6)


def test_a_sum_that_is_given_is_compared_with_equal_weights(fitted):
    _, X, y = fitted
    metric = LearnedMetric("Anova").fit(X, y)
    assert {(row.family, row.shape) for row in metric.table_} == {("Anova", "isotropic"), ("Anova", "diagonal")}
    again = pickle.loads(pickle.dumps(metric))
    np.testing.assert_array_equal(again.transform(X), metric.transform(X))
    assert again.leave_one_out_error_ == metric.leave_one_out_error_


def test_columns_of_a_group_share_one_share():
    rng = np.random.default_rng(0)
    levels = rng.integers(3, size=100)
    X = np.column_stack([np.eye(3)[levels], rng.normal(size=100)])
    y = np.array([0.0, 1.0, 3.0])[levels] + np.sin(X[:, 3]) + 0.1 * rng.normal(size=100)
    metric = LearnedMetric("Anova", groups=[[0, 1, 2]]).fit(X, y)
    for values in (metric.weights_, metric.kernel_.share):
        assert values[0] == values[1] == values[2] != values[3]


def test_missing_values_duplicates_constants_and_wide_tables_are_taken():
    X, y = additive(100)
    rng = np.random.default_rng(1)
    X[rng.random(100) < 0.2, 0] = np.nan
    told = np.column_stack([X, 2.54 * X[:, 1] + 7.0, np.ones(100)])
    metric = LearnedMetric("Anova").fit(told, y)
    assert metric.weights_[1] == pytest.approx(metric.weights_[6])
    assert metric.importance_[1] == metric.importance_[6]
    assert metric.weights_[7] == 0.0
    assert np.isfinite(metric.transform(told)).all()
    wide = np.hstack([additive(80)[0], rng.normal(size=(80, 220))])
    metric = LearnedMetric("Anova").fit(wide, 5 * additive(80)[1])
    assert len(np.ravel(metric.kernel_.share)) in (1, metric.components_.shape[1])
    KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(wide), y[:80])


@pytest.mark.parametrize("n", [2, 3, 12, 20])
@pytest.mark.parametrize("labels", [False, True])
def test_few_rows_and_labels(n, labels):
    X, y = additive(n)
    metric = LearnedMetric("Anova").fit(X, np.where(y > np.median(y), "high", "low") if labels else y)
    assert np.isfinite(metric.transform(X)).all()
    assert np.isfinite(metric.kernel_(metric.transform(X))).all()


def test_noise_has_equal_weights_and_shares():
    rng = np.random.default_rng(0)
    metric = LearnedMetric("Anova").fit(rng.normal(size=(120, 4)), rng.normal(size=120))
    assert np.ptp(metric.weights_) == np.ptp(metric.kernel_.share) == 0
    assert "Nothing found" in metric.reason_


@pytest.mark.parametrize("last", [6, 9, 30])
def test_interrupted_searches_leave_a_metric(last):
    X, y = additive(60)
    with pytest.warns(ConvergenceWarning, match="was interrupted; its metric is the best so far"):
        metric = LearnedMetric("Anova", callback=lambda i, _: i >= last + 1).fit(X, y)
    assert np.isfinite(metric.kernel_(metric.transform(X))).all()


def test_the_likelihood_of_all_rows_decides_where_folds_do_not():
    made = search(*additive(150))
    made.run()
    learner, X, Y = made._learner, made._X, made._Y
    best = made.choice.mean(("Exponential", "isotropic"))
    made.choice.scores["Exponential", "isotropic"] = made.choice.scores["Anova", "diagonal"]
    final = learner.refined(best, X, Y)
    found = made._likelier(best, final)
    assert (found.family.name, made.likelier) == ("Anova", True)
    assert made._likelier(made.choice.mean(("Gaussian", "isotropic")), final) is final  # nothing was clearly better
    losses = made.choice.scores["Exponential", "isotropic"][1]
    made.choice.scores["Anova", "diagonal"] = made.choice.candidates(("Anova", "diagonal")), losses + 1.0
    assert made._likelier(best, final) is final  # folds contradict


def test_the_likelihood_that_few_far_values_raise_decides_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.0, size=(300, 4))
    y = np.sin(np.clip(X[:, 0], -3, 3)) + 0.05 * rng.standard_t(1.5, size=300)
    made = search(X, y)
    made.run()
    best = made.choice.mean(("Gaussian", "diagonal"))
    final = made._learner.refined(best, made._X, made._Y)
    found = made._learner.weighted(made._learner.flat(families_named("Anova")[1], best.used), made._X, made._Y, 40)
    assert (final.value - found.value) * 300 > 10
    assert made._likelier(best, final) is final
