"""The process of the `mercer` command: its streams, and the code that it ends with."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

from mercer.cli.exit_codes import ExitCode


def run() -> None:
    """Run the command with the arguments of the process, and end it."""
    _prepare_streams()
    _end(_ended())


def _end(code: int | str | None) -> NoReturn:
    """End the process with what the streams still hold, but without Python's shutdown.

    The shutdown waits for threads and takes libraries apart. A second signal during that time ends it by a traceback or
    a fault in a library, and a signal that was handled long ago can still become the exit code.
    """
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code or 0)


def _prepare_streams() -> None:
    """Streams that were closed lead nowhere; and names of files may hold what a terminal cannot show."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")


def _ended() -> int | str | None:
    """Run the command; errors of the system that leave it are of standard output, as all others become messages."""
    from mercer.cli.commands import app

    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except (OSError, SystemExit) as end:
        if _is_wrong_command(end):
            return _without_output(ExitCode.USAGE)
        # As in `mercer ... | head -1`: a reader that stops early is no error.
        if isinstance(end, BrokenPipeError) or isinstance(end.__context__, BrokenPipeError):
            return _without_output(ExitCode.DONE)
        if isinstance(end, SystemExit):
            return end.code
        with contextlib.suppress(OSError):
            os.write(2, f"mercer: standard output cannot be written: {end.strerror}.\n".encode())
        return _without_output(ExitCode.OUTPUT)
    return ExitCode.DONE


def _is_wrong_command(error: BaseException | None) -> bool:
    """Whether an error came while it was said that the command is wrong."""
    while error is not None:
        if any(kind.__name__ == "UsageError" for kind in type(error).__mro__):
            return True
        error = error.__context__
    return False


def _without_output(code: ExitCode) -> ExitCode:
    """The code; what is left for the streams goes nowhere, so that Python does not fail at it again."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    return code
