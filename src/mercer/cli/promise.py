"""`mercer promise`."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.messages import conversation
from mercer.cli.options import Confidence, Json, Quiet


def promise_command(
    error: Annotated[float, typer.Option("--error", help="What is to be promised, such as 0.05.", show_default=False)],
    confidence: Confidence = 0.95,
    errors: Annotated[int, typer.Option("--errors", min=0, help="How many wrong rows there may be.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Tell how many rows to hold out, so that an error below some rate can be promised."""
    if not 0 < error < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {error}.", param_hint="--error")
    with conversation(quiet, as_json) as talk:
        from mercer.capacity import samples_for_promise
        from mercer.tables.columns import counted
        from mercer.tables.errors import OptionError

        try:
            n = samples_for_promise(error, 1.0 - confidence, n_errors=errors)
        except ValueError as refused:  # more rows than can be counted
            raise OptionError(
                f"No table has enough rows to promise an error below {error:g} with --errors {errors}; "
                "give a larger --error, or fewer --errors."
            ) from refused
        allowed = {0: "if none of them is wrong", 1: "if at most one of them is wrong"}
        words = allowed.get(errors, f"if at most {errors:,} of them are wrong")
        summary = {"kind": "promise", "error": error, "confidence": confidence, "n_errors": errors, "n_rows": n}
        talk.conclude(
            summary,
            f"Hold out {counted(n, 'row', 'rows')}: {words}, an error below {100 * error:.4g}% can be promised with "
            f"{100 * confidence:.4g}% confidence.",
        )
