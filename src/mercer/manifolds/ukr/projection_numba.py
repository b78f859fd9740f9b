"""Compiled part of the projection: damped Gauss-Newton steps, row after row, among the training points nearby."""

from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, types, void

_COMPILE: Any = {"nogil": True, "cache": True, "error_model": "numpy"}
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-8, 1e8
_SHYER, _BOLDER = 6.0, 0.1
# Steps are no longer than so many widths of the kernel.
_LONGEST = 0.7
# Rounding by which a point may be outside of the domain, in the logarithm of the density.
_SLACK = 1e-9
# How often a step that ends outside is brought back, if the logarithm of its density lacks no more than this.
_WAYS_BACK, _NOT_FAR = 2, 1.0
# exp(-r²/2) of squared distances that are larger than the least one by this is nothing beside its weight.
_NEGLIGIBLE = 40.0
# After so many steps a descent ends if its cost is so many times the least of the row; or so near to that point.
_HEAD_START, _BEHIND, _SAME = 4, 1.5, 0.2
# Of a model that was loaded from a file, and may be read-only.
_VECTOR = types.Array(float64, 1, "C", readonly=True)
_MATRIX = types.Array(float64, 2, "C", readonly=True)
_POSITIONS = types.Array(int64, 1, "C", readonly=True)


@njit(**_COMPILE)
def _evaluate(z, U, near, values, seen, radii, quartic, squares, sums, weights, totals, F, T, density_slopes):  # type: ignore[no-untyped-def]
    """Write F (d) and T (q, d), f(z) and its tangents, and the slopes of the log density; return that, over K(0).

    Only the training points `near` count; which of them is nearest is returned, too. Circles, whose radius is finite,
    take two columns of U.
    """
    q, d = T.shape
    n_columns = U.shape[1]
    u, tangents = np.empty(n_columns), np.zeros((q, n_columns))
    c = 0
    for a in range(q):
        if np.isfinite(radii[a]):
            angle = z[a] / radii[a]
            u[c], u[c + 1] = radii[a] * np.cos(angle), radii[a] * np.sin(angle)
            tangents[a, c], tangents[a, c + 1] = -np.sin(angle), np.cos(angle)
            c += 2
        else:
            u[c], tangents[a, c] = z[a], 1.0
            c += 1
    least, nearest = np.inf, 0
    for i in range(len(near)):
        r2 = 0.0
        for c in range(n_columns):
            r2 += (U[near[i], c] - u[c]) ** 2
        squares[i] = r2
        if r2 < least:
            least, nearest = r2, near[i]
    sums.fill(0.0)
    weights.fill(0.0)
    totals.fill(0.0)
    incomplete = seen.shape[0] > 1
    factor = np.empty(1 + q)
    for i in range(len(near)):
        r = near[i]
        if quartic:
            if squares[i] >= 1.0:
                continue
            factor[0], slope = (1.0 - squares[i]) ** 2, 4.0 * (1.0 - squares[i])
        else:
            if squares[i] - least > _NEGLIGIBLE:
                continue
            slope = np.exp(-0.5 * (squares[i] - least))
            factor[0] = slope
        for a in range(q):
            along = 0.0
            for c in range(n_columns):
                along += tangents[a, c] * (U[r, c] - u[c])
            factor[1 + a] = slope * along
        for a in range(1 + q):
            w = factor[a]
            totals[a] += w
            for c in range(d):
                sums[a, c] += w * values[r, c]
            if incomplete:
                for c in range(d):
                    weights[a, c] += w * seen[r, c]
    if not totals[0] > 0.0:
        return -np.inf, nearest
    for c in range(d):
        total = weights[0, c] if incomplete else totals[0]
        F[c] = sums[0, c] / total if total > 0.0 else 0.0
        for a in range(q):
            slope = weights[1 + a, c] if incomplete else totals[1 + a]
            T[a, c] = (sums[1 + a, c] - F[c] * slope) / total if total > 0.0 else 0.0
    for a in range(q):
        density_slopes[a] = totals[1 + a] / totals[0]
    return np.log(totals[0] / len(U)) - (0.0 if quartic else 0.5 * least), nearest


@njit(**_COMPILE)
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


@njit(**_COMPILE)
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


@njit(
    void(
        _MATRIX, _MATRIX, int64[:, ::1], _MATRIX, _MATRIX, _POSITIONS, _POSITIONS, _MATRIX, _MATRIX, _VECTOR,
        boolean, float64, int64, float64, float64[:, ::1], float64[::1],
    ),
    **_COMPILE,
)  # fmt: skip
def descend(  # type: ignore[no-untyped-def]
    Y, known, starts, Z, U, first, lists, values, seen, radii, quartic, log_threshold, max_steps, tol, found, costs
):
    """Find the point whose image is nearest to each row, from training points starts[i] (-1 for none).

    Of training point i the ones nearby are lists[first[i]:first[i + 1]]; the lists of the nearest one are looked at in
    each step. No step raises the distance, or leaves the domain. A descent ends where it comes to a point that another
    one has come to, or if it is far behind after some steps.
    """
    d, q = Y.shape[1], Z.shape[1]
    longest = 0
    for i in range(len(first) - 1):
        longest = max(longest, first[i + 1] - first[i])
    squares = np.empty(longest)
    sums, weights, totals = np.empty((1 + q, d)), np.empty((1 + q, d)), np.empty(1 + q)
    F, T, slopes, R = np.empty(d), np.empty((q, d)), np.empty(q), np.empty(d)
    new_T, new_slopes, new_R = np.empty((q, d)), np.empty(q), np.empty(d)
    z, moved, step = np.empty(q), np.empty(q), np.empty(q)
    for i in range(len(Y)):
        costs[i] = np.inf
        mask = known[i if known.shape[0] > 1 else 0]
        for centre in starts[i]:
            if centre < 0:
                break
            for a in range(q):
                z[a] = Z[centre, a]
            near = lists[first[centre] : first[centre + 1]]
            log_density, _ = _evaluate(
                z, U, near, values, seen, radii, quartic, squares, sums, weights, totals, F, T, slopes
            )
            cost = _shown_residuals(Y[i], mask, F, T, R)
            damping = _FIRST_DAMPING
            for n_steps in range(max_steps):
                gain = _propose(T, R, log_density - log_threshold, slopes, damping, step)
                if not gain > tol * cost or damping > _MOST_DAMPING:
                    break
                for a in range(q):
                    moved[a] = z[a] + step[a]
                for _ in range(1 + _WAYS_BACK):
                    new_density, nearest = _evaluate(
                        moved,
                        U,
                        near,
                        values,
                        seen,
                        radii,
                        quartic,
                        squares,
                        sums,
                        weights,
                        totals,
                        F,
                        new_T,
                        new_slopes,
                    )
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
                near = lists[first[nearest] : first[nearest + 1]]
                if n_steps >= _HEAD_START and cost > _BEHIND * costs[i]:
                    break
                gap = 0.0
                for a in range(q):
                    gap += (z[a] - found[i, a]) ** 2
                if cost > costs[i] and gap < _SAME**2:
                    break
            if cost < costs[i]:
                costs[i] = cost
                for a in range(q):
                    found[i, a] = z[a]
