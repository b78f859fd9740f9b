"""What people write where there is nothing."""

from __future__ import annotations

from collections import Counter

import polars as pl

from mercer.tables.columns import MOST_CATEGORIES, counted
from mercer.tables.features import some_of
from mercer.tables.numbers import are_codes, look_like_numbers

# Marks of missing entries in any column: those of programs, and abbreviations without another meaning.
_MARKS = (
    "", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "?", "-", "--", "\u2013", "\u2014",
    "#N/A", "#NV", "#N/V", "<NA>", "NaT", "(null)", "(NULL)", r"\N", "n.a.", "N.A.", "k.A.", "k. A.",
    "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "1.#INF", "-1.#INF",
)  # fmt: skip
# Errors of spreadsheets in any language, such as #DIV/0! and #NAME?.
_ERROR = r"^#\S+[!?]$"
# Words, in any case, that mean a missing entry among numbers; elsewhere they may be values, such as "none".
_WORDS = frozenset((
    *(mark.lower() for mark in _MARKS), "+nan", "-nan", ".", "..", "...", "\u2026", "*", "#", "none", "nil", "missing",
    "unknown", "undefined", "empty", "blank", "no data", "nodata", "not available", "not applicable", "n/d", "n.d.",
    "nd", "tbd", "s/d", "unbekannt", "keine angabe",
))  # fmt: skip
# With few different numbers, this fraction of a column must be numbers: otherwise its words are levels too.
_MOSTLY = 0.75
_INFINITE = r"^[+-]?(?i:inf|infinity)$"
# At most so many other words mean a missing entry in one column of numbers: with more it is a column of texts.
_MOST_OTHER_WORDS = 2


def without_marks(series: pl.Series) -> pl.Series:
    """Texts, null where people write that there is nothing."""
    texts = series.str.strip_chars()
    return series.set((texts.is_in(_MARKS) | texts.str.contains(_ERROR)).fill_null(False), None)


def is_word_for_nothing(text: str) -> bool:
    """Whether a text stands for a missing number."""
    return text.strip().lower() in _WORDS


def without_words(series: pl.Series) -> tuple[pl.Series, list[str]]:
    """Texts, null where a word stands for a missing number; and what to say of it.

    It does in columns where all entries but words are numbers: known words always; one or two others, without digits,
    if there are more different numbers than a category has values.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tables.missing import without_words
    >>> without_words(pl.Series("a", ["1,5", "2", "0", "Unknown"]))[1]
    ['a: 1 entry is not a number and counts as missing: "Unknown" (1).']
    """
    known = series.drop_nulls()
    has_digits = known.str.contains(r"\d")
    numbers, words = known.filter(has_digits), known.filter(~has_digits).str.strip_chars()
    words = words.filter(~words.str.contains(_INFINITE))
    other = words.filter(~words.str.to_lowercase().is_in(_WORDS)).n_unique()
    if not len(words) or not len(numbers) or other > _MOST_OTHER_WORDS:
        return series, []
    if numbers.n_unique() <= MOST_CATEGORIES and (other or len(numbers) < _MOSTLY * len(known)):
        return series, []
    if not look_like_numbers(numbers) or are_codes(numbers):
        return series, []
    counts = Counter(words).most_common()
    said = some_of([f'"{word}" ({n:,})' for word, n in counts])
    none = series.str.strip_chars().is_in([word for word, _ in counts]).fill_null(False)
    entries = counted(len(words), "entry is not a number and counts", "entries are not a number and count")
    return series.set(none, None), [f"{series.name}: {entries} as missing: {said}."]
