"""What a kernel is: a symmetric function of two objects, its Gram matrix, and its algebra."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.kernels.tiles import dense_gram

if TYPE_CHECKING:
    from mercer.kernels.algebra import OnColumns, Power, Product, Scaled, Sum


class Sides(NamedTuple):
    """Rows and columns of a Gram matrix, validated and ready to be evaluated tile by tile.

    `left` and `right` are arrays that can be indexed by rows, or (nested) tuples of such arrays.
    """

    left: Any
    right: Any
    shape: tuple[int, int]
    dtype: DTypeLike


class Kernel(BaseEstimator, ABC):
    """A symmetric function k(x, y) that says how similar two objects are.

    A kernel on vectors needs `_tile` and `_diagonal`, and `_gradient` where k can be differentiated; a kernel on other
    objects overrides `_prepare` as well. Parameters follow scikit-learn: they are stored as given, read by
    `get_params`, changed by `set_params`, copied by `clone`, and checked when the kernel is used.

    Attributes
    ----------
    order : int or None
        0: positive definite. 1 or 2: conditionally positive definite, i.e. cᵀKc >= 0 for all c that are orthogonal to
        the constants (1) or to the constants and linear functions (2). None: no such promise is made.
    stationary : bool
        Whether k is a function of the squared Euclidean distance alone: ``of_squared_distance(r2, n_dims)`` works. The
        number of columns n_dims matters only to kernels whose shape depends on it.
    translation_invariant : bool
        Whether k is a function of x - y alone.
    linear : bool
        Whether k is a bilinear form: every sum of kernel functions is then a linear function, and
        ``linear_coefficients(X, coef)`` says which.
    has_spectrum : bool
        Whether its Fourier transform is known: ``spectrum(omega, n_dims)`` works.
    differentiable : bool
        Whether `gradient` exists.
    takes_vectors : bool
        Whether the input is a table of numbers; else the kernel alone knows what it takes.
    takes_sparse : bool
        Whether the rows may be a sparse matrix.
    takes_negative : bool
        Whether the numbers may be negative.
    pairwise : bool
        Whether the input is itself a matrix of values between pairs of objects (`Precomputed`).
    needs_test : bool
        Whether `order` is not known to hold until it was tested on the data, as for a matrix that was given.
    """

    order: int | None = 0
    stationary: bool = False
    translation_invariant: bool = False
    linear: bool = False
    has_spectrum: bool = False
    differentiable: bool = True
    takes_vectors: bool = True
    takes_sparse: bool = False
    takes_negative: bool = True
    pairwise: bool = False
    needs_test: bool = False
    _takes_single_rows: bool = True  # False where an array of one dimension is a sequence of objects
    _float64_inside: bool = False
    _exact_diagonal: bool = True
    _is_gaussian: bool = False  # exp(-distance² / 2) of rows that `distance_sides` prepared

    # NumPy must not take `np.float64(3) * kernel` for an operation on arrays.
    __array_ufunc__ = None

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Gram matrix of the rows of X against those of Y (of X, if Y is None: then exactly symmetric).

        Memory: the result, a copy of X and Y, and a few MiB for each thread. Vectors in float32 give float32, all other
        input gives float64. Two arrays of one dimension are two rows: their value is a number.
        """
        if self._takes_single_rows and _is_row(X) and _is_row(Y):
            return self(np.asarray(X)[None], np.asarray(Y)[None])[0, 0]
        return dense_gram(self, self._prepare(X, Y), symmetric=Y is None)

    def diag(self, X: Any) -> Array:
        """Values k(x, x) for the rows of X, without the rest of the Gram matrix."""
        return finite_diagonal(self, self._prepare(X, None))

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Gradient of k(x, y) with respect to x, an array of shape (len(X), len(Y), n_columns).

        Where k has a kink (Exponential and L1 at coinciding points) the mean of the one-sided slopes is returned.
        """
        if not self.differentiable:
            raise TypeError(f"{self!r} has no gradient; choose a kernel that is differentiable.")
        X, Y = self._check_rows(X, Y, accept_sparse=False)
        return self._gradient(X, X if Y is None else Y)

    def polynomial_part(self, X: Any) -> Array:
        """Columns of the polynomials that a conditionally positive kernel leaves unpenalised.

        No column for order 0, the constant for order 1, the constant and the columns of X for order 2.
        """
        n_rows = len(self.diag(X))
        if not self.order:
            return np.empty((n_rows, 0))
        if self.order == 1:
            return np.ones((n_rows, 1))
        X, _ = self._check_rows(X, None, accept_sparse=self.takes_sparse)
        return np.hstack([np.ones((n_rows, 1)), X.toarray() if sparse.issparse(X) else X])

    def log_spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Logarithm of ``spectrum(omega, n_dims)``; Gaussians and their like do not underflow in it."""
        if not self.has_spectrum:
            raise TypeError(f"{self!r} has no spectrum; take a kernel that has, as Gaussian.")
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.spectrum(omega, n_dims)))

    def linear_coefficients(self, X: Any, coef: Array) -> Array:
        """The slopes w with Σ_i coef_i k(x_i, y) = wᵀy for all y, as many as X has columns.

        They are columns of a table if coef has several columns.
        """
        raise TypeError(f"{self!r} is not linear; take the sum of kernel functions itself.")

    def on(self, columns: Any) -> OnColumns:
        """Restrict this kernel to some columns of its input, given by position or, for data frames, by name."""
        from mercer.kernels.algebra import OnColumns

        return OnColumns(self, columns)

    # What a concrete kernel provides ---------------------------------------------------------------------------------

    def _prepare(self, X: Any, Y: Any) -> Sides:
        """Validate X and Y and bring them into the form in which `_tile` wants them."""
        X, Y = self._check_rows(X, Y, accept_sparse=self.takes_sparse)
        dtype = X.dtype
        if self._float64_inside:
            X, Y = X.astype(np.float64, copy=False), None if Y is None else Y.astype(np.float64, copy=False)
        Y = X if Y is None else Y
        return Sides(X, Y, (X.shape[0], Y.shape[0]), dtype)

    @abstractmethod
    def _tile(self, left: Any, right: Any) -> Array:
        """Values of k for some prepared rows against some prepared columns: a new array that the caller may change."""

    def _add_products(
        self, left: Any, right: Any, V: Array, sums: Array, W: Array | None = None, transposed_sums: Array | None = None
    ) -> None:
        """Add K V to sums and, where W is given, Kᵀ W to transposed_sums, for the tile K of two prepared sides."""
        K = self._tile(left, right)
        sums += K @ V
        if W is not None and transposed_sums is not None:
            transposed_sums += K.T @ W

    def _forms_tiles(self, left: Any, right: Any, V: Array) -> bool:
        """Whether `_add_products` forms the tile of two prepared sides: then it must be small."""
        return True

    def _gaussian_rows(self, sides: Sides) -> Array | None:
        """Rows between which the kernel is exp(-distance² / 2), where products in single precision may use that."""
        return None

    def _single_sides(self, sides: Sides) -> Sides:
        """Sides for tiles that need not be better than single precision."""
        return sides

    @abstractmethod
    def _diagonal(self, left: Any, right: Any) -> Array:
        """Values k(x, x) from the two sides prepared with Y = None."""

    def _gradient(self, X: Array, Y: Array) -> Array:
        """Gradient for validated dense rows. Kernels with `differentiable = False` do not need it."""
        raise TypeError(f"{type(self).__name__} says that it is differentiable but defines no _gradient.")

    def _check_rows(self, X: Any, Y: Any, *, accept_sparse: bool) -> tuple[Any, Any]:
        """Vectors as finite floating-point rows of one precision, with equal numbers of columns."""
        names, other_names = (getattr(rows, "columns", None) for rows in (X, Y))
        if names is not None and other_names is not None and list(names) != list(other_names):
            raise ValueError(
                f"Y of {type(self).__name__} must have the columns of X, {list(names)}, got {list(other_names)}; "
                "bring them into the same order."
            )
        options = {"accept_sparse": "csr" if accept_sparse else False, "dtype": [np.float64, np.float32], "order": "C"}
        X = check_array(X, input_name="X", estimator=self, **options)
        if Y is None:
            return X, None
        Y = check_array(Y, input_name="Y", estimator=self, **options)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"Y of {type(self).__name__} must have the {X.shape[1]} columns of X, got {Y.shape[1]}; "
                "give both the same features in the same order."
            )
        if X.dtype != Y.dtype:
            X, Y = X.astype(np.float64), Y.astype(np.float64)
        return X, Y

    # Algebra ---------------------------------------------------------------------------------------------------------

    def __add__(self, other: Kernel) -> Sum:
        from mercer.kernels.algebra import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        # sum([k1, k2]) starts from zero.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        from mercer.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, Real) else NotImplemented

    def __rmul__(self, factor: float) -> Scaled:
        from mercer.kernels.algebra import Scaled

        return Scaled(self, factor) if isinstance(factor, Real) else NotImplemented

    def __pow__(self, exponent: int) -> Power:
        from mercer.kernels.algebra import Power

        return Power(self, exponent)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        values, signature = self.get_params(deep=False), inspect.signature(type(self))
        shown = {name: getattr(values[name], "__name__", repr(values[name])) for name in signature.parameters}
        parameters = ", ".join(f"{name}={text}" for name, text in shown.items())
        return f"{type(self).__name__}({parameters})"

    def _complain(self, parameter: str, constraint: str, value: Any, remedy: str) -> ValueError:
        return ValueError(f"{parameter} of {type(self).__name__} must be {constraint}, got {value!r}; {remedy}.")

    def _positive(self, parameter: str, *, or_zero: bool = False) -> float:
        """The value of a parameter that must be a positive finite number."""
        value = getattr(self, parameter)
        number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
        relation = ">=" if or_zero else ">"
        if not isinstance(number, Real) or isinstance(number, bool) or not 0 <= float(number) < np.inf:
            raise self._complain(parameter, "a positive finite number", value, f"give {parameter} {relation} 0")
        if number == 0 and not or_zero:
            raise self._complain(parameter, "positive", value, f"give {parameter} > 0")
        return float(number)

    def _number(self, parameter: str) -> float:
        """The value of a parameter that must be a finite number."""
        value = getattr(self, parameter)
        if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(float(value)):
            raise self._complain(parameter, "a finite number", value, f"give one, like {parameter}=0")
        return float(value)

    def _squared(self, parameter: str, *, or_zero: bool = False) -> float:
        """The square of a positive parameter, which must be a normal number too."""
        value = self._positive(parameter, or_zero=or_zero)
        if value and not 1e-150 < value < 1e150:
            raise self._complain(parameter, "between 1e-150 and 1e150", value, "rescale the data")
        return value**2

    def _positive_per_column(self, parameter: str, n_columns: int | None = None) -> float | Array:
        """The value of a parameter that must be a positive number, or one for each column."""
        value = getattr(self, parameter)
        if isinstance(value, Real) or (isinstance(value, np.ndarray) and value.ndim == 0):
            return self._positive(parameter)
        numbers = isinstance(value, list | tuple | np.ndarray) and np.asarray(value).dtype.kind in "fiu"
        values = np.asarray(value, dtype=np.float64) if numbers else np.empty(0)
        if values.ndim != 1 or not values.size or not np.all(np.isfinite(values) & (values > 0)):
            remedy = f"give one {parameter} > 0, or a list of one for each column"
            raise self._complain(parameter, "positive and finite", value, remedy)
        if n_columns is not None and values.size != n_columns:
            remedy = f"give a single {parameter}, or as many as there are columns"
            raise self._complain(parameter, f"of length {n_columns}", value, remedy)
        return values

    def _whole(self, parameter: str, *, at_least: int) -> int:
        """The value of a parameter that must be a whole number."""
        value = getattr(self, parameter)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
            remedy = f"give {parameter}={at_least} or more"
            raise self._complain(parameter, f"a whole number >= {at_least}", value, remedy)
        return int(value)


def _is_row(x: Any) -> bool:
    """Whether x is one row of numbers."""
    return isinstance(x, np.ndarray | list | tuple) and len(np.shape(x[:1])) == 1


def finite(kernel: Kernel, values: Array) -> Array:
    """The values, if none of them overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(f"Values of {kernel!r} must be finite, got an overflow; rescale X or the kernel.")
    return values


def finite_diagonal(kernel: Kernel, sides: Sides) -> Array:
    """The diagonal of the Gram matrix of two sides prepared with Y = None."""
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(kernel, np.asarray(kernel._diagonal(sides.left, sides.right), dtype=sides.dtype))


def whole_dimension(n_dims: Any) -> int:
    """A dimension, which must be a whole number."""
    if not isinstance(n_dims, Integral) or isinstance(n_dims, bool) or n_dims < 1:
        raise ValueError(f"n_dims must be a whole number >= 1, got {n_dims!r}; give the number of columns.")
    return int(n_dims)


def float_array(values: ArrayLike) -> Array:
    """Values as a new floating-point array, float32 kept."""
    array = np.array(values)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
