"""Kernels that the user brings: a function of two objects, or a finished Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides
from mercer.kernels.tiles import upper_triangle


class FromFunction(Kernel):
    """A kernel from a function of two objects of any kind, or of two tables.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` gives the value for a pair of objects or, if `vectorized`, the matrix of values for two
        sequences of objects.
    order : int or None
        What is known of its positivity (see `Kernel`); `check_kernel` tests it.
    vectorized : bool
        Whether `function` takes whole sequences.

    Notes
    -----
    A pair costs a call of Python unless `vectorized`. Symmetry is tested on some pairs whenever a symmetric matrix is
    asked for, and on all of them by `check_kernel`.

    Examples
    --------
    >>> from mercer.kernels import FromFunction
    >>> FromFunction(lambda x, y: len(set(x) & set(y)))([{1, 2}, {2, 3}, {4}])
    array([[2., 1., 0.],
           [1., 2., 0.],
           [0., 0., 1.]])
    """

    differentiable = False
    takes_vectors = False
    _takes_single_rows = False
    _exact_diagonal = False  # it would cost a call for each row

    def __init__(self, function: Callable[[Any, Any], Any], order: int | None = 0, vectorized: bool = False):
        self.function = function
        self.order = order
        self.vectorized = vectorized

    def _prepare(self, X: Any, Y: Any) -> Sides:
        left = self._objects(X, "X")
        right = left if Y is None else self._objects(Y, "Y")
        if Y is None:
            self._check_symmetry(left)
        return Sides(left, right, (left.shape[0], right.shape[0]), np.float64)

    def _tile(self, left: Any, right: Any) -> Array:
        if self.vectorized:
            values = np.array(self.function(left, right), dtype=np.float64)
        else:
            values = np.array([[self.function(x, y) for y in right] for x in left], dtype=np.float64)
        shape = (left.shape[0], right.shape[0])
        if values.shape != shape:
            what = "a matrix for two sequences" if self.vectorized else "one number for a pair"
            raise self._complain("function", f"a function that returns {what}", f"shape {values.shape}", "reshape it")
        if not np.isfinite(values).all():
            raise self._complain("function", "finite", "NaN or infinity", "remove such objects or mend the function")
        return values

    def _diagonal(self, left: Any, right: Any) -> Array:
        return np.array([self._tile(left[i : i + 1], left[i : i + 1])[0, 0] for i in range(left.shape[0])])

    def _check_symmetry(self, objects: Any) -> None:
        """Compare k(x, y) with k(y, x) for a few neighbours in the sequence."""
        few = objects[:: max(1, objects.shape[0] // 8)]
        if few.shape[0] < 2:
            return
        forwards, backwards = self._tile(few[:-1], few[1:]), self._tile(few[1:], few[:-1])
        if not np.allclose(forwards, backwards.T, rtol=1e-8, atol=1e-8 * np.abs(forwards).max(initial=0.0)):
            remedy = "a kernel must not depend on the order of its arguments"
            raise self._complain("function", "symmetric", self.function, remedy)

    def _objects(self, objects: Any, name: str) -> Any:
        """A sequence as an array whose first index runs over the objects."""
        if sparse.issparse(objects):
            array = sparse.csr_array(objects)
        elif hasattr(objects, "__array__") or (self.vectorized and isinstance(objects, list | tuple)):
            array = np.asarray(objects)
        elif isinstance(objects, str) or not hasattr(objects, "__len__"):
            raise self._complain(name, "a sequence of objects", type(objects).__name__, "put the objects in a list")
        else:
            array = np.empty(len(objects), dtype=object)
            array[:] = list(objects)
        if not array.shape or array.shape[0] == 0:
            raise self._complain(name, "a sequence of at least one object", "none", "give some")
        return array


class Precomputed(Kernel):
    """A Gram matrix that was computed elsewhere: X is the matrix.

    ``Precomputed()(K)`` takes the square symmetric matrix of the training objects. ``Precomputed()(K_new, K)`` takes
    the values of new objects against the training objects, one row for each, and gives them back.

    Parameters
    ----------
    positive : bool
        Your word that the matrix is positive semi-definite. Machines that need that test it otherwise, which may take
        longer than the fit.

    Notes
    -----
    What counts as rounding, in that test and in that of symmetry, depends on the precision in which the matrix was
    computed; `precision_of` finds it out.

    Examples
    --------
    >>> from mercer.kernels import Precomputed
    >>> Precomputed()([[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    differentiable = False
    pairwise = True
    _takes_single_rows = False

    def __init__(self, positive: bool = False):
        self.positive = positive

    @property
    def needs_test(self) -> bool:  # type: ignore[override]
        """Whether the user has not given his word."""
        if not isinstance(self.positive, bool | np.bool_):
            raise self._complain("positive", "True or False", self.positive, "give your word, or none")
        return not self.positive

    def _prepare(self, X: Any, Y: Any) -> Sides:
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X", estimator=self)
        if Y is None:
            self._check_square(X)
        n_columns = X.shape[1] if Y is None else len(Y)
        if X.shape[1] != n_columns:
            remedy = "give the values of the new objects against all training objects"
            raise self._complain("X", f"of {n_columns} columns, one for each row of Y", X.shape, remedy)
        # The right side is only a list of columns: rows and columns can then be taken like those of any kernel.
        return Sides(X, np.arange(n_columns), (len(X), n_columns), X.dtype)

    def _tile(self, left: Array, right: Array) -> Array:
        return left[:, right]

    def _diagonal(self, left: Array, right: Array) -> Array:
        return left[np.arange(len(left)), right]

    def _check_square(self, K: Array) -> None:
        if K.shape[0] != K.shape[1]:
            remedy = "for new objects call it with the training matrix as Y"
            raise self._complain("X", "a square matrix", f"shape {K.shape}", remedy)
        tolerance = 100 * precision_of(K) * max(K.max(), -K.min())
        for rows, columns in upper_triangle(len(K)):
            if np.any(np.abs(K[rows, columns] - K[columns, rows].T) > tolerance):
                remedy = "average it with its transpose if the difference is rounding"
                raise self._complain("X", "a symmetric matrix", "an asymmetric one", remedy)


def precision_of(K: Array) -> float:
    """Relative rounding of the entries of a matrix, whatever type of numbers holds them.

    A matrix was computed in half or single precision if all its entries are numbers of that precision, and the last bit
    of many of them is set: whole numbers and other short ones are exact. At most 500 rows are examined.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.given import precision_of
    >>> K = np.exp(-np.subtract.outer(np.arange(9.0), np.arange(9.0)) ** 2)
    >>> [float(round(np.log2(precision_of(M)))) for M in (K, K.astype(np.float32).astype(np.float64), np.eye(9))]
    [-52.0, -23.0, -52.0]
    """
    K = K[:: max(1, -(-len(K) // 500))]
    for kind, bits in ((np.float16, np.uint16), (np.float32, np.uint32)):
        with np.errstate(over="ignore", under="ignore"):
            rounded = K.astype(kind)
        if K.dtype == kind or (np.array_equal(rounded, K) and _fills_its_bits(rounded[rounded != 0].view(bits))):
            return float(np.finfo(kind).eps)
    return float(np.finfo(np.float64).eps)


def _fills_its_bits(numbers: Array) -> bool:
    """Whether the last bit is set in a tenth of the numbers or more: in rounded ones it is in half of them."""
    return bool(np.count_nonzero(numbers & 1) > 0.1 * numbers.size)
