"""The leading part of the spectrum of a Gram matrix, in the units and on the space in which a ridge problem lives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from mercer.arrays import Array
from mercer.kernels.gram import GramMatrix, as_gram_matrix
from mercer.threads import single_threaded_blas

# Columns of the matrix that are taken at once: enough for matrix products, few enough to adapt to what is left.
_COLUMNS_AT_ONCE = 128
# Rows of the factor that are worked on at once, so that it needs no second copy.
_CHUNK = 2048


@dataclass(frozen=True)
class LeadingSpectrum:
    """U diag(values) Uᵀ ≈ (1 - P) W K W (1 - P), with W² the weights and P the projection onto WΦ.

    With B = W b the system (K + ridge / W²) B + Φ d = y, ΦᵀB = 0 of a weighted ridge problem is
    ((1 - P) W K W (1 - P) + ridge) b = (1 - P) W y: all samples weigh the same, nothing is constrained, and for a
    conditionally positive kernel the matrix is positive semi-definite.

    Attributes
    ----------
    root : array of shape (n,)
        W.
    basis : array of shape (n, n_columns)
        Orthonormal columns that span WΦ.
    vectors, values : arrays of shapes (n, rank) and (rank,)
        U and the eigenvalues, in ascending order. U is orthogonal to the basis.
    trace_error : float
        Trace of W (K - L Lᵀ) W, L the factor from which U comes: what the spectrum does not know of.
    """

    root: Array
    basis: Array
    vectors: Array
    values: Array
    trace_error: float

    @property
    def mean(self) -> float:
        """Mean of all eigenvalues, those that are not known included."""
        n_free = max(1, len(self.root) - self.basis.shape[1])
        return (float(self.values.sum()) + self.trace_error) / n_free

    def project(self, V: Array) -> Array:
        """(1 - P) V."""
        return V - self.basis @ (self.basis.T @ V)

    def solve(self, V: Array, ridge: float) -> Array:
        """(U diag(values) Uᵀ + ridge)⁻¹ V."""
        share = self.values / (self.values + ridge)
        return (V - self.vectors @ ((self.vectors.T @ V).T * share).T) / ridge

    def inverse_diagonal(self, ridge: float) -> Array:
        """Diagonal of that inverse on the complement of WΦ."""
        share = self.values / (self.values + ridge)
        explained = np.einsum("ij,ij->i", self.basis, self.basis)
        for rows in _slices(len(explained), _CHUNK):
            explained[rows] += self.vectors[rows] ** 2 @ share
        return (1.0 - explained) / ridge


def leading_spectrum(
    gram: GramMatrix | Array,
    columns: Array,
    weights: Array,
    *,
    rank: int,
    conditional: bool = False,
    random_state: int | None = 0,
) -> LeadingSpectrum:
    """The leading spectrum of a Gram matrix from a randomly pivoted Cholesky factor.

    Each pivot is drawn with a probability proportional to what is left of the diagonal, which beats the largest one and
    uniform ones [Diaz2023]_. A conditionally positive kernel is pinned first: it is replaced by the positive definite
    one that differs from it by what Φ spans, and vanishes at some rows.

    Parameters
    ----------
    gram : GramMatrix or array
        K.
    columns : array of shape (n, n_columns)
        Φ.
    weights : array of shape (n,)
        Positive weights of the samples.
    rank : int
        Largest number of eigenvalues.
    conditional : bool
        Whether K is positive semi-definite only on the complement of Φ.
    random_state : int, optional
        Seed of the pivots.

    Notes
    -----
    Cost O(n rank²) and n · rank evaluations of the kernel; memory n · rank numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram
    >>> from mercer.solvers.leading_spectrum import leading_spectrum
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> spectrum = leading_spectrum(Gram(Gaussian(), X), np.ones((200, 1)), np.ones(200), rank=20)
    >>> centred = Gaussian()(X) - Gaussian()(X).mean(axis=0)
    >>> np.allclose(spectrum.values[-3:], np.linalg.eigvalsh(centred - centred.mean(axis=1)[:, None])[-3:])
    True
    """
    root = np.sqrt(weights)
    basis = _orthonormal(root[:, None] * columns)
    # The rows on which the columns are determined best.
    pins = qr(basis.T, pivoting=True, mode="r")[1][: basis.shape[1]] if conditional else np.empty(0, dtype=np.intp)
    scaled = _Scaled(as_gram_matrix(gram, len(root)), root, columns, pins)
    factor, trace_error = _random_cholesky(scaled, rank, np.random.default_rng(random_state))
    for part in _slices(factor.shape[1], _COLUMNS_AT_ONCE):
        factor[:, part] -= basis @ (basis.T @ factor[:, part])
    values, rotation = _eigh(factor.T @ factor)
    # Directions that are rounding noise beside the largest would not come out orthogonal.
    kept = values > 1e-12 * np.max(values, initial=0.0)
    values, rotation = values[kept], rotation[:, kept] / np.sqrt(values[kept])
    for part in _slices(len(factor), _CHUNK):
        factor[part, : len(values)] = factor[part] @ rotation
    return LeadingSpectrum(root, basis, factor[:, : len(values)], values, trace_error)


class _Scaled:
    """Columns of W K̃ W, where K̃ = (1 - E S) K (1 - E S)ᵀ, S takes the rows at the pins and E interpolates between them.

    E S reproduces Φ, so that K̃ and K have the same quadratic form on ΦᵀB = 0, and (1 - E S)ᵀ maps all vectors there.
    """

    def __init__(self, gram: GramMatrix, root: Array, columns: Array, pins: Array):
        self._gram, self._root, self._pins = gram, root, pins
        self._E = columns @ np.linalg.pinv(columns[pins]) if len(pins) else np.empty((len(root), 0))
        at_pins = self._block(pins)
        self._left = at_pins - self._E @ at_pins[pins]
        diagonal = np.asarray(gram.diagonal(), dtype=np.float64)
        diagonal = diagonal - np.einsum("ij,ij->i", at_pins + self._left, self._E)
        diagonal[pins] = 0.0
        self.diagonal = root**2 * diagonal
        self.eps = float(np.finfo(gram.dtype).eps)

    def columns(self, chosen: Array) -> Array:
        values = self._block(chosen)
        if len(self._pins):
            values -= self._E @ values[self._pins] + self._left @ self._E[chosen].T
        values *= self._root[:, None]
        values *= self._root[chosen]
        return values

    def _block(self, chosen: Array) -> Array:
        return np.asarray(self._gram.block(slice(None), chosen), dtype=np.float64)


def _random_cholesky(matrix: _Scaled, rank: int, rng: np.random.Generator) -> tuple[Array, float]:
    """A factor of at most that rank, and the trace of what it leaves."""
    remainder = np.maximum(matrix.diagonal, 0.0)
    n = len(remainder)
    # What is left below this is rounding noise.
    floor = n * matrix.eps * float(np.max(remainder, initial=0.0))
    factor, n_filled = np.empty((n, min(rank, n)), order="F"), 0
    while n_filled < factor.shape[1] and remainder.max() > floor:
        drawn = rng.choice(n, size=min(_COLUMNS_AT_ONCE, factor.shape[1] - n_filled), p=remainder / remainder.sum())
        pivots = np.unique(drawn)
        known = factor[:, :n_filled]
        block = matrix.columns(pivots) - known @ known[pivots].T
        if not np.isfinite(block).all():
            break
        values, vectors = _eigh(block[pivots])
        kept = values > floor
        fresh = block @ (vectors[:, kept] / np.sqrt(values[kept]))
        factor[:, n_filled : n_filled + fresh.shape[1]] = fresh
        n_filled += fresh.shape[1]
        remainder = np.maximum(remainder - np.einsum("ij,ij->i", fresh, fresh), 0.0)
        remainder[pivots] = 0.0
    return factor[:, :n_filled], float(remainder.sum())


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of what some columns span."""
    size = np.linalg.norm(columns, axis=0)
    unit = columns[:, size > 0] / size[size > 0]
    left, singular, _ = np.linalg.svd(unit, full_matrices=False)
    return left[:, singular > len(columns) * np.finfo(np.float64).eps * np.max(singular, initial=0.0)]


def _eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors; threads save little on such small matrices, and lose much on a busy machine."""
    with single_threaded_blas:
        values, vectors = np.linalg.eigh(A)
    return values, vectors


def _slices(n: int, length: int) -> list[slice]:
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]
