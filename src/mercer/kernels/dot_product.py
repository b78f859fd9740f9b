"""Kernels of the inner product of two vectors, and power series of other kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mercer.kernels.algebra import _Wrapped, integer_power
from mercer.kernels.base import Array, Kernel, finite


class Linear(Kernel):
    """Inner product xᵀy.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    linear = True
    _accepts_sparse = True

    def linear_coefficients(self, X: Any, coef: Array) -> Array:
        """Σ_i coef_i x_i."""
        X, _ = self._check_rows(X, None, accept_sparse=True)
        return np.asarray(X.T @ coef, dtype=np.float64)

    def _tile(self, left: Any, right: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            product = left @ right.T
        return finite(self, product.toarray() if sparse.issparse(product) else np.asarray(product))

    def _diagonal(self, left: Any, right: Any) -> Array:
        if sparse.issparse(left):
            return np.asarray(left.multiply(left).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", left, left)

    def _gradient(self, X: Array, Y: Array) -> Array:
        return np.repeat(Y[None], len(X), axis=0)


class Polynomial(_Wrapped):
    """Polynomial kernel (xᵀy + offset)^degree.

    Parameters
    ----------
    degree : int
        Degree of the polynomials.
    offset : float
        0 gives the homogeneous kernel, of monomials of that degree only; the larger, the more weight on low degrees.

    Notes
    -----
    [Smola1998]_, section 3.5. Scale the columns first: values grow like ||x||^(2 degree).

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2, offset=1.0)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    kernel = Linear()

    def __init__(self, degree: int = 3, offset: float = 1.0):
        self.degree = degree
        self.offset = offset

    def _of_values(self, values: Array) -> Array:
        values += self._positive("offset", or_zero=True)
        return integer_power(values, self._whole("degree", at_least=1))

    def _slope(self, values: Array) -> Array:
        degree = self._whole("degree", at_least=1)
        return degree * integer_power(values + self._positive("offset", or_zero=True), degree - 1)


class _Series(NamedTuple):
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    radius: float


_NAMED_SERIES = {
    "exp": _Series(np.exp, np.exp, np.inf),
    "cosh": _Series(np.cosh, np.sinh, np.inf),
    "sinh": _Series(np.sinh, np.cosh, np.inf),
    "geometric": _Series(lambda u: 1 / (1 - u), lambda u: 1 / (1 - u) ** 2, 1.0),
    "log": _Series(lambda u: -np.log1p(-u), lambda u: 1 / (1 - u), 1.0),
}


class PowerSeries(_Wrapped):
    """Power series Σ_i a_i kernel(x, y)^i with coefficients a_i >= 0.

    Parameters
    ----------
    kernel : Kernel
        A positive definite kernel.
    coefficients : list of float or str
        a_0, a_1, ... of a polynomial, or the name of an infinite series: "exp", "cosh", "sinh", "geometric" for
        1/(1 - u), "log" for -log(1 - u); the last two need values of the kernel below 1 in modulus.

    Notes
    -----
    Non-negative coefficients keep the kernel positive definite [Smola1998]_, corollary 3.6 and eq. (3.69).

    Examples
    --------
    >>> from mercer.kernels import Linear, PowerSeries
    >>> PowerSeries(Linear(), "exp")([[0.0], [1.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])
    """

    def __init__(self, kernel: Kernel, coefficients: Any = "exp"):
        self.kernel = kernel
        self.coefficients = coefficients

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 if the kernel is positive definite, else None."""
        return 0 if self.kernel.order == 0 else None

    def _of_values(self, values: Array) -> Array:
        return self._series(values).value(values)

    def _slope(self, values: Array) -> Array:
        return self._series(values).slope(values)

    def _series(self, values: Array) -> _Series:
        if isinstance(self.coefficients, str):
            series = _NAMED_SERIES.get(self.coefficients)
            if series is None:
                raise self._complain("coefficients", f"one of {sorted(_NAMED_SERIES)}", self.coefficients, "or a list")
            if np.abs(values).max(initial=0.0) >= series.radius < np.inf:
                constraint = f"below {series.radius} in modulus for {self.coefficients!r}"
                raise self._complain("kernel", constraint, float(np.abs(values).max()), "scale the kernel down")
            return series
        try:
            coefficients = np.asarray(self.coefficients, dtype=np.float64)
        except (TypeError, ValueError):
            coefficients = np.empty(0)
        if coefficients.ndim != 1 or not coefficients.size or not np.all(np.isfinite(coefficients)):
            raise self._complain(
                "coefficients", "a list of finite numbers", self.coefficients, "or the name of a series"
            )
        if np.any(coefficients < 0):
            remedy = "negative ones make the kernel indefinite"
            raise self._complain("coefficients", "non-negative", self.coefficients, remedy)
        polynomial = np.polynomial.Polynomial(coefficients)
        return _Series(polynomial, polynomial.deriv(), np.inf)
