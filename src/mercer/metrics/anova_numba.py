"""Loops over all pairs of rows for sums over sets of columns of products: values, and sums of a gradient.

Written by hand for the reasons in `pairs_numba`. The factor of a column is m = (1 + linear t) exp(-t), where t is the
distance in it; `mercer.kernels.anova.recursion` tells the coefficients, and `rest` is 1 / (Π_j (1 + share_j) - 1).
"""

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, void

from mercer.compiled_numba import PLAIN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two
from mercer.metrics.pairs_numba import entries_of_s

_LOG2_E = 1.0 / math.log(2.0)
_COMPILE: Any = {**PLAIN, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
_ROWS, _NUMBERS = read_only(float64, 2), read_only(float64, 1)


@njit(inline="always", **_COMPILE)
def _values(columns, i, n, constant, slope, first, linear, values):  # type: ignore[no-untyped-def]
    """Write the kernel of row i and the first n rows."""
    for k in range(n):
        values[k] = 0.0
    for j in range(len(columns)):
        column = columns[j]
        own, b, s, a = column[i], constant[j], slope[j], first[j]
        for k in range(n):
            t = abs(own - column[k])
            m = (1.0 + linear * t) * power_of_two(-_LOG2_E * t)
            values[k] = values[k] * (b + s * m) + a * m


@compiled(
    void(_ROWS, int64, int64, _NUMBERS, _NUMBERS, _NUMBERS, float64, float64[:, ::1], float64[:, ::1]), **_COMPILE
)  # fmt: skip
def fill(columns, start, stop, constant, slope, first, linear, R, K):  # type: ignore[no-untyped-def]
    """Write the kernel for rows from `start` to `stop` against all rows before them, twice."""
    for i in range(start, stop):
        _values(columns, i, i, constant, slope, first, linear, R[i])
        for k in range(i):
            K[i, k] = R[i, k]


@compiled(
    void(_ROWS, int64, int64, _NUMBERS, float64, float64, _ROWS, _ROWS, _ROWS, float64, float64[:, ::1]), **_COMPILE
)  # fmt: skip
def add_gradient(columns, start, stop, shares, rest, linear, R, C, alpha, share, sums):  # type: ignore[no-untyped-def]
    """Add Σ_k S_ik dK_ik over rows i from `start` to `stop` and all rows k before them, by logarithms.

    sums[0, j] is that by the weight of column j, sums[1, j] that by its share; S = share C - Σ_c alpha_c alpha_cᵀ.
    """
    g = np.empty(stop)
    for i in range(start, stop):
        values = R[i]
        entries_of_s(C, alpha, share, i, g)
        total = 0.0
        for k in range(i):
            total += g[k] * values[k]
            g[k] *= values[k] + rest
        for j in range(len(columns)):
            column, a = columns[j], shares[j]
            own, of_weight, of_share = column[i], 0.0, 0.0
            for k in range(i):
                t = abs(own - column[k])
                e = power_of_two(-_LOG2_E * t)
                m = (1.0 + linear * t) * e
                part = g[k] / (1.0 + a * m)
                of_weight += part * t * (1.0 - linear + linear * t) * e
                of_share += part * m
            sums[0, j] -= a * of_weight
            sums[1, j] += a * (of_share - total * (1.0 + rest) / (1.0 + a))


@compiled(
    void(
        _ROWS, int64, int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, float64, float64, _ROWS, float64[:, :, ::1]
    ), **_COMPILE,
)  # fmt: skip
def fill_slopes(  # type: ignore[no-untyped-def]
    columns, start, stop, constant, slope, first, shares, rest, linear, coef, slopes
):
    """Write the gradients at rows i of Σ_k coef_ck k(a_i, a_k) over all k but i, for each c: slopes[c, i, j].

    Where a row has the value of row i in a column, the mean of the slopes on both sides counts: zero.
    """
    n = columns.shape[1]
    values = np.empty(n)
    for i in range(start, stop):
        _values(columns, i, n, constant, slope, first, linear, values)
        for c in range(len(coef)):
            for j in range(len(columns)):
                column, a, total = columns[j], shares[j], 0.0
                own = column[i]
                for k in range(n):
                    d = own - column[k]
                    t = abs(d)
                    e = power_of_two(-_LOG2_E * t)
                    sign = (1.0 if d > 0.0 else 0.0) - (1.0 if d < 0.0 else 0.0)
                    part = coef[c, k] * (values[k] + rest) / (1.0 + a * (1.0 + linear * t) * e)
                    total -= part * sign * (1.0 - linear + linear * t) * e
                slopes[c, i, j] = a * total
