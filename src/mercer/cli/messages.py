"""What the command says: results, and errors with their exit codes."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import shlex
import sys
import textwrap
import time
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from mercer.address_space import SmallAddressSpace, address_space_left, prepare_address_space
from mercer.cli.exit_codes import ExitCode
from mercer.cli.stopping import Stopping, end_in_words
from mercer.printable import encodable, printable

if TYPE_CHECKING:
    from mercer.cli.work import Work
    from mercer.report import OutputFolder

_CODES = {
    "OptionError": ExitCode.USAGE, "InputError": ExitCode.INPUT, "ModelFileError": ExitCode.MODEL,
    "OutputError": ExitCode.OUTPUT, "MemoryRefusal": ExitCode.MEMORY,
}  # fmt: skip
# Messages of libraries when memory, or a thread, cannot be allocated.
_NO_MEMORY = re.compile(
    r"failed to map segment|cannot allocate memory|memory allocation (of \d+ bytes )?(failed|error)|"
    r"can't start new thread|(could not|failed to) spawn (a )?(new )?thread",
    re.IGNORECASE,
)


class Conversation:
    """What one command says to its user.

    Results go to standard output, everything else to standard error. On a terminal lines are broken between words.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing but errors.
    as_json : bool
        Whether the result is JSON.
    stopping : Stopping, optional
        Who listens to signals.
    """

    def __init__(self, quiet: bool, as_json: bool, stopping: Stopping | None = None):
        self.quiet, self.as_json = quiet, as_json
        self.stopping = stopping or Stopping()
        self._begin = time.perf_counter()
        self._errors = Console(stderr=True, highlight=False)
        self._results = Console(highlight=False)

    @property
    def seconds(self) -> float:
        """Since the command began."""
        return time.perf_counter() - self._begin

    @contextlib.contextmanager
    def working(self) -> Iterator[Work]:
        """Show what is being done; it ends when the time is over, or with a signal."""
        from mercer.cli.work import shown_work

        with shown_work(self._errors, self.stopping, shown=not self.quiet and not self.as_json) as work:
            self.stopping.work_begins()
            yield work
            work.end()

    def say(self, *lines: str) -> None:
        """Say something to people."""
        if not self.quiet and not self.as_json:
            for line in lines:
                self._print(self._results, line)

    def conclude(self, summary: dict[str, Any], *lines: str) -> None:
        """Say the result: lines to people, the summary to programs."""
        from mercer.plain_json import plain

        try:
            if self.as_json:
                text = json.dumps(plain(summary), ensure_ascii=False)
                typer.echo(printable(text, lambda found: f"\\u{ord(found[0]):04x}"))
            self.say(*lines)
            sys.stdout.flush()
        except BrokenPipeError:
            # As in `mercer ... | head -1`: a reader that stops early is no error.
            raise typer.Exit(ExitCode.DONE) from None
        except OSError as error:
            with contextlib.suppress(OSError):  # nor can standard error: only the exit code remains
                self.complain(f"standard output cannot be written: {error.strerror}. The result is written.")
            raise typer.Exit(ExitCode.OUTPUT) from None

    def report(self, folder: OutputFolder, files: dict[str, bytes], verdict: str | None = None) -> None:
        """Write the files of a result, say what it is, and end the command if it was stopped.

        The verdict is that of the summary if none is given.
        """
        from mercer.report.outputs import manifest

        folder.write(manifest(files, self.seconds))
        summary = json.loads(files["summary.json"])
        partial = ["Partial: the work was stopped before it was finished."] if summary["partial"] else []
        self.conclude(
            summary, *summary["notes"], verdict or summary["verdict"], *partial,
            *[f"Be careful: {warning}" for warning in summary["warnings"]], f"Report: {folder.path / 'report.html'}",
        )  # fmt: skip
        if partial and self.stopping.cause is None:
            raise typer.Exit(ExitCode.STOPPED)

    def complain(self, words: str) -> None:
        """Say what went wrong."""
        self._print(self._errors, f"mercer: {words}")

    def _print(self, console: Console, text: str) -> None:
        text = printable(text)
        if console.is_terminal:
            # Words longer than a line, such as paths, are not broken: they are copied.
            text = textwrap.fill(text, console.width, break_long_words=False, break_on_hyphens=False)
        console.print(text, markup=False, soft_wrap=True)

    def explain(self, error: BaseException) -> tuple[str, ExitCode]:
        """What an error means, and the exit code."""
        errors = sys.modules.get("mercer.tables.errors")
        if errors is not None and isinstance(error, errors.ReportError):
            kinds = [kind.__name__ for kind in type(error).__mro__]
            return str(error), next((_CODES[kind] for kind in kinds if kind in _CODES), ExitCode.BUG)
        cause = self.stopping.cause
        if cause is not None or isinstance(error, KeyboardInterrupt):
            return end_in_words(cause, self.stopping.time_limit), cause or ExitCode.STOPPED
        if isinstance(error, SmallAddressSpace):
            return str(error), ExitCode.MEMORY
        if _is_lack_of_memory(error):
            said = str(error).strip().partition("\n")[0].rstrip(".")
            return f"there was not enough memory{_how_much(said)}; give fewer rows or columns.", ExitCode.MEMORY
        return (
            f"an error in Mercer, which should not happen: {type(error).__name__}: {error}. Run it again with "
            "MERCER_TRACEBACK=1 in the environment, and report what it says."
        ), ExitCode.BUG


def _how_much(said: str) -> str:
    """What was asked for, as the library said it, and what a limit leaves."""
    left = address_space_left()
    told = [
        *([said] if said else []),
        *([f"{left / 1e6:.0f} MB of address space are left"] if math.isfinite(left) else []),
    ]
    return f" ({'; '.join(told)})" if told else ""


def _is_lack_of_memory(error: BaseException) -> bool:
    # Causes too: a lack of memory may appear as a failed import.
    reasons = [error, *(reason for reason in (error.__cause__, error.__context__) if reason is not None)]
    return any(
        isinstance(reason, MemoryError) or getattr(reason, "errno", 0) == errno.ENOMEM or _says_no_memory(reason)
        for reason in reasons
    )


def _says_no_memory(error: BaseException) -> bool:
    """Whether an error of the system or a panic says so; the words of other errors may come from a table."""
    of_system = isinstance(error, ImportError | OSError | RuntimeError) or type(error).__name__ == "PanicException"
    return of_system and _NO_MEMORY.search(str(error)) is not None


@contextlib.contextmanager
def conversation(quiet: bool, as_json: bool, time_limit: float | None = None) -> Iterator[Conversation]:
    """Run a command: errors become messages and exit codes, and no traceback is shown.

    With MERCER_TRACEBACK=1 in the environment those of errors in Mercer itself are.
    """
    with Stopping(time_limit) as stopping:
        talk = Conversation(quiet, as_json, stopping)
        try:
            prepare_address_space()
            yield talk
        except (typer.Exit, typer.Abort, SystemExit):
            raise
        except BaseException as error:
            stopping.command_ends()
            words, code = talk.explain(error)
            with contextlib.suppress(OSError):  # standard error cannot be written: only the exit code remains
                if code is ExitCode.BUG and os.environ.get("MERCER_TRACEBACK"):
                    traceback.print_exc()
                else:
                    talk.complain(words)
            raise typer.Exit(code) from None
        if stopping.cause in (ExitCode.STOPPED, ExitCode.TERMINATED):
            raise typer.Exit(stopping.cause)


def command_line(context: typer.Context) -> str:
    """The command that repeats a run: what was given, without what is only about how it is shown."""
    words = ["mercer", str(context.info_name)]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif value is False and parameter.secondary_opts:
            words.append(parameter.secondary_opts[0])
        elif (
            parameter.name not in ("quiet", "as_json", "force")
            and value not in (None, False, (), [])
            and (value != parameter.default)
        ):
            values = value if isinstance(value, list | tuple) else [value]
            for entry in values:
                words += [parameter.opts[0]] if entry is True else [parameter.opts[0], str(entry)]
    return encodable(shlex.join(words))
