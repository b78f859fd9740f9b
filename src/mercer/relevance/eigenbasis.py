"""Leading eigenpairs of a Gram matrix that stand above rounding, and what they see of some labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.kernels.gram import LowRank
from mercer.solvers.lapack import TridiagonalForm

# Components below this fraction of the largest eigenvalue are rounding noise, whatever the number of rows.
_FLOOR = 1e-13


@dataclass(frozen=True)
class Eigenbasis:
    """Eigenpairs (μ_m, u_m) of K above rounding, descending, and the coefficients z = Uᵀ Y of the columns Y.

    Attributes
    ----------
    values : array of shape (r,)
        μ_m.
    coefficients : array of shape (r, n_targets)
        z.
    tail : array of shape (n_targets,)
        Energy ||Y||² - ||z||² outside of these components: of those that are rounding noise, or that a low-rank factor
        left out.
    rounding : float
        Differences of eigenvalues that are smaller mean nothing.
    means : array of shape (n_targets,), optional
        Means of the columns Y, if constant functions were projected out of K and Y first.
    """

    values: Array
    coefficients: Array
    tail: Array
    rounding: float
    means: Array | None
    _small_vectors: Array
    _expand: Callable[[Array], Array]

    @classmethod
    def of_gram(cls, kernel: Kernel, K: Array, Y: Array, constant: Sequence[bool] = (False,)) -> Iterator[Eigenbasis]:
        """From the whole matrix, which is overwritten: with or without constants projected out, or both."""
        precision = float(np.finfo(K.dtype).eps)
        K = K.astype(np.float64, copy=False)
        L = _numerical_factor(K, precision)
        for i, has_constant in enumerate(constant, start=1):
            if L is None:
                matrix = K if i == len(constant) else K.copy()
                yield cls._of_matrix(kernel, matrix, Y, precision, constant=has_constant)
            else:
                yield cls._of_factor(kernel, L, Y, precision, constant=has_constant)

    @classmethod
    def _of_matrix(cls, kernel: Kernel, K: Array, Y: Array, precision: float, *, constant: bool) -> Eigenbasis:
        means = None
        of_mean = float(np.mean(K)) * len(K)
        if constant:
            K -= K.mean(axis=0)
            K -= K.mean(axis=1)[:, None]
            means = Y.mean(axis=0)
            Y = Y - means
        # K = Q T Qᵀ with T tridiagonal, whose eigenvectors S are cheap: z = Sᵀ Qᵀ Y, and only those eigenvectors Q s_m
        # are formed that are asked for.
        form = TridiagonalForm(K)
        values, S = form.eigenpairs()
        values, S = values[::-1], S[:, ::-1]
        rounding = _rounding(kernel, values, len(Y), precision, of_mean)
        z, r = S.T @ form.turned(Y, back=True), int(np.count_nonzero(values > rounding))
        return cls(values[:r], z[:r], np.sum(z[r:] ** 2, axis=0), rounding, means, S[:, :r], form.turned)

    @classmethod
    def of_low_rank(cls, low_rank: LowRank, Y: Array, *, constant: bool = False) -> Eigenbasis:
        """From a factor K ≈ L Lᵀ: what it leaves out counts as tail."""
        if not low_rank.rank:
            raise _not_positive(low_rank.kernel, 0.0, 0.0)
        return cls._of_factor(low_rank.kernel, low_rank.factor, Y, low_rank.precision, constant=constant)

    @classmethod
    def _of_factor(cls, kernel: Kernel, L: Array, Y: Array, precision: float, *, constant: bool) -> Eigenbasis:
        # LᵀL = V M Vᵀ has the eigenvalues of L Lᵀ, with the same absolute rounding, and u_m = L v_m / √μ_m: to
        # √(μ_1 / μ_m) times the precision, so to 1e-9 for the smallest that are kept.
        means = None
        of_mean = len(L) * float(np.sum(L.mean(axis=0) ** 2))
        if constant:
            means = Y.mean(axis=0)
            L, Y = L - L.mean(axis=0), Y - means
        values, V = eigh(L.T @ L, driver="evd", overwrite_a=True, check_finite=False)
        values, V = values[::-1], V[:, ::-1]
        rounding = _rounding(kernel, values, len(Y), precision, of_mean)
        r = int(np.count_nonzero(values > rounding))
        V = V[:, :r] / np.sqrt(values[:r])
        z = V.T @ (L.T @ Y)
        return cls(values[:r], z, np.sum((Y - L @ (V @ z)) ** 2, axis=0), rounding, means, V, L.__matmul__)

    def vectors(self, d: int) -> Array:
        """Eigenvectors u_1, ..., u_d as columns."""
        return self._expand(self._small_vectors[:, :d])

    def cuts(self, n: int) -> Array:
        """Dimensions 1 <= d <= n/2 at which the spectrum can be cut.

        Between μ_d and μ_{d+1} there must be more than rounding: inside of a cluster of equal eigenvalues the
        eigenvectors are arbitrary, and so would be what a cut separates.
        """
        gaps = self.values - np.append(self.values[1:], self.rounding)
        cuts = np.flatnonzero(gaps > self.rounding) + 1
        return cuts[cuts <= n // 2]


def _numerical_factor(K: Array, precision: float) -> Array | None:
    """The pivoted Cholesky factor of K to rounding, if it has less than half as many columns as rows."""
    n = len(K)
    diagonal = np.diagonal(K)
    floor = n * precision * float(diagonal.max())
    factored, pivots, rank, _ = dpstrf(K, tol=floor, lower=1)
    if rank >= n // 2 or rank == 0:
        return None
    L = np.empty((n, rank))
    L[pivots - 1] = np.tril(factored[:, :rank])
    # Pivots on the diagonal cannot see that a matrix is indefinite; a product can.
    probe = np.random.default_rng(0).standard_normal(n)
    missed = np.linalg.norm(K @ probe - L @ (L.T @ probe)) / np.linalg.norm(probe)
    return L if missed <= n * floor else None


def _rounding(kernel: Kernel, values: Array, n: int, precision: float, of_mean: float) -> float:
    """The size of what is rounding in descending eigenvalues for n rows.

    `of_mean` is the square of the mean feature times n, which is at most the largest eigenvalue of the matrix before it
    was centred: what rounding is, does not become less when the mean is subtracted.
    """
    largest = max(float(values[0]), of_mean)
    if values[-1] < -np.sqrt(precision) * largest or largest <= 0:
        raise _not_positive(kernel, float(values[-1]), float(values[0]))
    return max(_FLOOR, n * precision) * largest


def _not_positive(kernel: Kernel, smallest: float, largest: float) -> ValueError:
    return ValueError(
        f"{kernel!r} must be positive definite on X to have relevant dimensions, got eigenvalues from {smallest:.1e} "
        f"to {largest:.1e}; mend the matrix or choose another kernel."
    )
