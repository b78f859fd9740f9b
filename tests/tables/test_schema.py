import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

from mercer.report import InputError, TableSchema, table_from_frame

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "number": RNG.normal(5.0, 3.0, size=40),
        "whole": RNG.integers(0, 9, size=40),
        "yes": RNG.uniform(size=40) < 0.5,
        "day": [dt.date(2024, 1, 1) + dt.timedelta(days=int(i)) for i in RNG.integers(0, 300, size=40)],
        "moment": [dt.datetime(2024, 1, 1, 12) + dt.timedelta(minutes=int(i)) for i in RNG.integers(0, 900, size=40)],
        "time": [dt.time(int(i), 30) for i in RNG.integers(0, 23, size=40)],
        "wait": [dt.timedelta(seconds=int(i)) for i in RNG.integers(0, 900, size=40)],
        "colour": RNG.choice(["red", "green", "blue"], size=40),
        "name": [f"name {i}" for i in range(40)],
        "list": [[1, 2]] * 40,
        "nothing": pl.Series([None] * 40, dtype=pl.Float64),
    }
)


def learned(frame=FRAME, **options):
    return TableSchema.learn(table_from_frame(frame), **options)


def test_columns_become_standardised_numbers():
    schema, notes = learned()
    X, said = schema.matrix(FRAME)
    assert said == []
    assert schema.features == [
        "number",
        "whole",
        "yes",
        "day",
        "moment",
        "time",
        "wait",
        *[f"colour = {c}" for c in ("blue", "green", "red")],
    ]
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(X[:, :7].var(axis=0), 1.0)
    # A category weighs as much as a number.
    np.testing.assert_allclose(X[:, 7:].var(axis=0).sum(), 1.0)
    words = " ".join(notes)
    assert "Used: 3 columns of numbers, 4 dates or times, 1 category" in words
    for left_out in (
        "name is not used: 40 different texts",
        "list is not used: it holds List",
        "nothing is not used: it is empty",
    ):
        assert left_out in words


def test_numbers_lead_back_to_entries():
    schema, _ = learned()
    back = schema.frame(schema.matrix(FRAME)[0])
    for name in ("day", "moment", "time", "wait", "colour"):
        assert back[name].to_list() == FRAME[name].to_list(), name
    np.testing.assert_allclose(back["number"], FRAME["number"])


def test_it_survives_json():
    schema, _ = learned()
    assert TableSchema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_new_rows():
    schema, _ = learned()
    X, _ = schema.matrix(FRAME)
    shuffled = FRAME.select(reversed(FRAME.columns)).with_columns(extra=pl.lit(1))
    again, said = schema.matrix(shuffled)
    np.testing.assert_array_equal(again, X)
    assert said == ["Columns that the model does not know are ignored: extra."]
    with pytest.raises(InputError, match="got none called number"):
        schema.matrix(FRAME.drop("number"))
    fewer, said = schema.matrix(FRAME.drop("number"), allow_missing_columns=True)
    assert np.isnan(fewer[:, 0]).all()
    assert said == ["Columns that are not there count as missing: number."]
    with pytest.raises(InputError, match="got none called"):
        schema.matrix(FRAME.select("name"), allow_missing_columns=True)


def test_new_rows_of_other_types():
    schema, _ = learned(FRAME.select("number", "day", "colour"))
    X, _ = schema.matrix(FRAME)
    texts, _ = schema.matrix(FRAME.with_columns(pl.col("number", "day").cast(pl.String)))
    np.testing.assert_allclose(texts, X)
    strange = FRAME.select("number", "day", colour=pl.lit("violet"))
    values, said = schema.matrix(strange)
    assert np.isnan(values[:, 2:]).all()
    assert said == ["colour: values that the model does not know count as missing: violet."]


def test_categories_of_polars():
    frame = FRAME.with_columns(pl.col("colour").cast(pl.Categorical))
    assert learned(frame)[0].columns[-1].categories == ("blue", "green", "red")


def test_pixels_have_one_unit():
    frame = pl.DataFrame({f"pixel_{r}_{c}": RNG.uniform(0, 1 + r, size=30) for r in range(4) for c in range(4)})
    schema, notes = learned(frame.with_columns(kind=pl.lit("x")))
    X, _ = schema.matrix(frame)
    assert schema.image_shape == (4, 4)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.mean(X.var(axis=0)), 1.0)
    assert "other columns are not used for the map: kind" in notes[-1]
    with pytest.raises(InputError, match="pixels that are no numbers"):
        learned(frame.with_columns(pixel_0_0=pl.lit(None, dtype=pl.Float64)))


def test_huge_numbers_do_not_overflow():
    frame = pl.DataFrame({"a": [1e300, -1e300, 5e299, 0.0], "b": [1.0, 2.0, 3.0, 4.0]})
    schema, _ = learned(frame)
    assert np.isfinite(schema.matrix(frame)[0]).all()


def test_a_missing_category_is_one_missing_entry():
    frame = pl.DataFrame({"size": [1.0, None, 2.0], "colour": ["red", "blue", None]})
    schema, _ = TableSchema.learn(table_from_frame(frame))
    X, _ = schema.matrix(frame)
    assert np.isnan(X).sum() == 3
    assert schema.n_missing(X) == 2


def test_far_entries_do_not_hide_the_others():
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    values[:3] = 1e9, -1e12, 1e300
    frame = pl.DataFrame({"a": values, "b": rng.normal(size=200)})
    schema, notes = learned(frame)
    X, _ = schema.matrix(frame)
    assert np.std(X[3:, 0]) > 0.1
    assert np.abs(X[:3, 0]).max() < 20
    assert any(note.startswith("a: 3 entries count as") for note in notes)
    far, _ = schema.matrix(frame, clipped=False)
    assert np.isfinite(far).all()
    assert np.abs(far[:3, 0]).min() > 1e3


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308, 1e308, 3e307], [1e-320, 3e-320, 2e-320, 9e-320]])
def test_the_largest_and_the_smallest_numbers(values):
    frame = pl.DataFrame({"a": values, "b": [1.0, 2.0, 3.0, 5.0]})
    schema, _ = learned(frame)
    X, _ = schema.matrix(frame)
    np.testing.assert_allclose(X[:, 0].std(), 1.0, rtol=0.01)
    np.testing.assert_allclose(schema.frame(X)["a"].to_numpy(), values, rtol=0.01)


def test_how_texts_are_written_is_part_of_the_schema():
    frame = pl.DataFrame({"p": ["1.200", "3,5", "7,25"], "d": ["31/12/2023", "01/02/2024", "02/02/2024"]})
    schema, _ = learned(frame)
    stored = json.loads(json.dumps(schema.to_json()))
    again = TableSchema.from_json(stored)
    assert again == schema
    np.testing.assert_array_equal(again.matrix(frame[:1])[0], schema.matrix(frame)[0][:1])
    for column in stored["columns"]:  # as the first model files were
        del column["texts"]
    assert TableSchema.from_json(stored).columns[0].texts is None
    _, said = TableSchema.from_json(stored).matrix(pl.DataFrame({"p": ["1,200"], "d": ["01/02/2024"]}))
    assert 'p: texts are read as numbers, such as "1,200" as 1200' in said[0]


def test_names_in_short_tables():
    frame = pl.DataFrame({"who": list("abcdef"), "x": [1.0, 2.0, 4.0, 3.0, 1.0, 0.0], "user_id": [7, 9, 3, 9, 1, 4]})
    schema, notes = learned(frame)
    assert schema.names == ("who", "user_id")
    assert "who is not used: 6 different texts are names" in " ".join(notes)


def test_new_rows_that_hold_something_else():
    schema, _ = learned(FRAME.select("number", "colour"))
    X, said = schema.matrix(FRAME.select(number="list", colour="moment"))
    assert np.isnan(X).all()
    assert "number: 40 entries are not a number and count as missing." in said


def test_few_of_many_columns_that_cannot_be_used_are_named():
    frame = pl.DataFrame({f"c{i}": [1.0] * 5 for i in range(400)})
    with pytest.raises(InputError, match=r"c7 is not used: it is the same in all rows\. And so on\.$"):
        learned(frame)


def test_thousands_alone_prove_the_decimal_mark():
    rows = {"x": [f"{i}.5" for i in range(20)], "z": [f"{i * 3 % 7}.25" for i in range(20)]}
    schema, _ = TableSchema.learn(table_from_frame(pl.DataFrame(rows)), [])
    new = table_from_frame(pl.DataFrame({"x": ["1.234.567", "2.000.000"], "z": ["1.5", "2.5"]}))
    with pytest.raises(
        InputError, match='x holds "1.234.567", whose decimal mark is ",", where the rows of the model had'
    ):
        schema.check_writing(new)
