"""The table of all statements on a machine, and xi-alpha."""

import numpy as np
import pytest

from mercer import KernelRidge, NuSupportVectorClassifier, OneClassMachine, SupportVectorClassifier
from mercer import SupportVectorRegressor as Regressor
from mercer.capacity import leave_one_out, risk_bounds, xi_alpha
from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import Logistic, SquaredHinge
from tests.capacity.test_leave_one_out import sunflower
from tests.contracts.all_problems import labels, rows, smooth_targets

KERNEL, X = Gaussian(0.8), rows(80)
Y, LABELS = smooth_targets(X), labels(X)


@pytest.mark.parametrize(
    ("n", "k", "width", "C", "norm2", "offset", "n_support", "n_wrong", "xi"),
    [(40, 7, 1.0, 1.0, 7.059555, 0.149663, 27, 7, 22), (60, 5, 0.7, 10.0, 62.881192, 0.453957, 29, 4, 28)],
)
def test_numbers_of_the_sunflower(n, k, width, C, norm2, offset, n_support, n_wrong, xi):
    X, y = sunflower(n, k)
    machine = SupportVectorClassifier(Gaussian(width), C=C, tol=1e-9).fit(X, y)
    assert machine.norm_**2 == pytest.approx(norm2, rel=1e-6)
    assert machine.intercept_ == pytest.approx(offset, abs=1e-6)
    assert n * xi_alpha(machine, X, y) == pytest.approx(xi)
    bounds = risk_bounds(machine, X, y)
    assert n * bounds["training rows"].value == pytest.approx(n_wrong)
    assert f"{n_support} support vectors" in bounds["compression"].note
    compression = {40: 0.899707, 60: 0.775925}[n]
    assert bounds["compression"].value == pytest.approx(compression, rel=1e-6)
    assert bounds["compression"].vacuous


def test_table_of_two_classes():
    machine = SupportVectorClassifier(KERNEL).fit(X[:60], LABELS[:60])
    bounds = risk_bounds(machine, X[:60], LABELS[:60], held_out=(X[60:], LABELS[60:]))
    names = [bound.name for bound in bounds]
    assert names == [
        "training rows", "leave-one-out", "xi-alpha", "held-out rows", "compression", "PAC-Bayes", "Rademacher",
        "covering numbers",
    ]  # fmt: skip
    assert bounds.best_guarantee.name == "held-out rows"
    assert bounds.best_estimate.name == "leave-one-out"
    assert len(bounds) == 8
    assert bounds.missing == {}
    lines = str(bounds).splitlines()
    assert "0.95" in lines[0]
    assert sum("vacuous" in line for line in lines) == sum(bound.vacuous for bound in bounds) >= 3
    assert lines[-1].startswith("best constant")
    for bound in bounds:
        assert bounds["training rows"].value <= bound.value + 1e-12 or bound.kind == "estimate"
        assert 0.0 <= bound.value <= 1.0
        assert bound.vacuous == (bound.value >= bounds.constant)


def test_much_data_with_a_margin_is_promised_something():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1500) < 0.5, 1, -1)
    rows = y[:, None] * [1.0, 0.0] + 0.15 * rng.normal(size=(1500, 2))
    machine = SupportVectorClassifier(Gaussian(2.0), C=1.0).fit(rows, y)
    bounds = risk_bounds(machine, rows, y)
    for name in ("compression", "PAC-Bayes", "Rademacher"):
        assert not bounds[name].vacuous, name
    assert bounds.best_guarantee.value < 0.1


def test_more_trials_and_more_confidence_cost_something():
    machine = SupportVectorClassifier(KERNEL).fit(X, LABELS)
    plain, tried, sure = (
        risk_bounds(machine, X, LABELS, **options) for options in ({}, {"n_tried": 20}, {"delta": 0.001})
    )
    assert plain["compression"].value < tried["compression"].value
    assert plain["compression"].value < sure["compression"].value
    assert plain["leave-one-out"].value == tried["leave-one-out"].value


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=str)
def test_other_losses_of_classes(loss):
    machine = SupportVectorClassifier(KERNEL, loss=loss).fit(X, LABELS)
    bounds = risk_bounds(machine, X, LABELS)
    assert "xi-alpha" not in [bound.name for bound in bounds]
    assert bounds["covering numbers"].value == 1.0
    with pytest.raises(ValueError, match="machine of xi_alpha must be a classifier with the hinge loss"):
        xi_alpha(machine, X, LABELS)


def test_several_classes_share_the_probability():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    machine = SupportVectorClassifier(KERNEL).fit(X, y)
    bounds = risk_bounds(machine, X, y)
    assert bounds["leave-one-out"].value == leave_one_out(machine, X, y).error
    assert bounds["xi-alpha"].value >= leave_one_out(machine, X, y, method="path").error
    assert "summed over the classes" in bounds["PAC-Bayes"].note


@pytest.mark.parametrize("machine", [Regressor(KERNEL), KernelRidge(KERNEL)], ids=str)
def test_table_of_numbers(machine):
    machine.fit(X, Y)
    new = rows(400, seed=5)
    bounds = risk_bounds(machine, X, Y, held_out=(new, smooth_targets(new, seed=6)))
    assert bounds.unit == "mean absolute error"
    left_out = np.abs(Y - leave_one_out(machine, X, Y).predictions).mean()
    assert bounds["leave-one-out"].value == pytest.approx(left_out)
    assert all(bound.value <= np.ptp(Y) for bound in bounds)
    assert bounds["Rademacher"].vacuous
    assert bounds["covering numbers"].vacuous
    assert "clipped" in bounds["held-out rows"].note


def test_xi_alpha_is_no_less_than_leave_one_out():
    for seed in range(5):
        X = rows(50, seed=seed)
        y = labels(X, seed=seed)
        machine = SupportVectorClassifier(KERNEL, C=3.0, solver="smo").fit(X, y)
        assert xi_alpha(machine, X, y) >= leave_one_out(machine, X, y, method="path").error
        low = SupportVectorClassifier(KERNEL, C=3.0, low_rank_tol=1e-9).fit(X, y)
        assert xi_alpha(low, X, y) == pytest.approx(xi_alpha(machine, X, y), abs=0.03)


@pytest.mark.slow
def test_guarantees_of_machines_hold_in_simulation():
    rng, delta, n_draws = np.random.default_rng(1), 0.1, 1000

    def drawn(n):
        y = np.where(rng.random(n) < 0.5, 1, -1)
        return y[:, None] * [0.8, 0.0] + 0.5 * rng.normal(size=(n, 2)), y

    test_rows, test_labels = drawn(5000)
    violated = dict.fromkeys(("held-out rows", "compression", "PAC-Bayes", "Rademacher", "covering numbers"), 0)
    for _ in range(n_draws):
        X, y = drawn(60)
        machine = SupportVectorClassifier(Gaussian(2.0), C=0.5).fit(X, y)
        error = np.mean(machine.predict(test_rows) != test_labels)
        bounds = risk_bounds(machine, X, y, delta=delta, held_out=drawn(40))
        for name in violated:
            violated[name] += bounds[name].value < error
    allowed = delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n_draws)
    assert all(count / n_draws <= allowed for count in violated.values()), violated
    # Of 40 rows few errors are expected: the next smaller count already gives a bound that holds.
    assert 0.01 * n_draws < violated["held-out rows"], "the binomial bound is tight but for the steps of counts"


@pytest.mark.parametrize(
    ("machine", "y", "options", "message"),
    [
        (SupportVectorClassifier(KERNEL), LABELS, {"delta": 1.0}, "delta of risk_bounds must be a number between 0"),
        (SupportVectorClassifier(KERNEL), LABELS, {"n_tried": 0}, "n_tried of risk_bounds must be a whole number"),
        (Regressor(KERNEL), np.column_stack([Y, Y]), {}, "machine of risk_bounds must have classes or one target"),
        (Regressor(KERNEL, regularizer="l1"), Y, {}, "machine of risk_bounds must have the regularizer 'rkhs'"),
        (Regressor(ThinPlate()), Y, {}, "must have the regularizer 'rkhs', a positive definite kernel"),
        (NuSupportVectorClassifier(KERNEL, nu=0.3), LABELS, {}, "and no width or margin that it finds"),
        (OneClassMachine(KERNEL), LABELS, {}, "machine of risk_bounds must have the regularizer|classes or one"),
    ],
    ids=range(7),
)
def test_bad_input_is_refused(machine, y, options, message):
    machine.fit(X, y)
    with pytest.raises(ValueError, match=message):
        risk_bounds(machine, X, y, **options)


def test_weights_and_other_kernels_are_refused():
    weight = np.linspace(0.5, 1.0, len(X))
    machine = SupportVectorClassifier(KERNEL).fit(X, LABELS, weight)
    with pytest.raises(ValueError, match="sample_weight of risk_bounds must be constant"):
        risk_bounds(machine, X, LABELS, sample_weight=weight)
    assert risk_bounds(SupportVectorClassifier(KERNEL).fit(X, LABELS, np.ones(len(X))), X, LABELS).constant < 0.5
    conditional = SupportVectorClassifier(ThinPlate()).fit(X, LABELS)
    with pytest.raises(ValueError, match="kernel of xi_alpha must be positive definite"):
        xi_alpha(conditional, X, LABELS)
    with pytest.raises(ValueError, match="must be the rows that SupportVectorClassifier was fitted on"):
        risk_bounds(SupportVectorClassifier(KERNEL).fit(X, LABELS), X, -LABELS)
    with pytest.raises(ValueError, match=r"must hold the classes that SupportVectorClassifier was fitted on, .* got 6"):
        risk_bounds(SupportVectorClassifier(KERNEL).fit(X, LABELS), X, LABELS + 7)


def test_targets_that_do_not_differ_are_refused():
    constant = np.ones(len(X))
    with pytest.raises(ValueError, match="y of risk_bounds must differ between rows, got 1 only"):
        risk_bounds(Regressor(KERNEL).fit(X, constant), X, constant)
