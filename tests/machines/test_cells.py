"""Machines in cells: borders, all kinds of machines, missing classes, ends before their time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import (
    CellMachine,
    KernelRidge,
    LearnedMetric,
    NuSupportVectorRegressor,
    OneClassMachine,
    QuantileBand,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.kernels import Exponential, Gaussian, Precomputed
from mercer.losses import EpsilonInsensitive, Logistic, Quantile
from mercer.machines.cell_tree import CellTree

rng = np.random.default_rng(0)
X = rng.uniform(-1.0, 1.0, size=(400, 3)) * [3.0, 1.0, 0.3]
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)
TWO = np.where(y > 0, "high", "low")
THREE = np.where(y > 0, "high", np.where(X[:, 2] > 0, "low", "mid"))
KERNEL = Exponential(0.5)


def names(machine):
    return type(machine).__name__


MACHINES = [
    (KernelRidge(KERNEL), y),
    (KernelRidge(KERNEL, penalties=0.01), np.column_stack([y, -y])),
    (SupportVectorRegressor(KERNEL, C=10.0), y),
    (NuSupportVectorRegressor(KERNEL, C=10.0), y),
    (SupportVectorClassifier(KERNEL, C=10.0), TWO),
    (SupportVectorClassifier(KERNEL, C=10.0), THREE),
    (QuantileBand(KERNEL, C=10.0), y),
]
every_machine = pytest.mark.parametrize(("machine", "targets"), MACHINES, ids=[names(m) for m, _ in MACHINES])


def function(model, rows):
    for name in ("predict_interval", "decision_function", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(rows)
    raise AssertionError


# The tree -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", [0.0, 0.1, 0.5])
def test_weights_are_a_partition_of_unity_and_cells_are_small(overlap):
    tree = CellTree.build(X, 60, overlap)
    far = np.vstack([X, 100.0 * X[:50], -1e6 * X[:5]])
    total, sizes = np.zeros(len(far)), []
    for k, (cell, rows, weights) in enumerate(tree.parts(far)):
        assert cell == k
        assert np.all(weights > 0)
        total[rows] += weights
        sizes.append(np.count_nonzero(rows < len(X)))
    np.testing.assert_allclose(total, 1.0, atol=1e-14)
    assert len(sizes) == tree.n_cells == len(tree.low) + 1
    assert min(sizes) >= 20
    assert max(sizes) <= 60
    assert (sum(sizes) > len(X)) == (overlap > 0)
    assert np.all(tree.children.max(axis=1) > -1 - tree.n_cells)


def test_splits_follow_the_longest_direction():
    tree = CellTree.build(X, 250, 0.1)
    np.testing.assert_allclose(np.abs(tree.directions[0]), [1.0, 0.0, 0.0], atol=0.1)
    assert tree.low[0] < np.median(X @ tree.directions[0]) < tree.high[0]


def test_equal_rows_stay_together():
    rows = np.repeat(rng.normal(size=(4, 3)), 50, axis=0)
    tree = CellTree.build(rows, 20, 0.1)
    sizes = [len(part.rows) for part in tree.parts(rows)]
    assert sorted(sizes) == [50, 50, 50, 50]
    mostly_equal = np.vstack([np.zeros((190, 2)), rng.normal(size=(10, 2))])
    assert CellTree.build(mostly_equal, 50, 0.1).n_cells == 1


# What is fitted -------------------------------------------------------------------------------------------------------


@every_machine
def test_one_cell_is_the_machine_itself(machine, targets):
    model = CellMachine(machine).fit(X, targets)
    assert model.tree_.n_cells == 1
    np.testing.assert_array_equal(function(model, X + 0.1), function(machine.fit(X, targets), X + 0.1))


@every_machine
def test_cells_are_certified_and_near_the_machine_of_all_rows(machine, targets):
    model = CellMachine(machine, max_rows=150).fit(X, targets)
    assert model.tree_.n_cells == 4
    assert model.status_ == "optimal"
    certificate = model.certificate(X, targets)
    assert certificate.holds(1e-3)
    assert certificate.relative_gap == pytest.approx(model.gap_, rel=1e-3, abs=1e-12)
    assert certificate.infeasibility <= 1e-3
    assert model.n_iter_ >= 4
    whole, parts = function(machine.fit(X, targets), X), function(model, X)
    assert np.sqrt(np.mean((whole - parts) ** 2)) < 0.2 * whole.std()
    np.testing.assert_array_equal(function(CellMachine(machine, max_rows=150).fit(X, targets), X), parts)


@every_machine
def test_functions_are_continuous_across_borders(machine, targets):
    model = CellMachine(machine, max_rows=150).fit(X, targets)
    line = np.linspace(-3.0, 3.0, 20001)[:, None] * [1.0, 0.1, 0.0]
    steps = np.abs(np.diff(function(model, line), axis=0))
    assert steps.max() < 0.02
    jumps = np.abs(np.diff(function(CellMachine(machine, max_rows=150, overlap=0.0).fit(X, targets), line), axis=0))
    assert jumps.max() > 2 * steps.max()


def test_a_metric_is_learned_once_and_shared(monkeypatch):
    fits, fit = [], LearnedMetric.fit
    monkeypatch.setattr(LearnedMetric, "fit", lambda self, X, y: fits.append(len(X)) or fit(self, X, y))

    class Cells(CellMachine):
        _rows_of_metric = 300

    holes = np.where(rng.uniform(size=X.shape) < 0.05, np.nan, X)
    machine = KernelRidge(metric=LearnedMetric("Exponential", rotation="none"))
    model = Cells(machine, max_rows=150).fit(holes, y)
    assert fits == [300]
    assert {cell.machine.penalty_ for cell in model.cells_} == {model.metric_.penalty_}
    assert all(cell.machine.metric is None for cell in model.cells_)
    assert model.score(holes, y) > 0.8
    assert model.certificate(holes, y).holds(1e-6)
    assert isinstance(Cells(machine.set_params(kernel=Gaussian())).fit(X, y).kernel_, Gaussian)


def test_the_default_kernel_is_that_of_all_rows():
    model = CellMachine(KernelRidge(), max_rows=150).fit(X, y)
    assert {cell.machine.kernel_.width for cell in model.cells_} == {KernelRidge().fit(X, y).kernel_.width}


def test_parameters_by_sample_and_weights_are_those_of_the_rows():
    weight = rng.uniform(0.5, 2.0, size=400)
    weight[:40] = 0.0
    C, epsilon = rng.uniform(1.0, 10.0, size=400), rng.uniform(0.0, 0.2, size=400)
    machine = SupportVectorRegressor(KERNEL, C=(C, 2 * C), loss=EpsilonInsensitive(epsilon))
    model = CellMachine(machine, max_rows=150).fit(X, y, weight)
    assert np.concatenate(model.rows_).min() == 40
    for cell, rows in zip(model.cells_, model.rows_, strict=True):
        np.testing.assert_array_equal(cell.machine.C[1], 2 * C[rows])
        part = SupportVectorRegressor(KERNEL, C=(C[rows], 2 * C[rows]), loss=EpsilonInsensitive(epsilon[rows]))
        part.fit(X[rows], y[rows], weight[rows])
        np.testing.assert_array_equal(cell.machine.predict(X), part.predict(X))
    assert model.certificate(X, y, weight).holds(1e-3)


def test_class_weights_are_those_of_all_rows():
    machine = SupportVectorClassifier(KERNEL, class_weight="balanced")
    model = CellMachine(machine, max_rows=150).fit(X, THREE)
    expected = 400 / (3 * np.unique(THREE, return_counts=True)[1])
    for cell in model.cells_:
        assert cell.machine.class_weight == {k: expected[k] for k in cell.machine.classes_}


# Classes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [None, Logistic()])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_cells_without_some_classes(loss, n_classes):
    places = np.sort(rng.uniform(-2.0, 2.0, size=300))[:, None]
    labels = np.array(["a", "b", "c", "d"])[np.digitize(places[:, 0], [-1.0, 0.3, 1.1]) % n_classes]
    if n_classes == 2:
        labels = np.where(places[:, 0] < 1.3, "a", "b")
    machine = SupportVectorClassifier(Gaussian(0.5), loss=loss, C=10.0)
    model = CellMachine(machine, max_rows=80).fit(places, labels)
    known = [0 if cell.machine is None else len(cell.machine.classes_) for cell in model.cells_]
    assert 0 in known or n_classes == 4
    assert min(known) < n_classes
    assert model.status_ == "optimal"
    assert model.score(places, labels) > 0.97
    assert model.certificate(places, labels).holds(1e-3)
    if loss is not None:
        P = model.predict_proba(places)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert np.mean(P.max(axis=1)) > 0.8
        np.testing.assert_allclose(np.log(P), model.predict_log_proba(places))


def test_sigmoids_of_one_cell_are_those_of_the_machine():
    machine = SupportVectorClassifier(KERNEL, C=10.0, probability=True, random_state=0)
    model = CellMachine(machine).fit(X, THREE)
    np.testing.assert_allclose(model.predict_proba(X), machine.fit(X, THREE).predict_proba(X), rtol=1e-10)


def test_sigmoids_of_many_rows_are_those_of_one_fold():
    machine = SupportVectorClassifier(KERNEL, C=10.0, probability=True, random_state=0)
    many = np.repeat(X, 6, axis=0) + 0.01 * rng.normal(size=(2400, X.shape[1]))
    model = CellMachine(machine, max_rows=600).fit(many, np.repeat(THREE, 6))
    assert model.calibration_.n_folds == 1
    truth = model.predict_proba(X)[np.arange(400), np.searchsorted(model.classes_, THREE)]
    assert -np.log(truth).mean() < 0.4
    plain = CellMachine(SupportVectorClassifier(KERNEL), max_rows=150).fit(X, THREE)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "predict_interval")


# Ends before their time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("machine", "targets"), MACHINES[:-1], ids=[names(m) for m, _ in MACHINES[:-1]])
def test_a_callback_ends_a_fit_with_what_there_is(machine, targets):
    told = []

    def stop_after_two(n_fitted, n_cells):
        told.append((n_fitted, n_cells))
        return n_fitted == 2

    with pytest.warns(ConvergenceWarning, match="CellMachine was interrupted: 2 of 4 cells hold no more than a mean"):
        model = CellMachine(machine, max_rows=150, callback=stop_after_two).fit(X, targets)
    assert told == [(1, 4), (2, 4)]
    assert model.status_ == "interrupted"
    assert model.gap_ == np.inf
    assert [cell.ended for cell in model.cells_] == [False, False, True, True]
    rows = model.rows_[3]
    if targets.dtype.kind == "f":
        np.testing.assert_allclose(model.cells_[3].constant, targets[rows].mean(axis=0))
    assert np.isfinite(function(model, X)).all()


def test_a_callback_after_the_last_cell_ends_nothing():
    model = CellMachine(KernelRidge(KERNEL), max_rows=150, callback=lambda done, all_of_them: done == 4).fit(X, y)
    assert model.status_ == "optimal"


def test_ctrl_c_in_a_cell(monkeypatch):
    fits, fit = [], KernelRidge.fit

    def interrupted(self, *arguments):
        fits.append(self)
        if len(fits) == 3:
            raise KeyboardInterrupt
        return fit(self, *arguments)

    monkeypatch.setattr(KernelRidge, "fit", interrupted)
    with pytest.warns(ConvergenceWarning, match="2 of 4 cells"):
        model = CellMachine(KernelRidge(KERNEL), max_rows=150).fit(X, y)
    assert [cell.ended for cell in model.cells_] == [False, False, True, True]
    fits[:] = [None, None]
    with pytest.raises(KeyboardInterrupt):  # before there is a cell
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_callbacks_of_the_machine_end_the_fit_and_are_not_kept():
    runs = []

    class Watch:
        def __call__(self, iteration, values):
            runs.append(iteration)
            return runs.count(0) == 2

        def __deepcopy__(self, memo):
            raise AssertionError("copies are not told")

    watch = Watch()
    machine = SupportVectorRegressor(KERNEL, C=10.0, callback=watch)
    with pytest.warns(ConvergenceWarning, match="2 of 4 cells"):
        model = CellMachine(machine, max_rows=150).fit(X, y)
    assert machine.callback is watch
    assert [cell.ended for cell in model.cells_] == [False, False, True, True]
    assert all(cell.machine.callback is None for cell in model.cells_[:2])
    ended = pytest.warns(ConvergenceWarning, match="3 of 4 cells")
    with pytest.warns(ConvergenceWarning, match="before its probabilities were fitted"), ended:
        classifier = CellMachine(
            SupportVectorClassifier(KERNEL, probability=True), max_rows=150, callback=lambda *_: True
        ).fit(X, TWO)
    with pytest.raises(NotFittedError, match="predict_proba is not available"):
        classifier.predict_proba(X)


def test_bands_are_whole_or_none():
    with pytest.raises(KeyboardInterrupt):
        CellMachine(QuantileBand(KERNEL), max_rows=150, callback=lambda *_: True).fit(X, y)


def test_an_interrupted_metric_is_no_metric():
    metric = LearnedMetric("Exponential", rotation="none", callback=lambda iteration, _: iteration == 6)
    with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
        CellMachine(KernelRidge(metric=metric)).fit(X, y)


def test_cells_that_do_not_converge_are_told_of_once():
    machine = SupportVectorRegressor(KERNEL, C=10.0, max_iter=1, loss=Quantile(0.3), solver="interior_point")
    with pytest.warns(ConvergenceWarning, match="CellMachine has cells that ended as 'max_iter'; scale") as told:
        model = CellMachine(machine, max_rows=150).fit(X, y)
    assert len(told) == 1
    assert model.status_ == "max_iter"


def test_progress_is_shown(capsys):
    CellMachine(KernelRidge(KERNEL), max_rows=150, verbose=True).fit(X, y)
    assert "Cells" in capsys.readouterr().err


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"machine": OneClassMachine()}, TypeError, "machine of CellMachine must be a regressor or classifier of"),
        ({"machine": "ridge"}, TypeError, "machine of CellMachine must be .* got 'ridge'; take KernelRidge"),
        ({"machine": KernelRidge(Precomputed())}, ValueError, "kernel of the machine of CellMachine must take rows of"),
        ({"machine": KernelRidge(metric="best")}, ValueError, "metric of KernelRidge must be None, 'learned'"),
        ({"max_rows": 19}, ValueError, "max_rows of CellMachine must be a whole number >= 20, got 19"),
        ({"overlap": 0.6}, ValueError, "overlap of CellMachine must be a number from 0 to 0.5, got 0.6"),
        ({"overlap": None}, ValueError, "overlap of CellMachine must be a number from 0 to 0.5, got None"),
        ({"callback": 3}, TypeError, "callback of CellMachine must be callable or None, got 3"),
    ],
)
def test_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        CellMachine(**{"machine": KernelRidge(KERNEL), **parameters}).fit(X, y)


def test_sparse_rows_are_refused():
    with pytest.raises(TypeError, match="(?i)sparse"):
        CellMachine(KernelRidge(KERNEL)).fit(sparse.csr_array(X), y)


def test_classes_too_small_for_sigmoids_are_refused_before_the_fit():
    labels = np.where(np.arange(400) == 7, "rare", TWO)
    with pytest.raises(ValueError, match="must hold two samples or more of every class for probabilities"):
        CellMachine(SupportVectorClassifier(KERNEL, probability=True), max_rows=150).fit(X, labels)


def test_certificates_of_other_rows_are_refused():
    model = CellMachine(SupportVectorClassifier(KERNEL), max_rows=150).fit(X, TWO)
    with pytest.raises(ValueError, match="X, y and sample_weight of certificate must be the training set of Cell"):
        model.certificate(X[:300], TWO[:300])
    with pytest.raises(ValueError, match="y of certificate must hold one of the classes"):
        model.certificate(X, THREE)
