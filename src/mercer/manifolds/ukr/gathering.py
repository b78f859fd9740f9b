"""Pieces of a map that lie far apart for no reason are brought near each other.

Where the kernel does not reach from one piece to the next, the objective does not say how far apart they are: starts
leave gaps of hundreds of widths, and descents by the sign of the gradient let single points fly. Nobody can read a map
whose gaps are larger than what is to be seen.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from mercer.arrays import Array
from mercer.manifolds.ukr.tuning import DOMAINS


def gathered(Z: Array, gap: float, most_pieces: int = DOMAINS.most_pieces) -> Array:
    """Move pieces that are farther apart than `gap`, each as a whole, until each is that far from the next.

    The two that are nearest to each other become one, the smaller moving straight towards the larger, and so on: none
    ever comes nearer than `gap` to another.

    Parameters
    ----------
    Z : array of shape (n, q)
        Latent points.
    gap : float
        Distance at which the kernel is as good as zero.
    most_pieces : int
        More pieces than this are dust, and stay where they are.

    Returns
    -------
    array of shape (n, q)
        Moved points; Z itself if there is only one piece, or too many.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.gathering import gathered
    >>> gathered(np.array([[0.0], [1.0], [2.0], [100.0], [101.0], [500.0]]), gap=6.0).ravel()
    array([  0.,   1.,   2.,   8.,   9.,  15.])
    """
    piece = _pieces(Z, gap)
    n_pieces = int(piece.max()) + 1
    if not 1 < n_pieces <= most_pieces:
        return Z
    order = np.argsort(piece, kind="stable")
    firsts = np.searchsorted(piece[order], np.arange(n_pieces))
    Z, group = Z.copy(), piece.copy()

    def lengths_from(p: int) -> Array:
        """Shortest distances from a group of pieces to all groups."""
        distances = np.minimum.reduceat(KDTree(Z[group == p]).query(Z[order])[0], firsts)
        lengths = np.full(n_pieces, np.inf)
        np.minimum.at(lengths, group[order[firsts]], distances)
        lengths[p] = np.inf
        return lengths

    lengths = np.array([lengths_from(p) for p in range(n_pieces)])
    for _ in range(n_pieces - 1):
        a, b = (int(p) for p in np.unravel_index(np.argmin(lengths), lengths.shape))
        if np.count_nonzero(group == a) < np.count_nonzero(group == b):
            a, b = b, a
        large, small = Z[group == a], group == b
        distances, nearest = KDTree(large).query(Z[small])
        i = int(np.argmin(distances))
        way = large[nearest[i]] - Z[small][i]
        Z[small] += way * (1.0 - gap / max(distances[i], gap))
        lengths[a] = lengths[:, a] = np.minimum(lengths[a], lengths_from(b))
        lengths[b] = lengths[:, b] = lengths[a, a] = np.inf
        group[small] = a
    return Z


def _pieces(Z: Array, gap: float) -> Array:
    """The piece of each point: points in neighbouring cells of side `gap` belong together."""
    cells, cell = np.unique(np.floor(Z / gap), axis=0, return_inverse=True)
    pairs = KDTree(cells).query_pairs(1.0, p=np.inf, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(cells), len(cells)))
    return np.asarray(connected_components(graph, directed=False)[1])[cell.ravel()]
