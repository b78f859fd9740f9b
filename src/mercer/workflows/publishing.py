"""Results so far: given away at once, and then if that takes but a small share of the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

# Share of the time that may be spent on results that later ones replace.
_SHARE = 0.2

Result = TypeVar("Result")


class Publishing(Generic[Result]):
    """Gives results to somebody who shows them.

    Parameters
    ----------
    publish : callable, optional
        Is given a result; without it nothing is given away.
    """

    def __init__(self, publish: Callable[[Result], None] | None):
        self._publish = publish
        self._ended, self._took = -np.inf, 0.0

    def offer(self, make: Callable[[], Result]) -> None:
        """Make a result and give it away, unless the last time was too recent for how long it took."""
        begin = time.monotonic()
        if self._publish is None or begin - self._ended < self._took / _SHARE:
            return
        self._publish(make())
        self._ended = time.monotonic()
        self._took = self._ended - begin
