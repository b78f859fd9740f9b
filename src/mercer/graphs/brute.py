"""Nearest neighbours by all distances: fast in single precision, and again in double where that may be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer.arrays import Array
from mercer.graphs.searches import SPARE, Tree, compiled_rows, measured
from mercer.threads import run_threaded, threads_for

# Rows and columns of a tile of products: half a megabyte, which stays in the cache, and high enough for BLAS.
_HEIGHT, _WIDTH = 256, 512
# Squared distances that differ by less than this, as a share, are equal.
_TIE = 1e-9


class BruteForce:
    """Finds the nearest of some dense rows, which must be of a size that has squares.

    ||x - y||² - ||x||² = ||y||² - 2 xᵀy in single precision gives some more candidates than neighbours are wanted; the
    candidates are measured in double precision. What was not one of them is farther away than the last of them, but for
    an error that has a bound: where the neighbours are within that they are right, else all distances of that row are
    computed again in double precision; and where that is not enough, such as beside a row that is very far from all
    others, by a tree, which takes differences and no products. About 1 ns for each pair of rows with 20 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs.brute import BruteForce
    >>> BruteForce(np.array([[0.0], [1.0], [3.0]])).nearest(np.array([[2.5]]), 2)
    (array([[0.5, 1.5]]), array([[2, 1]]))
    """

    def __init__(self, X: Array):
        from mercer.graphs.neighbours_numba import TOGETHER

        self._X = compiled_rows(X)
        n, d = X.shape
        # Products of rows far from the origin have no digits left for their distances.
        self._centre = X.mean(axis=0)
        rows = self._X - self._centre
        self._radius = float(np.sqrt(_squares(rows).max())) or 1.0
        rows /= self._radius
        # Columns that fill up the last tile are infinitely far away.
        self._columns = np.zeros((d + 1, -(-n // TOGETHER) * TOGETHER), dtype=np.float32)
        self._columns[:d, :n] = rows.T
        self._columns[d] = np.inf
        self._columns[d, :n] = _squares(rows)
        self._in_double: NearestNeighbors | None = None
        self._by_differences: Tree | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The rows, from which all else is found again."""
        return {"_X": self._X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_X"])  # type: ignore[misc]

    def nearest(self, X: Array, k: int) -> tuple[Array, Array]:
        """Distances to the k nearest rows, increasing, and their positions."""
        from mercer.graphs.neighbours_numba import sort_by_distance

        m, n = len(X), len(self._X)
        count = min(k + SPARE, n)
        distances, indices = np.zeros((m, count)), np.zeros((m, count), dtype=np.int64)
        proved = np.zeros(m, dtype=bool)

        def search(block: tuple[slice, slice], product: Array) -> None:
            rows = block[0]
            x = np.array(X[rows], dtype=np.float64, order="C")
            with np.errstate(over="ignore"):  # rows so far away are left to double precision
                beyond = self._candidates(x, product, indices[rows])
                sort_by_distance(x, self._X, indices[rows], distances[rows])
                proved[rows] = (distances[rows, k - 1] / self._radius) ** 2 <= np.maximum(beyond, 0.0)

        blocks = ((slice(i, min(i + _HEIGHT, m)), slice(0, n)) for i in range(0, m, _HEIGHT))
        run_threaded(search, blocks, lambda: np.empty(_HEIGHT * _WIDTH, dtype=np.float32), threads_for(m * n))
        again = np.flatnonzero(~proved)
        if again.size:
            distances[again], indices[again] = self._nearest_in_double(X[again], k, count)
        return distances[:, :k], indices[:, :k]

    def _candidates(self, x: Array, product: Array, indices: Array) -> Array:
        """Fill in the positions of those that seem nearest; returns squared distances that no other is below."""
        from mercer.graphs.neighbours_numba import keep_smallest

        rows, squares, error = self._relative(x, np.float32)
        near, d = error < 1.0, x.shape[1]
        left = np.ones((len(x), d + 1), dtype=np.float32)
        left[:, :d] = np.where(near[:, None], -2.0 * rows, 0.0)
        values = np.full(indices.shape, np.inf, dtype=np.float32)
        for start in range(0, self._columns.shape[1], _WIDTH):
            columns = self._columns[:, start : start + _WIDTH]
            tile = product[: len(x) * columns.shape[1]].reshape(len(x), -1)
            np.matmul(left, columns, out=tile)
            keep_smallest(tile, start, values, indices)
        if indices.shape[1] == len(self._X):
            return np.full(len(x), np.inf)
        return np.where(near, values[:, -1] + squares - error, -np.inf)

    def _nearest_in_double(self, X: Array, k: int, count: int) -> tuple[Array, Array]:
        if self._in_double is None:
            self._in_double = NearestNeighbors(algorithm="brute").fit(self._X - self._centre)
        found = self._in_double.kneighbors(X - self._centre, count, return_distance=False)
        distances, indices = measured(X, self._X, found)
        with np.errstate(over="ignore"):
            last = (distances[:, k - 1] / self._radius) ** 2
            unsure = np.flatnonzero((last > 0) & ~(self._relative(X, np.float64)[2] <= _TIE * last))
        if unsure.size:
            self._by_differences = self._by_differences or Tree(self._X)
            distances[unsure], indices[unsure] = self._by_differences.nearest(X[unsure], count)
        return distances, indices

    def _relative(self, X: Array, precision: Any) -> tuple[Array, Array, Array]:
        """Rows in the unit in which none of the others is longer than 1, their squares, and the error of a distance².

        That is the rounding of d + 1 products and their sum, and of what goes into them.
        """
        rows = (X - self._centre) / self._radius
        squares = _squares(rows)
        return rows, squares, (X.shape[1] + 4) * np.finfo(precision).eps * (np.sqrt(squares) + 1.0) ** 2


def _squares(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
