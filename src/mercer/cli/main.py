"""The process of the `mercer` command: what must be there before anything else is imported."""

from __future__ import annotations

import os
import sys

from mercer.cli.exit_codes import ExitCode
from mercer.cli.stopping import listen_early


def main() -> None:
    """Run the command with the arguments of the process."""
    listen_early()
    _prepare_streams()
    sys.exit(_ended())


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
    except BrokenPipeError:
        return _without_output(ExitCode.DONE)
    except SystemExit as end:
        # As in `mercer ... | head -1`: who has read enough is no error.
        return _without_output(ExitCode.DONE) if isinstance(end.__context__, BrokenPipeError) else end.code
    except OSError as error:
        os.write(2, f"mercer: standard output cannot be written: {error.strerror}.\n".encode())
        return _without_output(ExitCode.OUTPUT)
    return ExitCode.DONE


def _without_output(code: ExitCode) -> ExitCode:
    """The code; what is left for standard output goes nowhere, so that Python does not fail at it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code
