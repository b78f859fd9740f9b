"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

# Values of options, repeated from modules that are slow to import: help should appear at once.
METHODS = ("auto", "pca", "manifold", "ukr", "kpca", "eigenmaps")
TOPOLOGIES = ("interval", "circle")
TASKS = ("auto", "regression", "classification")
LOSSES = ("auto", "epsilon", "squared", "laplace", "huber", "squared_hinge", "hinge", "logistic")
METRICS = ("auto", "none")
KERNELS = ("auto", "gaussian", "exponential", "linear", "polynomial")


def one_of(words: Sequence[str]) -> Callable[[str], list[str]]:
    """What the shell offers for an option with these values."""
    # typer knows the argument by its name.
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def some_path(value: str) -> Path:
    """A path that is not empty: an empty one would be the working folder."""
    if not value:
        raise typer.BadParameter("must be the name of a file or folder, got nothing.")
    return Path(value)


TableFile = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, NPY or NPZ file, or a folder of images.", show_default=False,
        parser=some_path,
    ),
]  # fmt: skip
ModelPath = Annotated[
    Path,
    typer.Argument(help="A model.skops that Mercer wrote.", show_default=False, parser=some_path),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for the results; by default named after the file.", parser=some_path, metavar="PATH"
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Result, .parquet or .csv; by default named after the file.", parser=some_path, metavar="PATH"
    ),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out; may be given several times.")]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", help="A column to use though it seems to count or name rows; may be given several times."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Of text files, such as latin-1.")]
Separator = Annotated[
    str | None, typer.Option("--separator", help="Between columns of text files, such as ; or tab or space.")
]
Decimal = Annotated[str | None, typer.Option("--decimal", help="Decimal mark of numbers in text: . or ,")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line of a text file names the columns.", show_default=False
    ),
]
Thousands = Annotated[
    str | None, typer.Option("--thousands", help="What separates thousands in text: , or . or ' or a space.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed gives the same files.")]


def _seconds(value: float | None) -> float | None:
    if value is not None and not value >= 0.1:
        raise typer.BadParameter(f"must be 0.1 or more, got {value}.")
    return value


def _confidence(value: float) -> float:
    if not 0 < 1.0 - value < 1:  # nor so close to 0 that rounding takes it away
        raise typer.BadParameter(f"must be between 0 and 1, such as 0.95, got {value}.")
    return value


Confidence = Annotated[
    float,
    typer.Option("--confidence", callback=_confidence, help="Probability with which a promise holds, such as 0.95."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        callback=_seconds,
        help="Seconds after which the best so far is taken; its report is drawn and written after that.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Also replace files that Mercer did not write.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Target = Annotated[str, typer.Option("--target", help="The column to learn.", show_default=False)]
Task = Annotated[str, typer.Option("--task", help="auto, regression or classification.", autocompletion=one_of(TASKS))]
