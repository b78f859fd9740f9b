"""Machines that see their rows through a learned metric."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    KernelRidge,
    LearnedMetric,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    QuantileBand,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.kernels import Gaussian, Linear, Precomputed, WeightedDegree
from mercer.losses import Logistic

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=80)
LABELS = np.where(y > 0, "high", "low")
QUICK = LearnedMetric("Exponential", rotation="none")

REGRESSORS = [
    KernelRidge(metric="learned"),
    SupportVectorRegressor(metric=QUICK, C=100.0),
    NuSupportVectorRegressor(metric=QUICK, C=100.0),
]
CLASSIFIERS = [
    SupportVectorClassifier(metric=QUICK, C=100.0),
    NuSupportVectorClassifier(metric=QUICK, nu=0.1),
]


def named(machine):
    return type(machine).__name__


@pytest.mark.parametrize("machine", REGRESSORS + CLASSIFIERS, ids=named)
def test_the_certificate_holds_in_the_metric(machine):
    targets = LABELS if machine in CLASSIFIERS else y
    machine.fit(X, targets)
    assert machine.status_ == "optimal"
    assert machine.certificate(X, targets).holds(machine.tol)
    assert machine.score(X, targets) > 0.9
    assert type(machine.kernel_) is type(machine.metric_.kernel_)
    assert machine.support_vectors_.shape[1] == machine.metric_.components_.shape[1]
    np.testing.assert_array_equal(machine.support_vectors_, machine.metric_.transform(X[machine.support_]))


def test_the_machine_is_that_of_transformed_rows():
    machine = KernelRidge(metric=QUICK).fit(X, y)
    metric = LearnedMetric("Exponential", rotation="none").fit(X, y)
    plain = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(X), y)
    np.testing.assert_array_equal(machine.predict(X), plain.predict(metric.transform(X)))
    assert machine.penalty_ == metric.penalty_


def test_the_metric_is_worth_it():
    noisy = np.hstack([X, rng.normal(size=(80, 10))])
    learned, isotropic = (cross_val_score(KernelRidge(metric=m), noisy, y, cv=4).mean() for m in (QUICK, None))
    assert learned > isotropic + 0.1


def test_a_given_kernel_is_applied_to_transformed_rows():
    machine = KernelRidge(Gaussian(0.5), metric=QUICK).fit(X, y)
    assert machine.kernel_.width == 0.5
    assert len(machine.penalties_) > 1  # the penalty of another kernel is of no use
    given = KernelRidge(metric=QUICK, penalties=[0.1, 1.0]).fit(X, y)
    np.testing.assert_array_equal(given.penalties_, [0.1, 1.0])


def test_conjugate_gradients_take_the_penalty_of_the_metric():
    machine = KernelRidge(metric=QUICK, solver="conjugate_gradients").fit(X, y)
    assert machine.status_ == "optimal"
    assert machine.penalty_ == machine.metric_.penalty_


def test_a_path_shares_one_metric():
    path = SupportVectorRegressor(metric=QUICK).regularization_path(X, y, [1.0, 10.0])
    assert path[0].metric_ is path[1].metric_
    alone = SupportVectorRegressor(metric=QUICK, C=10.0).fit(X, y)
    np.testing.assert_allclose(path[1].predict(X), alone.predict(X), atol=1e-2)
    assert "_known_metric" not in vars(path[0])


def test_missing_values_and_reduction():
    holes = X.copy()
    holes[::7, 2] = np.nan
    machine = KernelRidge(metric=QUICK).fit(holes, y)
    assert machine.certificate(holes, y).holds(machine.tol)
    assert machine.reduce(0.01).score(holes, y) > 0.9
    with pytest.raises(ValueError, match="contains NaN"):
        KernelRidge().fit(holes, y)


def test_rows_without_a_weight_do_not_count_in_the_metric():
    weight = np.ones(80)
    weight[60:] = 0.0
    weighed = KernelRidge(metric=QUICK).fit(X, y, weight)
    np.testing.assert_array_equal(
        weighed.metric_.components_, LearnedMetric(**QUICK.get_params()).fit(X[:60], y[:60]).components_
    )


def test_probabilities_are_fitted_to_metrics_that_have_not_seen_the_fold(monkeypatch):
    """A metric that has seen the labels of a fold would make the probabilities too sure."""
    seen, fit = [], LearnedMetric.fit
    monkeypatch.setattr(LearnedMetric, "fit", lambda self, X, y: fit(self, X, seen.append(len(X)) or y))
    machine = SupportVectorClassifier(metric=QUICK, C=10.0, probability=True, random_state=0).fit(X, LABELS)
    assert seen == [80, 64, 64, 64, 64, 64]
    assert machine.predict_proba(X).shape == (80, 2)
    logistic = SupportVectorClassifier(metric=QUICK, loss=Logistic()).fit(X, LABELS)
    assert logistic.predict_proba(X).shape == (80, 2)


def test_bands_share_one_metric():
    band = QuantileBand(metric=QUICK, coverage=0.8).fit(X, y)
    assert band.lower_.metric_ is band.upper_.metric_ is band.metric_
    lower, upper = band.predict_interval(X).T
    assert 0.7 < np.mean((lower <= y) & (y <= upper)) <= 0.95
    assert not hasattr(QuantileBand().fit(X, y), "metric_")


def test_an_earlier_metric_is_forgotten():
    machine = KernelRidge(metric=QUICK).fit(X, y).set_params(metric=None).fit(X, y)
    assert not hasattr(machine, "metric_")
    np.testing.assert_array_equal(machine.predict(X), KernelRidge().fit(X, y).predict(X))


def test_survives_storage(tmp_path):
    machine = KernelRidge(metric=QUICK).fit(X, y)
    joblib.dump(machine, tmp_path / "machine")
    np.testing.assert_array_equal(joblib.load(tmp_path / "machine").predict(X), machine.predict(X))


@pytest.mark.parametrize("metric", ["euclidean", 3, LearnedMetric])
def test_refuses_other_metrics(metric):
    with pytest.raises(ValueError, match="metric of KernelRidge must be None, 'learned' or a LearnedMetric, got "):
        KernelRidge(metric=metric).fit(X, y)


@pytest.mark.parametrize("kernel", [Precomputed(), WeightedDegree(2)])
def test_refuses_kernels_on_other_things(kernel):
    with pytest.raises(ValueError, match="kernel of KernelRidge must take rows of numbers to have a learned metric"):
        KernelRidge(kernel, metric="learned").fit(X, y)


def test_refuses_sparse_rows_and_has_no_slopes():
    with pytest.raises(TypeError, match="Sparse data was passed"):
        KernelRidge(metric=QUICK).fit(sparse.csr_array(X), y)
    machine = KernelRidge(Linear(), metric=QUICK).fit(X, y)
    with pytest.raises(AttributeError, match="coef_ of KernelRidge needs the columns of X themselves, got a learned"):
        _ = machine.coef_


@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
@parametrize_with_checks(
    [KernelRidge(metric=QUICK)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "weights do not count in the metric, unless they are zero",
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)
