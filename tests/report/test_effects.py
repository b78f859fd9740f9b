import numpy as np
import polars as pl
import pytest

from mercer.report import LearningProblem, MachineSettings, fit_machine, machine_files, table_from_frame
from mercer.report.effects import effects


def frame_of(n=150):
    """A column that raises the target, one that does nothing, and a category that lowers it."""
    rng = np.random.default_rng(0)
    rise, nothing = rng.uniform(10, 20, n), rng.normal(size=n)
    colour = np.array(["red", "blue"])[rng.integers(0, 2, n)]
    y = 3.0 * rise - 5.0 * (colour == "red") + 0.1 * rng.normal(size=n)
    return pl.DataFrame({"rise": rise, "nothing": nothing, "colour": colour, "y": y})


@pytest.fixture(scope="module")
def result():
    return fit_machine(LearningProblem.read(table_from_frame(frame_of()), "y"))


def test_effects_are_those_of_the_function(result):
    rise, nothing, colour = effects(result.model, result.problem.X, ["rise", "nothing", "colour"])
    places = np.array(rise.places)
    assert 10 < places[0] < places[-1] < 20
    np.testing.assert_allclose(np.diff(rise.means["y"]) / np.diff(places), 3.0, atol=0.4)
    assert np.ptp(nothing.means["y"]) < 1.0
    assert sorted(colour.places) == ["blue", "red"]
    by_name = dict(zip(colour.places, colour.means["y"], strict=True))
    assert by_name["blue"] - by_name["red"] == pytest.approx(5.0, abs=0.5)


def test_the_report_shows_them(result):
    page = machine_files(result, "mercer fit")["report.html"].decode()
    assert "The mean prediction of y over 100 rows" in page
    assert page.count("<svg") == 2


def test_effects_on_classes():
    frame = frame_of().with_columns(kind=pl.when(pl.col("y") > 42).then(pl.lit("high")).otherwise(pl.lit("low")))
    problem = LearningProblem.read(table_from_frame(frame.drop("y")), "kind")
    result = fit_machine(problem, MachineSettings(loss="logistic"))
    (rise,) = effects(result.model, problem.X, ["rise"])
    assert list(rise.means) == ["low"]
    assert rise.means["low"][0] > 0.9 > 0.1 > rise.means["low"][-1]
    assert b"The mean probability of low over 100 rows" in machine_files(result, "mercer fit")["report.html"]


def test_columns_of_numbers_that_cannot_be_drawn_have_no_effect():
    x = np.random.default_rng(0).normal(size=60)
    frame = pl.DataFrame({"huge": 1.7e308 * np.sign(x), "x": x, "y": x**2})
    result = fit_machine(LearningProblem.read(table_from_frame(frame), "y"), MachineSettings(kernel="linear"))
    assert [effect.column for effect in effects(result.model, result.problem.X, ["huge", "x"])] == ["x"]


@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("us"), pl.Time, pl.Duration("us")])
def test_effects_of_all_kinds_of_dates_are_drawn(dtype):
    x = np.random.default_rng(0).uniform(0, 80_000, size=60)
    days = pl.Series(x).cast(pl.Int64)
    when = (days * {pl.Time: 10**9, pl.Date: 1}.get(dtype, 10**6)).cast(pl.Int32 if dtype == pl.Date else pl.Int64)
    frame = pl.DataFrame({"when": when.cast(dtype), "y": np.sin(x / 20_000)})
    result = fit_machine(LearningProblem.read(table_from_frame(frame), "y"))
    assert machine_files(result, "mercer fit")["report.html"].count(b"<svg") == 2
