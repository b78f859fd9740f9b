"""Connected parts of a graph, and the shortest links between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mercer.arrays import Array
from mercer.graphs.neighbours import NeighbourSearch

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
    W = sparse.csr_array(W)
    if np.any(W.data == 0):  # SciPy takes zeros that are stored for edges
        W = W.copy()
        W.eliminate_zeros()
    labels = connected_components(W, directed=False)[1]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[labels]


def shortest_links(X: Any, part: Array) -> tuple[Array, Array, Array]:
    """Pairs of rows, and their distances, that join all parts: the shortest link that leaves each part, and again.

    This is Borůvka's algorithm for the shortest tree that joins the parts.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import shortest_links
    >>> shortest_links(np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([0, 0, 1, 2]))
    (array([2, 3]), array([1, 2]), array([2., 4.]))
    """
    search = NeighbourSearch(X, _exact=True)
    part = part.copy()
    links: list[tuple[int, int, float]] = []
    while part.max() > 0:
        for label in range(1, int(part.max()) + 1):
            members = np.flatnonzero(part == label)
            links.append(_nearest_outside(search, X, part, members))
            part[members] = part[links[-1][1]]
        part = np.unique(part, return_inverse=True)[1].ravel()
    rows, columns, lengths = zip(*links, strict=True) if links else ((), (), ())
    return np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp), np.array(lengths, dtype=np.float64)


def connected(W: Any, X: Any, part: Array, weight_of: Callable[[Array], Array]) -> sparse.csr_array:
    """The graph with the shortest links between its parts added.

    The shortest of them weighs no less than the weakest edge, so that the parts are joined in more than name, and links
    r times as long no less than 1 / r² of that, so that parts that are near are joined more than those that are far.
    """
    i, j, r = shortest_links(X, part)
    W = sparse.csr_array(W)
    weakest = W.data[W.data > 0].min(initial=np.inf)
    shortest = r[r > 0].min(initial=np.inf)
    relative = np.divide(shortest, r, out=np.ones_like(r), where=r > 0)
    weights = np.maximum(weight_of(r), (weakest if np.isfinite(weakest) else 1.0) * relative**2)
    index = W.indices.dtype
    links = sparse.csr_array((weights, (i.astype(index), j.astype(index))), shape=W.shape)
    return sparse.csr_array(W + links + links.T)


def _nearest_outside(search: NeighbourSearch, X: Any, part: Array, members: Array) -> tuple[int, int, float]:
    """The shortest link from a part to a row outside of it."""
    n, label, rows = len(part), part[members[0]], X[members]
    k = 2
    # Of a small part a few neighbours are enough; those of a large one are mostly inside.
    while k * len(members) <= 4 * n and k <= n:
        reached, indices = search.of(rows, k)
        outside = np.where(part[indices] == label, np.inf, reached)
        i, j = np.unravel_index(int(np.argmin(outside)), outside.shape)
        best = outside[i, j]
        # Rows that have but neighbours inside may have one outside that is beyond these.
        if np.isfinite(best) and np.all((reached[:, -1] >= best) | np.isfinite(outside).any(axis=1)):
            return int(members[i]), int(indices[i, j]), float(best)
        k *= 4
    others = np.flatnonzero(part != label)
    distances, nearest = NeighbourSearch(X[others], _exact=True).of(rows, 1)
    row = int(np.argmin(distances))
    return int(members[row]), int(others[nearest[row, 0]]), float(distances[row, 0])
