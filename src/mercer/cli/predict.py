"""`mercer predict`."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.messages import conversation
from mercer.cli.options import Encoding, Json, ModelPath, OutFile, Quiet, TableFile
from mercer.cli.tables import result_path, write_table
from mercer.report import load_machine, read_table


def predict_command(
    model: ModelPath,
    file: TableFile,
    impute: Annotated[bool, typer.Option("--impute", help="Take columns that are not there as missing.")] = False,
    encoding: Encoding = "utf-8",
    out: OutFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict the target of new rows.

    Rows that are far from all that the machine has seen are flagged.
    """
    path = result_path(out, file, "predictions")
    with conversation(quiet, as_json) as talk:
        stored = load_machine(model)
        with talk.working():
            frame = read_table(file, encoding=encoding).frame
            result, notes = stored.predict_table(frame, impute=impute)
        write_table(result, path)
        n_far = int(result["far"].sum()) if stored.seen is not None else 0
        summary = {"kind": "predict", "n_rows": result.height, "n_far": n_far, "notes": notes, "result": str(path)}
        talk.conclude(summary, *notes, f"Result: {path}")
