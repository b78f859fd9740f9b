"""Work that can be seen: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import math
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
from mercer.workflows.progress import Progress

# Seconds between lines where there is no terminal, and the longest line.
_PAUSE, _WIDTH = 5.0, 79
# Below this fraction of the work no remaining time is estimated.
_LEAST_SHARE = 0.02
# Factor by which an unfinished stage may be slower or faster than its pace so far, and the factor within which a
# displayed remaining time should be right.
_PLAN, _RIGHT = math.sqrt(2.0), 2.0
# Shorter times than this are not shown.
_MOMENT = 1.0


class Work(Progress):
    """A piece of work: what is being done, how much is behind, and whether it is to end."""

    def __init__(self, stopping: Stopping, bars: Bars | None = None):
        self._stopping, self._bars = stopping, bars
        self._begin = self._told_at = time.monotonic()
        self._words, self._share, self._expected = "reading", 0.0, 0.0
        self._before, self._is_compiling = 0.0, False
        self._task = None if bars is None else bars.add_task(self._words, total=1.0, objective="")

    def __call__(self, words: str, share: float = 0.0, objective: float | None = None) -> bool:
        """Show what is done, and tell whether to end: where Python ignores exceptions a signal is unheard."""
        self._words, self._share, self._told_at, self._is_compiling = words, share, time.monotonic(), False
        if share == 0.0:
            self._before = self._told_at - self._begin
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

    def expect(self, share: float) -> None:
        """Until so much is behind, nothing need be heard."""
        self._expected = share

    def left(self) -> float | None:
        """Seconds that are left, or until the limit if it comes before; None while nothing says."""
        estimate, until_limit = self._estimate(), self._until_limit()
        if estimate is None:
            return until_limit if until_limit < math.inf else None
        return min(estimate, until_limit)

    def left_in_words(self) -> str:
        """The time that is left, for people; nothing if it is not known."""
        estimate, until_limit = self._estimate(), self._until_limit()
        if estimate is None and 0.0 < until_limit < math.inf:
            return f"at most {in_words(until_limit)} left"
        if estimate is None:
            return ""
        left = min(estimate, until_limit)
        return f"about {in_words(left)} left" if left > _MOMENT else "nearly done"

    def line(self) -> str:
        """What is known, in a line that fits any terminal."""
        seconds, left = time.monotonic() - self._begin, self.left_in_words()
        end = f", {100 * self._share:.0f}% after {in_words(seconds)}" + (f", {left}" if left else "")
        if self._is_compiling:
            end = f" (compiling, once){end}"
        words, room = f"mercer: {printable(self._words)}", _WIDTH - len(end)
        return (words if len(words) <= room else words[: room - 3] + "...") + end

    def _until_limit(self) -> float:
        limit = self._stopping.time_limit
        return math.inf if limit is None else max(0.0, limit - (time.monotonic() - self._begin))

    def _estimate(self) -> float | None:
        """Seconds until the work is done, by the pace so far; None where that could be wrong by more than twice.

        While nothing is heard, the stage may be as far as the plan foresaw, or have come to its end long ago by a plan
        that is wrong. What is left then lies between what two such plans would leave.
        """
        if self._share < _LEAST_SHARE:
            return None
        behind = self._told_at - self._begin - self._before
        stage = behind * max(0.0, self._expected - self._share) / self._share
        rest = behind * (1.0 - max(self._expected, self._share)) / self._share
        silent = time.monotonic() - self._told_at
        if silent > _PLAN * stage + _MOMENT:
            return None
        least = max(0.0, stage / _PLAN - silent) + rest / _PLAN
        most = max(0.0, _PLAN * stage - silent) + _PLAN * rest
        if most > _RIGHT**2 * least + _MOMENT:
            return None
        return math.sqrt(least * most)


def in_words(seconds: float) -> str:
    """A time for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class _TimeLeft(ProgressColumn):
    def __init__(self, work: Work):
        super().__init__(table_column=Column(no_wrap=True))
        self._work = work

    def render(self, task: Task) -> Text:
        """Nothing while little is done."""
        return Text(self._work.left_in_words())


@contextlib.contextmanager
def shown_work(console: Console, stopping: Stopping, *, shown: bool) -> Iterator[Work]:
    """Work with a bar if there is a terminal, with lines if there is none, or with nothing."""
    if not shown:
        yield Work(stopping)
    elif console.is_terminal:
        words = TextColumn(
            "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
        )
        numbers = TextColumn("{task.fields[objective]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
        bars = Bars(SpinnerColumn(), words, BarColumn(8), numbers, TimeElapsedColumn(), console=console, transient=True)
        with bars:
            work = Work(stopping, bars)
            bars.columns = (*bars.columns, _TimeLeft(work))
            with watch_compilation(work.compiles):
                yield work
    else:
        work = Work(stopping)
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
