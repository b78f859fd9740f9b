"""Who is similar to whom: weights between rows, and between new rows and these."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.graphs.bandwidth import auto_width, root_mean_square
from mercer.graphs.neighbours import SEARCHES, NeighbourSearch
from mercer.graphs.searches import index_type, stored_like
from mercer.kernels import Kernel
from mercer.parameters import check_choice, check_count, check_positive, is_number

SYMMETRIC = ("union", "mutual", "weighted")
# The neighbour whose distance is the local unit of length in self-tuning weights.
_LOCAL_NEIGHBOUR = 7
# Sums of weights, and products of these, are far from the end of the range of numbers below this.
_LARGEST_SUM = 1e150
# Exponents that are larger than this all give the weight 0, but still have differences.
_LARGEST_EXPONENT = 1e300


class Affinity(Protocol):
    """Weights of a graph.

    Attributes
    ----------
    about : dict
        What was found on the way, such as the width or how neighbours were searched.
    """

    about: dict[str, Any]

    def fit(self, X: Any) -> Any:
        """The symmetric weights between the rows, a sparse or dense array of shape (n, n)."""

    def between(self, X: Any) -> tuple[Any, Array]:
        """How new rows belong to those of the graph.

        Weights between them, of shape (m, n), up to a factor for each new row; and the row of the graph that each new
        row is equal to, or -1.
        """


class NeighbourAffinity:
    """Weights of the nearest neighbours: 0 and 1, or a Gaussian function of the distance.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours each row has; all other rows if there are fewer of them.
    width : None, float, "auto" or "local"
        None: all weights are 1. A number h: exp(-r² / (2 h²)). "auto": the width of `auto_width`, but no less than the
        root mean square distance of the rows to their last neighbour. "local": exp(-r² / (s_i s_j)), s_i being the
        distance of row i to its seventh neighbour [ZelnikManor2004]_.
    symmetric : {"union", "mutual", "weighted"}
        What if i is a neighbour of j, but not the other way round: the weight counts, does not, or counts half.
    neighbors : str
        See `NeighbourSearch`.
    owner : str
        Whose parameters these are, for messages.

    Notes
    -----
    The maximum of `auto_width` is where most pairs are. Where the density varies, and the more so the more dimensions
    there are, these are the pairs of the densest rows: all other edges would vanish, and rows apart from the others
    would be cut off. The bound on "auto" keeps the mean exponent r² / (2 h²) of the last neighbours at 1/2 or less;
    ``benchmarks/graphs.py --widths`` compares its clusters with those of None and "local".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import NeighbourAffinity
    >>> NeighbourAffinity(1, width=None).fit(np.array([[0.0], [1.0], [3.0]])).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        width: Any = None,
        symmetric: str = "union",
        neighbors: str = "auto",
        *,
        owner: str = "NeighbourAffinity",
    ):
        self._n_neighbors = check_count(n_neighbors, "n_neighbors", owner)
        known = width is None or (isinstance(width, str) and width in ("auto", "local"))
        if not known and not (is_number(width) and width > 0):
            raise ValueError(
                f"width of {owner} must be None, 'auto', 'local' or a number > 0, got {width!r}; None gives equal "
                "weights to all neighbours."
            )
        check_choice(symmetric, SYMMETRIC, "symmetric", owner)
        check_choice(neighbors, SEARCHES, "neighbors", owner)
        self._width, self._symmetric, self._neighbors, self._owner = width, symmetric, neighbors, owner
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> sparse.csr_array:
        """The graph."""
        n = X.shape[0]
        if self._neighbors == "tree" and sparse.issparse(X):
            raise ValueError(
                f"neighbors of {self._owner} must be 'auto' or 'brute' for sparse rows, got 'tree'; a tree needs dense."
            )
        self._n, self._k = n, min(self._n_neighbors, n - 1)
        self._local: Array | None = None
        self._search = NeighbourSearch(X, self._neighbors)
        k = max(self._k, min(_LOCAL_NEIGHBOUR, n - 1)) if self._width == "local" else self._k
        distances, indices = self._search.of_rows(k)
        self.about = {"neighbor_method": self._search.method, "n_neighbors": self._k}
        if self._width == "auto":
            fastest, self.about["width_curve"] = auto_width(X)
            self.about["width"] = max(fastest, root_mean_square(distances[:, -1]))
        elif self._width == "local":
            self._local = self._lengths(distances)
        indices = indices[:, : self._k]
        exponents = self._exponents(distances[:, : self._k], indices, self._local)
        return symmetrised(rows_of(np.exp(-exponents), indices, n), self._symmetric)

    def between(self, X: Any) -> tuple[sparse.csr_array, Array]:
        """Weights of new rows to their nearest neighbours, the nearest of which has the weight 1; and equal rows."""
        k = max(self._k, min(_LOCAL_NEIGHBOUR, self._n)) if self._width == "local" else self._k
        distances, indices = self._search.of(X, k)
        local = self._lengths(distances) if self._width == "local" else None
        indices = indices[:, : self._k]
        exponents = self._exponents(distances[:, : self._k], indices, local)
        # Rows far from all others would have no weights above rounding; only their ratios matter.
        weights = np.exp(exponents.min(axis=1, keepdims=True) - exponents)
        return rows_of(weights, indices, self._n), equal_rows(distances, indices)

    def link_weights(self, distances: Array) -> Array:
        """What the weights of rows at these distances would be, where that does not depend on the rows; else 0."""
        width = self.about.get("width", self._width)
        if not is_number(width):
            return np.zeros_like(distances)
        return np.exp(-_half_square(distances, width))

    def _lengths(self, distances: Array) -> Array:
        """Local units of length; where so many rows are the same the smallest other one of the graph stands in."""
        lengths = distances[:, min(_LOCAL_NEIGHBOUR, distances.shape[1]) - 1]
        others = lengths[lengths > 0] if self._local is None else self._local
        return np.where(lengths > 0, lengths, others.min() if others.size else 1.0)

    def _exponents(self, distances: Array, indices: Array, local: Array | None) -> Array:
        if self._width is None:
            return np.zeros_like(distances)
        if local is None or self._local is None:
            return _half_square(distances, self.about.get("width", self._width))
        with np.errstate(over="ignore"):
            ratios = (distances / local[:, None]) * (distances / self._local[indices])
        return np.minimum(ratios, _LARGEST_EXPONENT)


class RadiusAffinity:
    """Weight 1 between all rows that are within a radius of each other, as each row is of itself; the search is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import RadiusAffinity
    >>> RadiusAffinity(1.5).fit(np.array([[0.0], [1.0], [3.0]])).toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(self, radius: float, *, owner: str = "RadiusAffinity"):
        self._radius, self._owner = check_positive(radius, "radius", owner, "give a distance"), owner
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> sparse.csr_array:
        """The graph."""
        self._search = NeighbourSearch(X, "brute" if sparse.issparse(X) else "tree")
        self.about = {"neighbor_method": self._search.method}
        n = X.shape[0]
        # Twice the distance of one row to the others bounds all: no graph of all pairs is made in vain.
        farthest = float(self._search.of(X[:1], n)[0].max())
        W = None if n > 2 and self._radius >= 2 * farthest else self._search.within(X, self._radius)
        if W is None or (n > 2 and W.nnz == n * n):
            raise ValueError(
                f"radius of {self._owner} must leave some rows apart, got {self._radius}, within which all rows are "
                "neighbours; reduce it."
            )
        if W.nnz == n:
            raise ValueError(
                f"radius of {self._owner} must reach from some rows to others, got {self._radius}, within which no row "
                "has a neighbour; enlarge it."
            )
        return W

    def between(self, X: Any) -> tuple[sparse.csr_array, Array]:
        """1 for all rows within the radius; and equal rows."""
        return self._search.within(X, self._radius), equal_rows(*self._search.of(X, 1))


class KernelAffinity:
    """Weights k(x, y) between all rows, by a kernel without negative values. Memory n² numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import KernelAffinity
    >>> from mercer.kernels import Gaussian
    >>> KernelAffinity(Gaussian(1.0)).fit(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    def __init__(self, kernel: Kernel, *, owner: str = "KernelAffinity"):
        if kernel.pairwise or not kernel.takes_vectors:
            raise ValueError(
                f"affinity of {owner} must be a Kernel on vectors, got {kernel!r}; give the matrix of its values with "
                "affinity='precomputed'."
            )
        self._kernel, self._owner = kernel, owner
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> Array:
        """The weights."""
        W = np.asarray(self._kernel(X), dtype=np.float64)
        check_weights(W, f"affinity of {self._owner}", "choose a kernel without negative values")
        self._X, self._search = X, NeighbourSearch(X)
        return W

    def between(self, X: Any) -> tuple[Array, Array]:
        """Values of the kernel; and equal rows."""
        W = np.asarray(self._kernel(stored_like(X, self._X), self._X), dtype=np.float64)
        check_weights(W, f"affinity of {self._owner}", "choose a kernel without negative values")
        return W, equal_rows(*self._search.of(X, 1))


class PrecomputedAffinity:
    """Weights that are given.

    Examples
    --------
    >>> from mercer.graphs import PrecomputedAffinity
    >>> import numpy as np
    >>> PrecomputedAffinity().fit(np.array([[0.0, 2.0], [2.0, 0.0]]))
    array([[0., 2.],
           [2., 0.]])
    """

    def __init__(self, *, owner: str = "PrecomputedAffinity") -> None:
        self._owner = owner
        self.about: dict[str, Any] = {}

    def fit(self, X: Any) -> Any:
        """The weights, if they are weights of a graph."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X of {self._owner} must be a square matrix of weights, got shape {X.shape}; give one row and one "
                "column for each vertex."
            )
        W = self._weights(X)
        if abs(W - W.T).max() > 1e-10 * abs(W).max():
            raise ValueError(
                f"X of {self._owner} must be a symmetric matrix of weights, got one that is not; average it with its "
                "transpose."
            )
        return W

    def between(self, X: Any) -> tuple[Any, Array]:
        """The weights of new rows to those of the graph; nothing is known of equal ones."""
        return self._weights(X), np.full(X.shape[0], -1)

    def _weights(self, X: Any) -> Any:
        W: Any = (
            sparse.csr_array(X, dtype=np.float64, copy=True) if sparse.issparse(X) else np.array(X, dtype=np.float64)
        )
        # In words that scikit-learn wants to hear.
        check_weights(W, f"X of {self._owner}", "Negative values in data are no weights of a graph")
        if sparse.issparse(W):
            W.eliminate_zeros()  # no edges
        return W


def equal_rows(distances: Array, indices: Array) -> Array:
    """The nearest row if it is at no distance, else -1."""
    return np.where(distances[:, 0] == 0, indices[:, 0], -1)


def symmetrised(A: sparse.csr_array, how: str) -> sparse.csr_array:
    """Weights that are the same in both directions."""
    if how == "weighted":
        return sparse.csr_array(0.5 * (A + A.T))
    return sparse.csr_array(A.maximum(A.T) if how == "union" else A.minimum(A.T))


def check_weights(W: Any, what: str, remedy: str) -> None:
    """Refuse weights that are negative or no numbers, or whose sums are none."""
    values = W.data if sparse.issparse(W) else W
    bad = values[~((values >= 0) & (values < np.inf))]
    if bad.size:
        raise ValueError(f"{what} must have finite weights >= 0, got {float(bad[0]):.3g}; {remedy}.")
    largest = float(values.max(initial=0.0))
    if largest > _LARGEST_SUM / max(values.size, 1):
        raise ValueError(
            f"{what} must have weights whose sums have squares, got {largest:.3g}; divide them by the largest."
        )


def rows_of(weights: Array, indices: Array, n: int) -> sparse.csr_array:
    """Weights of some of n columns in each row; weights that are 0 are left out, being no edges."""
    m, k = indices.shape
    index = index_type(max(n, m * k))
    starts = np.arange(0, m * k + 1, k, dtype=index)
    A = sparse.csr_array((weights.ravel(), indices.ravel().astype(index), starts), shape=(m, n))
    A.eliminate_zeros()
    return A


def _half_square(distances: Array, width: float) -> Array:
    with np.errstate(over="ignore"):
        return np.minimum(0.5 * (distances / width) ** 2, _LARGEST_EXPONENT)
