"""What the columns of a table mean to a model: learned once, stored with it, and applied to new rows."""

from __future__ import annotations

import re
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
# Entries that are more than so many times as far from the median as the quartiles are from each other are moved there:
# they would hide all other differences.
_FENCE = 20.0
# Columns that differ by less than this share of their largest entry are constant.
_CONSTANT = 1e-12
# Farther from the mean than this, in standard deviations, nothing is different.
_FARTHEST = 1e6
# Names of columns that tell rows apart: id, customer_id, Kunden-Nr., rowID, index.
_NAMES_OF_IDS = re.compile(r"(?i:(?:^|[\W_])(?:id|uuid|key|nr)\W*$|^index$)|(?<=[a-z])(?:Id|ID|Nr)$")
# A column that grows by one, or not at all, from row to row counts the rows, but for this share of them.
_COUNTING = 0.98


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
    fences : pair of float or None
        Entries beyond are moved there; None if none had to be.
    """

    name: str
    kind: str
    center: tuple[float, ...]
    scale: float
    categories: tuple[str, ...] = ()
    dtype: str = ""
    fences: tuple[float, float] | None = None

    @property
    def features(self) -> list[str]:
        """Names of the columns of numbers."""
        return [f"{self.name} = {value}" for value in self.categories] or [self.name]

    def encoded(self, series: pl.Series, *, clipped: bool = True) -> tuple[Array, list[str]]:
        """Columns of numbers, NaN where entries are missing; and what the user should know.

        With `clipped`, entries beyond the fences are moved there; otherwise only so near that squares are finite.
        """
        if self.kind == "category":
            return self._indicators(series)
        reading = read_numbers(series)
        values = reading.values
        if clipped and self.fences is not None:
            values = np.clip(values, *self.fences)
        with np.errstate(over="ignore"):
            standardised = (values - self.center[0]) / self.scale
        return np.clip(standardised, -_FARTHEST, _FARTHEST)[:, None], reading.notes(self.name)

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
    names : tuple of str
        Those of them that tell rows apart: numbers that count them, ids, texts of many values.
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
    names: tuple[str, ...] = ()

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
        columns, notes, names = [], [], []
        for series in table.frame.get_columns():
            if series.name in not_features:
                continue
            meaning = _learned(series)
            notes += meaning.notes
            if meaning.column is not None:
                columns.append(meaning.column)
            if meaning.names_rows:
                names.append(series.name)
        if not columns:
            raise InputError(
                f"{table.name} has no column that can be used: numbers that differ, dates, or texts of at most "
                f"{MOST_CATEGORIES} values. " + " ".join(notes)
            )
        used = [column.name for column in columns]
        left_out = tuple(name for name in table.frame.columns if name not in used)
        schema = cls(tuple(columns), left_out, names=tuple(names))
        return schema, [schema._in_words(), *notes, *_copies(table.frame.select(used))]

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
        texts = tuple(name for name in unused if table.frame[name].dtype == pl.String)
        return cls(tuple(columns), others, table.image_shape, texts), notes

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

    def named(self, frame: pl.DataFrame, results: pl.DataFrame, label: str | None) -> pl.DataFrame:
        """Results for the rows of a table, with what tells the rows apart before them.

        That is their number, the columns that name them, and their label; what has the name of a result is called
        "... (given)".
        """
        carried = [name for name in dict.fromkeys([*self.names, label]) if name in frame.columns]
        taken = ["row", *results.columns]
        columns = [frame[name].alias(f"{name} (given)" if name in taken else name) for name in carried]
        return pl.DataFrame([pl.Series("row", np.arange(1, frame.height + 1)), *columns, *results.get_columns()])

    @property
    def has_fences(self) -> bool:
        """Whether entries of any column are moved."""
        return any(column.fences is not None for column in self.columns)

    def matrix(
        self, frame: pl.DataFrame, *, allow_missing_columns: bool = False, clipped: bool = True
    ) -> tuple[Array, list[str]]:
        """Rows of numbers, NaN where entries are missing, and what the user should know.

        Columns may come in another order, and others may be there, too.

        Parameters
        ----------
        frame : polars.DataFrame
            Old or new rows.
        allow_missing_columns : bool
            Whether columns that are not there count as missing entries; else they are an error.
        clipped : bool
            Whether entries beyond the fences of their columns are moved there.
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
            values, more = column.encoded(frame[column.name], clipped=clipped)
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
            "names": list(self.names),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The schema that `to_json` described."""
        columns = [
            Column(
                column["name"], column["kind"], tuple(map(float, column["center"])), float(column["scale"]),
                tuple(column["categories"]), column["dtype"], _pair(column.get("fences")),
            )
            for column in values["columns"]
        ]  # fmt: skip
        # The first model files had no names.
        names = tuple(values.get("names", ()))
        return cls(tuple(columns), tuple(values["left_out"]), _pair(values["image_shape"]), names)


def _pair(values: Any) -> Any:
    return None if values is None else (values[0], values[1])


# One column ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Meaning:
    """A column that is used, or None; what to say of it; and whether it tells rows apart."""

    column: Column | None
    notes: list[str]
    names_rows: bool = False


def _learned(series: pl.Series) -> _Meaning:
    name, dtype = series.name, series.dtype
    if series.null_count() == len(series):
        return _Meaning(None, [f"{name} is not used: it is empty."])
    kind = DATES.of(dtype)
    if kind is not None:
        return _number(name, "date", read_numbers(series), kind)
    if dtype.is_numeric() or dtype == pl.Boolean:
        return _number(name, "number", read_numbers(series), "")
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return _Meaning(None, [f"{name} is not used: it holds {dtype}, which are no numbers and no texts."])
    reading = read_numbers(series)
    if reading.n_unreadable <= (1 - _NUMBERS_SHARE) * (len(series) - series.null_count()):
        return _number(name, "number", reading, "")
    return _category(series)


def _number(name: str, kind: str, reading: Reading, dtype: str) -> _Meaning:
    notes = reading.notes(name)
    x = reading.values[np.isfinite(reading.values)]
    if not x.size:
        return _Meaning(None, [*notes, f"{name} is not used: it holds no number."])
    fences = _fences(x)
    if fences is not None:
        entries = counted(int(np.sum((x < fences[0]) | (x > fences[1]))), "entry counts", "entries count")
        x = np.clip(x, *fences)
        low, high = (_shown(fence, kind, dtype) for fence in fences)
        notes.append(f"{name}: {entries} as {low} or {high}, being farther out; they would hide all other differences.")
    # In units of the largest entry, squares of huge numbers do not overflow.
    largest = float(np.abs(x).max()) or 1.0
    if np.ptp(x / largest) <= _CONSTANT:
        return _Meaning(None, [*notes, f"{name} is not used: it is the same in all rows."])
    why = _why_names(name, x) if kind == "number" else None
    if why is not None:
        return _Meaning(None, [*notes, f"{name} is not used: {why}."], names_rows=True)
    center, scale = float((x / largest).mean()) * largest, float((x / largest).std()) * largest
    return _Meaning(Column(name, kind, (center,), scale, (), dtype, fences), notes)


def _fences(x: Array) -> tuple[float, float] | None:
    """Bounds for entries that are far from all others, if there are such."""
    with np.errstate(over="ignore"):  # no width is too large
        low, median, high = np.quantile(x, [0.25, 0.5, 0.75])
        width = _FENCE * (high - low)
        if width == 0 or np.abs(x - median).max() <= width:
            return None
    return float(median - width), float(median + width)


def _shown(value: float, kind: str, dtype: str) -> str:
    if kind == "number":
        return f"{value:.4g}"
    return str(DATES[dtype].from_numbers(pl.Series([value]))[0])


def _why_names(name: str, x: Array) -> str | None:
    """Why whole numbers tell rows apart and measure nothing; None if they may measure something."""
    if len(x) < 3 or np.any(x != np.round(x)):
        return None
    steps = np.diff(x)
    if np.mean(steps == 1) + np.mean(steps == 0) >= _COUNTING and np.mean(steps == 1) > 0.5:
        return "it counts the rows"
    if _NAMES_OF_IDS.search(name) and len(np.unique(x)) > MOST_CATEGORIES:
        return "its name and its whole numbers say that it tells rows apart"
    return None


def _copies(frame: pl.DataFrame) -> list[str]:
    n_copies = frame.height - frame.n_unique()
    if not n_copies:
        return []
    return [counted(n_copies, "row repeats", "rows repeat") + " another one in all columns that are used."]


def _category(series: pl.Series) -> _Meaning:
    texts = [text for text in read_texts(series) if text is not None]
    values = sorted(set(texts))
    if len(values) == 1:
        return _Meaning(None, [f"{series.name} is not used: it is the same in all rows."])
    if len(values) > MOST_CATEGORIES:
        note = f"{series.name} is not used: {len(values)} different texts are names, not categories."
        return _Meaning(None, [note], names_rows=True)
    shares = np.array([texts.count(value) for value in values]) / len(texts)
    scale = float(np.sqrt(np.sum(shares * (1 - shares))))
    return _Meaning(Column(series.name, "category", tuple(map(float, shares)), scale, tuple(values)), [])


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
