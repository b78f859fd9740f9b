"""Leading eigenpairs of the normalised weights of a graph: by a factorisation where it is cheap, else by products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from mercer.solvers.eigen import Eigenpairs

Array = NDArray[Any]

# Up to so many rows, or for so many pairs as a share of them, the dense solver is at least as fast.
_DENSE_ROWS, _DENSE_SHARE = 300, 0.2
# Graphs that are this long for their number of vertices have factors with few entries: about n^(1/dimension) steps.
_FACTORED_DIMENSION = 2.7
# The shift: far enough from the eigenvalue 1 that the matrix can be factored, close enough to it to separate others.
_SHIFT = 1e-5


def leading_eigenpairs(
    S: Any, k: int, *, method: str = "auto", tol: float = 1e-9, max_iter: int = 3000
) -> tuple[Eigenpairs, str]:
    """The k largest eigenvalues of a sparse symmetric matrix without eigenvalues above 1, and how they were found.

    Parameters
    ----------
    S : sparse array of shape (n, n)
        Such as D^(-1/2) W D^(-1/2), W the weights of a graph with the degrees D.
    k : int
        How many.
    method : {"auto", "dense", "factor", "lanczos"}
        "factor": Lanczos on the inverse of (1 + 1e-5) I - S, by one sparse factorisation; for graphs that are like
        curves or surfaces. "lanczos": by products alone; for graphs with many neighbours within few steps, whose
        factors would fill the memory, and whose spectra have gaps that make it fast.
    tol : float
        Largest residual ||S u - λ u||.
    max_iter : int
        Most restarts of the Lanczos method.

    Returns
    -------
    pairs : Eigenpairs
        By decreasing λ; `errors` are the residuals, which bound the distance to an exact eigenvalue; status "max_iter"
        if one is above tol.
    method : str
        What "auto" chose.

    Notes
    -----
    Lanczos needs products in proportion to the diameter of the graph; the factor of a graph like a surface has
    O(n log n) entries, but that of one in d dimensions O(n^(2 - 2/d)). So the number of steps from one vertex to the
    farthest tells which to take. The start is fixed: results are the same from run to run.

    Examples
    --------
    >>> from scipy import sparse
    >>> from mercer.solvers import leading_eigenpairs
    >>> ring = sparse.csr_array(sparse.diags([0.5, 0.5, 0.5, 0.5], [-1, 1, -399, 399], shape=(400, 400)))
    >>> pairs, method = leading_eigenpairs(ring, 3)
    >>> pairs.values.round(6), method
    (array([1.      , 0.999877, 0.999877]), 'factor')
    """
    n = S.shape[0]
    if method == "auto":
        small = n <= _DENSE_ROWS or k > _DENSE_SHARE * n
        method = "dense" if small else "factor" if _dimension_of(S) <= _FACTORED_DIMENSION else "lanczos"
    if method == "dense":
        values, vectors = eigh(S.toarray() if sparse.issparse(S) else S)
        values, vectors = values[-k:], vectors[:, -k:]
    else:
        values, vectors = _by_arpack(S, k, method, tol, max_iter)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    products = np.asarray(S @ vectors)
    residuals = np.linalg.norm(products - vectors * values, axis=0)
    status = "optimal" if len(values) == k and residuals.max(initial=0.0) <= tol else "max_iter"
    return Eigenpairs(values, vectors, products, residuals, vectors, status).with_signs(), method


def _by_arpack(S: Any, k: int, method: str, tol: float, max_iter: int) -> tuple[Array, Array]:
    n = S.shape[0]
    start = np.random.default_rng(0).normal(size=n)
    options: dict[str, Any] = {"k": k, "which": "LA", "v0": start, "ncv": min(n, 2 * k + 20), "maxiter": max_iter}
    try:
        if method == "lanczos":
            found = eigsh(S, tol=0.1 * tol, **options)
            return found[0], found[1]
        shifted = sparse.csc_array((1.0 + _SHIFT) * sparse.eye_array(n) - S)
        # Symmetric and positive definite: no pivoting, and an ordering that keeps the factor sparse.
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
        values, vectors = eigsh(inverse, tol=0.0, **options)
        return 1.0 + _SHIFT - 1.0 / values, vectors
    except ArpackNoConvergence as failure:
        values = failure.eigenvalues if method == "lanczos" else 1.0 + _SHIFT - 1.0 / failure.eigenvalues
        return values, failure.eigenvectors


def _dimension_of(S: Any) -> float:
    """That of a grid in which the farthest vertex is as many steps away: log n / log steps."""
    steps = dijkstra(S, directed=False, indices=0, unweighted=True)
    longest = float(steps[np.isfinite(steps)].max())
    return float(np.log(S.shape[0]) / np.log(max(longest, 1.5)))
