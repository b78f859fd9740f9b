"""Sums and parts of some rows of a matrix in memory, where they lie: NumPy copies the rows first.

Written by hand: a product with chosen rows that are far apart is in no library.
"""

import numpy as np
from numba import float32, float64, intp, void

from mercer.compiled_numba import FAST, compiled, read_only

_TYPES = (float32, float64)
_POSITIONS = read_only(intp, 1)


@compiled(*[void(read_only(t, 2), _POSITIONS, read_only(t, 1), intp, float64[::1]) for t in _TYPES], **FAST)
def add_rows(K, rows, weights, first, sums):  # type: ignore[no-untyped-def]
    """Add Σ_i weights_i K[rows_i] to sums, for as many columns from `first` on as it is long.

    Eight rows are added up in the precision of K before their sum goes to double precision.
    """
    last, n = first + sums.size, rows.size
    for i in range(0, n - 7, 8):
        r, w = rows[i : i + 8], weights[i : i + 8]
        a, b, c, d = K[r[0], first:last], K[r[1], first:last], K[r[2], first:last], K[r[3], first:last]
        e, f, g, h = K[r[4], first:last], K[r[5], first:last], K[r[6], first:last], K[r[7], first:last]
        for j in range(sums.size):
            half = w[0] * a[j] + w[1] * b[j] + w[2] * c[j] + w[3] * d[j]
            sums[j] += half + (w[4] * e[j] + w[5] * f[j] + w[6] * g[j] + w[7] * h[j])
    for i in range(n // 8 * 8, n):
        row, weight = K[rows[i], first:last], weights[i]
        for j in range(sums.size):
            sums[j] += weight * row[j]


@compiled(*[void(read_only(t, 2), *[_POSITIONS] * 3, t[:, ::1], _POSITIONS) for t in _TYPES], **FAST)
def copy_parts(K, rows, ascending, ranks, out, places):  # type: ignore[no-untyped-def]
    """Write K[rows][:, ascending[ranks]] to the rows `places` of `out`.

    What is far apart in a row is slow to fetch: rows are read from left to right, and put in order in the cache.
    """
    part = np.empty_like(out[0])
    for i in range(rows.size):
        row, target = K[rows[i]], out[places[i]]
        for j in range(ascending.size):
            part[j] = row[ascending[j]]
        for j in range(ranks.size):
            target[j] = part[ranks[j]]
