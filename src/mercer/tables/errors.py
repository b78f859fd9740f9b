"""What can go wrong between a file and a report, in words for the person who gave the command."""

from __future__ import annotations


class ReportError(Exception):
    """A problem that the user can mend; its text says what is wrong and what to do."""


class InputError(ReportError):
    """The data cannot be used."""


class OptionError(InputError):
    """An option cannot be what was given, whatever the data are."""


class ModelFileError(ReportError):
    """The model file is refused."""


class OutputError(ReportError):
    """The results cannot be written."""


class MemoryRefusal(ReportError):
    """The work would not fit into memory."""


def unreadable(name: str, error: BaseException) -> InputError:
    """The refusal of a file, from what the library that reads it says."""
    return InputError(f"{name} cannot be read as a table: {first_line(error)}.")


def first_line(error: BaseException) -> str:
    """What an error of another library says first, to be put into a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
