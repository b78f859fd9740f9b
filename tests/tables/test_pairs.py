"""Two sets of columns about the same rows."""

import numpy as np
import polars as pl
import pytest

from mercer.tables import InputError, PairedTables, table_from_frame
from mercer.tables.errors import OptionError

RNG = np.random.default_rng(0)
N = 30
LEFT = pl.DataFrame({"key": [f"k{i}" for i in range(N)], "a": RNG.normal(size=N), "b": RNG.normal(size=N)})
RIGHT = pl.DataFrame({"key": LEFT["key"], "c": RNG.normal(size=N), "colour": ["red", "blue", "red"] * 10})


def table(frame, name="left.csv"):
    return table_from_frame(frame, name)


def test_rows_belong_together_by_their_order():
    paired = PairedTables.read(table(LEFT), table(RIGHT, "right.csv"))
    assert paired.left.schema.features == ["a", "b"]
    assert paired.right.schema.features == ["c", "colour = blue", "colour = red"]
    assert paired.left.X.shape == (N, 2)
    np.testing.assert_allclose(paired.left.X[:, 0], (LEFT["a"] - LEFT["a"].mean()) / LEFT["a"].std(ddof=0), rtol=0.2)
    assert (paired.left.name, paired.right.name) == ("left.csv", "right.csv")
    assert "right.csv: key is not used" in " ".join(paired.notes)
    assert paired.warnings == []


def test_rows_belong_together_by_a_column():
    shuffled = RIGHT.sample(fraction=1.0, shuffle=True, seed=1)[3:]
    paired = PairedTables.read(table(LEFT), table(shuffled, "right.csv"), by="key")
    in_order = PairedTables.read(table(LEFT), table(RIGHT, "right.csv"))
    kept = np.isin(LEFT["key"], shuffled["key"])
    c, whole = paired.right.X[:, 0], in_order.right.X[kept, 0]
    np.testing.assert_allclose(np.corrcoef(c, whole)[0, 1], 1.0)
    assert paired.notes[0] == "27 rows of 30 and 27 belong together by key."


def test_sides_of_one_table():
    both = LEFT.hstack(RIGHT.drop("key"))
    paired = PairedTables.read(table(both), columns=["c"], drop=["b"])
    assert paired.left.schema.features == ["a", "colour = blue", "colour = red"]
    assert paired.right.schema.features == ["c"]
    assert paired.right.name == "c"


def test_missing_entries_are_means_and_rows_without_any_are_left_out():
    gaps = RIGHT.with_columns(c=pl.Series([None, 1.0, None, *range(N - 3)], dtype=pl.Float64))
    paired = PairedTables.read(table(LEFT), table(gaps.drop("colour"), "right.csv"))
    assert list(paired.rows) == [1, *range(3, N)]
    assert "2 rows have no entry on one of the sides, and no part in this." in paired.notes
    gaps = gaps.with_columns(c=pl.col("c"))
    paired = PairedTables.read(table(LEFT), table(gaps, "right.csv"))
    assert len(paired.rows) == N
    assert paired.right.X[0, 0] == 0.0
    assert "right.csv: 2 missing entries were replaced by the means of their columns." in paired.notes


def test_columns_on_both_sides_give_a_warning():
    copied = RIGHT.with_columns(again=-3 * LEFT["a"])
    (warning,) = PairedTables.read(table(LEFT), table(copied, "right.csv")).warnings
    assert "copies of each other: a and again. Leave them out with --drop." in warning
    assert not PairedTables.read(table(LEFT), table(copied, "right.csv"), drop=["again"]).warnings


def test_series_of_time_give_a_warning():
    walks = np.cumsum(RNG.normal(size=(400, 2)), axis=0)
    series = table(pl.DataFrame({"a": walks[:, 0], "b": walks[:, 1]}))
    (warning,) = PairedTables.read(series, columns=["b"]).warnings
    assert warning.startswith("Neighbouring rows are alike on both sides (correlations of 0.9")
    changes = table(pl.DataFrame({"a": np.diff(walks[:, 0]), "b": np.diff(walks[:, 1])}))
    assert not PairedTables.read(changes, columns=["b"]).warnings
    assert not any(
        PairedTables.read(
            table(pl.DataFrame({"a": RNG.normal(size=50), "b": RNG.normal(size=50)})), columns=["b"]
        ).warnings
        for _ in range(50)
    )


def test_tables_of_the_same_name_are_told_apart():
    paired = PairedTables.read(table(LEFT), table(RIGHT))
    assert paired.right.name == "left.csv (the second)"


@pytest.mark.parametrize(
    ("right", "options", "error", "message"),
    [
        (None, {}, OptionError, "mercer relate needs a second table, or the columns of the one"),
        (RIGHT, {"columns": ["a"]}, OptionError, "mercer relate needs a second table, or the columns of the one"),
        (None, {"columns": ["a"], "by": "key"}, OptionError, "--by is for two tables, got one"),
        (None, {"columns": ["d"]}, InputError, "There is no column 'd' in left.csv"),
        (RIGHT[:20], {}, InputError, "right.csv must have as many rows as left.csv, 30, got 20"),
        (RIGHT, {"by": "name"}, InputError, "There is no column 'name' in left.csv"),
        (RIGHT, {"drop": ["nothing"]}, InputError, "There is no column 'nothing'"),
        (RIGHT.with_columns(key=pl.lit("same")), {"by": "key"}, InputError, "got 'same' twice in right.csv"),
        (RIGHT.with_columns(key=pl.col("key") + "x"), {"by": "key"}, InputError, "is key written alike in both"),
        (RIGHT.select("key"), {}, InputError, "right.csv has no column that can be used"),
    ],
)
def test_bad_input_is_refused(right, options, error, message):
    with pytest.raises(error, match=message):
        PairedTables.read(table(LEFT), None if right is None else table(right, "right.csv"), **options)


def test_few_rows_are_refused():
    with pytest.raises(InputError, match="must have 10 rows or more that both sides know, got 9"):
        PairedTables.read(table(LEFT[:9]), table(RIGHT[:9], "right.csv"))
