"""What commands say of strange tables is true, and what they cannot follow they refuse."""

import numpy as np
import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode
from tests.cli.conftest import blob_frame

PCA = ("--method", "pca", "--out", "o")


def said(result):
    return " ".join(result.output.split())


@pytest.fixture
def table(tmp_path):
    """Writes columns to a file."""

    def write(name, **columns):
        pl.DataFrame(columns).write_csv(tmp_path / name)
        return name

    return write


@pytest.mark.parametrize("dim", ["1", "2"])
def test_apply_flags_rows_that_are_far_within_the_plane_of_the_map(run, tmp_path, table, dim):
    X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 0.1]
    run("map", table("t.csv", a=X[:, 0], b=X[:, 1]), "--dim", dim, *PCA)
    run(
        "apply", "o/model.skops", table("new.csv", a=[0.1, 50.0, 1e300, -4e4], b=[0.0, 5.0, 0.0, 4e3]), "--out", "r.csv"
    )
    result = pl.read_csv(tmp_path / "r.csv")
    assert result["far"].to_list() == [False, True, True, True]


def test_rows_of_the_map_are_as_far_in_apply_as_in_its_own_file(run, tmp_path, table):
    X = np.random.default_rng(1).standard_t(3, size=(300, 3))
    run("map", table("t.csv", a=X[:, 0], b=X[:, 1], c=X[:, 2]), *PCA)
    run("apply", "o/model.skops", "t.csv", "--out", "r.parquet")
    own, again = (pl.read_parquet(tmp_path / name) for name in ("o/embedding.parquet", "r.parquet"))
    assert own["far"].sum() < 10
    # A row that was seen is in its own place: only those of which it was not kept may differ.
    assert (again["far"] <= own["far"]).all()


@pytest.mark.parametrize("command", ["apply", "predict"])
def test_units_that_are_not_those_of_the_model_are_refused(run, tmp_path, command):
    lines = [f"{i % 7 + i / 100},{i % 5},{i % 7 + i % 5 + i / 50}" for i in range(60)]
    for name, units in (("kg", "kg,cm,s"), ("g", "g,cm,s"), ("bare", None)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["mass,length,time", *([units] if units else []), *lines]))
    words = ("map", "kg.csv", *PCA) if command == "apply" else ("fit", "kg.csv", "--target", "time", "--out", "o")
    run(*words)
    run(command, "o/model.skops", "kg.csv", "--out", "r.csv")
    run(command, "o/model.skops", "bare.csv", "--out", "b.csv")
    refusal = said(run(command, "o/model.skops", "g.csv", "--out", "g-r.csv", code=ExitCode.INPUT))
    assert "mass is in g, and was in kg when the model was made; bring it to kg, or correct the second line" in refusal


def test_columns_that_seem_to_count_the_rows_are_kept_on_demand(run, table):
    years = np.arange(1950, 2010)
    name = table("t.csv", year=years, level=np.sin(years / 9.0), rain=np.cos(years / 5.0))
    refusal = "year is not used: it counts the rows; if it measures something, give --keep year."
    assert refusal in said(run("map", name, *PCA))
    assert "Used: 3 columns of numbers" in said(run("map", name, "--keep", "year", *PCA, "--force"))
    text = said(run("diagnose", name, "--target", "level", "--keep", "year", "--out", "d"))
    assert "Used: 2 columns of numbers" in text
    text = said(run("fit", name, "--target", "level", "--keep", "year", "--kernel", "linear", "--out", "m"))
    assert "Used: 2 columns of numbers" in text


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--keep", "none"), ExitCode.INPUT, "There is no column 'none'"),
        (("--keep", "same"), ExitCode.INPUT, "--keep same cannot be followed: same is not used: it is the same"),
        (("--keep", "a", "--drop", "a"), ExitCode.USAGE, "--keep must name columns that are used for learning, got a"),
        (("--drop", "y"), ExitCode.USAGE, "--drop must not name the target, got 'y' for both"),
        (("--encoding", "foo"), ExitCode.USAGE, "--encoding must be one that Python knows, got 'foo'"),
        (("--separator", "xx"), ExitCode.USAGE, "--separator must be one character"),
        (("--decimal", "x"), ExitCode.USAGE, "--decimal must be a point or a comma"),
        (("--thousands", "xx"), ExitCode.USAGE, "--thousands must be one of"),
        (("--decimal", ",", "--thousands", ","), ExitCode.USAGE, "--decimal and --thousands must differ"),
        (("--task", "guess"), ExitCode.USAGE, "--task must be one of"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "diagnose"])
def test_options_that_cannot_be_followed(run, table, command, words, code, text):
    x = np.linspace(0.0, 1.0, 30) ** 2
    name = table("t.csv", a=x, b=x[::-1] ** 3, same=np.ones(30), y=x + 1.0)
    assert text in said(run(command, name, "--target", "y", *words, code=code))


def test_numbers_that_differ_too_little(run, table):
    large = 10**17 + 1000 * np.arange(40)
    name = table("t.csv", a=np.random.default_rng(0).normal(size=40), b=np.arange(40) % 7, large=large)
    text = said(run("map", name, *PCA))
    assert "large is not used: it differs by less than rounding of such numbers may." in text
    refusal = said(run("fit", name, "--target", "large", code=ExitCode.INPUT))
    assert "must differ between rows, got numbers around 1e+17 that differ by less than rounding may" in refusal


def test_columns_of_several_units(run, table):
    frame = blob_frame()
    mass = [f"{i + 1} {'kg' if i % 2 else 'g'}" for i in range(frame.height)]
    name = table("t.csv", **frame.to_dict(), mass=mass)
    assert "mass is not used: its numbers have several units, g, kg; take one." in said(run("map", name, *PCA))


def test_dates_that_a_model_cannot_read_are_called_dates(run, table):
    days = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.20{10 + i % 9}" for i in range(60)]
    x = np.random.default_rng(0).normal(size=60)
    run("fit", table("t.csv", day=days, x=x, y=x + 1.0), "--target", "y", "--kernel", "linear", "--out", "m")
    new = table("new.csv", day=["soon", days[1]], x=[0.0, 1.0])
    text = said(run("predict", "m/model.skops", new, "--out", "r.csv"))
    assert "day: 1 entry is no date of this format and counts as missing." in text


def test_names_in_advice_can_be_copied(run, table):
    x = np.random.default_rng(0).normal(size=60)
    name = table("t.csv", **{"y (2)": 2.0 * x, "z": x**2, "y": x})
    text = said(run("fit", name, "--target", "y", "--kernel", "linear", "--out", "m"))
    assert "leave it out with --drop 'y (2)'." in text


def test_lines_with_more_entries_than_names(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 300 + "1,2,3\n")
    text = said(run("map", "t.csv", *PCA, code=ExitCode.INPUT))
    assert "line 302 has 3 entries, and the first one has 2; check separators and quotes." in text
