"""What a column of a table means: numbers, dates, categories, or names of rows."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import (
    MOST_CATEGORIES,
    Reading,
    TextChoice,
    TextFormat,
    counted,
    read_numbers,
    read_texts,
    text_choice,
)
from mercer.tables.dates import DATES, DateChoice, DateFormat
from mercer.tables.features import Column, some_of
from mercer.tables.numbers import Conventions, NumberFormat, are_codes, are_compact_dates, units_of

# Entries farther from the median than this many times the interquartile range are clipped, since they would hide all
# other differences.
FENCE = 20.0
# Columns that differ by less than this fraction of their largest entry are constant.
_CONSTANT = 1e-12
# Names of columns that identify rows: id, customer_id, Kunden-Nr., rowID, index.
_NAMES_OF_IDS = re.compile(r"(?i:(?:^|[\W_])(?:id|uuid|key|nr)\W*$|^index$)|(?<=[a-z])(?:Id|ID|Nr)$")
# Numbers that mark missing entries in many files, and the least number of values of a column in which one stands out.
_NINES = re.compile(r"-9{2,}|9{3,}|-?9+\.9+")
_FEWEST_VALUES = 4
# This many texts, all of them different, are names.
_FEWEST_NAMES = 5
# A column counts the rows if it grows by one, or not at all, from row to row, except for this fraction of the rows.
_COUNTING = 0.98


@dataclass(frozen=True)
class Meaning:
    """What a column means.

    Attributes
    ----------
    column : Column or None
        As it is used, if it is.
    notes : list of str
        What to say of it.
    names_rows : bool
        Whether it identifies rows.
    choice : NumberChoice or DateChoice, optional
        How its texts were read.
    """

    column: Column | None
    notes: list[str]
    names_rows: bool = False
    choice: TextChoice | None = None


def learned(series: pl.Series, conventions: Conventions, *, keep: bool = False) -> Meaning:
    """What a column means, where the conventions of its file help to read texts.

    With `keep` it measures something, whatever it looks like.
    """
    name, dtype = series.name, series.dtype
    if series.null_count() == len(series):
        return Meaning(None, [f"{name} is not used: it is empty."])
    kind = DATES.of(dtype)
    if kind is not None:
        return _number(name, "date", read_numbers(series), kind)
    if dtype.is_integer() and are_compact_dates(series):
        series = series.cast(pl.String)
    elif dtype.is_numeric() or dtype == pl.Boolean:
        return _number(name, "number", read_numbers(series), "", _known_format(dtype, conventions), keep=keep)
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return Meaning(None, [f"{name} is not used: it holds {dtype}, which are no numbers and no texts."])
    texts = series.cast(pl.String)
    choice = text_choice(texts, conventions)
    if isinstance(choice, DateChoice) and choice.doubt:
        return Meaning(None, [f"{name} is not used: {choice.doubt}."])
    if choice is None:
        units = units_of(texts)
        if len(units) > 1:
            return Meaning(None, [f"{name} is not used: its numbers have several units, {some_of(units)}; take one."])
        return _category(texts)
    reading = read_numbers(texts, choice.format)
    if isinstance(choice.format, DateFormat):
        meaning = _number(name, "date", reading, choice.format.kind, choice.format)
    else:
        meaning = _number(name, "number", reading, "", choice.format, keep=keep)
    return replace(meaning, choice=choice)


def _known_format(dtype: pl.DataType, conventions: Conventions) -> NumberFormat | None:
    """How new texts are read where the file had plain numbers; fractions of such have a point."""
    if not conventions.proven:
        return None
    return NumberFormat("." if dtype.is_float() else conventions.decimal or ".")


def choices_in_words(choices: dict[str, TextChoice]) -> list[str]:
    """What was decided, columns of the same format together."""
    groups: dict[Any, list[str]] = {}
    for name, choice in choices.items():
        if choice.says_something:
            groups.setdefault((choice.format, choice.sure), []).append(name)
    return [choices[names[0]].words(some_of(names)) for names in groups.values()]


def _number(
    name: str, kind: str, reading: Reading, dtype: str, texts: TextFormat | None = None, *, keep: bool = False
) -> Meaning:
    notes = reading.notes(name)
    x = reading.values[np.isfinite(reading.values)]
    if not x.size:
        return Meaning(None, [*notes, f"{name} is not used: it holds no number."])
    fences = _fences(x)
    if fences is not None:
        entries = counted(int(np.sum((x < fences[0]) | (x > fences[1]))), "entry counts", "entries count")
        x = np.clip(x, *fences)
        low, high = (_shown(fence, kind, dtype) for fence in fences)
        notes.append(f"{name}: {entries} as {low} or {high}, being farther out; they would hide all other differences.")
    if kind == "number":
        notes += _about_placeholders(name, reading.values[np.isfinite(reading.values)])
    # In units of the largest entry, squares of huge numbers do not overflow.
    largest = float(np.abs(x).max()) or 1.0
    if np.ptp(x / largest) <= _CONSTANT:
        how = "differs by less than rounding of such numbers may" if np.ptp(x) else "is the same in all rows"
        return Meaning(None, [*notes, f"{name} is not used: it {how}."])
    why = _why_names(name, x) if kind == "number" and not keep else None
    if why is not None:
        note = f"{name} is not used: {why}; if it measures something, give --keep {shlex.quote(name)}."
        return Meaning(None, [*notes, note], names_rows=True)
    center, scale = float((x / largest).mean()) * largest, float((x / largest).std()) * largest
    return Meaning(Column(name, kind, (center,), scale, (), dtype, fences, texts), notes)


def _about_placeholders(name: str, x: Array) -> list[str]:
    """A note on values such as -999 or 9999 that come again and again far from all others, at one end."""
    values, counts = np.unique(x, return_counts=True)
    if len(values) < _FEWEST_VALUES:
        return []
    notes = []
    gaps = np.diff(values / 2.0)  # halves of the largest numbers can be subtracted
    for end, gap, others in ((0, gaps[0], gaps[1:]), (-1, gaps[-1], gaps[:-1])):
        if _NINES.fullmatch(f"{values[end]:.15g}") and counts[end] > 1 and gap > others.max():
            often = counted(int(counts[end]), "entry is", "entries are")
            notes.append(f"{name}: {often} {values[end]:.15g}, which may stand for nothing; if so, leave them empty.")
    return notes


def _fences(x: Array) -> tuple[float, float] | None:
    """Bounds for entries that are far from all others, if there are such."""
    with np.errstate(over="ignore"):  # no width is too large
        # A quarter of the largest numbers that there are can be subtracted from each other.
        low, median, high = 4.0 * np.quantile(x / 4.0, [0.25, 0.5, 0.75])
        width = FENCE * (high - low)
        if width == 0 or np.abs(x - median).max() <= width:
            return None
        return float(median - width), float(median + width)


def _shown(value: float, kind: str, dtype: str) -> str:
    if kind == "number":
        return f"{value:.4g}"
    return str(DATES[dtype].from_numbers(pl.Series([value])).cast(pl.String)[0])


def _why_names(name: str, x: Array) -> str | None:
    """Why whole numbers identify rows and measure nothing; None if they may measure something."""
    if len(x) < 3 or np.any(x != np.round(x)):
        return None
    with np.errstate(over="ignore"):
        steps = np.diff(x)
    if np.mean(steps == 1) + np.mean(steps == 0) >= _COUNTING and np.mean(steps == 1) > 0.5:
        return "it counts the rows"
    if _NAMES_OF_IDS.search(name) and len(np.unique(x)) > min(MOST_CATEGORIES, len(x) / 2):
        return "its name and its whole numbers say that it tells rows apart"
    return None


def _category(series: pl.Series) -> Meaning:
    texts = [text for text in read_texts(series) if text is not None]
    values = sorted(set(texts))
    name = series.name
    codes = [f"{name}: leading zeros say that these are codes, not numbers."] if are_codes(series) else []
    if not values:
        return Meaning(None, [f"{name} is not used: it is empty."])
    if len(values) == 1:
        return Meaning(None, [f"{name} is not used: it is the same in all rows."])
    distinct = len(values) > MOST_CATEGORIES or (len(values) == len(texts) >= _FEWEST_NAMES)
    if distinct or (_NAMES_OF_IDS.search(name) and len(values) > len(texts) / 2):
        note = f"{name} is not used: {len(values)} different texts are names, not categories."
        return Meaning(None, [*codes, note], names_rows=True)
    shares = np.array([texts.count(value) for value in values]) / len(texts)
    scale = float(np.sqrt(np.sum(shares * (1 - shares))))
    return Meaning(Column(series.name, "category", tuple(map(float, shares)), scale, tuple(values)), codes)
