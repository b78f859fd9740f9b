"""Compiled evaluation of maps whose kernel is a product over coordinates, from tables of its factors."""

from typing import Any

import numpy as np
from numba import float64, int64, njit, void

from mercer.compiled_numba import PLAIN, compiled, read_only

_COMPILE: Any = {**PLAIN, "fastmath": {"contract", "nsz"}}
# Kernel functions that are smaller, with their slopes, are far from where they live.
_NEGLIGIBLE = 1e-20
# Arrays of a model that was loaded from a file may be read-only.
_COUNTS = read_only(int64, 1)
_MATRIX = read_only(float64, 2)
_TABLES = read_only(float64, 3)


@njit(inline="always", **_COMPILE)
def _interpolate(table, n_steps, z, side, values, slopes):  # type: ignore[no-untyped-def]
    """A factor at z against its nodes, and its slopes: cubics between the points of its table."""
    position = (z + 1.0) * 0.5 * n_steps
    cell = min(max(int(position), 0), n_steps - 1)
    t = position - cell
    left, right = table[cell], table[cell + 1]
    for j in range(side):
        a, b, sa, sb = left[j], right[j], left[side + j], right[side + j]
        cubic = sa + sb - 2.0 * (b - a)
        square = 3.0 * (b - a) - 2.0 * sa - sb
        values[j] = a + t * (sa + t * (square + t * cubic))
        slopes[j] = (sa + t * (2.0 * square + 3.0 * t * cubic)) * 0.5 * n_steps


@compiled(void(_TABLES, _COUNTS, _COUNTS, _MATRIX, float64[:, ::1]), **_COMPILE)
def fill(tables, sides, steps, Z, K):  # type: ignore[no-untyped-def]
    """Set the first columns of K to Π_c k_c(z_c, z_jc), for all nodes; the tables are those of `evaluate`."""
    n, q = Z.shape
    values, slopes = np.empty(tables.shape[2]), np.empty(tables.shape[2])
    for i in range(n):
        K[i, 0] = 1.0
        done = 1
        for c in range(q):
            side = sides[c]
            _interpolate(tables[c], steps[c], Z[i, c], side, values, slopes)
            # From the end, where nothing is that is still to be read.
            for r in range(done - 1, -1, -1):
                so_far = K[i, r]
                for j in range(side):
                    K[i, r * side + j] = so_far * values[j]
            done *= side


@compiled(void(_TABLES, _COUNTS, _COUNTS, _MATRIX, _MATRIX, float64[:, ::1], float64[:, :, ::1]), **_COMPILE)
def evaluate(tables, sides, steps, alpha, Z, F, T):  # type: ignore[no-untyped-def]
    """Add Σ_j α_j Π_c k_c(z_c, z_jc) to F, and its derivatives in the coordinates to T.

    tables[c, i] holds k_c at the i-th of steps[c] + 1 equidistant points against the nodes of the coordinate, then its
    slopes times the distance of the points; between them it is cubic. Coordinates are summed over from the last to the
    first: `work[0]` is the sum with all factors so far, `work[1 + c]` that with the slope of coordinate c.
    """
    n, q = Z.shape
    M, d = alpha.shape
    widest = 0
    for c in range(q):
        widest = max(widest, sides[c])
    values, slopes = np.empty(widest), np.empty(widest)
    old, new = np.empty((q + 1, M * d)), np.empty((q + 1, M * d))
    for i in range(n):
        rest = M
        for c in range(q - 1, -1, -1):
            side = sides[c]
            rest //= side
            _interpolate(tables[c], steps[c], Z[i, c], side, values, slopes)
            # The first sum reads alpha itself; sums with the slopes of later coordinates are carried along.
            for kind in range(q + 1):
                if kind == 0 or kind > c:
                    new[kind, : rest * d] = 0.0
            for r in range(rest):
                for j in range(side):
                    v, s = values[j], slopes[j]
                    if abs(v) + abs(s) < _NEGLIGIBLE:
                        continue
                    start = (r * side + j) * d
                    if c == q - 1:
                        for e in range(d):
                            source = alpha[r * side + j, e]
                            new[0, r * d + e] += v * source
                            new[1 + c, r * d + e] += s * source
                    else:
                        for e in range(d):
                            new[0, r * d + e] += v * old[0, start + e]
                            new[1 + c, r * d + e] += s * old[0, start + e]
                        for later in range(c + 1, q):
                            for e in range(d):
                                new[1 + later, r * d + e] += v * old[1 + later, start + e]
            old, new = new, old
        for e in range(d):
            F[i, e] += old[0, e]
        for c in range(q):
            for e in range(d):
                T[i, c, e] += old[1 + c, e]
