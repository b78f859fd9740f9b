"""Text of others, such as names of files and columns, in a form that can be written and shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

_CODES = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
# They change the order of letters, or end a line.
_MARKS = r"\u2028-\u202e\u2066-\u2069"

# Terminals obey these and pages cannot show them. Entries of tables keep tabs, ends of lines and marks of direction.
CONTROL = f"[{_CODES}]"
_IN_MESSAGES = re.compile(rf"[{_CODES}\r{_MARKS}]")
_IN_LINES = re.compile(rf"[{_CODES}\t\n\r{_MARKS}]+")
# Halves of characters, which no text may have; those of the second kind stand for bytes in names of files.
LONE = re.compile("[\ud800-\udfff]")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def encodable(text: str) -> str:
    """Text with the mark U+FFFD where it cannot be written as UTF-8, as in names of files that are no text."""
    return _NO_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def distinct(name: str) -> str:
    r"""A name of a file as text: bytes that are none become escapes, so that different names stay different.

    Examples
    --------
    >>> from mercer.printable import distinct
    >>> distinct("caf\udce9.png")
    'caf\\xe9.png'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def printable(text: str, mark: str | Callable[[re.Match[str]], str] = "") -> str:
    r"""Text with a mark, or nothing, in place of each control character; tabs and line feeds stay.

    Examples
    --------
    >>> from mercer.printable import printable
    >>> printable("a\x1b[31mb")
    'a[31mb'
    """
    return _IN_MESSAGES.sub(mark, encodable(text))


def on_one_line(text: str, mark: str = "\ufffd") -> str:
    r"""Text with a mark in place of all control characters that follow each other, tabs and line feeds among them.

    Examples
    --------
    >>> from mercer.printable import on_one_line
    >>> on_one_line("a\r\nb", " ")
    'a b'
    """
    return _IN_LINES.sub(mark, encodable(text))
