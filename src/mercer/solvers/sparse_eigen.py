"""Leading eigenpairs of the normalised weights of a graph: by a factorisation where it is cheap, else by products."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from mercer.kernels.blas import single_threaded_blas
from mercer.solvers.eigen import Eigenpairs

Array = NDArray[Any]

EIGEN_SOLVERS = ("auto", "dense", "factor", "lanczos")
# Up to so many rows, or for so many pairs as a share of them, the dense solver is at least as fast.
_DENSE_ROWS, _DENSE_SHARE = 300, 0.2
# Graphs that are this long for their number of vertices have factors with few entries: about n^(1/dimension) steps.
_FACTORED_DIMENSION = 2.7
# The shift: far enough from the eigenvalue 1 that the matrix can be factored, close enough to it to separate others.
_SHIFT = 1e-5
# The look for eigenvalues that were missed: its accuracy, as a share of the distance that matters, and its basis.
_CHECK, _CHECK_BASIS = 0.1, 12


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
        What "auto" chose; "dense" too if k is n or n - 1.

    Notes
    -----
    Lanczos needs products in proportion to the diameter of the graph; the factor of a graph like a surface has
    O(n log n) entries, but that of one in d dimensions O(n^(2 - 2/d)). So the number of steps from one vertex to the
    farthest tells which to take: for 11 pairs of 20,000 vertices with ten neighbours on a surface the factor took 0.4 s
    and Lanczos 1.1 s; in ten dimensions these took more than 25 s and 0.3 s. LOBPCG, with the factor as preconditioner
    or without, and subspace iteration with a Chebyshev filter (2.6 and 0.8 s) were slower on every graph of two to ten
    dimensions (``benchmarks/graphs.py --solvers``). The start is fixed: results are the same from run to run.

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
    if not isinstance(method, str) or method not in EIGEN_SOLVERS:
        raise ValueError(
            f"method of leading_eigenpairs must be one of {EIGEN_SOLVERS}, got {method!r}; 'auto' chooses for you."
        )
    if not 1 <= k <= n:
        raise ValueError(f"k of leading_eigenpairs must be from 1 to {n}, got {k!r}; the matrix has no more pairs.")
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 < float(tol) < np.inf:
        raise ValueError(f"tol of leading_eigenpairs must be a number > 0, got {tol!r}; it bounds the residuals.")
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral) or max_iter < 1:
        raise ValueError(
            f"max_iter of leading_eigenpairs must be a whole number >= 1, got {max_iter!r}; 3000 is more than enough."
        )
    if method == "auto":
        method = _chosen(S, k)
    if method == "dense" or k > n - 2:  # ARPACK needs room
        method = "dense"
        A = S.toarray() if sparse.issparse(S) else S
        values, vectors = eigh(A, subset_by_index=(n - k, n - 1))
    else:
        # Work on vectors and short columns: more threads gain nothing, and lose much where cores are shared.
        with single_threaded_blas if sparse.issparse(S) else nullcontext():
            values, vectors = _by_arpack(S, k, method, tol, max_iter)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    products = np.asarray(S @ vectors)
    residuals = np.linalg.norm(products - vectors * values, axis=0)
    status = "optimal" if residuals.max() <= tol else "max_iter"
    return Eigenpairs(values, vectors, products, residuals, vectors, status).with_signs(), method


def _by_arpack(S: Any, k: int, method: str, tol: float, max_iter: int) -> tuple[Array, Array]:
    n = S.shape[0]
    if method == "lanczos":
        return _lanczos(S.__matmul__, n, k, 0.1 * tol, max_iter, lowest=-1.0)
    shifted = sparse.csc_array((1.0 + _SHIFT) * sparse.eye_array(n) - S)
    # Symmetric and positive definite: no pivoting, and an ordering that keeps the factor sparse.
    factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    # A share t of an eigenvalue of the inverse is a residual of at most 2 t here, as no eigenvalue of S is below -1.
    values, vectors = _lanczos(factor.solve, n, k, 0.1 * tol, max_iter, lowest=0.0)
    return 1.0 + _SHIFT - 1.0 / values, vectors


def _lanczos(
    product: Callable[[Array], Array], n: int, k: int, tol: float, max_iter: int, lowest: float
) -> tuple[Array, Array]:
    """The k largest eigenvalues of a matrix without any below the lowest, and eigenvectors, in no order.

    From one start vector the Lanczos method sees one eigenvector of a multiple eigenvalue, and further ones only by
    rounding, perhaps after it has converged. So what was found is moved out of the way, down to the lowest eigenvalue,
    and as long as there is still one above the least that was found, it is searched again.
    """
    rng = np.random.default_rng(0)
    values, vectors = np.empty(0), np.empty((n, 0))

    def deflated(x: Array) -> Array:
        x = x.ravel()
        return product(x) - vectors @ ((values - lowest) * (vectors.T @ x))

    operator = LinearOperator((n, n), matvec=deflated, dtype=np.float64)

    def search(count: int, accuracy: float, basis: int) -> tuple[Array, Array]:
        start = rng.normal(size=n)
        found = eigsh(operator, count, which="LA", v0=start, ncv=min(n, basis), tol=accuracy, maxiter=max_iter)
        return found[0], found[1]

    try:
        while True:
            more, directions = search(k, tol, 2 * k + 20)
            values, vectors = np.concatenate([values, more]), np.hstack([vectors, directions])
            least = float(np.sort(values)[-k])
            above = float(search(1, _CHECK * (1.0 - min(least, 0.99)) if lowest else _CHECK, _CHECK_BASIS)[0][0])
            if above <= least + max(tol, 1e-9 * abs(least)):
                break
    except ArpackNoConvergence as failure:
        if len(values) < k:
            values = np.concatenate([values, failure.eigenvalues])
            vectors = np.hstack([vectors, failure.eigenvectors])
            vectors, values = _completed(product, vectors, k, rng)
    largest = np.argsort(-values, kind="stable")[:k]
    return values[largest], vectors[:, largest]


def _completed(
    product: Callable[[Array], Array], vectors: Array, k: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """As many pairs as were asked for, the missing ones by chance: their residuals tell."""
    n, found = vectors.shape
    basis = np.linalg.qr(np.hstack([vectors, rng.normal(size=(n, max(k - found, 0)))]))[0]
    values, rotation = eigh(basis.T @ np.stack([product(v) for v in basis.T], axis=1))
    return basis @ rotation, values


def _chosen(S: Any, k: int) -> str:
    n = S.shape[0]
    if n <= _DENSE_ROWS or k > _DENSE_SHARE * n:
        return "dense"
    # A matrix without zeros has all vertices within one step.
    return "factor" if sparse.issparse(S) and _dimension_of(S) <= _FACTORED_DIMENSION else "lanczos"


def _dimension_of(S: Any) -> float:
    """That of a grid in which the farthest vertex is as many steps away: log n / log steps."""
    steps = dijkstra(S, directed=False, indices=0, unweighted=True)
    longest = float(steps[np.isfinite(steps)].max())
    return float(np.log(S.shape[0]) / np.log(max(longest, 1.5)))
