"""Text tables: from bytes to columns, with what had to be done on the way."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import polars as pl

from mercer.printable import LONE
from mercer.tables.columns import counted
from mercer.tables.dialects import Dialect, find_dialect, n_outside_quotes, with_line_ends, without_empty_lines
from mercer.tables.errors import InputError, OptionError, unreadable
from mercer.tables.features import some_of
from mercer.tables.headers import (
    comment_names_columns,
    holds_more_names,
    holds_types,
    holds_units,
    is_title,
    names_columns,
    without_comments,
)
from mercer.tables.naming import ROW_NAMES, clean_names
from mercer.tables.numbers import Conventions
from mercer.tables.plain import typed

# Entries of a line of units for columns without a unit.
_NO_UNIT = ("", "-")
# DOS's end-of-file character.
_END_IN_DOS = "\x1a"


@dataclass(frozen=True)
class TextOptions:
    """What the user knows of a text file.

    Attributes
    ----------
    encoding : str
        Of its characters.
    separator, decimal, thousands : str or None
        Between columns, in numbers, and between thousands; None: found out.
    header : bool or None
        Whether the first line names the columns; None: found out.
    texts : collection of str
        Columns that stay texts, since a model knows how to read them.
    """

    encoding: str = "utf-8"
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: bool | None = None
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
    text, notes = _without_end_mark(_decoded(data, name, options.encoding))
    if not text.strip():
        raise InputError(f"{name} is empty; give a table with a header and rows.")
    dialect, records, said = _cut_into_records(text, name, options, tabs=tabs)
    has_header = names_columns(records) if options.header is None else options.header
    notes += [*said, *dialect.notes, *_about_header(records, has_header, options.header)]
    names_rows = has_header and len(records) > 1 and {len(row) for row in records[1:]} == {len(records[0]) + 1}
    if names_rows:
        note = "The first line has one name less than there are columns: the first column names the rows."
        hint = " If commas are also in numbers, separate columns by another character."
        notes.append(note + (hint if dialect.separator == "," else ""))
        records[0].insert(0, ROW_NAMES)
        dialect = replace(dialect, text=f"{ROW_NAMES}{dialect.separator}{dialect.text}")
    frame, more = _cut(dialect, name, len(records[0]), text)
    in_line: list[str] = []
    if has_header:
        frame, in_line, said = _below_header(frame, records, name)
        more += said
    frame.columns, changed = _names(records[0], frame.width, has_header)
    if names_rows and not _tells_apart(frame[ROW_NAMES]):
        raise InputError(
            f"{name} cannot be read as a table: all lines have one entry more than the first one, and their first "
            "entries come twice, so that they name no rows; if commas are decimal marks, separate columns otherwise."
        )
    columns, conventions, read = typed(frame.get_columns(), conventions, dialect.separator, options.texts)
    nameless = has_header and records[0][0].strip() in ("", ROW_NAMES)
    names = (columns[0].name,) if nameless and _tells_apart(columns[0]) else ()
    units = {column: unit for column, unit in zip(frame.columns, in_line, strict=False) if unit not in _NO_UNIT}
    return TextTable(pl.DataFrame(columns), conventions, (*notes, *more, *changed, *read), names, units)


def _tells_apart(series: pl.Series) -> bool:
    return not series.dtype.is_float() and series.n_unique() == len(series)


# The head of the text -------------------------------------------------------------------------------------------------


def _without_end_mark(text: str) -> tuple[str, list[str]]:
    stripped = text.rstrip()
    if not stripped.endswith(_END_IN_DOS):
        return text, []
    return stripped.rstrip(_END_IN_DOS), ["The mark of DOS for the end of a file was left out."]


def _cut_into_records(
    text: str, name: str, options: TextOptions, *, tabs: bool
) -> tuple[Dialect, list[list[str]], list[str]]:
    """The dialect of a text, its first records, and what to say of comments above them."""
    _refuse_json(text, name)
    text, comments = without_comments(with_line_ends(text).lstrip("\n"))
    dialect, records = _found(text, name, options, tabs=tabs)
    notes = []
    if comments:
        n_skipped, above = len(comments), comments[-1].lstrip("#").strip()
        if options.header is not False and above:
            with_names, named = _found(f"{above}\n{text}", name, options, tabs=tabs)
            if comment_names_columns(comments[-1], named[0], records):
                dialect, records, n_skipped = with_names, named, n_skipped - 1
                notes.append("The names of the columns are those of the last line that begins with #.")
        if n_skipped:
            lines = counted(n_skipped, "line that begins with # was", "lines that begin with # were")
            notes.insert(0, f"{lines} left out: {comments[0][:80]}")
    if len(records) > 1 and is_title(records) and options.header is None:
        raise InputError(
            f"{name} cannot be read as a table: its first line has one entry, and the next one has {len(records[1])}; "
            "remove what stands above the names of the columns."
        )
    return dialect, records, notes


def _found(text: str, name: str, options: TextOptions, *, tabs: bool) -> tuple[Dialect, list[list[str]]]:
    dialect = find_dialect(text, separator=options.separator, tabs=tabs)
    if not dialect.text.strip():
        raise InputError(f"{name} has no entries, only marks that separate them; give a table with rows.")
    records = dialect.records()
    if not records:
        raise InputError(f"{name} cannot be read as a table: quotes in its first lines do not end; mend them.")
    return dialect, records


def _refuse_json(text: str, name: str) -> None:
    first = text.lstrip()[:1]
    if first not in ("{", "["):
        return
    try:
        # One object in each line, or one for the whole file.
        json.loads(text.strip().split("\n", 1)[0] if first == "{" else text)
    except (ValueError, RecursionError):
        return
    raise InputError(f"{name} holds JSON, not a text table; convert it to CSV or Parquet.")


def _about_header(records: list[list[str]], has_header: bool, given: bool | None) -> list[str]:
    """What to say of a first line with numbers, if nobody gave an option."""
    if given is not None:
        return []
    if not has_header:
        return ["The first line holds numbers: it is taken as a row, and the columns are numbered; else give --header."]
    numbers = [name for name in records[0] if name.strip().replace(".", "", 1).isdecimal()]
    if not numbers:
        return []
    some = f"some are numbers: {', '.join(numbers[:5])}; else give --no-header."
    return [f"The first line is taken as names of columns, though {some}"]


def _names(first: list[str], width: int, has_header: bool) -> tuple[list[str], list[str]]:
    if not has_header:
        return [f"column {j + 1}" for j in range(width)], []
    return clean_names(first)


def _below_header(
    frame: pl.DataFrame, records: list[list[str]], name: str
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Rows without the header, which may come again, and a line of units or types; the units, and what to say."""
    second = [entry.strip() for entry in records[1]] if len(records) > 1 else []
    units, said = [], []
    if holds_units(records):
        units = second
        said.append(f"The second line holds units and is no row: {some_of([u for u in units if u not in _NO_UNIT])}.")
    elif holds_types(records):
        said.append(f"The second line holds types and is no row: {some_of(second)}.")
    elif holds_more_names(records):
        raise InputError(
            f"{name} cannot be read as a table: its second line has texts above numbers, as a second line of names "
            f"has ({some_of(second, 3)}); keep one line of names."
        )
    frame = frame.slice(2 if said else 1)
    pairs = zip(frame.columns, records[0], strict=True)
    again = pl.all_horizontal(pl.col(column).str.strip_chars() == entry.strip() for column, entry in pairs)
    rows = frame.filter(again.fill_null(False).not_())
    if rows.height < frame.height:
        lines = counted(frame.height - rows.height, "line with", "lines with")
        said.append(f"Left out: {lines} the names of the columns once more.")
    return rows, units, said


# Columns --------------------------------------------------------------------------------------------------------------


def _cut(dialect: Dialect, name: str, width: int, whole: str) -> tuple[pl.DataFrame, list[str]]:
    """All records as columns of texts, and what to say of lines that are too short."""
    text = dialect.text.rstrip("\n") + "\n"
    if dialect.separator in text:  # else empty lines are missing entries of the only column
        text = without_empty_lines(text)
    quote = '"' if dialect.quotes else None
    try:
        frame = pl.read_csv(
            text.encode(), separator=dialect.separator, has_header=False, quote_char=quote,
            schema={f"column_{j}": pl.String for j in range(width)},
        )  # fmt: skip
    except pl.exceptions.PanicException as error:
        raise unreadable(name, error) from None
    except pl.exceptions.PolarsError:
        if text.count('"') % 2 and quote:
            raise InputError(f"{name} cannot be read as a table: a quote in it does not end; mend it.") from None
        n_above = with_line_ends(whole).count("\n") - dialect.text.count("\n")
        return _cut_slowly(dialect, name, width, n_above), []
    separators = n_outside_quotes(dialect.separator, text) if quote else text.count(dialect.separator)
    n_lacking = (frame.width - 1) * frame.height - separators
    if n_lacking <= 0:
        return frame, []
    entries = counted(n_lacking, "entry is not there and counts", "entries are not there and count")
    return frame, [f"Some lines are shorter than others: {entries} as missing."]


def _cut_slowly(dialect: Dialect, name: str, width: int, n_above: int) -> pl.DataFrame:
    """Columns of texts, where quotes also stand inside of entries; a line with too many entries is refused."""
    limit = csv.field_size_limit(len(dialect.text) + 1)
    try:
        reader = csv.reader(
            io.StringIO(dialect.text), delimiter=dialect.separator,
            quoting=csv.QUOTE_MINIMAL if dialect.quotes else csv.QUOTE_NONE,
        )  # fmt: skip
        records: list[list[str | None]] = []
        for record in filter(None, reader):
            if len(record) > width:
                raise InputError(
                    f"{name} cannot be read as a table: line {n_above + reader.line_num} has {len(record)} entries, "
                    f"and the first one has {width}; check separators and quotes."
                )
            records.append([*record, *[None] * (width - len(record))])
    except csv.Error as error:
        raise unreadable(name, error) from None
    finally:
        csv.field_size_limit(limit)
    return pl.DataFrame(records, schema={f"column_{j}": pl.String for j in range(width)}, orient="row")


# Characters -----------------------------------------------------------------------------------------------------------


def _decoded(data: bytes, name: str, encoding: str) -> str:
    _refuse_other_encodings(data, name, encoding)
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
    if LONE.search(text):
        raise InputError(f"{name} is not {encoding} text: it holds halves of characters; give another --encoding.")
    if "\0" in text:
        raise InputError(f"{name} is not a text table: it holds zero bytes; check what kind of file it is.")
    return text


def _refuse_other_encodings(data: bytes, name: str, encoding: str) -> None:
    """Refuse UTF-16 that is to be read as UTF-8, and the other way round, where bytes tell."""
    plain = encoding.lower().replace("-", "").replace("_", "")
    if plain == "utf8" and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{name} is not UTF-8 text but utf-16; pass --encoding utf-16, or save it as UTF-8.")
    if plain.startswith(("utf16", "utf32")) and b"\0" not in data:
        try:
            data.decode()
        except UnicodeDecodeError:
            return
        raise InputError(f"{name} is not {encoding} text but UTF-8; leave --encoding out.")
