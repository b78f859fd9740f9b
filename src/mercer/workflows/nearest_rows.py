"""The rows nearest to others."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from mercer.arrays import Array

# Up to this number of columns trees of neighbours are faster than all distances.
_MOST_TREE_COLUMNS = 8


def nearest_rows(rows: Array, X: Array, n: int) -> tuple[Array, Array]:
    """Distances and positions of the n rows that are nearest to each row of X, the nearest first."""
    if X.shape[1] <= _MOST_TREE_COLUMNS:
        distances, positions = cKDTree(rows).query(X, k=list(range(1, n + 1)))
    else:
        distances, positions = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(rows).kneighbors(X)
    return np.asarray(distances), np.asarray(positions)
