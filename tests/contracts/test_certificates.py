"""What a machine claims of its solution holds for what it stores."""

import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    KernelRidge,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.kernels import Gaussian, Linear, Multiquadric, Polynomial
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Laplace, Logistic, Squared
from mercer.problems import Iterate
from mercer.regularizers import Mixed
from mercer.solvers import SMO
from mercer.solvers.result import Options
from tests.contracts.all_problems import make
from tests.contracts.random_programs import exact_gap, random_case

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
CLASSES = (Y > 0).astype(int)
WEIGHT = rng.uniform(0.5, 2.0, size=80) * (rng.random(80) > 0.2)

MACHINES = {
    "epsilon": (SupportVectorRegressor(), Y),
    "several targets": (SupportVectorRegressor(loss=Huber(0.1)), np.column_stack([Y, Y**2])),
    "sides": (SupportVectorRegressor(loss=Laplace(), C=(1.0, 3.0)), Y),
    "linear part": (SupportVectorRegressor(parametric="linear"), Y),
    "conditional": (SupportVectorRegressor(Multiquadric(0.5)), Y),
    "l1": (SupportVectorRegressor(regularizer="l1"), Y),
    "l2": (SupportVectorRegressor(regularizer="l2"), Y),
    "mixed": (SupportVectorRegressor(parametric="linear", regularizer=Mixed([0.0, 0.5, 0.5])), Y),
    "low rank": (SupportVectorRegressor(low_rank_tol=1e-10), Y),
    "smo": (SupportVectorRegressor(solver=SMO()), Y),
    "squared": (SupportVectorRegressor(loss=Squared()), Y),
    "ridge": (KernelRidge(), Y),
    "ridge, several targets": (KernelRidge(), np.column_stack([Y, Y**2])),
    "ridge at scale": (KernelRidge(solver="conjugate_gradients", penalties=0.1), Y),
    "nu": (NuSupportVectorRegressor(), Y),
    "hinge": (SupportVectorClassifier(), CLASSES),
    "logistic": (SupportVectorClassifier(loss=Logistic(), class_weight="balanced"), CLASSES),
    "three classes": (SupportVectorClassifier(), np.digitize(Y, [-0.5, 0.5])),
    "nu classes": (NuSupportVectorClassifier(nu=0.3), CLASSES),
    "one class": (OneClassMachine(nu=0.3), None),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("name", MACHINES)
def test_certificate_from_public_attributes(name, weight):
    machine, y = MACHINES[name]
    machine.fit(X, y, sample_weight=weight)
    found = machine.certificate(X, y, sample_weight=weight)
    several = isinstance(found, list)
    for certificate, gap, status in zip(
        found if several else [found],
        machine.gap_ if several else [machine.gap_],
        machine.status_ if several else [machine.status_],
        strict=True,
    ):
        assert status == "optimal"
        assert certificate.holds(machine.tol)
        np.testing.assert_allclose(certificate.relative_gap, gap, atol=1e-8)


@pytest.mark.parametrize("name", ["epsilon", "ridge", "hinge", "l1", "one class"])
def test_certificate_sees_what_is_changed(name):
    machine, y = MACHINES[name]
    machine.fit(X, y)
    machine.dual_coef_ = machine.dual_coef_ * 1.5
    assert not machine.certificate(X, y).holds(machine.tol)


def test_certificate_of_other_samples():
    machine = SupportVectorRegressor().fit(X, Y)
    with pytest.raises(
        ValueError, match="must be the training set of SupportVectorRegressor, got 79 rows with a weight"
    ):
        machine.certificate(X[1:], Y[1:])
    with pytest.raises(
        ValueError, match="must be the training set of SupportVectorRegressor, got 80 rows .* 2 targets"
    ):
        machine.certificate(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="X has 1 features, but"):
        machine.certificate(X[:, :1], Y)


def test_certificate_does_not_change_the_machine():
    machine = SupportVectorRegressor(warm_start=True).fit(X, Y)
    before = {name: repr(value) for name, value in vars(machine).items()}
    machine.certificate(X, Y)
    assert {name: repr(value) for name, value in vars(machine).items()} == before


# Cases that were called optimal and were not -------------------------------------------------------------------------


def test_small_targets_are_fitted_by_conjugate_gradients():
    draw = np.random.default_rng(0)
    X = draw.uniform(-3, 3, (2500, 2))
    model = KernelRidge(Gaussian(1.0), penalties=0.1).fit(X, 1e-5 * np.sin(2 * X[:, 0]))
    assert model.n_iter_ > 0
    assert model.score(X, 1e-5 * np.sin(2 * X[:, 0])) > 0.99


def test_small_targets_have_support_vectors():
    model = SupportVectorRegressor(loss=EpsilonInsensitive(1e-4)).fit(X, 1e-3 * Y)
    assert len(model.support_) > 0
    assert model.score(X, 1e-3 * Y) > 0.8


def test_coefficients_are_stored_as_they_were_certified():
    draw = np.random.default_rng(9)
    X = draw.normal(size=(150, 5))
    y = np.sin(X[:, 0]) + 0.1 * draw.normal(size=150)
    model = SupportVectorRegressor(Polynomial(3, 1.0), C=1e4, tol=1e-4).fit(X, y)
    assert (model.status_ == "optimal") == model.certificate(X, y).holds(1e-4)
    np.testing.assert_allclose(model.certificate(X, y).relative_gap, model.gap_, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_rows_far_from_zero_do_not_shift_predictions(seed):
    draw = np.random.default_rng(seed)
    X, y = 1000 * (draw.normal(size=(20, 3)) + 10), draw.normal(size=20)
    model = SupportVectorRegressor(Linear(), tol=1e-6).fit(X, y)
    assert model.status_ == "optimal"
    certificate = model.certificate(X, y)
    assert certificate.holds(1e-6)
    np.testing.assert_allclose(certificate.primal, _primal(model, X, y), rtol=1e-6)


def _primal(model, X, y):
    w = model.coef_[0].astype(np.longdouble)
    f = X.astype(np.longdouble) @ w + np.longdouble(model.intercept_)
    return float(w @ w / 2 + np.maximum(np.abs(y - f) - np.longdouble(0.1), 0).sum())


def test_targets_inside_the_tube_leave_no_support_vector():
    for y in (np.zeros(80), np.full(80, 3.0), 1e6 + 0.05 * Y, np.where(np.arange(80) > 0, 0.0, 0.19)):
        for solver in ("auto", "smo", "interior_point", "working_set"):
            model = SupportVectorRegressor(solver=solver).fit(X, y)
            assert model.status_ == "optimal"
            assert len(model.support_) == 0
            assert model.gap_ == 0.0
            assert np.abs(model.predict(X) - y).max() <= 0.1


def test_a_linear_function_inside_the_tube():
    y = 1.0 + X @ [2.0, -3.0] + 0.09 * np.sin(5 * X[:, 0])
    model = SupportVectorRegressor(parametric="linear").fit(X, y)
    assert len(model.support_) == 0
    assert np.abs(model.predict(X) - y).max() <= 0.1
    labels = np.where(X[:, 0] - X[:, 1] > 0.1, 1, 0)
    separated = np.abs(X[:, 0] - X[:, 1] - 0.1) > 0.05
    model = SupportVectorClassifier(parametric="linear").fit(X[separated], labels[separated])
    assert (model.status_, len(model.support_)) == ("optimal", 0)
    assert model.score(X[separated], labels[separated]) == 1.0


def test_rows_in_single_precision_far_from_zero():
    """Products in single precision would hide a gap of a third."""
    far = (X + 1000).astype(np.float32)
    for machine, y in ((SupportVectorRegressor(Linear()), Y), (SupportVectorClassifier(Linear()), CLASSES)):
        single, double = clone(machine).fit(far, y), clone(machine).fit(far.astype(np.float64), y)
        assert single.status_ == double.status_
        np.testing.assert_array_equal(single.dual_coef_, double.dual_coef_)
        assert single.certificate(far.astype(np.float64), y).holds(machine.tol)


@pytest.mark.filterwarnings("ignore:.* ended as 'stalled':sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["auto", "smo"])
@pytest.mark.parametrize("C", [1e12, 1e14, 1e16])
def test_huge_weights_are_solved_or_stall(C, solver):
    """The gap is compared with the primal value alone, and counts what rounding times C may hide."""
    y = np.sin(2 * X[:, 0])
    machine = SupportVectorRegressor(Gaussian(0.3), C=C, solver=solver).fit(X, y)
    certificate = machine.certificate(X, y)
    assert (machine.status_ == "optimal") == (certificate.gap <= 1e-3 * abs(certificate.primal))


@pytest.mark.filterwarnings("ignore:.* ended as 'stalled':sklearn.exceptions.ConvergenceWarning")
def test_a_sentinel_of_hardly_any_weight():
    y, weight = Y.copy(), np.ones(80)
    y[0], weight[0] = 1e17, 1e-18
    machine = SupportVectorRegressor(Gaussian(1.0)).fit(X, y, weight)
    certificate = machine.certificate(X, y, weight)
    assert (machine.status_ == "optimal") == (certificate.gap <= 1e-3 * certificate.primal)


def test_weights_that_differ_by_orders_of_magnitude():
    draw = np.random.default_rng(1)
    many = draw.normal(size=(600, 2))
    y, weight = np.sin(2 * many[:, 0]) + 0.2 * draw.normal(size=600), 10 ** draw.uniform(-9, 9, 600)
    machine = SupportVectorRegressor(Gaussian(1.0)).fit(many, y, weight)
    assert machine.solver_ == "interior_point"
    assert "orders of magnitude" in machine.solver_.reason
    assert machine.status_ == "optimal"


def test_paths_whose_weights_change_their_ratios():
    """Programs of a path share centred targets: the shift must be that of the shared ones, whatever the weights."""
    program = make(Huber(0.2), 2.0, y=5.0 + np.linspace(-1, 1, 40) ** 3)
    uneven = program.with_weights((np.geomspace(1e-3, 10, 40),) * 2)
    for problem in (program, uneven):
        # Before the certificate, which would fit the columns again.
        result = SMO()._solve_centred(problem, Options(None, 1e-8, None, None, False, 2**30))
        assert abs(problem.iterate(result.B, result.d).relative_gap) <= 1e-7


def test_certificate_without_support_vectors():
    assert SupportVectorRegressor().fit(X, np.zeros(80)).certificate(X, np.zeros(80)).gap == 0.0


def test_certificate_after_other_parameters():
    machine = SupportVectorRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="must be those of the fit for its certificate, got 'linear' as"):
        machine.set_params(parametric="linear").certificate(X, Y)


def test_certificate_trusts_no_memory_of_a_solver():
    """Whatever a solver keeps beside the program may be spoilt."""
    program = make(EpsilonInsensitive(0.1), 2.0)
    result = SMO().solve(program, tol=1e-6)
    before = program.certificate(result)
    for kept in program.kept["products"]:
        kept._last = (result.B.copy(), np.full(len(result.B), 7.0))
    assert program.certificate(result) == before


def test_status_follows_the_certificate(monkeypatch):
    """A solver that claims too much is not believed, and one that claims too little is corrected."""
    program = make(Hinge(), 2.0)
    claims = SMO._solve

    def boasts(self, problem, options):
        result = claims(self, problem, options)
        return replace(result, status="optimal", B=0.9 * result.B, history=[Iterate(1.0, 1.0, 0.0)])

    monkeypatch.setattr(SMO, "_solve", boasts)
    assert SMO().solve(program, tol=1e-6).status == "stalled"
    monkeypatch.setattr(SMO, "_solve", lambda *args: replace(claims(*args), status="stalled", primal=9.0))
    assert SMO().solve(program, tol=1e-6).status == "optimal"


# Random programs -----------------------------------------------------------------------------------------------------


def false_claims(seeds, largest):
    """Machines that say "optimal" and whose gap, in extended precision, is larger than tol; and all statuses."""
    false, statuses = [], []
    for seed in seeds:
        case = random_case(seed, largest=largest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The Gram matrix of", UserWarning)
            case.machine.fit(case.X, case.y, case.weight)
        statuses.append(case.machine.status_)
        if case.machine.status_ == "optimal" and not abs(exact_gap(case)) <= 1.001 * case.machine.tol + 1e-15:
            false.append(case.name)
    return false, statuses


@pytest.mark.parametrize("block", range(6))
def test_no_false_optimum(block):
    false, statuses = false_claims(range(25 * block, 25 * (block + 1)), largest=60)
    assert not false
    assert statuses.count("optimal") >= 18, "some programs are beyond double precision, most are not"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_no_false_optimum_in_20_000_programs(block):
    size = int(os.environ.get("MERCER_RANDOM_PROGRAMS", "20000")) // 100
    false, _ = false_claims(range(1000 + size * block, 1000 + size * (block + 1)), largest=2000)
    assert not false
