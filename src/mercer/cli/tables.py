"""Tables as results of commands."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".csv")


def result_path(out: Path | None, file: Path, model: Path, what: str) -> Path:
    """Where a result goes; its ending tells its kind. It never replaces what it is made from."""
    path = out or Path(f"{file.stem}-{what}.parquet")
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"must end in {' or '.join(ENDINGS)}, got {path.name!r}.", param_hint="--out")
    for source in (file, model):
        if path.exists() and source.exists() and path.samefile(source):
            raise typer.BadParameter(f"must not be {source}, which the result is made from.", param_hint="--out")
    return path


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a table whole, or not at all."""
    from mercer.report.outputs import write_file

    content = io.BytesIO()
    if path.suffix.lower() == ".csv":
        _as_text(frame).write_csv(content)
    else:
        frame.write_parquet(content)
    write_file(path, content.getvalue())


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Durations in seconds, and lists as Python writes them: text files have nothing of the kind."""
    import polars as pl

    from mercer.tables.columns import read_texts

    columns = []
    for series in frame.get_columns():
        if series.dtype == pl.Duration:
            series = series.dt.total_microseconds() / 1e6
        elif series.dtype.is_nested() or series.dtype == pl.Binary:
            series = pl.Series(series.name, read_texts(series), dtype=pl.String)
        columns.append(series)
    return pl.DataFrame(columns)
