"""Compiled parts of the sparse pass: points within reach of others by cells, and errors and slopes over lists of them.

Points are padded with zeros to an even number of coordinates, two of which are taken at once.
"""

from typing import Any

import numpy as np
from numba import boolean, float64, int32, int64, njit, void

from mercer.manifolds.ukr.gaussian import TIE
from mercer.manifolds.ukr.targets import NOTHING

_INLINED: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}
_COMPILE: Any = {"cache": True, **_INLINED}
_VECTOR, _MATRIX = float64[::1], float64[:, ::1]


@njit(inline="always", **_INLINED)
def _squared_distance(U, r, V, s):  # type: ignore[no-untyped-def]
    """||u_r - v_s||², of points with an even number of coordinates."""
    total = 0.0
    for k in range(0, U.shape[1], 2):
        d0, d1 = U[r, k] - V[s, k], U[r, k + 1] - V[s, k + 1]
        total += d0 * d0 + d1 * d1
    return total


@njit(
    int64(_MATRIX, _MATRIX, int64[:, ::1], int64[::1], int64[::1], int64[::1], float64, int64[::1], int32[::1]),
    **_COMPILE,
)
def find_neighbours(U, V, cells, sides, starts, itself, reach, counts, found):  # type: ignore[no-untyped-def]
    """Write the positions in U, increasing, of the points within reach of each point of V, one list after the other.

    Returns the length of all lists, and writes that of each to `counts`; or, if `found` has no room, returns how much
    room suffices. Points U are sorted by cell: those of (c0, c1, c2) are starts[c] to starts[c + 1], with c = (c0
    sides[1] + c1) sides[2] + c2. Cells of V may lie outside. Points of V that are points of U, at positions `itself`,
    are not neighbours of themselves.
    """
    measuring = len(found) == 0
    place = 0
    for i in range(len(V)):
        before = place
        last_low, last_high = max(cells[i, 2] - 1, 0), min(cells[i, 2] + 1, sides[2] - 1)
        for c0 in range(max(cells[i, 0] - 1, 0), min(cells[i, 0] + 2, sides[0])):
            for c1 in range(max(cells[i, 1] - 1, 0), min(cells[i, 1] + 2, sides[1])):
                if last_low > last_high:
                    continue
                row = (c0 * sides[1] + c1) * sides[2]
                low, high = starts[row + last_low], starts[row + last_high + 1]
                if measuring:
                    place += high - low + 1
                    continue
                for j in range(low, high):
                    # Written before it is known whether it stays: no branch that cannot be foreseen.
                    found[place] = j
                    place += (_squared_distance(U, j, V, i) < reach) & (j != itself[i])
        counts[i] = place - before
    return place


@njit(void(_MATRIX, _MATRIX, int64[:, ::1], int64[::1], int64[::1], _VECTOR), **_COMPILE)
def sum_values(U, V, cells, sides, starts, sums):  # type: ignore[no-untyped-def]
    """Write Σ_j (1 - ||u_j - v_i||²)² over the points of U nearer than 1, in cells as above, for each point of V."""
    for i in range(len(V)):
        last_low, last_high = max(cells[i, 2] - 1, 0), min(cells[i, 2] + 1, sides[2] - 1)
        total = 0.0
        for c0 in range(max(cells[i, 0] - 1, 0), min(cells[i, 0] + 2, sides[0])):
            for c1 in range(max(cells[i, 1] - 1, 0), min(cells[i, 1] + 2, sides[1])):
                if last_low > last_high:
                    continue
                row = (c0 * sides[1] + c1) * sides[2]
                for j in range(starts[row + last_low], starts[row + last_high + 1]):
                    total += max(1.0 - _squared_distance(U, j, V, i), 0.0) ** 2
        sums[i] = total


@njit(void(int64[::1], int32[::1], int32[::1]), **_COMPILE)
def link_mirrored(offsets, found, mirror):  # type: ignore[no-untyped-def]
    """Where in the lists the pair (s, r) is, for each pair (r, s): lists are increasing, and hold both."""
    cursor = offsets.copy()
    for s in range(len(offsets) - 1):
        for p in range(offsets[s], offsets[s + 1]):
            r = found[p]
            mirror[p] = cursor[r]
            cursor[r] += 1


@njit(inline="always", **_INLINED)
def _longest(offsets, start, stop):  # type: ignore[no-untyped-def]
    """Length of the longest of some lists."""
    longest = 0
    for s in range(start, stop):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@njit(inline="always", **_INLINED)
def _radius(squares, n, n_excluded):  # type: ignore[no-untyped-def]
    """The squared distance up to which neighbours are excluded, beyond all if they are not more than these."""
    if n_excluded == 0:
        return -1.0
    return np.partition(squares[:n], n_excluded - 1)[n_excluded - 1] * TIE if n > n_excluded else np.inf


@njit(inline="always", **_INLINED)
def _who_counts(U, s, offsets, found, n_excluded, Q, rows, places, weights):  # type: ignore[no-untyped-def]
    """Neighbours of point s with weights (1 - d²)² > 0, where in the lists they are, and how many.

    Writes 1 - d² to Q at their places, and zero at others. If not all neighbours to exclude are within reach, none is
    left.
    """
    n = 0
    for p in range(offsets[s], offsets[s + 1]):
        r = found[p]
        d = _squared_distance(U, r, U, s)
        Q[p] = 0.0
        # Written before it is known whether it stays: no branch that cannot be foreseen.
        rows[n], places[n], weights[n] = r, p, d
        n += d < 1.0
    radius = _radius(weights, n, n_excluded)
    left = 0
    for i in range(n):
        d = weights[i]
        if d > radius:
            Q[places[i]] = 1.0 - d
            rows[left], places[left], weights[left] = rows[i], places[i], (1.0 - d) ** 2
            left += 1
    return left


@njit(inline="always", **_INLINED)
def _error(features, d, step, s, rows, weights, n, P, H):  # type: ignore[no-untyped-def]
    """The error of point s from the n rows that count; writes h_s to H: ½ ∂E_s/∂w_rs = features_r · h_s."""
    # Four columns at once, since sums that stay in registers take a third of the time.
    for c in range(0, len(P), 4):
        p0, p1, p2, p3 = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            r, weight = rows[i], weights[i]
            p0 += weight * features[r, c]
            p1 += weight * features[r, c + 1]
            p2 += weight * features[r, c + 2]
            p3 += weight * features[r, c + 3]
        P[c], P[c + 1], P[c + 2], P[c + 3] = p0, p1, p2, p3
    H[:] = 0.0
    error = 0.0
    for c in range(d):
        total, own = P[d + step * c], features[s, d + step * c]
        inverse = 1.0 / total if total > NOTHING else 0.0
        f = P[c] * inverse
        residual = (f - features[s, c]) * own
        error += residual**2
        H[c] = residual * inverse
        H[d + step * c] -= f * H[c]
    return error


@njit(
    void(_MATRIX, int64, int64, int64, int64, _MATRIX, int64[::1], int32[::1], int64, boolean, _VECTOR, _VECTOR),
    **_COMPILE,
)
def vector_pass(features, d, step, start, stop, U, offsets, found, n_excluded, slopes, errors, Q):  # type: ignore[no-untyped-def]
    """Errors of points start to stop, NaN where a point is isolated, and if `slopes` Q_rs = 2 (1 - d²) ∂E_s/∂k_rs.

    Features are d columns of vectors and then what weighs: one column for all (`step` 0), or one for each (`step` 1);
    with zeros to a multiple of four. Without slopes, Q is of no use.
    """
    m, longest = features.shape[1], _longest(offsets, start, stop)
    rows, places = np.empty(longest, np.int64), np.empty(longest, np.int64)
    weights, P, H = np.empty(longest), np.empty(m), np.empty(m)
    for s in range(start, stop):
        n = _who_counts(U, s, offsets, found, n_excluded, Q, rows, places, weights)
        if n == 0:
            errors[s] = np.nan
            continue
        errors[s] = _error(features, d, step, s, rows, weights, n, P, H)
        if not slopes:
            continue
        weights[:n] = 0.0
        for c in range(0, m, 4):
            h0, h1, h2, h3 = H[c], H[c + 1], H[c + 2], H[c + 3]
            for i in range(n):
                r = rows[i]
                weights[i] += (
                    features[r, c] * h0 + features[r, c + 1] * h1 + features[r, c + 2] * h2 + features[r, c + 3] * h3
                )
        for i in range(n):
            Q[places[i]] *= 4.0 * weights[i]


@njit(
    void(_MATRIX, int64[::1], int64, int64, _MATRIX, int64[::1], int32[::1], int64, boolean, _VECTOR, _VECTOR),
    **_COMPILE,
)
def gram_pass(K, order, start, stop, U, offsets, found, n_excluded, slopes, errors, Q):  # type: ignore[no-untyped-def]
    """As `vector_pass`, with inner products K; point s is row order[s] of K. Slopes cost nothing."""
    longest = _longest(offsets, start, stop)
    rows, places = np.empty(longest, np.int64), np.empty(longest, np.int64)
    b, M = np.empty(longest), np.empty(longest)
    for s in range(start, stop):
        n = _who_counts(U, s, offsets, found, n_excluded, Q, rows, places, b)
        if n == 0:
            errors[s] = np.nan
            continue
        total = 0.0
        for i in range(n):
            rows[i] = order[rows[i]]
            total += b[i]
        own = order[s]
        own_slope, mean_slope = 0.0, 0.0
        for i in range(n):
            r = rows[i]
            slope = 0.0
            for j in range(n):
                slope += K[r, rows[j]] * b[j]
            M[i] = slope / total - K[r, own]
            mean_slope += b[i] * M[i]
            own_slope += b[i] * K[r, own]
        mean_slope, own_slope = mean_slope / total, own_slope / total - K[own, own]
        errors[s] = max(mean_slope - own_slope, 0.0)
        for i in range(n):
            Q[places[i]] *= 4.0 * (M[i] - mean_slope) / total


@njit(void(int64, int64, _MATRIX, int64[::1], int32[::1], int32[::1], _VECTOR, _MATRIX), **_COMPILE)
def gather_gradient(start, stop, U, offsets, found, mirror, Q, gradient):  # type: ignore[no-untyped-def]
    """Σ_r (Q_rs + Q_sr) (u_r - u_s) for points s from start to stop."""
    for s in range(start, stop):
        for k in range(0, U.shape[1], 2):
            g0, g1, u0, u1 = 0.0, 0.0, U[s, k], U[s, k + 1]
            for p in range(offsets[s], offsets[s + 1]):
                pull, r = Q[p] + Q[mirror[p]], found[p]
                g0 += pull * (U[r, k] - u0)
                g1 += pull * (U[r, k + 1] - u1)
            gradient[s, k], gradient[s, k + 1] = g0, g1


@njit(
    void(
        _MATRIX, int64, int64, int64, int64, _MATRIX, int64[:, ::1], int64[::1], int64[::1], int64, _VECTOR, _VECTOR,
        _MATRIX,
    ),
    **_COMPILE,
)  # fmt: skip
def cell_pass(features, d, step, start, stop, U, cells, sides, starts, n_excluded, errors, radii, H):  # type: ignore[no-untyped-def]
    """Errors as by `vector_pass`, with cells instead of lists; writes up to where neighbours do not count, and h_s."""
    rows, weights, P = np.empty(0, np.int64), np.empty(0), np.empty(features.shape[1])
    for s in range(start, stop):
        last_low, last_high = max(cells[s, 2] - 1, 0), min(cells[s, 2] + 1, sides[2] - 1)
        n = 0
        for c0 in range(max(cells[s, 0] - 1, 0), min(cells[s, 0] + 2, sides[0])):
            for c1 in range(max(cells[s, 1] - 1, 0), min(cells[s, 1] + 2, sides[1])):
                row = (c0 * sides[1] + c1) * sides[2]
                low, high = starts[row + last_low], starts[row + last_high + 1]
                if n + high - low >= len(rows):
                    room = np.zeros(n + 2 * (high - low) + 1)
                    rows = np.concatenate((rows[:n], room.astype(np.int64)))
                    weights = np.concatenate((weights[:n], room))
                for j in range(low, high):
                    distance = _squared_distance(U, j, U, s)
                    # Written before it is known whether it stays: no branch that cannot be foreseen.
                    rows[n], weights[n] = j, distance
                    n += (distance < 1.0) & (j != s)
        radii[s] = _radius(weights, n, n_excluded)
        left = 0
        for i in range(n):
            rows[left], weights[left] = rows[i], (1.0 - weights[i]) ** 2 if weights[i] > radii[s] else 0.0
            left += weights[left] > 0.0
        if left == 0:
            errors[s], H[s] = np.nan, 0.0
            continue
        errors[s] = _error(features, d, step, s, rows, weights, left, P, H[s])


@njit(
    void(_MATRIX, int64, int64, _MATRIX, int64[:, ::1], int64[::1], int64[::1], _VECTOR, _MATRIX, _MATRIX),
    **_COMPILE,
)
def cell_gradient(features, start, stop, U, cells, sides, starts, radii, H, gradient):  # type: ignore[no-untyped-def]
    """Σ_r (Q_rs + Q_sr) (u_r - u_s) for points s from start to stop, from what `cell_pass` wrote."""
    pull = np.empty(U.shape[1])
    for s in range(start, stop):
        last_low, last_high = max(cells[s, 2] - 1, 0), min(cells[s, 2] + 1, sides[2] - 1)
        own, h, radius = features[s], H[s], radii[s]
        pull[:] = 0.0
        for c0 in range(max(cells[s, 0] - 1, 0), min(cells[s, 0] + 2, sides[0])):
            for c1 in range(max(cells[s, 1] - 1, 0), min(cells[s, 1] + 2, sides[1])):
                row = (c0 * sides[1] + c1) * sides[2]
                for j in range(starts[row + last_low], starts[row + last_high + 1]):
                    distance = _squared_distance(U, j, U, s)
                    if distance >= 1.0:
                        continue
                    mine, other = 0.0, 0.0
                    for c in range(features.shape[1]):
                        mine += features[j, c] * h[c]
                        other += own[c] * H[j, c]
                    slope = (mine if distance > radius else 0.0) + (other if distance > radii[j] else 0.0)
                    slope *= 4.0 * (1.0 - distance)
                    for k in range(U.shape[1]):
                        pull[k] += slope * (U[j, k] - U[s, k])
        gradient[s] = pull
