"""How many balls cover an ellipsoid, from below and from above."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from mercer.arrays import Array
from mercer.capacity.checks import check_axes, check_log_n, check_scale
from mercer.capacity.searches import least_of

_LOG_RATIOS = (-12.0, 12.0)


class Interval(NamedTuple):
    """A number that is not known exactly: it lies between two bounds."""

    lower: float
    upper: float


def ellipsoid_log_covering(axes: ArrayLike, epsilon: float) -> Interval:
    """Logarithm of the number of balls of radius ε that cover an ellipsoid with semi-axes σ_1 ≥ σ_2 ≥ ... in ℓ_2.

    Σ ln⁺(σ_i/ε) ≤ ln N(ε) ≤ min over j, t > 0 of Σ_{i≤j} ½ ln((1+t) 4σ_i²/e² + 1 + 1/t) with e² = ε² - σ_{j+1}².

    Parameters
    ----------
    axes : array_like
        Semi-axes, in any order.
    epsilon : float
        Radius of the balls. One ball is enough from the longest axis on.

    Returns
    -------
    Interval
        `lower` and `upper`.

    Notes
    -----
    Lower: volumes. Upper: a packing of the first j axes at distance e; the balls of radius r = e/2 around its points
    lie in the sum E + rB, which lies in the ellipsoid with squared axes (1+t)σ² + (1+1/t)r² for every t > 0. Never more
    than six times the entropy number of the lower bound [Smola1998]_, eq. (8.18): Σ ln⁺(6σ_i/ε).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import ellipsoid_log_covering
    >>> np.exp(ellipsoid_log_covering([1.0, 0.3, 0.1], 0.15)).round(1).tolist()
    [13.3, 123.6]
    """
    owner = "ellipsoid_log_covering"
    sigma, epsilon = check_axes(axes, owner), check_scale(epsilon, owner)
    return Interval(volume_log_covering(sigma, epsilon), packing_log_covering(sigma[sigma > 0], epsilon))


def volume_log_covering(sigma: Array, epsilon: float, counts: Array | float = 1.0) -> float:
    """Σ ln⁺(σ_i/ε): no cover is smaller, and one of radius 6ε has no more balls."""
    with np.errstate(divide="ignore"):
        return float(np.sum(counts * np.maximum(np.log(sigma) - np.log(epsilon), 0.0)))


def packing_log_covering(sigma: Array, epsilon: float, counts: Array | None = None) -> float:
    """The upper bound of `ellipsoid_log_covering` for descending axes > 0, each `counts` times."""
    if not sigma.size or epsilon >= sigma[0]:
        return 0.0
    counts = np.ones(len(sigma)) if counts is None else counts
    following = np.append(sigma[1:], 0.0)
    first = int(np.count_nonzero(following >= epsilon * (1 - 1e-9)))

    def cover(j: int) -> float:
        return _head_log_covering(sigma[: j + 1], counts[: j + 1], epsilon**2 - following[j] ** 2)

    best = least_of(cover, first, len(sigma) - 1)
    return min(best, volume_log_covering(sigma, epsilon / 6, counts))


def _head_log_covering(sigma: Array, counts: Array, e2: float) -> float:
    """Cover of finitely many axes at radius e by comparing volumes, with the best t: the sum is convex in ln t."""
    scaled = 4.0 * sigma**2 / e2

    def cost(log_t: float) -> float:
        t = np.exp(log_t)
        return 0.5 * float(counts @ np.log((1 + t) * scaled + 1 + 1 / t))

    return float(minimize_scalar(cost, bounds=_LOG_RATIOS, method="bounded", options={"xatol": 1e-3}).fun)


def diagonal_entropy_number(axes: ArrayLike, log_n: float) -> Interval:
    """Radius at which n balls cover an ellipsoid in ℓ_2: the entropy number of a diagonal operator.

    sup_j n^(-1/j) (σ_1 ... σ_j)^(1/j) ≤ ε_n ≤ 6 times that [Smola1998]_, eq. (8.18); the upper bound is the smaller one
    of this and of `ellipsoid_log_covering`, solved for ε.

    Parameters
    ----------
    axes : array_like
        Semi-axes, in any order.
    log_n : float
        Natural logarithm of the number of balls; at 0 one ball must do.

    Returns
    -------
    Interval
        `lower` and `upper`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import diagonal_entropy_number
    >>> [round(radius, 3) for radius in diagonal_entropy_number([1.0, 0.3, 0.1], np.log(100))]
    [0.067, 0.161]
    """
    owner = "diagonal_entropy_number"
    sigma, log_n = check_axes(axes, owner), check_log_n(log_n, owner)
    sigma = sigma[sigma > 0]
    if log_n == 0:
        return Interval(float(sigma[0]), float(sigma[0]))
    lower = float(np.exp(np.max((np.cumsum(np.log(sigma)) - log_n) / np.arange(1, len(sigma) + 1))))
    upper = min(6 * lower, float(sigma[0]))

    def excess(log_epsilon: float) -> float:
        return packing_log_covering(sigma, float(np.exp(log_epsilon))) - log_n

    if excess(np.log(upper)) < 0 and excess(np.log(lower)) > 0:
        # The bound jumps where axes change: the radius is moved up until it is covered.
        upper = min(upper, float(np.exp(brentq(excess, np.log(lower), np.log(upper), xtol=1e-12))) * (1 + 1e-10))
    return Interval(lower, upper)
