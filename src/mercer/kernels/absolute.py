"""The kernel of absolute differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.kernels.base import Array, Kernel, Sides, finite


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
