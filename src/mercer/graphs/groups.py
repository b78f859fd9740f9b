"""Groups of rows with next to nothing between them: where the density falls beyond doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.arrays import Array

# Neighbours that tell the density, and by how many standard errors it must fall between groups.
_NEIGHBOURS, _ERRORS = 10, 3.0
# Rows of a group that tell what is usual in it.
_MOST_ASKED = 100


def separate_groups(X: Any, *, n_neighbors: int = _NEIGHBOURS) -> Array:
    """The number of the group that each row belongs to; the largest group is number 0.

    Groups are joined from the densest places on, along the tree of the shortest links, in which no link is shorter than
    the distances of its ends to their k-th neighbours (single linkage of mutual reachability distances). So within the
    length of a link about k rows are near it. Two groups stay apart if as near to the median row of either are
    k exp(3 / √k) rows or more: the density on the link is lower by three standard errors of its logarithm. Evenly
    filled curves, surfaces and clouds are one group, whatever their shape, and so are clusters that overlap. Groups of
    fewer rows are not distinguished. Equal rows count once.

    Parameters
    ----------
    X : array of shape (n, n_columns)
        Complete rows; time and memory grow as n².
    n_neighbors : int
        k.

    Returns
    -------
    array of int, shape (n,)

    References
    ----------
    [Campello2013]_ for the distances.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import separate_groups
    >>> X = np.random.default_rng(0).normal(size=(150, 2)) + np.repeat([[0.0], [9.0], [20.0]], 50, axis=0)
    >>> np.bincount(separate_groups(X)).tolist()
    [50, 50, 50]
    """
    rows, row_of = np.unique(np.asarray(X, dtype=np.float64), axis=0, return_inverse=True)
    fewest = n_neighbors * float(np.exp(_ERRORS / np.sqrt(n_neighbors)))
    if len(rows) < 2 * fewest:
        return np.zeros(len(row_of), dtype=np.intp)
    distances = cdist(rows, rows)
    reach = np.partition(distances, n_neighbors, axis=1)[:, n_neighbors]
    group = _joined(_links(distances, reach), distances, fewest)
    labels = np.unique(group, return_inverse=True)[1].ravel()[row_of.ravel()]
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]


def _links(distances: Array, reach: Array) -> list[tuple[float, int, int]]:
    """The shortest tree of mutual reachability distances (Prim's algorithm), from its shortest link on."""
    n = len(reach)
    best, source, is_out = np.full(n, np.inf), np.zeros(n, dtype=np.intp), np.ones(n, dtype=bool)
    links, row = [], 0
    for _ in range(n - 1):
        is_out[row] = False
        there = np.maximum(np.maximum(distances[row], reach), reach[row])
        closer = is_out & (there < best)
        best[closer], source[closer] = there[closer], row
        row = int(np.argmin(np.where(is_out, best, np.inf)))
        links.append((float(best[row]), int(source[row]), row))
    return sorted(links)


def _joined(links: list[tuple[float, int, int]], distances: Array, fewest: float) -> Array:
    """The group of each row after links were followed, but for those on which both groups are thin."""
    group = np.arange(len(distances))
    members = {i: [i] for i in range(len(distances))}
    for length, one, other in links:
        small, large = sorted((int(group[one]), int(group[other])), key=lambda name: len(members[name]))
        if len(members[small]) >= fewest and all(
            _n_near(distances, members[name], length) >= fewest for name in (small, large)
        ):
            continue
        group[members[small]] = large
        members[large] += members.pop(small)
    return group


def _n_near(distances: Array, rows: list[int], length: float) -> float:
    """How many rows are as near as that to the median one of some, itself among them."""
    asked = rows[:: -(-len(rows) // _MOST_ASKED)]
    return float(np.median(np.count_nonzero(distances[asked] <= length, axis=1)))
