"""The column that is to be learned, and the rows that know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mercer.report.columns import counted, read_numbers, read_texts
from mercer.report.errors import InputError
from mercer.report.leaks import leaks
from mercer.report.schema import MOST_CATEGORIES, TableSchema
from mercer.report.tables import Table

Array = NDArray[Any]

TASKS = ("auto", "regression", "classification")
# More classes than this are names.
_MOST_CLASSES = 50
# Fewer rows teach nothing.
_FEWEST_ROWS = 10


@dataclass(frozen=True)
class Target:
    """Numbers or classes, and how they are stored.

    Attributes
    ----------
    name : str
        The column.
    classes : tuple of str or None
        The classes; None for numbers.
    center, scale : float
        Numbers are learned as (y - center) / scale.
    """

    name: str
    classes: tuple[str, ...] | None = None
    center: float = 0.0
    scale: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "classes": self.classes, "center": self.center, "scale": self.scale}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The target that `to_json` described."""
        classes = values["classes"]
        return cls(values["name"], None if classes is None else tuple(classes), values["center"], values["scale"])


@dataclass(frozen=True)
class LearningProblem:
    """Rows of numbers with a target.

    Attributes
    ----------
    table, schema, target : Table, TableSchema, Target
        Where they come from.
    X, y : arrays
        The rows, missing entries being 0, the mean; and standardised numbers, or names of classes.
    rows : array of int
        Their places in the table.
    notes, warnings : list of str
        What was done, and what to be careful with.
    """

    table: Table
    schema: TableSchema
    target: Target
    X: Array
    y: Array
    rows: Array
    notes: list[str]
    warnings: list[str]

    @classmethod
    def read(cls, table: Table, target: str, *, drop: tuple[str, ...] = (), task: str = "auto") -> Self:
        """The problem of learning one column of a table from the others."""
        table.check_columns(target, *drop)
        if task not in TASKS:
            raise InputError(f"--task must be one of {', '.join(TASKS)}, got {task!r}; choose one of them.")
        schema, notes = TableSchema.learn(table, [target, *drop])
        values, known, learned = _read(table.frame[target], task)
        rows = np.flatnonzero(known)
        if len(rows) < _FEWEST_ROWS:
            raise InputError(
                f"{table.name} must have {_FEWEST_ROWS} rows with a known {target} or more, got {len(rows)}; give more."
            )
        X, _ = schema.matrix(table.frame[rows])
        n_missing = schema.n_missing(X)
        if n_missing:
            entries = counted(n_missing, "missing entry was", "missing entries were")
            notes.append(f"{entries} replaced by the means of their columns.")
        if len(rows) < table.frame.height:
            n_lost = table.frame.height - len(rows)
            notes.append(counted(n_lost, f"row without {target} was", f"rows without {target} were") + " left out.")
        warned = leaks(table.frame[rows], schema, target, values[rows])
        return cls(table, schema, learned, np.nan_to_num(X), values[rows], rows, [*table.notes, *notes], warned)


def _read(series: pl.Series, task: str) -> tuple[Array, Array, Target]:
    """Values, which of them are known, and the target."""
    reading = read_numbers(series) if not series.dtype.is_nested() else None
    readable = reading is not None and reading.n_unreadable <= 0.1 * len(series)
    if task == "auto":
        floats = series.dtype.is_float() and bool((series.drop_nulls().drop_nans() % 1 != 0).any())
        numbers = floats or (readable and series.n_unique() > MOST_CATEGORIES)
        task = "regression" if numbers and series.dtype != pl.Boolean else "classification"
    if task == "classification":
        return _classes(series)
    if reading is None or not readable:
        raise InputError(f"The target {series.name!r} must be a column of numbers for regression, got {series.dtype}; "
                         "take --task classification.")  # fmt: skip
    known = np.isfinite(reading.values)
    y = reading.values[known]
    if len(y) and np.ptp(y) <= 1e-12 * np.abs(y).max():
        raise InputError(
            f"The target {series.name!r} must differ between rows, got {y[0]:g} only; nothing can be learned."
        )
    if len(y) and np.abs(y).max() > 1e140:
        raise InputError(
            f"The target {series.name!r} must be below 1e140, got {np.abs(y).max():g}; choose another unit."
        )
    center, scale = (float(y.mean()), float(y.std())) if len(y) else (0.0, 1.0)
    return (reading.values - center) / scale, known, Target(series.name, None, center, scale)


def _classes(series: pl.Series) -> tuple[Array, Array, Target]:
    texts = read_texts(series)
    classes = sorted({text for text in texts if text is not None})
    if len(classes) < 2:
        got = classes[0] if classes else "nothing"
        raise InputError(
            f"The target {series.name!r} must have two classes or more, got {got} only; nothing can be learned."
        )
    if len(classes) > _MOST_CLASSES:
        raise InputError(
            f"The target {series.name!r} must have at most {_MOST_CLASSES} classes, got {len(classes)} texts; "
            "choose another column, or --task regression if these are numbers."
        )
    values = np.array([text or "" for text in texts])
    return values, values != "", Target(series.name, tuple(classes))
