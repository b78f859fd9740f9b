"""Names of columns and files that can be shown: nothing empty, nothing twice, no control characters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from mercer.printable import on_one_line

# Name of the first column of a text if the header names all others.
ROW_NAMES = "row name"
# Columns that hold the index of a pandas frame.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0")


def clean_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names without gaps, repetitions and control characters; and a note if any had to be changed.

    Examples
    --------
    >>> from mercer.tables.naming import clean_names
    >>> clean_names(["a", " a ", ""])[0]
    ['a', 'a (2)', 'column 3']
    """
    stripped = [on_one_line(name, " ").strip() for name in names]
    clean: list[str] = []
    taken = set(stripped)
    used: set[str] = set()
    for position, name in enumerate(stripped):
        wanted = new = name or f"column {position + 1}"
        number = 2
        while new in used or (new != name and new in taken):
            new, number = f"{wanted} ({number})", number + 1
        used.add(new)
        clean.append(new)
    changed = [new for old, new in zip(names, clean, strict=True) if old.strip() != new]
    note = f"Column names that are empty, come twice or cannot be shown were changed: {', '.join(changed[:8])}."
    return clean, [note] if changed else []


def is_pandas_index(name: str) -> bool:
    """Whether pandas gave this name to the index of a frame."""
    return _PANDAS_INDEX.fullmatch(name) is not None


def similar_name(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant.

    Examples
    --------
    >>> from mercer.tables.naming import similar_name
    >>> similar_name("segment", ["Segment", "Size"]), similar_name("colour", ["a", "b"])
    ('Segment', None)
    """
    folded = {candidate.strip().casefold(): candidate for candidate in names}
    found = difflib.get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.7)
    return folded[found[0]] if found else None


def shown_name(path: Path) -> str:
    """The name of a file, with marks where it has no text or control characters."""
    return on_one_line(path.name)
