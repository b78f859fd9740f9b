"""`mercer demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.exit_codes import ExitCode
from mercer.cli.messages import conversation
from mercer.cli.options import Force, Json, Quiet, some_path


def demo_command(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the results.", parser=some_path, metavar="PATH")
    ] = Path("demo"),
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show everything on data that comes with scikit-learn, in less than a minute."""
    with conversation(quiet, as_json) as talk:
        from mercer.plain_json import json_bytes
        from mercer.report import OutputFolder
        from mercer.report.demo import STATIONS, overview_page, tour
        from mercer.report.outputs import manifest
        from mercer.report.pages import versions

        folder = OutputFolder(out, force=force)
        folders = {
            station: OutputFolder(out / station.name, force=force, also=(station.table,)) for station in STATIONS
        }
        done, stopped = {}, False
        with talk.working() as work:
            work("a map, a curve, a diagnosis and a machine; the first time takes longer")
            try:
                for station, findings in tour():
                    folders[station].write(manifest(findings.files, talk.seconds))
                    done[station] = findings
                    work(f"done: {', '.join(found.name for found in done)}", len(done) / len(STATIONS))
            except KeyboardInterrupt:
                if not done:
                    raise
                stopped = True
        seen = [(station, done[station]) for station in STATIONS if station in done]
        verdicts = {station.name: findings.verdict for station, findings in seen}
        summary = {"kind": "demo", "partial": stopped, "verdicts": verdicts, "result": str(folder.path / "index.html")}
        about = json_bytes({**summary, "versions": versions()})
        folder.write(manifest({"index.html": overview_page(seen), "summary.json": about}, talk.seconds))
        talk.conclude(
            summary, *[f"{station.title}: {findings.verdict}" for station, findings in seen],
            f"Took {talk.seconds:.0f} s. Open {folder.path / 'index.html'} in a browser.",
        )  # fmt: skip
        if stopped and talk.stopping.cause is None:
            raise typer.Exit(ExitCode.STOPPED)
