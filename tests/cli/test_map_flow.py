"""What `mercer map` leaves while it works, and what `mercer apply` fills."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode
from mercer.report import MapModel, MapSettings, load_map, make_map, model_bytes, stored_map, table_from_frame
from tests.cli.conftest import blob_frame

FILES = {"embedding.parquet", "model.skops", "report.html", "summary.json", "times.json"}


def test_topologies_and_numbers_of_coordinates_may_be_left_open(run, tmp_path, blobs):
    run("map", blobs.name, "--method", "pca", "--topology", "auto", "--out", "a")
    run("map", blobs.name, "--method", "pca", "--out", "b")
    given, left = (json.loads((tmp_path / place / "summary.json").read_text()) for place in ("a", "b"))
    assert given["n_coordinates"] == left["n_coordinates"] == 2
    assert given["command"] == "mercer map blobs.csv --method pca --out a"


def test_a_process_that_is_killed_leaves_a_map(tmp_path, blobs):
    out = tmp_path / "o"
    waits = (
        "import sys, time, mercer.manifolds as m; m.PrincipalManifold.fit = lambda self, X: time.sleep(600); "
        "from mercer.cli import main; main()"
    )
    process = subprocess.Popen([sys.executable, "-c", waits, "map", blobs.name, "--out", "o", "-q"], cwd=tmp_path)
    try:
        for _ in range(1200):
            if (out / "times.json").exists():
                break
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert {path.name for path in out.iterdir()} == FILES
    summary = json.loads((out / "summary.json").read_text())
    assert summary["partial"]
    assert summary["method"] == "pca"
    assert "Still comparing: a principal manifold, unsupervised kernel regression." in summary["reasons"]
    assert load_map(out / "model.skops").dim == 2


def test_the_last_set_replaces_the_first(run, tmp_path, blobs):
    run("map", blobs.name, "--method", "kpca", "--out", "o")
    assert {path.name for path in (tmp_path / "o").iterdir()} == FILES
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert not summary["partial"]
    assert summary["method"] == "kpca"
    assert not any("Still comparing" in reason for reason in summary["reasons"])


def test_what_does_not_fit_into_memory_leaves_nothing(run, tmp_path, blobs, monkeypatch):
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e8)
    run("map", blobs.name, "--method", "manifold", "--out", "o", code=ExitCode.MEMORY)
    assert not (tmp_path / "o").exists()


@pytest.fixture
def filling(tmp_path, monkeypatch):
    """A model of a table with the columns a, b, b_sd and a category, and the deviations that it would tell."""
    frame = blob_frame().select(a="weight", b="height", b_sd="width", c="colour")
    model = make_map(table_from_frame(frame), MapSettings(method="pca")).model
    (tmp_path / "model.skops").write_bytes(model_bytes(stored_map(model)))

    honest = MapModel.filled_with_deviations

    def told(self, X):
        return honest(self, X)[0], np.where(np.isnan(X), 0.5, np.nan)

    return frame, model, lambda: monkeypatch.setattr(MapModel, "filled_with_deviations", told)


def test_filled_entries_come_with_their_deviations(run, tmp_path, filling):
    frame, model, tell = filling
    scales = {column.name: column.scale for column in model.schema.columns}
    number = pl.int_range(60)
    holes = frame.with_columns(
        b=pl.when(number < 2).then(None).otherwise("b"), c=pl.when(number < 1).then(None).otherwise("c")
    )
    holes.write_csv(tmp_path / "holes.csv")
    run("apply", "model.skops", "holes.csv", "--impute", "--out", "silent.parquet")
    assert pl.read_parquet(tmp_path / "silent.parquet").columns[-4:] == ["a", "b", "b_sd", "c"]
    tell()
    run("apply", "model.skops", "holes.csv", "--impute", "--out", "told.parquet")
    found = pl.read_parquet(tmp_path / "told.parquet")
    assert found.columns[-5:] == ["a", "b", "b_sd", "c", "b_sd (2)"]
    deviations = found["b_sd (2)"].to_list()
    assert deviations[:2] == pytest.approx([0.5 * scales["b"]] * 2)
    assert deviations[2:] == [None] * 58
    assert found["b"].null_count() == found["c"].null_count() == 0
