"""Two sets of columns about the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import counted, read_texts
from mercer.tables.errors import InputError, OptionError
from mercer.tables.features import some_of
from mercer.tables.reading import Table
from mercer.tables.schema import TableSchema

# Fewest rows.
_FEWEST_ROWS = 10
# Neighbouring rows are told of if the product of their correlations on both sides is above this, and above so many
# times what chance makes of n rows.
_ALIKE, _SURE = 0.05, 5.0
# Columns of both sides with a correlation above this are taken for copies.
_COPY = 1.0 - 1e-9


@dataclass(frozen=True)
class Side:
    """One of two sets of columns.

    Attributes
    ----------
    name : str
        What it is called.
    schema : TableSchema
        Its columns.
    X : array
        Its rows, standardised; missing entries are replaced by the means of their columns.
    """

    name: str
    schema: TableSchema
    X: Array


@dataclass(frozen=True)
class PairedTables:
    """Two sets of columns, row i of both being about the same thing.

    Attributes
    ----------
    left, right : Side
        The two sets.
    rows : array of int
        Places of the rows in the left table.
    notes, warnings : list of str
        What was done, and what to be careful with.
    """

    left: Side
    right: Side
    rows: Array
    notes: list[str]
    warnings: list[str]

    @classmethod
    def read(
        cls,
        left: Table,
        right: Table | None = None,
        *,
        columns: Sequence[str] = (),
        by: str | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
    ) -> Self:
        """The sides from two tables, or from one.

        Parameters
        ----------
        left, right : Table
            Both tables; or one, of which some columns are the other side.
        columns : sequence of str
            Columns of a single table that are the right side.
        by : str, optional
            A column of both tables that says which rows belong together; by default row i belongs to row i.
        drop, keep : sequence of str
            Columns of either table that are not used, and columns that are, though they may seem to identify rows.
        """
        if (right is None) != bool(columns):
            raise OptionError(
                "mercer relate needs a second table, or the columns of the one that are the other side; give one of "
                "them: mercer relate left.csv right.csv, or mercer relate table.csv --with COLUMN."
            )
        notes = list(left.notes)
        if right is None:
            if by is not None:
                raise OptionError("--by is for two tables, got one; the sides of one table have the same rows.")
            tables = (left, left)
            chosen = left.columns_called(*columns)
            others = [name for name in left.frame.columns if name not in chosen]
            names = (left.name, some_of(chosen, 3))
            not_used = (chosen, others)
        else:
            notes += [f"{right.name}: {note}" for note in right.notes]
            tables, said = _matched(left, right, by)
            notes += said
            names = (left.name, right.name if right.name != left.name else f"{right.name} (the second)")
            not_used = ([by] if by else [], [by] if by else [])
        given = set(tables[0].frame.columns) | set(tables[1].frame.columns)
        unknown = [name for name in (*drop, *keep) if name not in given]
        if unknown:
            tables[0].check_columns(unknown[0])
        parts = []
        for table, name, unused in zip(tables, names, not_used, strict=True):
            own = set(table.frame.columns)
            schema, learned = TableSchema.learn(
                table, [*unused, *(c for c in drop if c in own)], [c for c in keep if c in own and c not in unused]
            )
            notes += [f"{name}: {note}" for note in learned if not _is_of_others(note, unused)]
            parts.append((name, schema, schema.matrix(table.frame)[0]))
        known = np.all([~np.isnan(X).all(axis=1) for _, _, X in parts], axis=0)
        rows = np.flatnonzero(known)
        if len(rows) < known.size:
            lost = known.size - len(rows)
            notes.append(counted(lost, "row has", "rows have") + " no entry on one of the sides, and no part in this.")
        if len(rows) < _FEWEST_ROWS:
            raise InputError(
                f"{left.name} must have {_FEWEST_ROWS} rows or more that both sides know, got {len(rows)}; give more."
            )
        sides = []
        for name, schema, X in parts:
            n_missing = schema.n_missing(X[rows])
            if n_missing:
                entries = counted(n_missing, "missing entry was", "missing entries were")
                notes.append(f"{name}: {entries} replaced by the means of their columns.")
            sides.append(Side(name, schema, np.nan_to_num(X[rows])))
        warned = [*_copies(sides[0], sides[1]), *_alike_neighbours(sides[0], sides[1])]
        return cls(sides[0], sides[1], rows, notes, warned)


def _is_of_others(note: str, unused: Sequence[str]) -> bool:
    """Whether a note is about a column that is not of this side."""
    return any(note.startswith(f"{name} ") for name in unused)


def _matched(left: Table, right: Table, by: str | None) -> tuple[tuple[Table, Table], list[str]]:
    """Both tables with the rows that belong together, in the order of the left one."""
    if by is None:
        heights = left.frame.height, right.frame.height
        if heights[0] != heights[1]:
            raise InputError(
                f"{right.name} must have as many rows as {left.name}, {heights[0]:,}, got {heights[1]:,}: row i of "
                "both must be about the same thing; give --by COLUMN if a column tells which rows belong together."
            )
        return (left, right), []
    keys = []
    for table in (left, right):
        table.check_columns(by)
        texts = read_texts(table.frame[by].cast(pl.String) if table.frame[by].dtype != pl.String else table.frame[by])
        known = [text for text in texts if text is not None]
        if len(set(known)) < len(known):
            twice = next(text for text in known if known.count(text) > 1)
            raise InputError(
                f"--by {by} must name a column without repeated entries, got {twice!r} twice in {table.name}; choose a "
                "column that names the rows."
            )
        keys.append(texts)
    places = {text: place for place, text in enumerate(keys[1]) if text is not None}
    pairs = [(i, places[text]) for i, text in enumerate(keys[0]) if text in places]
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    tables = replace(left, frame=left.frame[first]), replace(right, frame=right.frame[second])
    said = f"{len(pairs):,} rows of {left.frame.height:,} and {right.frame.height:,} belong together by {by}."
    if len(pairs) < _FEWEST_ROWS:
        raise InputError(f"{said} {_FEWEST_ROWS} or more are needed; is {by} written alike in both tables?")
    return tables, [said]


def _alike_neighbours(left: Side, right: Side) -> list[str]:
    """A warning if neighbouring rows are alike on both sides: then they are not independent, as tests take them."""
    alike = [_serial_correlation(side.X) for side in (left, right)]
    # By chance the product has a standard deviation of about 1 / n.
    if min(alike) <= 0 or alike[0] * alike[1] < max(_ALIKE, _SURE / len(left.X)):
        return []
    shares = " and ".join(f"{value:.2f}" for value in alike)
    return [
        f"Neighbouring rows are alike on both sides (correlations of {shares}), as in series of time: rows are not "
        "independent, and all figures are too good. Take differences, or rows that are farther apart."
    ]


def _serial_correlation(X: Array) -> float:
    """Mean product of neighbouring rows as a share of their mean square."""
    X = X - X.mean(axis=0)
    return float(np.sum(X[1:] * X[:-1]) / max(float(np.sum(X**2)), np.finfo(float).tiny))


def _copies(left: Side, right: Side) -> list[str]:
    """Warnings of columns that are on both sides: they say nothing about a relation."""
    found = []
    L, R = (side.X - side.X.mean(axis=0) for side in (left, right))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.abs(L.T @ R) / np.linalg.norm(L, axis=0)[:, None] / np.linalg.norm(R, axis=0)
    names = left.schema.features, right.schema.features
    for i, j in np.argwhere(np.nan_to_num(correlations) > _COPY):
        found.append(f"{names[0][i]} and {names[1][j]}")
    if not found:
        return []
    return [f"Columns of both sides are copies of each other: {some_of(found)}. Leave them out with --drop."]
