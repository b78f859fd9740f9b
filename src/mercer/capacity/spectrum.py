"""Eigenvalues of a kernel with their multiplicities, in logarithms, so that none of them underflows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer.capacity.checks import Array, check_axes, check_scale

_NEGLIGIBLE = np.log(1e-18)


class Sums(NamedTuple):
    """Sums over the eigenvalues, for every place where they may be cut."""

    axes: Array  # number of eigenvalues up to each listed one
    logs: Array  # sum of their logarithms
    log_tails: Array  # logarithm of the sum of all that follow


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
        return Sums(np.cumsum(self.counts), np.cumsum(self.counts * self.log_values), tails)

    def reaching(self, log_level: Callable[[Spectrum], float]) -> Spectrum:
        """The same spectrum, listed down to a level, and until the rest adds nothing to sums of min(λ, level).

        Parameters
        ----------
        log_level : callable
            The level that some list gives.
        """
        spectrum = self
        while spectrum.extend is not None:
            level, last = log_level(spectrum), float(spectrum.log_values[-1])
            n_above = spectrum.sums.axes[np.searchsorted(-spectrum.log_values, -level)] if last <= level else np.inf
            mass = last + float(np.log(spectrum.counts[-1]))
            complete = np.isfinite(spectrum.log_tail) or mass <= level + np.log(max(n_above, 1.0)) + _NEGLIGIBLE
            if last <= level and complete:
                break
            longer = spectrum.extend()
            if longer is None:
                break
            spectrum = longer
        return spectrum
