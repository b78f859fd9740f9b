"""Intermediate results: the first is published at once, later ones if publishing takes little of the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

# Largest fraction of the time that publishing intermediate results may take.
_SHARE = 0.2

Result = TypeVar("Result")


class Publishing(Generic[Result]):
    """Publishes intermediate results.

    Parameters
    ----------
    publish : callable, optional
        Called with a result; without it nothing is published.
    """

    def __init__(self, publish: Callable[[Result], None] | None):
        self._publish = publish
        self._ended, self._took = -np.inf, 0.0

    def offer(self, make: Callable[[], Result]) -> None:
        """Make a result and publish it, unless that would take too much of the time since the last one."""
        begin = time.monotonic()
        if self._publish is None or begin - self._ended < self._took / _SHARE:
            return
        self._publish(make())
        self._ended = time.monotonic()
        self._took = self._ended - begin
