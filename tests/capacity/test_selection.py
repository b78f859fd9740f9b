"""Choices among machines, and machines with a given norm or risk."""

import numpy as np
import pytest

from mercer import KernelRidge, SupportVectorClassifier, SupportVectorRegressor
from mercer.capacity import constrained_machine, leave_one_out, risk_bounds, structural_risk_path
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber, Squared
from tests.contracts.all_problems import labels, rows, smooth_targets

KERNEL, X = Gaussian(0.8), rows(80)
Y, LABELS = smooth_targets(X), labels(X)


def test_path_has_all_criteria_and_chooses_by_the_first():
    machines = SupportVectorClassifier(KERNEL).regularization_path(X, LABELS, [0.01, 1.0, 100.0])
    path = structural_risk_path(machines, X, LABELS, criterion=["span", "path", "compression", "training rows"])
    np.testing.assert_allclose(path.criteria["span"], [leave_one_out(m, X, LABELS).error for m in machines])
    exact = [leave_one_out(m, X, LABELS, method="path").error for m in machines]
    np.testing.assert_allclose(path.criteria["path"], exact)
    assert path.criteria["span"][path.best] == path.criteria["span"].min()
    shared = risk_bounds(machines[1], X, LABELS, n_tried=3)["compression"]
    assert path.criteria["compression"][1] == shared.value
    assert path.vacuous["compression"][1] == shared.vacuous
    assert np.all(np.diff(path.norms) > 0)
    assert np.all(np.diff(path.risks) < 0)
    lines = path.table.splitlines()
    assert len(lines) == 4
    assert lines[1 + path.best].endswith("<")


def test_equal_values_give_the_smaller_norm():
    machine = SupportVectorClassifier(KERNEL).fit(X, LABELS)
    other = SupportVectorClassifier(KERNEL, C=1.0 + 1e-9).fit(X, LABELS)
    best = structural_risk_path([other, machine], X, LABELS).best
    assert best == int(np.argmin([other.norm_, machine.norm_]))


def test_numbers_and_criteria_that_are_not_there():
    machines = SupportVectorRegressor(KERNEL).regularization_path(X, Y, [0.1, 10.0])
    path = structural_risk_path(machines, X, Y, criterion=["span", "Rademacher", "compression"])
    assert np.isnan(path.criteria["compression"]).all()
    assert path.vacuous["Rademacher"].all()
    with pytest.raises(ValueError, match="criterion of structural_risk_path must be one that these machines have"):
        structural_risk_path(machines, X, Y, criterion="compression")
    with pytest.raises(ValueError, match="criterion of structural_risk_path must be one of"):
        structural_risk_path(machines, X, Y, criterion="guess")
    with pytest.raises(ValueError, match="machines and criterion of structural_risk_path must not be empty"):
        structural_risk_path([], X, Y)
    with pytest.raises(ValueError, match="delta of structural_risk_path"):
        structural_risk_path(machines, X, Y, delta=2.0)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.1), EpsilonInsensitive(0.1)], ids=str)
def test_constrained_forms_are_solutions_of_the_weighted_one(loss):
    machine = SupportVectorRegressor(KERNEL, loss=loss, tol=1e-8)
    found = constrained_machine(machine, X, Y, norm=1.5)
    assert found.norm_ == pytest.approx(1.5, rel=1e-5)
    again = constrained_machine(machine, X, Y, risk=found.empirical_risk_)
    assert pytest.approx(found.C, rel=1e-3) == again.C
    assert machine.C == 1.0


def test_constrained_squared_loss_is_that_of_a_convex_program():
    cvxpy = pytest.importorskip("cvxpy")
    few, y = X[:30], Y[:30]
    root = np.linalg.cholesky(KERNEL(few) + 1e-10 * np.eye(30))
    w, b = cvxpy.Variable(30), cvxpy.Variable()
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(y - root @ w - b) / 60), [cvxpy.norm(w) <= 1.2])
    program.solve()
    found = constrained_machine(SupportVectorRegressor(KERNEL, loss=Squared(), tol=1e-9), few, y, norm=1.2)
    assert found.empirical_risk_ == pytest.approx(program.value, rel=1e-5)


def test_constraints_that_do_not_matter_or_cannot_be_met():
    separable = np.where(X[:, 0] > 0, 1, -1)
    machine = SupportVectorClassifier(Gaussian(0.3))
    assert constrained_machine(machine, X, separable, norm=1e6).norm_ < 1e6
    assert constrained_machine(SupportVectorRegressor(KERNEL), X, Y, risk=50.0).norm_ < 1e-3
    with pytest.raises(ValueError, match="risk of constrained_machine must be one that is reached"):
        constrained_machine(SupportVectorClassifier(Gaussian(50.0), max_iter=500), X, LABELS, risk=1e-9)


@pytest.mark.parametrize(
    ("machine", "options", "message"),
    [
        (SupportVectorRegressor(KERNEL), {}, "norm or risk of constrained_machine must be given, and not both"),
        (SupportVectorRegressor(KERNEL), {"norm": 1.0, "risk": 1.0}, "must be given, and not both"),
        (SupportVectorRegressor(KERNEL), {"norm": np.nan}, "norm of constrained_machine must be a number > 0"),
        (SupportVectorRegressor(KERNEL), {"risk": -1.0}, "risk of constrained_machine must be a number > 0"),
        (SupportVectorRegressor(KERNEL, C=(1.0, 2.0)), {"norm": 1.0}, "whose C is one number"),
        (KernelRidge(KERNEL), {"norm": 1.0}, "machine of constrained_machine must be a kernel machine whose C"),
    ],
    ids=range(6),
)
def test_bad_input_is_refused(machine, options, message):
    with pytest.raises(ValueError, match=message):
        constrained_machine(machine, X, Y, **options)


def test_several_targets_are_refused():
    with pytest.raises(ValueError, match="y of constrained_machine must be one target or two classes"):
        constrained_machine(SupportVectorRegressor(KERNEL), X, np.column_stack([Y, Y]), norm=1.0)
