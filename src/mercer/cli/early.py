"""Signals from the first moment of the process on, before there is a command: this module imports next to nothing.

What Python itself imports at its start is there already: `os`, and `_signal`, of which `signal` is the readable face.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os

# Default reason for the lack of a result.
STOPPED = "stopped before there was anything to write."
# Least address space in bytes, and the exit code for a lack of memory: the modules that define them may not fit.
_LEAST, _NO_MEMORY = 1_500_000_000, 6
# Exit codes after a signal are this plus its number.
_BY_SIGNAL = 128

_is_leaving = False


def end_at_once(number: int, frame: object) -> None:
    """End the process with a line instead of a traceback: while modules are imported there is nothing to write."""
    leave(_BY_SIGNAL + number, STOPPED)


def listen_early() -> None:
    """Handle signals from now on, except those that the process ignores."""
    for number in (_signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, end_at_once)


def has_room() -> bool:
    """Whether the limit of the address space, if there is one, leaves enough to begin with."""
    try:
        with open("/proc/self/limits", "rb") as file:
            limits = [line.split()[3] for line in file if line.startswith(b"Max address space")]
    except MemoryError:
        return False
    except OSError:
        return True
    return not any(limit.isdigit() and int(limit) < _LEAST for limit in limits)


def leave_for_lack_of_memory() -> None:
    """End the process where not even the modules of the command can be imported."""
    least = _LEAST // 10**6
    leave(_NO_MEMORY, f"Mercer takes about {least} MB of address space to begin; raise the limit (ulimit -v).")


def leave(code: int, words: str) -> None:
    """End the process with a line; a second signal that comes meanwhile does not say it again."""
    global _is_leaving
    if _is_leaving:
        return
    _is_leaving = True
    try:
        # Not through Python's streams, which the interrupted code may be using.
        os.write(2, f"mercer: {words}\n".encode())
    finally:
        os._exit(code)
