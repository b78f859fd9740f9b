"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from mercer.report.targets import TASKS


def one_of(words: Sequence[str]) -> Callable[[str], list[str]]:
    """What the shell offers for an option with these values."""
    # typer knows the argument by its name.
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


TableFile = Annotated[
    Path, typer.Argument(help="CSV, TSV, Parquet, Arrow, NPY or NPZ file, or a folder of images.", show_default=False)
]
ModelPath = Annotated[Path, typer.Argument(help="A model.skops that Mercer wrote.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the results; by default named after the file.")]
OutFile = Annotated[
    Path | None, typer.Option("--out", help="Result, .parquet or .csv; by default named after the file.")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out; may be given several times.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Of text files, such as latin-1.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same files.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", min=0.1, help="Seconds after which the best so far is taken.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Target = Annotated[str, typer.Option("--target", help="The column to learn.", show_default=False)]
Task = Annotated[str, typer.Option("--task", help="auto, regression or classification.", autocompletion=one_of(TASKS))]
