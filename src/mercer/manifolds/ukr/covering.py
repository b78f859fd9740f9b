"""Some of many latent points, such that each of the others is near one of them."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array


def covering(U: Array, side: float) -> tuple[Array, Array]:
    """One point of each cell of a grid: no other is farther from its own than the diagonal of a cell.

    Parameters
    ----------
    U : array of shape (N, q)
        Points.
    side : float
        Of the cells.

    Returns
    -------
    chosen : array of shape (M,)
        Positions of the points that stand for others.
    number : array of shape (N,)
        For each point, which of the chosen ones stands for it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.covering import covering
    >>> covering(np.array([[0.1], [2.6], [0.4]]), 1.0)
    (array([0, 1]), array([0, 1, 0]))
    """
    cells = np.floor((U - U.min(axis=0)) / side).astype(np.int64)
    _, chosen, number = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    return chosen, number.reshape(-1)
