import numpy as np
import polars as pl
import pytest

from mercer.metrics import LearnedMetric
from mercer.report import (
    LearningProblem,
    MachineSettings,
    fit_machine,
    load_machine,
    machine_files,
    table_from_frame,
)
from mercer.report.learning_pages import machine_verdict
from mercer.workflows.kernel_choice import MetricRows
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.stored import _metric


@pytest.fixture(scope="module")
def friedman():
    """Five columns that matter, two of them together, five that do not, and a category that does not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    columns = {f"x{j}": X[:, j] for j in range(10)}
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, size=400)]
    frame = pl.DataFrame({**columns, "colour": colour, "y": y + rng.normal(size=400)})
    return LearningProblem.read(table_from_frame(frame), "y")


@pytest.fixture(scope="module")
def result(friedman):
    return fit_machine(friedman)


def test_a_metric_is_learned(friedman, result):
    assert result.error < fit_machine(friedman, MachineSettings(metric="none")).error
    assert result.error < result.trees_error
    names = [name for name, _ in result.learned.columns]
    assert set(names[:5]) == {f"x{j}" for j in range(5)}
    assert {"colour", *(f"x{j}" for j in range(10))} == set(names)
    assert result.learned.pairs[0][:2] == ("x0", "x1")
    assert "Squared" in repr(result.loss)


def test_what_trees_have_is_said(result):
    assert f"HistGradientBoosting) have ± {result.trees_error:.3g}." in machine_verdict(result)


def test_named_kernels_have_no_metric(friedman):
    result = fit_machine(friedman, MachineSettings(kernel="gaussian"))
    assert result.learned is None
    assert result.model.metric is None


def test_the_metric_is_part_of_the_model_file(result, friedman, tmp_path):
    files = machine_files(result, "mercer fit")
    (tmp_path / "model.skops").write_bytes(files["model.skops"])
    frame = friedman.table.frame
    loaded = load_machine(tmp_path / "model.skops").predict_table(frame)[0]
    assert loaded.equals(result.model.predict_table(frame)[0])
    assert b"What the columns do" in files["report.html"]
    assert b"x0 and x1" in files["report.html"]


def test_classes_have_a_metric(friedman):
    frame = friedman.table.frame.with_columns(
        kind=pl.when(pl.col("y") > 14).then(pl.lit("high")).otherwise(pl.lit("low"))
    )
    result = fit_machine(LearningProblem.read(table_from_frame(frame.drop("y")), "kind"))
    assert result.error < 0.5 * result.guess_error
    assert 0 <= result.trees_error <= 0.5
    assert "HistGradientBoosting) have" in machine_verdict(result)


def test_missing_entries_stay_missing_in_the_model(tmp_path):
    """That an entry is missing tells of the target here."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    hidden = rng.random(150) < 0.3
    shown = [None if gone else value for gone, value in zip(hidden, X[:, 1], strict=True)]
    frame = pl.DataFrame({"a": X[:, 0], "b": shown, "y": X[:, 0] + 2.0 * hidden})
    result = fit_machine(LearningProblem.read(table_from_frame(frame), "y"))
    assert result.error < 0.3 * result.guess_error
    importance = dict(result.learned.columns)
    assert 0.5 < importance["b"] < 2
    files = machine_files(result, "mercer fit")
    (tmp_path / "model.skops").write_bytes(files["model.skops"])
    loaded = load_machine(tmp_path / "model.skops")
    assert loaded.predict_table(frame)[0].equals(result.model.predict_table(frame)[0])
    known, unknown = (loaded.predict(np.array([[0.0, value]]))["y"][0] for value in (0.0, np.nan))
    assert unknown - known == pytest.approx(2.0, abs=0.5)


def test_metrics_of_rows_take_missing_entries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    metric = LearnedMetric().fit(X, np.nan_to_num(X[:, 0]) + np.isnan(X[:, 1]))
    np.testing.assert_allclose(MetricRows.of(metric).transform(X), metric.transform(X), atol=1e-10)


def test_metrics_of_the_first_files_took_missing_entries_for_zeros():
    metric = _metric([np.eye(2), np.zeros(2)], 2)
    np.testing.assert_array_equal(metric.transform(np.array([[np.nan, 1.0]])), [[0.0, 1.0]])
    with pytest.raises(Refused, match="its metric is no matrix with a shift"):
        _metric([np.eye(2)], 2)
    with pytest.raises(Refused, match="missing of its MetricRows must have the shape"):
        _metric([np.eye(2), np.zeros(2), np.zeros((3, 2))], 2)
