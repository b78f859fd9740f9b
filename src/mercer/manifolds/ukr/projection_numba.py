"""Compiled part of the projection: damped Gauss-Newton steps, row after row, among the training points nearby."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, njit, types, void

from mercer.compiled_numba import FAST_WITHOUT_NAN, PLAIN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two
from mercer.manifolds.latent.cholesky_numba import factorise, solve_factored
from mercer.manifolds.ukr.shared_numba import COLUMNS

# Factors that sums are taken of at once, as are columns: arrays are padded to multiples of them.
_FACTORS = 3
# exp(-r²/2) = 2^(exponent r²)
_EXPONENT = -0.5 / math.log(2.0)
# Rounding: what is added to the diagonal of TTᵀ, as a share of its mean, and the least squared pivot and length.
_ROUNDING, _TINY = 1e-14, 1e-300


class Tuning(NamedTuple):
    """Numbers of single steps (`benchmarks/ukr.py new_rows`).

    Attributes
    ----------
    first_damping, least_damping, most_damping : float
        Damping of a descent.
    shyer, bolder : float
        Factors of the damping after steps that failed, and that did not.
    longest : float
        Steps are no longer than so many widths of the kernel.
    slack : float
        Rounding by which a point may be outside of the domain, in the logarithm of the density.
    ways_back, not_far : int, float
        How often a step that ends outside is brought back, if the logarithm of its density lacks no more than this.
    negligible : float
        exp(-r²/2) of squared distances that are larger than the least one by this is nothing beside its weight.
    kept, kept_compact : float
        A list of neighbours is used until a point is so far from the training point that it belongs to: after one more
        step all that have weight must still be in it. The second is for kernels that end.
    head_start, behind, same : int, float, float
        After so many steps a descent ends if its cost is so many times the least of the row; or, at any time, if it is
        so near to that point.
    """

    first_damping: float = 1e-3
    least_damping: float = 1e-8
    most_damping: float = 1e8
    shyer: float = 6.0
    bolder: float = 0.1
    longest: float = 0.7
    slack: float = 1e-9
    ways_back: int = 2
    not_far: float = 1.0
    negligible: float = 36.0
    kept: float = 1.0
    kept_compact: float = 0.3
    head_start: int = 4
    behind: float = 1.5
    same: float = 0.2


TUNING = Tuning()


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


class Limits(NamedTuple):
    """The logarithm of the least density, most steps, and the share of its cost that a step must promise."""

    log_threshold: Any
    max_steps: Any
    tol: Any


class Trial(NamedTuple):
    """A latent point, the residual of a row there, tangents (q, d), and slopes of the log density.

    `numbers` are the squared length of the residual, and the log density over K(0).
    """

    z: Any
    R: Any
    T: Any
    slopes: Any
    numbers: Any


_COST, _DENSITY = 0, 1


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


_MATRIX, _VECTOR = read_only(float64, 2), read_only(float64, 1)
_OFFSETS, _POSITIONS = read_only(int64, 1), read_only(int32, 1)
_SURFACE: Any = types.NamedTuple(  # type: ignore[no-untyped-call]
    (_MATRIX, _MATRIX, _OFFSETS, _OFFSETS, _POSITIONS, _MATRIX, boolean, _VECTOR, boolean), Surface
)
_LIMITS: Any = types.NamedTuple((float64, int64, float64), Limits)  # type: ignore[no-untyped-call]


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
    limit = 1.0 if compact else least + TUNING.negligible
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
def _evaluate(trial, near, surface, scratch):  # type: ignore[no-untyped-def]
    """Write f(z) in the place of the residual, its tangents, and the log density over K(0) with its slopes.

    Only the training points `near` count, whose coordinates are in the columns.
    """
    d, T, slopes = len(trial.R), trial.T, trial.slopes
    u, tangents, sums, totals = scratch.u, scratch.tangents, scratch.sums, scratch.totals
    _unroll(trial.z, surface.radii, u, tangents)
    count, least = _weigh(
        u, near, scratch.columns, surface.compact, scratch.squares, scratch.profile, scratch.rows, scratch.factors
    )
    if count == 0:
        trial.numbers[_DENSITY] = -np.inf
        return
    _add_up(scratch.factors, scratch.rows, count, surface.features, sums, totals)
    incomplete = surface.incomplete
    for c in range(d):
        total = sums[0, d + c] if incomplete else totals[0]
        trial.R[c] = sums[0, c] / total if total > 0.0 else 0.0
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
                    T[a, c] += along * (sums[1 + b, c] - trial.R[c] * change) / total
    trial.numbers[_DENSITY] = np.log(totals[0] / len(surface.Z)) - (0.0 if surface.compact else 0.5 * least)


@njit(**PLAIN)
def _compare(trial, y, known):  # type: ignore[no-untyped-def]
    """Write the residual y - f and its squared length; 0, like tangents, where an entry is not known."""
    cost = 0.0
    for c in range(len(y)):
        shown = known[c] if len(known) > 1 else 1.0
        trial.R[c] = (y[c] - trial.R[c]) * shown
        cost += trial.R[c] ** 2
        for a in range(len(trial.T)):
            trial.T[a, c] *= shown
    trial.numbers[_COST] = cost


@njit(**PLAIN)
def _propose(at, log_threshold, damping, scratch):  # type: ignore[no-untyped-def]
    """Write a damped Gauss-Newton step inside of the linearised domain; returns the decrease that it promises."""
    T, A, L, g, inwards, step = at.T, scratch.A, scratch.L, scratch.g, scratch.inwards, scratch.step
    q, d = T.shape
    trace = 0.0
    for a in range(q):
        g[a] = 0.0
        for c in range(d):
            g[a] += T[a, c] * at.R[c]
        for b in range(a + 1):
            total = 0.0
            for c in range(d):
                total += T[a, c] * T[b, c]
            A[a, b] = A[b, a] = L[a, b] = total
        trace += A[a, a]
    for a in range(q):
        L[a, a] += (damping + _ROUNDING) * trace / q + _TINY
    factorise(L, _TINY, np.sqrt(_TINY))
    solve_factored(L, g, step)
    solve_factored(L, at.slopes, inwards)
    lacking, along = log_threshold - at.numbers[_DENSITY], 0.0
    for a in range(q):
        lacking -= at.slopes[a] * step[a]
        along += at.slopes[a] * inwards[a]
    length = 0.0
    for a in range(q):
        if lacking > 0.0 and along > 0.0:
            step[a] += lacking / along * inwards[a]
        length += step[a] ** 2
    shorter = min(1.0, TUNING.longest / max(np.sqrt(length), _TINY))
    for a in range(q):
        step[a] *= shorter
    gain = 0.0
    for a in range(q):
        gain += 2.0 * step[a] * g[a]
        for b in range(q):
            gain -= step[a] * A[a, b] * step[b]
    return gain


@njit(**PLAIN)
def _move(at, new, near, surface, log_threshold, scratch):  # type: ignore[no-untyped-def]
    """Take the step; since the border of the domain is curved, come back a little farther from where it ends."""
    q = len(at.z)
    for a in range(q):
        new.z[a] = at.z[a] + scratch.step[a]
    for _ in range(1 + TUNING.ways_back):
        _evaluate(new, near, surface, scratch)
        lacking = log_threshold - new.numbers[_DENSITY]
        if not 0.0 < lacking < TUNING.not_far:
            break
        steepness = _TINY
        for a in range(q):
            steepness += new.slopes[a] ** 2
        for a in range(q):
            new.z[a] += (lacking + TUNING.slack) / steepness * new.slopes[a]


@njit(**PLAIN)
def _accepts(at, new, log_threshold):  # type: ignore[no-untyped-def]
    """Whether a step lowers the cost and ends inside of the domain."""
    return new.numbers[_COST] < at.numbers[_COST] and new.numbers[_DENSITY] >= log_threshold - TUNING.slack


@njit(**PLAIN)
def _squared_distance(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(a)):
        total += (a[k] - b[k]) ** 2
    return total


@njit(**PLAIN)
def _is_beaten(at, n_steps, best, best_cost):  # type: ignore[no-untyped-def]
    """Whether a descent is far behind the best one of the row, or comes to the same point."""
    cost = at.numbers[_COST]
    if n_steps >= TUNING.head_start and cost > TUNING.behind * best_cost:
        return True
    return cost > best_cost and _squared_distance(at.z, best) < TUNING.same**2


@njit(**PLAIN)
def _neighbours(centre, surface, scratch):  # type: ignore[no-untyped-def]
    """The training points near one of them, whose coordinates are written to the columns."""
    number = surface.number[centre]
    near = surface.lists[surface.first[number] : surface.first[number + 1]]
    for i in range(len(near)):
        for c in range(surface.U.shape[1]):
            scratch.columns[c, i] = surface.U[near[i], c]
    return near


@njit(**PLAIN)
def _follow(y, known, centre, surface, limits, at, new, scratch, best, best_cost):  # type: ignore[no-untyped-def]
    """Descend from a training point, and take note of the end if it is the best so far; returns the least cost."""
    log_threshold = limits.log_threshold
    kept = TUNING.kept_compact if surface.compact else TUNING.kept
    for a in range(len(best)):
        at.z[a] = surface.Z[centre, a]
    near = _neighbours(centre, surface, scratch)
    _evaluate(at, near, surface, scratch)
    _compare(at, y, known)
    damping = TUNING.first_damping
    for n_steps in range(limits.max_steps):
        gain = _propose(at, log_threshold, damping, scratch)
        if not gain > limits.tol * at.numbers[_COST] or damping > TUNING.most_damping:
            break
        _move(at, new, near, surface, log_threshold, scratch)
        _compare(new, y, known)
        if not _accepts(at, new, log_threshold):
            damping *= TUNING.shyer
            continue
        damping = max(TUNING.bolder * damping, TUNING.least_damping)
        at, new = new, at
        if _is_beaten(at, n_steps, best, best_cost):
            break
        if _squared_distance(scratch.u, surface.U[centre]) > kept**2:
            centre = near[np.argmin(scratch.squares[: len(near)])]
            near = _neighbours(centre, surface, scratch)
    if at.numbers[_COST] < best_cost:
        for a in range(len(best)):
            best[a] = at.z[a]
    return min(at.numbers[_COST], best_cost)


@njit(**PLAIN)
def _new_trial(q, d):  # type: ignore[no-untyped-def]
    return Trial(np.empty(q), np.empty(d), np.empty((q, d)), np.empty(q), np.empty(2))


@njit(**PLAIN)
def _new_scratch(surface):  # type: ignore[no-untyped-def]
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


@compiled(
    void(_MATRIX, _MATRIX, int64[:, ::1], _SURFACE, _LIMITS, float64[:, ::1], float64[::1]),
    **PLAIN,
)
def descend(Y, known, starts, surface, limits, found, costs):  # type: ignore[no-untyped-def]
    """Find the point whose image is nearest to each row, from training points starts[i] (-1 for none).

    `known` has one row for each row, or one number if all entries are known. No step raises the distance, or leaves
    the domain.
    """
    (n_rows, d), q = Y.shape, surface.Z.shape[1]
    at, new, scratch = _new_trial(q, d), _new_trial(q, d), _new_scratch(surface)
    for i in range(n_rows):
        costs[i] = np.inf
        mask = known[i if known.shape[0] > 1 else 0]
        for centre in starts[i]:
            if centre < 0:
                break
            costs[i] = _follow(Y[i], mask, centre, surface, limits, at, new, scratch, found[i], costs[i])
