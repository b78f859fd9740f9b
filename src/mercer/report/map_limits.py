"""What a table must have for a map, and what a map of it cannot show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.report.methods import MapSettings
from mercer.tables.errors import InputError
from mercer.tables.schema import TableSchema

Array = NDArray[Any]

# Fewer rows make no map.
_FEWEST_ROWS = 5


def check_rows(X: Array, schema: TableSchema, settings: MapSettings, name: str) -> None:
    """Refuse rows of numbers that make no map, or not the one that is asked for."""
    if len(X) < _FEWEST_ROWS:
        raise InputError(f"{name} must have {_FEWEST_ROWS} rows or more for a map, got {len(X)}; give more rows.")
    if X.shape[1] < 2:
        raise InputError(f"{name} must have two usable columns or more for a map, got {schema.features}; add columns.")
    if isinstance(settings.dim, int) and not 1 <= settings.dim <= min(X.shape[1], len(X) - 1):
        raise InputError(
            f"--dim must be from 1 to {min(X.shape[1], len(X) - 1)} for {len(X)} rows of {X.shape[1]} columns, got "
            f"{settings.dim}; ask for fewer coordinates."
        )
    if not np.any(np.nanmax(X, axis=0) > np.nanmin(X, axis=0)):
        raise InputError(f"{name} must have rows that differ, got {len(X)} equal ones; there is nothing to map.")


def rotation_in_words(estimator: Any, n_columns: int) -> list[str]:
    """What a manifold was fitted to, if not to all columns."""
    n_rotated = getattr(estimator, "n_rotated_", n_columns)
    if n_rotated >= n_columns:
        return []
    left_out = 100 * estimator.rotation_error_
    return [
        f"The principal manifold was fitted to the {n_rotated} leading principal components of {n_columns} columns of "
        f"numbers; the others have {left_out:.2g}% of the variance, which the map cannot show."
    ]
