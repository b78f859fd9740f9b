"""Machines on many samples: which solver, paths over C, resuming, memory."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import NuSupportVectorRegressor, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import Gaussian, ThinPlate
from mercer.kernels.gram import Gram
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Squared
from mercer.solvers import SMO, SOLVERS, SolverName
from tests.contracts.all_problems import labels, rows, smooth_targets

KERNEL = Gaussian(0.8)


def regression(n):
    X = rows(n)
    return X, smooth_targets(X)


@pytest.mark.parametrize(
    ("n", "parameters", "solver", "reason"),
    [
        (100, {}, "interior_point", "100 samples"),
        (600, {}, "smo", "600 samples, a loss of lines and parabolas"),
        (600, {"loss": Huber(0.2)}, "smo", "600 samples"),
        (600, {"tol": 1e-8}, "interior_point", "600 samples and a tolerance below"),
        (600, {"C": 1e5}, "interior_point", "600 samples of so much weight that they move the function far"),
        (600, {"C": 1e5, "memory": 2**20}, "smo", "the Gram matrix is not formed"),
        (600, {"loss": Squared()}, "least_squares", "squared loss, 600 samples"),
        (600, {"parametric": "linear"}, "interior_point", "600 samples"),
        (600, {"parametric": "linear", "memory": 2**20}, "working_set", "the Gram matrix is not formed"),
        (600, {"loss": Squared(), "memory": 2**20}, "conjugate_gradients", "no matrix is factored"),
        (100, {"memory": 2**10}, "smo", "the Gram matrix is not formed"),
        (100, {"regularizer": "l1"}, "linear_program", "an l1 penalty and a loss of straight lines"),
        (100, {"regularizer": "l2"}, "interior_point", "100 samples"),
        (600, {"low_rank_tol": 1e-6}, "interior_point", "the only one for this regularizer, budget or low-rank factor"),
        (100, {"solver": "smo"}, "smo", "as asked"),
    ],
    ids=str,
)
def test_auto_says_which_solver_and_why(n, parameters, solver, reason):
    model = SupportVectorRegressor(KERNEL, **parameters).fit(*regression(n))
    assert model.status_ == "optimal"
    assert model.solver_ == solver
    assert reason in model.solver_.reason


def test_weights_do_not_matter_to_the_choice_for_classes():
    X = rows(600)
    assert SupportVectorClassifier(KERNEL, C=1e5).fit(X, labels(X)).solver_ == "smo"


def test_name_of_a_solver_is_a_string_with_a_reason():
    name = SolverName("smo", "as asked")
    assert (name, name.reason, repr(name)) == ("smo", "as asked", "'smo' (as asked)")
    copied = pickle.loads(pickle.dumps(name))
    assert (copied, copied.reason) == ("smo", "as asked")


def test_solvers_agree_through_the_machines():
    X, y = regression(700)
    X_new = rows(50, seed=9)
    for loss in (EpsilonInsensitive(0.1), Huber(0.2)):
        predictions = [
            SupportVectorRegressor(KERNEL, loss=loss, solver=solver, tol=1e-9).fit(X, y).predict(X_new)
            for solver in ("interior_point", "smo", "working_set")
        ]
        for other in predictions[1:]:
            np.testing.assert_allclose(other, predictions[0], atol=1e-4)


@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=repr)
def test_classifiers_at_scale(loss):
    X = rows(800)
    y = labels(X)
    models = [
        SupportVectorClassifier(KERNEL, loss=loss, memory=memory, tol=1e-6).fit(X, y) for memory in (2**30, 2**20)
    ]
    assert not SOLVERS[models[1].solver_].needs_matrix
    np.testing.assert_allclose(models[0].decision_function(X), models[1].decision_function(X), atol=1e-2)


def test_conditionally_positive_kernel_without_its_matrix():
    X, y = regression(300)
    whole, blocks = (SupportVectorRegressor(ThinPlate(), memory=m, tol=1e-7).fit(X, y) for m in (2**30, 2**19))
    assert (whole.solver_, blocks.solver_) == ("interior_point", "working_set")
    np.testing.assert_allclose(blocks.predict(X), whole.predict(X), atol=1e-3)


@pytest.mark.parametrize("n", [150, 700])
@pytest.mark.parametrize("model", [SupportVectorRegressor(KERNEL), NuSupportVectorRegressor(KERNEL)], ids=repr)
def test_regularization_path_equals_single_fits(model, n):
    X, y = regression(n)
    Cs = [10.0, 0.1, 1.0]
    path = clone(model).set_params(tol=1e-6).regularization_path(X, y, Cs)
    for C, machine in zip(Cs, path, strict=True):
        alone = clone(model).set_params(tol=1e-6, C=C).fit(X, y)
        assert (machine.C, machine.status_, machine.warm_start) == (C, "optimal", False)
        assert not hasattr(machine, "_shared")
        np.testing.assert_allclose(machine.predict(X), alone.predict(X), atol=0.02)


@pytest.mark.parametrize("n", [150, 700])
@pytest.mark.parametrize("kind", ["pair", "samples", "pair of samples"])
def test_regularization_path_keeps_ratios_of_samples_and_sides(kind, n):
    X, y = regression(n)
    by_sample = np.random.default_rng(1).uniform(0.1, 2.0, n)
    C = {"pair": (1.0, 3.0), "samples": by_sample.tolist(), "pair of samples": (0.5, by_sample)}[kind]
    weight = np.random.default_rng(2).integers(0, 3, n).astype(float)
    Cs = [5.0, 0.2]
    path = SupportVectorRegressor(KERNEL, C=C, tol=1e-7).regularization_path(X, y, Cs, weight)
    for factor, machine in zip(Cs, path, strict=True):
        scaled = tuple(factor * np.asarray(side) for side in C) if isinstance(C, tuple) else factor * by_sample
        alone = SupportVectorRegressor(KERNEL, C=scaled, tol=1e-7).fit(X, y, weight)
        assert machine.status_ == "optimal"
        np.testing.assert_allclose(machine.predict(X), alone.predict(X), atol=0.01)
        below, above = machine.C if isinstance(C, tuple) else (machine.C, machine.C)
        np.testing.assert_allclose(above / below, np.divide(*reversed(C)) if isinstance(C, tuple) else 1.0)


def test_regularization_path_of_several_classes():
    X, y = regression(600)
    y = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    path = SupportVectorClassifier(KERNEL, tol=1e-6).regularization_path(X, y, [1.0, 3.0])
    alone = SupportVectorClassifier(KERNEL, tol=1e-6, C=3.0).fit(X, y)
    np.testing.assert_allclose(path[1].decision_function(X), alone.decision_function(X), atol=0.02)


def test_regularization_path_ends_at_ctrl_c(monkeypatch):
    X, y = regression(700)
    fits = []
    solve = SMO.solve

    def interrupted(self, problem, **options):
        fits.append(problem)
        result = solve(self, problem, **options)
        return replace(result, status="interrupted") if len(fits) == 2 else result

    monkeypatch.setattr(SMO, "solve", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted; set warm_start=True and call fit again to go on"):
        path = SupportVectorRegressor(KERNEL, solver="smo").regularization_path(X, y, [5.0, 0.5, 1.0, 2.0])
    assert [(machine.C, machine.status_) for machine in path] == [(0.5, "optimal"), (1.0, "interrupted")]


def test_regularization_path_saves_iterations():
    X, y = regression(700)
    Cs = np.geomspace(1, 3, 8)
    path = SupportVectorRegressor(KERNEL, solver="smo").regularization_path(X, y, Cs)
    alone = [SupportVectorRegressor(KERNEL, solver="smo", C=C).fit(X, y) for C in Cs]
    assert sum(m.n_iter_ for m in path) < sum(m.n_iter_ for m in alone)


@pytest.mark.parametrize("Cs", [[], [[1.0]], [1.0, 0.0], [1.0, np.nan], [-1.0], 1.0])
def test_regularization_path_refuses(Cs):
    with pytest.raises(
        ValueError, match=r"Cs of SupportVectorRegressor.regularization_path must be a list of positive numbers, got"
    ):
        SupportVectorRegressor(KERNEL).regularization_path(*regression(20), Cs)


@pytest.mark.parametrize("solver", ["smo", "interior_point"])
def test_a_stopped_fit_goes_on(solver):
    X, y = regression(600)
    model = SupportVectorRegressor(KERNEL, solver=solver, max_iter=1, warm_start=True, tol=1e-6, C=10.0)
    with pytest.warns(UserWarning, match="ended as 'max_iter'"):
        model.fit(X, y)
    first = model.history_[-1].dual
    model.set_params(max_iter=None).fit(X, y)
    whole = SupportVectorRegressor(KERNEL, solver=solver, tol=1e-6, C=10.0).fit(X, y)
    assert model.status_ == "optimal"
    assert model.history_[-1].dual > first
    np.testing.assert_allclose(model.history_[-1].primal, whole.history_[-1].primal, rtol=2e-6)


def test_warm_start_with_another_number_of_samples_starts_anew():
    model = SupportVectorRegressor(KERNEL, warm_start=True).fit(*regression(600))
    assert model.fit(*regression(700)).status_ == "optimal"


def test_warm_start_from_another_width():
    X, y = regression(700)
    model = SupportVectorRegressor(KERNEL, C=3.0, tol=1e-6, warm_start=True, solver="smo").fit(X, y)
    warm = model.set_params(kernel=Gaussian(0.9)).fit(X, y)
    cold = SupportVectorRegressor(Gaussian(0.9), C=3.0, tol=1e-6, solver="smo").fit(X, y)
    assert warm.status_ == "optimal"
    np.testing.assert_allclose(warm.history_[-1].primal, cold.history_[-1].primal, rtol=2e-6)


@pytest.mark.parametrize(
    ("machine", "owner", "n_matrices"),
    [
        (SupportVectorRegressor(regularizer="l1"), r"the regularizer L1Coefficients\(\)", 3),
        (SupportVectorRegressor(regularizer="l2"), r"the regularizer L2Coefficients\(\)", 3),
        (SupportVectorRegressor(regularizer="mixed"), "the solver 'interior_point'", 3),
        (SupportVectorRegressor(solver="interior_point"), "the solver 'interior_point'", 3),
        (SupportVectorRegressor(loss=Squared(), solver="least_squares"), "the solver 'least_squares'", 3),
        (NuSupportVectorRegressor(regularizer="mixed"), "the solver 'interior_point'", 3),
    ],
    ids=str,
)
def test_matrices_that_do_not_fit_are_refused_before_they_are_formed(machine, owner, n_matrices, monkeypatch):
    X, y = regression(300)
    monkeypatch.setattr(Gram, "toarray", lambda *args: pytest.fail("formed"))
    needed = f"{n_matrices * 8 * 300**2:,}"
    with pytest.raises(
        ValueError, match=f"must be at least {needed} bytes for {owner}, .* got 1,000,000; raise memory"
    ):
        machine.set_params(memory=10**6, kernel=KERNEL).fit(X, y)


def test_l1_takes_the_solver_that_fits():
    X, y = regression(120)
    chosen = {
        memory: SupportVectorRegressor(KERNEL, regularizer="l1", memory=memory).fit(X, y).solver_
        for memory in (80 * 8 * 120**2, 80 * 8 * 120**2 - 1)
    }
    assert list(chosen.values()) == ["linear_program", "interior_point"]
    with pytest.raises(
        ValueError, match="1,152,000 bytes for the solver 'interior_point', which takes about 10 matrices"
    ):
        SupportVectorRegressor(KERNEL, regularizer="l1", solver="interior_point", memory=10**6).fit(X, y)
    with pytest.raises(
        ValueError, match="9,216,000 bytes for the solver 'linear_program', which takes about 80 matrices"
    ):
        SupportVectorRegressor(KERNEL, regularizer="l1", memory=10**6).fit(X, y)
