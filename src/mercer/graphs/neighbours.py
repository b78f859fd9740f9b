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
# Rows that tell the dimension; for as few as these trees are fast in any dimension.
_SAMPLE = 1000
# Squares of lengths outside of this are beyond the range of numbers, or close to it.
_SAFE_LENGTHS = (1e-100, 1e100)
# New rows that are farther away, in units of the others, have no squared distance.
_FARTHEST = 1e150
# Distances by products have errors, by which rows that are almost equal change places: so many more are measured.
_SPARE = 5
# Numbers in the differences of pairs of rows that are looked at together.
_CHUNK = 2**21


class NeighbourSearch:
    """Finds the nearest of some rows.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        The rows.
    method : {"auto", "tree", "brute", "approximate"}
        "auto": a tree where the rows are few or have few intrinsic dimensions (as their distances tell), brute force
        for up to 60,000 others, and then approximate search by pynndescent if that is installed.

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
        self._unit, self._origin = _unit_of(X)
        self._X = self._inside(X)
        self.method = _chosen(self._X, _exact) if method == "auto" else method
        if self.method == "approximate" and X.shape[0] <= _SAMPLE:
            self.method = "brute" if sparse.issparse(X) else "tree"
        self._index: Any = None
        # Products of rows far from the origin have no digits left for their distances.
        self._centre = 0.0 if sparse.issparse(X) or self.method == "tree" else self._X.mean(axis=0)
        if self.method == "tree":
            self._index = cKDTree(self._X)
        elif self.method == "brute":
            self._index = NearestNeighbors(algorithm="brute").fit(self._centred(self._X))

    def of_rows(self, k: int) -> tuple[Array, Array]:
        """Distances to the k nearest other rows, and their positions, each of shape (n, k)."""
        n = self._X.shape[0]
        self._check_count(k, n - 1)
        distances, indices = self._of(self._X, k + 1)
        # A row is its own neighbour, but equal rows may come before it.
        own = indices == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        return distances[~own].reshape(n, k) * self._unit, indices[~own].reshape(n, k)

    def of(self, X: Any, k: int) -> tuple[Array, Array]:
        """Distances of new rows to the k nearest rows, and the positions of these."""
        self._check_count(k, self._X.shape[0])
        distances, indices = self._of(self._inside(X), k)
        return distances * self._unit, indices

    def equal_to(self, X: Any) -> Array:
        """The position of a row that is equal to each new row, or -1."""
        distances, indices = self.of(X, 1)
        return np.where(distances[:, 0] == 0, indices[:, 0], -1)

    def within(self, X: Any, radius: float) -> sparse.csr_array:
        """1 for all rows within a radius of each row of X, an array of shape (len(X), n)."""
        X, radius = self._inside(X), radius / self._unit
        if sparse.issparse(X):
            # Distances by products have errors: look a little farther, and measure what is found.
            reach = np.sqrt(radius**2 + 1e-12 * (_largest_square(X) + _largest_square(self._X)))
            brute = NearestNeighbors(algorithm="brute").fit(self._X)
            found = sparse.csr_array(brute.radius_neighbors_graph(X, reach))
            rows, columns = np.repeat(np.arange(X.shape[0]), np.diff(found.indptr)), found.indices
            distances = _lengths(X, rows, self._X, columns)
        else:
            tree = self._index if self.method == "tree" else cKDTree(self._X)
            pairs = cKDTree(X).sparse_distance_matrix(tree, radius * (1 + 1e-12), output_type="ndarray")
            rows, columns, distances = pairs["i"], pairs["j"], pairs["v"]
        near = distances <= radius
        entries = (np.ones(np.count_nonzero(near)), (rows[near], columns[near]))
        return sparse.csr_array(entries, shape=(X.shape[0], self._X.shape[0]))

    def _of(self, X: Any, k: int) -> tuple[Array, Array]:
        if self.method == "tree":
            distances, indices = self._index.query(X, k, workers=allowed_threads())
            return distances.reshape(len(X), k), indices.reshape(len(X), k)
        indices = self._approximate(X, k) if self.method == "approximate" else self._brute(X, k)
        rows = np.repeat(np.arange(X.shape[0]), indices.shape[1])
        distances = _lengths(X, rows, self._X, indices.ravel()).reshape(indices.shape)
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)

    def _brute(self, X: Any, k: int) -> Array:
        more = min(k + _SPARE, self._X.shape[0])
        return np.asarray(self._index.kneighbors(self._centred(X), more, return_distance=False))

    def _approximate(self, X: Any, k: int) -> Array:
        if self._index is None or self._index.n_neighbors < k:
            from pynndescent import NNDescent

            rows = self._centred(self._X)
            self._index = NNDescent(rows, n_neighbors=max(k, 15), random_state=0, n_jobs=allowed_threads())
        if X is self._X:
            indices = self._index.neighbor_graph[0][:, :k].astype(np.intp)
        else:
            indices = self._index.query(self._centred(X), k=k)[0].astype(np.intp)
        missed = np.flatnonzero((indices < 0).any(axis=1))
        if missed.size:
            exact = NearestNeighbors(algorithm="brute").fit(self._centred(self._X))
            indices[missed] = exact.kneighbors(self._centred(X[missed]), k, return_distance=False)
        return indices

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

    def _centred(self, X: Any) -> Any:
        return X if sparse.issparse(X) else X - self._centre

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


def _lengths(X: Any, rows: Array, Y: Any, columns: Array) -> Array:
    """||x_i - y_j|| of pairs, by differences: exact where products of rows would leave nothing but rounding."""
    step = max(1, _CHUNK // X.shape[1])
    squares = [np.empty(0)]
    for start in range(0, len(rows), step):
        differences = X[rows[start : start + step]] - Y[columns[start : start + step]]
        if sparse.issparse(differences):
            squares.append(np.asarray(differences.multiply(differences).sum(axis=1)).ravel())
        else:
            squares.append(np.einsum("ij,ij->i", differences, differences))
    return np.sqrt(np.concatenate(squares))


def _largest_square(X: Any) -> float:
    return float(X.multiply(X).sum(axis=1).max())


def _chosen(X: Any, exact: bool) -> str:
    n = X.shape[0]
    if sparse.issparse(X):
        return "brute"
    if n <= _SAMPLE or _intrinsic_dimension(X) <= _TREE_DIMENSION:
        return "tree"
    return "approximate" if n > _BRUTE_ROWS and not exact and find_spec("pynndescent") else "brute"


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
