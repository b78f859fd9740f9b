"""Compiled evaluation of a surface at one point, among the training points nearby: image, tangents, and density."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, njit, types

from mercer.compiled_numba import FAST_WITHOUT_NAN, PLAIN, UNCOUNTED, read_only
from mercer.kernels.exponential_numba import power_of_two
from mercer.manifolds.ukr.shared_numba import COLUMNS

# Factors that sums are taken of at once, as are columns: arrays are padded to multiples of them.
_FACTORS = 3
# exp(-r²/2) = 2^(exponent r²)
_EXPONENT = -0.5 / math.log(2.0)
# exp(-r²/2) of squared distances that are larger than the least one by this is nothing beside its weight.
_NEGLIGIBLE = 36.0
COST, DENSITY = 0, 1


class Surface(NamedTuple):
    """A surface of N training points. Arrays are read-only.

    Attributes
    ----------
    Z, U : arrays of shape (N, q), (N, Q)
        Latent points, and where they are if circles are circles of planes.
    number, first, lists : arrays of shape (N,), (K + 1,), (L,)
        Training points near point i are lists[first[k]:first[k + 1]] for k = number[i].
    features : array of shape (N, m)
        d values, and if these are incomplete for each of them whether it is known; zeros to a multiple of `COLUMNS`.
    incomplete : bool
        Whether values are.
    radii : array of shape (q,)
        Of circles; infinite for lines.
    compact : bool
        Whether the kernel is (1 - r²)² within 1; else it is exp(-r²/2).
    """

    Z: Any
    U: Any
    number: Any
    first: Any
    lists: Any
    features: Any
    incomplete: Any
    radii: Any
    compact: Any


class Trial(NamedTuple):
    """A latent point, the residual of a row there, tangents (q, d), and slopes of the log density.

    `numbers` are the squared length of the residual, and the log density over K(0).
    """

    z: Any
    R: Any
    T: Any
    slopes: Any
    numbers: Any


class Scratch(NamedTuple):
    """Arrays that are written to: of a point (u, tangents), of those nearby, of sums, and of a step."""

    u: Any
    tangents: Any
    columns: Any
    squares: Any
    profile: Any
    rows: Any
    factors: Any
    sums: Any
    totals: Any
    A: Any
    L: Any
    g: Any
    inwards: Any
    step: Any


MATRIX, _VECTOR = read_only(float64, 2), read_only(float64, 1)
_OFFSETS, _POSITIONS = read_only(int64, 1), read_only(int32, 1)
SURFACE: Any = types.NamedTuple(  # type: ignore[no-untyped-call]
    (MATRIX, MATRIX, _OFFSETS, _OFFSETS, _POSITIONS, MATRIX, boolean, _VECTOR, boolean), Surface
)


@njit(**UNCOUNTED, **PLAIN)
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


@njit(**UNCOUNTED, **FAST_WITHOUT_NAN)  # with NaN the search for the nearest point would not be vectorised
def _weigh(u, near, columns, compact, squares, profile, rows, factors):  # type: ignore[no-untyped-def]
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
    limit = 1.0 if compact else least + _NEGLIGIBLE
    count = 0
    for i in range(n):
        # Written before it is known whether it stays: no branch that cannot be foreseen.
        rows[count] = i
        count += squares[i] < limit
    weights = factors[0]
    for k in range(count):
        weights[k] = squares[rows[k]]
    for k in range(count):
        profile[k] = 4.0 * (1.0 - weights[k]) if compact else power_of_two(_EXPONENT * (weights[k] - least))
    for c in range(len(u)):
        x, v, factor = columns[c], u[c], factors[1 + c]
        for k in range(count):
            factor[k] = profile[k] * (x[rows[k]] - v)
    for k in range(count):
        weights[k] = (1.0 - weights[k]) ** 2 if compact else profile[k]
        rows[k] = near[rows[k]]
    return count, least


@njit(**UNCOUNTED, **FAST_WITHOUT_NAN)
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


@njit(**UNCOUNTED, **PLAIN)
def evaluate(trial, near, surface, scratch):  # type: ignore[no-untyped-def]
    """Write f(z) in the place of the residual, its tangents, and the log density over K(0) with its slopes.

    Only the training points `near` count, whose coordinates are in the columns.
    """
    F, T, slopes, numbers = trial.R, trial.T, trial.slopes, trial.numbers
    u, tangents, sums, totals = scratch.u, scratch.tangents, scratch.sums, scratch.totals
    _unroll(trial.z, surface.radii, u, tangents)
    count, least = _weigh(
        u, near, scratch.columns, surface.compact, scratch.squares, scratch.profile, scratch.rows, scratch.factors
    )
    if count == 0:
        numbers[DENSITY] = -np.inf
        return
    _add_up(scratch.factors, scratch.rows, count, surface.features, sums, totals)
    incomplete, d = surface.incomplete, len(F)
    for c in range(d):
        total = sums[0, d + c] if incomplete else totals[0]
        F[c] = sums[0, c] / total if total > 0.0 else 0.0
    for a in range(len(T)):
        T[a] = 0.0
        slopes[a] = 0.0
        for b in range(len(u)):
            along = tangents[a, b]
            if along == 0.0:
                continue
            slopes[a] += along * totals[1 + b] / totals[0]
            for c in range(d):
                total = sums[0, d + c] if incomplete else totals[0]
                change = sums[1 + b, d + c] if incomplete else totals[1 + b]
                if total > 0.0:
                    T[a, c] += along * (sums[1 + b, c] - F[c] * change) / total
    numbers[DENSITY] = np.log(totals[0] / len(surface.Z)) - (0.0 if surface.compact else 0.5 * least)


@njit(**PLAIN)
def new_trial(q, d):  # type: ignore[no-untyped-def]
    """Room for a point of q coordinates, and d values there."""
    return Trial(np.empty(q), np.empty(d), np.empty((q, d)), np.empty(q), np.empty(2))


@njit(**PLAIN)
def new_scratch(surface):  # type: ignore[no-untyped-def]
    """Room for all evaluations of a surface, one after the other."""
    q, n_columns, longest = surface.Z.shape[1], surface.U.shape[1], 0
    for i in range(len(surface.first) - 1):
        longest = max(longest, surface.first[i + 1] - surface.first[i])
    n_factors = -(-(1 + n_columns) // _FACTORS) * _FACTORS
    return Scratch(
        np.empty(n_columns), np.empty((q, n_columns)), np.empty((n_columns, longest)), np.empty(longest),
        np.empty(longest), np.empty(longest, np.int64), np.zeros((n_factors, longest)),
        np.empty((n_factors, surface.features.shape[1])), np.empty(n_factors), np.empty((q, q)), np.empty((q, q)),
        np.empty(q), np.empty(q), np.empty(q),
    )  # fmt: skip
