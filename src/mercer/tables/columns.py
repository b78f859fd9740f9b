"""Entries of a column as numbers or texts, whatever they were stored as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.printable import CONTROL
from mercer.tables.dates import DATES, DateChoice, DateFormat, date_choice, without_placeholders
from mercer.tables.numbers import Conventions, NumberChoice, NumberFormat, number_choice

# Texts with more different values than this are names, not categories.
MOST_CATEGORIES = 20

TextFormat = NumberFormat | DateFormat
TextChoice = NumberChoice | DateChoice


@dataclass(frozen=True)
class Reading:
    """A column as numbers.

    Attributes
    ----------
    values : array of shape (n,)
        NaN where nothing is known.
    n_infinite, n_unreadable, n_placeholders : int
        Entries that were infinite, texts that are no numbers, and dates that stand for nothing: all are NaN.
    choice : NumberChoice or DateChoice, optional
        How texts were read, if that was determined by the column itself.
    are_dates : bool
        Whether texts were read as dates.
    """

    values: Array
    n_infinite: int = 0
    n_unreadable: int = 0
    n_placeholders: int = 0
    choice: TextChoice | None = None
    are_dates: bool = False

    def notes(self, name: str) -> list[str]:
        """What the user should know."""
        counts = {
            "infinite": self.n_infinite,
            "no date of this format" if self.are_dates else "not a number": self.n_unreadable,
            "at the end of the calendar": self.n_placeholders,
        }
        notes = [f"{name}: {_as_missing(n, what)}" for what, n in counts.items() if n]
        return notes if self.choice is None or not self.choice.says_something else [self.choice.words(name), *notes]


def counted(n: int, one: str, many: str) -> str:
    """A number with the words that go with it.

    Examples
    --------
    >>> from mercer.tables.columns import counted
    >>> counted(1, "row was", "rows were"), counted(2000, "row was", "rows were")
    ('1 row was', '2,000 rows were')
    """
    return f"{n:,} {one if n == 1 else many}"


def _as_missing(n: int, what: str) -> str:
    return counted(n, f"entry is {what} and counts", f"entries are {what} and count") + " as missing."


def text_choice(texts: pl.Series, conventions: Conventions | None = None) -> TextChoice | None:
    """How a column of texts is read as numbers or dates; None if it holds neither."""
    return number_choice(texts, conventions or Conventions()) or date_choice(texts)


def text_format(values: dict[str, str] | None) -> TextFormat | None:
    """The format that a model file describes."""
    if values is None:
        return None
    return DateFormat(**values) if "pattern" in values else NumberFormat(**values)


def read_numbers(series: pl.Series, texts: TextFormat | None = None) -> Reading:
    """Numbers of a column of numbers, dates, truth values, or texts that are numbers or dates.

    Parameters
    ----------
    series : polars.Series
        The column.
    texts : NumberFormat or DateFormat, optional
        How texts are read; by default the column determines it.
    """
    n_unreadable, choice = 0, None
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if series.dtype.is_integer() and isinstance(texts, DateFormat):
        series = series.cast(pl.String)  # days such as 20240131
    if series.dtype == pl.String:
        if texts is None:
            choice = text_choice(series)
            texts = NumberFormat() if choice is None else choice.format
        read = texts.dates(series) if isinstance(texts, DateFormat) else texts.numbers(series)
        n_unreadable = read.null_count() - series.null_count()
        series = read
    if _is_opaque(series.dtype):
        return Reading(np.full(len(series), np.nan), n_unreadable=len(series) - series.null_count())
    series, n_placeholders = without_placeholders(series)
    kind = DATES.of(series.dtype)
    if kind is not None:
        series = DATES[kind].to_numbers(series)
    values = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64, copy=True)
    infinite = np.isinf(values)
    values[infinite] = np.nan
    return Reading(values, int(infinite.sum()), n_unreadable, n_placeholders, choice, isinstance(texts, DateFormat))


def read_texts(series: pl.Series) -> list[str | None]:
    """Texts of a column, without spaces around them and control characters; None where there is nothing."""
    if _is_opaque(series.dtype) or series.dtype == pl.Duration:
        return [None if entry is None else str(entry) for entry in series.to_list()]
    texts = series.cast(pl.String).str.replace_all(CONTROL, "\ufffd").str.strip_chars().to_list()
    return [text or None for text in texts]


def _is_opaque(dtype: pl.DataType) -> bool:
    """Whether entries are neither numbers nor texts nor dates."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object)
