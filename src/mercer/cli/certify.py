"""`mercer certify`."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.messages import conversation
from mercer.cli.options import (
    Confidence,
    Decimal,
    Encoding,
    Header,
    Json,
    ModelPath,
    Quiet,
    Separator,
    TableFile,
    Thousands,
)
from mercer.cli.tables import read_for_model


def certify_command(
    model: ModelPath,
    file: TableFile,
    target: Annotated[
        str | None, typer.Option("--target", help="The column with the truth; by default the one that was learned.")
    ] = None,
    confidence: Confidence = 0.95,
    largest_error: Annotated[
        float | None,
        typer.Option("--largest-error", help="Where errors of numbers are clipped; by default 4 standard deviations."),
    ] = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    header: Header = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Guarantee how good a machine is, by labelled rows that it has never seen.

    Rows that it was fitted to are refused. The guarantee holds for rows that are drawn as these were.
    """
    if largest_error is not None and not 0 < largest_error < float("inf"):
        raise typer.BadParameter(f"must be a number > 0, got {largest_error}.", param_hint="--largest-error")
    with conversation(quiet, as_json) as talk:
        from mercer.report import load_machine
        from mercer.workflows.certifying import certify

        with talk.working():
            stored = load_machine(model)
            table = read_for_model(
                stored.schema, file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands,
                header=header,
            )  # fmt: skip
            found = certify(stored, table, target=target, confidence=confidence, largest_error=largest_error)
        talk.conclude(found.summary(), *found.notes, found.text)
