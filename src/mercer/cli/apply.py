"""`mercer apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mercer.cli.messages import conversation
from mercer.cli.options import (
    Decimal,
    Encoding,
    Force,
    Header,
    Json,
    ModelPath,
    OutFile,
    Quiet,
    Separator,
    TableFile,
    Thousands,
)
from mercer.cli.tables import give_result, read_for_model, result_path

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from mercer.report import MapModel
    from mercer.tables.schema import TableSchema


def apply_command(
    model: ModelPath,
    file: TableFile,
    inverse: Annotated[
        bool, typer.Option("--inverse", help="From columns coordinate_1, ... back to rows of the table.")
    ] = False,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill missing entries, and write the rows with their coordinates.")
    ] = False,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    header: Header = None,
    out: OutFile = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Take new rows to their places on a map, or places back to rows.

    Rows that lie far from the map are flagged: the map has seen nothing like them.
    """
    path = result_path(out, file, model, "rows" if inverse else "coordinates")
    with conversation(quiet, as_json) as talk:
        from mercer.report import load_map
        from mercer.report.outputs import try_file

        try_file(path, force=force)
        with talk.working():
            stored = load_map(model)
            table = read_for_model(
                stored.schema, file, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands,
                header=header,
            )  # fmt: skip
            result, notes = _rows(stored, table.frame) if inverse else _coordinates(stored, table.frame, impute)
        n_far = 0 if inverse else int(result["far"].sum())
        give_result(talk, "apply", result, path, n_far, [*table.notes, *notes])


def _coordinates(model: MapModel, frame: pl.DataFrame, impute: bool) -> tuple[pl.DataFrame, list[str]]:
    import numpy as np
    import polars as pl

    from mercer.tables.columns import counted
    from mercer.tables.naming import clean_names
    from mercer.workflows.seen_rows import far_note, unknown_note

    X, notes = model.schema.matrix(frame, allow_missing_columns=impute)
    Z = model.coordinates(X)
    rows, places = X, Z
    if model.schema.has_fences:
        rows, _ = model.schema.matrix(frame, allow_missing_columns=impute, clipped=False)
        places = model.coordinates(rows)
    notes += unknown_note(np.asarray(np.isnan(X).all(axis=1)), "and no place on the map")
    coordinates = {f"coordinate_{c + 1}": Z[:, c] for c in range(Z.shape[1])}
    distances = model.distances(rows)
    result = pl.DataFrame({**coordinates, "distance": distances}).with_columns(pl.selectors.float().fill_nan(None))
    result = result.with_columns(far=pl.Series(model.are_far(places, distances)))
    notes += far_note(result, "far from the map, or from all places that it has seen")
    if impute:
        filled, deviations = model.filled_with_deviations(X)
        table = model.schema.completed(frame, np.nan_to_num(filled))
        notes.append(counted(model.schema.n_missing(X), "missing entry was", "missing entries were") + " filled.")
        columns = [s.alias(f"{s.name} (filled)") if s.name in result.columns else s for s in table.get_columns()]
        columns = [*result.get_columns(), *columns, *_deviations(model.schema, deviations)]
        names, _ = clean_names([series.name for series in columns])
        result = pl.DataFrame([series.alias(name) for series, name in zip(columns, names, strict=True)])
    return model.schema.named(frame, result, model.label), notes


def _deviations(schema: TableSchema, values: np.ndarray | None) -> list[pl.Series]:
    """Standard deviations of what was filled, for columns of numbers in which something was."""
    import numpy as np
    import polars as pl

    if values is None:
        return []
    found = {
        f"{column.name}_sd": values[:, schema.groups[column.name][0]] * column.scale
        for column in schema.columns
        if column.kind == "number"
    }
    return [pl.Series(name, sd).fill_nan(None) for name, sd in found.items() if np.isfinite(sd).any()]


def _rows(model: MapModel, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    import numpy as np

    from mercer.report import InputError

    dim = model.dim
    names = [f"coordinate_{c + 1}" for c in range(dim)]
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise InputError(
            f"The table must have the columns {', '.join(names)} for --inverse, got none called {', '.join(absent)}; "
            "add them."
        )
    Z = np.column_stack([_place(frame[name]) for name in names])
    if not np.isfinite(Z).all():
        raise InputError(
            "Coordinates must be finite numbers for --inverse, got missing or infinite ones; leave those rows out."
        )
    try:
        X = model.rows(Z)
    except ValueError as error:
        raise InputError(f"These coordinates are not on the map: {error}") from None
    return model.schema.named(frame, model.schema.frame(X), model.label), []


def _place(series: pl.Series) -> NDArray[np.float64]:
    """One coordinate of each row: a number, or a text that is one."""
    import polars as pl

    from mercer.report import InputError
    from mercer.tables.columns import read_numbers

    if not series.dtype.is_numeric() and series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InputError(
            f"{series.name} must be a column of numbers for --inverse, got {series.dtype}; give the coordinates that "
            "apply writes."
        )
    return read_numbers(series).values
