"""Leading eigenpairs of a symmetric matrix that is known by its products: as few products as possible, each a wide one.

A product with a Gram matrix costs its evaluation, whatever the number of right-hand sides; so the methods here work on
blocks, start from a sample of columns, and stop as soon as the eigenvalues are good enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eigh

from mercer.arrays import Array
from mercer.running import Iterates, Status, Step, Stopping, run
from mercer.threads import single_threaded_blas

# Blocks that are kept before the basis is compressed to its leading Ritz vectors: bounds the memory.
_MOST_BLOCKS = 6
# Squared length below which what is left of a direction of unit length is dropped.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenpairs (λ_i, u_i) of a symmetric matrix A, by decreasing |λ_i|, and how they were found.

    Attributes
    ----------
    values : array of shape (k,)
        λ_i.
    vectors, products : array of shape (n, k)
        Orthonormal u_i, each with its largest entry positive, and A u_i.
    errors : array of shape (k,)
        Bounds of |λ_i - exact|, as estimated by the solver.
    block : array of shape (n, b)
        Vectors to start from, should more accuracy be wanted.
    status : Status
        "optimal", "interrupted" or "max_iter".
    n_iter : int
        Number of products.
    history : list of float
        Largest relative error of a wanted eigenvalue after each product.
    total : float
        Sum of all |λ|, also of those that are left out; NaN if not all were computed.
    """

    values: Array
    vectors: Array
    products: Array
    errors: Array
    block: Array
    status: Status = Status.OPTIMAL
    n_iter: int = 0
    history: list[float] = field(default_factory=list)
    total: float = np.nan

    def where(self, kept: Array | slice) -> Eigenpairs:
        """Some of the pairs, chosen by a mask or a slice."""
        vectors, products = self.vectors[:, kept], self.products[:, kept]
        return replace(self, values=self.values[kept], vectors=vectors, products=products, errors=self.errors[kept])

    def with_signs(self) -> Eigenpairs:
        """The first of the largest entries of each vector becomes positive, a tie up to rounding being a tie."""
        size = np.abs(self.vectors)
        leading = np.argmax(size >= (1 - 1e-6) * size.max(axis=0, initial=0.0), axis=0)
        signs = np.sign(self.vectors[leading, np.arange(self.vectors.shape[1])])
        signs[signs == 0] = 1.0
        return replace(self, vectors=self.vectors * signs, products=self.products * signs)


def dense_eigenpairs(A: Array, k: int | None = None, *, definite: bool = False) -> Eigenpairs:
    """Eigenpairs of a matrix in memory: all, or the k largest in absolute value.

    Parameters
    ----------
    A : array of shape (n, n)
        A symmetric matrix.
    k : int, optional
        How many.
    definite : bool
        Whether the largest in absolute value are known to be the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import dense_eigenpairs
    >>> dense_eigenpairs(np.diag([1.0, -3.0, 2.0]), k=2).values
    array([-3.,  2.])
    """
    n = len(A)
    k = n if k is None else min(k, n)
    norm = float(np.abs(A).max(initial=0.0))
    values, vectors = _largest(A, k if definite else n)
    total = float(np.abs(values).sum()) if len(values) == n else np.nan
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    errors = np.full(k, n * float(np.finfo(values.dtype).eps) * norm)
    values, vectors = values[order], vectors[:, order]
    return Eigenpairs(values, vectors, vectors * values, errors, vectors, total=total).with_signs()


def lanczos_eigenpairs(
    product: Callable[[Array], Array],
    start: Array,
    k: int,
    *,
    tol: float = 1e-8,
    max_iter: int = 50,
    orthogonal_to: Array | None = None,
) -> Eigenpairs:
    """The k eigenpairs of largest |λ|, by a block Lanczos method that is restarted from its Ritz vectors.

    The basis grows by the residuals of the b leading Ritz vectors, b being the width of `start`; every product gives
    the Ritz pairs of the whole basis. All vectors are kept orthogonal to each other explicitly.

    Parameters
    ----------
    product : callable
        V ↦ A V for blocks V of shape (n, b).
    start : array of shape (n, b)
        Where to start, with b > k: `sample_columns` gives a good one. Convergence depends on |λ_{b+1} / λ_k|.
    k : int
        How many.
    tol : float
        Relative error of the eigenvalues, which is estimated as 2 |r|² / gap from the residual r of each pair; the
        eigenvectors are then good to about √tol.
    max_iter : int
        Most products.
    orthogonal_to : array of shape (n, p), optional
        Orthonormal vectors in the null space of A, kept out of the basis.

    Notes
    -----
    Memory: 14 n b numbers. Ctrl-C ends it with the pairs found so far, if there was a product.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import lanczos_eigenpairs
    >>> A = np.diag(1.0 / np.arange(1, 101))
    >>> start = np.random.default_rng(0).normal(size=(100, 10))
    >>> np.allclose(lanczos_eigenpairs(lambda V: A @ V, start, k=3).values, [1, 1 / 2, 1 / 3])
    True
    """
    n, b = start.shape
    basis = np.empty((n, 0)) if orthogonal_to is None else orthogonal_to
    new = _new_directions(start, basis)
    if not new.shape[1]:
        raise ValueError(
            "start of lanczos_eigenpairs must have a column in the range of A, got none; add a random one."
        )
    history: list[float] = []

    def iterates() -> Iterates[tuple[_Ritz, Array]]:
        directions, basis, products = new, np.empty((n, 0)), np.empty((n, 0))
        while True:
            basis, products = np.hstack([basis, directions]), np.hstack([products, product(directions)])
            ritz, beyond = _rayleigh_ritz(basis, products, b)
            errors = ritz.errors(k, beyond)
            sizes = np.maximum(np.abs(ritz.values[:k]), 2 * ritz.rounding / tol + np.finfo(np.float64).tiny)
            history.append(float(np.max(errors / sizes, initial=0.0)))
            yield Step((ritz, errors), history[-1], Status.OPTIMAL if history[-1] <= tol else None)
            if basis.shape[1] + b > _MOST_BLOCKS * b:
                basis, products = ritz.vectors, ritz.products
            known = basis if orthogonal_to is None else np.hstack([orthogonal_to, basis])
            directions = _new_directions(ritz.significant_residuals(), known)
            if not directions.shape[1]:
                return Status.OPTIMAL

    end = run(iterates(), Stopping(max_iter=max_iter - 1), "Lanczos")
    ritz, errors = end.last_state
    pairs = Eigenpairs(
        ritz.values, ritz.vectors, ritz.products, errors, ritz.vectors, end.status, len(history), history
    )
    return pairs.where(slice(k)).with_signs()


@dataclass
class _Ritz:
    """Approximate eigenpairs of A from a subspace."""

    values: Array
    vectors: Array
    products: Array

    def __post_init__(self) -> None:
        self.residuals = self.products - self.vectors * self.values
        self.norms = np.linalg.norm(self.residuals, axis=0)
        self.rounding = float(np.sqrt(len(self.vectors)) * np.finfo(np.float64).eps * np.abs(self.values).max())

    def errors(self, k: int, beyond: float) -> Array:
        """Bounds of the errors of the first k values, if what is outside of the block is at most `beyond`."""
        r = self.norms[:k]
        gap = np.abs(self.values[:k]) - abs(beyond)
        # Twice r² / gap, since the gap is itself known from Ritz values only.
        return np.maximum(np.minimum(r, np.divide(2 * r**2, gap, out=r.copy(), where=gap > 0)), self.rounding)

    def significant_residuals(self) -> Array:
        """Residuals that are more than rounding, each of unit length."""
        kept = self.norms > 10 * self.rounding
        return self.residuals[:, kept] / self.norms[kept]


def _rayleigh_ritz(basis: Array, products: Array, b: int) -> tuple[_Ritz, float]:
    """The b largest Ritz pairs of A from an orthonormal basis and A times it, and the value that comes next."""
    with single_threaded_blas:  # many small steps, on which threads lose time
        T = basis.T @ products
        theta, Y = eigh(0.5 * (T + T.T), driver="evd", check_finite=False)
        order = np.argsort(-np.abs(theta), kind="stable")
        Y = Y[:, order[:b]]
        return _Ritz(theta[order[:b]], basis @ Y, products @ Y), float(theta[order[min(b, len(order) - 1)]])


def _new_directions(V: Array, basis: Array) -> Array:
    """An orthonormal basis of what V adds to an orthonormal basis."""
    lengths = np.linalg.norm(V, axis=0)
    V = V[:, lengths > 0] / lengths[lengths > 0]
    with single_threaded_blas:
        for _ in range(3):  # each round orthogonalises what the one before has scaled up
            V = V - basis @ (basis.T @ V)
            squared, U = eigh(V.T @ V, driver="evd", check_finite=False)
            kept = squared > _DEPENDENT
            V = V @ (U[:, kept] / np.sqrt(squared[kept]))
    return V


def _largest(A: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric matrix, increasing, and their vectors."""
    n = len(A)
    if k < n:
        values, vectors = eigh(A, subset_by_index=(n - k, n - 1), check_finite=False)
        if len(values) == k:  # LAPACK loses some of a cluster of equal eigenvalues
            return values, vectors
    values, vectors = eigh(A, driver="evd", check_finite=False)
    return values[n - k :], vectors[:, n - k :]


def sample_columns(columns: Array, b: int) -> Array:
    """The b leading left singular vectors of some columns of a matrix: where to look for its eigenvectors.

    Unlike those of a Nyström factor they need no definite matrix, and they are closer to the leading eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import sample_columns
    >>> np.abs(sample_columns(np.array([[2.0, 2.0], [0.0, 0.1]]), 1)).round(2)
    array([[1.  ],
           [0.03]])
    """
    with single_threaded_blas:
        _, vectors = _largest(columns.T @ columns, min(b, columns.shape[1]))
        leading = columns @ vectors[:, ::-1]
    return leading / np.maximum(np.linalg.norm(leading, axis=0), np.finfo(np.float64).tiny)
