"""The period that makes the bound on the entropy numbers of a kernel smallest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.capacity.checks import check_log_n, check_norm, check_scale
from mercer.capacity.filling import entropy_number
from mercer.capacity.images import image_sum
from mercer.capacity.searches import least_along
from mercer.capacity.spectra import periodic_spectrum
from mercer.kernels import Kernel, Periodized
from mercer.parameters import check_count

# Periods that are tried, in units of the diameter of the data.
_PERIODS = np.geomspace(1.02, 100.0, 48)


class BestPeriod(NamedTuple):
    """What `best_period` found.

    Attributes
    ----------
    period : float
        v.
    entropy_number : float
        The bound for functions of the kernel itself, what the wrapping adds included.
    wrap_error : float
        e(v), the largest difference of the kernel and its periodic version on the data.
    """

    period: float
    entropy_number: float
    wrap_error: float


def wrap_error(kernel: Kernel, period: float, diameter: float, *, n_dims: int = 1) -> float:
    """Largest difference of a stationary kernel and its periodic version at distances up to D.

    e(v) = Σ_{j≠0} k(D - jv) in one dimension; in several k(v‖j‖ - D) bounds each term. The kernel must fall with
    distance.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel.
    period : float
        v > D.
    diameter : float
        D, the largest distance of two points.
    n_dims : int
        Dimension of the space.

    Examples
    --------
    >>> from mercer.capacity import wrap_error
    >>> from mercer.kernels import Gaussian
    >>> round(wrap_error(Gaussian(1.0), 5.5907, 2.0), 5)
    0.00159
    """
    owner = "wrap_error"
    diameter, period = check_scale(diameter, owner, "diameter"), check_scale(period, owner, "period")
    n_dims = check_count(n_dims, "n_dims", owner)
    if not isinstance(kernel, Kernel) or not kernel.stationary:
        raise TypeError(
            f"kernel of {owner} must be stationary, got {kernel!r}; bring the columns to one scale and give the kernel "
            "one width."
        )
    if not period > diameter:
        raise ValueError(f"period of {owner} must be larger than diameter={diameter!r}, got {period!r}; enlarge it.")
    here = float(kernel.of_squared_distance(np.array([diameter**2, 0.0]), n_dims)[0])
    if n_dims == 1:
        return max(float(Periodized(kernel, period)([[0.0]], [[diameter]])[0, 0]) - here, 0.0)
    total = image_sum(kernel, period, n_dims, nearer_by=diameter, owner=owner)
    return total - float(kernel.of_squared_distance(np.zeros(1), n_dims)[0])


def best_period(
    kernel: Kernel, diameter: float, *, log_n: float, norm: float = 1.0, coefficient_norm: float, n_dims: int = 1
) -> BestPeriod:
    """The period v with the least bound sqrt(Λ² + S² e(v)) · ε_n(v) + S e(v).

    A function f = Σ α_i k(x_i, .) differs from its periodic version by at most S e(v), S = Σ abs(α_i), and its norm
    squared by S² e(v). Small periods have small entropy numbers; for a kernel that is zero beyond a, v = a + D wraps
    nothing.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel that falls with distance.
    diameter : float
        D, the largest distance of two points.
    log_n : float
        Natural logarithm of the number n of balls.
    norm : float
        Λ, ‖f‖.
    coefficient_norm : float
        S; at most C m for a machine on m rows.
    n_dims : int
        Dimension of the space.

    Returns
    -------
    BestPeriod
        period, entropy_number, wrap_error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import best_period
    >>> from mercer.kernels import Gaussian
    >>> best = best_period(Gaussian(1.0), 2.0, log_n=20 * np.log(2), coefficient_norm=10.0)
    >>> round(best.period, 2), round(best.entropy_number, 4)
    (5.59, 0.4641)
    """
    owner = "best_period"
    log_n, norm = check_log_n(log_n, owner), check_norm(norm, owner)
    size, n_dims = check_scale(coefficient_norm, owner, "coefficient_norm"), check_count(n_dims, "n_dims", owner)
    diameter = check_scale(diameter, owner, "diameter")

    def at(log_period: float, *, clip: bool = False) -> BestPeriod:
        period = float(np.exp(log_period))
        error = wrap_error(kernel, period, diameter, n_dims=n_dims)
        larger = float(np.sqrt(norm**2 + size**2 * error))
        number = entropy_number(periodic_spectrum(kernel, period, n_dims=n_dims), log_n, norm=larger, clip=clip)
        return BestPeriod(period, number + size * error, error)

    chosen = least_along(lambda log_period: at(log_period).entropy_number, np.log(diameter * _PERIODS))[1]
    return at(chosen, clip=True)
