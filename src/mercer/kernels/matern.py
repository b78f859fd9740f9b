"""Stationary kernels of adjustable smoothness: Matérn's, and the rational quadratic."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, kve

from mercer.arrays import Array
from mercer.kernels.exponential import exp_of_negative
from mercer.kernels.stationary import Stationary

_SMOOTHNESS = (1.5, 2.5)
# Larger α than this: the closed form of the spectrum leaves the range of double precision, and is integrated instead.
_LARGE_ALPHA = 30.0


class Matern(Stationary):
    """Matérn kernel (1 + s) exp(-s) or, if nu is 2.5, (1 + s + s²/3) exp(-s), with s = √(2 nu) ||x - y|| / width.

    Parameters
    ----------
    nu : {1.5, 2.5}
        Its smoothness: functions have one derivative, or two. `Exponential` is the one with nu = 0.5.
    width : float or list of float
        Its length, for all columns or for each.

    Notes
    -----
    Between the rough `Exponential` and the smooth `Gaussian`, which is the limit of large nu. Spectrum
    2^(d/2) Γ(nu + d/2) / Γ(nu) (2 nu)^nu width^d (2 nu + ω² width²)^(-nu - d/2). [Rasmussen2006]_, section 4.2.1.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(nu=1.5, width=1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    _length_parameter = "width"

    def __init__(self, nu: float = 1.5, width: Any = 1.0):
        self.nu = nu
        self.width = width

    def _length(self, n_columns: int | None = None) -> Any:
        return self._positive_per_column("width", n_columns)

    def _smoothness(self) -> float:
        nu = self.nu if isinstance(self.nu, float) and np.isinf(self.nu) else self._number("nu")
        if nu not in _SMOOTHNESS:
            raise self._complain(
                "nu", f"one of {_SMOOTHNESS}", self.nu, "take Exponential for 0.5, or Gaussian for very large ones"
            )
        return nu

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        nu = self._smoothness()
        s = np.sqrt(s2, out=s2)
        s *= np.sqrt(2.0 * nu)
        polynomial = 1.0 + s
        if nu == _SMOOTHNESS[1]:
            polynomial += s**2 / 3.0
        polynomial *= exp_of_negative(s, 1.0)
        return polynomial

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        nu = self._smoothness()
        s = np.sqrt(2.0 * nu * s2)
        if nu == _SMOOTHNESS[1]:
            return -5.0 / 6.0 * (1.0 + s) * np.exp(-s)
        return -1.5 * np.exp(-s)

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        nu = self._smoothness()
        power = nu + n_dims / 2
        # (2 nu)^nu (2 nu + ω²)^(-power) = (2 nu)^(-d/2) (1 + ω² / (2 nu))^(-power)
        log_factor = n_dims / 2 * np.log(1.0 / nu) + gammaln(power) - gammaln(nu)
        return np.exp(log_factor - power * np.log1p(omega**2 / (2.0 * nu)))


class RationalQuadratic(Stationary):
    """Rational quadratic (1 + ||x - y||² / (2 alpha width²))^(-alpha), a mixture of Gaussians of many widths.

    Parameters
    ----------
    width : float or list of float
        Its length, for all columns or for each.
    alpha : float
        How alike the widths are: for large ones it is `Gaussian(width)`.

    Notes
    -----
    Its spectrum is that of (r² + 2 alpha width²)^(-alpha), [Wendland2004]_, theorem 6.13, with K_ν, ν = d/2 - alpha; it
    is infinite at zero for alpha <= d/2. [Rasmussen2006]_, section 4.2.1.

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(width=1.0, alpha=1.0)([[0.0], [2.0**0.5]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _length_parameter = "width"

    def __init__(self, width: Any = 1.0, alpha: float = 1.0):
        self.width = width
        self.alpha = alpha

    def _length(self, n_columns: int | None = None) -> Any:
        return self._positive_per_column("width", n_columns)

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        alpha = self._positive("alpha")
        s2 /= 2.0 * alpha
        np.log1p(s2, out=s2)
        return exp_of_negative(s2, alpha)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        alpha = self._positive("alpha")
        return -0.5 * np.exp(-(alpha + 1.0) * np.log1p(s2 / (2.0 * alpha)))

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        if self._positive("alpha") > _LARGE_ALPHA:
            return super()._profile_spectrum(omega, n_dims)
        return np.exp(self._log_profile_spectrum(omega, n_dims))

    def _log_profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        alpha = self._positive("alpha")
        if alpha > _LARGE_ALPHA:
            return super()._log_profile_spectrum(omega, n_dims)
        omega = np.asarray(omega, dtype=np.float64)
        nu, offset = n_dims / 2 - alpha, np.sqrt(2.0 * alpha)
        positive = np.where(omega == 0, 1.0, omega)
        logs = (1.0 - alpha) * np.log(2.0) - gammaln(alpha) + 2.0 * alpha * np.log(offset)
        logs = logs + nu * np.log(offset / positive) + np.log(kve(nu, offset * positive)) - offset * positive
        # ω^(-ν) K_ν(ω) has a limit at zero only for ν < 0.
        at_zero = n_dims / 2 * np.log(alpha) + gammaln(-nu) - gammaln(alpha) if nu < 0 else np.inf
        return np.where(omega == 0, at_zero, logs)
