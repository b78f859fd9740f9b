"""What stands above the rows of a text: comments, names of columns, their units and types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from mercer.tables.missing import is_word_for_nothing
from mercer.tables.numbers import PLAIN_NUMBER, UNIT_ALONE, mostly_numbers

Records = Sequence[Sequence[str]]

# Names of types of columns in programs.
_TYPES = frozenset((
    "int", "int32", "int64", "integer", "long", "bigint", "float", "float32", "float64", "double", "real", "decimal",
    "number", "numeric", "continuous", "discrete", "str", "string", "text", "varchar", "char", "object", "factor",
    "category", "categorical", "bool", "boolean", "logical", "date", "datetime", "time", "timestamp",
))  # fmt: skip
# Numbers in equal steps: from this many on they are no coincidence.
_SURE_STEPS = 4


def without_comments(text: str) -> tuple[str, list[str]]:
    """The text below lines that begin with #, and these lines; all of it if there is nothing below."""
    lines = []
    rest = text
    while rest.startswith("#"):
        line, _, rest = rest.partition("\n")
        lines.append(line)
        rest = rest.lstrip("\n")
    return (rest, lines) if rest.strip() else (text, [])


def names_columns(records: Records) -> bool:
    """Whether the first record names the columns.

    It does not if all of it are numbers, unless they count the columns, or grow in equal steps as years do; nor if some
    are numbers, and others are values that come again below, or numbers have a fraction and grow in other steps.
    """
    first, rest = [name.strip() for name in records[0]], records[1:]
    numbers = [name for name in first if PLAIN_NUMBER.fullmatch(name)]
    if not numbers:
        return True
    steps = _in_steps(numbers) and not any(_same_step(numbers, row) for row in rest)
    if len(numbers) == len(first):
        return steps and (_count_columns(numbers) or len(numbers) >= _SURE_STEPS or _stand_apart(numbers, rest))
    again = any(
        name and not PLAIN_NUMBER.fullmatch(name) and any(len(row) > j and row[j].strip() == name for row in rest)
        for j, name in enumerate(first)
    )
    fractions = any(re.search(r"\d[.,]\d", number) for number in numbers)
    return not again and (not fractions or (steps and len(numbers) > 2))


def _in_steps(numbers: Sequence[str]) -> bool:
    """Whether numbers grow in equal steps, but for the rounding of their last digits."""
    values = _values(numbers)
    if len(values) < len(numbers) or len(values) < 2:
        return False
    steps = [later - earlier for earlier, later in pairwise(values)]
    rounding = 2.0 * 10.0 ** -max(len(number.partition(".")[2]) for number in numbers)
    return min(steps) > 0 and max(steps) - min(steps) <= (rounding if "." in "".join(numbers) else 0.0)


def _same_step(numbers: Sequence[str], row: Sequence[str]) -> bool:
    """Whether another record grows in the same steps: then the first one is a row, too."""
    values, others = _values(numbers), [entry.strip() for entry in row if PLAIN_NUMBER.fullmatch(entry.strip())]
    return _in_steps(others) and abs((_values(others)[1] - _values(others)[0]) - (values[1] - values[0])) < 1e-9


def _count_columns(numbers: Sequence[str]) -> bool:
    """Whether numbers are 0, 1, 2, ... as pandas names columns that have no names."""
    return len(numbers) > 2 and list(numbers) == [str(j) for j in range(len(numbers))]


def _stand_apart(numbers: Sequence[str], rows: Records) -> bool:
    """Whether each number is without a fraction that those below it have, or farther off than they are apart."""
    for j, number in enumerate(numbers):
        below = [row[j].strip() for row in rows if len(row) > j and row[j].strip()]
        values = _values(below)
        if len(below) < 2 or len(values) < len(below):
            return False
        low, high = min(values), max(values)
        outside = max(low - float(number), float(number) - high) > high - low
        whole_above_fractions = number.isdecimal() and all("." in entry for entry in below)
        if not (whole_above_fractions or (outside and len(numbers) > 2)):
            return False
    return True


def _values(entries: Sequence[str]) -> list[float]:
    """Those entries that Python reads as numbers."""
    values = []
    for entry in entries:
        try:
            values.append(float(entry))
        except ValueError:
            continue
    return values


def is_title(records: Records) -> bool:
    """Whether the first record is no header: it has one entry, and the next one more."""
    if len(records) < 2 or not records[0][0].strip():
        return False
    n_filled = sum(bool(entry.strip()) for entry in records[0])
    if len(records[0]) == 1:
        return len(records[1]) > 1
    return n_filled == 1 and _texts_above_numbers(records[1:])


def comment_names_columns(comment: str, entries: Sequence[str], records: Records) -> bool:
    """Whether the last comment, cut into entries, names the columns: as many, and what is below does not."""
    if len(entries) < 2 or len(entries) != len(records[0]):
        return False
    has_numbers = any(PLAIN_NUMBER.fullmatch(entry.strip()) for entry in records[0])
    # "#id" may be a name; "# made by" is a sentence.
    return has_numbers or (comment[1:2].strip() != "" and not _texts_above_numbers(records))


def _texts_above_numbers(records: Records) -> bool:
    """Whether the first record has texts only, and they stand above numbers in some column."""
    first = [entry.strip() for entry in records[0]]
    if not all(first) or any(PLAIN_NUMBER.fullmatch(entry) for entry in first):
        return False
    return any(mostly_numbers(column) for column in _columns_below(records))


def _columns_below(records: Records) -> list[list[str]]:
    width = len(records[0])
    columns = [[row[j].strip() for row in records[1:] if len(row) > j] for j in range(width)]
    return [[entry for entry in column if entry and not is_word_for_nothing(entry)] for column in columns]


def holds_units(records: Records) -> bool:
    """Whether the second record holds the units of columns of numbers, and nothing else."""
    if len(records) < 3 or len(records[1]) != len(records[0]):
        return False
    over_numbers = False
    for j, entry in enumerate(text.strip() for text in records[1]):
        below = [row[j].strip() for row in records[2:] if len(row) > j and row[j].strip()]
        if entry in ("", "-"):
            continue
        if not UNIT_ALONE.fullmatch(entry) or entry in below:
            return False
        over_numbers |= len(below) > 0 and mostly_numbers(below)
    return over_numbers


def holds_types(records: Records) -> bool:
    """Whether the second record holds types of columns, such as int and float."""
    return len(records) > 2 and all(entry.strip().lower() in _TYPES for entry in records[1])


def holds_more_names(records: Records) -> bool:
    """Whether the second record holds different texts above all columns of numbers, as a second header does."""
    if len(records) < 4 or len(records[1]) != len(records[0]):
        return False
    numeric = [j for j, column in enumerate(_columns_below(records[1:])) if column and mostly_numbers(column)]
    above = [records[1][j].strip() for j in numeric]
    texts = all(entry and not PLAIN_NUMBER.fullmatch(entry) and not is_word_for_nothing(entry) for entry in above)
    return texts and len(set(above)) > 1 and not any(re.search(r"\d.*\d", entry) for entry in above)
