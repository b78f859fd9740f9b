"""Who is similar to whom: weights between rows, and between new rows and these."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer.graphs.bandwidth import auto_width
from mercer.graphs.neighbours import NeighbourSearch
from mercer.kernels import Kernel

Array = NDArray[Any]

SYMMETRIC = ("union", "mutual", "weighted")
# The neighbour whose distance is the local unit of length in self-tuning weights.
_LOCAL_NEIGHBOUR = 7


class Affinity(Protocol):
    """Weights of a graph.

    Attributes
    ----------
    consistent : bool
        Whether the weights of a training row as a new one are those that it has in the graph.
    about : dict
        What was found on the way, such as the width or how neighbours were searched.
    """

    consistent: bool
    about: dict[str, Any]

    def fit(self, X: Any) -> Any:
        """The symmetric weights between the rows, a sparse or dense array of shape (n, n)."""

    def between(self, X: Any) -> Any:
        """Weights between new rows and those of the graph, of shape (m, n)."""


class NeighbourAffinity:
    """Weights of the nearest neighbours: 0 and 1, or a Gaussian function of the distance.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours each row has.
    width : None, float, "auto" or "local"
        None: all weights are 1. A number h: exp(-r² / (2 h²)); "auto": see `auto_width`. "local": exp(-r² / (s_i s_j)),
        s_i being the distance of row i to its seventh neighbour [ZelnikManor2004]_.
    symmetric : {"union", "mutual", "weighted"}
        What if i is a neighbour of j, but not the other way round: the weight counts, does not, or counts half.
    neighbors : str
        See `NeighbourSearch`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import NeighbourAffinity
    >>> NeighbourAffinity(1, width=None).fit(np.array([[0.0], [1.0], [3.0]])).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    consistent = False

    def __init__(self, n_neighbors: int = 10, width: Any = None, symmetric: str = "union", neighbors: str = "auto"):
        if symmetric not in SYMMETRIC:
            raise ValueError(f"symmetric must be one of {SYMMETRIC}, got {symmetric!r}; choose one of them.")
        self._k, self._width, self._symmetric, self._neighbors = n_neighbors, width, symmetric, neighbors
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> sparse.csr_array:
        """The graph."""
        n = X.shape[0]
        if self._k >= n:
            raise ValueError(
                f"n_neighbors must be less than the number of rows, {n}, got {self._k}; lower it or give more rows."
            )
        self._search = NeighbourSearch(X, self._neighbors)
        k = max(self._k, min(_LOCAL_NEIGHBOUR, n - 1)) if self._width == "local" else self._k
        distances, indices = self._search.of_rows(k)
        self.about = {"neighbor_method": self._search.method}
        if self._width == "auto":
            self.about["width"], self.about["width_curve"] = auto_width(X)
        elif self._width == "local":
            self._local = _positive(distances[:, min(_LOCAL_NEIGHBOUR, k) - 1])
        weights = self._weights(distances[:, : self._k], indices[:, : self._k], getattr(self, "_local", None))
        return symmetrised(_rows_of(weights, indices[:, : self._k], n), self._symmetric)

    def between(self, X: Any) -> sparse.csr_array:
        """Weights of new rows to their nearest neighbours."""
        n = self._search._X.shape[0]
        k = max(self._k, min(_LOCAL_NEIGHBOUR, n)) if self._width == "local" else self._k
        distances, indices = self._search.of(X, k)
        local = _positive(distances[:, min(_LOCAL_NEIGHBOUR, k) - 1]) if self._width == "local" else None
        weights = self._weights(distances[:, : self._k], indices[:, : self._k], local)
        return _rows_of(weights, indices[:, : self._k], n)

    def same_as(self, X: Any) -> Array:
        """The row that each new row is equal to, or -1."""
        distances, indices = self._search.of(X, 1)
        return np.where(distances[:, 0] == 0, indices[:, 0], -1)

    def _weights(self, distances: Array, indices: Array, local: Array | None) -> Array:
        if self._width is None:
            return np.ones_like(distances)
        if local is not None:
            return np.exp(-(distances**2) / (local[:, None] * self._local[indices]))
        width = self.about.get("width", self._width)
        return np.exp(-0.5 * (distances / width) ** 2)


class RadiusAffinity:
    """Weight 1 between all rows that are within a radius of each other, as each row is of itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import RadiusAffinity
    >>> RadiusAffinity(1.5).fit(np.array([[0.0], [1.0], [3.0]])).toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    consistent = True

    def __init__(self, radius: float, neighbors: str = "auto"):
        self._radius, self._neighbors = float(radius), neighbors
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> sparse.csr_array:
        """The graph."""
        self._search = NeighbourSearch(X, self._neighbors)
        W = self._search.within(X, self._radius)
        n, n_alone = X.shape[0], int(np.sum(np.diff(W.indptr) == 1))
        if n_alone == n:
            raise ValueError(
                f"radius must reach from some rows to others, got {self._radius}, within which no row has a neighbour; "
                "enlarge it."
            )
        if W.nnz == n * n and n > 2:
            raise ValueError(
                f"radius must leave some rows apart, got {self._radius}, within which all rows are neighbours; reduce "
                "it."
            )
        return W

    def between(self, X: Any) -> sparse.csr_array:
        """1 for all rows within the radius."""
        return self._search.within(X, self._radius)


class KernelAffinity:
    """Weights k(x, y) between all rows, by a kernel without negative values. Memory n² numbers."""

    consistent = True

    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> Array:
        """The weights."""
        self._X = X
        W = self._kernel(X)
        check_weights(W, f"affinity {self._kernel!r}")
        return np.asarray(W, dtype=np.float64)

    def between(self, X: Any) -> Array:
        """Values of the kernel."""
        return np.asarray(self._kernel(X, self._X), dtype=np.float64)


class PrecomputedAffinity:
    """Weights that are given."""

    consistent = True

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> Any:
        """The weights, if they are weights of a graph."""
        n, m = X.shape
        if n != m:
            raise ValueError(
                f"A precomputed affinity must be square, got shape {(n, m)}; give one row and column each."
            )
        W = sparse.csr_array(X).astype(np.float64) if sparse.issparse(X) else np.array(X, dtype=np.float64)
        check_weights(W, "a precomputed affinity")
        scale = float(abs(W).max())
        if abs(W - W.T).max() > 1e-10 * scale:
            raise ValueError(
                "A precomputed affinity must be symmetric, got one that is not; average it with its transpose."
            )
        return W

    def between(self, X: Any) -> Any:
        """The weights of new rows to those of the graph."""
        W = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        check_weights(W, "a precomputed affinity")
        return W


def symmetrised(A: sparse.csr_array, how: str) -> sparse.csr_array:
    """Weights that are the same in both directions."""
    if how == "weighted":
        return sparse.csr_array(0.5 * (A + A.T))
    return sparse.csr_array(A.maximum(A.T) if how == "union" else A.minimum(A.T))


def check_weights(W: Any, owner: str) -> None:
    """Refuse weights that are negative or no numbers."""
    values = W.data if sparse.issparse(W) else W
    smallest = float(values.min()) if values.size else 0.0
    if not np.isfinite(values).all() or smallest < 0:
        raise ValueError(
            f"{owner[0].upper() + owner[1:]} must have finite weights >= 0, got {smallest:.3g}; choose another one."
        )


def _rows_of(weights: Array, indices: Array, n: int) -> sparse.csr_array:
    m, k = indices.shape
    return sparse.csr_array((weights.ravel(), indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))


def _positive(lengths: Array) -> Array:
    """Local lengths; where seven rows are the same the smallest other one stands in."""
    some = lengths[lengths > 0]
    return np.where(lengths > 0, lengths, some.min() if some.size else 1.0)
