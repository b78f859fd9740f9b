"""Eigenvalues of a kernel with their multiplicities, in logarithms, so that none of them underflows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.checks import check_axes, check_scale

_NEGLIGIBLE = np.log(1e-18)


class Sums(NamedTuple):
    """Sums over the eigenvalues, for every place where they may be cut."""

    axes: Array  # number of eigenvalues up to each listed one
    logs: Array  # sum of their logarithms
    log_tails: Array  # logarithm of the sum of all that follow
    log_counts: Array  # ln n at the level of the next one: rising
    log_distortions: Array  # ln D at the level of each one, negated: rising


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues λ_i of the integral operator of a kernel, each `counts` times.

    Parameters
    ----------
    log_values : array
        ln λ, descending.
    counts : array
        Multiplicities.
    log_tail : float
        Logarithm of the sum of all eigenvalues that are not listed, -inf if there are none or if they are negligible.
    scale : float
        C_k: the eigenfunctions satisfy Σ ψ_i(x)² ≤ C_k² · (their number) for all of one eigenvalue.
    extend : callable, optional
        Gives a longer list, or None where it ends.

    Notes
    -----
    The class of functions of norm Λ is the image of an ellipsoid with squared axes λ_i; C_k² Σ λ_i = k(x, x).
    `periodic_spectrum` and `Spectrum.of` make one.
    """

    log_values: Array
    counts: Array
    log_tail: float = -np.inf
    scale: float = 1.0
    extend: Callable[[], Spectrum | None] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, values: ArrayLike, *, scale: float = 1.0) -> Spectrum:
        """The spectrum with these eigenvalues and no others.

        Parameters
        ----------
        values : array_like
            Eigenvalues >= 0 in any order; zeros are left out.
        scale : float
            C_k, the bound of the eigenfunctions.

        Examples
        --------
        >>> from mercer.capacity import Spectrum
        >>> Spectrum.of([1.0, 0.25, 0.0]).counts
        array([1., 1.])
        """
        owner = "Spectrum.of"
        values = check_axes(values, owner)
        values = values[values > 0]
        return cls(np.log(values), np.ones(len(values)), scale=check_scale(scale, owner, "scale"))

    @cached_property
    def log_trace(self) -> float:
        """Logarithm of the sum of all eigenvalues."""
        return float(np.logaddexp(np.logaddexp.reduce(self.log_values + np.log(self.counts)), self.log_tail))

    @cached_property
    def log_trivial(self) -> float:
        """Logarithm of sqrt(k(x, x)): the radius at which one ball covers the functions of norm one."""
        return float(np.log(self.scale)) + 0.5 * self.log_trace

    @cached_property
    def sums(self) -> Sums:
        """Number, sum of logarithms, and tail at every listed eigenvalue."""
        masses = np.append(self.log_values + np.log(self.counts), self.log_tail)
        tails = np.logaddexp.accumulate(masses[::-1])[::-1][1:]
        axes, logs = np.cumsum(self.counts), np.cumsum(self.counts * self.log_values)
        following = np.append(self.log_values[1:], -np.inf)
        return Sums(
            axes, logs, tails, 0.5 * (logs - axes * following), -np.logaddexp(self.log_values + np.log(axes), tails)
        )

    @cached_property
    def longer(self) -> Spectrum | None:
        """A longer list of the same eigenvalues, kept for the next time; None where there is none."""
        return self.extend() if self.extend is not None else None

    def reaching(self, log_level: Callable[[Spectrum], float], *, most: int | None = None) -> Spectrum:
        """The same spectrum, listed down to a level, and until the rest adds nothing to sums of min(λ, level).

        Parameters
        ----------
        log_level : callable
            The level that some list gives.
        most : int, optional
            Lists of so many different eigenvalues are long enough.
        """
        spectrum = self
        while not spectrum._reaches(log_level(spectrum)) and (most is None or len(spectrum.counts) < most):
            if spectrum.longer is None:
                break
            spectrum = spectrum.longer
        return spectrum

    def _reaches(self, level: float) -> bool:
        """Whether the list goes down to a level, and all that follows adds nothing or is known as a sum."""
        last = float(self.log_values[-1])
        if last > level:
            return False
        n_above = self.sums.axes[np.searchsorted(-self.log_values, -level)]
        mass = last + float(np.log(self.counts[-1]))
        return bool(np.isfinite(self.log_tail) or mass <= level + np.log(n_above) + _NEGLIGIBLE)
