"""What two sets of columns share."""

import numpy as np
import polars as pl
import pytest

from mercer.report import PairedTables, Progress, relate, relation_files, table_from_frame
from mercer.report.relation_pages import p_in_words, relation_evidence, relation_summary, relation_verdict
from mercer.workflows import relating


def paired(n, *, strength=1.0, seed=0):
    """Two tables that share an angle, in a way that is no correlation, beside columns of noise."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-np.pi, np.pi, size=n)
    left = {"cos": np.cos(t), "sin": np.sin(t), "noise": rng.normal(size=n)}
    other = strength * np.cos(2 * t) + 0.3 * rng.normal(size=n)
    right = {"other": other, "junk": rng.normal(size=n)}
    tables = (table_from_frame(pl.DataFrame(side), name) for side, name in ((left, "left"), (right, "right")))
    return PairedTables.read(*tables)


@pytest.fixture(scope="module")
def related():
    return relate(paired(400))


def test_a_relation_is_found_with_its_columns(related):
    assert related.related
    assert related.test.p_value < 0.001
    best = related.directions[0]
    assert best.correlation > 0.8
    assert [best.left[-1][0], best.right[-1][0]] == ["noise", "junk"]
    assert {name for name, _ in best.left} == {"cos", "sin", "noise"}
    assert best.right[0][1] > 0.5 > best.right[1][1]
    bound = related.bound
    assert bound.value - 2 * bound.standard_error > 0.3
    assert bound.value < bound.ceiling
    assert [size for size, _ in related.bounds] == [2, 4, 8, 16]
    assert not related.partial


def test_the_verdict_says_so(related):
    verdict = relation_verdict(related)
    assert verdict.startswith("The two sides are related (p < .001).")
    assert "rests most on" in verdict
    assert "and other." in verdict
    assert any(line.startswith("They share at least") for line in relation_evidence(related))
    summary = relation_summary(related, "mercer relate")
    assert summary["directions"][0]["right"].keys() == {"other", "junk"}
    assert summary["information"]["by_batch"]["2"] <= np.log(2)


def test_files(related, tmp_path):
    files = relation_files(related, "mercer relate left right")
    assert set(files) == {"report.html", "summary.json", "scores.parquet"}
    (tmp_path / "scores.parquet").write_bytes(files["scores.parquet"])
    scores = pl.read_parquet(tmp_path / "scores.parquet")
    assert scores.height == 400
    assert scores["held_out"].sum() == 100
    held_out = scores.filter("held_out")
    correlation = np.corrcoef(held_out["left_1"], held_out["right_1"])[0, 1]
    assert correlation == pytest.approx(related.directions[0].correlation)
    page = files["report.html"].decode()
    for words in ("Do they share anything?", "Along which directions?", "Which columns carry it?", "How much do they"):
        assert words in page
    assert files == relation_files(relate(paired(400)), "mercer relate left right")


def test_tables_that_share_nothing():
    result = relate(paired(200, strength=0.0, seed=3))
    assert not result.related
    assert relation_verdict(result).startswith("There is no sign that the two sides share anything (p = .")
    assert relation_evidence(result)[-1].endswith("is not above 0.")


def test_few_rows_are_tested_only():
    result = relate(paired(40))
    assert result.held_out is None
    assert result.directions == result.bounds == ()
    assert "With fewer than 60 rows none are held out" in result.notes[-1]
    assert relation_verdict(result).startswith("The two sides are related (p ")
    assert set(relation_files(result, "mercer relate")) == {"report.html", "summary.json"}


def test_many_rows_are_drawn(monkeypatch):
    monkeypatch.setattr(relating, "_MOST_ROWS", 100)
    result = relate(paired(150))
    assert len(result.rows) == 100
    assert "100 of 150 rows were drawn." in result.notes


def test_columns_of_noise_do_not_hide_what_is_shared():
    rng = np.random.default_rng(0)
    t, noise = rng.normal(size=1500), rng.normal(size=(1500, 16))
    columns = {f"n{i}": noise[:, i] for i in range(16)}
    frame = pl.DataFrame({**columns, "t": t, "y": np.cos(2 * t) + 0.3 * rng.normal(size=1500)})
    result = relate(PairedTables.read(table_from_frame(frame), columns=["y", *[f"n{i}" for i in range(8)]]))
    assert result.directions[0].left[0][0] == "t"
    assert result.bound.value > 0.03 + 2 * result.bound.standard_error


def test_a_bound_near_its_ceiling_is_told():
    t = np.random.default_rng(0).normal(size=100)
    table = table_from_frame(pl.DataFrame({"a": t, "b": t**3 + t}))
    result = relate(PairedTables.read(table, columns=["b"]))
    assert any("they may share much more" in line for line in relation_evidence(result))


@pytest.mark.parametrize("stage", ["looking for directions", "shuffling columns", "bounding"])
def test_work_that_is_stopped_leaves_what_there_is(stage):
    class Stopped(Progress):
        def __call__(self, words, share=0.0, objective=None):
            return words == stage

    result = relate(paired(100), progress=Stopped())
    assert result.partial
    assert result.related
    assert bool(result.directions) == (stage == "bounding")
    assert b"Partial" in relation_files(result, "mercer relate")["report.html"]
    assert relation_verdict(result).startswith("The two sides are related")


def test_work_that_is_stopped_before_anything_is_known_is_an_interrupt():
    class Stopped(Progress):
        def __call__(self, words, share=0.0, objective=None):
            return True

    with pytest.raises(KeyboardInterrupt):
        relate(paired(100), progress=Stopped())


@pytest.mark.parametrize(
    ("p", "words"), [(0.0002, "p < .001"), (0.0042, "p = .004"), (0.5, "p = .50"), (1.0, "p = 1.00")]
)
def test_p_values_in_words(p, words):
    assert p_in_words(p) == words


def test_correlations_of_a_column_with_itself_are_not_above_one():
    A = np.random.default_rng(0).normal(size=(7, 200))
    assert np.all(relating._correlations(A, 3.0 * A) <= 1.0)
    assert np.all(relating._correlations(A, -A) >= -1.0)
