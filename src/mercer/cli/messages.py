"""What the command says: progress, results, and errors with their exit codes."""

from __future__ import annotations

import _thread
import json
import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from mercer.report import InputError, MemoryRefusal, ModelFileError, OutputError, OutputFolder, Progress, ReportError
from mercer.report.outputs import json_bytes, plain


class ExitCode(IntEnum):
    """How the command ends; `mercer --help` lists them."""

    DONE = 0
    BUG = 1
    USAGE = 2
    INPUT = 3
    MODEL = 4
    OUTPUT = 5
    MEMORY = 6
    STOPPED = 130


_CODES = {
    InputError: ExitCode.INPUT, ModelFileError: ExitCode.MODEL, OutputError: ExitCode.OUTPUT,
    MemoryRefusal: ExitCode.MEMORY,
}  # fmt: skip


class Conversation:
    """What one command says to its user.

    Results go to standard output, everything else to standard error.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing but errors.
    as_json : bool
        Whether the result is JSON.
    """

    def __init__(self, quiet: bool, as_json: bool):
        self.quiet, self.as_json = quiet, as_json
        self._begin = time.perf_counter()
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)
        self._results = Console(highlight=False, soft_wrap=True)

    @property
    def seconds(self) -> float:
        """Since the command began."""
        return time.perf_counter() - self._begin

    @contextmanager
    def working(self, time_limit: float | None = None) -> Iterator[Work]:
        """Show what is being done, and end it when the time is over."""
        shown = not self.quiet and not self.as_json and self._errors.is_terminal
        columns = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[objective]}"),
            TimeElapsedColumn(), _TimeLeft(),
        )  # fmt: skip
        with Bars(*columns, console=self._errors, transient=True, disable=not shown) as bars:
            work = Work(bars, time_limit, watched=shown)
            try:
                yield work
            finally:
                work.end()

    def say(self, *lines: str) -> None:
        """Say something to people."""
        if not self.quiet and not self.as_json:
            for line in lines:
                self._results.print(line, markup=False)

    def conclude(self, summary: dict[str, Any], *lines: str) -> None:
        """Say the result: lines to people, the summary to programs."""
        if self.as_json:
            typer.echo(json.dumps(plain(summary), ensure_ascii=False))
        self.say(*lines)

    def report(self, work: Work, folder: OutputFolder, files: dict[str, bytes], verdict: str | None = None) -> None:
        """Write the files of a result, say what it is, and end the command if it was stopped.

        The verdict is that of the summary if none is given.
        """
        folder.write({**files, "times.json": json_bytes({"seconds": round(self.seconds, 2)})})
        summary = json.loads(files["summary.json"])
        partial = ["Partial: the work was stopped before it was finished."] if summary["partial"] else []
        self.conclude(
            summary, *summary["notes"], verdict or summary["verdict"], *partial,
            *[f"Be careful: {warning}" for warning in summary["warnings"]], f"Report: {folder.path / 'report.html'}",
        )  # fmt: skip
        if partial and not work.out_of_time:
            raise typer.Exit(ExitCode.STOPPED)

    def complain(self, words: str) -> None:
        """Say what went wrong."""
        self._errors.print(f"mercer: {words}", markup=False)


class _TimeLeft(ProgressColumn):
    """What the time so far, and the share of the work that was done in it, say of the rest."""

    def render(self, task: Task) -> Text:
        """Nothing while little is done."""
        if task.completed < 0.02 or task.elapsed is None:
            return Text("")
        left = task.fields["told_at"] / task.completed - task.elapsed
        return Text(f"about {_in_words(left)} left" if left > 1 else "nearly done")


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Work(Progress):
    """A piece of work that can be seen and that ends in time: the clock does what Ctrl-C does."""

    def __init__(self, bars: Bars, time_limit: float | None, *, watched: bool):
        self.watched = watched
        self._bars, self._task = bars, bars.add_task("reading", total=1.0, objective="", told_at=0.0)
        self.out_of_time = False
        self._timer = None if time_limit is None else threading.Timer(time_limit, self._stop)
        self._handler = signal.getsignal(signal.SIGINT)
        if self._timer is not None:
            # Commands in the background of a script ignore Ctrl-C; the clock must be heard all the same.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._timer.daemon = True
            self._timer.start()

    def __call__(self, words: str, share: float = 0.0, objective: float | None = None) -> bool:
        """Show what is done, and tell whether the time is over: where Python ignores errors the clock is unheard."""
        task = self._bars.tasks[0]
        self._bars.update(
            self._task, description=words, completed=share, told_at=task.elapsed or 0.0,
            objective="" if objective is None else f"objective {objective:.4g}",
        )  # fmt: skip
        return self.out_of_time

    def _stop(self) -> None:
        self.out_of_time = True
        _thread.interrupt_main()

    def end(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
            signal.signal(signal.SIGINT, self._handler)


@contextmanager
def conversation(quiet: bool, as_json: bool) -> Iterator[Conversation]:
    """Run a command: errors become messages and exit codes, and no traceback is shown.

    With MERCER_TRACEBACK=1 in the environment errors in Mercer itself keep theirs.
    """
    talk = Conversation(quiet, as_json)
    try:
        yield talk
    except ReportError as error:
        talk.complain(str(error))
        raise typer.Exit(_CODES[type(error)]) from None
    except KeyboardInterrupt:
        talk.complain("stopped before there was anything to write.")
        raise typer.Exit(ExitCode.STOPPED) from None
    except MemoryError:
        talk.complain("there was not enough memory; give fewer rows or columns.")
        raise typer.Exit(ExitCode.MEMORY) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if os.environ.get("MERCER_TRACEBACK"):
            raise
        talk.complain(
            f"an error in Mercer, which should not happen: {type(error).__name__}: {error}. Run it again with "
            "MERCER_TRACEBACK=1 in the environment, and report what it says."
        )
        raise typer.Exit(ExitCode.BUG) from None


def command_line(context: typer.Context) -> str:
    """The command that repeats a run: what was given, without what is only about how it is shown."""
    words = ["mercer", str(context.info_name)]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif (
            parameter.name not in ("quiet", "as_json")
            and value not in (None, False, (), [])
            and (value != parameter.default)
        ):
            values = value if isinstance(value, list | tuple) else [value]
            for entry in values:
                words += [parameter.opts[0]] if entry is True else [parameter.opts[0], str(entry)]
    return shlex.join(words)
