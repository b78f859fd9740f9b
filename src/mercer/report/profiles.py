"""What places on a map stand for: rows that it makes of places where rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.tables.features import Column
from mercer.workflows.mapping import MapResult

# Places along each coordinate, the fraction of the rows that is near one, and at least how many.
_PLACES, _NEAR, _FEWEST_NEAR = 7, 0.04, 3
# Most rows among which the central one near a place is searched, since the work grows with their square.
_MOST_NEAR = 300
# Columns of the table of a coordinate.
_MOST_LINES = 15
# Colours from low to high: viridis, and ink that can be read on it.
_SHADES = (("#440154", "#fff"), ("#414487", "#fff"), ("#2a788e", "#fff"), ("#22a884", "#111"), ("#7ad151", "#111"),
           ("#fde725", "#111"))  # fmt: skip


def rows_along(Z: Array, c: int, n: int = _PLACES) -> Array:
    """Rows at n places, or fewer, along coordinate c: at even quantiles, and in the middle of the rows near them.

    The middle is the medoid over the other coordinates: the mean of a ring would be in its hole.
    """
    order = np.flatnonzero(np.isfinite(Z).all(axis=1))
    order = order[np.argsort(Z[order, c], kind="stable")]
    others = np.delete(Z, c, axis=1)
    half = min(max(_FEWEST_NEAR, round(_NEAR * len(order))), _MOST_NEAR // 2, (len(order) - 1) // (2 * n))
    found = []
    for place in np.unique(np.round(np.linspace(half, len(order) - 1 - half, n)).astype(int)):
        near = order[place - half : place + half + 1]
        distances = np.abs(others[near, None] - others[None, near]).sum(axis=(1, 2))
        # Among equally central rows the one in the middle of the place is chosen.
        central = np.flatnonzero(distances <= distances.min())
        found.append(near[central[np.argmin(np.abs(central - half))]])
    return np.array(found)


def profiles(result: MapResult) -> list[dict[str, Any]]:
    """For each coordinate, what the map makes of rows along it, in the units of the table."""
    return [_profile(result, c) for c in range(result.embedding.shape[1])]


def _profile(result: MapResult, c: int) -> dict[str, Any]:
    schema = result.model.schema
    Z = result.embedding[rows_along(result.embedding, c)]
    X = result.model.rows(Z)
    groups = schema.groups
    changes = [float(np.ptp(X[:, groups[column.name]], axis=0).sum()) for column in schema.columns]
    # Only those that are shown are written as entries: a table may have thousands of columns.
    shown = np.argsort(-np.array(changes), kind="stable")[:_MOST_LINES]
    return {
        "name": f"coordinate {c + 1}", "places": Z[:, c], "left_out": len(changes) - len(shown),
        "lines": [_line(schema.columns[j], X[:, groups[schema.columns[j].name]]) for j in shown],
    }  # fmt: skip


def _line(column: Column, numbers: Array) -> tuple[str, list[tuple[str, tuple[str, str] | None]]]:
    """The entries of a column and their shades."""
    shades = [None if column.kind == "category" else _shade(value) for value in numbers[:, 0]]
    texts = [_entry(value) for value in column.decoded(numbers)]
    return column.name, list(zip(texts, shades, strict=True))


def _shade(level: float) -> tuple[str, str]:
    """From two deviations below the mean to two above."""
    return _SHADES[int(np.clip((level + 2.0) / 4.0 * len(_SHADES), 0, len(_SHADES) - 1))]


def _entry(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
