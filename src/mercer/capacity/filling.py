"""Entropy numbers of kernel classes in closed form: water filling over the eigenvalues."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.arrays import Array
from mercer.capacity.checks import check_log_n, check_norm, check_scale
from mercer.capacity.ellipsoids import packing_log_covering
from mercer.capacity.searches import least_of
from mercer.capacity.spectrum import Spectrum
from mercer.parameters import check_choice, check_count

REGULARIZERS = ("rkhs", "l1")
# Truncations of longer lists are not tried: their heads are too large to be better than water filling.
_MOST_TRUNCATED = 1024


class WaterFilling(NamedTuple):
    """What `water_filling` found.

    Attributes
    ----------
    log_level : float
        ln c: eigenvalues above it are coded, the others are not.
    n_axes : int
        j*, how many there are above it.
    log_distortion : float
        ln D(c), D(c) = Σ min(λ_i, c).
    radii : array
        a_i = max(λ_i/c, 1)^½ of the listed eigenvalues: the best scaling of the axes. Infinite where it overflows.
    """

    log_level: float
    n_axes: int
    log_distortion: float
    radii: Array


def water_filling(spectrum: Spectrum, log_n: float) -> WaterFilling:
    """The level c at which n balls are spent: ln n = ½ Σ ln⁺(λ_i/c), with the distortion D(c) = Σ min(λ_i, c).

    It is the distortion-rate function of a Gaussian process with this covariance, and the solution of the optimisation
    over scalings behind [Smola1998]_, eq. (8.19), (8.59), (8.62) and (9.27): c = (λ_1 ... λ_j / n²)^(1/j) for the least
    j with λ_{j+1} ≤ c.

    Parameters
    ----------
    spectrum : Spectrum
        Eigenvalues with multiplicities.
    log_n : float
        Natural logarithm of the number n of balls.

    Returns
    -------
    WaterFilling
        log_level, n_axes, log_distortion, radii.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import Spectrum, water_filling
    >>> filled = water_filling(Spectrum.of([4.0, 1.0, 0.25]), np.log(4))
    >>> filled.n_axes, round(float(np.exp(filled.log_level)), 6)
    (2, 0.5)
    """
    log_n = check_log_n(log_n, "water_filling")
    spectrum, log_level, n_axes, log_distortion = _filled(spectrum, log_n)
    with np.errstate(over="ignore"):
        radii = np.exp(0.5 * np.maximum(spectrum.log_values - log_level, 0.0))
    return WaterFilling(log_level, n_axes, log_distortion, radii)


def _filled(spectrum: Spectrum, log_n: float) -> tuple[Spectrum, float, int, float]:
    """The spectrum, listed far enough; level, number of axes above it, and distortion in logarithms."""
    spectrum = spectrum.reaching(lambda listed: _level(listed, log_n)[0])
    log_level, n_axes, last = _level(spectrum, log_n)
    coded = log_level + np.log(spectrum.sums.axes[last])
    return spectrum, log_level, n_axes, float(np.logaddexp(coded, spectrum.sums.log_tails[last]))


def _level(spectrum: Spectrum, log_n: float) -> tuple[float, int, int]:
    """Level, number of axes above it, and the index of the last listed eigenvalue above it."""
    sums = spectrum.sums
    k = int(np.searchsorted(sums.log_counts, log_n))
    return float((sums.logs[k] - 2.0 * log_n) / sums.axes[k]), round(float(sums.axes[k])), k


def log_entropy_number(
    spectrum: Spectrum,
    log_n: float,
    *,
    norm: float = 1.0,
    regularizer: str = "rkhs",
    n_outputs: int = 1,
    clip: bool = True,
) -> float:
    """Logarithm of `entropy_number`, which does not underflow.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import log_entropy_number, periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> round(log_entropy_number(periodic_spectrum(Gaussian(1.0), 2 * np.pi), 1e8 * np.log(2)))
    -87743
    """
    owner = "entropy_number"
    log_n, log_norm = check_log_n(log_n, owner), float(np.log(check_norm(norm, owner)))
    check_choice(regularizer, REGULARIZERS, "regularizer", owner)
    log_n = log_n / check_count(n_outputs, "n_outputs", owner)
    power = 2 if regularizer == "l1" else 1
    log_distortion = _filled(spectrum, log_n / power)[-1]
    value = float(np.log(6) + power * (np.log(spectrum.scale) + 0.5 * log_distortion))
    return log_norm + (min(value, power * spectrum.log_trivial) if clip else value)


def entropy_number(
    spectrum: Spectrum,
    log_n: float,
    *,
    norm: float = 1.0,
    regularizer: str = "rkhs",
    n_outputs: int = 1,
    clip: bool = True,
) -> float:
    """Radius at which n balls of the maximum norm cover the functions of a kernel class.

    ε_n ≤ 6 Λ C_k sqrt(D(c)), and at most Λ sqrt(k(0)); for the l1 regularizer 6 Λ C_k² D(c) with ln n = Σ ln⁺(λ_i/c).

    Parameters
    ----------
    spectrum : Spectrum
        Of the kernel, see `periodic_spectrum`.
    log_n : float
        Natural logarithm of n.
    norm : float
        Λ: the bound on ‖f‖, or on Σ abs(α_i) for the l1 regularizer.
    regularizer : {"rkhs", "l1"}
        The ball of the feature space, or Λ times the convex hull of the kernel functions.
    n_outputs : int
        Number d of outputs of f; n balls serve as n^(1/d) for each.
    clip : bool
        Whether the number is at most Λ sqrt(k(0)), the radius of one ball around zero. False gives 6 Λ C_k sqrt(D) as
        the papers print it, which is more for small n.

    Returns
    -------
    float
        An upper bound on the entropy number; the best one of its kind is between a sixth of it and itself.

    Notes
    -----
    [Smola1998]_, corollaries 8.3, 8.13 and 8.15 and theorem 9.6, with C_k = v^(-d/2) for a kernel of period v. The
    bounds on risks that follow from these numbers are vacuous on samples of usual size: the numbers are good for
    comparing kernels, periods and dimensions, and for rates.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import entropy_number, periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> spectrum = periodic_spectrum(Gaussian(1.0), 2 * np.pi)
    >>> [round(entropy_number(spectrum, bits * np.log(2)), 5) for bits in (10, 20, 50)]
    [1.0, 0.51855, 0.04682]
    """
    options = {"norm": norm, "regularizer": regularizer, "n_outputs": n_outputs, "clip": clip}
    return float(np.exp(log_entropy_number(spectrum, log_n, **options)))  # type: ignore[arg-type]


def log_covering(
    spectrum: Spectrum,
    epsilon: float,
    *,
    norm: float = 1.0,
    regularizer: str = "rkhs",
    n_outputs: int = 1,
    method: str = "best",
) -> float:
    """Logarithm of the number of balls of radius ε, in the maximum norm, that cover a kernel class.

    Parameters
    ----------
    spectrum : Spectrum
        Of the kernel.
    epsilon : float
        Radius of the balls.
    norm, regularizer, n_outputs
        The class, as in `entropy_number`.
    method : {"best", "water", "truncated"}
        "water" inverts `entropy_number`. "truncated" drops the eigenvalues beyond some J, which costs
        Λ C_k sqrt(Σ_{i>J} λ_i) of ε, and covers the ellipsoid with axes Λ C_k sqrt(J λ_i); the best J is taken. It
        covers the hull of the l1 regularizer as part of a ball. "best" is the smaller one.

    Returns
    -------
    float
        ln N(ε), 0 where one ball is enough.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import log_covering, periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> spectrum = periodic_spectrum(Gaussian(1.0), 2 * np.pi)
    >>> [round(log_covering(spectrum, 0.1, method=method), 1) for method in ("water", "truncated")]
    [27.7, 19.7]
    """
    owner = "log_covering"
    epsilon, norm = check_scale(epsilon, owner), check_norm(norm, owner)
    check_choice(regularizer, REGULARIZERS, "regularizer", owner)
    check_choice(method, ("best", "water", "truncated"), "method", owner)
    n_outputs = check_count(n_outputs, "n_outputs", owner)
    log_scale = float(np.log(epsilon) - np.log(norm))
    power = 2 if regularizer == "l1" else 1
    if log_scale >= power * spectrum.log_trivial:
        return 0.0
    values = []
    if method != "truncated":
        values.append(_water_log_covering(spectrum, log_scale, power))
    if method != "water":
        # The hull of kernel functions of norm sqrt(k(0)) lies in a ball of that radius.
        values.append(_truncated_log_covering(spectrum, log_scale - (power - 1) * spectrum.log_trivial))
    return n_outputs * min(values)


def _water_log_covering(spectrum: Spectrum, log_scale: float, power: int) -> float:
    """½ Σ ln⁺(λ_i/c) at the level c where D(c) is what ε allows; twice that for the hull."""
    log_distortion = (2.0 / power) * (log_scale - np.log(6)) - 2 * np.log(spectrum.scale)
    spectrum = spectrum.reaching(lambda listed: _level_of_distortion(listed, log_distortion)[0])
    log_level, k = _level_of_distortion(spectrum, log_distortion)
    if k < 0:
        return np.inf
    return 0.5 * power * float(spectrum.sums.logs[k] - spectrum.sums.axes[k] * log_level)


def _level_of_distortion(spectrum: Spectrum, log_distortion: float) -> tuple[float, int]:
    """Ln c with D(c) = D, and the last eigenvalue above it; -inf and -1 if the tail alone is more."""
    sums = spectrum.sums
    if sums.log_tails[-1] >= log_distortion:
        return -np.inf, -1
    k = max(int(np.searchsorted(sums.log_distortions, -log_distortion)) - 1, 0)
    log_rest = log_distortion + np.log1p(-np.exp(sums.log_tails[k] - log_distortion))
    return float(log_rest - np.log(sums.axes[k])), k


def _truncated_log_covering(spectrum: Spectrum, log_scale: float) -> float:
    """The least of the covers that keep the eigenvalues up to some place."""
    log_unit = log_scale - np.log(spectrum.scale)  # ε / (Λ C_k)
    spectrum = spectrum.reaching(lambda listed: 2 * log_unit - np.log(listed.sums.axes[-1]), most=_MOST_TRUNCATED)
    sums = spectrum.sums
    left = -np.expm1(np.minimum(0.5 * sums.log_tails - log_unit, 0.0))  # what the head may use of ε

    def cover(k: int) -> float:
        log_axes = 0.5 * (np.log(sums.axes[k]) + spectrum.log_values[: k + 1]) - log_unit
        return packing_log_covering(np.exp(log_axes), float(left[k]), spectrum.counts[: k + 1])

    possible = np.flatnonzero(left > 0)
    return least_of(cover, int(possible[0]), len(left) - 1) if possible.size else np.inf
