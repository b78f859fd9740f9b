"""The column that is to be learned, and the rows that know it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import MOST_CATEGORIES, counted, read_numbers, read_texts, text_choice
from mercer.tables.dates import DATES, DateChoice
from mercer.tables.errors import InputError, OptionError
from mercer.tables.leaks import leaks
from mercer.tables.meanings import FENCE, choices_in_words
from mercer.tables.numbers import Conventions, NumberChoice
from mercer.tables.reading import Table
from mercer.tables.schema import TableSchema
from mercer.tables.transforms import Transform

TASKS = ("auto", "regression", "classification")
# Largest number of classes: with more, the labels are names.
_MOST_CLASSES = 50
# Fewest rows to learn from.
_FEWEST_ROWS = 10
_PLAIN = Transform()
# Squares of larger numbers overflow, and those of smaller ones vanish.
_LEAST, _LARGEST = 1e-140, 1e140


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
        Numbers are learned as (transform(y) - center) / scale.
    dtype : str
        The kind of date that the numbers are; empty if they are none.
    transform : Transform
        Of numbers, before they are learned.
    errors : tuple of float
        Quantiles of what predictions miss, as numbers are learned. With a transform, a prediction is the mean over
        them, so that it is a mean of the numbers and not their median [Duan1983]_; without any it is the median.

    References
    ----------
    [Duan1983]_.
    """

    name: str
    classes: tuple[str, ...] | None = None
    center: float = 0.0
    scale: float = 1.0
    dtype: str = ""
    transform: Transform = _PLAIN
    errors: tuple[float, ...] = ()

    @property
    def task(self) -> str:
        """What machines do: "regression" or "classification"."""
        return "regression" if self.classes is None else "classification"

    @property
    def unit(self) -> str:
        """What the numbers count, after a space, if they are dates."""
        return f" {DATES[self.dtype].unit}" if self.dtype else ""

    def transformed(self, transform: Transform, y: Array) -> Self:
        """The same target, of which numbers y are learned through a transform."""
        values = transform.forward(y)
        return replace(self, transform=transform, center=float(values.mean()), scale=float(values.std()), errors=())

    def learned(self, y: Array) -> Array:
        """Numbers as they are learned."""
        return np.asarray((self.transform.forward(y) - self.center) / self.scale)

    def in_units(self, values: Array) -> Array:
        """Numbers of the table for such as are learned; medians stay medians."""
        return np.asarray(self.transform.inverse(np.asarray(values, dtype=np.float64) * self.scale + self.center))

    def predicted(self, values: Array) -> Array:
        """Numbers of the table for predictions: means if it is known what they miss, where that makes a difference."""
        if not self.errors or self.transform.kind == "none":
            return self.in_units(values)
        return np.asarray(np.mean([self.in_units(values + error) for error in self.errors], axis=0))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name, "classes": self.classes, "center": self.center, "scale": self.scale, "dtype": self.dtype,
            "transform": self.transform.kind, "unit": self.transform.unit, "errors": list(self.errors),
        }  # fmt: skip

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The target that `to_json` described."""
        classes = values["classes"]
        # The first model files have no dates and no transforms.
        transform = Transform(values.get("transform", "none"), values.get("unit", 1.0))
        return cls(
            values["name"], None if classes is None else tuple(classes), values["center"], values["scale"],
            values.get("dtype", ""), transform, tuple(values.get("errors", ())),
        )  # fmt: skip


@dataclass(frozen=True)
class LearningProblem:
    """Rows of numbers with a target.

    Attributes
    ----------
    table, schema, target : Table, TableSchema, Target
        Where they come from.
    X, y : arrays
        The rows, missing entries being NaN; and standardised numbers, or names of classes.
    far : array of bool
        Rows whose numbers are far from all others: nothing is learned from them, and errors are counted without.
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
    far: Array
    rows: Array
    notes: list[str]
    warnings: list[str]

    @classmethod
    def read(
        cls, table: Table, target: str, *, drop: tuple[str, ...] = (), keep: tuple[str, ...] = (), task: str = "auto"
    ) -> Self:
        """The problem of learning one column of a table from the others.

        Parameters
        ----------
        table : Table
            The rows.
        target : str
            The column to learn.
        drop, keep : tuple of str
            Columns that are not used, and columns that are, though they may seem to identify rows.
        task : {"auto", "regression", "classification"}
            What is learned.
        """
        table.check_columns(target)
        drop = tuple(table.columns_called(*drop))
        if target in drop:
            raise OptionError(f"--drop must not name the target, got {target!r} for both; choose another target.")
        if task not in TASKS:
            raise OptionError(f"--task must be one of {', '.join(TASKS)}, got {task!r}; choose one of them.")
        schema, notes = TableSchema.learn(table, [target, *drop], keep)
        values, known, learned, said = _read(table.frame[target], task, table.conventions)
        notes += said
        rows = np.flatnonzero(known)
        if len(rows) < _FEWEST_ROWS:
            raise InputError(
                f"{table.name} must have {_FEWEST_ROWS} rows with a known {target} or more, got {len(rows)}; give more."
            )
        if learned.classes is not None and len(learned.classes) > len(rows) / 2:
            raise InputError(
                f"The target {target!r} must have two rows or more for each class, got {len(rows)} rows of "
                f"{len(learned.classes)} classes; choose another column, or --task regression if these are numbers."
            )
        X, _ = schema.matrix(table.frame[rows])
        n_missing = schema.n_missing(X)
        if n_missing:
            entries = counted(n_missing, "missing entry was", "missing entries were")
            notes.append(f"{entries} replaced by the means of their columns.")
            notes.append("Where a metric is learned, it also counts that they are missing.")
        if len(rows) < table.frame.height:
            n_lost = table.frame.height - len(rows)
            notes.append(counted(n_lost, f"row without {target} was", f"rows without {target} were") + " left out.")
        y = values[rows]
        warned = leaks(table.frame[rows], schema, target, y)
        far = np.zeros(len(y), dtype=bool) if learned.classes is not None else are_far(y)
        if far.any():
            far_ones = counted(int(far.sum()), "number is", "numbers are")
            warned.append(
                f"{target}: {far_ones} farther from the median than {FENCE:.0f} times the distance of the quartiles, "
                f"such as {learned.in_units(y[far][:1])[0]:.4g}. Errors are computed without such rows, which would "
                "hide all other differences; fits leave them out, too, unless a logarithm brings them near. Are they "
                "mistakes?"
            )
        return cls(table, schema, learned, X, y, far, rows, [*table.notes, *notes], warned)


def true_values(series: pl.Series, target: Target, conventions: Conventions) -> tuple[Array, Array]:
    """What a column of new rows says of a target that was learned before, in the units of the table; and where it does.

    Classes may be others than those that were learned.
    """
    if target.classes is not None:
        values = np.array([text or "" for text in read_texts(series)], dtype=object)
        return values, values != ""
    is_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    choice = text_choice(series.cast(pl.String), conventions) if is_text else None
    numbers = read_numbers(series, None if choice is None else choice.format).values
    return numbers, np.isfinite(numbers)


def _read(series: pl.Series, task: str, conventions: Conventions) -> tuple[Array, Array, Target, list[str]]:
    """Values, which of them are known, the target, and what to say of it."""
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise InputError(
            f"The target {series.name!r} must be a column of numbers or texts, got {series.dtype}; choose another one."
        )
    is_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    choice = text_choice(series.cast(pl.String), conventions) if is_text else None
    reading = read_numbers(series, None if choice is None else choice.format)
    readable = not is_text or choice is not None
    if task == "auto":
        known = reading.values[np.isfinite(reading.values)]
        fractions = (series.dtype.is_float() or isinstance(choice, NumberChoice)) and bool(np.any(known % 1 != 0))
        numbers = fractions or (readable and series.n_unique() > MOST_CATEGORIES)
        task = "regression" if numbers and series.dtype != pl.Boolean else "classification"
    if task == "classification":
        return *_classes(series), []
    if isinstance(choice, DateChoice) and choice.doubt:
        raise InputError(f"The target {series.name!r} cannot be learned: {choice.doubt}.")
    if not readable:
        raise InputError(f"The target {series.name!r} must be a column of numbers for regression, got {series.dtype}; "
                         "take --task classification.")  # fmt: skip
    said = [] if choice is None else choices_in_words({series.name: choice})
    dtype = choice.format.kind if isinstance(choice, DateChoice) else DATES.of(series.dtype) or ""
    return *_numbers(series.name, reading.values, dtype), [*said, *reading.notes(series.name)]


def _numbers(name: str, values: Array, dtype: str) -> tuple[Array, Array, Target]:
    known = np.isfinite(values)
    y = values[known]
    largest = float(np.abs(y).max()) if len(y) else 1.0
    if largest and not _LEAST <= largest <= _LARGEST:
        raise InputError(
            f"The target {name!r} must be below 1e140 and reach 1e-140, got {largest:g}; choose another unit."
        )
    if len(y) and np.ptp(y) <= 1e-12 * np.abs(y).max():
        got = f"numbers around {y[0]:g} that differ by less than rounding may" if np.ptp(y) else f"{y[0]:g} only"
        raise InputError(f"The target {name!r} must differ between rows, got {got}; nothing can be learned.")
    near = y[~are_far(y)]
    center, scale = (float(near.mean()), float(near.std())) if len(near) else (0.0, 1.0)
    return (values - center) / scale, known, Target(name, None, center, scale, dtype)


def are_far(y: Array) -> Array:
    """Which numbers are far from all others; none where most of them are equal."""
    if not len(y):
        return np.zeros(0, dtype=bool)
    low, median, high = np.quantile(y, [0.25, 0.5, 0.75])
    return np.abs(y - median) > (FENCE * (high - low) if high > low else np.inf)


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
