"""Compiled part of the projection: damped Gauss-Newton steps, row after row, among the training points nearby."""

import math

import numpy as np
from numba import boolean, float64, int32, int64, njit, void

from mercer.compiled_numba import FAST_WITHOUT_NAN, PLAIN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two
from mercer.manifolds.ukr.shared_numba import COLUMNS

_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-8, 1e8
_SHYER, _BOLDER = 6.0, 0.1
# Steps are no longer than so many widths of the kernel.
_LONGEST = 0.7
# Rounding by which a point may be outside of the domain, in the logarithm of the density.
_SLACK = 1e-9
# How often a step that ends outside is brought back, if the logarithm of its density lacks no more than this.
_WAYS_BACK, _NOT_FAR = 2, 1.0
# exp(-r²/2) of squared distances that are larger than the least one by this is nothing beside its weight.
_NEGLIGIBLE = 36.0
# exp(-r²/2) = 2^(exponent r²)
_EXPONENT = -0.5 / math.log(2.0)
# A list of neighbours is used until a point is so far from the training point that it belongs to: after one more step
# all that have weight must still be in it.
_KEPT, _KEPT_QUARTIC = 1.0, 0.3
# After so many steps a descent ends if its cost is so many times the least of the row; or so near to that point.
_HEAD_START, _BEHIND, _SAME = 4, 1.5, 0.2
# Factors that sums are taken of at once, as are columns: arrays are padded to multiples of them.
_FACTORS = 3
# Of a model that was loaded from a file, and may be read-only.
_VECTOR = read_only(float64, 1)
_MATRIX = read_only(float64, 2)
_OFFSETS = read_only(int64, 1)
_POSITIONS = read_only(int32, 1)


@njit(**PLAIN)
def _unroll(z, radii, u, tangents):  # type: ignore[no-untyped-def]
    """Write the point u that z is among the training points, and ∂u_c/∂z_a: circles take two coordinates."""
    tangents[:] = 0.0
    c = 0
    for a in range(len(z)):
        if np.isfinite(radii[a]):
            angle = z[a] / radii[a]
            u[c], u[c + 1] = radii[a] * np.cos(angle), radii[a] * np.sin(angle)
            tangents[a, c], tangents[a, c + 1] = -np.sin(angle), np.cos(angle)
            c += 2
        else:
            u[c], tangents[a, c] = z[a], 1.0
            c += 1


@njit(**FAST_WITHOUT_NAN)  # with NaN the search for the nearest point would not be vectorised
def _weigh(u, near, columns, quartic, squares, slopes, rows, factors):  # type: ignore[no-untyped-def]
    """Write which of the training points `near` have weight at u, and their factors: how many, and the least distance.

    Row c of `columns` has coordinate c of these points. The factors of point r are its weight, up to one for all, and
    the derivatives of that by the coordinates of u.
    """
    n = len(near)
    for c in range(len(u)):
        x, v = columns[c], u[c]
        for i in range(n):
            way = x[i] - v
            squares[i] = way * way if c == 0 else squares[i] + way * way
    least = np.inf
    for i in range(n):
        least = min(least, squares[i])
    limit = 1.0 if quartic else least + _NEGLIGIBLE
    count = 0
    for i in range(n):
        # Written before it is known whether it stays: no branch that cannot be foreseen.
        rows[count] = i
        count += squares[i] < limit
    weights = factors[0]
    for k in range(count):
        weights[k] = squares[rows[k]]
    for k in range(count):
        slopes[k] = 4.0 * (1.0 - weights[k]) if quartic else power_of_two(_EXPONENT * (weights[k] - least))
    for c in range(len(u)):
        x, v, factor = columns[c], u[c], factors[1 + c]
        for k in range(count):
            factor[k] = slopes[k] * (x[rows[k]] - v)
    for k in range(count):
        weights[k] = (1.0 - weights[k]) ** 2 if quartic else slopes[k]
        rows[k] = near[rows[k]]
    return count, least


@njit(**FAST_WITHOUT_NAN)
def _add_up(factors, rows, count, features, sums, totals):  # type: ignore[no-untyped-def]
    """Write Σ_k factors[a, k] features[rows[k]] and Σ_k factors[a, k]."""
    for a in range(0, len(factors), _FACTORS):
        f, g, h = factors[a], factors[a + 1], factors[a + 2]
        totals[a], totals[a + 1], totals[a + 2] = f[:count].sum(), g[:count].sum(), h[:count].sum()
        for c in range(0, features.shape[1], COLUMNS):
            f0, f1, f2, f3, g0, g1, g2, g3, h0, h1, h2, h3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(count):
                r = rows[k]
                v0, v1, v2, v3 = features[r, c], features[r, c + 1], features[r, c + 2], features[r, c + 3]
                f0, f1, f2, f3 = f0 + f[k] * v0, f1 + f[k] * v1, f2 + f[k] * v2, f3 + f[k] * v3
                g0, g1, g2, g3 = g0 + g[k] * v0, g1 + g[k] * v1, g2 + g[k] * v2, g3 + g[k] * v3
                h0, h1, h2, h3 = h0 + h[k] * v0, h1 + h[k] * v1, h2 + h[k] * v2, h3 + h[k] * v3
            sums[a, c], sums[a, c + 1], sums[a, c + 2], sums[a, c + 3] = f0, f1, f2, f3
            sums[a + 1, c], sums[a + 1, c + 1], sums[a + 1, c + 2], sums[a + 1, c + 3] = g0, g1, g2, g3
            sums[a + 2, c], sums[a + 2, c + 1], sums[a + 2, c + 2], sums[a + 2, c + 3] = h0, h1, h2, h3


@njit(**PLAIN)
def _evaluate(z, near, columns, surface, F, T, density_slopes):  # type: ignore[no-untyped-def]
    """Write F (d) and T (q, d), f(z) and its tangents, and the slopes of the log density; return that, over K(0).

    Only the training points `near`, of the coordinates `columns`, count. Features are d values, and if these
    are incomplete for each of them whether it is known.
    """
    features, incomplete, radii, quartic, room = surface
    u, tangents, squares, slopes, rows, factors, sums, totals = room
    q, d = T.shape
    _unroll(z, radii, u, tangents)
    count, least = _weigh(u, near, columns, quartic, squares, slopes, rows, factors)
    if count == 0:
        return -np.inf
    _add_up(factors, rows, count, features, sums, totals)
    for c in range(d):
        total = sums[0, d + c] if incomplete else totals[0]
        F[c] = sums[0, c] / total if total > 0.0 else 0.0
    for a in range(q):
        T[a] = 0.0
        density_slopes[a] = 0.0
        for b in range(len(u)):
            along = tangents[a, b]
            if along == 0.0:
                continue
            density_slopes[a] += along * totals[1 + b] / totals[0]
            for c in range(d):
                total = sums[0, d + c] if incomplete else totals[0]
                change = sums[1 + b, d + c] if incomplete else totals[1 + b]
                if total > 0.0:
                    T[a, c] += along * (sums[1 + b, c] - F[c] * change) / total
    return np.log(totals[0] / len(features)) - (0.0 if quartic else 0.5 * least)


@njit(**PLAIN)
def _take(U, near, columns):  # type: ignore[no-untyped-def]
    """Write the coordinates of some training points to columns."""
    for i in range(len(near)):
        for c in range(U.shape[1]):
            columns[c, i] = U[near[i], c]


@njit(**PLAIN)
def _propose(T, R, room, density_slopes, damping, step):  # type: ignore[no-untyped-def]
    """A damped Gauss-Newton step inside of the linearised domain room + slopes · step >= 0, and what it promises."""
    q, d = T.shape
    A, g, inwards = np.empty((q, q)), np.empty(q), np.empty(q)
    trace = 0.0
    for a in range(q):
        g[a] = 0.0
        for c in range(d):
            g[a] += T[a, c] * R[c]
        for b in range(a + 1):
            total = 0.0
            for c in range(d):
                total += T[a, c] * T[b, c]
            A[a, b] = A[b, a] = total
        trace += A[a, a]
    factor = np.empty((q, q))
    for a in range(q):
        for b in range(a + 1):
            value = A[a, b] + ((damping + 1e-14) * trace / q + 1e-300 if a == b else 0.0)
            for e in range(b):
                value -= factor[a, e] * factor[b, e]
            factor[a, b] = np.sqrt(max(value, 1e-300)) if a == b else value / factor[b, b]
    for side in range(2):
        solved = step if side == 0 else inwards
        for a in range(q):
            value = g[a] if side == 0 else density_slopes[a]
            for e in range(a):
                value -= factor[a, e] * solved[e]
            solved[a] = value / factor[a, a]
        for a in range(q - 1, -1, -1):
            value = solved[a]
            for e in range(a + 1, q):
                value -= factor[e, a] * solved[e]
            solved[a] = value / factor[a, a]
    lacking, along = -room, 0.0
    for a in range(q):
        lacking -= density_slopes[a] * step[a]
        along += density_slopes[a] * inwards[a]
    length = 0.0
    for a in range(q):
        if lacking > 0.0 and along > 0.0:
            step[a] += lacking / along * inwards[a]
        length += step[a] ** 2
    gain = 0.0
    shorter = min(1.0, _LONGEST / max(np.sqrt(length), 1e-300))
    for a in range(q):
        step[a] *= shorter
    for a in range(q):
        gain += 2.0 * step[a] * g[a]
        for b in range(q):
            gain -= step[a] * A[a, b] * step[b]
    return gain


@njit(**PLAIN)
def _shown_residuals(y, known, F, T, R):  # type: ignore[no-untyped-def]
    """R = y - F, and its squared length; 0, like tangents, where an entry is not known."""
    cost = 0.0
    for c in range(len(y)):
        shown = known[c] if len(known) > 1 else 1.0
        R[c] = (y[c] - F[c]) * shown
        cost += R[c] ** 2
        for a in range(len(T)):
            T[a, c] *= shown
    return cost


@compiled(
    void(
        _MATRIX, _MATRIX, int64[:, ::1], _MATRIX, _MATRIX, _OFFSETS, _OFFSETS, _POSITIONS, _MATRIX, boolean, _VECTOR,
        boolean, float64, int64, float64, float64[:, ::1], float64[::1],
    ),
    **PLAIN,
)  # fmt: skip
def descend(  # type: ignore[no-untyped-def]
    Y, known, starts, Z, U, number, first, lists, features, incomplete, radii, quartic, log_threshold, max_steps, tol,
    found, costs,
):  # fmt: skip
    """Find the point whose image is nearest to each row, from training points starts[i] (-1 for none).

    Of training point i the ones nearby are lists[first[k]:first[k + 1]] for k = number[i]; those of one near the point
    count. No step raises the distance, or leaves the domain. A descent ends where it comes to a point that another one
    has come to, or if it is far behind after some steps.
    """
    (n_rows, d), q, n_columns = Y.shape, Z.shape[1], U.shape[1]
    longest = 0
    for i in range(len(first) - 1):
        longest = max(longest, first[i + 1] - first[i])
    n_factors = -(-(1 + n_columns) // _FACTORS) * _FACTORS
    columns = np.empty((n_columns, longest))
    room = (
        np.empty(n_columns), np.empty((q, n_columns)), np.empty(longest), np.empty(longest),
        np.empty(longest, np.int64), np.zeros((n_factors, longest)), np.empty((n_factors, features.shape[1])),
        np.empty(n_factors),
    )  # fmt: skip
    surface = features, incomplete, radii, quartic, room
    kept = _KEPT_QUARTIC if quartic else _KEPT
    F, T, slopes, R = np.empty(d), np.empty((q, d)), np.empty(q), np.empty(d)
    new_T, new_slopes, new_R = np.empty((q, d)), np.empty(q), np.empty(d)
    z, moved, step = np.empty(q), np.empty(q), np.empty(q)
    for i in range(n_rows):
        costs[i] = np.inf
        mask = known[i if known.shape[0] > 1 else 0]
        for centre in starts[i]:
            if centre < 0:
                break
            for a in range(q):
                z[a] = Z[centre, a]
            near = lists[first[number[centre]] : first[number[centre] + 1]]
            _take(U, near, columns)
            log_density = _evaluate(z, near, columns, surface, F, T, slopes)
            cost = _shown_residuals(Y[i], mask, F, T, R)
            damping = _FIRST_DAMPING
            for n_steps in range(max_steps):
                gain = _propose(T, R, log_density - log_threshold, slopes, damping, step)
                if not gain > tol * cost or damping > _MOST_DAMPING:
                    break
                for a in range(q):
                    moved[a] = z[a] + step[a]
                for _ in range(1 + _WAYS_BACK):
                    new_density = _evaluate(moved, near, columns, surface, F, new_T, new_slopes)
                    lacking = log_threshold - new_density
                    if not 0.0 < lacking < _NOT_FAR:
                        break
                    # The border of the domain is curved, and the step was along its tangent: back, a little farther.
                    steepness = 1e-300
                    for a in range(q):
                        steepness += new_slopes[a] ** 2
                    for a in range(q):
                        moved[a] += (lacking + _SLACK) / steepness * new_slopes[a]
                new_cost = _shown_residuals(Y[i], mask, F, new_T, new_R)
                if not (new_cost < cost and new_density >= log_threshold - _SLACK):
                    damping *= _SHYER
                    continue
                damping = max(_BOLDER * damping, _LEAST_DAMPING)
                cost, log_density = new_cost, new_density
                z, moved = moved, z
                R, new_R = new_R, R
                T, new_T = new_T, T
                slopes, new_slopes = new_slopes, slopes
                if n_steps >= _HEAD_START and cost > _BEHIND * costs[i]:
                    break
                gap = 0.0
                for a in range(q):
                    gap += (z[a] - found[i, a]) ** 2
                if cost > costs[i] and gap < _SAME**2:
                    break
                gap = 0.0
                for c in range(n_columns):
                    gap += (room[0][c] - U[centre, c]) ** 2
                if gap > kept**2:
                    centre = near[np.argmin(room[2][: len(near)])]
                    near = lists[first[number[centre]] : first[number[centre] + 1]]
                    _take(U, near, columns)
            if cost < costs[i]:
                costs[i] = cost
                for a in range(q):
                    found[i, a] = z[a]
