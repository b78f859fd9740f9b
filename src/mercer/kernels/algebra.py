"""Kernels from kernels: sums, products, multiples, powers, and restrictions to columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides, finite
from mercer.kernels.positions import positions


def _of_both(promise: str) -> Any:
    """A promise that a pair of kernels makes if both kernels do."""
    return property(lambda pair: getattr(pair.left, promise) and getattr(pair.right, promise))


def _of_kernel(promise: str) -> Any:
    """A promise that is that of the kernel inside."""
    return property(lambda outer: getattr(outer.kernel, promise))


class _Pair(Kernel):
    """Two kernels on the same input."""

    stationary = _of_both("stationary")
    translation_invariant = _of_both("translation_invariant")
    differentiable = _of_both("differentiable")
    takes_vectors = _of_both("takes_vectors")
    takes_sparse = _of_both("takes_sparse")
    takes_negative = _of_both("takes_negative")
    _takes_single_rows = _of_both("_takes_single_rows")

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        return self.left.pairwise or self.right.pairwise

    @property
    def needs_test(self) -> bool:  # type: ignore[override]
        return self.left.needs_test or self.right.needs_test

    def _prepare(self, X: Any, Y: Any) -> Sides:
        first, second = self.left._prepare(X, Y), self.right._prepare(X, Y)
        dtype = np.result_type(first.dtype, second.dtype)
        return Sides((first.left, second.left), (first.right, second.right), first.shape, dtype)


class Sum(_Pair):
    """k(x, y) = left(x, y) + right(x, y), written ``left + right``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() + Linear())([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 2.   ]])
    """

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """The larger order of the two; None if either has none."""
        orders = (self.left.order, self.right.order)
        return None if None in orders else max(orders)  # type: ignore[type-var]

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether both parts are."""
        return self.left.linear and self.right.linear

    def linear_coefficients(self, X: Any, coef: Array) -> Array:
        """Sum of those of both parts."""
        return self.left.linear_coefficients(X, coef) + self.right.linear_coefficients(X, coef)

    @property
    def has_spectrum(self) -> bool:  # type: ignore[override]
        """Whether both parts have one and take the same frequencies."""
        return self.left.has_spectrum and self.right.has_spectrum and self.left.stationary == self.right.stationary

    def of_squared_distance(self, r2: ArrayLike, n_dims: int | None = None) -> Array:
        """Values at squared distances, if both parts are stationary."""
        left, right = _stationary_parts(self)
        return left.of_squared_distance(r2, n_dims) + right.of_squared_distance(r2, n_dims)

    def spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Sum of the spectra, if both parts have one."""
        if not self.has_spectrum:
            raise TypeError(f"{self!r} has no spectrum: not both of its parts have one of the same kind.")
        return self.left.spectrum(omega, n_dims) + self.right.spectrum(omega, n_dims)

    def polynomial_part(self, X: Any) -> Array:
        """The polynomials of both parts, each once."""
        columns = np.hstack([self.left.polynomial_part(X), self.right.polynomial_part(X)])
        _, first = np.unique(columns, axis=1, return_index=True)
        return columns[:, np.sort(first)]

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Sum of the gradients."""
        return self.left.gradient(X, Y) + self.right.gradient(X, Y)

    def _tile(self, left: Any, right: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self, self.left._tile(left[0], right[0]) + self.right._tile(left[1], right[1]))

    def _diagonal(self, left: Any, right: Any) -> Array:
        return self.left._diagonal(left[0], right[0]) + self.right._diagonal(left[1], right[1])

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.left!r} + {self.right!r}"


class Product(_Pair):
    """k(x, y) = left(x, y) right(x, y), written ``left * right``.

    The product of positive definite kernels is positive definite; of conditionally positive ones nothing is known, and
    `order` is None.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() * Linear())([[1.0], [2.0]]).round(3)
    array([[1.   , 1.213],
           [1.213, 4.   ]])
    """

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 if both parts are positive definite, else None."""
        return 0 if self.left.order == self.right.order == 0 else None

    def of_squared_distance(self, r2: ArrayLike, n_dims: int | None = None) -> Array:
        """Values at squared distances, if both parts are stationary."""
        left, right = _stationary_parts(self)
        return left.of_squared_distance(r2, n_dims) * right.of_squared_distance(r2, n_dims)

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Product rule."""
        left, right = self.left(X, Y)[..., None], self.right(X, Y)[..., None]
        return self.left.gradient(X, Y) * right + left * self.right.gradient(X, Y)

    def _tile(self, left: Any, right: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self, self.left._tile(left[0], right[0]) * self.right._tile(left[1], right[1]))

    def _diagonal(self, left: Any, right: Any) -> Array:
        return self.left._diagonal(left[0], right[0]) * self.right._diagonal(left[1], right[1])

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{_in_brackets(self.left)} * {_in_brackets(self.right)}"


class _Wrapped(Kernel):
    """A function of the values of another kernel."""

    kernel: Kernel
    stationary = _of_kernel("stationary")
    translation_invariant = _of_kernel("translation_invariant")
    differentiable = _of_kernel("differentiable")
    takes_vectors = _of_kernel("takes_vectors")
    takes_sparse = _of_kernel("takes_sparse")
    takes_negative = _of_kernel("takes_negative")
    pairwise = _of_kernel("pairwise")
    needs_test = _of_kernel("needs_test")
    _takes_single_rows = _of_kernel("_takes_single_rows")

    def of_squared_distance(self, r2: ArrayLike, n_dims: int | None = None) -> Array:
        """Values at squared distances, if the kernel inside is stationary."""
        if not self.stationary:
            raise TypeError(f"{self.kernel!r} is not a function of the distance.")
        return np.asarray(self._of_values(self.kernel.of_squared_distance(r2, n_dims)))

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Chain rule."""
        return self._slope(self.kernel(X, Y))[..., None] * self.kernel.gradient(X, Y)

    @abstractmethod
    def _of_values(self, values: Array) -> Array:
        """The function of the values, which it may overwrite."""

    @abstractmethod
    def _slope(self, values: Array) -> Array:
        """Derivative of that function, at values that it leaves as they are."""

    def _prepare(self, X: Any, Y: Any) -> Sides:
        return self.kernel._prepare(X, Y)

    def _tile(self, left: Any, right: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self, self._of_values(self.kernel._tile(left, right)))

    def _diagonal(self, left: Any, right: Any) -> Array:
        return self._of_values(self.kernel._diagonal(left, right))


class Scaled(_Wrapped):
    """k(x, y) = factor kernel(x, y), written ``factor * kernel``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (3 * Linear())([[1.0], [2.0]])
    array([[ 3.,  6.],
           [ 6., 12.]])
    """

    order = _of_kernel("order")
    linear = _of_kernel("linear")
    has_spectrum = _of_kernel("has_spectrum")

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = kernel
        self.factor = factor

    def linear_coefficients(self, X: Any, coef: Array) -> Array:
        """A multiple of those of the kernel."""
        return self._of_values(self.kernel.linear_coefficients(X, coef))

    def spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Multiple of the spectrum."""
        if not self.has_spectrum:
            raise TypeError(f"{self.kernel!r} has no spectrum.")
        return self._of_values(self.kernel.spectrum(omega, n_dims))

    def log_spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Logarithm of the spectrum of the multiple."""
        return self.kernel.log_spectrum(omega, n_dims) + np.log(self._positive("factor"))

    def polynomial_part(self, X: Any) -> Array:
        """The polynomials of the kernel."""
        return self.kernel.polynomial_part(X)

    def _of_values(self, values: Array) -> Array:
        values *= self._positive("factor", or_zero=True)
        return values

    def _slope(self, values: Array) -> Array:
        return np.full_like(values, self._positive("factor", or_zero=True))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.factor!r} * {_in_brackets(self.kernel)}"


class Power(_Wrapped):
    """k(x, y) = kernel(x, y)^exponent with a whole number as exponent, written ``kernel ** exponent``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[1.0], [2.0]])
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    def __init__(self, kernel: Kernel, exponent: int = 2):
        self.kernel = kernel
        self.exponent = exponent

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 if the kernel is positive definite, else None."""
        return 0 if self.kernel.order == 0 else None

    def _of_values(self, values: Array) -> Array:
        return integer_power(values, self._whole("exponent", at_least=1))

    def _slope(self, values: Array) -> Array:
        exponent = self._whole("exponent", at_least=1)
        return exponent * integer_power(values, exponent - 1)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{_in_brackets(self.kernel)} ** {self.exponent!r}"


class OnColumns(Kernel):
    """A kernel that sees only some columns of its input, written ``kernel.on(columns)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    columns : int, str, or list of them
        Positions of columns, or names of columns of a data frame.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = Gaussian(width=2.0).on([0, 1]) + Linear().on([2])
    >>> kernel([[0.0, 0.0, 1.0], [2.0, 0.0, 3.0]]).round(3)
    array([[ 2.   ,  3.607],
           [ 3.607, 10.   ]])
    """

    takes_vectors = False  # the columns of a data frame may be of any kind
    linear = _of_kernel("linear")
    order = _of_kernel("order")
    differentiable = _of_kernel("differentiable")
    translation_invariant = _of_kernel("translation_invariant")
    takes_sparse = _of_kernel("takes_sparse")
    takes_negative = _of_kernel("takes_negative")

    def __init__(self, kernel: Kernel, columns: Any = 0):
        self.kernel = kernel
        self.columns = columns

    def linear_coefficients(self, X: Any, coef: Array) -> Array:
        """Those of the kernel, and zero in the columns that it does not see."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        result = np.zeros((X.shape[1], *np.shape(coef)[1:]))
        np.add.at(result, self._positions(X), self.kernel.linear_coefficients(self._select(X), coef))
        return result

    def polynomial_part(self, X: Any) -> Array:
        """The polynomials of the kernel in its columns."""
        return self.kernel.polynomial_part(self._select(X))

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Gradient with respect to all columns: zero in those that the kernel does not see."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        inner = self.kernel.gradient(self._select(X), None if Y is None else self._select(Y))
        gradient = np.zeros((*inner.shape[:2], X.shape[1]), dtype=inner.dtype)
        for i, position in enumerate(self._positions(X)):
            gradient[..., position] += inner[..., i]
        return gradient

    def _positions(self, X: Any) -> Array:
        """Positions of the columns in X, from names, positions, a mask or a slice."""
        scalar = isinstance(self.columns, str) or (np.ndim(self.columns) == 0 and not isinstance(self.columns, slice))
        columns = [self.columns] if scalar else self.columns
        n_columns = X.shape[1]
        if not isinstance(columns, slice) and len(columns) and all(isinstance(name, str) for name in columns):
            if not hasattr(X, "columns"):
                raise self._complain("columns", "positions, since X has no names", self.columns, "or give a data frame")
            names = list(X.columns)
            if not set(columns) <= set(names):
                raise self._complain("columns", f"among {names}", self.columns, "choose others")
            return np.array([names.index(name) for name in columns])
        try:
            chosen = positions(columns, n_columns)
        except (TypeError, ValueError) as error:
            raise self._complain(
                "columns", f"among the {n_columns} columns of X", self.columns, "choose others"
            ) from error
        if not chosen.size:
            raise self._complain("columns", "one column or more", self.columns, "choose some")
        return chosen

    def _select(self, X: Any) -> Any:
        X = sparse.csr_array(X) if sparse.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2:
            raise self._complain("X", "a table with rows and columns", f"shape {X.shape}", "give it two dimensions")
        return _safe_indexing(X, self._positions(X), axis=1)

    def _prepare(self, X: Any, Y: Any) -> Sides:
        return self.kernel._prepare(self._select(X), None if Y is None else self._select(Y))

    def _tile(self, left: Any, right: Any) -> Array:
        return self.kernel._tile(left, right)

    def _diagonal(self, left: Any, right: Any) -> Array:
        return self.kernel._diagonal(left, right)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{_in_brackets(self.kernel)}.on({self.columns!r})"


def integer_power(values: Array, exponent: int) -> Array:
    """values^exponent by repeated multiplication: many times as fast as np.power for doubles."""
    result = None
    while exponent:
        if exponent & 1:
            if result is None:
                result = values.copy()
            else:
                result *= values
        exponent >>= 1
        if exponent:
            values = values * values
    return np.ones_like(values) if result is None else result


def _stationary_parts(pair: _Pair) -> tuple[Any, Any]:
    if not pair.stationary:
        raise TypeError(f"{pair!r} is not a function of the distance: not both of its parts are.")
    return pair.left, pair.right


def _in_brackets(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum | Product | Scaled | Power) else repr(kernel)
