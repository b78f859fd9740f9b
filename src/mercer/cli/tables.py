"""Tables as results of commands."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import typer

from mercer.report.outputs import write_file

ENDINGS = (".parquet", ".csv")


def result_path(out: Path | None, file: Path, what: str) -> Path:
    """Where a result goes; its ending tells its kind."""
    path = out or Path(f"{file.stem}-{what}.parquet")
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"must end in {' or '.join(ENDINGS)}, got {path.name!r}.", param_hint="--out")
    return path


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a table whole, or not at all."""
    content = io.BytesIO()
    if path.suffix.lower() == ".csv":
        frame.write_csv(content)
    else:
        frame.write_parquet(content)
    write_file(path, content.getvalue())
