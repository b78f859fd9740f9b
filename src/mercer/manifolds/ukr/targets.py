"""Targets: what is regressed on the latent points, and what the errors of weighted means of it are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf

from mercer.arrays import Array
from mercer.hosts import ArrayRows, column_means
from mercer.manifolds.ukr.shared_numba import NOTHING

# Directions of less than this share of the largest extent are rounding.
_NULL = 1e-14
# What a factorisation may leave of a Gram matrix before it counts as indefinite, as a share of its largest entry.
_INDEFINITE = 1e-7


class Targets(Protocol):
    """Points y_1, ..., y_N of a Euclidean space."""

    n_rows: int

    def errors(self, B: Any, rows: Any = None) -> Array:
        """||y_s - Σ_r b_rs y_r||² for the columns of weights B (N, M), each of which sums to one.

        Parameters
        ----------
        B : array or sparse array of shape (N, M)
            Weights.
        rows : array of shape (M,), optional
            Which row s each column is for; by default column s is for row s.
        """

    def errors_of(self, W: Any, rows: Any) -> Array:
        """Errors of rows s = rows[i] under weights W[i], of shape (M, N), which need not sum to one."""

    def errors_and_slopes(self, W: Any, rows: Any, slopes: Array) -> Array:
        """Errors as above, and half their derivatives.

        Writes slopes[i, r] = ½ ∂E_s/∂W[i, r], and returns the errors.
        """

    def pass_over_lists(self, order: Array) -> ListPass:
        """The function that does the same for quartic weights of neighbours in lists, of points in another order."""

    def ordered(self, order: Array) -> tuple[Array, int, int] | None:
        """What `cell_pass_numba.cell_pass` takes of points in another order; None without vectors."""


# Called with start, stop, U, offsets, found, n_excluded, with_slopes, errors, Q: see `quartic_numba.vector_pass`.
ListPass = Callable[..., None]


class VectorTargets:
    """Targets given as vectors, some of whose entries may be missing.

    The mean of the column takes the place of f_sc where no weight falls on rows that have an entry in column c.

    Attributes
    ----------
    features : array of shape (N, d + 1) or (N, 2 d)
        The vectors, 0 where missing, beside what weighs: a column of ones, or for each column whether it is observed.
    n_dims : int
        d.
    """

    def __init__(self, Y: Array, observed: Array | None = None):
        self.n_rows, self.n_dims = Y.shape
        weighs = np.ones((len(Y), 1)) if observed is None else observed.astype(np.float64)
        self.features = np.hstack([Y, weighs])

    def errors(self, B: Any, rows: Any = None) -> Array:
        """Errors of weighted means; with missing entries the weights are those of the rows that have one."""
        return self.errors_of(B.T, slice(None) if rows is None else rows)

    def errors_of(self, W: Any, rows: Any) -> Array:
        """Errors of weights W (M, N)."""
        return self.of_sums(W @ self.features, rows)[0]

    def errors_and_slopes(self, W: Any, rows: Any, slopes: Array) -> Array:
        """Errors of weights W (M, N), and half their derivatives."""
        errors, H = self.of_sums(W @ self.features, rows)
        np.dot(H, self.features.T, out=slopes)
        return errors

    def of_sums(self, P: Array, rows: Any) -> tuple[Array, Array]:
        """Errors E_s, and vectors h_s with ½ ∂E_s/∂w_rs = features_r · h_s, from sums P_s = Σ_r w_rs features_r."""
        d, own, H = self.n_dims, self.features[rows], np.empty_like(P)
        totals, R, along = P[:, d:], H[:, :d], H[:, d:]
        inverse = (totals > NOTHING) / np.maximum(totals, NOTHING)
        F = P[:, :d] * inverse
        np.subtract(F, own[:, :d], out=R)
        R *= own[:, d:]
        errors = np.einsum("ij,ij->i", R, R)
        R *= inverse
        F *= R
        np.negative(F if along.shape == F.shape else F.sum(axis=1, keepdims=True), out=along)
        return errors, H

    def pass_over_lists(self, order: Array) -> ListPass:
        """Pass over lists of neighbours, with features in the order of the points."""
        from mercer.manifolds.ukr.quartic_numba import vector_pass

        return partial(vector_pass, *self.ordered(order))

    def ordered(self, order: Array) -> tuple[Array, int, int]:
        """Features in another order, with zeros to a multiple of four; d; 1 if each column has its weights, else 0."""
        step = 0 if self.features.shape[1] == self.n_dims + 1 else 1
        return padded(self.features[order], 4), self.n_dims, step


class GramTargets:
    """Targets given by their inner products.

    Attributes
    ----------
    K : array of shape (N, N)
        Centred Gram matrix.
    """

    def __init__(self, K: Array):
        self.K, self.n_rows = K, len(K)

    def errors(self, B: Any, rows: Any = None) -> Array:
        """Errors of weighted means: (b - e_s)ᵀ K (b - e_s)."""
        return self.errors_of(B.T, np.arange(B.shape[1]) if rows is None else rows)

    def errors_of(self, W: Any, rows: Any) -> Array:
        """Errors of weights W (M, N)."""
        return self.errors_and_slopes(W, rows, np.empty(W.shape))

    def errors_and_slopes(self, W: Any, rows: Any, slopes: Array) -> Array:
        """Errors of weights W (M, N), and half their derivatives."""
        columns = np.arange(W.shape[0])
        inverse = 1.0 / np.asarray(W.sum(axis=1))
        D = W.toarray() * inverse[:, None] if sparse.issparse(W) else W * inverse[:, None]
        D[columns, rows] -= 1.0
        np.dot(D, self.K, out=slopes)
        errors = np.einsum("ij,ij->i", D, slopes)
        # Σ_r b_rs m_rs = E_s + m_ss for the slopes m before this.
        slopes -= (errors + slopes[columns, rows])[:, None]
        slopes *= inverse[:, None]
        return np.maximum(errors, 0.0)

    def pass_over_lists(self, order: Array) -> ListPass:
        """Pass over lists of neighbours."""
        from mercer.manifolds.ukr.quartic_numba import gram_pass

        return partial(gram_pass, self.K, order)

    def ordered(self, order: Array) -> None:
        """There are no vectors."""


def data_targets(Y: Any) -> Targets:
    """Targets from rows of data.

    Parameters
    ----------
    Y : array of shape (N, d)
        Rows; NaN where an entry is missing. If none is, they are turned to their principal components, and directions
        in which they do not extend are dropped: distances stay what they are.

    Returns
    -------
    VectorTargets or GramTargets
        The latter where more than N / 2 directions are left, and inner products take less time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.targets import data_targets
    >>> targets = data_targets([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> targets.errors(np.full((3, 3), 1 / 3))  # squared distances from the mean
    array([4., 0., 4.])
    """
    Y = np.asarray(Y, dtype=np.float64)
    means = column_means(ArrayRows(Y))
    observed, kept, Y = ~np.isnan(Y), ~np.isnan(means), Y - means
    if not observed.all():
        return VectorTargets(np.where(observed, Y, 0.0)[:, kept], observed[:, kept])
    return _from_vectors(_principal(Y))


def feature_targets(K: Any) -> Targets:
    """Targets from inner products in a feature space.

    Parameters
    ----------
    K : array of shape (N, N)
        Gram matrix of a kernel that is positive definite, or conditionally so of order 1: it is centred.

    Raises
    ------
    ValueError
        If K has negative eigenvalues on vectors that sum to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import L1
    >>> from mercer.manifolds.ukr.targets import feature_targets
    >>> targets = feature_targets(L1()(np.array([[0.0], [1.0], [3.0]])))
    >>> targets.errors(np.array([[0.0], [1.0], [0.0]]), rows=[2])  # the squared distance in feature space is |3 - 1|
    array([2.])
    """
    K = np.array(K, dtype=np.float64)
    K = (K + K.T) / 2.0
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    scale = float(np.abs(K).max(initial=0.0))
    factor, pivots, rank, _ = dpstrf(K, lower=1, tol=len(K) * _NULL * scale)
    L = np.empty((len(K), rank))
    L[pivots - 1] = np.tril(factor)[:, :rank]
    v = np.random.default_rng(0).normal(size=len(K))
    left = np.abs(K @ v - L @ (L.T @ v)).max(initial=0.0) / np.sqrt(len(K))
    if left > _INDEFINITE * scale:
        raise ValueError(
            f"K of feature_targets must be conditionally positive definite, got a Gram matrix of which {left:.2g} is "
            "left after all positive directions; use another kernel."
        )
    return _from_vectors(L) if 2 * rank <= len(K) else GramTargets(K)


def _from_vectors(Y: Array) -> Targets:
    """The cheaper of the two forms: products with Y twice, or with inner products once."""
    return VectorTargets(Y) if 2 * Y.shape[1] <= len(Y) else GramTargets(Y @ Y.T)


def _principal(Y: Array) -> Array:
    """Centred rows in their principal components, without null directions."""
    if Y.shape[1] > len(Y):
        Y = np.linalg.qr(Y.T)[1].T
    turned = Y @ np.linalg.eigh(ArrayRows(Y).reduce(lambda block: block.T @ block))[1][:, ::-1]
    extents = np.linalg.norm(turned, axis=0)
    return turned[:, extents > _NULL * extents.max(initial=0.0) * np.sqrt(len(Y))]


def padded(X: Array, multiple: int) -> Array:
    """A copy with columns of zeros up to a multiple of so many, which compiled loops take at once."""
    return np.pad(X, ((0, 0), (0, -X.shape[1] % multiple)))
