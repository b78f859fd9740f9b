"""Tables as results of commands."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import polars as pl

    from mercer.cli.messages import Conversation
    from mercer.tables.reading import Table
    from mercer.tables.schema import TableSchema

ENDINGS = (".parquet", ".csv")


def result_path(out: Path | None, file: Path, model: Path, what: str) -> Path:
    """Where a result goes; its ending tells its kind. It never replaces what it is made from."""
    path = out or Path(f"{file.stem}-{what}.parquet")
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"must end in {' or '.join(ENDINGS)}, got {path.name!r}.", param_hint="--out")
    for source in (file, model):
        if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
            raise typer.BadParameter(f"must not be {source}, which the result is made from.", param_hint="--out")
    return path


def read_for_model(schema: TableSchema, file: Path, **options: Any) -> Table:
    """A table of new rows for a model with this schema; options are those of `read_table`."""
    from mercer.report import read_table

    table = read_table(file, texts=schema.texts, image_shape=schema.image_shape, **options)
    schema.check_writing(table)
    return table


def give_result(talk: Conversation, kind: str, result: pl.DataFrame, path: Path, n_far: int, notes: list[str]) -> None:
    """Write the table that a command gives, and say so."""
    _write_table(result, path)
    summary = {"kind": kind, "n_rows": result.height, "n_far": n_far, "notes": notes, "result": str(path)}
    talk.conclude(summary, *notes, f"Result: {path}")


def _write_table(frame: pl.DataFrame, path: Path) -> None:
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
