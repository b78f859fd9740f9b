"""Kernels of the inner product of two vectors, and power series of other kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.kernels.algebra import _Wrapped, integer_power
from mercer.kernels.base import Kernel, Sides, finite


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
    takes_sparse = True

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


class Sigmoid(_Wrapped):
    """Sigmoid tanh(scale xᵀy + offset), the response of a neuron; in general not positive definite.

    Parameters
    ----------
    scale : float
        Factor of the inner product, positive.
    offset : float
        Threshold; any finite number.

    Notes
    -----
    `order` is None: no choice of the parameters makes it positive definite for all data. Machines take it with the
    regularizers "l1" and "l2".

    Examples
    --------
    >>> from mercer.kernels import Sigmoid
    >>> Sigmoid(scale=0.5, offset=-1.0)([[1.0], [2.0]]).round(3)
    array([[-0.462,  0.   ],
           [ 0.   ,  0.762]])
    """

    kernel = Linear()
    order = None

    def __init__(self, scale: float = 1.0, offset: float = 0.0):
        self.scale = scale
        self.offset = offset

    def _of_values(self, values: Array) -> Array:
        values *= self._positive("scale")
        values += self._number("offset")
        return np.tanh(values, out=values)

    def _slope(self, values: Array) -> Array:
        return self._positive("scale") * (1 - self._of_values(values.copy()) ** 2)


class Cosine(Linear):
    """Cosine of the angle between two vectors, xᵀy / (||x|| ||y||); zero if one of them is zero.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[3.0, 0.0], [1.0, 1.0], [0.0, 0.0]]).round(3)
    array([[1.   , 0.707, 0.   ],
           [0.707, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """

    linear = False
    linear_coefficients = Kernel.linear_coefficients

    def _prepare(self, X: Any, Y: Any) -> Sides:
        sides = super()._prepare(X, Y)
        left = _directions(sides.left)[0]
        return sides._replace(left=left, right=left if Y is None else _directions(sides.right)[0])

    def _diagonal(self, left: Any, right: Any) -> Array:
        return np.round(super()._diagonal(left, right))  # 1, or 0 for zero rows

    def _gradient(self, X: Array, Y: Array) -> Array:
        (X, norms), (Y, _) = _directions(X), _directions(Y)
        tangent = Y - (X @ Y.T)[..., None] * X[:, None]
        return tangent * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)[:, None, None]


def _directions(X: Any) -> tuple[Any, Array]:
    """Rows of length one, or zero if they are zero, and the lengths that they had."""
    largest = np.asarray(abs(X).max(axis=1).toarray() if sparse.issparse(X) else np.abs(X).max(axis=1)).ravel()
    X = _divided(X, largest)  # squares of large or small numbers would overflow or vanish
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.sum(X * X, axis=1))
    return _divided(X, norms), largest * norms


def _divided(X: Any, lengths: Array) -> Any:
    """Rows over their lengths, where these are not zero."""
    lengths = np.where(lengths > 0, lengths, 1.0)
    if not sparse.issparse(X):
        return X / lengths[:, None]
    X = X.copy()
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X


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
