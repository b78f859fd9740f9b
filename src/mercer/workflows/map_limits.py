"""What a table must have for a map, what a map of it cannot show, and what to be careful with."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.tables.columns import counted
from mercer.tables.errors import InputError
from mercer.tables.labels import twin_of_label
from mercer.tables.reading import Table
from mercer.tables.schema import TableSchema
from mercer.workflows.methods import MapSettings
from mercer.workflows.quality import MapQuality

# Fewest rows of a map.
_FEWEST_ROWS = 5
# With fewer rows none are held out, and nothing is chosen.
_FEW_ROWS = 50
# A larger fraction of missing entries than this is worth a warning.
_MANY_MISSING = 0.2
# Less trustworthiness than this is worth a warning too, and so is this much less continuity than principal components.
_LITTLE_TRUST, _TORN = 0.8, 0.05


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


def cautions_about_table(table: Table, schema: TableSchema, X: Array, label: str | None) -> list[str]:
    """What to be careful with in a table of which X are the rows that are on the map."""
    found = []
    missing = np.isnan(X).mean()
    if missing > _MANY_MISSING:
        found.append(f"{100 * missing:.0f}% of the entries are missing: coordinates of rows are less certain.")
    n_lost = table.frame.height - len(X)
    if n_lost:
        lost = counted(n_lost, "row has no usable entry and is", "rows have no usable entry and are")
        found.append(f"{lost} not on the map.")
    twin = twin_of_label(table, schema, label)
    if twin:
        found.append(
            f"{twin} says the same as the label {label}: the map may show nothing but that. Leave it out with "
            f"--drop {shlex.quote(twin)}."
        )
    if len(X) < _FEW_ROWS:
        found.append(f"{len(X)} rows are few: with fewer than {_FEW_ROWS}, nothing is chosen by held-out rows.")
    return found


def cautions_about_map(quality: MapQuality | None, of_pca: MapQuality | None) -> list[str]:
    """What to be careful with on a map, beside one of principal components; nothing is said of what was not measured.

    Curved maps may tear apart what belongs together: then principal components are worth a look.
    """
    if quality is None:
        return []
    found = []
    if quality.trustworthiness < _LITTLE_TRUST:
        found.append(
            f"Many neighbours on the map are no neighbours in the table: trustworthiness is "
            f"{100 * quality.trustworthiness:.0f}%, and {100 * quality.shared_neighbours:.0f}% of the nearest rows "
            "are the same. Look at more coordinates."
        )
    if quality.hidden_entries > 1.0:
        found.append("The map guesses hidden entries worse than their means do: fill no missing entries with it.")
    if of_pca is not None and of_pca.continuity - quality.continuity > _TORN:
        found.append(
            f"The continuity of the map is {100 * quality.continuity:.0f}%, that of principal components "
            f"{100 * of_pca.continuity:.0f}%: it may have torn groups apart. Compare both with the menu of the map."
        )
    return found
