"""What commands promise: of held-out rows in a fit, of kernels in a diagnosis, of stored machines, and of plans."""

import json

import numpy as np
import polars as pl
import pytest

from mercer.capacity import binomial_bound, samples_for_promise
from mercer.cli.exit_codes import ExitCode
from tests.cli.conftest import blob_frame


def said(result):
    return " ".join(result.output.split())


@pytest.fixture
def machine(run, tmp_path):
    """A machine that tells big from small, and a table that it was not fitted to."""
    frame = blob_frame(240)
    frame[:120].write_csv(tmp_path / "old.csv")
    frame[120:].write_csv(tmp_path / "new.csv")
    said = run("fit", "old.csv", "--target", "kind", "--out", "o").output
    return " ".join(said.split())


def test_fit_tells_of_wrong_rows_and_of_leave_one_out(machine, tmp_path):
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    n_wrong, n = round(summary["error"] * summary["n_held_out"]), summary["n_held_out"]
    bound = binomial_bound(n_wrong, n, 0.05)
    assert summary["promise"] == {"n_wrong": n_wrong, "n": n, "below": bound, "confidence": 0.95}
    assert f"{n_wrong} of {n} wrong; below {100 * bound:.3g}% with 95% confidence" in machine
    assert 0.0 <= summary["leave_one_out_error"] < 0.2
    assert "Leave-one-out error" in machine
    assert "Leave-one-out error" in (tmp_path / "o/report.html").read_text()


def test_new_rows_certify_a_machine(run, machine):
    words = said(run("certify", "o/model.skops", "new.csv"))
    assert "of 120 wrong; below" in words
    assert "with 95% confidence" in words
    summary = json.loads(run("certify", "o/model.skops", "new.csv", "--confidence", "0.99", "--json").stdout)
    assert summary["kind"] == "certificate"
    assert summary["bound"] == pytest.approx(binomial_bound(summary["n_wrong"], 120, 0.01))
    assert not summary["vacuous"]
    assert run("certify", "o/model.skops", "new.csv", "--quiet").output == ""


def test_training_rows_are_refused(run, machine, tmp_path):
    words = said(run("certify", "o/model.skops", "old.csv", code=ExitCode.INPUT))
    assert "old.csv must hold rows that the machine has never seen, got 120 of 120 that it was fitted to" in words
    both = pl.concat([pl.read_csv(tmp_path / "new.csv"), pl.read_csv(tmp_path / "old.csv")[:1]])
    both.write_csv(tmp_path / "both.csv")
    assert "got 1 of 121" in said(run("certify", "o/model.skops", "both.csv", code=ExitCode.INPUT))


def test_another_column_may_hold_the_truth(run, machine, tmp_path):
    frame = pl.read_csv(tmp_path / "new.csv").rename({"kind": "really"})
    frame.write_csv(tmp_path / "other.csv")
    assert "of 120 wrong" in said(run("certify", "o/model.skops", "other.csv", "--target", "really"))
    words = said(run("certify", "o/model.skops", "other.csv", code=ExitCode.INPUT))
    assert "kind" in words
    frame.with_columns(really=pl.lit(None, dtype=pl.String)).write_csv(tmp_path / "empty.csv")
    words = said(run("certify", "o/model.skops", "empty.csv", "--target", "really", code=ExitCode.INPUT))
    assert "must have rows with a known really, got none" in words
    half = frame.with_columns(really=pl.when(pl.int_range(pl.len()) < 60).then(pl.col("really")))
    half.write_csv(tmp_path / "half.csv")
    words = said(run("certify", "o/model.skops", "half.csv", "--target", "really"))
    assert "60 rows without really were left out" in words
    assert "of 60 wrong" in words


def test_labels_that_were_never_seen_are_wrong(run, machine, tmp_path):
    frame = pl.read_csv(tmp_path / "new.csv").with_columns(kind=pl.lit("huge"))
    frame.write_csv(tmp_path / "huge.csv")
    words = said(run("certify", "o/model.skops", "huge.csv"))
    assert "120 of 120 wrong; below 100%" in words
    assert "vacuous" in words


def test_numbers_are_certified_with_clipped_errors(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 500)
    frame = pl.DataFrame({"x": x, "y": np.sin(x) + 0.1 * rng.normal(size=500)})
    frame[:150].write_csv(tmp_path / "old.csv")
    frame[150:].write_csv(tmp_path / "new.csv")
    summary = json.loads(run("fit", "old.csv", "--target", "y", "--out", "o", "--json").stdout)
    assert summary["promise"] is None
    assert 0.0 < summary["leave_one_out_error"] < 0.2
    words = said(run("certify", "o/model.skops", "new.csv"))
    assert "Mean absolute error" in words
    assert "errors clipped at" in words
    found = json.loads(run("certify", "o/model.skops", "new.csv", "--largest-error", "1.0", "--json").stdout)
    assert found["error"] < found["bound"] < found["error_of_guessing"]
    assert found["largest_error"] == 1.0
    few = frame[150:153]
    few.write_csv(tmp_path / "few.csv")
    assert "vacuous" in said(run("certify", "o/model.skops", "few.csv"))
    words = said(run("certify", "o/model.skops", "new.csv", "--largest-error", "-1", code=ExitCode.USAGE))
    assert "must be a number > 0" in words


def test_rows_that_repeat_anyway_are_told_of(run, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 400))
    frame = pl.DataFrame({"a": a, "b": b, "kind": np.where(a + rng.integers(0, 2, 400) > 1, "yes", "no")})
    frame[:200].write_csv(tmp_path / "old.csv")
    frame[200:].write_csv(tmp_path / "new.csv")
    run("fit", "old.csv", "--target", "kind", "--out", "o")
    assert "that they are new rows is up to you" in said(run("certify", "o/model.skops", "new.csv"))


@pytest.mark.parametrize(
    ("words", "n"),
    [
        (("--error", "0.05"), samples_for_promise(0.05, 0.05)),
        (("--error", ".05", "--confidence", ".99", "--errors", "3"), samples_for_promise(0.05, 0.01, n_errors=3)),
    ],
)
def test_promise_counts_rows(run, words, n):
    assert f"Hold out {n} rows" in said(run("promise", *words))
    assert json.loads(run("promise", *words, "--json").stdout)["n_rows"] == n


@pytest.mark.parametrize(
    "words",
    [
        ("promise",),
        ("promise", "--error", "0"),
        ("promise", "--error", "nan"),
        ("promise", "--error", "0.1", "--confidence", "1"),
        ("promise", "--error", "0.1", "--errors", "-1"),
    ],
)
def test_promises_that_cannot_be_made_are_refused(run, words):
    assert run(*words, code=ExitCode.USAGE).output


def test_certify_refuses_what_is_no_machine(run, tmp_path):
    (tmp_path / "model.skops").write_text("nothing")
    pl.DataFrame({"x": [1.0]}).write_csv(tmp_path / "t.csv")
    run("certify", "model.skops", "t.csv", code=ExitCode.MODEL)


def test_diagnose_says_what_can_be_promised(run, tmp_path):
    blob_frame(80).write_csv(tmp_path / "t.csv")
    summary = json.loads(run("diagnose", "t.csv", "--target", "kind", "--out", "o", "--json").stdout)
    promises = summary["promises"]
    assert 1.0 < promises["effective_dimension"] < 80.0
    assert 0.0 <= promises["leave_one_out_error"] < 0.3
    assert promises["rows_to_hold_out"] > 100
    page = (tmp_path / "o/report.html").read_text()
    assert "What can be promised" in page
    assert "effective dimension" in page


def test_report_of_classes_calls_vacuous_what_is_vacuous(machine, tmp_path):
    bounds = {bound["name"]: bound for bound in json.loads((tmp_path / "o/summary.json").read_text())["bounds"]}
    assert {"training rows", "leave-one-out", "PAC-Bayes", "covering numbers"} <= set(bounds)
    assert bounds["covering numbers"]["vacuous"]
    page = (tmp_path / "o/report.html").read_text()
    assert "What can be said without held-out rows" in page
    assert page.count("<td>vacuous</td>") == sum(bound["vacuous"] for bound in bounds.values())
