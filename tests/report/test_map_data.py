"""What a page knows of each row, and what it leaves out."""

import base64
import datetime
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from mercer.report import LearningProblem, MachineSettings, MapSettings, fit_machine, make_map, table_from_frame
from mercer.report import map_data as map_data_module
from mercer.report.map_data import MOST_COLOURED, map_data, pixel_ends
from mercer.report.map_pages import _first_colour
from mercer.tables.images import pixel_names

RNG = np.random.default_rng(0)
FAST = MapSettings(method="pca")


def table_of(n=60, d=4, **more):
    return table_from_frame(pl.DataFrame({**{f"x{j}": RNG.normal(size=n) for j in range(d)}, **more}))


def columns_of(table, label=None):
    return {column["name"]: column for column in map_data(make_map(table, FAST, label=label))["columns"]}


def test_labels_of_many_values_are_shown_the_most_frequent_first():
    names = [f"name {i}" for i in range(300)] + ["often"] * 100
    label = columns_of(table_of(400, label=names), "label")["label"]
    assert label["kind"] == "category"
    assert label["coloured"] == MOST_COLOURED < len(label["categories"]) == 301
    assert (label["categories"][0], label["counts"][0]) == ("often", 100)
    assert sum(label["counts"]) == 400
    assert [label["categories"][code] for code in label["values"]] == names


def test_whole_numbers_of_many_values_are_classes_and_numbers():
    columns = columns_of(table_of(300, letter=np.arange(300) % 26), "letter")
    assert columns["letter"]["categories"] == [str(i) for i in range(26)]
    assert columns["letter, as a number"]["range"] == [0.0, 25.0]
    assert "letter, as a number" not in columns_of(table_of(300, letter=np.arange(300) % 3), "letter")


def test_texts_that_repeat_can_be_coloured_and_names_cannot():
    columns = columns_of(table_of(city=[f"city {i % 25}" for i in range(60)], name=[f"name {i}" for i in range(60)]))
    assert columns["city"]["kind"] == "category"
    assert columns["name"]["kind"] == "text"


def test_dates_are_numbers_with_texts():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(60)]
    day = columns_of(table_of(day=days), "day")["day"]
    assert day["kind"] == "number"
    assert day["texts"][1] == "2024-01-02"
    assert day["ends"][0] == "2024-01-02"
    assert day["ends"][2] == "2024-02-28"


def test_of_many_columns_those_that_the_map_keeps_best_are_shown():
    t = RNG.normal(size=60)
    wide = table_of(60, 70, **{f"kept{j}": t + 0.01 * RNG.normal(size=60) for j in range(5)}, kind=["a", "b"] * 30)
    data = map_data(make_map(wide, FAST, label="kind"))
    names = [column["name"] for column in data["columns"]]
    assert names[0] == "kind"
    assert {f"kept{j}" for j in range(5)} <= set(names)
    assert data["n_table_columns"] == 60
    assert data["n_left_out"] == 16


def images(values):
    return table_from_frame(
        pl.DataFrame(dict(zip(pixel_names(values.shape[1:]), values.reshape(len(values), -1).T, strict=True)))
    )


@pytest.mark.parametrize("shape", [(5, 4), (5, 4, 3)])
def test_bytes_are_shown_as_they_are(shape):
    values = RNG.integers(20, 200, size=(30, *shape), dtype=np.uint8)
    table = images(values)
    assert pixel_ends(table) == (0.0, 255.0)
    found = map_data(make_map(table, FAST))["images"]
    assert found["shape"] == list(shape)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(found["values"]), np.uint8), values.ravel())


def test_other_pixels_go_from_black_to_white():
    values = RNG.uniform(2.0, 6.0, size=(30, 4, 4))
    table = images(values)
    assert pixel_ends(table) == (values.min(), values.max())
    found = np.frombuffer(base64.b64decode(map_data(make_map(table, FAST))["images"]["values"]), np.uint8)
    assert (found.argmin(), found.argmax()) == (values.argmin(), values.argmax())
    assert (found.min(), found.max()) == (0, 255)


def test_many_images_are_made_smaller(monkeypatch):
    values = np.repeat(np.repeat(RNG.integers(0, 255, size=(30, 4, 4), dtype=np.uint8), 2, axis=1), 2, axis=2)
    monkeypatch.setattr(map_data_module, "_MOST_BYTES", 30 * 16)
    found = map_data(make_map(images(values), FAST))["images"]
    assert found["shape"] == [4, 4]
    np.testing.assert_array_equal(
        np.frombuffer(base64.b64decode(found["values"]), np.uint8), values[:, ::2, ::2].ravel()
    )


@pytest.mark.parametrize("target", ["size", "kind"])
def test_maps_are_coloured_by_predictions(target):
    X = RNG.normal(size=(60, 3))
    kind = np.where(X[:, 0] > 0, "up", "down")
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "size": X[:, 0] ** 2, "kind": kind})
    band = 0.8 if target == "size" else None
    problem = LearningProblem.read(table_from_frame(frame), target, drop=tuple({"size", "kind"} - {target}))
    machine = fit_machine(problem, MachineSettings(kernel="gaussian", band=band)).model
    colors = machine.colors(frame)
    result = replace(make_map(table_from_frame(frame.select("a", "b", "c")), FAST), colors=colors)
    columns = {column["name"]: column for column in map_data(result)["columns"]}
    predicted = machine.predict(problem.X)
    if target == "size":
        np.testing.assert_allclose(columns["predicted size"]["values"], predicted["size"])
        widths = predicted["size_high"] - predicted["size_low"]
        np.testing.assert_allclose(columns["width of the band of size"]["values"], widths)
    else:
        assert columns["predicted kind"]["categories"] == ["down", "up"]
        assert "probability of up" in columns
    assert _first_colour(result) == colors.columns[0]
