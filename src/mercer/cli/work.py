"""Work that can be seen: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from mercer.cli.stopping import Stopping
from mercer.compiling import watch_compilation
from mercer.printable import printable
from mercer.report.progress import Progress

# Seconds between lines where there is no terminal, and the longest line.
_PAUSE, _WIDTH = 5.0, 79
# Less than this share of the work says nothing of the rest.
_LEAST_SHARE = 0.02


class Work(Progress):
    """A piece of work: what is being done, how much is behind, and whether it is to end."""

    def __init__(self, stopping: Stopping, *, watched: bool, bars: Bars | None = None):
        self.watched = watched
        self._stopping, self._bars = stopping, bars
        self._begin = self._told_at = time.monotonic()
        self._words, self._share, self._is_compiling = "reading", 0.0, False
        self._task = None if bars is None else bars.add_task(self._words, total=1.0, objective="")

    def __call__(self, words: str, share: float = 0.0, objective: float | None = None) -> bool:
        """Show what is done, and tell whether to end: where Python ignores exceptions a signal is unheard."""
        self._words, self._share, self._told_at, self._is_compiling = words, share, time.monotonic(), False
        if self._bars is not None and self._task is not None:
            told = "" if objective is None else f"objective {objective:.4g}"
            self._bars.update(self._task, description=words, completed=share, objective=told)
        return self._stopping.cause is not None

    def compiles(self) -> None:
        """Show that a function is compiled, which is done once: until more is told."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, description=f"{self._words} (compiling, once)")
        self._is_compiling = True

    def end(self) -> None:
        """From now on the first signal interrupts nothing, and the clock stands still."""
        self._stopping.work_ends()

    def left(self) -> float | None:
        """Seconds that are left, by the share of the work that is behind; None while that says nothing."""
        now = time.monotonic()
        limit = self._stopping.time_limit
        until_limit = float("inf") if limit is None else max(0.0, limit - (now - self._begin))
        if self._share < _LEAST_SHARE:
            return until_limit if until_limit < float("inf") else None
        whole = (self._told_at - self._begin) / self._share
        return min(max(0.0, whole - (now - self._begin)), until_limit)

    def line(self) -> str:
        """What is known, in a line that fits any terminal."""
        seconds = time.monotonic() - self._begin
        end = f", {100 * self._share:.0f}% after {in_words(seconds)}{left_in_words(self.left(), ', ')}"
        if self._is_compiling:
            end = f" (compiling, once){end}"
        words, room = f"mercer: {printable(self._words)}", _WIDTH - len(end)
        return (words if len(words) <= room else words[: room - 3] + "...") + end


def in_words(seconds: float) -> str:
    """A time for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def left_in_words(left: float | None, before: str = "") -> str:
    """The time that is left, for people; nothing if it is not known."""
    if left is None:
        return ""
    return before + (f"about {in_words(left)} left" if left > 1 else "nearly done")


class _TimeLeft(ProgressColumn):
    def __init__(self, work: Work):
        super().__init__(table_column=Column(no_wrap=True))
        self._work = work

    def render(self, task: Task) -> Text:
        """Nothing while little is done."""
        return Text(left_in_words(self._work.left()))


@contextlib.contextmanager
def shown_work(console: Console, stopping: Stopping, *, shown: bool) -> Iterator[Work]:
    """Work with a bar if there is a terminal, with lines if there is none, or with nothing."""
    if not shown:
        yield Work(stopping, watched=False)
    elif console.is_terminal:
        words = TextColumn(
            "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
        )
        numbers = TextColumn("{task.fields[objective]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
        bars = Bars(SpinnerColumn(), words, BarColumn(8), numbers, TimeElapsedColumn(), console=console, transient=True)
        with bars:
            work = Work(stopping, watched=True, bars=bars)
            bars.columns = (*bars.columns, _TimeLeft(work))
            with watch_compilation(work.compiles):
                yield work
    else:
        work = Work(stopping, watched=True)
        over = threading.Event()
        with contextlib.suppress(RuntimeError):  # no thread can be had: then without lines
            threading.Thread(target=_tell, args=(work, console, over), daemon=True).start()
        try:
            with watch_compilation(work.compiles):
                yield work
        finally:
            over.set()


def _tell(work: Work, console: Console, over: threading.Event) -> None:
    while not over.wait(_PAUSE):
        console.print(work.line(), markup=False, soft_wrap=True)
