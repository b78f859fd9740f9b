"""Tables with more rows than one machine takes: cells, and their model files."""

import copy
import re

import numpy as np
import polars as pl
import pytest

from mercer.kernels import Gaussian
from mercer.machines import CellMachine, QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.machines.cell_tree import CellTree
from mercer.report import (
    LearningProblem,
    MachineSettings,
    ModelFileError,
    fit_machine,
    load_machine,
    stored_machine,
    table_from_frame,
)
from mercer.report.learning_pages import machine_summary
from mercer.workflows.large_tables import machine_for, runs_for
from mercer.workflows.progress import Progress
from tests.workflows.model_files.test_checks import first, put, shorter, turn
from tests.workflows.model_files.test_files import saved

N = 150


def make_cells_small(monkeypatch):
    monkeypatch.setattr("mercer.workflows.large_tables.MOST_TOGETHER", 100)
    monkeypatch.setattr("mercer.workflows.large_tables.ROWS_OF_CELL", 50)


@pytest.fixture(autouse=True)
def _small_cells(monkeypatch):
    make_cells_small(monkeypatch)


def a_table(n=N):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.1 * rng.normal(size=n)
    two, three = np.where(y > 0, "a", "b"), np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    return pl.DataFrame({"u": x[:, 0], "v": x[:, 1], "y": y, "two": two, "three": three})


def a_result(target, band=None, progress=None, **settings):
    problem = LearningProblem.read(table_from_frame(a_table().select("u", "v", target)), target)
    settings = MachineSettings(**{"kernel": "gaussian", "band": band, **settings})
    return fit_machine(problem, settings, progress=progress)


@pytest.fixture(scope="module")
def models():
    """Fitted once: with numbers and a band, with two and three classes."""
    with pytest.MonkeyPatch.context() as patch:
        make_cells_small(patch)
        return {"y": a_result("y", 0.8), "two": a_result("two"), "three": a_result("three")}


def test_few_rows_have_the_machine_itself():
    machine = SupportVectorRegressor()
    assert machine_for(100, machine) is machine
    assert machine_for(101, machine).machine is machine
    assert [runs_for(n) for n in (100, 101, 165, 166)] == [1, 4, 4, 8]


@pytest.mark.parametrize("target", ["y", "two", "three"])
def test_many_rows_are_fitted_in_cells_and_stored(models, target, tmp_path):
    result = models[target]
    assert type(result.model.machine) is CellMachine
    assert result.model.machine.tree_.n_cells == 4
    assert result.error < 0.5 * result.guess_error
    assert np.isfinite(result.log_loss) == (target != "y")
    assert machine_summary(result, "")["n_support_vectors"] == len(result.model.machine.support_) > 50
    path = saved(result.model, tmp_path, stored_machine)
    loaded = load_machine(path)
    new = a_table(20)
    assert loaded.predict_table(new)[0].equals(result.model.predict_table(new)[0])
    if target == "y":
        assert type(loaded.band) is CellMachine
        assert result.coverage > 0.6


def test_sigmoids_of_the_checked_machine_serve_that_of_all_rows(models):
    machine = models["two"].model.machine
    assert machine.calibration_ is not None
    assert machine.machine.probability is True
    assert machine.machine.callback is None


def test_a_fit_that_is_stopped_has_what_there_is():
    class StopInTheSecondCell(Progress):
        n_begun = 0

        def __call__(self, words, share=0.0, objective=None):
            self.n_begun += words.startswith("checking") and objective is not None
            return self.n_begun > 2

    result = a_result("y", progress=StopInTheSecondCell(), loss="epsilon")
    assert result.partial
    assert any(cell.ended for cell in result.model.machine.cells_)
    assert result.held_out.height == 30


# Model files ----------------------------------------------------------------------------------------------------------


def of_cell(k, change):
    """A change of the k-th cell."""
    return lambda machine: change(vars(machine)["cells_"][k])


def first_child(value):
    def change(children):
        children = children.copy()
        children[0, 0] = value
        return children

    return change


FORGED = [
    ("y", "machine", put("n_features_in_", 3), "n_features_in_ of its CellMachine must be 2, and is 3"),
    ("y", "machine", put("machine", SupportVectorClassifier()), "machine of its CellMachine must be SupportVectorReg"),
    ("y", "machine", put("machine.metric", "learned"), "metric of its SupportVectorRegressor must be None"),
    ("y", "machine", put("metric_", Gaussian()), "its CellMachine has a metric"),
    ("y", "machine", put("predict", Gaussian()), "its CellMachine has a value where its method predict should be"),
    ("y", "machine", turn("cells_", lambda cells: cells[1:]), "cells_ of its CellMachine must be 4 of Cell"),
    ("y", "machine", turn("cells_", lambda cells: [*cells[1:], Gaussian()]), "cells_ of its CellMachine must be 4 of"),
    ("y", "machine", put("tree_", {}), "tree_ of its CellMachine must be CellTree, and is dict"),
    ("y", "machine", put("tree_.n_cells", 0), "n_cells of its CellTree must be a whole number from 1"),
    ("y", "machine", turn("tree_.directions", shorter), "directions of its CellTree must have the shape (3, 2)"),
    ("y", "machine", turn("tree_.low", first(np.nan)), "low of its CellTree holds numbers that are none"),
    ("y", "machine", turn("tree_.low", first(1e9)), "low of its CellTree is above high"),
    ("y", "machine", turn("tree_.children", first_child(0)), "children of its CellTree are not those of a tree"),
    ("y", "machine", turn("tree_.children", first_child(7)), "children of its CellTree holds positions outside of"),
    ("y", "machine", turn("tree_.children", first_child(-1)), "children of its CellTree are not those of a tree"),
    ("y", "machine", turn("tree_.children", lambda c: c[::-1].copy()), "children of its CellTree are not those of a"),
    ("y", "machine", of_cell(1, put("constant", np.zeros(2))), "constant of its Cell must have the shape ()"),
    ("y", "machine", of_cell(1, put("machine", QuantileBand())), "machine of its Cell must be NoneType or Support"),
    ("y", "machine", of_cell(1, put("machine.n_features_in_", 1)), "n_features_in_ of its SupportVectorRegressor must"),
    ("y", "machine", of_cell(1, turn("machine.dual_coef_", shorter)), "dual_coef_ of its SupportVectorRegressor must"),
    ("y", "band", of_cell(1, put("constant", np.zeros(3))), "constant of its Cell must have the shape (2)"),
    ("y", "band", of_cell(1, put("machine.margin_", "wide")), "margin_ of its QuantileBand must be a number"),
    ("y", "band", of_cell(1, put("machine.lower_", None)), "lower_ of its QuantileBand must be SupportVectorRegressor"),
    ("two", "machine", of_cell(0, put("machine.classes_", np.array([0, 2]))), "classes_ of its SupportVectorClassifi"),
    ("three", "machine", of_cell(0, put("machine.classes_", np.array([1, 0]))), "classes_ of a machine in a cell must"),
    ("three", "machine", put("classes_", np.array(["a", "b"])), "classes_ of its CellMachine must have the shape (3)"),
    ("three", "machine", put("loss_", None), "loss_ of its CellMachine must be Hinge"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "name", "change", "words"), FORGED, ids=[words for *_, words in FORGED])
def test_forged_cells_are_refused(models, tmp_path, target, name, change, words):
    model = copy.deepcopy(models[target].model)
    change(getattr(model, name))
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_machine(saved(model, tmp_path, stored_machine))


def test_trees_that_go_in_circles_are_refused(models, tmp_path):
    model = copy.deepcopy(models["y"].model)
    tree = model.machine.tree_
    children = np.array([[-1, -2], [2, -3], [1, -4]])
    vars(model.machine)["tree_"] = CellTree(tree.directions, tree.low, tree.high, children, 4)
    with pytest.raises(ModelFileError, match="children of its CellTree are not those of a tree"):
        load_machine(saved(model, tmp_path, stored_machine))


def test_a_table_with_one_cell(monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.workflows.large_tables.ROWS_OF_CELL", 200)
    model = a_result("y").model
    assert model.machine.tree_.n_cells == 1
    loaded = load_machine(saved(model, tmp_path, stored_machine))
    assert loaded.predict_table(a_table(5))[0].equals(model.predict_table(a_table(5))[0])
