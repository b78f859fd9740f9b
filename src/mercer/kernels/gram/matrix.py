"""What programs and solvers know of a Gram matrix, whether it is in memory, a low-rank factor, or never formed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mercer.arrays import Array


class GramMatrix(ABC):
    """A symmetric matrix K of shape (n, n), positive semi-definite at least on a subspace.

    Attributes
    ----------
    shape, dtype
        As those of arrays.
    in_memory : bool
        Whether K, or a factor of it, is an array; else its entries are evaluated when they are needed.
    is_zero : bool
        Whether K stands for no matrix at all.
    formed : array of shape (n, n) or None
        K, if it is an array.
    factor : array of shape (n, rank) or None
        L, if K = L Lᵀ is given by it.
    error : float
        Trace of the exact matrix less K; it bounds every eigenvalue of this difference.
    """

    shape: tuple[int, int]
    dtype: Any
    in_memory = True
    is_zero = False
    formed: Array | None = None
    factor: Array | None = None
    error: float = 0.0

    @abstractmethod
    def __matmul__(self, V: Any) -> Any:
        """K V."""

    @abstractmethod
    def diagonal(self) -> Array:
        """The entries K[i, i]."""

    @abstractmethod
    def block(self, rows: Any, columns: Any = slice(None)) -> Array:
        """The entries of some rows and columns, each given as a slice or as positions."""

    def columns(self, chosen: Any) -> Any:
        """K[:, chosen], as an array or an operator."""
        return self.block(slice(None), chosen)

    def coefficients(self, B: Array) -> Array:
        """Coefficients of the kernel functions Σ a_i k(x_i, .) whose values at the rows are KB."""
        return B

    def for_products(self, memory: int) -> GramMatrix:
        """The matrix in the form in which many products are fastest, within so many bytes."""
        return self


class FormedMatrix(GramMatrix):
    """A Gram matrix in memory.

    Parameters
    ----------
    K : array of shape (n, n)
        The matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.gram import FormedMatrix
    >>> FormedMatrix(2 * np.eye(3)) @ np.array([1.0, 2.0, 3.0])
    array([2., 4., 6.])
    """

    formed: Array

    def __init__(self, K: ArrayLike):
        self.formed = np.asarray(K)
        n, n_columns = self.formed.shape
        self.shape, self.dtype = (n, n_columns), self.formed.dtype

    def __matmul__(self, V: Any) -> Array:
        return np.asarray(self.formed @ V)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.formed, dtype=dtype) if copy else np.asarray(self.formed, dtype=dtype)

    def diagonal(self) -> Array:
        """The entries K[i, i]."""
        return self.formed.diagonal()

    def block(self, rows: Any, columns: Any = slice(None)) -> Array:
        """The entries of some rows and columns; a view where both are slices."""
        if isinstance(rows, slice) or isinstance(columns, slice):
            return np.asarray(self.formed[rows, columns])
        return np.asarray(self.formed[np.ix_(rows, columns)])


class NoMatrix(GramMatrix):
    """The matrix of a program without a quadratic part: zero.

    Parameters
    ----------
    n : int
        Number of rows.
    """

    is_zero = True

    def __init__(self, n: int):
        self.shape, self.dtype = (n, n), np.dtype(np.float64)

    def __matmul__(self, V: Any) -> Array:
        return np.zeros(np.shape(V))

    def diagonal(self) -> Array:
        """Zeros."""
        return np.zeros(self.shape[0])

    def block(self, rows: Any, columns: Any = slice(None)) -> Array:
        """Zeros."""
        positions = np.arange(self.shape[0])
        return np.zeros((len(positions[rows]), len(positions[columns])))


def as_gram_matrix(matrix: Any, n: int) -> GramMatrix:
    """A `GramMatrix` as it is, an array as a matrix in memory, None as the zero matrix of n rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.gram import as_gram_matrix
    >>> as_gram_matrix(np.eye(2), 2).formed
    array([[1., 0.],
           [0., 1.]])
    >>> as_gram_matrix(None, 2).is_zero
    True
    """
    if isinstance(matrix, GramMatrix):
        return matrix
    return NoMatrix(n) if matrix is None else FormedMatrix(matrix)
