"""Nearest neighbours: exact by trees or brute force, approximate where both would take too long."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from mercer.kernels.blas import allowed_threads

Array = NDArray[Any]

SEARCHES = ("auto", "tree", "brute", "approximate")
# Trees lose against brute force in more dimensions than this.
_TREE_DIMENSION = 7.0
# With more rows than this brute force takes minutes.
_BRUTE_ROWS = 60_000
_SAMPLE = 1000


class NeighbourSearch:
    """Finds the nearest of some rows.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        The rows.
    method : {"auto", "tree", "brute", "approximate"}
        "auto": a tree where the rows have few intrinsic dimensions (as their distances tell), brute force for up to
        60,000 others, and then approximate search by pynndescent if that is installed.

    Attributes
    ----------
    method : str
        The method in use. "approximate" finds most of the nearest neighbours, not all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import NeighbourSearch
    >>> search = NeighbourSearch(np.array([[0.0], [1.0], [3.0]]))
    >>> search.of_rows(1)[1].ravel(), search.of(np.array([[2.5]]), 1)[1].ravel()
    (array([1, 0, 1]), array([2]))
    """

    def __init__(self, X: Any, method: str = "auto"):
        if method not in SEARCHES:
            raise ValueError(f"neighbors must be one of {SEARCHES}, got {method!r}; 'auto' chooses for you.")
        if method == "approximate" and find_spec("pynndescent") is None:
            raise ImportError("neighbors='approximate' needs pynndescent; install it, or choose 'auto'.")
        if method == "tree" and sparse.issparse(X):
            raise ValueError("neighbors must be 'brute' or 'auto' for sparse rows, got 'tree'; trees need dense rows.")
        self._X = X
        self.method = _chosen(X) if method == "auto" else method
        self._index: Any = None
        if self.method == "tree":
            self._index = cKDTree(X)
        elif self.method == "brute":
            self._index = NearestNeighbors(algorithm="brute").fit(X)

    def of_rows(self, k: int) -> tuple[Array, Array]:
        """Distances to the k nearest other rows, and their positions, each of shape (n, k)."""
        n = self._X.shape[0]
        if self.method == "approximate":
            from pynndescent import NNDescent

            self._index = NNDescent(self._X, n_neighbors=max(k + 1, 15), random_state=0)
            indices, distances = (part[:, : k + 1] for part in self._index.neighbor_graph)
        else:
            distances, indices = self.of(self._X, k + 1)
        # A row is its own neighbour, but equal rows may come before it.
        own = indices == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        shape = (n, k)
        return distances[~own].reshape(shape).astype(np.float64), indices[~own].reshape(shape).astype(np.intp)

    def of(self, X: Any, k: int) -> tuple[Array, Array]:
        """Distances of new rows to the k nearest rows, and the positions of these."""
        if self.method == "tree":
            distances, indices = self._index.query(X, k, workers=allowed_threads())
            return distances.reshape(len(X), k), indices.reshape(len(X), k)
        if self.method == "approximate":
            indices, distances = self._index.query(X, k=k)
            return distances.astype(np.float64), indices.astype(np.intp)
        found: tuple[Array, Array] = self._index.kneighbors(X, k)
        return found

    def within(self, X: Any, radius: float) -> sparse.csr_array:
        """1 for all rows within a radius of each row of X, an array of shape (len(X), n)."""
        search = self._index if self.method == "brute" else NearestNeighbors(n_jobs=-1).fit(self._X)
        return sparse.csr_array(search.radius_neighbors_graph(X, radius, mode="connectivity"))


def _chosen(X: Any) -> str:
    n = X.shape[0]
    if sparse.issparse(X) or n <= _SAMPLE:
        return "brute"
    if _intrinsic_dimension(X) <= _TREE_DIMENSION:
        return "tree"
    return "approximate" if n > _BRUTE_ROWS and find_spec("pynndescent") else "brute"


def _intrinsic_dimension(X: Array) -> float:
    """From the growth of the number of neighbours with the distance, in a sample."""
    rng = np.random.default_rng(0)
    sample = X[rng.choice(len(X), _SAMPLE, replace=False)]
    nearest = np.sort(pairwise_distances(sample[:200], sample), axis=1)[:, [10, 100]]
    nearest = nearest[nearest[:, 0] > 0]
    if not len(nearest):
        return 0.0
    return float(np.log(10.0) / max(np.median(np.log(nearest[:, 1] / nearest[:, 0])), 1e-6))
