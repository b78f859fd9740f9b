"""Nearest neighbours: exact by trees or brute force, approximate where both would take too long."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from mercer.arrays import Array
from mercer.graphs.brute import BruteForce
from mercer.graphs.searches import Approximate, Search, SparseBruteForce, Tree, index_type, lengths, stored_like

SEARCHES = ("auto", "tree", "brute", "approximate")
# Brute force takes about a minute, on two cores, for so many products of numbers.
_BRUTE_PRODUCTS = 3e12
# What a tile of distances costs beside its products, in columns.
_BRUTE_COLUMNS = 11
# Rows that tell the dimension; for as few as these trees are fast in any dimension.
_SAMPLE = 1000
# Squares of lengths outside of this are beyond the range of numbers, or close to it.
_SAFE_LENGTHS = (1e-100, 1e100)
# New rows that are farther away, in units of the others, have no squared distance.
_FARTHEST = 1e150


class NeighbourSearch:
    """Finds the nearest of some rows.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        The rows.
    method : {"auto", "tree", "brute", "approximate"}
        "auto": a tree where the rows are few or have few intrinsic dimensions (as their distances tell), brute force
        where that takes no more than about a minute (300,000 rows of 20 columns, 60,000 of 800), and then approximate
        search by pynndescent if that is installed.

    Attributes
    ----------
    method : str
        The method in use. "approximate" finds most of the nearest neighbours, not all; up to 1000 rows are always
        searched exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import NeighbourSearch
    >>> search = NeighbourSearch(np.array([[0.0], [1.0], [3.0]]))
    >>> search.of_rows(1)[1].ravel(), search.of(np.array([[2.5]]), 1)[1].ravel()
    (array([1, 0, 1]), array([2]))
    """

    def __init__(self, X: Any, method: str = "auto", *, _exact: bool = False):
        if not isinstance(method, str) or method not in SEARCHES:
            raise ValueError(
                f"method of NeighbourSearch must be one of {SEARCHES}, got {method!r}; 'auto' chooses for you."
            )
        if method == "approximate" and find_spec("pynndescent") is None:
            raise ImportError("method='approximate' of NeighbourSearch needs pynndescent; install it, or take 'auto'.")
        if method == "tree" and sparse.issparse(X):
            raise ValueError(
                "method of NeighbourSearch must be 'brute' or 'auto' for sparse rows, got 'tree'; it needs dense ones."
            )
        X = stored_like(X, X)
        self._unit, self._origin = _unit_of(X)
        self._X = self._inside(X)
        self.method = _chosen(self._X, _exact) if method == "auto" else method
        if self.method == "approximate" and X.shape[0] <= _SAMPLE:
            self.method = "brute" if sparse.issparse(X) else "tree"
        self._search: Search
        if self.method == "tree":
            self._search = Tree(self._X)
        elif self.method == "approximate":
            self._search = Approximate(self._X)
        else:
            self._search = SparseBruteForce(self._X) if sparse.issparse(X) else BruteForce(self._X)

    def of_rows(self, k: int) -> tuple[Array, Array]:
        """Distances to the k nearest other rows, and their positions, each of shape (n, k)."""
        n = self._X.shape[0]
        self._check_count(k, n - 1)
        distances, indices = self._search.nearest(self._X, k + 1)
        # A row is its own neighbour, but equal rows may come before it.
        own = indices == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        return distances[~own].reshape(n, k) * self._unit, indices[~own].reshape(n, k)

    def of(self, X: Any, k: int) -> tuple[Array, Array]:
        """Distances of new rows to the k nearest rows, and the positions of these."""
        self._check_count(k, self._X.shape[0])
        distances, indices = self._search.nearest(self._inside(stored_like(X, self._X)), k)
        return distances * self._unit, indices

    def within(self, X: Any, radius: float) -> sparse.csr_array:
        """1 for all rows within a radius of each row of X, an array of shape (len(X), n)."""
        X, radius = self._inside(stored_like(X, self._X)), radius / self._unit
        if sparse.issparse(X):
            # Distances by products have errors: look a little farther, and measure what is found.
            reach = np.sqrt(radius**2 + 1e-12 * (_largest_square(X) + _largest_square(self._X)))
            brute = NearestNeighbors(algorithm="brute").fit(self._X)
            found = sparse.csr_array(brute.radius_neighbors_graph(X, reach))
            rows, columns = np.repeat(np.arange(X.shape[0]), np.diff(found.indptr)), found.indices
            distances = lengths(X, rows, self._X, columns)
        else:
            tree = self._search.tree if isinstance(self._search, Tree) else cKDTree(self._X)
            pairs = cKDTree(X).sparse_distance_matrix(tree, radius * (1 + 1e-12), output_type="ndarray")
            rows, columns, distances = pairs["i"], pairs["j"], pairs["v"]
        near = distances <= radius
        index = index_type(max(X.shape[0], self._X.shape[0], np.count_nonzero(near)))
        entries = (np.ones(np.count_nonzero(near)), (rows[near].astype(index), columns[near].astype(index)))
        return sparse.csr_array(entries, shape=(X.shape[0], self._X.shape[0]))

    def _inside(self, X: Any) -> Any:
        """Rows in a unit that no square of a length is out of range in."""
        if self._unit != 1.0:
            with np.errstate(over="ignore"):
                X = X / self._unit if sparse.issparse(X) else (0.5 * X - 0.5 * self._origin) / (0.5 * self._unit)
        farthest = float(abs(X).max())
        if not farthest < _FARTHEST:
            raise ValueError(
                f"X of NeighbourSearch must be of a size that can be squared beside its rows, got {farthest:.1e} times "
                f"{self._unit:.1e}; check its units."
            )
        return X

    def _check_count(self, k: int, most: int) -> None:
        if not 1 <= k <= most:
            raise ValueError(f"k of NeighbourSearch must be from 1 to {most}, got {k!r}; there are no more rows.")


def _unit_of(X: Any) -> tuple[float, Array | float]:
    """A power of two, and an origin, in which the rows are of moderate size; 1 and 0 if they are so by themselves."""
    if sparse.issparse(X):
        origin, spread = 0.0, float(abs(X).max())
    else:
        origin, spread = X.min(axis=0), float(np.max(0.5 * X.max(axis=0) - 0.5 * X.min(axis=0)))
    if spread == 0 or _SAFE_LENGTHS[0] < spread < _SAFE_LENGTHS[1]:
        return 1.0, 0.0
    return float(2.0 ** min(np.frexp(spread)[1], 1023)), origin


def _largest_square(X: Any) -> float:
    return float(X.multiply(X).sum(axis=1).max())


def _chosen(X: Any, exact: bool) -> str:
    n, d = X.shape
    if sparse.issparse(X):
        return "brute"
    if n <= _SAMPLE or _intrinsic_dimension(X) <= _tree_dimension(n, d):
        return "tree"
    long = n**2 * (d + _BRUTE_COLUMNS) > _BRUTE_PRODUCTS
    return "approximate" if long and not exact and find_spec("pynndescent") else "brute"


def _tree_dimension(n: int, d: int) -> float:
    """The intrinsic dimension above which brute force is faster than a tree.

    As measured for rows on planes and rolled sheets of 2 to 10 dimensions, 3 to 100 columns and 2,000 to 60,000 rows:
    boxes whose sides are columns fit such rows the worse, the more columns there are.
    """
    return float(max(2.3, 6.5 - 2.0 * np.log10(d)) + np.log10(n / 20_000))


def _intrinsic_dimension(X: Array) -> float:
    """From the growth of the number of neighbours with the distance, in a sample."""
    rng = np.random.default_rng(0)
    sample = X[rng.choice(len(X), _SAMPLE, replace=False)]
    sample = sample - sample.mean(axis=0)
    nearest = np.sort(pairwise_distances(sample[:200], sample), axis=1)[:, [10, 100]]
    nearest = nearest[nearest[:, 0] > 0]
    if not len(nearest):
        return 0.0
    return float(np.log(10.0) / max(np.median(np.log(nearest[:, 1] / nearest[:, 0])), 1e-6))
