"""B-spline kernels: as smooth as wished, and exactly zero beyond a few widths."""

from __future__ import annotations

from functools import cache
from math import comb, factorial, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline as PiecewisePolynomial
from scipy.interpolate import make_interp_spline
from scipy.special import betainc, gamma, gammaln

from mercer.arrays import Array
from mercer.kernels.algebra import integer_power
from mercer.kernels.columnwise import ColumnProduct, frequency_vectors
from mercer.kernels.spectra import radial_wave, unit_ball_fourier
from mercer.kernels.stationary import Stationary


class BSpline(ColumnProduct):
    """B-spline kernel Π_c B_n((x_c - y_c) / width), B_n the (n+1)-fold convolution of the unit interval with itself.

    Parameters
    ----------
    degree : int
        n. Odd degrees are positive definite. Even degrees are not, their spectrum has negative parts: `order` is None.
    width : float or list of float
        Distance between the knots, for all columns or for each; k vanishes beyond (n+1)/2 widths in any column.

    Notes
    -----
    Spectrum Π_c width (2π)^(-1/2) sinc(ω_c width / 2)^(n+1) with sinc(u) = sin(u)/u [Smola1998]_, eq. (3.26)-(3.28).
    Degrees beyond 15 are refused: the truncated powers that sum up to B_n would cancel too much.

    Examples
    --------
    >>> from mercer.kernels import BSpline
    >>> BSpline(degree=3)([[0.0], [1.0], [2.0]]).round(3)
    array([[0.667, 0.167, 0.   ],
           [0.167, 0.667, 0.167],
           [0.   , 0.167, 0.667]])
    """

    has_spectrum = True

    def __init__(self, degree: int = 3, width: Any = 1.0):
        self.degree = degree
        self.width = width

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 for odd degrees; None for even ones, which are indefinite."""
        return 0 if self._degree() % 2 else None

    def spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Fourier transform at omega: of any shape in one dimension, frequency vectors (..., n_dims) in several."""
        omega = frequency_vectors(self, omega, n_dims)
        width = np.broadcast_to(self._positive_per_column("width", n_dims), n_dims)
        factors = width / np.sqrt(2 * pi) * np.sinc(omega * width / (2 * pi)) ** (self._degree() + 1)
        return np.prod(factors, axis=-1)

    def _of_difference(self, delta: Array, column: int, n_columns: int) -> Array:
        degree = self._degree()
        distance_to_edge = (degree + 1) / 2 - np.abs(delta) / self._width(column, n_columns)
        return truncated_powers(distance_to_edge, degree, degree + 1) / factorial(degree)

    def _slope(self, delta: Array, column: int, n_columns: int) -> Array:
        degree, width = self._degree(), self._width(column, n_columns)
        if degree == 0:
            return np.zeros_like(delta)
        distance_to_edge = (degree + 1) / 2 - np.abs(delta) / width
        slope = truncated_powers(distance_to_edge, degree - 1, degree + 1) / factorial(degree - 1)
        return -np.sign(delta) / width * slope

    def _degree(self) -> int:
        degree = self._whole("degree", at_least=0)
        if degree > 15:
            raise self._complain("degree", "at most 15", degree, "use Gaussian, which splines of high degree approach")
        return degree

    def _width(self, column: int, n_columns: int) -> float:
        return float(np.broadcast_to(self._positive_per_column("width", n_columns), n_columns)[column])


def truncated_powers(u: Array, power: int, n_knots: int) -> Array:
    """Σ_k (-1)^k C(n_knots, k) max(u - k, 0)^power over the knots k that lie left of the centre."""
    total = np.zeros_like(u)
    for k in range(n_knots // 2 + 1):
        term = integer_power(np.maximum(u - k, 0.0), power) if power else (u > k).astype(u.dtype)
        total += (-1) ** k * comb(n_knots, k) * term
    return total


class RadialBSpline(Stationary):
    """Radial B-spline: the (n+1)-fold convolution of the unit ball with itself, at ||x - y|| / width.

    Parameters
    ----------
    degree : int
        n, which must be odd: only then the spectrum is non-negative.
    width : float or list of float
        Radius of the ball, for all columns or for each; k vanishes beyond n+1 widths.
    n_dims : int, optional
        Dimension of the ball; by default that of the data. The kernel is positive definite in up to n_dims dimensions.

    Notes
    -----
    Spectrum (2π)^(nd/2) [ω^(-d/2) J_{d/2}(ω)]^(n+1) for width 1 [Smola1998]_, eq. (3.55)-(3.57). Degree 1 has a closed
    form (two balls intersect in a share I_{1-r²/4}((d+1)/2, 1/2) of their volume), and so has one dimension; otherwise
    the profile is tabulated once for each (degree, n_dims) by inverting the spectrum, to 1e-9 of its maximum.

    Examples
    --------
    >>> from mercer.kernels import RadialBSpline
    >>> RadialBSpline(degree=1, width=1.0)([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]).round(3)
    array([[3.142, 1.228, 0.   ],
           [1.228, 3.142, 1.228],
           [0.   , 1.228, 3.142]])
    """

    _exact_near_zero = True
    _length_parameter = "width"

    def __init__(self, degree: int = 1, width: Any = 1.0, n_dims: int | None = None):
        self.degree = degree
        self.width = width
        self.n_dims = n_dims

    def _length(self, n_columns: int | None = None) -> Any:
        return self._positive_per_column("width", n_columns)

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        degree, n_dims = self._degree(), self._dimension(n_dims)
        s = np.sqrt(s2, out=s2)
        if n_dims == 1:
            return 2.0**degree * truncated_powers((degree + 1 - s) / 2, degree, degree + 1) / factorial(degree)
        if degree == 1:
            share = betainc((n_dims + 1) / 2, 0.5, np.maximum(1.0 - s**2 / 4, 0.0))
            return pi ** (n_dims / 2) / gamma(n_dims / 2 + 1) * share
        return _evaluate(_pieces(degree, n_dims), s)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        degree, n_dims = self._degree(), self._dimension(n_dims)
        s = np.sqrt(s2)
        if n_dims == 1:
            slope = -(2.0 ** (degree - 1)) * truncated_powers((degree + 1 - s) / 2, degree - 1, degree + 1)
            slope = slope / factorial(degree - 1)
        elif degree == 1:
            # The derivative of the intersection of two balls is minus the volume of the disc between them.
            disc = pi ** ((n_dims - 1) / 2) / gamma((n_dims + 1) / 2)
            slope = -disc * np.maximum(1.0 - s**2 / 4, 0.0) ** ((n_dims - 1) / 2)
        else:
            slope = _evaluate(tuple(piece.derivative() for piece in _pieces(degree, n_dims)), s)
        return np.divide(slope, 2 * s, out=np.zeros_like(s), where=s > 0)

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        if n_dims != self._dimension(n_dims):
            return super()._profile_spectrum(omega, n_dims)
        return _spectrum(omega, self._degree(), n_dims)

    def _degree(self) -> int:
        degree = self._whole("degree", at_least=1)
        if degree % 2 == 0:
            raise self._complain("degree", "odd", degree, "even degrees are not positive definite")
        if degree > 15:
            raise self._complain("degree", "at most 15", degree, "use Gaussian, which splines of high degree approach")
        return degree

    def _dimension(self, n_columns: int | None) -> int:
        if self.n_dims is None:
            if n_columns is None:
                raise self._complain("n_dims", "given to evaluate by distance alone", None, "set n_dims")
            return n_columns
        n_dims = self._whole("n_dims", at_least=1)
        if n_columns is not None and n_columns > n_dims:
            raise self._complain("n_dims", f"at least the {n_columns} columns of X", n_dims, f"set n_dims={n_columns}")
        return n_dims


def _spectrum(omega: Array, degree: int, n_dims: int) -> Array:
    return (2 * pi) ** (degree * n_dims / 2) * unit_ball_fourier(omega, n_dims) ** (degree + 1)


def _evaluate(pieces: tuple[PiecewisePolynomial, ...], s: Array) -> Array:
    """Evaluate splines that hold on [0, 2], [2, 4], ...; zero beyond."""
    values = np.where(np.isnan(s), np.nan, 0.0)
    for i, piece in enumerate(pieces):
        inside = (s >= 2 * i) & (s < 2 * (i + 1))
        values[inside] = piece(s[inside])
    return values


@cache
def _pieces(degree: int, n_dims: int) -> tuple[PiecewisePolynomial, ...]:
    """The profile as splines of degree 7 between its knots 0, 2, ..., degree + 1, from its spectrum.

    The integrand ω^(ν+1) F(ω) J_ν(ωr) r^(-ν) falls like ω^(-1 - n(d+1)/2) and oscillates with at most 2(n+1).
    """
    nu = n_dims / 2 - 1
    # Beyond `highest` the bound √(2/π) ω^(-1/2) of J leaves less than 1e-15 of the integral, which is about that of the
    # Gaussian with the same curvature at zero.
    decay = (degree + 1) * (n_dims + 1) / 2 - n_dims
    log_bound = (degree + 1) * (gammaln(n_dims / 2 + 1) + n_dims / 2 * np.log(2) + 0.5 * np.log(2 / pi))
    log_integral = np.log(0.5) + n_dims / 2 * np.log(2 * (n_dims + 2) / (degree + 1)) + gammaln(n_dims / 2)
    highest = np.exp((log_bound - log_integral + 15 * np.log(10)) / decay)
    panels = np.linspace(0.0, highest, int(np.ceil(highest * (degree + 1) / 4)) + 2)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(panels)[:, None] / 2
    omega = (panels[:-1, None] + half * (1 + nodes)).ravel()
    amplitude = (half * weights).ravel() * omega ** (n_dims - 1) * _spectrum(omega, degree, n_dims)

    def value(r: float) -> float:
        if r == 0:
            return float(np.sum(amplitude)) * 2.0**-nu / float(gamma(nu + 1))
        return float(amplitude @ radial_wave(omega * r, n_dims))

    pieces = []
    for start in range(0, degree + 1, 2):
        radii = start + 1 - np.cos(np.linspace(0, pi, 121))
        pieces.append(make_interp_spline(radii, [value(r) for r in radii], k=7))
    return tuple(pieces)
