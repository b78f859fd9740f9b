"""Where results go: what is there already is replaced only if that is sure to be meant, and names may be anything."""

import os
import subprocess

import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode
from tests.cli.conftest import blob_frame, only_file_is
from tests.cli.test_stopping import MERCER

FAST = ("--method", "pca", "--out", "o")


@pytest.fixture
def models(run, blobs):
    run("map", blobs, "--drop", "kind", *FAST)
    run("fit", blobs, "--target", "kind", "--kernel", "linear", "--out", "m")
    return {"apply": "o/model.skops", "predict": "m/model.skops"}


@pytest.mark.parametrize("command", ["apply", "predict"])
@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_tables_that_are_there_are_replaced_by_force_only(run, tmp_path, blobs, models, monkeypatch, command, name):
    (tmp_path / name).write_text("mine")
    words = (command, models[command], blobs, "--out", name)
    monkeypatch.setattr("mercer.report.read_table", lambda *args, **options: 1 / 0)  # it is told before
    said = run(*words, code=ExitCode.OUTPUT).output
    assert f"Nothing was written to {name}: there is a file already" in " ".join(said.split())
    assert (tmp_path / name).read_text() == "mine"
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    run(*words, "--force")
    assert (tmp_path / name).read_bytes() != b"mine"


@pytest.mark.parametrize(("name", "words"), [("d.csv", "it is no file"), ("none/r.csv", "No such file or directory")])
def test_places_for_tables_are_tried_before_the_work(run, tmp_path, blobs, models, monkeypatch, name, words):
    (tmp_path / "d.csv").mkdir()
    monkeypatch.setattr("mercer.report.read_table", lambda *args, **options: 1 / 0)
    assert words in run("apply", models["apply"], blobs, "--out", name, "--force", code=ExitCode.OUTPUT).output


def test_files_of_others_in_a_folder_of_mercer(run, tmp_path, blobs):
    run("diagnose", blobs, "--target", "kind", "--out", "o")
    (tmp_path / "o/model.skops").write_text("mine")
    said = run("fit", blobs, "--target", "kind", "--kernel", "linear", "--out", "o", code=ExitCode.OUTPUT).output
    assert "model.skops is there, and Mercer did not write it" in " ".join(said.split())
    assert (tmp_path / "o/model.skops").read_text() == "mine"


def test_the_demo_looks_at_all_folders_first(run, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.report.demo.tour", lambda: 1 / 0)
    (tmp_path / "demo/machine").mkdir(parents=True)
    (tmp_path / "demo/machine/diabetes.csv").write_text("mine")
    assert "diabetes.csv is there" in " ".join(run("demo", code=ExitCode.OUTPUT).output.split())


LONG = 300 * "n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("map", f"{LONG}.csv"), ExitCode.OUTPUT),
        (("map", f"{LONG}.csv", "--out", "r"), ExitCode.INPUT),
        (("fit", f"{LONG}.csv", "--target", "kind", "--out", "r"), ExitCode.INPUT),
        (("map", "blobs.csv", "--out", LONG), ExitCode.OUTPUT),
        (("map", "blobs.csv", "--out", f"{LONG}/o"), ExitCode.OUTPUT),
        (("map", "blobs.csv", "--label", LONG), ExitCode.INPUT),
        (("apply", LONG, "blobs.csv"), ExitCode.MODEL),
        (("apply", "o/model.skops", f"{LONG}.csv"), ExitCode.OUTPUT),
        (("apply", "o/model.skops", f"{LONG}.csv", "--out", "r.csv"), ExitCode.INPUT),
        (("predict", "o/model.skops", "blobs.csv", "--out", f"{LONG}.csv"), ExitCode.OUTPUT),
    ],
)
def test_names_that_are_too_long(run, blobs, words, code):
    if words[1].endswith(".skops"):
        run("map", blobs, *FAST)
    run(*words, code=code)


def test_a_table_whose_results_would_have_too_long_a_name(run, tmp_path, blobs):
    blobs.rename(tmp_path / f"{250 * 'n'}.csv")
    said = run("fit", f"{250 * 'n'}.csv", "--target", "kind", code=ExitCode.OUTPUT).output
    assert "File name too long; choose another place with --out" in " ".join(said.split())


def test_columns_with_long_names(run, tmp_path):
    frame = blob_frame().rename({"weight": LONG, "kind": LONG + "2"})
    frame.write_csv(tmp_path / "t.csv")
    run("map", "t.csv", "--label", LONG + "2", *FAST)
    run("fit", "t.csv", "--target", LONG, "--kernel", "linear", "--out", "m")
    run("predict", "m/model.skops", "t.csv", "--out", "p.csv")
    assert f"{LONG} (given)" in pl.read_csv(tmp_path / "p.csv").columns
    only_file_is(tmp_path, "m", "o", "p.csv", "t.csv")


@pytest.mark.parametrize(
    "words", [("map", "t.csv", "--dim", "0"), ("map",), ("nonsense",), ("fit", "t.csv", "--seed", "x")]
)
def test_wrong_commands_where_standard_error_cannot_be_written(tmp_path, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*MERCER, *words], cwd=tmp_path, stderr=full, check=False)
    assert done.returncode == ExitCode.USAGE
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*MERCER, *words], cwd=tmp_path, stderr=writing, check=False)
    os.close(writing)
    assert done.returncode == ExitCode.USAGE
