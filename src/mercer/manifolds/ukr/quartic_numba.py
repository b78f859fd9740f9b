"""Compiled parts of the sparse pass: errors and slopes over lists of the points within reach."""

import numpy as np
from numba import boolean, int32, int64, njit, void

from mercer.compiled_numba import FAST, compiled
from mercer.manifolds.ukr.cells_numba import (
    MATRIX,
    READ_COUNTS,
    READ_LISTS,
    READ_MATRIX,
    READ_VECTOR,
    VECTOR,
    squared_distance,
)
from mercer.manifolds.ukr.selection_numba import kth_smallest
from mercer.manifolds.ukr.shared_numba import NOTHING, TIE


@compiled(void(READ_COUNTS, READ_LISTS, int32[::1]), **FAST)
def link_mirrored(offsets, found, mirror):  # type: ignore[no-untyped-def]
    """Where in the lists the pair (s, r) is, for each pair (r, s): lists are increasing, and hold both."""
    cursor = offsets.copy()
    for s in range(len(offsets) - 1):
        for p in range(offsets[s], offsets[s + 1]):
            r = found[p]
            mirror[p] = cursor[r]
            cursor[r] += 1


@njit(inline="always", **FAST)
def _longest(offsets, start, stop):  # type: ignore[no-untyped-def]
    """Length of the longest of some lists."""
    longest = 0
    for s in range(start, stop):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@njit(inline="always", **FAST)
def radius_of(squares, n, n_excluded, room):  # type: ignore[no-untyped-def]
    """The squared distance up to which neighbours are excluded, beyond all if they are not more than these."""
    if n_excluded == 0:
        return -1.0
    return kth_smallest(squares, n, n_excluded - 1, room) * TIE if n > n_excluded else np.inf


@njit(inline="always", **FAST)
def _who_counts(U, s, offsets, found, n_excluded, Q, rows, places, weights, room):  # type: ignore[no-untyped-def]
    """Neighbours of point s with weights (1 - d²)² > 0, where in the lists they are, and how many.

    Writes 1 - d² to Q at their places, and zero at others. If not all neighbours to exclude are within reach, none is
    left.
    """
    n = 0
    for p in range(offsets[s], offsets[s + 1]):
        r = found[p]
        d = squared_distance(U, r, U, s)
        Q[p] = 0.0
        # Written before it is known whether it stays: no branch that cannot be foreseen.
        rows[n], places[n], weights[n] = r, p, d
        n += d < 1.0
    radius = radius_of(weights, n, n_excluded, room)
    left = 0
    for i in range(n):
        d = weights[i]
        if d > radius:
            Q[places[i]] = 1.0 - d
            rows[left], places[left], weights[left] = rows[i], places[i], (1.0 - d) ** 2
            left += 1
    return left


@njit(inline="always", **FAST)
def error_of(features, d, step, s, rows, weights, n, P, H):  # type: ignore[no-untyped-def]
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


@compiled(
    void(READ_MATRIX, int64, int64, int64, int64, READ_MATRIX, READ_COUNTS, READ_LISTS, int64, boolean, VECTOR, VECTOR),
    **FAST,
)
def vector_pass(features, d, step, start, stop, U, offsets, found, n_excluded, slopes, errors, Q):  # type: ignore[no-untyped-def]
    """Errors of points start to stop, NaN where a point is isolated, and if `slopes` Q_rs = 2 (1 - d²) ∂E_s/∂k_rs.

    Features are d columns of vectors and then what weighs: one column for all (`step` 0), or one for each (`step` 1);
    with zeros to a multiple of four. Without slopes, Q is of no use.
    """
    m, longest = features.shape[1], _longest(offsets, start, stop)
    rows, places = np.empty(longest, np.int64), np.empty(longest, np.int64)
    weights, room, P, H = np.empty(longest), np.empty(longest), np.empty(m), np.empty(m)
    for s in range(start, stop):
        n = _who_counts(U, s, offsets, found, n_excluded, Q, rows, places, weights, room)
        if n == 0:
            errors[s] = np.nan
            continue
        errors[s] = error_of(features, d, step, s, rows, weights, n, P, H)
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


@compiled(
    void(READ_MATRIX, READ_COUNTS, int64, int64, READ_MATRIX, READ_COUNTS, READ_LISTS, int64, boolean, VECTOR, VECTOR),
    **FAST,
)
def gram_pass(K, order, start, stop, U, offsets, found, n_excluded, slopes, errors, Q):  # type: ignore[no-untyped-def]
    """As `vector_pass`, with inner products K; point s is row order[s] of K. Slopes cost nothing."""
    longest = _longest(offsets, start, stop)
    rows, places = np.empty(longest, np.int64), np.empty(longest, np.int64)
    b, M, room = np.empty(longest), np.empty(longest), np.empty(longest)
    for s in range(start, stop):
        n = _who_counts(U, s, offsets, found, n_excluded, Q, rows, places, b, room)
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


@compiled(void(int64, int64, READ_MATRIX, READ_COUNTS, READ_LISTS, READ_LISTS, READ_VECTOR, MATRIX), **FAST)
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
