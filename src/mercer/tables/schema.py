"""What the columns of a table mean to a model: learned once, stored with it, and applied to new rows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import MOST_CATEGORIES, counted, read_numbers
from mercer.tables.errors import InputError, OptionError
from mercer.tables.features import Column, some_of
from mercer.tables.images import ImageShape
from mercer.tables.meanings import choices_in_words, learned
from mercer.tables.naming import clean_names
from mercer.tables.numbers import NumberFormat, proven_decimal
from mercer.tables.reading import Table


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
        Those of them that identify rows: numbers that count them, ids, texts of many values.
    image_shape : ImageShape, optional
        If rows are images.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tables import TableSchema, table_from_frame
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
    image_shape: ImageShape | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def learn(cls, table: Table, not_features: Sequence[str] = (), keep: Sequence[str] = ()) -> tuple[Self, list[str]]:
        """The schema of a table, and sentences that say what was done.

        Parameters
        ----------
        table : Table
            The rows.
        not_features : sequence of str
            Columns that must not be used: labels and targets.
        keep : sequence of str
            Columns that measure something, though they may seem to identify rows.
        """
        _check_kept(table, not_features, keep)
        columns, notes, choices = [], [], {}
        if table.image_shape is not None:
            against = [name for name in not_features if name in table.pixels]
            against += [name for name in keep if name not in table.pixels]
            if not against:
                return cls._of_images(table, not_features)
            notes.append(f"Pixels are columns like others, since {some_of(against)} is to be used otherwise.")
        names = [name for name in table.names if name not in (*not_features, *keep)]
        for series in table.frame.get_columns():
            if series.name in not_features:
                continue
            if series.name in names:
                notes.append(f"{series.name} is not used: it names the rows.")
                continue
            meaning = learned(series, table.conventions, keep=series.name in keep)
            if series.name in keep and meaning.column is None:
                raise InputError(f"--keep {shlex.quote(series.name)} cannot be followed: {' '.join(meaning.notes)}")
            notes += meaning.notes
            if meaning.choice is not None:
                choices[series.name] = meaning.choice
            if meaning.column is not None:
                columns.append(replace(meaning.column, unit=table.units.get(series.name, "")))
            if meaning.names_rows:
                names.append(series.name)
        if not columns:
            raise InputError(
                f"{table.name} has no column that can be used: numbers that differ, dates, or texts of at most "
                f"{MOST_CATEGORIES} values. " + _first(notes)
            )
        used = [column.name for column in columns]
        left_out = tuple(name for name in table.frame.columns if name not in used)
        schema = cls(tuple(columns), left_out, names=tuple(names))
        return schema, [schema._in_words(), *choices_in_words(choices), *notes, *_copies(table.frame.select(used))]

    @classmethod
    def _of_images(cls, table: Table, not_features: Sequence[str]) -> tuple[Self, list[str]]:
        """Pixels have one unit: they are centred, and divided by one number."""
        pixels = list(table.pixels)
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
            notes.append(f"Rows are images, so that other columns are not used for the map: {some_of(unused)}.")
        texts = tuple(name for name in unused if table.frame[name].dtype == pl.String)
        return cls(tuple(columns), others, table.image_shape, texts), notes

    def _in_words(self) -> str:
        counts = {kind: sum(column.kind == kind for column in self.columns) for kind in ("number", "date", "category")}
        many = {"number": "columns of numbers", "date": "dates or times", "category": "categories"}
        one = {"number": "column of numbers", "date": "date or time", "category": "category"}
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
        everything = [pl.Series("row", np.arange(1, frame.height + 1)), *columns, *results.get_columns()]
        unique, _ = clean_names([series.name for series in everything])
        return pl.DataFrame([series.alias(name) for series, name in zip(everything, unique, strict=True)])

    @property
    def texts(self) -> list[str]:
        """Columns of new text files that stay texts, since the schema knows how to read them."""
        return [column.name for column in self.columns if column.kind == "category" or column.texts is not None]

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
                f"The table must have the columns that the model was made from, got none called {some_of(absent)}; add "
                "them; `mercer predict` and `mercer apply` also take their entries as missing with --impute."
            )
        known = {column.name for column in self.columns} | set(self.left_out)
        extra = [name for name in frame.columns if name not in known]
        notes = [f"Columns that the model does not know are ignored: {some_of(extra)}."] if extra else []
        if absent:
            notes.append(f"Columns that are not there count as missing: {some_of(absent)}.")
        parts = []
        for column in self.columns:
            if column.name in absent:
                parts.append(np.full((frame.height, len(column.features)), np.nan))
                continue
            values, more = column.encoded(frame[column.name], clipped=clipped)
            parts.append(values)
            notes += more
        return np.hstack(parts), notes

    def check_writing(self, table: Table) -> None:
        """Refuse columns whose units or decimal marks are not those of the rows that the model was made from."""
        for column in self.columns:
            if isinstance(column.texts, NumberFormat) and column.name in table.frame.columns:
                self._check_mark(table.frame[column.name], column.texts.decimal)
            unit = table.units.get(column.name, "")
            if unit and column.unit and unit != column.unit:
                raise InputError(
                    f"{column.name} is in {unit}, and was in {column.unit} when the model was made; bring it to "
                    f"{column.unit}, or correct the second line."
                )

    @staticmethod
    def _check_mark(series: pl.Series, decimal: str) -> None:
        proven = proven_decimal(series) if series.dtype == pl.String else None
        if proven not in (None, decimal):
            # Which may have thousands alone, such as 1.234.567.
            example = next(text for text in series.drop_nulls() if proven_decimal(pl.Series([text])) == proven).strip()
            raise InputError(
                f'{series.name} holds "{example}", whose decimal mark is "{proven}", where the rows of the model had '
                f'"{decimal}"; give --decimal "{proven}", or write them alike.'
            )

    def n_missing(self, X: Array) -> int:
        """Number of entries of the table that are missing in rows of numbers; a category is one entry."""
        return sum(int(np.isnan(X[:, group[0]]).sum()) for group in self.groups.values())

    def frame(self, X: Array) -> pl.DataFrame:
        """Entries of the table for rows of numbers."""
        groups = self.groups
        return pl.DataFrame([column.decoded(X[:, groups[column.name]]) for column in self.columns])

    def completed(self, frame: pl.DataFrame, X: Array) -> pl.DataFrame:
        """Entries of the used columns as a table has them, and those of rows of numbers where it has none."""
        columns = []
        for column, guess in zip(self.columns, self.frame(X).get_columns(), strict=True):
            given = column.entries(frame[column.name]) if column.name in frame.columns else None
            columns.append(guess if given is None else given.zip_with(given.is_not_null(), guess))
        return pl.DataFrame(columns)

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
        columns = [Column.from_json(column) for column in values["columns"]]
        # The first model files have no names.
        names = tuple(values.get("names", ()))
        shape = values["image_shape"]
        return cls(tuple(columns), tuple(values["left_out"]), None if shape is None else tuple(shape), names)


def _check_kept(table: Table, not_features: Sequence[str], keep: Sequence[str]) -> None:
    table.check_columns(*keep)
    both = [name for name in keep if name in not_features]
    if both:
        raise OptionError(f"--keep must name columns that are used for learning, got {some_of(both)}; leave it out.")


def _first(notes: Sequence[str], most: int = 8) -> str:
    """The first notes: there is one for each column, and there may be thousands."""
    return " ".join([*notes[:most], *(["And so on."] if len(notes) > most else [])])


def _copies(frame: pl.DataFrame) -> list[str]:
    n_copies = frame.height - frame.n_unique()
    if not n_copies:
        return []
    return [counted(n_copies, "row repeats", "rows repeat") + " another one in all columns that are used."]
