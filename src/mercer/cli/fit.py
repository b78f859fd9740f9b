"""`mercer fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.messages import command_line, conversation
from mercer.cli.options import (
    KERNELS,
    LOSSES,
    METRICS,
    Decimal,
    Drop,
    Encoding,
    Force,
    Header,
    Json,
    Keep,
    Out,
    Quiet,
    Seed,
    Separator,
    TableFile,
    Target,
    Task,
    Thousands,
    TimeLimit,
    one_of,
)


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
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="auto: how much each column counts is learned, for the kernel auto. none: all count alike.",
            autocompletion=one_of(METRICS),
        ),
    ] = "auto",
    band: Annotated[
        float | None, typer.Option("--band", help="Also a band that holds this share of the targets, such as 0.9.")
    ] = None,
    task: Task = "auto",
    drop: Drop = None,
    keep: Keep = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    header: Header = None,
    time_limit: TimeLimit = None,
    out: Out = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a kernel machine that predicts a column, and check it on rows that were held out."""
    for name, value, known in (("--loss", loss, LOSSES), ("--kernel", kernel, KERNELS), ("--metric", metric, METRICS)):
        if value not in known:
            raise typer.BadParameter(f"must be one of {', '.join(known)}, got {value!r}.", param_hint=name)
    if band is not None and not 0 < band < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {band}.", param_hint="--band")
    with conversation(quiet, as_json, time_limit) as talk:
        from mercer.report import LearningProblem, MachineSettings, OutputFolder, fit_machine, machine_files, read_table

        folder = OutputFolder(out or Path(f"{file.stem}-machine"), force=force)
        with talk.working() as work:
            table = read_table(
                file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands, header=header
            )
            problem = LearningProblem.read(table, target, drop=tuple(drop or ()), keep=tuple(keep or ()), task=task)
            result = fit_machine(problem, MachineSettings(loss, kernel, band, seed, metric), progress=work)
        talk.report(folder, machine_files(result, command_line(context)))
