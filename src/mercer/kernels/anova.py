"""Sums over sets of columns of products of kernels of one column each: analysis of variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides, finite
from mercer.kernels.gaussian import are_many_rows

_SMOOTHNESS = (0.5, 1.5)


class Anova(Kernel):
    """Sum over all non-empty sets of columns of the products of their kernels, Σ_S Π_{c in S} share_c m_c(x_c, y_c).

    The whole is [Π_c (1 + share_c m_c) - 1] / [Π_c (1 + share_c) - 1], with Matérn's m_c(x, y) = (1 + s) exp(-s) or, if
    nu is 0.5, exp(-s), where s = √(2 nu) |x - y| / width_c.

    Parameters
    ----------
    share : float or list of float
        Weight of the functions of each column. Small ones give sums of functions of one column; large ones give the
        product of all m_c.
    width : float or list of float
        Length of m_c, for all columns or for each.
    nu : {0.5, 1.5}
        Smoothness: functions are continuous, or have one derivative.

    Notes
    -----
    Functions are sums of functions of one column, of two, and so on. Rows that agree in some
    columns are alike however far they are from each other in the others, so that few rows tell what each column does.
    Sets of no column, the constants, are left to the constant of a machine. Cost: one exponential for each pair of
    rows and each column. [Rasmussen2006]_, section 4.2.4; [Duvenaud2011]_.

    Examples
    --------
    >>> from mercer.kernels import Anova
    >>> Anova(share=[1.0, 0.1])([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0]]).round(3)
    array([[1.   , 0.833, 0.083],
           [0.833, 1.   , 0.   ],
           [0.083, 0.   , 1.   ]])
    """

    translation_invariant = True
    _float64_inside = True

    def __init__(self, share: Any = 1.0, width: Any = 1.0, nu: float = 1.5):
        self.share = share
        self.width = width
        self.nu = nu

    def _prepare(self, X: Any, Y: Any) -> Sides:
        sides = super()._prepare(X, Y)
        self._shares(sides.left.shape[1])  # refused before any work
        left = self._scaled(sides.left)
        return sides._replace(left=left, right=left if Y is None else self._scaled(sides.right))

    def _scaled(self, rows: Array) -> Array:
        with np.errstate(over="ignore"):
            return finite(self, rows * self._factors(rows.shape[1]))

    def _factors(self, n_columns: int) -> Array:
        """S for |x - y| = 1."""
        return np.sqrt(2.0 * self._smoothness()) / np.asarray(self._positive_per_column("width", n_columns))

    def _smoothness(self) -> float:
        nu = self._number("nu")
        if nu not in _SMOOTHNESS:
            raise self._complain("nu", f"one of {_SMOOTHNESS}", self.nu, "take 1.5 for smooth functions")
        return nu

    def _shares(self, n_columns: int) -> Array:
        return np.broadcast_to(self._positive_per_column("share", n_columns), n_columns)

    def _tile(self, left: Array, right: Array) -> Array:
        coefficients, linear = recursion(self._shares(left.shape[1])), float(self._smoothness() == 1.5)
        if are_many_rows(left, right):
            return _compiled_tile(left, right, coefficients, linear)
        tile = np.zeros((len(left), len(right)))
        for x, y, constant, slope, start in zip(left.T, right.T, *coefficients, strict=True):
            m = _matern(np.abs(x[:, None] - y), linear)
            tile *= constant + slope * m
            tile += start * m
        return tile

    def _diagonal(self, left: Array, right: Array) -> Array:
        return np.ones(len(left))

    def _gradient(self, X: Array, Y: Array) -> Array:
        # The sum is linear in each m_c: dk/dm_c = share_c (k + 1/N) / (1 + share_c m_c), N = Π_c (1 + share_c) - 1.
        sides, shares = self._prepare(X, Y), self._shares(X.shape[1])
        delta, linear = sides.left[:, None] - sides.right, float(self._smoothness() == 1.5)
        s = np.abs(delta)
        with np.errstate(over="ignore"):
            rest = self(X, Y) + 1.0 / np.expm1(np.log1p(shares).sum())
        slopes = -np.sign(delta) * (1.0 - linear + linear * s) * np.exp(-s) * self._factors(X.shape[1])
        return slopes * shares / (1.0 + shares * _matern(s, linear)) * rest[..., None]


def recursion(shares: Array) -> tuple[Array, Array, Array]:
    """Coefficients of the values k_c = k_{c-1} (constant_c + slope_c m_c) + start_c m_c of the first c columns.

    With N_c = Π_{j <= c} (1 + share_j) - 1 these are N_{c-1} / N_c, the same times share_c, and share_c / N_c: all
    terms are positive, so that nothing cancels, and none is larger than one.
    """
    logs = np.cumsum(np.log1p(shares))
    before = np.concatenate([[0.0], logs[:-1]])
    constant = np.expm1(-before) / np.expm1(-logs) / (1.0 + shares)
    with np.errstate(over="ignore"):
        return constant, constant * shares, shares / np.expm1(logs)


def _matern(s: Array, linear: float) -> Array:
    return np.asarray((1.0 + linear * s) * np.exp(-s))


def _compiled_tile(X: Array, Y: Array, coefficients: tuple[Array, Array, Array], linear: float) -> Array:
    from mercer.kernels.anova_numba import fill

    if len(Y) < len(X):  # the loops run along Y
        return _compiled_tile(Y, X, coefficients, linear).T
    out = np.empty((len(X), len(Y)))
    fill(X, np.ascontiguousarray(Y.T), *coefficients, linear, out)
    return out
