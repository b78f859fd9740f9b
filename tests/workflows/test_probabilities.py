"""Machines of classes: what they know of probabilities, and what is said of boosted trees."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from mercer.report import (
    LearningProblem,
    MachineSettings,
    Progress,
    fit_machine,
    load_machine,
    machine_files,
    table_from_frame,
)
from mercer.report.learning_pages import machine_verdict


def problem_of(kinds, n=90, *, single=False):
    """Rows around one place for each class; one more class may have a single row."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % kinds
    X = rng.normal(size=(n, 2)) + 2.0 * np.column_stack([codes, codes % 2])
    names = np.array(["a", "b", "c", "alone"])[codes]
    if single:
        names[0] = "alone"
    return LearningProblem.read(table_from_frame(pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": names})), "kind")


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("kinds", [2, 3])
def test_probabilities_of_the_stored_machine(loss, kinds, tmp_path):
    problem = problem_of(kinds)
    result = fit_machine(problem, MachineSettings(loss=loss, kernel="gaussian"))
    path = tmp_path / "model.skops"
    path.write_bytes(machine_files(result, "mercer fit")["model.skops"])
    predicted = load_machine(path).predict(problem.X)
    P = predicted.select(pl.selectors.starts_with("probability of ")).to_numpy()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.shape[1] == kinds
    assert 0 < result.log_loss < np.log(kinds)
    assert "The log loss of its probabilities is" in machine_verdict(result)


def test_a_class_of_a_single_row_has_no_sigmoid(tmp_path):
    problem = problem_of(2, single=True)
    result = fit_machine(problem, MachineSettings(kernel="gaussian"))
    assert any("There are no probabilities" in said for said in result.warnings)
    assert result.model.predict(problem.X).columns == ["kind"]
    path = tmp_path / "model.skops"
    path.write_bytes(machine_files(result, "mercer fit")["model.skops"])
    assert load_machine(path).predict(problem.X).columns == ["kind"]
    assert "log loss" not in machine_verdict(result)


class StoppedDuring(Progress):
    """Ends the work once a stage has begun."""

    def __init__(self, words):
        self._words, self._begun = words, False

    def __call__(self, words, share=0.0, objective=None):
        ends = self._begun
        self._begun = words == self._words
        return ends


@pytest.mark.parametrize("words", ["checking on held-out rows", "fitting all rows"])
def test_machines_that_were_stopped_predict(words, tmp_path):
    problem = problem_of(3)
    result = fit_machine(problem, MachineSettings(kernel="gaussian"), progress=StoppedDuring(words))
    assert result.partial
    path = tmp_path / "model.skops"
    path.write_bytes(machine_files(result, "mercer fit")["model.skops"])
    predicted = load_machine(path).predict(problem.X)
    assert set(predicted["kind"]) <= {"a", "b", "c"}
    assert result.model.has_probabilities == (len(predicted.columns) == 4)


def test_trees_that_are_better_are_said_to_be():
    result = fit_machine(problem_of(2), MachineSettings(kernel="gaussian"))
    sentence = "The trees are better than this machine, by more than chance: prefer them for this table."
    assert sentence in machine_verdict(replace(result, trees_are_better=True))
    assert sentence not in machine_verdict(replace(result, trees_are_better=False))
