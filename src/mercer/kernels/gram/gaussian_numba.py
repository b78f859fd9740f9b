"""Products with columns of a Gaussian Gram matrix in single precision, without a matrix in between.

Written by hand: the distances, the exponential and the sum of one chunk of rows stay in the first-level cache, which no
sequence of library calls does. Distances are sums of squared differences, so that single precision suffices.
"""

from typing import Any

import numpy as np
from numba import njit

from mercer.kernels.exponential_numba import exp_single

_CHUNK = 1024  # rows whose distances to one column are held at once
_FLUSH = 64  # columns after which sums in single precision are added to those in double precision
_ZERO, _MINUS_HALF = np.float32(0.0), np.float32(-0.5)
_COMPILE: Any = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@njit("void(float32[:,::1], float32[::1], int64, float32[::1])", **_COMPILE)
def _squared_distances(rows, column, start, out):  # type: ignore[no-untyped-def]
    """Squared distances of the rows from `start` on (stored as columns of an array) to one column."""
    n, n_dims = out.size, column.size
    for i in range(n):
        out[i] = _ZERO
    k = 0
    while k + 4 <= n_dims:
        x0, x1, x2, x3 = column[k], column[k + 1], column[k + 2], column[k + 3]
        y0, y1 = rows[k, start : start + n], rows[k + 1, start : start + n]
        y2, y3 = rows[k + 2, start : start + n], rows[k + 3, start : start + n]
        for i in range(n):
            d0, d1, d2, d3 = y0[i] - x0, y1[i] - x1, y2[i] - x2, y3[i] - x3
            out[i] += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
        k += 4
    while k < n_dims:
        x, y = column[k], rows[k, start : start + n]
        for i in range(n):
            d = y[i] - x
            out[i] += d * d
        k += 1


@njit("void(float32[:,::1], float32[:,::1], float32[::1], int64, float64[::1])", **_COMPILE)
def add_columns(rows, columns, weights, start, out):  # type: ignore[no-untyped-def]
    """out_i += Σ_j weights_j exp(-|row_i - column_j|² / 2) for the rows from `start` on, as many as out has entries."""
    squared, total = np.empty(_CHUNK, np.float32), np.empty(_CHUNK, np.float32)
    for first in range(0, out.size, _CHUNK):
        n = min(_CHUNK, out.size - first)
        s, sums, target = squared[:n], total[:n], out[first : first + n]
        for group in range(0, len(weights), _FLUSH):
            for i in range(n):
                sums[i] = _ZERO
            for j in range(group, min(group + _FLUSH, len(weights))):
                _squared_distances(rows, columns[j], start + first, s)
                weight = weights[j]
                for i in range(n):
                    sums[i] += weight * exp_single(_MINUS_HALF * s[i])
            for i in range(n):
                target[i] += sums[i]


@njit("void(float32[:,::1], float32[:,::1], float32[:,::1])", **_COMPILE)
def fill_block(rows, columns, out):  # type: ignore[no-untyped-def]
    """out_ji = exp(-|column_j - row_i|² / 2); rows are stored as columns of an array."""
    squared = np.empty(_CHUNK, np.float32)
    for first in range(0, rows.shape[1], _CHUNK):
        n = min(_CHUNK, rows.shape[1] - first)
        s = squared[:n]
        for j in range(len(columns)):
            _squared_distances(rows, columns[j], first, s)
            target = out[j, first : first + n]
            for i in range(n):
                target[i] = exp_single(_MINUS_HALF * s[i])
