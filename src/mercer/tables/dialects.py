"""The dialect of a text table: line ends, separator, quotes, and whether its first line names the columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice

from mercer.tables.errors import OptionError
from mercer.tables.numbers import mostly_numbers

# In order of preference if several fit equally well: commas also occur in numbers and sentences.
_SEPARATORS = "\t;|,"
_SPACES = " "
_NAMED = {"tab": "\t", "\\t": "\t", "space": _SPACES, "comma": ",", "semicolon": ";"}
# Largest sample of a file, in records and in characters.
_RECORDS, _SAMPLE = 100, 1 << 17
# Least number of lines of a sample, however long they are.
_FEWEST_LINES = 10
# A quote after a letter or a digit means itself, as in 5" for inches.
_QUOTED = r'(?<![\w.)])"[^"]*"'
_ALONE = re.compile(r"[^\w,;|\t]{0,3}[\d.,]*\d[^\d,;|\t]{0,5}|\D{1,4}")
# A character that no text contains.
_NO_SEPARATOR = "\x1f"
# Lines of empty entries above everything else.
_EMPTY_ENTRIES = re.compile(r"\A(?:[ ,;|\t]*\n)+")
_HINT = re.compile(r'^"?sep=(.)"?[ \t]*(?:\n|$)', re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How the text is cut into columns.

    Attributes
    ----------
    text : str
        All lines from the header on; spaces that separate columns are tabs.
    separator : str
        Between columns.
    quotes : bool
        Whether entries may be quoted; else quotes mean themselves, as in 5" for inches.
    notes : tuple of str
        What the user should know.
    """

    text: str
    separator: str
    quotes: bool = True
    notes: tuple[str, ...] = ()

    def records(self) -> list[list[str]]:
        """The first records."""
        return _records(self.text, self.separator)


def find_dialect(text: str, *, separator: str | None = None, tabs: bool = False) -> Dialect:
    """The dialect of a text.

    Parameters
    ----------
    text : str
        Without a byte order mark.
    separator : str, optional
        What the user gave: a character, or "tab" or "space".
    tabs : bool
        Whether the name of the file says that tabs separate columns.
    """
    text = with_line_ends(text).lstrip("\n")
    hint = _HINT.match(text)
    if hint:
        text = text[hint.end() :]
    text = _EMPTY_ENTRIES.sub("", text, count=1)
    wanted = _given(separator) or (hint[1] if hint else None)
    if wanted is None and tabs and "\t" in text.split("\n", 1)[0]:
        wanted = "\t"
    if wanted == _SPACES:
        return _between_spaces(text) or _with_plain_entries(text, _SPACES)
    chosen = wanted or _sniffed(text)
    if chosen is None or (wanted is None and len(_records(text, chosen)[0]) == 1):
        # Nothing separates the names of the columns: spaces do, or there is one column, whose entries may have commas.
        between = _between_spaces(text, only_numbers=True)
        if between is not None or chosen is None or _is_one_column(text):
            return between or Dialect(text, _NO_SEPARATOR)
    return _with_plain_entries(text, chosen)


def _with_plain_entries(text: str, separator: str) -> Dialect:
    """Quotes count only where an entry begins, and a separator at the end of lines separates nothing."""
    mark = re.escape(separator)
    if re.search(rf'{mark} +"', text):
        text = outside_quotes(rf'{mark} +(?=")', separator, text)
    records = _records(text, separator)
    # Lines of data end with a separator, and the header does not.
    if len(records) > 1 and all(len(row) == len(records[0]) + 1 and not row[-1] for row in records[1:]):
        text = outside_quotes(rf"{mark}[ \t]*(?=\n|\Z)", "", text)
    return Dialect(text, separator, quotes=re.search(rf'(?:^|\n|{mark})"', text) is not None)


def _is_one_column(text: str) -> bool:
    """Whether all lines but the first are single numbers, perhaps with a unit."""
    lines = [line.strip() for line in text.split("\n", _RECORDS)[:_RECORDS] if line.strip()]
    return all(_ALONE.fullmatch(line) for line in lines[1:])


def outside_quotes(pattern: str, replacement: str, text: str) -> str:
    """Replace a pattern wherever it is not between quotes."""
    return re.sub(f"{_QUOTED}|({pattern})", lambda m: m[0] if m[1] is None else replacement, text)


def n_outside_quotes(character: str, text: str) -> int:
    """How often a character comes outside of quotes."""
    return (re.sub(_QUOTED, "", text) if '"' in text else text).count(character)


def without_empty_lines(text: str) -> str:
    """Lines with nothing between quotes and separators are no rows."""
    if not re.search(r"\n[ \t]*(?=\n)", text):
        return text
    return outside_quotes(r"\n[ \t]*(?=\n)", "", text)


def with_line_ends(text: str) -> str:
    """Text whose lines end as Unix has it, however often it went from one system to another."""
    text = re.sub("\r+\n", "\n", text)
    if "\r" not in text:
        return text
    return outside_quotes("\r", "\n", text)


def _given(separator: str | None) -> str | None:
    if separator is None:
        return None
    separator = _NAMED.get(separator.lower(), separator)
    if len(separator) != 1 or not separator.isascii() or separator in '"\n\r\0' or separator.isalnum():
        raise OptionError(
            f"--separator must be one character that is no letter, digit or quote, or tab or space, got {separator!r}; "
            "give such as ; or tab."
        )
    return separator


def _records(text: str, separator: str) -> list[list[str]]:
    """The first records that have something in them; the last one of a sample may be cut and is left out."""
    sample = _sample(text)
    longest = csv.field_size_limit(len(sample) + 1)
    try:
        reader = csv.reader(io.StringIO(sample), delimiter=separator, skipinitialspace=True)
        found = [record for record in islice(reader, _RECORDS) if any(entry.strip() for entry in record)]
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(longest)
    return found[:-1] if len(text) > len(sample) and len(found) < _RECORDS and len(found) > 1 else found


def _sample(text: str) -> str:
    """The first lines, whole."""
    end = 0
    for n_lines in range(len(text)):
        if end >= _SAMPLE and n_lines >= _FEWEST_LINES:
            break
        place = text.find("\n", end)
        if place < 0:
            return text
        end = place + 1
    return text[:end]


def _sniffed(text: str) -> str | None:
    """The separator that cuts most records into the same number of entries, if any cuts."""
    best, best_share = None, 0.0
    for separator in _SEPARATORS:
        counts = Counter(len(record) for record in _records(text, separator))
        n_entries, n_records = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=(1, 0))
        share = n_records / max(sum(counts.values()), 1)
        if n_entries > 1 and share > best_share:
            best, best_share = separator, share
    return best


def _between_spaces(text: str, *, only_numbers: bool = False) -> Dialect | None:
    """Columns between spaces, if all records have as many; with `only_numbers` one of them must be numbers, mostly."""
    for gap in (r"[ \t]+", r"(?:[ \t]{2,}|\t)"):
        stripped = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text)
        cut = outside_quotes(gap, "\t", stripped)
        records = _records(cut, "\t")
        widths = {len(record) for record in records}
        # Row names may have no name above them.
        if len(records) > 1 and len(records[0]) > 1 and {len(row) for row in records[1:]} == {len(records[0]) + 1}:
            widths = {len(records[1])}
        if len(widths) != 1 or widths == {1}:
            continue
        columns = zip(*records[1:], strict=True) if len(records) > 1 else ()
        if not only_numbers or any(mostly_numbers(column) for column in columns):
            return Dialect(cut, "\t", notes=("Columns are taken to be separated by spaces.",))
    return None
