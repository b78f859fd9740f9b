"""Ends of a command that come from outside: Ctrl-C, SIGTERM, and the time limit."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from mercer.cli.early import STOPPED, end_at_once, leave
from mercer.cli.exit_codes import ExitCode

_CODES = {signal.SIGINT: ExitCode.STOPPED, signal.SIGTERM: ExitCode.TERMINATED, signal.SIGALRM: ExitCode.TIME}
# Longer limits than this count as none, since the timers of the system cannot hold them.
_LONGEST = 1e8
# Seconds until an interruption that had no effect is repeated.
_AGAIN = 0.05


def end_in_words(cause: ExitCode | None, time_limit: float | None) -> str:
    """Why there is no result."""
    if cause is ExitCode.TIME:
        return f"the limit of {time_limit:g} s passed before there was a result; give it more time, or fewer rows."
    return STOPPED


class Stopping:
    """Listens to signals and to the clock while a command runs.

    What a signal does depends on what the command is doing. While modules are imported it ends the process, since an
    exception there may come out as anything. While the command works it raises `KeyboardInterrupt`, after which the
    work gives what it has. While results are written the first signal only decides the exit code.

    Parameters
    ----------
    time_limit : float, optional
        Seconds, from now on.

    Attributes
    ----------
    cause : ExitCode or None
        What the signals that were heard mean.
    """

    def __init__(self, time_limit: float | None = None):
        self.time_limit = time_limit
        self.cause: ExitCode | None = None
        self._before: dict[int, Any] = {}
        self._at_once = self._writing = self._over = False
        self._hook = sys.unraisablehook

    def __enter__(self) -> Stopping:
        if threading.current_thread() is not threading.main_thread():
            return self  # where no signals arrive
        self._at_once = signal.getsignal(signal.SIGTERM) is end_at_once
        for number in _CODES:
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGALRM:
                self._before[number] = signal.signal(number, self._heard)
        sys.unraisablehook = self._unheard
        if self.time_limit is not None and self.time_limit < _LONGEST:
            signal.setitimer(signal.ITIMER_REAL, self.time_limit)
        return self

    def __exit__(self, *error: object) -> None:
        sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            if number == signal.SIGALRM:
                signal.setitimer(signal.ITIMER_REAL, 0)
            # Once the command is over the process ends by itself.
            signal.signal(number, signal.SIG_IGN if handler is end_at_once else handler)

    def work_begins(self) -> None:
        """From now on signals raise `KeyboardInterrupt`."""
        self._at_once = False

    def work_ends(self) -> None:
        """The clock stops, and the first signal no longer interrupts."""
        self._writing = True
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def command_ends(self) -> None:
        """From now on signals do nothing: the command only says why it ends."""
        self._over = True

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self._over:
            return
        code, first = _CODES[signal.Signals(number)], self.cause in (None, ExitCode.TIME)
        if code is not ExitCode.TIME or self.cause is None:
            self.cause = code
        if self._at_once:
            code = self.cause or code
            leave(code, end_in_words(code, self.time_limit))
        if not (self._writing and first):
            raise KeyboardInterrupt

    def _unheard(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Interrupt again what was interrupted where Python ignores exceptions, as in callbacks of its own."""
        if self.cause is None or not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._hook(unraisable)
        elif not self._writing:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
