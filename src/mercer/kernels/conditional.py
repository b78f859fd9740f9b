"""Kernels that are positive definite only on coefficients orthogonal to polynomials of low degree.

Their machines carry those polynomials unpenalised (`Kernel.polynomial_part`); see [Smola1998]_, section 3.7.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gamma, xlogy

from mercer.arrays import Array
from mercer.kernels.stationary import Stationary, log_power_spectrum


class Multiquadric(Stationary):
    """Multiquadric -sqrt(||x - y||² + offset²), conditionally positive definite of order 1.

    Parameters
    ----------
    offset : float
        Rounds off the tip; 0 gives the negative distance.

    Notes
    -----
    [Smola1998]_, eq. (3.82). The spectrum is the generalised one, for ω > 0: (offset/ω)^ν K_ν(offset ω) √(2/π) with
    ν = (d+1)/2 [Wendland2004]_, theorem 8.15.

    Examples
    --------
    >>> from mercer.kernels import Multiquadric
    >>> Multiquadric(offset=1.0)([[0.0], [3.0**0.5]])
    array([[-1., -2.],
           [-2., -1.]])
    """

    order = 1
    _exact_near_zero = True
    _length_parameter = "offset"

    def __init__(self, offset: float = 1.0):
        self.offset = offset

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        s2 += self._squared("offset", or_zero=True)
        return np.negative(np.sqrt(s2, out=s2), out=s2)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        root = np.sqrt(s2 + self._squared("offset", or_zero=True))
        return -0.5 * np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        offset = self._positive("offset", or_zero=True)
        if offset > 0:
            return np.exp(log_power_spectrum(omega, n_dims, offset, exponent=0.5))
        # The limit of (offset/ω)^ν K_ν(offset ω) for small offsets is 2^(ν-1) Γ(ν) ω^(-2ν).
        nu = (n_dims + 1) / 2
        with np.errstate(divide="ignore"):
            return np.sqrt(2 / np.pi) * 2 ** (nu - 1) * gamma(nu) * omega ** (-2 * nu)


class ThinPlate(Stationary):
    """Thin plate spline ||x - y||² log ||x - y||, conditionally positive definite of order 2.

    Notes
    -----
    [Smola1998]_, eq. (3.84). It has no length: a change of units only adds polynomials that are left unpenalised. The
    spectrum is the generalised one, 2^(1+d/2) Γ(1+d/2) ω^(-d-2) for ω > 0 [Wendland2004]_, theorem 8.17.

    Examples
    --------
    >>> from mercer.kernels import ThinPlate
    >>> ThinPlate()([[0.0], [1.0], [2.0]]).round(3)
    array([[0.   , 0.   , 2.773],
           [0.   , 0.   , 0.   ],
           [2.773, 0.   , 0.   ]])
    """

    order = 2

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        return 0.5 * xlogy(s2, s2)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        return np.where(s2 > 0, 0.5 + 0.5 * np.log(np.where(s2 > 0, s2, 1.0)), 0.0)

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        with np.errstate(divide="ignore"):
            return 2 ** (1 + n_dims / 2) * gamma(1 + n_dims / 2) * omega ** (-n_dims - 2.0)
