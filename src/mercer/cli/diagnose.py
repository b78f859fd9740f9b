"""`mercer diagnose`."""

from __future__ import annotations

from pathlib import Path

import typer

from mercer.cli.messages import command_line, conversation
from mercer.cli.options import (
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
)


def diagnose_command(
    context: typer.Context,
    file: TableFile,
    target: Target,
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
    """Tell whether a target is complex or noisy, what more data would do, and which columns matter."""
    with conversation(quiet, as_json, time_limit) as talk:
        from mercer.report import LearningProblem, OutputFolder, diagnose_problem, diagnosis_files, read_table
        from mercer.report.diagnosis_pages import diagnosis_text

        folder = OutputFolder(out or Path(f"{file.stem}-diagnosis"), force=force)
        with talk.working() as work:
            table = read_table(
                file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands, header=header
            )
            problem = LearningProblem.read(table, target, drop=tuple(drop or ()), keep=tuple(keep or ()), task=task)
            result = diagnose_problem(problem, seed=seed, progress=work)
        files = diagnosis_files(result, command_line(context))
        talk.report(folder, files, diagnosis_text(result))
