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
    """Predict the target of new rows."""
    path = result_path(out, file, "predictions")
    with conversation(quiet, as_json) as talk:
        stored = load_machine(model)
        with talk.working():
            frame = read_table(file, encoding=encoding).frame
            X, notes = stored.schema.matrix(frame, allow_missing_columns=impute)
            result = stored.predict(X)
        write_table(result, path)
        summary = {"kind": "predict", "n_rows": result.height, "notes": notes, "result": str(path)}
        talk.conclude(summary, *notes, f"Result: {path}")
