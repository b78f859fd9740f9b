"""`mercer relate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    Thousands,
    TimeLimit,
    some_path,
)


def relate_command(
    context: typer.Context,
    left: TableFile,
    right: Annotated[
        Path | None,
        typer.Argument(help="A second table about the same rows.", show_default=False, parser=some_path),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--with", help="Of a single table: a column of the other side; may be given several times."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="A column of both tables that tells which rows belong together."),
    ] = None,
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
    """Tell what two tables about the same rows share: whether anything, which directions, how much, by which columns.

    Or two sets of columns of one table: those of --with, and all others.
    """
    with conversation(quiet, as_json, time_limit) as talk:
        from mercer.report import OutputFolder, PairedTables, read_table, relate, relation_files
        from mercer.report.relation_pages import relation_text

        folder = OutputFolder(out or Path(f"{left.stem}-relation"), force=force)
        with talk.working() as work:
            tables = [
                read_table(
                    file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands, header=header
                )
                for file in (left, right)
                if file is not None
            ]
            paired = PairedTables.read(*tables, columns=columns or (), by=by, drop=drop or (), keep=keep or ())
            result = relate(paired, seed=seed, progress=work)
        talk.report(folder, relation_files(result, command_line(context)), relation_text(result))
