"""Connected parts of a graph, and the shortest links between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mercer.graphs.neighbours import NeighbourSearch

Array = NDArray[Any]

DISCONNECTED = ("connect", "largest", "each")


def parts_of(W: Any) -> Array:
    """The number of the connected part that each vertex belongs to; the largest part is number 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import parts_of
    >>> W = np.zeros((4, 4))
    >>> W[1, 2] = W[2, 1] = W[2, 3] = W[3, 2] = 1.0
    >>> parts_of(W)
    array([1, 0, 0, 0])
    """
    labels = connected_components(sparse.csr_array(W) if not sparse.issparse(W) else W, directed=False)[1]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[labels]


def shortest_links(X: Any, part: Array) -> tuple[Array, Array, Array]:
    """Pairs of rows, and their distances, that join all parts: the shortest link that leaves each part, and again.

    This is Borůvka's algorithm for the shortest tree that joins the parts.
    """
    search = NeighbourSearch(X)
    part = part.copy()
    rows: list[int] = []
    columns: list[int] = []
    lengths: list[float] = []
    while part.max() > 0:
        for label in range(1, int(part.max()) + 1):
            members = np.flatnonzero(part == label)
            if not members.size:
                continue
            i, j, r = _nearest_outside(search, X, part, members)
            rows.append(i)
            columns.append(j)
            lengths.append(r)
            part[part == label] = part[j]
        part = np.unique(part, return_inverse=True)[1].ravel()
    return np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp), np.array(lengths)


def connected(W: Any, X: Any, part: Array, weight_of: Callable[[Array], Array]) -> sparse.csr_array:
    """The graph with the shortest links between its parts added; links weigh no less than its weakest edge."""
    i, j, r = shortest_links(X, part)
    W = sparse.csr_array(W)
    weights = np.maximum(weight_of(r), W.data[W.data > 0].min())
    links = sparse.csr_array((weights, (i, j)), shape=W.shape)
    return sparse.csr_array(W + links + links.T)


def _nearest_outside(search: NeighbourSearch, X: Any, part: Array, members: Array) -> tuple[int, int, float]:
    """The shortest link from a part to a row outside of it."""
    n = X.shape[0]
    k = min(n, 2)
    while True:
        distances, indices = search.of(X[members], k)
        distances = np.where(part[indices] == part[members[0]], np.inf, distances)
        i, j = np.unravel_index(int(np.argmin(distances)), distances.shape)
        # Rows whose neighbours are all inside may have a closer one outside than the farthest looked at.
        if np.isfinite(distances[i, j]) and (
            k == n or _is_settled(distances, search, X[members], k, float(distances[i, j]))
        ):
            return int(members[i]), int(indices[i, j]), float(distances[i, j])
        k = min(n, 4 * k)


def _is_settled(outside: Array, search: NeighbourSearch, rows: Any, k: int, best: float) -> bool:
    """Whether no row can have a neighbour outside that is closer than the best: they were all looked at that far."""
    reached = search.of(rows, k)[0][:, -1]
    return bool(np.all((reached >= best) | np.isfinite(outside).any(axis=1)))
