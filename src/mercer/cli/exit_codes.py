"""How the command ends."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes; `mercer --help` lists them."""

    DONE = 0
    BUG = 1
    USAGE = 2
    INPUT = 3
    MODEL = 4
    OUTPUT = 5
    MEMORY = 6
    TIME = 7
    STOPPED = 130
    TERMINATED = 143
