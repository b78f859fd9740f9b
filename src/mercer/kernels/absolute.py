"""Kernels of absolute differences: city-block distances instead of Euclidean ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides, finite
from mercer.kernels.columnwise import frequency_vectors
from mercer.kernels.exponential import exp_of_negative
from mercer.kernels.gaussian import add_gaussian_products, are_many_rows, few_vectors, gaussian_tile
from mercer.kernels.kinds_numba import CITY_BLOCK

# With more columns it takes longer to evaluate a matrix again than to fetch it from memory.
_FEW_COLUMNS = 16


class L1(Kernel):
    """Kernel (||x||₁ + ||y||₁ - ||x - y||₁) / 2, whose squared distance in feature space is ||x - y||₁.

    Notes
    -----
    [Meinicke2005]_, eq. (17). Positive definite, homogeneous of degree 1: rescaling the data rescales the kernel. It
    depends on the origin; centre the columns first if zero means nothing.

    Examples
    --------
    >>> from mercer.kernels import L1
    >>> L1()([[1.0, 2.0], [3.0, -1.0]])
    array([[3., 1.],
           [1., 4.]])
    """

    def _prepare(self, X: Any, Y: Any) -> Sides:
        sides = super()._prepare(X, Y)
        left, right = ((rows, self._norms(rows)) for rows in (sides.left, sides.right))
        return Sides(left, right, sides.shape, sides.dtype)

    def _norms(self, rows: Array) -> Array:
        with np.errstate(over="ignore"):
            return finite(self, 2 * np.abs(rows).sum(axis=1, dtype=np.float64)) / 2

    def _tile(self, left: Any, right: Any) -> Array:
        (X, x1), (Y, y1) = left, right
        tile = cdist(X, Y, "cityblock")
        np.subtract(y1, tile, out=tile)
        tile += x1[:, None]
        tile *= 0.5
        return np.asarray(tile)

    def _diagonal(self, left: Any, right: Any) -> Array:
        return np.asarray(left[1])

    def _gradient(self, X: Array, Y: Array) -> Array:
        return 0.5 * (np.sign(X)[:, None] - np.sign(X[:, None] - Y))


class ProductLaplace(Kernel):
    """Exponential of the city-block distance, Π_c exp(-|x_c - y_c| / width_c).

    Parameters
    ----------
    width : float or list of float
        Distance at which k falls to 1/e, for all columns or for each.

    Notes
    -----
    Its functions are continuous but rough, like those of `Exponential`, and it treats each column by itself. Spectrum
    Π_c √(2/π) width_c / (1 + (ω_c width_c)²).

    Examples
    --------
    >>> from mercer.kernels import ProductLaplace
    >>> ProductLaplace(width=[1.0, 2.0])([[0.0, 0.0], [1.0, 2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    translation_invariant = True
    has_spectrum = True
    _float64_inside = True

    def __init__(self, width: Any = 1.0):
        self.width = width

    def spectrum(self, omega: ArrayLike, n_dims: int = 1) -> Array:
        """Fourier transform at omega: of any shape in one dimension, frequency vectors (..., n_dims) in several."""
        omega = frequency_vectors(self, omega, n_dims)
        width = np.broadcast_to(self._positive_per_column("width", n_dims), n_dims)
        return np.prod(np.sqrt(2 / np.pi) * width / (1 + (omega * width) ** 2), axis=-1)

    def _prepare(self, X: Any, Y: Any) -> Sides:
        sides = super()._prepare(X, Y)
        left = self._scaled(sides.left)
        return sides._replace(left=left, right=left if Y is None else self._scaled(sides.right))

    def _scaled(self, rows: Array) -> Array:
        with np.errstate(over="ignore"):
            return finite(self, rows / self._positive_per_column("width", rows.shape[1]))

    def _tile(self, left: Array, right: Array) -> Array:
        if are_many_rows(left, right):
            return gaussian_tile(left, right, kind=CITY_BLOCK)
        return exp_of_negative(cdist(left, right, "cityblock"), 1.0)

    def _add_products(
        self, left: Any, right: Any, V: Array, sums: Array, W: Array | None = None, transposed_sums: Array | None = None
    ) -> None:
        if few_vectors(V) and are_many_rows(left, right):
            add_gaussian_products(left, right, V, sums, W, transposed_sums, kind=CITY_BLOCK)
        else:
            super()._add_products(left, right, V, sums, W, transposed_sums)

    def _forms_tiles(self, left: Any, right: Any, V: Array) -> bool:
        return left.shape[1] > _FEW_COLUMNS or not (few_vectors(V) and are_many_rows(left, right))

    def _diagonal(self, left: Array, right: Array) -> Array:
        return np.ones(len(left))

    def _gradient(self, X: Array, Y: Array) -> Array:
        width = self._positive_per_column("width", X.shape[1])
        return -np.sign(X[:, None] - Y) / width * self(X, Y)[..., None]
