"""Compiled part of the projection: damped Gauss-Newton steps, row after row, among the training points nearby."""

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, njit, types, void

from mercer.compiled_numba import PLAIN, UNCOUNTED, compiled
from mercer.manifolds.latent.cholesky_numba import factorise, solve_factored
from mercer.manifolds.ukr.surface_numba import COST, DENSITY, MATRIX, SURFACE, evaluate, new_scratch, new_trial

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
    kept: float = 1.0
    kept_compact: float = 0.3
    head_start: int = 4
    behind: float = 1.5
    same: float = 0.2


TUNING = Tuning()


class Limits(NamedTuple):
    """The logarithm of the least density, most steps, and the share of its cost that a step must promise."""

    log_threshold: Any
    max_steps: Any
    tol: Any


_LIMITS: Any = types.NamedTuple((float64, int64, float64), Limits)  # type: ignore[no-untyped-call]


@njit(**UNCOUNTED, **PLAIN)
def _compare(trial, y, known):  # type: ignore[no-untyped-def]
    """Write the residual y - f and its squared length; 0, like tangents, where an entry is not known."""
    R, T, cost = trial.R, trial.T, 0.0
    for c in range(len(y)):
        shown = known[c] if len(known) > 1 else 1.0
        R[c] = (y[c] - R[c]) * shown
        cost += R[c] ** 2
        for a in range(len(T)):
            T[a, c] *= shown
    trial.numbers[COST] = cost


@njit(**UNCOUNTED, **PLAIN)
def _propose(at, log_threshold, damping, scratch):  # type: ignore[no-untyped-def]
    """Write a damped Gauss-Newton step inside of the linearised domain; returns the decrease that it promises."""
    R, T, slopes = at.R, at.T, at.slopes
    A, L, g, inwards, step = scratch.A, scratch.L, scratch.g, scratch.inwards, scratch.step
    q, d = T.shape
    trace = 0.0
    for a in range(q):
        g[a] = 0.0
        for c in range(d):
            g[a] += T[a, c] * R[c]
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
    solve_factored(L, slopes, inwards)
    lacking, along = log_threshold - at.numbers[DENSITY], 0.0
    for a in range(q):
        lacking -= slopes[a] * step[a]
        along += slopes[a] * inwards[a]
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


@njit(**UNCOUNTED, **PLAIN)
def _move(at, new, near, surface, log_threshold, scratch):  # type: ignore[no-untyped-def]
    """Take the step; since the border of the domain is curved, come back a little farther from where it ends."""
    z, before, slopes, step = new.z, at.z, new.slopes, scratch.step
    for a in range(len(z)):
        z[a] = before[a] + step[a]
    for _ in range(1 + TUNING.ways_back):
        evaluate(new, near, surface, scratch)
        lacking = log_threshold - new.numbers[DENSITY]
        if not 0.0 < lacking < TUNING.not_far:
            break
        steepness = _TINY
        for a in range(len(z)):
            steepness += slopes[a] ** 2
        for a in range(len(z)):
            z[a] += (lacking + TUNING.slack) / steepness * slopes[a]


@njit(**UNCOUNTED, **PLAIN)
def _accepts(at, new, log_threshold):  # type: ignore[no-untyped-def]
    """Whether a step lowers the cost and ends inside of the domain."""
    return new.numbers[COST] < at.numbers[COST] and new.numbers[DENSITY] >= log_threshold - TUNING.slack


@njit(**UNCOUNTED, **PLAIN)
def _squared_distance(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(a)):
        total += (a[k] - b[k]) ** 2
    return total


@njit(**UNCOUNTED, **PLAIN)
def _is_beaten(at, n_steps, best, best_cost):  # type: ignore[no-untyped-def]
    """Whether a descent is far behind the best one of the row, or comes to the same point."""
    cost = at.numbers[COST]
    if n_steps >= TUNING.head_start and cost > TUNING.behind * best_cost:
        return True
    return cost > best_cost and _squared_distance(at.z, best) < TUNING.same**2


@njit(**UNCOUNTED, **PLAIN)
def _neighbours(centre, surface, scratch):  # type: ignore[no-untyped-def]
    """Write the coordinates of the training points near one of them to the columns; returns where lists have them."""
    number = surface.number[centre]
    start, stop = surface.first[number], surface.first[number + 1]
    U, columns, lists = surface.U, scratch.columns, surface.lists
    for i in range(start, stop):
        for c in range(U.shape[1]):
            columns[c, i - start] = U[lists[i], c]
    return start, stop


@njit(**UNCOUNTED, **PLAIN)
def _follow(y, known, centre, surface, limits, at, new, scratch, best, best_cost):  # type: ignore[no-untyped-def]
    """Descend from a training point, and take note of the end if it is the best so far; returns the least cost."""
    log_threshold = limits.log_threshold
    kept = TUNING.kept_compact if surface.compact else TUNING.kept
    for a in range(len(best)):
        at.z[a] = surface.Z[centre, a]
    start, stop = _neighbours(centre, surface, scratch)
    near = surface.lists[start:stop]
    evaluate(at, near, surface, scratch)
    _compare(at, y, known)
    damping = TUNING.first_damping
    for n_steps in range(limits.max_steps):
        gain = _propose(at, log_threshold, damping, scratch)
        if not gain > limits.tol * at.numbers[COST] or damping > TUNING.most_damping:
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
            start, stop = _neighbours(centre, surface, scratch)
            near = surface.lists[start:stop]
    if at.numbers[COST] < best_cost:
        for a in range(len(best)):
            best[a] = at.z[a]
    return min(at.numbers[COST], best_cost)


@compiled(
    void(MATRIX, MATRIX, int64[:, ::1], SURFACE, _LIMITS, float64[:, ::1], float64[::1]),
    **PLAIN,
)
def descend(Y, known, starts, surface, limits, found, costs):  # type: ignore[no-untyped-def]
    """Find the point whose image is nearest to each row, from training points starts[i] (-1 for none).

    `known` has one row for each row, or one number if all entries are known. No step raises the distance, or leaves
    the domain.
    """
    (n_rows, d), q = Y.shape, surface.Z.shape[1]
    at, new, scratch = new_trial(q, d), new_trial(q, d), new_scratch(surface)
    for i in range(n_rows):
        costs[i] = np.inf
        mask = known[i if known.shape[0] > 1 else 0]
        for centre in starts[i]:
            if centre < 0:
                break
            costs[i] = _follow(Y[i], mask, centre, surface, limits, at, new, scratch, found[i], costs[i])
