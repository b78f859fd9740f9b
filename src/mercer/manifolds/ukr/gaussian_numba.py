"""Compiled parts of the pass over all pairs: kernel values of a block of points, and what their slopes give.

Points come as columns, padded with zeros to an even number of coordinates, two of which are taken at once.
"""

import numpy as np
from numba import boolean, float64, int64, njit, void

from mercer.compiled_numba import FAST_WITHOUT_NAN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two

# With NaN the search for the nearest row would not be vectorised. Infinite numbers are used.
_MATRIX = float64[:, ::1]
# What is only read may be of a model that was loaded from a file, and read-only.
_READ_MATRIX = read_only(float64, 2)
_READ_VECTOR, _READ_POSITIONS, _READ_FLAGS = (read_only(kind, 1) for kind in (float64, int64, boolean))


@njit(inline="always", **FAST_WITHOUT_NAN)
def _exponents(columns, v, own, radius, row):  # type: ignore[no-untyped-def]
    """Minus the squared distances of v from all points, -inf where these are excluded, and the largest of them."""
    n = columns.shape[1]
    for k in range(0, len(columns), 2):
        x0, x1, v0, v1 = columns[k], columns[k + 1], v[k], v[k + 1]
        for j in range(n):
            d0, d1 = x0[j] - v0, x1[j] - v1
            d = d0 * d0 + d1 * d1
            row[j] = -d if k == 0 else row[j] - d
    if own >= 0:
        row[own] = -np.inf
    nearest = -np.inf
    for j in range(n):
        value = -np.inf if row[j] >= -radius else row[j]
        row[j] = value
        nearest = max(nearest, value)
    return nearest


@compiled(
    void(_READ_MATRIX, _READ_MATRIX, _READ_POSITIONS, _READ_VECTOR, boolean, _MATRIX, boolean[::1]),
    **FAST_WITHOUT_NAN,
)
def fill_weights(columns, V, own, radii, quartic, W, isolated):  # type: ignore[no-untyped-def]
    """Write kernel values of points V against all others, up to a factor for each point.

    Excluded are the row `own` (none if negative) and those with a squared distance of at most `radii` (none if
    negative), unless that are all. Gaussian values 2^-d² are divided by the largest one. Of quartic values (1 - d²)²
    that are all zero, that of the nearest row becomes one, and the point is marked as isolated.
    """
    n = columns.shape[1]
    for i in range(len(V)):
        row = W[i]
        nearest = _exponents(columns, V[i], own[i], radii[i], row)
        if nearest == -np.inf:
            nearest = _exponents(columns, V[i], own[i], -1.0, row)
        isolated[i] = quartic and nearest <= -1.0
        if isolated[i]:
            first = np.argmax(row)
            row[:] = 0.0
            row[first] = 1.0
        elif quartic:
            for j in range(n):
                t = max(1.0 + row[j], 0.0)
                row[j] = t * t
        else:
            for j in range(n):
                row[j] = power_of_two(row[j] - nearest)


@compiled(
    void(_READ_MATRIX, _READ_MATRIX, _MATRIX, _READ_MATRIX, boolean, _READ_FLAGS, _MATRIX, _MATRIX),
    **FAST_WITHOUT_NAN,
)
def add_gradients(columns, V, W, slopes, quartic, isolated, own_gradients, gradients):  # type: ignore[no-untyped-def]
    """With Q = P * slopes, write Σ_r Q_rs (u_r - u_s) for points s of V, and add Σ_s Q_rs (u_s - u_r) for all r.

    P is W, or 4 √W of the quartic kernel. W is overwritten.
    """
    n = columns.shape[1]
    for i in range(len(V)):
        row, slope = W[i], slopes[i]
        own_gradients[i] = 0.0
        if isolated[i]:
            continue
        if quartic:
            for j in range(n):
                row[j] = 4.0 * np.sqrt(row[j]) * slope[j]
        else:
            for j in range(n):
                row[j] *= slope[j]
        for k in range(0, len(columns), 2):
            x0, x1, v0, v1 = columns[k], columns[k + 1], V[i, k], V[i, k + 1]
            g0, g1 = gradients[k], gradients[k + 1]
            total0, total1 = 0.0, 0.0
            for j in range(n):
                pull0, pull1 = row[j] * (x0[j] - v0), row[j] * (x1[j] - v1)
                total0 += pull0
                total1 += pull1
                g0[j] -= pull0
                g1[j] -= pull1
            own_gradients[i, k], own_gradients[i, k + 1] = total0, total1
