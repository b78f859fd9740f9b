"""`mercer map`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer.cli.messages import command_line, conversation
from mercer.cli.options import (
    METHODS,
    TOPOLOGIES,
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
    one_of,
)

if TYPE_CHECKING:
    from mercer.report import MapResult, MapSettings


def map_command(
    context: typer.Context,
    file: TableFile,
    label: Annotated[
        str | None, typer.Option("--label", help="Column for colours and quality figures; never used for the fit.")
    ] = None,
    dim: Annotated[
        str | None,
        typer.Option(
            "--dim", help="Number of coordinates, or auto; by default 2, or 1 for a closed loop.", show_default=False
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help=f"One of {', '.join(METHODS)}.", autocompletion=one_of(METHODS))
    ] = "auto",
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            help="auto, interval or circle; or one for each coordinate: circle,interval.",
            autocompletion=one_of(("auto", *TOPOLOGIES)),
        ),
    ] = "auto",
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Also compare kernel principal components and Laplacian eigenmaps.")
    ] = False,
    color_by: Annotated[
        Path | None,
        typer.Option("--color-by", help="A model.skops of `mercer fit`, whose predictions colour the map."),
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
    """Draw a map of a table, with a report and a model that takes new rows.

    Numbers, categories and dates are used, and brought to one scale. Several kinds of maps are tried; rows that were
    held out decide which is shown, and whether there is any structure at all.
    """
    _check(dim, method, topology)
    if thorough and method != "auto":
        raise typer.BadParameter("is for --method auto.", param_hint="--thorough")
    with conversation(quiet, as_json, time_limit) as talk:
        from mercer.report import OutputFolder, load_machine, make_map, map_files, read_table
        from mercer.report.outputs import manifest

        settings = replace(_settings(dim, method, topology, seed), thorough=thorough)
        folder = OutputFolder(out or Path(f"{file.stem}-map"), force=force)
        command, colors = command_line(context), None

        def files_of(result: MapResult) -> dict[str, bytes]:
            return map_files(replace(result, colors=colors), command)

        def publish(result: MapResult) -> None:
            folder.write(manifest(files_of(result), talk.seconds))

        with talk.working() as work:
            table = read_table(
                file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands, header=header
            )
            if color_by is not None:
                machine = load_machine(color_by)
                machine.schema.check_writing(table)
                colors = machine.colors(table.frame)
            result = make_map(
                table, settings, label=label, drop=drop or (), keep=keep or (), progress=work, publish=publish
            )
        talk.report(folder, files_of(result))


def _check(dim: str | None, method: str, topology: str) -> None:
    if method not in METHODS:
        raise typer.BadParameter(f"must be one of {', '.join(METHODS)}, got {method!r}.", param_hint="--method")
    if dim not in (None, "auto") and not (str(dim).isdecimal() and int(str(dim)) >= 1):
        raise typer.BadParameter(f"must be a whole number >= 1 or auto, got {dim!r}.", param_hint="--dim")
    shapes = _shapes(topology)
    if shapes != ("auto",) and not set(shapes) <= set(TOPOLOGIES):
        raise typer.BadParameter(
            f"must be auto, or made of interval and circle, got {topology!r}.", param_hint="--topology"
        )
    if len(shapes) > 1 and (dim or "2") != str(len(shapes)):
        raise typer.BadParameter(
            f"must be one word, or one for each of the {dim or 2} coordinates, got {topology!r}.",
            param_hint="--topology",
        )
    if "circle" in shapes and method not in ("auto", "manifold"):
        raise typer.BadParameter("circle is for --method manifold.", param_hint="--topology")


def _shapes(topology: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in topology.split(","))


def _settings(dim: str | None, method: str, topology: str, seed: int) -> MapSettings:
    from mercer.report import MapSettings

    shapes = _shapes(topology)
    n_coordinates = dim if dim in (None, "auto") else int(str(dim))
    return MapSettings(method, n_coordinates, shapes if len(shapes) > 1 else shapes[0], seed)
