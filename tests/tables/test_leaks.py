"""Columns that give the target away, and those that only seem to."""

import numpy as np
import polars as pl
import pytest

from mercer.tables import TableSchema, table_from_frame
from mercer.tables.leaks import leaks

RNG = np.random.default_rng(0)
NOISE = {f"x{j}": RNG.normal(size=100) for j in range(3)}
Y = RNG.normal(size=100)


def said(columns, y, target="y"):
    frame = pl.DataFrame({**NOISE, **columns})
    schema, _ = TableSchema.learn(table_from_frame(frame))
    return leaks(frame, schema, target, y)


def test_a_sum_of_columns_is_the_target():
    casual, registered = RNG.poisson(50, 100).astype(float), RNG.poisson(100, 100).astype(float)
    (warning,) = said({"casual": casual, "registered": registered}, casual + registered)
    assert warning.startswith("casual and registered give y away: it is a weighted sum of them.")
    assert "--drop casual --drop registered" in warning
    assert said({"casual": casual, "registered": registered}, casual + registered + 0.01 * Y) == []


def test_sums_of_many_columns_are_laws():
    columns = {f"z{j}": RNG.normal(size=100) for j in range(6)}
    assert said(columns, np.sum(list(columns.values()), axis=0)) == []


def test_sums_need_more_rows_than_columns():
    frame = pl.DataFrame({f"z{j}": RNG.normal(size=12) for j in range(11)})
    schema, _ = TableSchema.learn(table_from_frame(frame))
    assert leaks(frame, schema, "y", RNG.normal(size=12)) == []


def test_sums_of_rows_that_are_known():
    casual, registered = RNG.poisson(50, 100).astype(float), RNG.poisson(100, 100).astype(float)
    y = casual + registered
    casual[3] = np.nan
    assert said({"casual": casual, "registered": registered}, y)[0].startswith("casual and registered")


def test_a_noisy_copy_is_suspected():
    (warning,) = said({"copy": Y + 0.02 * RNG.normal(size=100)}, Y)
    assert warning.startswith("copy may give y away: their correlation is 0.99")
    assert said({"hint": Y + 0.5 * RNG.normal(size=100)}, Y) == []


def test_thresholds_are_suspected():
    classes = np.where(Y > 0.3, "high", np.where(Y > -0.3, "middle", "low"))
    (warning,) = said({"copy": Y}, classes)
    assert warning.startswith("copy may give y away: y follows from thresholds on it.")
    classes[np.argmax(Y)] = "low"
    assert said({"copy": Y}, classes) == []


def test_thresholds_do_not_part_equal_numbers():
    steps = np.repeat([0.0, 1.0, 2.0], [40, 20, 40])
    classes = np.repeat(["a", "b"], 50)
    assert said({"steps": steps}, classes) == []


def test_classes_of_a_few_rows_are_apart_by_chance():
    classes = np.full(100, "a", dtype=object)
    classes[np.argsort(NOISE["x0"])[-3:]] = "b"
    assert said({}, classes.astype(str)) == []


@pytest.mark.parametrize(("noise", "leaked"), [(0.0, True), (0.1, False)])
def test_a_category_that_fixes_a_number(noise, leaked):
    group = RNG.choice(list("abcd"), 100)
    y = np.array([{"a": 1.0, "b": 2.5, "c": 0.3, "d": 7.0}[name] for name in group]) + noise * Y
    assert any(warning.startswith("group gives y away") for warning in said({"group": group}, y)) == leaked
