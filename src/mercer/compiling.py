"""A message to users who wait for compilation: the first call takes seconds unless the machine code is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

_watchers: list[Callable[[], None]] = []


@contextlib.contextmanager
def watch_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Have `tell()` called before a function is compiled; not if its machine code is in the cache."""
    _watchers.append(tell)
    try:
        yield
    finally:
        _watchers.remove(tell)


def tell_of_compilation() -> None:
    """Tell all who watch that a function is being compiled."""
    for tell in list(_watchers):
        tell()
