"""Lengths that data suggest for a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.kernels.distances import distance_sides, squared_distance_tile
from mercer.kernels.tiles import take

_N_ROWS = 1000


def median_distance(X: Any) -> float:
    """Median distance between the distinct rows of X; of more than 1000 rows a fixed random sample is taken.

    Examples
    --------
    >>> from mercer.kernels import median_distance
    >>> median_distance([[0.0], [1.0], [3.0]])
    2.0
    """
    return float(np.median(_distances(_sample(_rows(X)))))


def widths_for(X: Any, n: int = 20) -> Array:
    """Widths from the data's own distances, growing geometrically.

    They run from half the median distance between nearest neighbours (a narrower kernel only memorises) to twice the
    largest distance (a wider one sees a single point). Distances are taken on at most 1000 rows, drawn with a fixed
    seed, but neighbours are sought among all rows.

    Examples
    --------
    >>> from mercer.kernels import widths_for
    >>> widths_for([[0.0], [1.0], [2.0], [4.0]], n=3)
    array([0.5, 2. , 8. ])
    """
    if n < 1:
        raise ValueError(f"n of widths_for must be a whole number >= 1, got {n!r}; ask for at least one width.")
    X = _rows(X)
    sample = _sample(X)
    largest = 2.0 * _distances(sample).max()
    smallest = 0.5 * _median_neighbour_distance(sample, X)
    return np.geomspace(smallest, largest, n) if n > 1 else np.array([median_distance(X)])


def _rows(X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")


def _sample(X: Any) -> Any:
    n_rows = X.shape[0]
    if n_rows <= _N_ROWS:
        return X
    return X[np.sort(np.random.default_rng(0).choice(n_rows, _N_ROWS, replace=False))]


def _distances(rows: Any) -> Array:
    """Distances between different rows that do not coincide."""
    sides = distance_sides(rows, None, 1.0)
    r2 = squared_distance_tile(sides.left, sides.right, exact_near_zero=True)[np.triu_indices(rows.shape[0], k=1)]
    r2 = r2[r2 > 0]
    if not r2.size:
        raise ValueError(
            "X must have two distinct rows or more to tell a width; give the kernel a width instead of scaling it."
        )
    return np.sqrt(r2)


def _median_neighbour_distance(sample: Any, X: Any) -> float:
    """Median over the sample of the distance to the nearest row of X that does not coincide."""
    sides = distance_sides(sample, X, 1.0)
    nearest = np.full(sides.shape[0], np.inf)
    for start in range(0, sides.shape[1], _N_ROWS):
        right = take(sides.right, slice(start, start + _N_ROWS))
        r2 = squared_distance_tile(sides.left, right, exact_near_zero=True)
        np.minimum(nearest, np.where(r2 > 0, r2, np.inf).min(axis=1), out=nearest)
    return float(np.sqrt(np.median(nearest)))
