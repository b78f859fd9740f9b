"""Labels of the rows of a map, which colour it and judge it but never make it."""

from __future__ import annotations

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import MOST_CATEGORIES, read_numbers, read_texts
from mercer.tables.dates import DATES
from mercer.tables.reading import Table
from mercer.tables.schema import TableSchema

# Whole numbers with more values than a category are classes up to this many values, with so many rows of each.
_MOST_CLASSES, _ROWS_OF_EACH = 100, 10


def are_classes(labels: pl.Series) -> bool:
    """Whether labels are classes: texts, truth values, and whole numbers that come again and again."""
    if DATES.of(labels.dtype) is not None:
        return False
    if not labels.dtype.is_numeric():
        return True
    known = labels.drop_nulls()
    n_values = known.n_unique()
    if n_values <= MOST_CATEGORIES:
        return labels.dtype.is_integer() or bool((known == known.round()).all())
    return labels.dtype.is_integer() and _ROWS_OF_EACH * n_values <= len(known) and n_values <= _MOST_CLASSES


def labels_of(table: Table, rows: Array, label: str | None) -> tuple[Array | None, bool]:
    """Labels of the rows, and whether they are classes."""
    if label is None:
        return None, False
    series = table.frame[label]
    if not are_classes(series):
        return read_numbers(series).values[rows], False
    return np.array([text or "(missing)" for text in read_texts(series)])[rows], True


def twin_of_label(table: Table, schema: TableSchema, label: str | None) -> str | None:
    """A used column that is one to one with the label."""
    if label is None:
        return None
    labels = table.frame[label]
    n_labels = labels.n_unique()
    # If nearly every label is different, so is every pair of them: then only equal columns are twins.
    repeated = n_labels <= len(labels) / 2
    for column in schema.columns:
        series = table.frame[column.name]
        if repeated and series.n_unique() == n_labels == table.frame.select(label, column.name).n_unique():
            return column.name
        if not repeated and series.equals(labels):
            return column.name
    return None
