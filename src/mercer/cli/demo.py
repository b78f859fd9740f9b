"""`mercer demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.messages import ExitCode, conversation
from mercer.cli.options import Json, Quiet
from mercer.report import OutputFolder
from mercer.report.demo import STATIONS, overview_page, tour


def demo_command(
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("demo"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show everything on data that comes with scikit-learn, in less than a minute."""
    with conversation(quiet, as_json) as talk:
        folder = OutputFolder(out)
        done, stopped = {}, False
        with talk.working() as work:
            work("a map, a curve, a diagnosis and a machine; the first time takes longer")
            try:
                for station, files, verdict in tour():
                    OutputFolder(folder.path / station.name).write(files)
                    done[station] = verdict
                    work(f"done: {', '.join(found.name for found in done)}", len(done) / len(STATIONS))
            except KeyboardInterrupt:
                stopped = True
        seen = [(station, done[station]) for station in STATIONS if station in done]
        folder.write({"index.html": overview_page(seen)})
        verdicts = {station.name: verdict for station, verdict in seen}
        summary = {"kind": "demo", "partial": stopped, "verdicts": verdicts, "result": str(folder.path / "index.html")}
        talk.conclude(
            summary, *[f"{station.title}: {verdict}" for station, verdict in seen],
            f"Took {talk.seconds:.0f} s. Open {folder.path / 'index.html'} in a browser.",
        )  # fmt: skip
        if stopped:
            raise typer.Exit(ExitCode.STOPPED)
