"""`mercer diagnose`."""

from __future__ import annotations

from pathlib import Path

import typer

from mercer.cli.messages import command_line, conversation
from mercer.cli.options import Drop, Encoding, Json, Out, Quiet, Seed, TableFile, Target, Task, TimeLimit
from mercer.report import LearningProblem, OutputFolder, diagnose_problem, diagnosis_files, read_table
from mercer.report.pages import rounded


def diagnose_command(
    context: typer.Context,
    file: TableFile,
    target: Target,
    task: Task = "auto",
    drop: Drop = None,
    encoding: Encoding = "utf-8",
    time_limit: TimeLimit = None,
    out: Out = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Tell whether a target is complex or noisy, what more data would do, and which columns matter."""
    with conversation(quiet, as_json) as talk:
        folder = OutputFolder(out or Path(f"{file.stem}-diagnosis"))
        with talk.working(time_limit) as work:
            table = read_table(file, encoding=encoding)
            problem = LearningProblem.read(table, target, drop=tuple(drop or ()), task=task)
            result = diagnose_problem(problem, seed=seed, progress=work)
        files = diagnosis_files(result, command_line(context))
        talk.report(work, folder, files, rounded(str(result.model.diagnosis_)))
