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
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mercer.report import InputError, MemoryRefusal, ModelFileError, OutputError, ReportError
from mercer.report.outputs import plain


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
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        shown = not self.quiet and not self.as_json and self._errors.is_terminal
        with Progress(*columns, console=self._errors, transient=True, disable=not shown) as bar:
            work = Work(bar, bar.add_task("reading"), time_limit)
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

    def complain(self, words: str) -> None:
        """Say what went wrong."""
        self._errors.print(f"mercer: {words}", markup=False)


class Work:
    """A piece of work that can be seen and that ends in time: the clock does what Ctrl-C does."""

    def __init__(self, bar: Progress, task: Any, time_limit: float | None):
        self._bar, self._task = bar, task
        self.out_of_time = False
        self._timer = None if time_limit is None else threading.Timer(time_limit, self._stop)
        self._handler = signal.getsignal(signal.SIGINT)
        if self._timer is not None:
            # Commands in the background of a script ignore Ctrl-C; the clock must be heard all the same.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._timer.daemon = True
            self._timer.start()

    def __call__(self, words: str) -> bool:
        """Say what is done now, and tell whether the time is over: where Python ignores errors the clock is unheard."""
        self._bar.update(self._task, description=words)
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
