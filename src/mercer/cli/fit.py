"""`mercer fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.messages import command_line, conversation
from mercer.cli.options import Drop, Encoding, Json, Out, Quiet, Seed, TableFile, Target, Task, TimeLimit, one_of
from mercer.report import LearningProblem, MachineSettings, OutputFolder, fit_machine, machine_files, read_table
from mercer.report.learning import KERNELS, LOSSES


def fit_command(
    context: typer.Context,
    file: TableFile,
    target: Target,
    loss: Annotated[
        str, typer.Option("--loss", help=f"One of {', '.join(LOSSES)}.", autocompletion=one_of(LOSSES))
    ] = "auto",
    kernel: Annotated[
        str, typer.Option("--kernel", help=f"One of {', '.join(KERNELS)}.", autocompletion=one_of(KERNELS))
    ] = "auto",
    band: Annotated[
        float | None, typer.Option("--band", help="Also a band that holds this share of the targets, such as 0.9.")
    ] = None,
    task: Task = "auto",
    drop: Drop = None,
    encoding: Encoding = "utf-8",
    time_limit: TimeLimit = None,
    out: Out = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a kernel machine that predicts a column, and check it on rows that were held out."""
    for name, value, known in (("--loss", loss, LOSSES), ("--kernel", kernel, KERNELS)):
        if value not in known:
            raise typer.BadParameter(f"must be one of {', '.join(known)}, got {value!r}.", param_hint=name)
    if band is not None and not 0 < band < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {band}.", param_hint="--band")
    with conversation(quiet, as_json) as talk:
        folder = OutputFolder(out or Path(f"{file.stem}-machine"))
        with talk.working(time_limit) as work:
            table = read_table(file, encoding=encoding)
            problem = LearningProblem.read(table, target, drop=tuple(drop or ()), task=task)
            result = fit_machine(problem, MachineSettings(loss, kernel, band, seed), progress=work)
        talk.report(work, folder, machine_files(result, command_line(context)))
