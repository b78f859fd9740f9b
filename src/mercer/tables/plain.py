"""Columns of text whose type is unambiguous, and the conventions of a file for its numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import polars as pl

from mercer.tables.features import some_of
from mercer.tables.missing import without_marks, without_words
from mercer.tables.numbers import (
    Conventions,
    are_codes,
    are_compact_dates,
    number_choice,
    reads_both_ways,
    with_plain_digits,
)

_WHOLE = r"^[+-]?[0-9]+$"
_FLOAT = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
_TIMES: dict[str, Callable[[pl.Series], pl.Series]] = {
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$": lambda s: s.str.to_date("%Y-%m-%d", strict=False),
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?$":
        lambda s: s.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us"),
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})$":
        lambda s: s.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", strict=False, time_unit="us"),
    r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?$": lambda s: s.str.to_time("%H:%M:%S%.f", strict=False),
}  # fmt: skip


def typed(
    columns: Sequence[pl.Series], conventions: Conventions, separator: str = "", texts: Collection[str] = ()
) -> tuple[list[pl.Series], Conventions, list[str]]:
    """Columns of numbers, truth values and dates where all entries are such; what the file tells of its numbers; notes.

    Points in numbers are decimal marks, unless they may separate thousands and other columns have decimal commas.

    Parameters
    ----------
    columns : sequence of polars.Series
        Texts.
    conventions : Conventions
        What the user gave.
    separator : str
        Between columns; empty if the file is no text.
    texts : collection of str
        Columns that stay texts, since a model knows how to read them.
    """
    columns, notes = _without_missing(columns, texts)
    plain = {series.name: with_plain_digits(series).str.strip_chars() for series in columns}
    floats = {name for name, series in plain.items() if _all(series, _FLOAT) and not _all(series, _WHOLE)}
    conventions, said = _from_file(columns, floats, conventions, separator)
    notes += said
    found = []
    for series in columns:
        numbers = plain[series.name]
        if series.name in texts:
            found.append(_as_asked(series, conventions))
        elif series.name not in floats:
            found.append(_plain(series, numbers))
        elif conventions.decimal == "," and (conventions.proven or _separates_thousands(numbers)):
            found.append(series)
        else:
            found.append(numbers.cast(pl.Float64))
            if separator == ";" and not conventions.proven and reads_both_ways(numbers.drop_nulls()):
                example = numbers.filter(numbers.str.contains(".", literal=True))[0]
                notes.append(f'{series.name}: "{example}" is read as {float(example):g}; if not, give --thousands ".".')
    return found, conventions, notes


def _without_missing(columns: Sequence[pl.Series], texts: Collection[str]) -> tuple[list[pl.Series], list[str]]:
    found, notes = [], []
    for series in map(without_marks, columns):
        if series.name not in texts:
            series, said = without_words(series)
            notes += said
        found.append(series)
    return found, notes


def _from_file(
    columns: Sequence[pl.Series], floats: Collection[str], conventions: Conventions, separator: str
) -> tuple[Conventions, list[str]]:
    """The decimal mark that columns of a file prove; commas are likely where semicolons separate columns."""
    if conventions.given:
        return conventions, []
    proofs: dict[str, list[str]] = {".": [], ",": []}
    for series in columns:
        if series.name in floats:
            proofs["."] += [] if reads_both_ways(series.drop_nulls()) else [series.name]
        elif series.str.contains(r"\d,\d").any() and (choice := number_choice(series, conventions)) and choice.sure:
            proofs[choice.format.decimal].append(series.name)
    if proofs["."] and proofs[","]:
        points, commas = some_of(proofs["."], 3), some_of(proofs[","], 3)
        return replace(conventions, decimal=None), [f"Decimal marks are points in {points}, and commas in {commas}."]
    if proofs["."] or proofs[","]:
        return replace(conventions, decimal="." if proofs["."] else ",", proven=True), []
    return replace(conventions, decimal="," if separator == ";" else None), []


def _all(series: pl.Series, pattern: str) -> bool:
    known = series.drop_nulls()
    return len(known) > 0 and bool(known.str.contains(pattern).all())


def _separates_thousands(series: pl.Series) -> bool:
    """Whether points stand in some entries only, and could be marks of thousands there."""
    known = series.drop_nulls()
    return reads_both_ways(known) and not known.str.contains(".", literal=True).all()


def _as_asked(series: pl.Series, conventions: Conventions) -> pl.Series:
    """Texts for a model, but for numbers whose marks the user gave."""
    choice = number_choice(series, conventions) if conventions.given else None
    return series if choice is None else choice.format.numbers(series)


def _plain(series: pl.Series, stripped: pl.Series) -> pl.Series:
    """Whole numbers, truth values, and dates and times as ISO 8601 has them; else the texts as they are."""
    if _all(stripped, _WHOLE):
        whole = stripped.cast(pl.Int64, strict=False)
        no_number = are_codes(stripped) or are_compact_dates(stripped) or whole.null_count() > series.null_count()
        return series if no_number else whole
    if _all(stripped, r"^(?i:true|false)$"):
        return stripped.str.to_lowercase() == "true"
    for pattern, read in _TIMES.items():
        if _all(stripped, pattern):
            times = read(stripped.str.replace(" ", "T"))
            return times if times.null_count() == series.null_count() else series
    return series
