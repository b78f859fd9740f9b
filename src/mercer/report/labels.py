"""Labels of the rows of a map, which colour it and judge it but never make it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.report.columns import read_numbers, read_texts
from mercer.report.schema import MOST_CATEGORIES, TableSchema
from mercer.report.tables import Table

Array = NDArray[Any]


def labels_of(table: Table, rows: Array, label: str | None) -> tuple[Array | None, bool]:
    """Labels of the rows, and whether they are classes."""
    if label is None:
        return None, False
    series = table.frame[label]
    if series.dtype.is_float() or (series.dtype.is_integer() and series.n_unique() > MOST_CATEGORIES):
        return read_numbers(series).values[rows], False
    return np.array([text or "(missing)" for text in read_texts(series)])[rows], True


def twin_of_label(table: Table, schema: TableSchema, label: str | None) -> str | None:
    """A used column that is one to one with the label."""
    if label is None:
        return None
    labels = table.frame[label]
    n_labels = labels.n_unique()
    # Where nearly every label is another one, so is every pair: then only equal columns are twins.
    repeated = n_labels <= len(labels) / 2
    for column in schema.columns:
        series = table.frame[column.name]
        if repeated and series.n_unique() == n_labels == table.frame.select(label, column.name).n_unique():
            return column.name
        if not repeated and series.equals(labels):
            return column.name
    return None
