"""The commands on tables that can be used."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from mercer.cli.exit_codes import ExitCode
from mercer.datasets import make_arc, make_sinc
from mercer.report import METHODS
from tests.cli.conftest import blob_frame, only_file_is

RESULTS = ("embedding.parquet", "model.skops", "report.html", "summary.json", "times.json")


def test_help_tells_of_commands_and_exit_codes(run):
    said = run("--help").output
    for word in ("map", "apply", "diagnose", "fit", "predict", "relate", "demo", "130"):
        assert word in said
    assert run("--version").output.startswith("mercer ")


def test_map_writes_its_files(run, tmp_path, blobs):
    said = run("map", blobs.name, "--label", "kind", "--method", "pca").output
    assert "blobs-map/report.html" in said
    only_file_is(tmp_path / "blobs-map", *RESULTS)
    embedding = pl.read_parquet(tmp_path / "blobs-map/embedding.parquet")
    assert embedding.columns == ["row", "kind", "coordinate_1", "coordinate_2", "distance", "far"]
    summary = json.loads((tmp_path / "blobs-map/summary.json").read_text())
    assert summary["method"] == "pca"
    assert summary["quality"]["pca"]["label_agreement"] > 0.9
    assert summary["command"] == "mercer map blobs.csv --label kind --method pca"


def test_the_same_command_gives_the_same_files(run, tmp_path):
    X, _ = make_arc(60, noise=0.1, random_state=0)
    files = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        frame = pl.DataFrame({"x": X[:, 0], "y": X[:, 1], "z": X[:, 0] * X[:, 1]})
        frame.write_csv(tmp_path / place / "arc.csv")
        command = [
            sys.executable,
            "-c",
            "from mercer.cli import main; main()",
            "map",
            "arc.csv",
            "--dim",
            "1",
            "--out",
            "o",
        ]
        subprocess.run([*command, "--quiet"], cwd=tmp_path / place, check=True)
        files.append({path.name: path.read_bytes() for path in (tmp_path / place / "o").iterdir()})
    assert set(files[0]) == set(RESULTS)
    for name in set(RESULTS) - {"times.json"}:
        assert files[0][name] == files[1][name], name


def test_auto_tries_all_and_finds_a_curve(run, tmp_path):
    X, _ = make_arc(120, angle=4.0, noise=0.05, random_state=0)
    rng = np.random.default_rng(0)
    columns = {"x": X[:, 0], "y": X[:, 1], "z": X[:, 0] ** 2, "w": X[:, 1] * X[:, 0]}
    frame = pl.DataFrame({name: values + 0.05 * rng.normal(size=120) for name, values in columns.items()})
    frame.write_csv(tmp_path / "arc.csv")
    result = run("map", "arc.csv", "--dim", "1", "--json", "--out", "o")
    summary = json.loads(result.stdout)
    assert summary == json.loads((tmp_path / "o/summary.json").read_text())
    assert set(summary["quality"]) == {"pca", "manifold", "ukr"}
    assert summary["not_compared"] == ["kpca", "eigenmaps"]
    assert summary["method"] == "manifold"
    assert "curve" in summary["verdict"]
    assert summary["quality"]["manifold"]["hidden_entries"] < 0.5 * summary["quality"]["pca"]["hidden_entries"]


def test_auto_says_that_there_is_no_structure(run, tmp_path):
    noise = np.random.default_rng(0).normal(size=(80, 3))
    pl.DataFrame({f"x{j}": noise[:, j] for j in range(3)}).write_csv(tmp_path / "noise.csv")
    said = " ".join(run("map", "noise.csv", "--method", "manifold", "--dim", "1", "--out", "o").output.split())
    assert "No structure was found" in said


def test_auto_says_that_principal_components_are_enough(run, tmp_path):
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=100)
    frame = pl.DataFrame({f"x{j}": (1 + j) * t + 0.1 * rng.normal(size=100) for j in range(3)})
    frame.write_csv(tmp_path / "line.csv")
    said = " ".join(run("map", "line.csv", "--method", "manifold", "--dim", "1", "--out", "o").output.split())
    assert "Principal components are enough" in said


@pytest.mark.parametrize("dim", ["1", "2"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_report(run, tmp_path, method, dim):
    X, _ = make_arc(40, angle=4.0, noise=0.05, random_state=0)
    pl.DataFrame({"x": X[:, 0], "y": X[:, 1], "z": X[:, 0] * X[:, 1]}).write_csv(tmp_path / "arc.csv")
    run("map", "arc.csv", "--method", method, "--dim", dim, "--out", "o")
    assert json.loads((tmp_path / "o/summary.json").read_text())["method"] == method
    page = (tmp_path / "o/report.html").read_text()
    for words in ("How it was chosen", "Density", "What places on the map stand for", "To repeat this"):
        assert words in page


def test_quiet_says_nothing(run, blobs):
    assert run("map", blobs.name, "--method", "pca", "--quiet", "--out", "o").output == ""


# The clock may strike where Python ignores errors, and says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_gives_what_there_is(run, tmp_path):
    rows = np.random.default_rng(0).normal(size=(1500, 12))
    pl.DataFrame({f"x{j}": rows[:, j] for j in range(12)}).write_csv(tmp_path / "much.csv")
    run("map", "much.csv", "--time-limit", "3", "--out", "o")
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert summary["partial"]
    assert "Partial." in (tmp_path / "o/report.html").read_text()


def test_ctrl_c_writes_what_there_is_and_tells(run, tmp_path, blobs, monkeypatch):
    from mercer.manifolds import PrincipalManifold

    def interrupted(self, X, y=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrincipalManifold, "fit", interrupted)
    said = run("map", blobs.name, "--out", "o", code=ExitCode.STOPPED).output
    assert "Partial: the work was stopped" in said
    only_file_is(tmp_path / "o", *RESULTS)
    monkeypatch.setattr("mercer.workflows.methods.PCA", lambda *args, **options: interrupted(None, None))
    said = run("map", blobs.name, "--out", "p", code=ExitCode.STOPPED).output
    assert "stopped before there was anything to write" in said
    only_file_is(tmp_path / "p")


@pytest.mark.slow
def test_ctrl_c_from_the_keyboard(tmp_path):
    T = np.random.default_rng(0).uniform(-3, 3, size=(2000, 2))
    columns = {"a": np.sin(T[:, 0]), "b": np.cos(T[:, 0]), "c": T[:, 1], "d": T[:, 0] * T[:, 1], "e": T[:, 1] ** 2}
    pl.DataFrame(columns).write_csv(tmp_path / "much.csv")
    command = [sys.executable, "-c", "from mercer.cli import main; main()", "map", "much.csv", "--out", "o"]
    # As a terminal does it: a process that is asked to stop while it works.
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, preexec_fn=_hear_ctrl_c)
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=100)
    assert process.returncode == ExitCode.STOPPED
    assert "Partial: the work was stopped" in said
    only_file_is(tmp_path / "o", *RESULTS)


@pytest.fixture
def line(tmp_path):
    x = np.random.default_rng(0).uniform(-2, 2, size=(40, 2))
    pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.sin(x[:, 0])}).write_csv(tmp_path / "line.csv")
    return ("fit", "line.csv", "--target", "y", "--kernel", "gaussian", "--band", "0.8")


@pytest.mark.parametrize(("n_before", "columns"), [(0, 0), (5, 0), (12, 0), (13, 2), (20, 2)])
def test_ctrl_c_while_a_machine_is_fitted(run, tmp_path, line, monkeypatch, n_before, columns):
    """A machine, five folds of a band and the band, of two machines each, are fitted to most rows, then to all."""
    from mercer.machines import SupportVectorRegressor

    fit, n_fits = SupportVectorRegressor.fit, [0]

    def soon_interrupted(self, *args):
        fit(self, *args)
        n_fits[0] += 1
        if n_fits[0] > n_before:
            self.status_ = "interrupted"  # as solvers say it, which keep what they have
        return self

    monkeypatch.setattr(SupportVectorRegressor, "fit", soon_interrupted)
    said = run(*line, "--out", "o", code=ExitCode.STOPPED).output
    assert "Partial: the work was stopped" in said
    only_file_is(tmp_path / "o", "model.skops", "report.html", "summary.json", "times.json")
    assert json.loads((tmp_path / "o/summary.json").read_text())["partial"]
    assert "Partial." in (tmp_path / "o/report.html").read_text()
    run("predict", "o/model.skops", "line.csv", "--out", "p.csv")
    assert len({"y_low", "y_high"} & set(pl.read_csv(tmp_path / "p.csv").columns)) == columns
    told = "The band for 80% is not there" in " ".join(said.split())
    assert told == (columns == 0)
    assert told == ("The band for 80% is not there" in (tmp_path / "o/report.html").read_text())


def test_ctrl_c_before_there_is_a_machine(run, tmp_path, line, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.workflows.kernel_choice.KernelRidge", interrupted)
    assert "stopped before there was anything to write" in run(*line, "--out", "o", code=ExitCode.STOPPED).output
    only_file_is(tmp_path / "o")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_of_a_machine(run, tmp_path, line, monkeypatch):
    from mercer.workflows import learning

    fitted = learning.Fitter.fitted

    def slow(self, words, X, y):
        if words == learning._FITTING:
            time.sleep(60)  # the clock ends it
        return fitted(self, words, X, y)

    monkeypatch.setattr(learning.Fitter, "fitted", slow)
    run(*line, "--out", "o", "--time-limit", "4")
    assert json.loads((tmp_path / "o/summary.json").read_text())["partial"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_of_a_metric(run, tmp_path, line, monkeypatch):
    """The metric so far makes a machine."""
    from mercer.metrics.search import Search

    monkeypatch.setattr(Search, "_refined", lambda self, *words: time.sleep(60))  # the clock ends it
    run("fit", "line.csv", "--target", "y", "--out", "o", "--time-limit", "6")
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert summary["partial"]
    assert summary["error"] < summary["error_of_guessing"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_band_that_the_time_limit_took_is_told_everywhere(run, tmp_path, line, monkeypatch):
    from mercer.machines import QuantileBand

    monkeypatch.setattr(QuantileBand, "fit", lambda self, X, y: time.sleep(60))
    said = run(*line, "--out", "o", "--time-limit", "4").output
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    for text in (said, " ".join(summary["warnings"]), (tmp_path / "o/report.html").read_text()):
        assert "The band for 80% is not there" in " ".join(text.split())
    assert summary["partial"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, ExitCode.STOPPED), (signal.SIGTERM, ExitCode.TERMINATED)])
def test_signals_in_the_demo(run, tmp_path, monkeypatch, number, code):
    from mercer.report.demo import STATIONS, Findings

    def stopped_tour():
        yield STATIONS[-1], Findings({"report.html": b"<p>circle</p>"}, "A circle.", "")
        signal.raise_signal(number)

    monkeypatch.setattr("mercer.report.demo.tour", stopped_tour)
    said = run("demo", "--out", "tour", code=code).output
    assert "A circle." in said
    only_file_is(tmp_path / "tour", "circle", "index.html", "summary.json", "times.json")
    assert "Partial." in (tmp_path / "tour/index.html").read_text()


def test_the_shell_completes_values(tmp_path):
    command = Path(sys.executable).with_name("mercer")
    words = {"_MERCER_COMPLETE": "complete_bash", "COMP_WORDS": "mercer map t.csv --method ma", "COMP_CWORD": "4"}
    result = subprocess.run([command], env={**os.environ, **words}, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["manifold"]


def _hear_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_new_rows_in_another_order_with_more_and_fewer_columns(run, tmp_path, blobs):
    run("map", blobs.name, "--drop", "kind", "--method", "pca", "--out", "o")
    trained = pl.read_parquet(tmp_path / "o/embedding.parquet")
    new = blob_frame().select("colour", "width", "weight", "height", pl.lit(1).alias("extra"))
    new.write_parquet(tmp_path / "new.parquet")
    said = run("apply", "o/model.skops", "new.parquet", "--out", "c.parquet").output
    assert "Columns that the model does not know are ignored: extra" in said
    applied = pl.read_parquet(tmp_path / "c.parquet")
    for name in ("coordinate_1", "coordinate_2", "distance"):
        np.testing.assert_allclose(applied[name], trained[name], atol=1e-8)
    new.drop("width").write_parquet(tmp_path / "fewer.parquet")
    said = run("apply", "o/model.skops", "fewer.parquet", "--out", "d.csv", code=ExitCode.INPUT).output
    assert "got none called width" in " ".join(said.split())
    assert not (tmp_path / "d.csv").exists()
    said = run("apply", "o/model.skops", "fewer.parquet", "--impute", "--out", "d.csv").output
    assert "Columns that are not there count as missing: width" in said
    filled = pl.read_csv(tmp_path / "d.csv")
    # The group tells more of the width than its mean does.
    assert np.corrcoef(filled["width"], new["width"])[0, 1] > 0.7


def test_unknown_categories_and_far_rows(run, tmp_path, blobs):
    run("map", blobs.name, "--drop", "kind", "--method", "pca", "--out", "o")
    strange = blob_frame(4).with_columns(colour=pl.lit("green"), weight=pl.Series([0.0, 1.0, 2.0, 90.0]))
    strange.write_csv(tmp_path / "strange.csv")
    said = " ".join(run("apply", "o/model.skops", "strange.csv", "--out", "c.csv").output.split())
    assert "values that the model does not know count as missing: green" in said
    assert "1 of 4 rows lie far from the map" in said
    assert pl.read_csv(tmp_path / "c.csv")["far"].to_list() == [False, False, False, True]


def test_coordinates_lead_back_to_rows(run, tmp_path, blobs):
    run("map", blobs.name, "--dim", "6", "--method", "pca", "--drop", "kind", "--out", "o", code=ExitCode.INPUT)
    run("map", blobs.name, "--dim", "5", "--method", "pca", "--drop", "kind", "--out", "o")
    run("apply", "o/model.skops", "o/embedding.parquet", "--inverse", "--out", "back.csv")
    back, rows = pl.read_csv(tmp_path / "back.csv"), blob_frame()
    np.testing.assert_allclose(back["weight"], rows["weight"], atol=1e-8)
    assert back["colour"].to_list() == rows["colour"].to_list()
    said = run("apply", "o/model.skops", blobs.name, "--inverse", "--out", "b.csv", code=ExitCode.INPUT).output
    assert "must have the columns coordinate_1" in " ".join(said.split())


def test_apply_refuses_what_is_no_model(run, tmp_path, blobs):
    assert "is not a model file" in run("apply", blobs.name, blobs.name, code=ExitCode.MODEL).output
    said = run("apply", blobs.name, blobs.name, "--out", "c.xlsx", code=ExitCode.USAGE).output
    assert "must end in .parquet or .csv" in " ".join(said.replace("│", " ").split())


@pytest.fixture
def sinc(tmp_path):
    X, y = make_sinc(200, noise=0.1, random_state=0)
    noise = np.random.default_rng(0).normal(size=200)
    pl.DataFrame({"x": X[:, 0], "noise": noise, "y": y}).write_csv(tmp_path / "sinc.csv")
    return "sinc.csv"


def test_diagnose(run, tmp_path, sinc):
    said = run("diagnose", sinc, "--target", "y", "--out", "o").output
    assert "noise at most" in said.lower()
    only_file_is(tmp_path / "o", "report.html", "summary.json", "times.json")
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    # Standard deviations of the target for one of the column.
    assert summary["columns"]["x"] > 1 > 10 * summary["columns"]["noise"]
    assert 0 <= summary["noise"]["at_least"] <= summary["noise"]["at_most"] < 0.5
    assert 0 < summary["noise_level"] < 0.5
    assert summary["command"] == "mercer diagnose sinc.csv --target y --out o"


def test_fit_and_predict_numbers_with_a_band(run, tmp_path, sinc):
    run("fit", sinc, "--target", "y", "--drop", "noise", "--band", "0.8", "--out", "o")
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert summary["error"] < 0.6 * summary["error_of_guessing"]
    run("predict", "o/model.skops", sinc, "--out", "p.csv")
    predicted, truth = pl.read_csv(tmp_path / "p.csv"), pl.read_csv(tmp_path / sinc)
    assert predicted.columns == ["row", "y (given)", "y", "y_low", "y_high", "distance", "far"]
    assert float(((predicted["y"] - truth["y"]) ** 2).mean()) < 0.3 * float(truth["y"].var())
    inside = (truth["y"] >= predicted["y_low"] - 1e-3) & (truth["y"] <= predicted["y_high"] + 1e-3)
    assert 0.65 < inside.mean() < 0.95


def test_fit_and_predict_classes(run, tmp_path, blobs):
    run("fit", blobs.name, "--target", "kind", "--out", "o")
    run("predict", "o/model.skops", blobs.name, "--out", "p.csv")
    predicted = pl.read_csv(tmp_path / "p.csv")
    assert (predicted["kind"] == blob_frame()["kind"]).mean() > 0.9
    columns = [f"probability of {name}" for name in sorted(set(blob_frame()["kind"]))]
    np.testing.assert_allclose(predicted.select(columns).to_numpy().sum(axis=1), 1.0)
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert 0 < summary["log_loss"] < 0.5
    assert summary["log_loss_of_boosted_trees"] > 0
    said = run("fit", blobs.name, "--target", "kind", "--loss", "huber", "--out", "o", code=ExitCode.INPUT).output
    assert "--loss must be one of squared_hinge, hinge" in said
    said = run("fit", blobs.name, "--target", "kind", "--band", "0.9", "--out", "o", code=ExitCode.INPUT).output
    assert "--band is for numbers" in said
    for options in (("--loss", "magic"), ("--kernel", "magic"), ("--band", "1.5")):
        run("fit", blobs.name, "--target", "kind", *options, code=ExitCode.USAGE)
    run("apply", "o/model.skops", blobs.name, code=ExitCode.MODEL)


@pytest.mark.slow
def test_eigenmaps_of_many_rows(run, tmp_path):
    rng = np.random.default_rng(0)
    t, height = rng.uniform(1, 10, 20_000), rng.uniform(0, 5, 20_000)
    columns = {"x": t * np.cos(t), "y": t * np.sin(t), "height": height, "w": np.sqrt(t)}
    pl.DataFrame(columns).write_parquet(tmp_path / "roll.parquet")
    run("map", "roll.parquet", "--method", "eigenmaps", "--out", "o")
    run("apply", "o/model.skops", "roll.parquet", "--out", "c.parquet")
    trained, applied = pl.read_parquet(tmp_path / "o/embedding.parquet"), pl.read_parquet(tmp_path / "c.parquet")
    np.testing.assert_allclose(applied["coordinate_1"], trained["coordinate_1"], atol=1e-8)
    # The first coordinate runs along the roll.
    assert abs(spearmanr(trained["coordinate_1"], t).statistic) > 0.99


@pytest.mark.slow
def test_demo(run, tmp_path):
    said = run("demo", "--out", "tour").output
    assert "tour/index.html" in said
    files = ("index.html", "summary.json", "times.json")
    only_file_is(tmp_path / "tour", *files, "circle", "diagnosis", "machine", "digits")
    assert (tmp_path / "tour/index.html").read_text().count("<svg") == 4


@pytest.mark.slow
def test_digits_are_mapped_better_than_by_principal_components(run, tmp_path):
    from sklearn.datasets import load_digits

    load_digits(as_frame=True).frame.to_csv(tmp_path / "digits.csv", index=False)
    run("map", "digits.csv", "--label", "target", "--out", "o")
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    pca = summary["quality"]["pca"]
    for name in (summary["method"], "manifold", "ukr"):
        quality = summary["quality"][name]
        assert quality["label_agreement"] > pca["label_agreement"] + 0.3
        assert quality["reconstruction"] < 0.4 * pca["reconstruction"]
        assert quality["hidden_entries"] < 0.5 * pca["hidden_entries"]


def test_coordinates_that_are_nowhere(run, tmp_path):
    X, _ = make_arc(40, noise=0.1, random_state=0)
    pl.DataFrame({"x": X[:, 0], "y": X[:, 1]}).write_csv(tmp_path / "arc.csv")
    run("map", "arc.csv", "--dim", "1", "--method", "manifold", "--out", "o")
    for value, words in (
        ("5.0", "These coordinates are not on the map"),
        ("inf", "must be finite numbers for --inverse"),
    ):
        (tmp_path / "z.csv").write_text(f"coordinate_1,other\n{value},1\n0.5,2\n")
        said = run("apply", "o/model.skops", "z.csv", "--inverse", "--out", "b.csv", code=ExitCode.INPUT).output
        assert words in " ".join(said.split())
    (tmp_path / "n.csv").write_text("x,y\n1.0,0.0\nNA,NA\n")
    said = run("apply", "o/model.skops", "n.csv", "--out", "c.csv").output
    assert "1 row has no usable entry" in said
    assert pl.read_csv(tmp_path / "c.csv")["coordinate_1"].null_count() == 1


def test_a_map_is_coloured_by_a_machine(run, tmp_path, blobs):
    run("fit", blobs.name, "--target", "weight", "--kernel", "linear", "--out", "m", "--quiet")
    run("map", blobs.name, "--method", "pca", "--color-by", "m/model.skops", "--out", "o", "--quiet")
    assert "predicted weight" in (tmp_path / "o/report.html").read_text()
    run("map", blobs.name, "--method", "pca", "--color-by", "o/model.skops", "--out", "p", code=ExitCode.MODEL)
