"""`mercer predict`."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.messages import conversation
from mercer.cli.options import (
    Decimal,
    Encoding,
    Force,
    Header,
    Json,
    ModelPath,
    OutFile,
    Quiet,
    Separator,
    TableFile,
    Thousands,
)
from mercer.cli.tables import give_result, read_for_model, result_path


def predict_command(
    model: ModelPath,
    file: TableFile,
    impute: Annotated[bool, typer.Option("--impute", help="Take columns that are not there as missing.")] = False,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    header: Header = None,
    out: OutFile = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict the target of new rows.

    Rows that are far from all that the machine has seen are flagged.
    """
    path = result_path(out, file, model, "predictions")
    with conversation(quiet, as_json) as talk:
        from mercer.report import load_machine
        from mercer.report.outputs import try_file

        try_file(path, force=force)
        with talk.working():
            stored = load_machine(model)
            table = read_for_model(
                stored.schema, file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands,
                header=header,
            )  # fmt: skip
            result, notes = stored.predict_table(table.frame, impute=impute)
        n_far = int(result["far"].sum()) if stored.seen is not None else 0
        give_result(talk, "predict", result, path, n_far, [*table.notes, *notes])
