"""Ways to find nearest neighbours: a tree, all distances of sparse rows, and approximately; `brute` has dense rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from mercer.arrays import Array
from mercer.threads import allowed_threads

# Distances by products have errors, by which rows that are almost equal change places: so many more are measured.
SPARE = 5
# How far beyond the nearest so far an approximate search of new rows looks, as a fraction of its distance.
_EPSILON = 0.3
# Numbers in the differences of pairs of rows that are examined together.
_CHUNK = 2**21


class Search(Protocol):
    """Rows among which nearest neighbours are sought."""

    def nearest(self, X: Any, k: int) -> tuple[Array, Array]:
        """Distances of new rows to the k nearest rows, increasing, and the positions of these."""


class Tree:
    """Few dimensions: a k-d tree, which is not stored with it but built again."""

    def __init__(self, X: Array):
        self._X, self.tree = X, cKDTree(X)

    def __getstate__(self) -> dict[str, Any]:
        return {"_X": self._X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._X, self.tree = state["_X"], cKDTree(state["_X"])

    def nearest(self, X: Array, k: int) -> tuple[Array, Array]:
        """Distances to the k nearest rows, and their positions."""
        m = len(X)
        # Rows of the tree are asked for in its order: what one needs is still in the cache for the next.
        order = self.tree.indices if X is self._X else slice(None)
        distances, indices = np.empty((m, k)), np.empty((m, k), dtype=np.intp)
        found = self.tree.query(X[order], k, workers=allowed_threads())
        distances[order], indices[order] = (part.reshape(m, k) for part in found)
        return distances, indices


class SparseBruteForce:
    """Sparse rows: all distances, by products."""

    def __init__(self, X: Any):
        self._X, self._index = X, NearestNeighbors(algorithm="brute").fit(X)

    def nearest(self, X: Any, k: int) -> tuple[Array, Array]:
        """Distances to the k nearest rows, and their positions."""
        count = min(k + SPARE, self._X.shape[0])
        distances, indices = measured(X, self._X, self._index.kneighbors(X, count, return_distance=False))
        return distances[:, :k], indices[:, :k]


class Approximate:
    """Many rows in many dimensions: most of the nearest neighbours, by pynndescent, whose index is not stored."""

    def __init__(self, X: Any):
        self._X = X
        self._index: Any = None
        # Products of rows far from the origin have no digits left for their distances.
        self._centre = 0.0 if sparse.issparse(X) else X.mean(axis=0)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_index": None}

    def nearest(self, X: Any, k: int) -> tuple[Array, Array]:
        """Distances to k of the nearest rows, and their positions."""
        if self._index is None or self._index.n_neighbors < k:
            from pynndescent import NNDescent

            options = {"random_state": 0, "n_jobs": allowed_threads(), "parallel_batch_queries": True}
            self._index = NNDescent(self._centred(self._X), n_neighbors=max(k, 15), **options)
        if X is self._X:
            indices = self._index.neighbor_graph[0][:, :k].astype(np.int64)
        else:
            indices = self._index.query(self._centred(X), k=k, epsilon=_EPSILON)[0].astype(np.int64)
        missed = np.flatnonzero((indices < 0).any(axis=1))
        if missed.size:
            exact = NearestNeighbors(algorithm="brute").fit(self._centred(self._X))
            indices[missed] = exact.kneighbors(self._centred(X[missed]), k, return_distance=False)
        return measured(X, self._X, indices)

    def _centred(self, X: Any) -> Any:
        return X if sparse.issparse(X) else X - self._centre


def measured(X: Any, Y: Any, indices: Array) -> tuple[Array, Array]:
    """Distances of each row of X to the rows of Y that its indices name, and the indices, both sorted by them."""
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), indices.shape[1])
        distances = lengths(X, rows, Y, indices.ravel()).reshape(indices.shape)
        order = np.argsort(distances, axis=1, kind="stable")
        return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)
    from mercer.graphs.neighbours_numba import sort_by_distance

    distances, indices = np.empty(indices.shape), np.array(indices, dtype=np.int64)
    sort_by_distance(compiled_rows(X), compiled_rows(Y), indices, distances)
    return distances, indices


def lengths(X: Any, rows: Array, Y: Any, columns: Array) -> Array:
    """||x_i - y_j|| of pairs of sparse rows, by differences: products would leave near ones nothing but rounding."""
    step = max(1, _CHUNK // X.shape[1])
    squares = [np.empty(0)]
    for start in range(0, len(rows), step):
        differences = X[rows[start : start + step]] - Y[columns[start : start + step]]
        squares.append(np.asarray(differences.multiply(differences).sum(axis=1)).ravel())
    return np.sqrt(np.concatenate(squares))


def index_type(largest: int) -> type[np.integer[Any]]:
    """The smallest type of positions in a sparse array: scikit-learn takes no larger ones than it must."""
    return np.int32 if largest < 2**31 else np.int64


def stored_like(X: Any, Y: Any) -> Any:
    """Rows X, dense or sparse as Y is."""
    if sparse.issparse(Y):
        return sparse.csr_array(X)
    return X.toarray() if sparse.issparse(X) else X


def compiled_rows(X: Array) -> Array:
    """The rows as compiled functions take them."""
    return np.require(X, dtype=np.float64, requirements=["C", "W"])
