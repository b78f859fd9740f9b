"""What the columns of a table mean to a model: learned once, stored with it, and applied to new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mercer.report.columns import DATES, Reading, counted, read_numbers, read_texts
from mercer.report.errors import InputError
from mercer.report.tables import Table

Array = NDArray[Any]

# Texts with more distinct values than this are names, not categories.
MOST_CATEGORIES = 20
# A column of text is one of numbers if this share of its entries can be read as such.
_NUMBERS_SHARE = 0.9
# An entry that is so many times farther from the median than the middle half of the entries is worth a warning.
_FAR_OUT = 1000.0
# Columns that differ by less than this share of their largest entry are constant.
_CONSTANT = 1e-12
# What sentences begin with that are warnings.
_WARNING = "Warning: "


@dataclass(frozen=True)
class Column:
    """One column of a table as one or more columns of numbers.

    Attributes
    ----------
    name, kind : str
        Its name, and "number", "date" or "category".
    center : tuple of float
        Taken from each column of numbers.
    scale : float
        What they are then divided by. The indicators of a category share one, so that all of them together weigh as
        much as a column of numbers.
    categories : tuple of str
        The values of a category, one indicator for each.
    dtype : str
        The kind of a date.
    """

    name: str
    kind: str
    center: tuple[float, ...]
    scale: float
    categories: tuple[str, ...] = ()
    dtype: str = ""

    @property
    def features(self) -> list[str]:
        """Names of the columns of numbers."""
        return [f"{self.name} = {value}" for value in self.categories] or [self.name]

    def encoded(self, series: pl.Series) -> tuple[Array, list[str]]:
        """Columns of numbers, NaN where entries are missing; and what the user should know."""
        if self.kind == "category":
            return self._indicators(series)
        reading = read_numbers(series)
        return ((reading.values - self.center[0]) / self.scale)[:, None], reading.notes(self.name)

    def _indicators(self, series: pl.Series) -> tuple[Array, list[str]]:
        texts = read_texts(series)
        places = {value: place for place, value in enumerate(self.categories)}
        codes = np.array([-1 if text is None else places.get(text, -2) for text in texts])
        values = (codes[:, None] == np.arange(len(self.categories))).astype(np.float64)
        values[codes < 0] = np.nan
        unknown = sorted({str(text) for text, code in zip(texts, codes, strict=True) if code == -2})
        notes = [f"{self.name}: values that the model does not know count as missing: {_some(unknown)}."]
        return (values - np.array(self.center)) / self.scale, notes if unknown else []

    def decoded(self, values: Array) -> pl.Series:
        """Entries of the table for columns of numbers."""
        numbers = values * self.scale + np.array(self.center)
        if self.kind == "category":
            best = np.argmax(np.where(np.isnan(numbers), -np.inf, numbers), axis=1)
            return pl.Series(self.name, [self.categories[place] for place in best], dtype=pl.String)
        series = pl.Series(self.name, numbers[:, 0])
        return series if self.kind == "number" else DATES[self.dtype].from_numbers(series)


@dataclass(frozen=True)
class TableSchema:
    """Which columns of a table are used, and how they become numbers.

    Attributes
    ----------
    columns : tuple of Column
        Those that are used.
    left_out : tuple of str
        Columns that were there and are not used.
    image_shape : pair of int, optional
        If rows are images.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.report import TableSchema, table_from_frame
    >>> frame = pl.DataFrame({"size": [1.0, 2.0, None], "colour": ["red", "blue", "red"], "unit": ["cm"] * 3})
    >>> schema, notes = TableSchema.learn(table_from_frame(frame))
    >>> schema.features
    ['size', 'colour = blue', 'colour = red']
    >>> X, _ = schema.matrix(frame)
    >>> X.shape, schema.frame(X)["colour"].to_list()
    ((3, 3), ['red', 'blue', 'red'])
    """

    columns: tuple[Column, ...]
    left_out: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None

    @classmethod
    def learn(cls, table: Table, not_features: Sequence[str] = ()) -> tuple[Self, list[str]]:
        """The schema of a table, and sentences that say what was done.

        Parameters
        ----------
        table : Table
            The rows.
        not_features : sequence of str
            Columns that must not be used: labels and targets.
        """
        if table.image_shape is not None:
            return cls._of_images(table, not_features)
        columns, notes = [], []
        for series in table.frame.get_columns():
            if series.name in not_features:
                continue
            column, note = _learned(series)
            notes += note
            if column is not None:
                columns.append(column)
        if not columns:
            raise InputError(
                f"{table.name} has no column that can be used: numbers that differ, dates, or texts of at most "
                f"{MOST_CATEGORIES} values. " + " ".join(notes)
            )
        used = {column.name for column in columns}
        schema = cls(tuple(columns), tuple(name for name in table.frame.columns if name not in used))
        return schema, [schema._in_words(), *notes]

    @classmethod
    def _of_images(cls, table: Table, not_features: Sequence[str]) -> tuple[Self, list[str]]:
        """Pixels have one unit: they are centred, and divided by one number."""
        pixels = [name for name in table.pixels if name not in not_features]
        readings = [read_numbers(table.frame[name]) for name in pixels]
        X = np.column_stack([reading.values for reading in readings])
        if np.isnan(X).all(axis=0).any():
            raise InputError(f"{table.name} has pixels that are no numbers; leave those columns out with --drop.")
        scale = float(np.sqrt(np.mean(np.nanvar(X, axis=0)))) or 1.0
        columns = [
            Column(name, "number", (float(center),), scale)
            for name, center in zip(pixels, np.nanmean(X, axis=0), strict=True)
        ]
        others = tuple(name for name in table.frame.columns if name not in pixels)
        notes = [f"{len(pixels)} pixels were centred and divided by their common standard deviation."]
        unused = [name for name in others if name not in not_features]
        if unused:
            notes.append(f"Rows are images, so that other columns are not used for the map: {_some(unused)}.")
        return cls(tuple(columns), others, table.image_shape), notes

    def _in_words(self) -> str:
        counts = {kind: sum(column.kind == kind for column in self.columns) for kind in ("number", "date", "category")}
        many = {"number": "columns of numbers", "date": "dates", "category": "categories"}
        one = {"number": "column of numbers", "date": "date", "category": "category"}
        parts = [f"{count} {one[kind] if count == 1 else many[kind]}" for kind, count in counts.items() if count]
        how = "each divided by its standard deviation"
        if counts["category"]:
            how += "; a category is one indicator for each of its values"
        return f"Used: {', '.join(parts)}, {how}."

    @property
    def features(self) -> list[str]:
        """Names of the columns of numbers."""
        return [name for column in self.columns for name in column.features]

    @property
    def groups(self) -> dict[str, list[int]]:
        """Positions of the columns of numbers that belong to each column of the table."""
        groups, start = {}, 0
        for column in self.columns:
            groups[column.name] = list(range(start, start + len(column.features)))
            start += len(column.features)
        return groups

    def matrix(self, frame: pl.DataFrame, *, allow_missing_columns: bool = False) -> tuple[Array, list[str]]:
        """Rows of numbers, NaN where entries are missing, and what the user should know.

        Columns may come in another order, and others may be there, too.

        Parameters
        ----------
        frame : polars.DataFrame
            Old or new rows.
        allow_missing_columns : bool
            Whether columns that are not there count as missing entries; else they are an error.
        """
        absent = [column.name for column in self.columns if column.name not in frame.columns]
        if absent and (not allow_missing_columns or len(absent) == len(self.columns)):
            raise InputError(
                f"The table must have the columns that the model was made from, got none called {_some(absent)}; add "
                "them, or take their entries as missing with --impute."
            )
        known = {column.name for column in self.columns} | set(self.left_out)
        extra = [name for name in frame.columns if name not in known]
        notes = [f"Columns that the model does not know are ignored: {_some(extra)}."] if extra else []
        if absent:
            notes.append(f"Columns that are not there count as missing: {_some(absent)}.")
        parts = []
        for column in self.columns:
            if column.name in absent:
                parts.append(np.full((frame.height, len(column.features)), np.nan))
                continue
            values, more = column.encoded(frame[column.name])
            parts.append(values)
            notes += more
        return np.hstack(parts), notes

    def n_missing(self, X: Array) -> int:
        """Number of entries of the table that are missing in rows of numbers; a category is one entry."""
        return sum(int(np.isnan(X[:, group[0]]).sum()) for group in self.groups.values())

    def frame(self, X: Array) -> pl.DataFrame:
        """Entries of the table for rows of numbers."""
        groups = self.groups
        return pl.DataFrame([column.decoded(X[:, groups[column.name]]) for column in self.columns])

    # Files -----------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain lists, texts and numbers."""
        return {
            "columns": [asdict(column) for column in self.columns],
            "left_out": list(self.left_out),
            "image_shape": None if self.image_shape is None else list(self.image_shape),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The schema that `to_json` described."""
        columns = [
            Column(
                column["name"], column["kind"], tuple(map(float, column["center"])), float(column["scale"]),
                tuple(column["categories"]), column["dtype"],
            )
            for column in values["columns"]
        ]  # fmt: skip
        shape = values["image_shape"]
        return cls(tuple(columns), tuple(values["left_out"]), None if shape is None else (shape[0], shape[1]))


def notes_and_warnings(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sentences about a table, those that are warnings apart."""
    notes = [sentence for sentence in sentences if not sentence.startswith(_WARNING)]
    return notes, [sentence.removeprefix(_WARNING) for sentence in sentences if sentence.startswith(_WARNING)]


# One column ----------------------------------------------------------------------------------------------------------


def _learned(series: pl.Series) -> tuple[Column | None, list[str]]:
    """The meaning of a column, or None if it is not used; and what to say of it."""
    name, dtype = series.name, series.dtype
    if series.null_count() == len(series):
        return None, [f"{name} is not used: it is empty."]
    kind = DATES.of(dtype)
    if kind is not None:
        return _number(name, "date", read_numbers(series), series, kind)
    if dtype.is_numeric() or dtype == pl.Boolean:
        return _number(name, "number", read_numbers(series), series, "")
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None, [f"{name} is not used: it holds {dtype}, which are no numbers and no texts."]
    reading = read_numbers(series)
    if reading.n_unreadable <= (1 - _NUMBERS_SHARE) * (len(series) - series.null_count()):
        return _number(name, "number", reading, series, "")
    return _category(series)


def _number(name: str, kind: str, reading: Reading, series: pl.Series, dtype: str) -> tuple[Column | None, list[str]]:
    notes = reading.notes(name)
    x = reading.values[np.isfinite(reading.values)]
    largest = float(np.abs(x).max(initial=0.0)) or 1.0
    if not x.size:
        return None, [*notes, f"{name} is not used: it holds no number."]
    # In units of the largest entry, squares of huge numbers do not overflow.
    x = x / largest
    if np.ptp(x) <= _CONSTANT:
        return None, [*notes, f"{name} is not used: it is the same in all rows."]
    if kind == "number" and len(x) == len(series) > 2 and series.dtype.is_integer() and _counts_rows(series):
        return None, [*notes, f"{name} is not used: it counts the rows."]
    low, median, high = np.quantile(x, [0.25, 0.5, 0.75])
    n_far = int(np.sum(np.abs(x - median) > _FAR_OUT * (high - low))) if high > low else 0
    if n_far:
        entries = counted(n_far, "entry that is", "entries that are")
        notes.append(
            f"{_WARNING}{name} has {entries} more than {_FAR_OUT:.0f} times as far from the middle as most; such "
            "entries hide all other differences. Correct them, or leave the column out with --drop."
        )
    center, scale = float(x.mean()) * largest, float(x.std()) * largest
    return Column(name, kind, (center,), scale, (), dtype), notes


def _counts_rows(series: pl.Series) -> bool:
    return bool((series.diff().drop_nulls() == 1).all())


def _category(series: pl.Series) -> tuple[Column | None, list[str]]:
    texts = [text for text in read_texts(series) if text is not None]
    values = sorted(set(texts))
    if len(values) == 1:
        return None, [f"{series.name} is not used: it is the same in all rows."]
    if len(values) > MOST_CATEGORIES:
        return None, [f"{series.name} is not used: {len(values)} different texts are names, not categories."]
    shares = np.array([texts.count(value) for value in values]) / len(texts)
    scale = float(np.sqrt(np.sum(shares * (1 - shares))))
    return Column(series.name, "category", tuple(map(float, shares)), scale, tuple(values)), []


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
