"""Stationary kernels: functions of the distance between two vectors, positive definite in every dimension."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gamma, gammaln, kve

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides, float_array, whole_dimension
from mercer.kernels.columnwise import frequency_vectors
from mercer.kernels.distances import distance_sides, n_columns_of, squared_distance_tile
from mercer.kernels.exponential import exp_of_negative
from mercer.kernels.gaussian import (
    add_gaussian_products,
    are_compiled,
    compiled_rows,
    few_vectors,
    gaussian_tile,
    plain_rows,
)
from mercer.kernels.kinds_numba import EUCLIDEAN, GAUSSIAN
from mercer.kernels.spectra import radial_fourier
from mercer.kernels.widths import median_distance

# Gaussians of more columns are faster by a matrix product. With rows farther out, in units of the width, differences in
# single precision would lose more digits than the exponential forgives; and so would products, with larger squares.
_FEW_COLUMNS = 64
_FAR, _FAR_SQUARED = 500.0, 64.0


class Stationary(Kernel):
    """A kernel k(x, y) = φ(s²), s² = ||(x - y) / length||², with one length or one for each column.

    A concrete kernel gives its profile φ (`_profile`), dφ/ds² (`_profile_derivative`), the Fourier transform of φ
    (`_profile_spectrum`; by default numerical) and, where it has a length, `_length`.
    """

    translation_invariant = True
    has_spectrum = True
    takes_sparse = True
    _exact_near_zero = False
    _length_parameter: str | None = None
    _compiled_kind: int | None = None  # of the kernels that compiled loops know

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        """True unless every column has a width of its own."""
        return np.ndim(self._length()) == 0

    def of_squared_distance(self, r2: ArrayLike, n_dims: int | None = None) -> Array:
        """Values of the kernel at squared distances r2, so that one distance matrix serves many widths.

        Parameters
        ----------
        r2 : array_like
            Squared Euclidean distances, of any shape.
        n_dims : int, optional
            The dimension of the space; only kernels whose shape depends on it (RadialBSpline) need it.
        """
        if not self.stationary:
            raise ValueError(
                f"{self._length_parameter} of {type(self).__name__} must be one number to evaluate by distance, got "
                f"{self._length()!r}; call the kernel on the data instead."
            )
        s2 = float_array(r2)
        np.maximum(s2, 0.0, out=s2)
        for _ in range(2):  # the square of a length may not be a normal number
            s2 /= self._length()
        return np.asarray(self._profile(s2, n_dims))

    def spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Fourier transform (2π)^(-d/2) ∫ k(x) exp(-iωᵀx) dx of the kernel in d = n_dims dimensions.

        Parameters
        ----------
        omega : array_like
            Frequencies |ω| of any shape; for a kernel with one width for each column frequency vectors, shape
            (..., n_dims).
        n_dims : int
            The dimension of the space.
        """
        modulus, length = self._scaled_frequencies(omega, n_dims)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.prod(length) * self._profile_spectrum(modulus, n_dims))

    def log_spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Logarithm of ``spectrum(omega, n_dims)``; it does not underflow where the kernel has a formula for it."""
        modulus, length = self._scaled_frequencies(omega, n_dims)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(np.log(length).sum() + self._log_profile_spectrum(modulus, n_dims))

    def _scaled_frequencies(self, omega: ArrayLike, n_dims: int) -> tuple[Array, Array]:
        """Moduli of frequencies in units of 1/length, and the length of each column."""
        n_dims = whole_dimension(n_dims)
        if self.stationary:
            length = np.broadcast_to(self._length(), n_dims)
            return np.abs(np.asarray(omega, dtype=np.float64)) * length[0], length
        length = self._length(n_dims)
        return np.linalg.norm(frequency_vectors(self, omega, n_dims) * length, axis=-1), length

    @classmethod
    def scaled_to(cls, X: ArrayLike, **parameters: Any) -> Self:
        """The kernel whose length is the median distance between the rows of X, with its other parameters as given.

        At most 1000 rows, drawn with a fixed seed, are examined; coinciding rows do not count.
        """
        if cls._length_parameter is None:
            raise TypeError(f"{cls.__name__} has no length that could be scaled to data.")
        return cls(**{cls._length_parameter: cls._parameter_for_length(median_distance(X))}, **parameters)

    @classmethod
    def _parameter_for_length(cls, length: float) -> float:
        return length

    def _length(self, n_columns: int | None = None) -> Any:
        return 1.0

    @abstractmethod
    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        """φ(s²). May overwrite s2 and return it."""

    @abstractmethod
    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        """dφ/ds². Leaves s2 as it is."""

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return radial_fourier(lambda s2: self._profile(s2, n_dims), omega, n_dims)

    def _log_profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return np.log(self._profile_spectrum(omega, n_dims))

    def _prepare(self, X: Any, Y: Any) -> Sides:
        X, Y = self._check_rows(X, Y, accept_sparse=True)
        return distance_sides(X, Y, self._length(X.shape[1]))

    def _tile(self, left: Any, right: Any) -> Array:
        if self._compiled_kind is not None and (rows := compiled_rows(left, right)) is not None:
            return gaussian_tile(*rows, kind=self._compiled_kind)
        s2 = squared_distance_tile(left, right, exact_near_zero=self._exact_near_zero)
        return self._profile(s2, n_columns_of(left))

    def _add_products(
        self, left: Any, right: Any, V: Array, sums: Array, W: Array | None = None, transposed_sums: Array | None = None
    ) -> None:
        if self._compiled_kind is None or self._forms_tiles(left, right, V):
            super()._add_products(left, right, V, sums, W, transposed_sums)
        else:
            rows, kind = plain_rows(left, right), self._compiled_kind
            add_gaussian_products(*rows, V, sums, W, transposed_sums, kind=kind)

    def _forms_tiles(self, left: Any, right: Any, V: Array) -> bool:
        return self._compiled_kind is None or not (few_vectors(V) and are_compiled(left, right))

    def _diagonal(self, left: Any, right: Any) -> Array:
        n_rows = left[1].size if isinstance(left, tuple) else len(left)
        return np.full(n_rows, self._profile(np.zeros(1), n_columns_of(left))[0])

    def _gradient(self, X: Array, Y: Array) -> Array:
        length = self._length(X.shape[1])
        difference = (X[:, None] - Y) / length
        derivative = self._profile_derivative(np.einsum("ijk,ijk->ij", difference, difference), X.shape[1])
        difference *= 2.0 * derivative[..., None]
        difference /= length
        return difference


class Gaussian(Stationary):
    """Gaussian kernel exp(-||x - y||² / (2 width²)).

    Parameters
    ----------
    width : float or list of float
        Its standard deviation, one for all columns or one for each. `Gaussian.scaled_to(X)` starts from the data.

    Notes
    -----
    Its spectrum width^d exp(-ω² width² / 2) falls faster than any power: all derivatives are penalised [Smola1998]_,
    eq. (3.30), (3.50).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(width=2.0)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    _length_parameter = "width"
    _is_gaussian = True
    _compiled_kind = GAUSSIAN

    def __init__(self, width: Any = 1.0):
        self.width = width

    def _length(self, n_columns: int | None = None) -> Any:
        return self._positive_per_column("width", n_columns)

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        return exp_of_negative(s2, 0.5)

    def _gaussian_rows(self, sides: Sides) -> Array | None:
        if isinstance(sides.right, tuple) or n_columns_of(sides.right) > _FEW_COLUMNS:
            return None
        rows: Array = sides.right[:, :-2]
        return rows if np.abs(rows).max(initial=0.0) <= _FAR else None

    def _single_sides(self, sides: Sides) -> Sides:
        if isinstance(sides.right, tuple) or n_columns_of(sides.right) <= _FEW_COLUMNS:
            return sides
        if max(sides.left[:, -2].max(initial=0.0), sides.right[:, -1].max(initial=0.0)) > _FAR_SQUARED:
            return sides
        return sides._replace(left=sides.left.astype(np.float32), right=sides.right.astype(np.float32))

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        return -0.5 * np.exp(-0.5 * s2)

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return np.exp(self._log_profile_spectrum(omega, n_dims))

    def _log_profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return -0.5 * omega**2


class Exponential(Stationary):
    """Exponential kernel exp(-rate ||x - y||), whose functions are continuous but rough.

    Parameters
    ----------
    rate : float or list of float
        How fast it falls, for all columns or for each.

    Notes
    -----
    Spectrum 2^(d/2) π^(-1/2) rate Γ((d+1)/2) (rate² + ω²)^(-(d+1)/2); eq. (3.51) of [Smola1998]_ has another Γ.
    Small distances, or all where compiled loops take them, are computed from differences, since k has a kink at zero.

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> Exponential(rate=1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    _exact_near_zero = True
    _length_parameter = "rate"
    _compiled_kind = EUCLIDEAN

    def __init__(self, rate: Any = 1.0):
        self.rate = rate

    def _length(self, n_columns: int | None = None) -> Any:
        return 1.0 / self._positive_per_column("rate", n_columns)

    @classmethod
    def _parameter_for_length(cls, length: float) -> float:
        return 1.0 / length

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        return exp_of_negative(np.sqrt(s2, out=s2), 1.0)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        s = np.sqrt(s2)
        return -0.5 * np.divide(np.exp(-s), s, out=np.zeros_like(s), where=s > 0)

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        power = (n_dims + 1) / 2
        return np.exp(n_dims / 2 * np.log(2) - 0.5 * np.log(np.pi) + gammaln(power) - power * np.log1p(omega**2))


class DampedOscillator(Stationary):
    """Damped harmonic oscillator 1 / (scale² + ||x - y||²).

    Parameters
    ----------
    scale : float
        Distance at which the kernel has fallen to half of its value 1 / scale² at zero.

    Notes
    -----
    Spectrum ω^(-ν) scale^ν K_ν(scale ω) with ν = d/2 - 1 [Smola1998]_, eq. (3.52); infinite at zero for d >= 2. For
    d > 4 the integral converges only as a distribution.

    Examples
    --------
    >>> from mercer.kernels import DampedOscillator
    >>> DampedOscillator(scale=1.0)([[0.0], [1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _exact_near_zero = True  # a small scale makes the peak sharp
    _length_parameter = "scale"

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        s2 += self._squared("scale")
        return np.reciprocal(s2, out=s2)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        return -1.0 / (s2 + self._squared("scale")) ** 2

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return np.exp(self._log_profile_spectrum(omega, n_dims))

    def _log_profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return log_power_spectrum(omega, n_dims, self._positive("scale"), exponent=-1.0)


class InverseMultiquadric(Stationary):
    """Inverse multiquadric 1 / sqrt(||x - y||² + offset²).

    Parameters
    ----------
    offset : float
        Rounds off the peak; the larger, the smoother.

    Notes
    -----
    Positive definite in every dimension [Smola1998]_, eq. (3.83). Spectrum √(2/π) (offset/ω)^ν K_ν(offset ω) with
    ν = (d-1)/2 [Wendland2004]_, theorem 6.13; infinite at zero.

    Examples
    --------
    >>> from mercer.kernels import InverseMultiquadric
    >>> InverseMultiquadric(offset=1.0)([[0.0], [3.0**0.5]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _exact_near_zero = True  # a small offset makes the peak sharp
    _length_parameter = "offset"

    def __init__(self, offset: float = 1.0):
        self.offset = offset

    def _profile(self, s2: Array, n_dims: int | None) -> Array:
        s2 += self._squared("offset")
        return np.reciprocal(np.sqrt(s2, out=s2), out=s2)

    def _profile_derivative(self, s2: Array, n_dims: int) -> Array:
        return -0.5 * (s2 + self._squared("offset")) ** -1.5

    def _profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return np.exp(self._log_profile_spectrum(omega, n_dims))

    def _log_profile_spectrum(self, omega: Array, n_dims: int) -> Array:
        return log_power_spectrum(omega, n_dims, self._positive("offset"), exponent=-0.5)


def log_power_spectrum(omega: Array, n_dims: int, offset: float, exponent: float) -> Array:
    """Logarithm of the (generalised) Fourier transform of sign(-exponent) (r² + offset²)^exponent.

    [Wendland2004]_, theorem 8.15.
    """
    nu = exponent + n_dims / 2
    omega = np.asarray(omega, dtype=np.float64)
    log_factor = (1 + exponent) * np.log(2.0) - np.log(abs(gamma(-exponent)))
    positive = np.where(omega == 0, 1.0, omega)
    values = log_factor + nu * np.log(offset / positive) + np.log(kve(nu, offset * positive)) - offset * positive
    # ω^(-ν) K_ν(ω) has a limit at zero only for ν < 0.
    at_zero = log_factor + 2 * nu * np.log(offset) - (nu + 1) * np.log(2.0) + gammaln(-nu) if nu < 0 else np.inf
    return np.where(omega == 0, at_zero, values)
