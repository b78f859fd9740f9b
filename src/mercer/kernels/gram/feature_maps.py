"""Features whose inner products are nearly the values of a kernel, from few landmarks."""

from __future__ import annotations

from typing import Any

from sklearn.utils import _safe_indexing, check_random_state

from mercer.kernels.base import Kernel
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.kernels.gram.low_rank import LowRank, incomplete_cholesky

# Landmarks are chosen greedily among this many times their number of random rows.
_CANDIDATES = 4


def feature_map(kernel: Kernel, X: Any, rank: int, random_state: Any = None, *, tol: float = 1e-14) -> LowRank:
    """At most `rank` features φ with φ(x)ᵀφ(y) ≈ k(x, y) for rows like those of X.

    Parameters
    ----------
    kernel : Kernel
        A positive definite kernel on rows (not a given matrix).
    X : array_like
        Rows.
    rank : int
        Most features. There are fewer if these give the kernel on the candidates to `tol`.
    random_state : int, Generator, RandomState or None
        Draws 4 · rank rows of X, the candidates for landmarks, if there are more.

    tol : float
        Fraction of the trace of the candidates that may be left out; by default what is rounding.

    Returns
    -------
    LowRank
        The factor of the candidates, whose `features` are those of any rows.

    Notes
    -----
    Cost O(rank³) for the map, and O(n rank²) for features of n rows; memory 4 rank² numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import feature_map
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> F = feature_map(Gaussian(2.0), X, 100, random_state=0).features(X)
    >>> bool(np.abs(F @ F.T - Gaussian(2.0)(X)).max() < 1e-4)
    True
    """
    if kernel.pairwise:
        raise TypeError(
            f"kernel of feature_map must be a function of rows, got {kernel!r}, which is a given matrix; give the "
            "kernel that made the matrix."
        )
    X = indexable_rows(X)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n > _CANDIDATES * rank:
        positions = check_random_state(random_state).choice(n, _CANDIDATES * rank, replace=False)
        X = _safe_indexing(X, positions)
    return incomplete_cholesky(kernel, X, rank=rank, tol=tol)
