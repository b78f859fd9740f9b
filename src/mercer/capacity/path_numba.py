"""The solution of a dual program as its targets change along a straight line, or one variable goes to zero.

Between events all is linear in the position on the path. `pieces` has the rows low, high, below, above, curve_below,
curve_above of each variable, `inverse` that of the saddle-point matrix [[-κ, Φᵀ], [Φ, K + E]] of the free variables,
whose positions are in `order` after as many entries as there are columns.
"""

import numpy as np
from numba import float64, int64, njit, types

from mercer.compiled_numba import PLAIN, compiled

_VECTOR, _MATRIX, _WHOLE = float64[::1], float64[:, ::1], int64[::1]
_COUNT = types.UniTuple(int64, 2)  # type: ignore[no-untyped-call]
# States, as in `mercer.capacity.fitted`.
_AT_LOW, _BELOW, _ZERO, _ABOVE, _AT_HIGH = -2, -1, 0, 1, 2
# Updates after which the inverse is computed anew, and the least share of a diagonal that may be left in one.
_FRESH, _LEAST = 100, 1e-12
# Defects of residuals, as a share of their change, that need no more refinement; and how often there is some.
_ROUNDING, _REFINEMENTS = 1e-11, 5
# Steps that count as progress, and how often a variable may change where there is none: rounding lets equal rows
# change places again and again.
_PROGRESS, _MOST_CHANGES = 1e-12, 2


@njit(**PLAIN)
def _is_smooth(pieces, i):  # type: ignore[no-untyped-def]
    """Whether a variable goes through zero without noticing."""
    return pieces[2, i] + pieces[3, i] == 0.0 and pieces[4, i] == pieces[5, i]


@njit(**PLAIN)
def _invert(K, Phi, pieces, state, order, n_free, kappa, inverse):  # type: ignore[no-untyped-def]
    """Compute the inverse anew."""
    p = Phi.shape[1]
    m = p + n_free
    M = np.zeros((m, m))
    for c in range(p):
        M[c, c] = -kappa[c]
    for k in range(n_free):
        i = order[k]
        for c in range(p):
            M[c, p + k] = M[p + k, c] = Phi[i, c]
        for j in range(n_free):
            M[p + k, p + j] = K[i, order[j]]
        M[p + k, p + k] += pieces[5, i] if state[i] > 0 else pieces[4, i]
    inverse[:m, :m] = np.linalg.inv(M)


@njit(**PLAIN)
def _enter(K, Phi, pieces, state, order, n_free, kappa, inverse, i):  # type: ignore[no-untyped-def]
    """Add a variable to the free ones; returns whether its column is clearly independent of theirs."""
    p = Phi.shape[1]
    m = p + n_free
    column = np.empty(m)
    for c in range(p):
        column[c] = Phi[i, c]
    for k in range(n_free):
        column[p + k] = K[i, order[k]]
    u = np.zeros(m)
    for a in range(m):
        total = 0.0
        for b in range(m):
            total += inverse[a, b] * column[b]
        u[a] = total
    own = K[i, i] + (pieces[5, i] if state[i] > 0 else pieces[4, i])
    left = own - np.dot(column, u)
    order[n_free] = i
    if not left > _LEAST * abs(own):
        return False
    for a in range(m):
        for b in range(m):
            inverse[a, b] += u[a] * u[b] / left
        inverse[a, m] = inverse[m, a] = -u[a] / left
    inverse[m, m] = 1.0 / left
    return True


@njit(**PLAIN)
def _leave(p, order, n_free, inverse, k):  # type: ignore[no-untyped-def]
    """Take the k-th free variable away; the last one takes its place."""
    m, a = p + n_free, p + k
    column = inverse[:m, a].copy()
    own = column[a]
    for b in range(m):
        for c in range(m):
            inverse[b, c] -= column[b] * column[c] / own
    last = m - 1
    for b in range(m):
        inverse[a, b] = inverse[last, b]
    for b in range(m):
        inverse[b, a] = inverse[b, last]
    inverse[a, a] = inverse[last, last]
    order[k] = order[n_free - 1]


@njit(**PLAIN)
def _add_solution(K, Phi, order, n_free, inverse, right, solution, dA, dr):  # type: ignore[no-untyped-def]
    """Add the solution for a right-hand side to the changes of the variables, and what it does to the residuals."""
    n, p = Phi.shape
    m = p + n_free
    for a in range(m):
        total = 0.0
        for b in range(m):
            total += inverse[a, b] * right[b]
        solution[a] += total
        if a < p:
            for i in range(n):
                dr[i] -= Phi[i, a] * total
        else:
            j = order[a - p]
            dA[j] += total
            for i in range(n):
                dr[i] -= K[j, i] * total


@njit(**PLAIN)
def _what_is_left(Phi, pieces, kappa, state, order, n_free, out, dtarget, solution, dA, dr, right):  # type: ignore[no-untyped-def]
    """Defects of the conditions for a change, and the largest of those of residuals."""
    p = Phi.shape[1]
    largest = 0.0
    for k in range(n_free):
        i = order[k]
        right[p + k] = dr[i] - (pieces[5, i] if state[i] > 0 else pieces[4, i]) * dA[i]
        largest = max(largest, abs(right[p + k]))
    for c in range(p):
        total = dtarget[c] + kappa[c] * solution[c]
        for k in range(n_free):
            total -= Phi[order[k], c] * dA[order[k]]
        if out >= 0:
            total -= Phi[out, c] * dA[out]
        right[c] = total
    return largest


@njit(**PLAIN)
def _next_event(pieces, A, r, state, dA, dr, out, room, n_changes):  # type: ignore[no-untyped-def]
    """The step to the first event, its variable and the state that this goes to; no variable if there is none."""
    step, who, becomes = room, -1, 0
    for i in range(A.size):
        if i == out or n_changes[i] > _MOST_CHANGES:
            continue
        s, move, target, to = state[i], 0.0, 0.0, 0
        value = A[i] if abs(s) == 1 else r[i]
        low, high, below, above = pieces[0, i], pieces[1, i], pieces[2, i], pieces[3, i]
        if s == _ABOVE:
            move = dA[i]
            if move > 0:
                target, to = high, _AT_HIGH
            elif _is_smooth(pieces, i):
                target, to = low, _AT_LOW
            else:
                target, to = 0.0, (_BELOW if below + above == 0.0 else _ZERO)
        elif s == _BELOW:
            move = dA[i]
            if move < 0:
                target, to = low, _AT_LOW
            else:
                target, to = 0.0, (_ABOVE if below + above == 0.0 else _ZERO)
        elif s == _ZERO:
            move = dr[i]
            if move > 0:
                target, to = above, _ABOVE
            else:
                target, to = -below, _BELOW
        elif s == _AT_HIGH and dr[i] < 0:
            move, target, to = dr[i], above + pieces[5, i] * high, _ABOVE
        elif s == _AT_LOW and dr[i] > 0:
            move, target, to = dr[i], pieces[4, i] * low - below, _ABOVE if _is_smooth(pieces, i) else _BELOW
        if move == 0.0 or not np.isfinite(target):
            continue
        distance = max(0.0, (target - value) / move)
        if distance < step:
            step, who, becomes = distance, i, to
    return step, who, becomes


@compiled(
    _COUNT(
        _MATRIX, _MATRIX, _MATRIX, _VECTOR, _VECTOR, _VECTOR, _VECTOR, _WHOLE, _WHOLE, int64, _MATRIX, _VECTOR, _VECTOR,
        int64, int64,
    ),
    **PLAIN,
)  # fmt: skip
def follow(K, Phi, pieces, kappa, A, r, d, state, order, n_free, inverse, dy, dtarget, out, limit):  # type: ignore[no-untyped-def]
    """Go along the path to its end; returns the number of events (-1 if there were too many) and of free variables.

    The targets change by `dy` and those of the columns by `dtarget`; the variable `out`, if it is not -1, goes to zero,
    whatever its residual. A, r, d, state, order and inverse become those of the end.
    """
    n, p = Phi.shape
    at, n_updates = 0.0, 0
    right, solution, dA, dr = np.empty(n + p), np.empty(n + p), np.zeros(n), np.empty(n)
    pull = -A[out] if out >= 0 else 0.0
    if out >= 0:
        for k in range(n_free):
            if order[k] == out:
                _leave(p, order, n_free, inverse, k)
                n_free -= 1
                break
    size = 0.0
    n_changes = np.zeros(n, dtype=np.int64)  # of each variable where the path stands still
    for i in range(n):
        size = max(size, abs(dy[i]) + (abs(K[out, i] * pull) if out >= 0 else 0.0))
    for event in range(limit):
        solution[:] = 0.0
        dA[:] = 0.0
        dr[:] = dy
        if out >= 0:
            dA[out] = pull
            for i in range(n):
                dr[i] -= K[out, i] * pull
        for attempt in range(_REFINEMENTS):  # the first finds the solution, the others mend the rounding of the inverse
            left = _what_is_left(Phi, pieces, kappa, state, order, n_free, out, dtarget, solution, dA, dr, right)
            if left <= _ROUNDING * size and attempt > 0:
                break
            _add_solution(K, Phi, order, n_free, inverse, right, solution, dA, dr)
        step, who, becomes = _next_event(pieces, A, r, state, dA, dr, out, 1.0 - at, n_changes)
        for i in range(n):
            A[i] += step * dA[i]
            r[i] += step * dr[i]
        for c in range(p):
            d[c] += step * solution[c]
        at += step
        if step > _PROGRESS:
            n_changes[:] = 0
        if who < 0:
            return event, n_free
        n_changes[who] += 1
        if abs(state[who]) == 1:
            A[who] = pieces[1, who] if becomes == _AT_HIGH else (pieces[0, who] if becomes == _AT_LOW else 0.0)
            for k in range(n_free):
                if order[k] == who:
                    _leave(p, order, n_free, inverse, k)
                    n_free -= 1
                    break
        state[who] = becomes
        n_updates += 1
        if abs(becomes) == 1:
            good = _enter(K, Phi, pieces, state, order, n_free, kappa, inverse, who)
            n_free += 1
            # Where the columns have hardly a free variable their entries of the inverse are large, and lose digits.
            if not good or n_updates > _FRESH or n_free <= 2 * p + 2:
                _invert(K, Phi, pieces, state, order, n_free, kappa, inverse)
                n_updates = 0
    return -1, n_free
