"""Loops over all pairs of rows: distances, exponentials, and sums of a gradient.

Written by hand: city-block distances are no matrix product, and sums over pairs of terms in each column would need an
array of n x n x d numbers. Differences are taken before they are squared, so that nothing cancels between near rows,
where these kernels have their kink. Rows are given as columns (d, n): the inner loops run along them.
"""

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, void

from mercer.compiled_numba import PLAIN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two

EUCLIDEAN, CITY_BLOCK, SQUARED = 0, 1, 2
_LOG2_E = 1.0 / math.log(2.0)
_COMPILE: Any = {**PLAIN, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
_ROWS = read_only(float64, 2)


@njit(inline="always", **_COMPILE)
def _distances(columns, i, n, kind, r):  # type: ignore[no-untyped-def]
    """Write r_ik of row i and the first n rows: |a_i - a_k|, the city-block distance, or |a_i - a_k|² / 2."""
    for k in range(n):
        r[k] = 0.0
    for j in range(len(columns)):
        column = columns[j]
        own = column[i]
        if kind == CITY_BLOCK:
            for k in range(n):
                r[k] += abs(own - column[k])
        else:
            for k in range(n):
                d = own - column[k]
                r[k] += d * d
    if kind == EUCLIDEAN:
        for k in range(n):
            r[k] = math.sqrt(r[k])
    elif kind == SQUARED:
        for k in range(n):
            r[k] *= 0.5


@njit(inline="always", **_COMPILE)
def entries_of_s(C, alpha, share, i, g):  # type: ignore[no-untyped-def]
    """Write S_ik = share C_ik - Σ_c alpha_ci alpha_ck of row i and all rows k before it."""
    inverse = C[i]
    for k in range(i):
        g[k] = share * inverse[k]
    for c in range(len(alpha)):
        row = alpha[c]
        own = row[i]
        for k in range(i):
            g[k] -= own * row[k]


@compiled(void(_ROWS, int64, int64, int64, float64[:, ::1], float64[:, ::1]), **_COMPILE)
def fill(columns, start, stop, kind, R, K):  # type: ignore[no-untyped-def]
    """Write r and exp(-r) for rows from `start` to `stop` against all rows before them."""
    for i in range(start, stop):
        r, values = R[i], K[i]
        _distances(columns, i, i, kind, r)
        for k in range(i):
            values[k] = power_of_two(-_LOG2_E * r[k])


@compiled(void(int64, int64, float64, float64[:, ::1], float64[:, ::1]), **_COMPILE)
def fill_scaled(start, stop, factor, R, K):  # type: ignore[no-untyped-def]
    """Write exp(-factor r) for rows from `start` to `stop` against all rows before them."""
    for i in range(start, stop):
        r, values = R[i], K[i]
        for k in range(i):
            values[k] = power_of_two(-_LOG2_E * factor * r[k])


@compiled(
    void(int64, int64, float64, float64[:, ::1], _ROWS, _ROWS, float64, float64[::1]), **_COMPILE
)  # fmt: skip
def add_scale_gradient(start, stop, factor, R, C, alpha, share, sums):  # type: ignore[no-untyped-def]
    """Add Σ_k S_ik exp(-factor r_ik) factor r_ik over rows i from `start` to `stop` and all rows k before them."""
    g = np.empty(stop)
    for i in range(start, stop):
        r = R[i]
        entries_of_s(C, alpha, share, i, g)
        total = 0.0
        for k in range(i):
            scaled = factor * r[k]
            total += g[k] * scaled * power_of_two(-_LOG2_E * scaled)
        sums[0] += total


@compiled(
    void(_ROWS, _ROWS, int64, int64, int64, _ROWS, _ROWS, _ROWS, float64, float64[::1]), **_COMPILE
)  # fmt: skip
def add_gradient(columns, turned, start, stop, kind, R, C, alpha, share, sums):  # type: ignore[no-untyped-def]
    """Add Σ_k S_ik exp(-r_ik) q_ikj over rows i from `start` to `stop` and all rows k before them, for each column j.

    S = share C - Σ_c alpha_c alpha_cᵀ. q is the derivative of r by the logarithm of the weight of column j: with b the
    rows in `columns` and t those in `turned`, |b_ij - b_kj| for the city-block distance, else
    (b_ij - b_kj) (t_ij - t_kj), over r for Euclidean distances. Equal rows, where these have a kink, add nothing.
    """
    g = np.empty(stop)
    for i in range(start, stop):
        r = R[i]
        entries_of_s(C, alpha, share, i, g)
        for k in range(i):
            g[k] *= power_of_two(-_LOG2_E * r[k])
        if kind == EUCLIDEAN:
            for k in range(i):
                g[k] = g[k] / r[k] if r[k] > 0.0 else 0.0
        for j in range(len(columns)):
            total, column, own = 0.0, columns[j], columns[j, i]
            if kind == CITY_BLOCK:
                for k in range(i):
                    total += g[k] * abs(own - column[k])
            else:
                other, own_other = turned[j], turned[j, i]
                for k in range(i):
                    total += g[k] * (own - column[k]) * (own_other - other[k])
            sums[j] += total


@compiled(void(_ROWS, int64, int64, int64, _ROWS, float64[:, :, ::1]), **_COMPILE)
def fill_slopes(columns, start, stop, kind, coef, slopes):  # type: ignore[no-untyped-def]
    """Write the gradients at rows i of Σ_k coef_ck exp(-r_ik) over all k but i, for each c: slopes[c, i, j]."""
    n = columns.shape[1]
    r, g = np.empty(n), np.empty(n)
    for i in range(start, stop):
        _distances(columns, i, n, kind, r)
        for c in range(len(coef)):
            for k in range(n):
                g[k] = -coef[c, k] * power_of_two(-_LOG2_E * r[k])
            if kind == EUCLIDEAN:
                for k in range(n):
                    g[k] = g[k] / r[k] if r[k] > 0.0 else 0.0
            for j in range(len(columns)):
                total, column, own = 0.0, columns[j], columns[j, i]
                if kind == CITY_BLOCK:
                    for k in range(n):
                        d = own - column[k]
                        total += g[k] * ((1.0 if d > 0.0 else 0.0) - (1.0 if d < 0.0 else 0.0))
                else:
                    for k in range(n):
                        total += g[k] * (own - column[k])
                slopes[c, i, j] = total
