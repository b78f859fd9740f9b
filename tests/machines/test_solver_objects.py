"""Solvers as objects with parameters of their own."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import KernelRidge, NuSupportVectorRegressor, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.solvers import SMO, SOLVERS, ConjugateGradients, InteriorPoint, LeastSquares, WorkingSet
from mercer.workflows.model_files.files import ModelFile, load_model, model_bytes
from tests.contracts.all_problems import labels, rows, smooth_targets

N = 60
X = rows(N)
SOLVER_OBJECTS = [SMO(block=16), WorkingSet(block=20), InteriorPoint()]
every_object = pytest.mark.parametrize("solver", SOLVER_OBJECTS, ids=repr)


@every_object
@pytest.mark.parametrize("machine", [SupportVectorRegressor, SupportVectorClassifier])
def test_object_solves_the_same_program(machine, solver):
    y = labels(X) if machine is SupportVectorClassifier else smooth_targets(X)
    by_object = machine(Gaussian(0.8), solver=solver, tol=1e-8).fit(X, y)
    by_name = machine(Gaussian(0.8), solver=solver.name, tol=1e-8).fit(X, y)
    assert by_object.solver_ == solver.name
    assert by_object.solver_.reason == "as asked"
    assert by_object.status_ == "optimal"
    np.testing.assert_allclose(by_object._function(X), by_name._function(X), atol=1e-4)


def test_parameters_of_the_object_are_used():
    n_rounds = {
        block: SupportVectorRegressor(Gaussian(0.8), solver=SMO(block=block), tol=1e-6)
        .fit(X, smooth_targets(X))
        .n_iter_
        for block in (8, 60)
    }
    assert n_rounds[8] > n_rounds[60]


@every_object
def test_object_as_a_parameter(solver):
    model = SupportVectorRegressor(Gaussian(0.8), solver=solver)
    assert model.get_params()["solver"] is solver
    twin = clone(model)
    assert twin.solver == solver
    assert twin.solver is not solver
    assert repr(solver) in repr(model)
    assert model.set_params(solver="smo").solver == "smo"
    fitted = pickle.loads(pickle.dumps(twin.fit(X, smooth_targets(X))))
    assert fitted.solver == solver
    assert hash(fitted.solver) == hash(solver)
    np.testing.assert_array_equal(fitted.predict(X), twin.predict(X))


def test_repr_and_equality():
    assert repr(SMO(block=40)) == "SMO(block=40)"
    assert [repr(solver) for solver in (SMO(), WorkingSet(), InteriorPoint())] == [
        "SMO()",
        "WorkingSet()",
        "InteriorPoint()",
    ]
    assert SMO(block=40) != SMO(block=41)
    assert SMO() != WorkingSet()
    assert SMO() == copy.deepcopy(SMO())
    assert all(solver == type(solver)() for solver in SOLVERS.values())


def test_grid_over_solvers():
    solvers = ["auto", SMO(block=20), SMO(block=30)]
    search = GridSearchCV(SupportVectorRegressor(Gaussian(0.8)), {"solver": solvers}, cv=3)
    search.fit(X, smooth_targets(X))
    assert np.ptp(search.cv_results_["mean_test_score"]) < 0.01


def test_object_that_cannot():
    with pytest.raises(ValueError, match="solver 'least_squares' cannot solve this problem"):
        SupportVectorRegressor(Gaussian(0.8), solver=LeastSquares()).fit(X, smooth_targets(X))
    with pytest.raises(ValueError, match="solver 'smo' cannot solve this problem: its unpenalised part is more than"):
        NuSupportVectorRegressor(Gaussian(0.8), parametric="linear", solver=SMO()).fit(X, smooth_targets(X))
    by_class = SupportVectorRegressor(Gaussian(0.8), solver=LeastSquares)
    with pytest.raises(ValueError, match="solver must be 'auto' or one of .*, or a Solver, got .*; choose one of them"):
        by_class.fit(X, smooth_targets(X))


def test_conjugate_gradients_of_ridge():
    exact = KernelRidge(Gaussian(0.8), penalties=0.1, solver="eigen").fit(X, smooth_targets(X))
    model = clone(KernelRidge(Gaussian(0.8), penalties=0.1, solver=ConjugateGradients(rank=10), tol=1e-10))
    model.fit(X, smooth_targets(X))
    assert (model.solver_, model.solver_.reason) == ("conjugate_gradients", "as asked")
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-5)
    with pytest.raises(ValueError, match=r"solver of KernelRidge must be .*; choose one of them, or give a Conj"):
        KernelRidge(solver=SMO()).fit(X, smooth_targets(X))


@pytest.mark.parametrize(
    "model",
    [
        SupportVectorRegressor(Gaussian(0.8), solver=SMO(block=16)),
        SupportVectorRegressor(Gaussian(0.8), solver=WorkingSet(block=16)),
        SupportVectorRegressor(Gaussian(0.8), solver=InteriorPoint()),
        SupportVectorRegressor(Gaussian(0.8), loss=Squared(), solver=LeastSquares()),
        SupportVectorRegressor(Gaussian(0.8), loss=Squared(), solver=ConjugateGradients(rank=20)),
    ],
    ids=lambda model: repr(model.solver),
)
def test_model_files(model, tmp_path):
    path = tmp_path / "model.skops"
    model.fit(X, smooth_targets(X))
    path.write_bytes(model_bytes(ModelFile("machine", {"machine": model, "band": None}, {})))
    machine = load_model(path).objects["machine"]
    assert machine.solver == model.solver
    np.testing.assert_array_equal(machine.predict(X), model.predict(X))
