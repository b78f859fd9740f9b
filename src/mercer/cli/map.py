"""`mercer map`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.messages import command_line, conversation
from mercer.cli.options import Drop, Encoding, Json, Out, Quiet, Seed, TableFile, TimeLimit, one_of
from mercer.report import METHODS, MapSettings, OutputFolder, make_map, map_files, read_table

_METHODS = ("auto", *METHODS)
_TOPOLOGIES = ("interval", "circle")


def map_command(
    context: typer.Context,
    file: TableFile,
    label: Annotated[
        str | None, typer.Option("--label", help="Column for colours and quality figures; never used for the fit.")
    ] = None,
    dim: Annotated[str, typer.Option("--dim", help="Number of coordinates, or auto.")] = "2",
    method: Annotated[
        str, typer.Option("--method", help=f"One of {', '.join(_METHODS)}.", autocompletion=one_of(_METHODS))
    ] = "auto",
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            help="interval or circle; or one for each coordinate: circle,interval.",
            autocompletion=one_of(_TOPOLOGIES),
        ),
    ] = "interval",
    drop: Drop = None,
    encoding: Encoding = "utf-8",
    time_limit: TimeLimit = None,
    out: Out = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw a map of a table, with a report and a model that takes new rows.

    Numbers, categories and dates are used, and brought to one scale. Several kinds of maps are tried; rows that were
    held out decide which is shown, and whether there is any structure at all.
    """
    settings = _settings(dim, method, topology, seed)
    with conversation(quiet, as_json) as talk:
        folder = OutputFolder(out or Path(f"{file.stem}-map"))
        with talk.working(time_limit) as work:
            table = read_table(file, encoding=encoding)
            result = make_map(table, settings, label=label, drop=drop or (), progress=work)
        talk.report(work, folder, map_files(result, command_line(context)))


def _settings(dim: str, method: str, topology: str, seed: int) -> MapSettings:
    if method not in _METHODS:
        raise typer.BadParameter(f"must be one of {', '.join(_METHODS)}, got {method!r}.", param_hint="--method")
    if dim != "auto" and not (dim.isdecimal() and int(dim) >= 1):
        raise typer.BadParameter(f"must be a whole number >= 1 or auto, got {dim!r}.", param_hint="--dim")
    shapes = tuple(word.strip() for word in topology.split(","))
    if not set(shapes) <= set(_TOPOLOGIES):
        raise typer.BadParameter(f"must be made of interval and circle, got {topology!r}.", param_hint="--topology")
    if len(shapes) > 1 and dim != str(len(shapes)):
        raise typer.BadParameter(
            f"must be one word, or one for each of the {dim} coordinates, got {topology!r}.", param_hint="--topology"
        )
    if "circle" in shapes and method not in ("auto", "manifold"):
        raise typer.BadParameter("circle is for --method manifold.", param_hint="--topology")
    return MapSettings(method, "auto" if dim == "auto" else int(dim), shapes if len(shapes) > 1 else shapes[0], seed)
