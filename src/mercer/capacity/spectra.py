"""Eigenvalues of periodised kernels in d dimensions, with their multiplicities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.capacity.checks import check_scale
from mercer.capacity.images import image_sum, shells
from mercer.capacity.spectrum import Spectrum
from mercer.kernels import Kernel, Periodized
from mercer.parameters import check_count, is_number

# Shells, or frequencies of a kernel that is not radial, that are listed at first and at most.
_FIRST, _MOST = 2**12, 2**20


def shell_counts(n_dims: int, largest: int) -> list[int]:
    """Number of whole vectors of squared length 0, 1, ..., `largest`: the coefficients of θ^d, θ(q) = 1 + 2 Σ q^(n²).

    Parameters
    ----------
    n_dims : int
        d.
    largest : int
        The largest squared length.

    Notes
    -----
    [Smola1998]_, theorem 8.14, whose sum starts at 0. Exact, by the recurrence for powers of a series.

    Examples
    --------
    >>> from mercer.capacity import shell_counts
    >>> shell_counts(4, 8)
    [1, 8, 24, 32, 24, 48, 96, 64, 24]
    """
    d = check_count(n_dims, "n_dims", "shell_counts")
    counts = [1]
    for k in range(1, check_count(largest, "largest", "shell_counts", least=0) + 1):
        squares = (n * n for n in range(1, int(k**0.5) + 2))
        total = sum(2 * (i * d - k + i) * counts[k - i] for i in squares if i <= k)
        counts.append(total // k)
    return counts


def periodic_spectrum(kernel: Kernel, period: float, *, n_dims: int = 1, tol: float = 1e-16) -> Spectrum:
    """Eigenvalues (2π)^(d/2) F[k](2πj/v) of the kernel with period v, j running over all whole vectors.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, with a spectrum, and integrable.
    period : float
        v. Data of diameter D and a kernel that is zero beyond a need v ≥ a + D; see `best_period` for others.
    n_dims : int
        d.
    tol : float
        The list ends where eigenvalues add less than this share to their sum; for spectra that fall too slowly, as
        that of `Exponential`, the sum of all others is known from v^d k_v(0). It grows by itself where more are needed.

    Returns
    -------
    Spectrum
        With C_k = v^(-d/2): Σ ψ_j(x)² over a shell of d-dimensional frequencies is v^(-d) times their number.

    Notes
    -----
    [Smola1998]_, eq. (8.46) to (8.53), lemma 8.8 and corollary 8.15. Radial kernels are listed by shells of frequencies
    of equal length, others by single frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> spectrum = periodic_spectrum(Gaussian(1.0), 2 * np.pi)
    >>> np.exp(spectrum.log_values[:3]).round(4), spectrum.counts[:3]
    (array([2.5066, 1.5203, 0.3392]), array([1., 2., 2.]))
    """
    owner = "periodic_spectrum"
    _check_kernel(kernel, owner)
    if not is_number(tol) or not 0 < tol < 1:
        raise ValueError(f"tol of {owner} must be between 0 and 1, got {tol!r}; leave it at 1e-16.")
    period = check_scale(period, owner, "period")
    frequencies = _Frequencies(kernel, period, check_count(n_dims, "n_dims", owner), float(tol))
    return frequencies.listed(frequencies.first_reach())


def _check_kernel(kernel: Any, owner: str) -> None:
    if not isinstance(kernel, Kernel) or not kernel.has_spectrum:
        raise TypeError(
            f"kernel of {owner} must be a kernel with a spectrum, got {kernel!r}; take a stationary one, as Gaussian, "
            "or the Gram matrix on the sample: SampleCapacity.of(kernel(X))."
        )
    if kernel.order != 0:
        raise ValueError(
            f"kernel of {owner} must be positive definite, got {kernel!r}; conditionally positive kernels have no "
            "eigenvalues: project the polynomials out of kernel(X) for SampleCapacity, and add Offsets for them."
        )


@dataclass(frozen=True)
class _Frequencies:
    """Where the eigenvalues of a periodised kernel come from."""

    kernel: Kernel
    period: float
    n_dims: int
    tol: float

    def first_reach(self) -> int:
        """How far the first list goes: not far in many dimensions, if frequencies are listed one by one."""
        reach = 16
        while reach > 1 and self._size(reach) > _MOST:
            reach //= 2
        if not self.kernel.stationary and self._size(reach) > _MOST:
            raise ValueError(
                f"n_dims of periodic_spectrum must be at most 20 for kernels that are not radial, got {self.n_dims}; "
                "bring the columns to one scale and take a radial kernel, as Gaussian with one width."
            )
        return reach

    def listed(self, reach: int) -> Spectrum:
        """The spectrum, listed until it is complete or long; at least `reach` shells or lengths of frequencies."""
        while True:
            log_values, counts = self._eigenvalues(reach)
            log_masses = log_values + np.log(counts)
            log_total = float(np.logaddexp.reduce(log_masses))
            # Zeros of a spectrum do not end it: look at the whole last quarter.
            end = float(np.logaddexp.reduce(log_masses[-max(1, len(log_masses) // 4) :]))
            complete = end <= log_total + np.log(self.tol)
            if complete or self._size(2 * reach) > _FIRST:
                break
            reach *= 2
        log_tail = -np.inf if complete else self._log_tail(log_total)
        order = np.argsort(-log_values, kind="stable")
        order = order[np.isfinite(log_values[order])]
        scale = self.period ** (-self.n_dims / 2)
        return Spectrum(log_values[order], counts[order], log_tail, scale, partial(self._longer, reach))

    def _longer(self, reach: int) -> Spectrum | None:
        return self.listed(2 * reach) if self._size(2 * reach) <= _MOST else None

    def _size(self, reach: int) -> float:
        if self.kernel.stationary:
            return float(reach) if self.n_dims == 1 else float(reach) * self.n_dims
        return float(reach + 1) ** self.n_dims

    def _eigenvalues(self, reach: int) -> tuple[Array, Array]:
        """Logarithms and multiplicities, by frequency."""
        unit = 2 * np.pi / self.period
        if self.kernel.stationary:
            squares, counts = shells(self.n_dims, reach)
            omega = unit * np.sqrt(squares)
        else:
            axes = np.meshgrid(*[np.arange(reach + 1.0)] * self.n_dims, indexing="ij")
            vectors = np.stack([axis.ravel() for axis in axes], axis=-1)
            vectors = vectors[np.argsort(np.abs(vectors).max(axis=1), kind="stable")]
            counts = 2.0 ** np.count_nonzero(vectors, axis=1)
            omega = unit * (vectors[:, 0] if self.n_dims == 1 else vectors)
        log_values = self.n_dims / 2 * np.log(2 * np.pi) + self.kernel.log_spectrum(omega, self.n_dims)
        if not np.all(log_values < np.inf):  # NaN too
            raise ValueError(
                f"kernel of periodic_spectrum must be integrable in {self.n_dims} dimensions, got {self.kernel!r}; it "
                "falls too slowly to be made periodic: take one that falls faster, as Gaussian, or a product of such "
                "kernels of single columns."
            )
        return log_values, counts

    def _log_tail(self, log_head: float) -> float:
        """Logarithm of v^d k_v(0) minus what is listed; never less than rounding could hide."""
        log_trace = self.n_dims * np.log(self.period) + np.log(self._value_at_zero())
        rest = -np.expm1(min(log_head - log_trace, 0.0))
        return float(log_trace + np.log(max(rest, 1e-15)))

    def _value_at_zero(self) -> float:
        """k_v(0) = Σ k(vj), over images."""
        if not self.kernel.stationary:
            return float(Periodized(self.kernel, self.period)(np.zeros((1, self.n_dims)))[0, 0])
        return image_sum(self.kernel, self.period, self.n_dims, owner="periodic_spectrum")
