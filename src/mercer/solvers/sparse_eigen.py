"""Leading eigenpairs of the normalised weights of a graph: by a factorisation where it is cheap, else by products."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import dijkstra, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from mercer.arrays import Array
from mercer.running import Status
from mercer.solvers.eigen import Eigenpairs
from mercer.threads import single_threaded_blas

EIGEN_SOLVERS = ("auto", "dense", "factor", "lanczos")
# Up to so many rows, or for so many pairs as a share of them, the dense solver is at least as fast.
_DENSE_ROWS, _DENSE_SHARE = 300, 0.2
# Graphs that are this long for their number of vertices have factors with few entries: about n^(1/dimension) steps.
_FACTORED_DIMENSION = 2.7
# The shift: far enough from the eigenvalue 1 that the matrix can be factored, close enough to it to separate others.
_SHIFT = 1e-5
# The look for eigenvalues that were missed: its accuracy, as a share of the distance that matters, and its basis.
_CHECK, _CHECK_BASIS = 0.1, 12
# Columns that are solved for at the same time: more gain less than the longer way to the same accuracy loses.
_WIDTH = 2
# Share of the length of products below which nothing but rounding is left of them.
_EXHAUSTED = 1e-12

Product = Callable[[Array], Array]
Search = Callable[[Product, int, int, float, int, int, np.random.Generator], tuple[Array, Array, bool]]


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
        "factor": Lanczos in blocks on the inverse of (1 + 1e-5) I - S, by one sparse factorisation; for graphs that are
        like curves or surfaces. "lanczos": by products alone; for graphs with many neighbours within few steps, whose
        factors would fill the memory, and whose spectra have gaps that make it fast.
    tol : float
        Largest residual ||S u - λ u||.
    max_iter : int
        Most restarts of "lanczos", most blocks of "factor".

    Returns
    -------
    pairs : Eigenpairs
        By decreasing λ; `errors` are the residuals, which bound the distance to an exact eigenvalue; status "max_iter"
        if one is above tol.
    method : str
        What "auto" chose; "dense" too if the matrix has no more than 2 k + 20 rows.

    Notes
    -----
    Lanczos needs products in proportion to the diameter of the graph; the factor of a graph like a surface has
    O(n log n) entries, but that of one in d dimensions O(n^(2 - 2/d)). So the number of steps from one vertex to the
    farthest tells which to take: for 11 pairs of 20,000 vertices with ten neighbours on a surface the factor took 0.3 s
    and Lanczos 1.1 s; in ten dimensions these took more than 40 s and 0.3 s. LOBPCG, with the factor as preconditioner
    or without (0.9 and 9.7 s on the surface), and subspace iteration with a Chebyshev filter (2.8 and 1.3 s) are slower
    (``benchmarks/graphs.py --solvers``). The start is fixed: results are the same from run to run.

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
    place: Any = slice(None)
    if sparse.issparse(S):
        # Neighbours in the graph become neighbours in memory: products are several times as fast, factors by a fifth.
        order = reverse_cuthill_mckee(sparse.csr_matrix(S), symmetric_mode=True)
        S, place = S[order][:, order], np.argsort(order)
    if method == "auto":
        method = _chosen(S, k)
    if method == "dense" or n <= _basis_for(k):
        method = "dense"
        A = S.toarray() if sparse.issparse(S) else S
        values, vectors = eigh(A, subset_by_index=(n - k, n - 1))
    else:
        # Work on vectors and short columns: more threads gain nothing, and lose much where cores are shared.
        with single_threaded_blas if sparse.issparse(S) else nullcontext():
            values, vectors = _searched(S, k, method, tol, max_iter)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    products = np.asarray(S @ vectors)
    residuals = np.linalg.norm(products - vectors * values, axis=0)
    status = Status.OPTIMAL if residuals.max() <= tol else Status.MAX_ITER
    vectors = vectors[place]
    return Eigenpairs(values, vectors, products[place], residuals, vectors, status).with_signs(), method


def _searched(S: Any, k: int, method: str, tol: float, max_iter: int) -> tuple[Array, Array]:
    n = S.shape[0]
    if method == "lanczos":
        return _none_missed(_arpack, S.__matmul__, n, k, 0.1 * tol, max_iter, lowest=-1.0)
    # The transpose is the same matrix, by columns, and takes no time.
    shifted = sparse.csr_array((1.0 + _SHIFT) * sparse.eye_array(n, format="csr") - S).T
    # Symmetric and positive definite: no pivoting, and an ordering that keeps the factor sparse.
    factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    # A share t of an eigenvalue of the inverse is a residual of at most 2 t here, as no eigenvalue of S is below -1.
    values, vectors = _none_missed(_block_lanczos, factor.solve, n, k, 0.1 * tol, max_iter, lowest=0.0)
    return 1.0 + _SHIFT - 1.0 / values, vectors


def _none_missed(
    search: Search, product: Product, n: int, k: int, tol: float, max_iter: int, lowest: float
) -> tuple[Array, Array]:
    """The k largest eigenvalues of a matrix without any below the lowest, and eigenvectors, in no order.

    From a start of b columns a search sees b eigenvectors of a multiple eigenvalue, and further ones only by rounding,
    perhaps after it has converged. So what was found is moved out of the way, down to the lowest eigenvalue, and as
    long as there is still one above the least that was found, it is searched again.
    """
    rng = np.random.default_rng(0)
    values, vectors = np.empty(0), np.empty((n, 0))

    def deflated(X: Array) -> Array:
        return product(X) - vectors @ ((values - lowest)[:, None] * (vectors.T @ X))

    while True:
        more, directions, converged = search(deflated, n, k, tol, _basis_for(k), max_iter, rng)
        values, vectors = np.concatenate([values, more]), np.hstack([vectors, directions])
        if not converged:
            break
        least = float(np.sort(values)[-k])
        accuracy = _CHECK * (1.0 - min(least, 0.99)) if lowest else _CHECK
        above, _, converged = search(deflated, n, 1, accuracy, _CHECK_BASIS, max_iter, rng)
        if not converged or above[0] <= least + max(tol, 1e-9 * abs(least)):
            break
    largest = np.argsort(-values, kind="stable")[:k]
    return values[largest], vectors[:, largest]


def _arpack(
    product: Product, n: int, k: int, tol: float, basis: int, max_iter: int, rng: np.random.Generator
) -> tuple[Array, Array, bool]:
    """The k largest eigenvalues, eigenvectors, and whether they have converged: from one start vector, by ARPACK."""
    operator = LinearOperator((n, n), matvec=lambda x: product(x.reshape(n, 1)).ravel(), dtype=np.float64)
    start = rng.normal(size=n)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=start, ncv=basis, tol=tol, maxiter=max_iter)
    except ArpackNoConvergence as failure:
        return *_completed(product, failure.eigenvectors, k, rng), False
    return values, vectors, True


def _block_lanczos(
    product: Product, n: int, k: int, tol: float, basis: int, max_iter: int, rng: np.random.Generator
) -> tuple[Array, Array, bool]:
    """The same from a block of start vectors: where a product reads a large factor, it is read once for all of them.

    The Lanczos method in blocks with full orthogonalisation, restarted from the leading Ritz vectors [Wu2000]_. Written
    by hand: ARPACK asks for one product at a time. It also stops as soon as the pairs are good enough, while ARPACK
    looks at them when its basis is full.
    """
    b, kept, tol = _WIDTH, k + _WIDTH, max(tol, float(np.finfo(np.float64).eps))
    V, T = np.empty((n, basis), order="F"), np.zeros((basis, basis))
    Q, m, last = np.linalg.qr(rng.normal(size=(n, b)))[0], 0, 0
    values, Y = np.empty(0), np.empty((0, 0))
    for _ in range(max_iter):
        if m + b > basis:
            V[:, :kept] = V[:, :m] @ Y[:, -kept:]
            T[:], m, last = 0.0, kept, 0
            T[:m, :m] = np.diag(values[-kept:])
        V[:, m : m + b] = Q
        m += b
        known = V[:, :m]
        W = product(Q)
        size = np.linalg.norm(W)
        # The product lies in this block and the last but for what comes next, and for rounding, which is then removed.
        for first in (last, 0):
            parts = known[:, first:].T @ W
            W -= known[:, first:] @ parts
            T[first:m, m - b : m] += parts
        T[m - b : m, :m] = T[:m, m - b : m].T
        last = m - b
        values, Y = eigh(T[:m, :m], check_finite=False)
        Q, R = np.linalg.qr(W)
        residuals = np.linalg.norm(R @ Y[m - b :, -k:], axis=0)
        if m >= kept and np.all(residuals <= tol * np.abs(values[-k:])):
            return values[-k:], known @ Y[:, -k:], True
        exhausted = np.abs(R.diagonal()) <= _EXHAUSTED * size
        if exhausted.any():  # few different eigenvalues: the products lead nowhere new, but chance does
            Q[:, exhausted] = rng.normal(size=(n, np.count_nonzero(exhausted)))
            for _ in range(2):
                Q = np.linalg.qr(Q - known @ (known.T @ Q))[0]
    return *_completed(product, known @ Y[:, -k:], k, rng), False


def _completed(product: Product, vectors: Array, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """As many pairs as were asked for, the missing ones by chance: their residuals tell."""
    n, found = vectors.shape
    known = np.linalg.qr(np.hstack([vectors, rng.normal(size=(n, k - found))]))[0]
    values, rotation = eigh(known.T @ product(known))
    return values, known @ rotation


def _basis_for(k: int) -> int:
    """Vectors that are kept in a search for k of them."""
    return 2 * k + 20


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
