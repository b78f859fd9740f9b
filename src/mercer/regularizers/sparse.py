"""Sparse coefficients: the lasso and the group lasso on sums over the rows."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array

_TOLERANCE = 1e-9


def sparse_coefficients(
    G: Array, C: Array, lam: float, n_penalised: int, *, group: bool, start: Array | None = None, sweeps: int = 2000
) -> Array:
    """Min ½ tr VᵀGV - tr CᵀV + lam Σ|v_jc|, or lam Σ_j ||v_j|| over the rows v_j of V if `group`.

    By coordinate descent until the optimality conditions hold to 1e-9 of the largest entry of C; no sweep is for worse.
    Rows after the first `n_penalised` have no penalty.

    Parameters
    ----------
    G : array of shape (n, n)
        Positive semidefinite.
    C : array of shape (n, d)
        Right sides.
    lam : float
        Penalty.
    n_penalised : int
        Number of rows of V with a penalty.
    group : bool
        Whether rows vanish as a whole.
    start : array of shape (n, d), optional
        Where to start.
    sweeps : int
        Most sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularizers import sparse_coefficients
    >>> sparse_coefficients(np.eye(2), np.array([[3.0], [0.5]]), 1.0, 2, group=False)
    array([[2.],
           [0.]])
    """
    from mercer.regularizers.sparse_numba import descend

    V = np.zeros_like(C) if start is None else start.copy()
    descend(G, C, float(lam), n_penalised, group, _TOLERANCE * float(np.abs(C).max()), sweeps, V)
    return V
