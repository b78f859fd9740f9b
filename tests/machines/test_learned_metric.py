"""Machines that see their rows through a learned metric."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
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
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Laplace, Logistic, Quantile, Squared
from mercer.metrics.tuning import TUNING

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=80)
LABELS = np.where(y > 0, "high", "low")
QUICK = LearnedMetric("Exponential", rotation="none")

REGRESSORS = [
    KernelRidge(metric="learned"),
    SupportVectorRegressor(metric=QUICK),
    NuSupportVectorRegressor(metric=QUICK),
]
CLASSIFIERS = [
    SupportVectorClassifier(metric=QUICK),
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


@pytest.mark.parametrize("family", ["Exponential", "ProductLaplace", "Gaussian", "Anova"])
def test_conjugate_gradients_converge_at_the_least_ridge(family):
    """Thousands of rows of a target without noise: the ridge of the metric goes down to its bound."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 4))
    y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2]
    metric = LearnedMetric(family, rows=300, refine_rows=300, rotation="none")
    machine = KernelRidge(metric=metric, penalties=TUNING.least_ridge, solver="conjugate_gradients").fit(X, y)
    assert machine.status_ == "optimal"
    assert machine.gap_ <= machine.tol
    assert machine.score(X, y) > 0.999


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


def friedman(n, seed):
    """Five columns that count, and five of noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize(
    "machine",
    [
        SupportVectorRegressor(metric=QUICK),
        SupportVectorRegressor(metric=QUICK, loss=Laplace()),
        NuSupportVectorRegressor(metric=QUICK),
    ],
    ids=["epsilon", "laplace", "nu"],
)
def test_machines_predict_as_well_as_kernel_ridge_regression(machine):
    (X, y), (X_new, y_new) = friedman(180, 0), friedman(1000, 1)
    ridge = KernelRidge(metric=QUICK).fit(X, y).score(X_new, y_new)
    assert ridge > 0.9
    assert machine.fit(X, y).score(X_new, y_new) > ridge - 0.01
    assert machine.certificate(X, y).holds(machine.tol)


def test_c_is_counted_in_units_of_the_metric():
    squared = SupportVectorRegressor(metric=QUICK, loss=Squared()).fit(X, y)
    assert squared.C_unit_ == pytest.approx(1 / squared.metric_.penalty_)
    np.testing.assert_allclose(squared.predict(X), KernelRidge(metric=QUICK).fit(X, y).predict(X), atol=1e-4)
    given = SupportVectorRegressor(metric=QUICK, C=3.0).fit(X, y)
    plain = SupportVectorRegressor(given.metric_.kernel_, C=3.0 * given.C_unit_).fit(given.metric_.transform(X), y)
    np.testing.assert_allclose(given.predict(X), plain.predict(given.metric_.transform(X)), atol=1e-6)
    assert plain.C_unit_ == 1.0
    assert SupportVectorRegressor(Gaussian(0.5), metric=QUICK).fit(X, y).C_unit_ == 1.0  # of another kernel
    assert SupportVectorRegressor(metric=QUICK).fit(X, np.ones(80)).C_unit_ == 1.0
    sides = SupportVectorRegressor(metric=QUICK, C=(3.0, np.full(80, 3.0))).fit(X, y)
    np.testing.assert_allclose(sides.predict(X), given.predict(X), atol=1e-6)


@pytest.mark.parametrize("loss", [Laplace(), Huber(0.1), EpsilonInsensitive(np.full(80, 0.5)), Quantile(0.2)], ids=str)
def test_residuals_of_the_size_of_the_noise_pull_as_hard_as_squares(loss):
    machine = SupportVectorRegressor(metric=QUICK, loss=loss).fit(X, y)
    metric, size = machine.metric_, np.sqrt(machine.metric_.noise_) * y.std()
    below, above = loss.insensitivity
    steepest = max(np.max(np.abs(loss.derivative(r))) for r in (-np.asarray(below) - size, np.asarray(above) + size))
    assert machine.C_unit_ * steepest == pytest.approx(size / metric.penalty_)


def test_units_of_the_target_do_not_matter():
    plain, scaled = (SupportVectorRegressor(metric=QUICK, loss=Laplace()).fit(X, s * y) for s in (1.0, 1e4))
    np.testing.assert_allclose(scaled.predict(X), 1e4 * plain.predict(X), rtol=1e-2, atol=20.0)


def test_classes_have_the_unit_of_the_hinge():
    machine = SupportVectorClassifier(metric=QUICK).fit(X, LABELS)
    noise = np.sqrt(machine.metric_.noise_) * np.where(LABELS == "low", 1.0, -1.0).std()
    assert machine.C_unit_ == pytest.approx(noise / machine.metric_.penalty_)
    nu = NuSupportVectorClassifier(metric=QUICK, nu=0.1, tol=1e-8).fit(X, LABELS)
    same = SupportVectorClassifier(metric=QUICK, C=1 / nu.rho_, loss=Hinge(), tol=1e-8).fit(X, LABELS)
    np.testing.assert_allclose(same.decision_function(X), nu.decision_function(X), atol=1e-3)


def test_bands_take_what_rows_do_not_tell_for_noise():
    (X, y), (X_new, y_new) = friedman(150, 0), friedman(1000, 1)
    shares, widths = [], []
    for calibrate in (False, True):
        band = QuantileBand(metric=QUICK, coverage=0.8, calibrate=calibrate, random_state=0).fit(X, y)
        low, high = band.predict_interval(X_new).T
        shares.append(np.mean((low <= y_new) & (y_new <= high)))
        widths.append(np.mean(high - low))
    assert 0.4 < shares[0] < 0.8 < shares[1] + 0.08 < 0.96
    plain = QuantileBand(coverage=0.8, calibrate=True, random_state=0).fit(X, y)
    assert widths[1] < 0.5 * np.diff(plain.predict_interval(X_new), axis=1).mean()
    metric = band.metric_
    size = np.sqrt(metric.leave_one_out_error_) * y.std()
    expected = size / (0.9 * metric.penalty_) * metric.noise_ / metric.leave_one_out_error_
    assert band.lower_.C_unit_ == band.upper_.C_unit_ == pytest.approx(expected)
    assert band.lower_.certificate(X, y).holds(1e-3)


class Ending:
    """A callback that returns True, or presses Ctrl-C, from a call on."""

    def __init__(self, first, presses=False):
        self.first, self.presses, self.n_calls, self.gaps = first, presses, 0, []

    def __call__(self, iteration, values):
        self.n_calls += 1
        self.gaps.append(getattr(values, "gap", None))
        if self.presses and self.n_calls == self.first:
            raise KeyboardInterrupt
        return not self.presses and self.n_calls >= self.first


@pytest.mark.filterwarnings("ignore:.*SupportVectorRegressor was interrupted")
@pytest.mark.parametrize("presses", [False, True])
@pytest.mark.parametrize(
    "kind", [KernelRidge, SupportVectorRegressor, NuSupportVectorRegressor], ids=lambda k: k.__name__
)
def test_an_interrupted_metric_interrupts_the_machine(kind, presses):
    callback = Ending(30, presses)
    with pytest.warns(ConvergenceWarning, match="LearnedMetric was interrupted"):
        machine = kind(metric=QUICK, callback=callback).fit(X, y)
    assert machine.status_ == machine.metric_.status_ == "interrupted"
    assert machine.metric_.n_iter_ == 30
    assert callback.gaps[0] == np.inf
    if presses:  # once: the machine is solved in the metric so far
        assert machine.score(X, y) > 0.8


def test_a_callback_that_ends_at_once_leaves_a_metric():
    with pytest.warns(ConvergenceWarning):
        machine = KernelRidge(metric=QUICK, callback=lambda *_: True).fit(X, y)
    assert machine.metric_.n_iter_ == 7  # six scales, and one step from the best of them
    assert machine.score(X, y) > 0.5


def test_callbacks_of_the_metric_are_called_too():
    seen, of_machine = [], Ending(10**6)
    metric = LearnedMetric("Exponential", rotation="none", callback=lambda *step: seen.append(step) or len(seen) == 20)
    with pytest.warns(ConvergenceWarning):
        machine = KernelRidge(metric=metric, callback=of_machine).fit(X, y)
    assert len(seen) == of_machine.n_calls == machine.metric_.n_iter_ == 20
    assert machine.metric is metric
    assert machine.metric_.callback is metric.callback


@pytest.mark.filterwarnings("ignore:LearnedMetric was interrupted")
def test_ctrl_c_in_the_metric_ends_probabilities_and_paths():
    with pytest.warns(ConvergenceWarning, match="interrupted before its probabilities were fitted"):
        machine = SupportVectorClassifier(metric=QUICK, probability=True, callback=Ending(30, True)).fit(X, LABELS)
    assert machine.calibration_ is None
    path = SupportVectorRegressor(metric=QUICK, callback=Ending(30, True)).regularization_path(X, y, [1.0, 2.0])
    assert len(path) == 1


@pytest.mark.parametrize("presses", [False, True])
@pytest.mark.parametrize("calibrate", [False, True])
def test_ctrl_c_in_the_metric_of_a_band_is_raised_at_once(presses, calibrate):
    callback = Ending(30, presses)
    with pytest.warns(ConvergenceWarning, match="LearnedMetric was interrupted"), pytest.raises(KeyboardInterrupt):
        QuantileBand(metric=QUICK, calibrate=calibrate, callback=callback).fit(X, y)
    assert callback.n_calls == 30


def test_kernel_ridge_regression_tells_of_conjugate_gradients():
    calls = []
    options = {"solver": "conjugate_gradients", "penalties": [1e-3, 1e-2]}
    KernelRidge(Gaussian(1.0), callback=lambda iteration, values: calls.append(iteration), **options).fit(X, y)
    assert calls.count(0) == 3  # both penalties, and all rows
    with pytest.warns(ConvergenceWarning):
        ended = KernelRidge(Gaussian(1.0), callback=lambda *_: True, **options).fit(X, y)
    assert ended.status_ == "interrupted"
    with pytest.raises(TypeError, match="callback of KernelRidge must be callable"):
        KernelRidge(callback=3).fit(X, y)


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
