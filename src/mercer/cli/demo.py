"""`mercer demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.messages import ExitCode, conversation
from mercer.cli.options import Json, Quiet
from mercer.report import OutputFolder
from mercer.report.demo import STATIONS, overview_page


def demo_command(
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("demo"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show everything on data that comes with scikit-learn, in less than a minute."""
    with conversation(quiet, as_json) as talk:
        folder = OutputFolder(out)
        done, stopped = [], False
        with talk.working() as work:
            for station in STATIONS:
                work(station.words)
                try:
                    files, verdict = station.run()
                except KeyboardInterrupt:
                    stopped = True
                    break
                OutputFolder(folder.path / station.name).write(files)
                done.append((station, verdict))
        folder.write({"index.html": overview_page(done)})
        verdicts = {station.name: verdict for station, verdict in done}
        summary = {"kind": "demo", "partial": stopped, "verdicts": verdicts, "result": str(folder.path / "index.html")}
        talk.conclude(
            summary, *[f"{station.title}: {verdict}" for station, verdict in done],
            f"Took {talk.seconds:.0f} s. Open {folder.path / 'index.html'} in a browser.",
        )  # fmt: skip
        if stopped:
            raise typer.Exit(ExitCode.STOPPED)
