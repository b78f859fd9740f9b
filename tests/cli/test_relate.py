"""`mercer relate`."""

import json

import numpy as np
import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode
from tests.cli.conftest import only_file_is


@pytest.fixture
def sides(tmp_path):
    """Two files about the same rows in different order, with a key."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=80)
    left = pl.DataFrame({"key": [f"k{i}" for i in range(80)], "a": t, "b": rng.normal(size=80)})
    right = pl.DataFrame({"key": left["key"], "c": t**2 + 0.1 * rng.normal(size=80)})
    left.write_csv(tmp_path / "left.csv")
    right.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "right.csv")
    left.hstack(right.drop("key")).write_csv(tmp_path / "both.csv")
    return tmp_path


def test_two_tables_by_a_key(run, sides):
    result = run("relate", "left.csv", "right.csv", "--by", "key")
    assert "80 rows of 80 and 80 belong together by key." in result.output
    assert "The two sides are related (p < .001)." in result.output
    only_file_is(sides / "left-relation", "report.html", "scores.parquet", "summary.json", "times.json")
    summary = json.loads((sides / "left-relation/summary.json").read_text())
    assert (summary["kind"], summary["related"], summary["partial"]) == ("relation", True, False)
    assert summary["command"] == "mercer relate left.csv right.csv --by key"
    assert max(summary["directions"][0]["left"], key=summary["directions"][0]["left"].get) == "a"


def test_columns_of_one_table_give_the_same_files_again(run, sides):
    words = ("relate", "both.csv", "--with", "c", "--drop", "key", "--seed", "1")
    run(*words, "--out", "one", "--quiet")
    run(*words, "--out", "two", "--quiet")
    for name in ("report.html", "summary.json", "scores.parquet"):
        one, two = (
            (sides / folder / name).read_bytes().replace(b"--out one", b"--out two") for folder in ("one", "two")
        )
        assert one == two


def test_json(run, sides):
    summary = json.loads(run("relate", "both.csv", "--with", "c", "--json").stdout)
    assert summary["information"]["ceiling"] > 0


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("left.csv",), ExitCode.USAGE, "mercer relate needs a second table, or the columns of the one"),
        (("left.csv", "right.csv", "--with", "c"), ExitCode.USAGE, "mercer relate needs a second table"),
        (("both.csv", "--with", "c", "--by", "key"), ExitCode.USAGE, "--by is for two tables"),
        (("both.csv", "--with", "z"), ExitCode.INPUT, "There is no column 'z' in both.csv"),
        (("left.csv", "nowhere.csv"), ExitCode.INPUT, "nowhere.csv"),
        (("left.csv", ""), ExitCode.USAGE, "must be the name of a file or folder"),
        (("left.csv", "short.csv"), ExitCode.INPUT, "short.csv must have as many rows as left.csv, 80, got 3"),
        (("left.csv", "right.csv", "--by", "a"), ExitCode.INPUT, "There is no column 'a' in right.csv"),
    ],
)
def test_bad_input_is_refused(run, sides, words, code, text):
    (sides / "short.csv").write_text("x\n1.5\n2.5\n4.5\n")
    result = run("relate", *words, code=code)
    assert text in " ".join(result.output.replace("│", " ").split())
    assert not list(sides.glob("*-relation"))


def test_files_of_others_are_not_replaced(run, sides):
    (sides / "left-relation").mkdir()
    (sides / "left-relation/report.html").write_text("mine")
    run("relate", "left.csv", "right.csv", "--by", "key", code=ExitCode.OUTPUT)
    assert (sides / "left-relation/report.html").read_text() == "mine"
