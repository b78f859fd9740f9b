"""Kernels that are built from one-dimensional functions of the difference in each column."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.kernels.base import Kernel, whole_dimension


class ColumnProduct(Kernel):
    """A kernel k(x, y) = Π_c b(x_c - y_c), with an even function b that may differ between columns."""

    translation_invariant = True
    _float64_inside = True

    def _tile(self, left: Array, right: Array) -> Array:
        tile = self._of_difference(left[:, :1] - right[:, 0], 0, left.shape[1])
        for column in range(1, left.shape[1]):
            tile *= self._of_difference(left[:, [column]] - right[:, column], column, left.shape[1])
        return tile

    def _diagonal(self, left: Array, right: Array) -> Array:
        return np.full(len(left), self._tile(left[:1], left[:1])[0, 0])

    def _gradient(self, X: Array, Y: Array) -> Array:
        n_columns = X.shape[1]
        differences = [X[:, [column]] - Y[:, column] for column in range(n_columns)]
        values = [self._of_difference(delta, c, n_columns) for c, delta in enumerate(differences)]
        return product_rule(values, [self._slope(delta, c, n_columns) for c, delta in enumerate(differences)])

    @abstractmethod
    def _of_difference(self, delta: Array, column: int, n_columns: int) -> Array:
        """b(delta) in a column: a new array."""

    @abstractmethod
    def _slope(self, delta: Array, column: int, n_columns: int) -> Array:
        """db/ddelta in a column: a new array."""


def product_rule(factors: list[Array], slopes: list[Array]) -> Array:
    """Gradient of a product of functions of one column each: each slope times all the other factors."""
    gradient = np.stack(slopes, axis=-1)
    before = np.ones_like(factors[0])
    for column, factor in enumerate(factors[:-1]):
        before *= factor
        gradient[..., column + 1] *= before
    after = np.ones_like(factors[0])
    for column, factor in reversed(list(enumerate(factors))[1:]):
        after *= factor
        gradient[..., column - 1] *= after
    return gradient


def frequency_vectors(kernel: Kernel, omega: ArrayLike, n_dims: int) -> Array:
    """Frequencies as vectors of shape (..., n_dims); in one dimension omega may have any shape."""
    omega = np.asarray(omega, dtype=np.float64)
    if whole_dimension(n_dims) == 1:
        return omega[..., None]
    if omega.shape[-1:] != (n_dims,):
        raise kernel._complain(
            "omega", f"of shape (..., {n_dims})", omega.shape, "this kernel is not radial: give frequency vectors"
        )
    return omega
