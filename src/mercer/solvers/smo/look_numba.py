"""Sweeps over all variables, in one pass over memory each: NumPy needs a dozen, and they come in every round.

The rows of `box` are low, high, up, down, curve_up, curve_down of each variable, as in `Box`.
"""

import numpy as np
from numba import float64, njit, types

from mercer.compiled_numba import FAST_WITHOUT_NAN, PLAIN, compiled

# Bounds and slopes may be infinite; there are no NaN.
_VECTOR, _MATRIX = float64[::1], float64[:, ::1]
_PAIR, _FOUR = (types.UniTuple(float64, n) for n in (2, 4))  # type: ignore[no-untyped-call]
# Halvings of the interval in which the offset lies.
_HALVINGS = 12
_LEAST_CURVE = 1e-300


@compiled(_FOUR(_VECTOR, _VECTOR, _MATRIX, _VECTOR, _VECTOR), **FAST_WITHOUT_NAN)
def derivatives(B, g, box, rising, falling):  # type: ignore[no-untyped-def]
    """Derivatives of the dual objective, to be minimised, where variables rise and where they fall; their extremes.

    `rising` is infinite at the upper bound, `falling` minus infinite at the lower one. Returns the least of the one and
    the largest of the other above zero, and the same below zero.
    """
    low, high, up, down, curve_up, curve_down = box[0], box[1], box[2], box[3], box[4], box[5]
    least_above, most_above, least_below, most_below = np.inf, -np.inf, np.inf, -np.inf
    for i in range(B.size):
        b = B[i]
        above, below = g[i] + up[i] + curve_up[i] * b, g[i] - down[i] + curve_down[i] * b
        right_above, right_below = above if b >= 0 and b < high[i] else np.inf, below if b < 0 else np.inf
        left_above, left_below = above if b > 0 else -np.inf, below if b <= 0 and b > low[i] else -np.inf
        rising[i], falling[i] = min(right_above, right_below), max(left_above, left_below)
        least_above, most_above = min(least_above, right_above), max(most_above, left_above)
        least_below, most_below = min(least_below, right_below), max(most_below, left_below)
    return least_above, most_above, least_below, most_below


@njit(**FAST_WITHOUT_NAN)
def _wanted_sums(g, box, above, below):  # type: ignore[no-untyped-def]
    """Sums of the b >= 0, and of the b <= 0, that minimise (g_i - multiplier) b + price_i(b) in the box."""
    low, high, up, down, curve_up, curve_down = box[0], box[1], box[2], box[3], box[4], box[5]
    positive, negative = 0.0, 0.0
    for i in range(g.size):
        positive += min(high[i], max(0.0, (above - g[i] - up[i]) / max(curve_up[i], _LEAST_CURVE)))
        negative += max(low[i], min(0.0, (below - g[i] + down[i]) / max(curve_down[i], _LEAST_CURVE)))
    return positive, negative


@compiled(float64(_VECTOR, _MATRIX, float64, float64, float64), **PLAIN)
def best_multiplier(g, box, total, low, high):  # type: ignore[no-untyped-def]
    """The multiplier of ΣB = `total` between `low` and `high` for which the primal value is least.

    The variables that it asks for rise with it; where they add up to the total, the primal value is stationary.
    """
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        positive, negative = _wanted_sums(g, box, middle, middle)
        if positive + negative < total:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled(_PAIR(_VECTOR, _MATRIX, _VECTOR, _VECTOR, _VECTOR), **PLAIN)
def best_multipliers(g, box, totals, low, high):  # type: ignore[no-untyped-def]
    """The same for the multipliers of the two sums Σ max(B, 0) and Σ min(B, 0), each in an interval of its own."""
    above_low, above_high, below_low, below_high = low[0], high[0], low[1], high[1]
    for _ in range(_HALVINGS):
        above, below = 0.5 * (above_low + above_high), 0.5 * (below_low + below_high)
        positive, negative = _wanted_sums(g, box, above, below)
        if positive < totals[0]:
            above_low = above
        else:
            above_high = above
        if negative < totals[1]:
            below_low = below
        else:
            below_high = below
    return 0.5 * (above_low + above_high), 0.5 * (below_low + below_high)


@compiled(_PAIR(_VECTOR, _VECTOR, _VECTOR, _MATRIX, _VECTOR, _VECTOR), **FAST_WITHOUT_NAN)
def values(B, g, y, box, totals, multipliers):  # type: ignore[no-untyped-def]
    """Values of the primal and of the dual program where g = KB - y.

    Σ max(B, 0) and Σ min(B, 0) ought to be `totals`; the coefficients of the columns are those of the multipliers of
    these two sums. They are the same where only ΣB matters.
    """
    low, high, up, down, curve_up, curve_down = box[0], box[1], box[2], box[3], box[4], box[5]
    square, loss, gain = 0.0, 0.0, 0.0
    for i in range(B.size):
        # The loss is the conjugate of the price.
        above, below = multipliers[0] - g[i] - up[i], multipliers[1] - g[i] + down[i]
        a = min(high[i], max(0.0, above / max(curve_up[i], _LEAST_CURVE)))
        b = max(low[i], min(0.0, below / max(curve_down[i], _LEAST_CURVE)))
        loss += a * (above - 0.5 * curve_up[i] * a) + b * (below - 0.5 * curve_down[i] * b)
        a, b = max(B[i], 0.0), min(B[i], 0.0)
        gain += B[i] * y[i] - a * (up[i] + 0.5 * curve_up[i] * a) + b * (down[i] - 0.5 * curve_down[i] * b)
        square += B[i] * (g[i] + y[i])
    price = multipliers[0] * totals[0] + multipliers[1] * totals[1]
    return 0.5 * square + loss - price, gain - 0.5 * square
