"""A column of a table as columns of numbers that a model takes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import TextFormat, read_numbers, read_texts, text_format
from mercer.tables.dates import DATES

# Entries farther from the mean than this, in standard deviations, are clipped.
_FARTHEST = 1e6
# Differences of numbers of this size may overflow.
_HUGE = 1e300


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
    texts : NumberFormat or DateFormat, optional
        How numbers and dates are written where they are texts; None if the table determines it.
    unit : str
        What the table says that the numbers count; empty if it does not.
    """

    name: str
    kind: str
    center: tuple[float, ...]
    scale: float
    categories: tuple[str, ...] = ()
    dtype: str = ""
    fences: tuple[float, float] | None = None
    texts: TextFormat | None = None
    unit: str = ""

    @property
    def features(self) -> list[str]:
        """Names of the columns of numbers."""
        return [f"{self.name} = {value}" for value in self.categories] or [self.name]

    @property
    def _unit(self) -> float:
        """Differences of huge numbers are taken in this unit, so that they do not overflow."""
        return 0.25 if self.scale > _HUGE else 1.0

    def encoded(self, series: pl.Series, *, clipped: bool = True) -> tuple[Array, list[str]]:
        """Columns of numbers, NaN where entries are missing; and what the user should know.

        With `clipped`, entries beyond the fences are moved there; otherwise only so near that squares are finite.
        """
        if self.kind == "category":
            return self._indicators(series)
        reading = read_numbers(series, self.texts)
        values = reading.values
        if clipped and self.fences is not None:
            values = np.clip(values, *self.fences)
        with np.errstate(over="ignore"):
            standardised = (self._unit * values - self._unit * self.center[0]) / (self._unit * self.scale)
        return np.clip(standardised, -_FARTHEST, _FARTHEST)[:, None], reading.notes(self.name)

    def _indicators(self, series: pl.Series) -> tuple[Array, list[str]]:
        texts = read_texts(series)
        places = {value: place for place, value in enumerate(self.categories)}
        codes = np.array([-1 if text is None else places.get(text, -2) for text in texts])
        values = (codes[:, None] == np.arange(len(self.categories))).astype(np.float64)
        values[codes < 0] = np.nan
        unknown = sorted({str(text) for text, code in zip(texts, codes, strict=True) if code == -2})
        notes = [f"{self.name}: values that the model does not know count as missing: {some_of(unknown)}."]
        return (values - np.array(self.center)) / self.scale, notes if unknown else []

    def entries(self, series: pl.Series) -> pl.Series:
        """Entries as they were given, of the type that `decoded` has; null where nothing is known."""
        if self.kind == "category":
            return pl.Series(self.name, read_texts(series), dtype=pl.String)
        numbers = pl.Series(self.name, read_numbers(series, self.texts).values).fill_nan(None)
        return numbers if self.kind == "number" else DATES[self.dtype].from_numbers(numbers)

    def decoded(self, values: Array) -> pl.Series:
        """Entries of the table for columns of numbers."""
        with np.errstate(over="ignore"):  # what is too large becomes the largest number that there is
            numbers = (values * (self._unit * self.scale) + self._unit * np.array(self.center)) / self._unit
        if self.kind == "category":
            best = np.argmax(np.where(np.isnan(numbers), -np.inf, numbers), axis=1)
            return pl.Series(self.name, [self.categories[place] for place in best], dtype=pl.String)
        series = pl.Series(self.name, np.nan_to_num(numbers[:, 0], nan=np.nan))
        return series if self.kind == "number" else DATES[self.dtype].from_numbers(series)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The column that `asdict` described."""
        fences = values.get("fences")
        return cls(
            values["name"], values["kind"], tuple(map(float, values["center"])), float(values["scale"]),
            tuple(values["categories"]), values["dtype"], None if fences is None else (fences[0], fences[1]),
            text_format(values.get("texts")), values.get("unit", ""),  # the first model files had no units
        )  # fmt: skip


def some_of(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
