"""Entries of a column as numbers or texts, whatever they were stored as."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array = NDArray[Any]

_SECONDS_A_DAY = 86_400.0
_MICROSECONDS = 1e6


@dataclass(frozen=True)
class Reading:
    """A column as numbers.

    Attributes
    ----------
    values : array of shape (n,)
        NaN where nothing is known.
    n_infinite, n_unreadable : int
        Entries that were infinite, and texts that are no numbers: both are NaN.
    """

    values: Array
    n_infinite: int = 0
    n_unreadable: int = 0

    def notes(self, name: str) -> list[str]:
        """What the user should know."""
        notes = []
        if self.n_infinite:
            notes.append(f"{name}: {_as_missing(self.n_infinite, 'infinite')}")
        if self.n_unreadable:
            notes.append(f"{name}: {_as_missing(self.n_unreadable, 'not a number')}")
        return notes


def counted(n: int, one: str, many: str) -> str:
    """A number with the words that go with it.

    Examples
    --------
    >>> from mercer.report.columns import counted
    >>> counted(1, "row was", "rows were"), counted(2000, "row was", "rows were")
    ('1 row was', '2,000 rows were')
    """
    return f"{n:,} {one if n == 1 else many}"


def _as_missing(n: int, what: str) -> str:
    return counted(n, f"entry is {what} and counts", f"entries are {what} and count") + " as missing."


@dataclass(frozen=True)
class DateKind:
    """How a kind of date becomes a number (days, or seconds), and back."""

    to_numbers: Callable[[pl.Series], pl.Series]
    from_numbers: Callable[[pl.Series], pl.Series]


class _DateKinds(dict[str, DateKind]):
    def of(self, dtype: pl.DataType | type[pl.DataType]) -> str | None:
        """The name of the kind of date that a column holds, if any."""
        name = dtype.base_type().__name__
        return name if name in self else None


def _whole(series: pl.Series, factor: float) -> pl.Series:
    return (series.fill_nan(None) * factor).round().cast(pl.Int64)


DATES = _DateKinds(
    Date=DateKind(
        lambda s: s.cast(pl.Int32).cast(pl.Float64),
        lambda s: _whole(s, 1.0).cast(pl.Int32).cast(pl.Date),
    ),
    Datetime=DateKind(
        lambda s: s.dt.epoch("us").cast(pl.Float64) / (_MICROSECONDS * _SECONDS_A_DAY),
        lambda s: _whole(s, _SECONDS_A_DAY * _MICROSECONDS).cast(pl.Datetime("us")),
    ),
    Time=DateKind(
        lambda s: s.cast(pl.Int64).cast(pl.Float64) / 1e9,
        lambda s: (_whole(s.clip(0.0, _SECONDS_A_DAY - 1e-3), 1e6) * 1000).cast(pl.Time),
    ),
    Duration=DateKind(
        lambda s: s.dt.total_microseconds().cast(pl.Float64) / _MICROSECONDS,
        lambda s: _whole(s, _MICROSECONDS).cast(pl.Duration("us")),
    ),
)


def read_numbers(series: pl.Series) -> Reading:
    """Numbers of a column of numbers, dates, truth values, or texts that are numbers (or dates)."""
    kind = DATES.of(series.dtype)
    n_unreadable = 0
    if kind is not None:
        series = DATES[kind].to_numbers(series)
    elif series.dtype == pl.String:
        numbers = series.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        if numbers.null_count() == len(series):
            dates = series.str.to_date("%Y-%m-%d", strict=False)
            numbers = DATES["Date"].to_numbers(dates) if dates.null_count() < len(series) else numbers
        n_unreadable = numbers.null_count() - series.null_count()
        series = numbers
    elif series.dtype in (pl.Categorical, pl.Enum):
        return read_numbers(series.cast(pl.String))
    values = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64, copy=True)
    infinite = np.isinf(values)
    values[infinite] = np.nan
    return Reading(values, int(infinite.sum()), n_unreadable)


def read_texts(series: pl.Series) -> list[str | None]:
    """Texts of a column, without spaces around them; None where there is nothing."""
    texts = series.cast(pl.String).str.strip_chars().to_list()
    return [text or None for text in texts]
