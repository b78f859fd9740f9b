"""A fitted map as it is stored: it takes rows to coordinates and back, fills what is missing, and knows what is far."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.tables.schema import TableSchema
from mercer.workflows.seen_rows import SeenRows

# Rounds of filling missing entries with the reconstruction of the row, for maps that do not take missing entries.
_ROUNDS = 15


@dataclass(frozen=True)
class MapModel:
    """A map of a table.

    Attributes
    ----------
    estimator : estimator
        Has `transform` and `inverse_transform`.
    schema : TableSchema
        Of the tables that it takes.
    method : str
        A name of `METHODS`.
    takes_missing : bool
        Whether the estimator takes missing entries; otherwise they are filled before.
    dim : int
        Number of coordinates.
    far : float
        Distance beyond which rows are far from the map.
    label : str or None
        The column of labels, which new tables may have, too.
    seen : SeenRows or None
        Places of the rows that the map was made from; the first model files did not tell.
    """

    estimator: Any
    schema: TableSchema
    method: str
    takes_missing: bool
    dim: int
    far: float = np.inf
    label: str | None = None
    seen: SeenRows | None = None

    def coordinates(self, X: Array) -> Array:
        """Coordinates of rows of numbers; NaN for rows of which nothing is known."""
        return _where_known(X, self.dim, lambda rows: coordinates_of(self.estimator, rows, self.takes_missing))

    def distances(self, X: Array) -> Array:
        """Distance of each row from its image on the map, per column that is known."""
        return _where_known(X, 1, lambda rows: distances_of(self.estimator, rows, self.takes_missing)[:, None])[:, 0]

    def are_far(self, Z: Array, distances: Array) -> Array:
        """Which rows are far: from their image, or in a place that is far from all that the map has seen.

        So are rows without a place. The place counts too: a plane that has all columns is far from no row.
        """
        far = ~(distances <= self.far)
        placed = np.isfinite(Z).all(axis=1)
        if self.seen is not None and placed.any():
            far[placed] |= self.seen.distances(Z[placed]) > self.seen.far
        return far | ~placed

    def filled(self, X: Array) -> Array:
        """Rows whose missing entries are what the map expects of them."""
        return self.filled_with_deviations(X)[0]

    def filled_with_deviations(self, X: Array) -> tuple[Array, Array | None]:
        """The same, and standard deviations of what was filled; None if the estimator knows none.

        Both are NaN in rows of which nothing is known, and deviations are NaN where nothing was filled.
        """
        known = ~np.isnan(X).all(axis=1)
        filled, deviations = X.copy(), np.full_like(X, np.nan)
        if not known.any():
            return filled, None
        filled[known], found = filled_of(self.estimator, X[known], self.takes_missing)
        if found is None:
            return filled, None
        deviations[known] = found
        return filled, np.where(np.isnan(X), deviations, np.nan)

    def rows(self, Z: Array) -> Array:
        """Rows of numbers for coordinates."""
        return np.asarray(self.estimator.inverse_transform(Z), dtype=np.float64)


def _where_known(X: Array, n_columns: int, function: Callable[[Array], Array]) -> Array:
    """Values of a function of rows, NaN for rows of which nothing is known."""
    known = ~np.isnan(X).all(axis=1)
    values = np.full((len(X), n_columns), np.nan)
    if known.any():
        values[known] = function(X[known])
    return values


def coordinates_of(estimator: Any, X: Array, takes_missing: bool) -> Array:
    """Coordinates of rows that may have missing entries."""
    return _transformed(estimator, X if takes_missing else _completed(estimator, X))


def images_of(estimator: Any, X: Array, takes_missing: bool) -> Array:
    """What the map makes of each row: there and back."""
    return _back(estimator, coordinates_of(estimator, X, takes_missing))


def filled_of(estimator: Any, X: Array, takes_missing: bool) -> tuple[Array, Array | None]:
    """Rows whose missing entries are filled, and the standard deviations of these or None.

    By `impute` where an estimator has it, since what is expected of an entry has a smaller error than the image of the
    row, and else by that image.
    """
    impute = getattr(estimator, "impute", None)
    if impute is None:
        return np.where(np.isnan(X), images_of(estimator, X, takes_missing), X), None
    if "return_std" in inspect.signature(impute).parameters:
        filled, deviations = impute(X, return_std=True)
        return np.asarray(filled, dtype=np.float64), np.asarray(deviations, dtype=np.float64)
    return np.asarray(impute(X), dtype=np.float64), None


def distances_of(estimator: Any, X: Array, takes_missing: bool) -> Array:
    """Root mean square of what the map loses of each row, over its known entries."""
    return np.sqrt(np.nanmean((X - images_of(estimator, X, takes_missing)) ** 2, axis=1))


def _completed(estimator: Any, X: Array) -> Array:
    """Rows whose missing entries agree with their images: begin with means, which are 0, and go there and back."""
    missing = np.isnan(X)
    rows = np.where(missing, 0.0, X)
    some = missing.any(axis=1)
    for _ in range(_ROUNDS if some.any() else 0):
        images = _back(estimator, _transformed(estimator, rows[some]))
        rows[some] = np.where(missing[some], images, rows[some])
    return rows


def _transformed(estimator: Any, X: Array) -> Array:
    with warnings.catch_warnings():
        # Rows that a graph does not reach are NaN; the report counts them.
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(estimator.transform(X), dtype=np.float64)


def _back(estimator: Any, Z: Array) -> Array:
    known = np.isfinite(Z).all(axis=1)
    X = np.zeros((len(Z), estimator.n_features_in_))
    if known.any():
        X[known] = estimator.inverse_transform(Z[known])
    return X
