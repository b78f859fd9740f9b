"""Text tables: from bytes to columns, whose types are those that nobody could doubt."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import polars as pl

from mercer.tables.columns import counted
from mercer.tables.dialects import (
    Dialect,
    find_dialect,
    holds_units,
    n_outside_quotes,
    names_columns,
    without_empty_lines,
)
from mercer.tables.errors import InputError, OptionError, unreadable
from mercer.tables.features import some_of
from mercer.tables.naming import ROW_NAMES, clean_names
from mercer.tables.numbers import Conventions, are_codes, number_choice, reads_both_ways

# What people write where there is nothing.
_MISSING = (
    "", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "?", "-", "--", "#N/A", "<NA>", "NaT",
    "#VALUE!", "#DIV/0!", "#NUM!", "#REF!", "#NAME?",
)  # fmt: skip
# What stands in a line of units for a column that has none.
_NO_UNIT = ("", "-")
_WHOLE = r"^[+-]?\d+$"
_FLOAT = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$"
_TIMES: dict[str, Callable[[pl.Series], pl.Series]] = {
    r"^\d{4}-\d\d-\d\d$": lambda s: s.str.to_date("%Y-%m-%d", strict=False),
    r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?$":
        lambda s: s.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us"),
    r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)$":
        lambda s: s.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", strict=False, time_unit="us"),
    r"^\d\d:\d\d:\d\d(?:\.\d+)?$": lambda s: s.str.to_time("%H:%M:%S%.f", strict=False),
}  # fmt: skip


@dataclass(frozen=True)
class TextOptions:
    """What the user knows of a text file.

    Attributes
    ----------
    encoding : str
        Of its characters.
    separator, decimal, thousands : str or None
        Between columns, in numbers, and between thousands; None: found out.
    texts : collection of str
        Columns that stay texts, since a model knows how to read them.
    """

    encoding: str = "utf-8"
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    texts: Collection[str] = ()


@dataclass(frozen=True)
class TextTable:
    """Columns, what is known of their numbers, what was done to read them, which name the rows, and their units."""

    frame: pl.DataFrame
    conventions: Conventions
    notes: tuple[str, ...]
    names: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)


def text_table(data: bytes, name: str, options: TextOptions, *, tabs: bool = False) -> TextTable:
    """Columns of a text; `tabs` says that its name promises tabs between them."""
    conventions = Conventions.asked(options.decimal, options.thousands)
    text = _decoded(data, name, options.encoding)
    if not text.strip():
        raise InputError(f"{name} is empty; give a table with a header and rows.")
    dialect = find_dialect(text, separator=options.separator, tabs=tabs)
    records = dialect.records()
    if not records:
        raise InputError(f"{name} cannot be read as a table: quotes in its first lines do not end; mend them.")
    if len(records) > 1 and len(records[0]) == 1 < len(records[1]):
        raise InputError(
            f"{name} cannot be read as a table: its first line has one entry, and the next one has {len(records[1])}; "
            "remove what stands above the names of the columns."
        )
    has_header = names_columns(records)
    notes = [*dialect.notes, *_about_header(records, has_header)]
    if has_header and len(records) > 1 and {len(record) for record in records[1:]} == {len(records[0]) + 1}:
        notes.append("The first line has one name less than there are columns: the first column names the rows.")
        records[0].insert(0, ROW_NAMES)
        dialect = replace(dialect, text=f"{ROW_NAMES}{dialect.separator}{dialect.text}")
    frame, more = _cut(dialect, name, has_header)
    in_line: list[str] = []
    if has_header and holds_units(records):
        in_line = [entry.strip() for entry in records[1]]
        written = [unit for unit in in_line if unit not in _NO_UNIT]
        notes.append(f"The second line holds units and is no row: {some_of(written)}.")
        frame = frame.slice(1)
    if not has_header:
        frame.columns = [f"column {j + 1}" for j in range(frame.width)]
    elif len(records[0]) == frame.width:
        frame.columns, changed = clean_names(records[0])
        more += changed
    columns, conventions, read = _typed(frame, conventions, dialect.separator, options.texts)
    nameless = has_header and records[0][0].strip() in ("", ROW_NAMES)
    names = (columns[0].name,) if nameless and _tells_apart(columns[0]) else ()
    units = {column: unit for column, unit in zip(frame.columns, in_line, strict=False) if unit not in _NO_UNIT}
    return TextTable(pl.DataFrame(columns), conventions, (*notes, *more, *read), names, units)


def _tells_apart(series: pl.Series) -> bool:
    return not series.dtype.is_float() and series.n_unique() == len(series)


def _about_header(records: list[list[str]], has_header: bool) -> list[str]:
    if not has_header:
        return ["The first line holds numbers: it is taken as a row, and the columns are numbered."]
    numbers = [name for name in records[0] if name.strip().isdecimal()]
    if not numbers:
        return []
    return [f"The first line is taken as names of columns, though some are numbers: {', '.join(numbers[:5])}."]


def _cut(dialect: Dialect, name: str, has_header: bool) -> tuple[pl.DataFrame, list[str]]:
    """Columns of texts, and what to say of lines that are too short."""
    text = dialect.text.rstrip("\n") + "\n"
    if dialect.separator in text:  # else empty lines are missing entries of the only column
        text = without_empty_lines(text)
    quote = '"' if dialect.quotes else None
    try:
        frame = pl.read_csv(
            text.encode(), separator=dialect.separator, has_header=has_header, infer_schema=False, quote_char=quote
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if text.count('"') % 2 and quote:
            raise InputError(f"{name} cannot be read as a table: a quote in it does not end; mend it.") from None
        raise unreadable(name, error) from None
    separators = n_outside_quotes(dialect.separator, text) if quote else text.count(dialect.separator)
    n_lacking = (frame.width - 1) * (frame.height + has_header) - separators
    if n_lacking <= 0:
        return frame, []
    entries = counted(n_lacking, "entry is not there and counts", "entries are not there and count")
    return frame, [f"Some lines are shorter than others: {entries} as missing."]


def _typed(
    frame: pl.DataFrame, conventions: Conventions, separator: str, texts: Collection[str]
) -> tuple[list[pl.Series], Conventions, list[str]]:
    """Columns of numbers, truth values and dates where all entries are such; and what the file tells of its numbers.

    Points in numbers are decimal marks, unless they may separate thousands and other columns have decimal commas.
    """
    columns = [without_marks(series) for series in frame.get_columns()]
    floats = {
        series.name
        for series in columns
        if series.name not in texts and _all(series, _FLOAT) and not _all(series, _WHOLE)
    }
    conventions = _from_file(columns, floats, conventions, separator)
    found, notes = [], []
    for series in columns:
        if series.name in texts:
            found.append(_as_asked(series, conventions))
        elif series.name not in floats:
            found.append(_plain(series))
        elif conventions.decimal == "," and (conventions.proven or _separates_thousands(series)):
            found.append(series)
        else:
            found.append(series.str.strip_chars().cast(pl.Float64))
            if separator == ";" and not conventions.proven and reads_both_ways(series.drop_nulls()):
                example = series.filter(series.str.contains(".", literal=True))[0].strip()
                notes.append(f'{series.name}: "{example}" is read as {float(example):g}; if not, give --thousands ".".')
    return found, conventions, notes


def _from_file(
    columns: list[pl.Series], floats: Collection[str], conventions: Conventions, separator: str
) -> Conventions:
    """The decimal mark that columns of a file prove; commas are likely where semicolons separate columns."""
    if conventions.given:
        return conventions
    proofs = {".": 0, ",": 0}
    for series in columns:
        if series.name in floats:
            proofs["."] += not reads_both_ways(series.drop_nulls())
        elif series.str.contains(r"\d,\d").any() and (choice := number_choice(series, conventions)) and choice.sure:
            proofs[choice.format.decimal] += 1
    if bool(proofs["."]) != bool(proofs[","]):
        return replace(conventions, decimal="." if proofs["."] else ",", proven=True)
    return replace(conventions, decimal="," if separator == ";" and not proofs["."] else None)


def without_marks(series: pl.Series) -> pl.Series:
    """Texts, null where people write that there is nothing."""
    return series.set(series.str.strip_chars().is_in(_MISSING).fill_null(False), None)


def _all(series: pl.Series, pattern: str) -> bool:
    known = series.drop_nulls()
    return len(known) > 0 and bool(known.str.strip_chars().str.contains(pattern).all())


def _separates_thousands(series: pl.Series) -> bool:
    """Whether points stand in some entries only, and could be marks of thousands there."""
    known = series.drop_nulls()
    return reads_both_ways(known) and not known.str.contains(".", literal=True).all()


def _as_asked(series: pl.Series, conventions: Conventions) -> pl.Series:
    """Texts for a model, but for numbers whose marks the user gave."""
    choice = number_choice(series, conventions) if conventions.given else None
    return series if choice is None else choice.format.numbers(series)


def _plain(series: pl.Series) -> pl.Series:
    """Whole numbers, truth values, and dates and times as ISO 8601 has them; else texts."""
    texts = series.str.strip_chars()
    if _all(texts, _WHOLE):
        whole = texts.cast(pl.Int64, strict=False)
        return series if are_codes(series) or whole.null_count() > series.null_count() else whole
    if _all(texts, r"^(?i:true|false)$"):
        return texts.str.to_lowercase() == "true"
    for pattern, read in _TIMES.items():
        if _all(texts, pattern):
            times = read(texts.str.replace(" ", "T"))
            return times if times.null_count() == series.null_count() else series
    return series


def _decoded(data: bytes, name: str, encoding: str) -> str:
    for mark, guess in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark) and encoding.lower().replace("-", "") == "utf8":
            raise InputError(f"{name} is not UTF-8 text but {guess}; pass --encoding {guess}, or save it as UTF-8.")
    try:
        text = data.decode(encoding).lstrip("\ufeff")
    except LookupError:
        raise OptionError(
            f"--encoding must be one that Python knows, got {encoding!r}; try utf-8 or latin-1."
        ) from None
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data[:start].count(b"\n") + 1
        raise InputError(
            f"{name} is not {encoding} text (line {line}); save it as UTF-8, or pass --encoding latin-1."
        ) from None
    if "\0" in text:
        raise InputError(f"{name} is not a text table: it holds zero bytes; check what kind of file it is.")
    return text
