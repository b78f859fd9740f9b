"""Kernels on histograms: rows of counts or shares, none of them negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides, finite
from mercer.kernels.exponential import exp_of_negative

# Added to sums of two numbers, so that 0 / 0 is 0; it changes no sum of normal numbers.
_TINY = float(np.finfo(np.float64).tiny)


class ChiSquare(Kernel):
    """Exponential of the χ² distance of two histograms, exp(-rate Σ_c (x_c - y_c)² / (x_c + y_c)).

    Parameters
    ----------
    rate : float
        How fast it falls with the distance.

    Notes
    -----
    No number may be negative; columns in which both rows are zero add nothing. Differences in rare columns weigh more
    than the same differences in frequent ones.

    Examples
    --------
    >>> from mercer.kernels import ChiSquare
    >>> ChiSquare(rate=0.5)([[1.0, 0.0], [0.5, 0.5]]).round(3)
    array([[1.   , 0.717],
           [0.717, 1.   ]])
    """

    takes_negative = False
    _float64_inside = True

    def __init__(self, rate: float = 1.0):
        self.rate = rate

    def _prepare(self, X: Any, Y: Any) -> Sides:
        sides = super()._prepare(X, Y)
        for name, rows in (("X", sides.left), ("Y", sides.right)):
            with np.errstate(over="ignore"):
                finite(self, 4 * rows)  # sums of two must be finite, too
            if rows.min() < 0:
                raise self._complain(name, "non-negative", float(rows.min()), "shift the columns, or take L1")
        return sides

    def _tile(self, left: Array, right: Array) -> Array:
        distance = np.zeros((len(left), len(right)))
        difference, share = np.empty_like(distance), np.empty_like(distance)
        for x, y in zip(left.T, right.T, strict=True):
            np.subtract.outer(x, y, out=difference)
            np.add.outer(x + _TINY, y, out=share)
            np.divide(difference, share, out=share)
            difference *= share
            distance += difference
        return exp_of_negative(distance, self._positive("rate"))

    def _diagonal(self, left: Array, right: Array) -> Array:
        return np.ones(len(left))

    def _gradient(self, X: Array, Y: Array) -> Array:
        X, Y = X[:, None], Y[None]
        total = X + Y + _TINY
        slope = (X - Y) / total * (1 + 2 * Y / total)
        return -self._positive("rate") * slope * self(X[:, 0], Y[0])[..., None]
