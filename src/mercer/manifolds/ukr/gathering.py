"""Pieces of a map that lie far apart for no reason are brought near each other.

Where the kernel does not reach from one piece to the next, the objective does not say how far apart they are: starts
leave gaps of hundreds of widths, and descents by the sign of the gradient let single points fly. Nobody can read a map
whose gaps are larger than what is to be seen.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

Array = NDArray[Any]

# Distances, in widths, at which kernels are as good as zero: points that are farther apart know nothing of each other.
GAPS = {"gaussian": 6.0, "quartic": 2.0}
# More pieces than this are dust.
_MOST_PIECES = 300


def gathered(Z: Array, gap: float) -> Array:
    """Move pieces that are farther apart than `gap`, each as a whole, until each is that far from the next.

    The two that are nearest to each other become one, the smaller moving straight towards the larger, and so on: none
    ever comes nearer than `gap` to another.

    Parameters
    ----------
    Z : array of shape (n, q)
        Latent points.
    gap : float
        Distance at which the kernel is as good as zero.

    Returns
    -------
    array of shape (n, q)
        Moved points; Z itself if there is only one piece, or more than 300.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.gathering import gathered
    >>> gathered(np.array([[0.0], [1.0], [2.0], [100.0], [101.0], [500.0]]), gap=6.0).ravel()
    array([  0.,   1.,   2.,   8.,   9.,  15.])
    """
    piece = _pieces(Z, gap)
    n_pieces = int(piece.max()) + 1
    if not 1 < n_pieces <= _MOST_PIECES:
        return Z
    points = [Z[piece == p] for p in range(n_pieces)]
    trees = [KDTree(some) for some in points]
    sizes = np.bincount(piece)
    moves = np.zeros((n_pieces, Z.shape[1]))
    # Shortest ways between pieces, from the first to the second.
    ways = np.zeros((n_pieces, n_pieces, Z.shape[1]))

    def measure(a: int, b: int) -> None:
        small, large = (a, b) if sizes[a] <= sizes[b] else (b, a)
        seen = points[small] + (moves[small] - moves[large])
        distances, nearest = trees[large].query(seen)
        i = int(np.argmin(distances))
        ways[small, large] = points[large][nearest[i]] - seen[i]
        ways[large, small] = -ways[small, large]

    for a, b in combinations(range(n_pieces), 2):
        measure(a, b)
    group = np.arange(n_pieces)
    for _ in range(n_pieces - 1):
        distances = np.where(group[:, None] == group, np.inf, np.linalg.norm(ways, axis=2))
        a, b = (int(p) for p in np.unravel_index(np.argmin(distances), distances.shape))
        if sizes[group == group[a]].sum() < sizes[group == group[b]].sum():
            a, b = b, a
        moved = group == group[b]
        moves[moved] += ways[b, a] * max(0.0, 1 - gap / distances[a, b])
        group[moved] = group[a]
        for c in np.flatnonzero(moved):
            for d in np.flatnonzero(group != group[a]):
                measure(int(c), int(d))
    return Z + moves[piece]


def _pieces(Z: Array, gap: float) -> Array:
    """The piece of each point: points in neighbouring cells of side `gap` belong together."""
    cells, cell = np.unique(np.floor(Z / gap), axis=0, return_inverse=True)
    pairs = KDTree(cells).query_pairs(1.0, p=np.inf, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(cells), len(cells)))
    return np.asarray(connected_components(graph, directed=False)[1])[cell.ravel()]
