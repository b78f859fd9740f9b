"""Notes on a table: a note that holds for many columns is given once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mercer.tables.features import some_of

# Up to this many columns each keep their own note; of more, this many are named in a common one.
_MOST_APART, _NAMED = 3, 3
# Notes that each column of a table may have: their pattern, and the common note for many columns.
_KINDS = (
    (
        re.compile(r"(?P<name>.+): [\d,]+ (?:entry counts|entries count) as .+, being farther out; .+"),
        "have entries far out, which were clipped, as they would hide all other differences",
    ),
    (
        re.compile(r"(?P<name>.+): [\d,]+ (?:entry is|entries are) (?P<what>.+) and counts? as missing\."),
        "have entries that are {what} and count as missing",
    ),
    (re.compile(r"(?P<name>.+?) is not used: it (?P<what>.+)\."), "are not used, since each {what}"),
)


def grouped(notes: Sequence[str]) -> list[str]:
    """Notes in which those that say the same of more than three columns are merged, in the place of the first.

    Examples
    --------
    >>> from mercer.workflows.notes import grouped
    >>> grouped([f"x{j} is not used: it is empty." for j in range(5)])
    ['5 columns are not used, since each is empty: x0, x1, x2 and 2 more.']
    """
    kinds = [_kind(note) for note in notes]
    names: dict[str, list[str]] = {}
    for words, name in filter(None, kinds):
        names.setdefault(words, []).append(name)
    found = []
    for note, kind in zip(notes, kinds, strict=True):
        same = [] if kind is None else names[kind[0]]
        if kind is None or len(same) <= _MOST_APART:
            found.append(note)
        elif kind[1] == same[0]:
            found.append(f"{len(same)} columns {kind[0]}: {some_of(same, _NAMED)}.")
    return found


def _kind(note: str) -> tuple[str, str] | None:
    """The common note of a kind, and the column that a note is about; None for other notes."""
    for pattern, words in _KINDS:
        match = pattern.fullmatch(note)
        if match is not None:
            return words.format(**match.groupdict()), match["name"]
    return None
