"""The commands together."""

from __future__ import annotations

from typing import Annotated

import typer

import mercer
from mercer.cli.apply import apply_command
from mercer.cli.certify import certify_command
from mercer.cli.demo import demo_command
from mercer.cli.diagnose import diagnose_command
from mercer.cli.fit import fit_command
from mercer.cli.map import map_command
from mercer.cli.predict import predict_command
from mercer.cli.promise import promise_command
from mercer.cli.relate import relate_command

_HELP = """Maps of tables, diagnoses of learning problems, and kernel machines.

A table is a CSV, TSV, Parquet, Arrow, NPY or NPZ file, or a folder of images.

Exit codes:

- 0: done
- 1: an error in Mercer itself
- 2: the command is wrong
- 3: the data cannot be used
- 4: the model file is refused
- 5: the results cannot be written, or would replace files of others (`--force` does so)
- 6: there is not enough memory
- 7: the time limit passed before there was a result
- 130: stopped by Ctrl-C; what there is was written, marked as partial
- 143: stopped by SIGTERM, in the same way
"""

app = typer.Typer(help=_HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")
app.command("map")(map_command)
app.command("apply")(apply_command)
app.command("diagnose")(diagnose_command)
app.command("fit")(fit_command)
app.command("predict")(predict_command)
app.command("certify")(certify_command)
app.command("promise")(promise_command)
app.command("relate")(relate_command)
app.command("demo")(demo_command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"mercer {mercer.__version__}")
        raise typer.Exit


@app.callback(help=_HELP)
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself; typer shows the help of the app instead of this."""
