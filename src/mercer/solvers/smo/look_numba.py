"""Sweeps over all variables, in one pass over memory each: NumPy needs a dozen, and they come in every round.

The rows of `box` are low, high, up, down, curve_up, curve_down of each variable, as in `Box`.
"""

from typing import Any

import numpy as np
from numba import float64, njit, types

from mercer.kernels.read_only_numba import read_only

_COMPILE: Any = {"nogil": True, "cache": True, "error_model": "numpy"}
# Bounds and slopes may be infinite; there are no NaN.
_FAST = {"contract", "reassoc", "nsz", "nnan"}
# Halvings of the interval in which the offset lies.
_HALVINGS = 12
_LEAST_CURVE = 1e-300
_VECTOR, _BOX, _PAIR = read_only(float64, 1), read_only(float64, 2), types.UniTuple(float64, 2)  # type: ignore[no-untyped-call]


@njit(_PAIR(_VECTOR, _VECTOR, _BOX, float64[::1], float64[::1]), fastmath=_FAST, **_COMPILE)
def derivatives(B, g, box, rising, falling):  # type: ignore[no-untyped-def]
    """Derivatives of the dual objective, to be minimised, where variables rise and where they fall; their extremes.

    `rising` is infinite at the upper bound, `falling` minus infinite at the lower one. Returns the least of the one and
    the largest of the other.
    """
    low, high, up, down, curve_up, curve_down = box[0], box[1], box[2], box[3], box[4], box[5]
    least, most = np.inf, -np.inf
    for i in range(B.size):
        b = B[i]
        above, below = g[i] + up[i] + curve_up[i] * b, g[i] - down[i] + curve_down[i] * b
        right = (above if b >= 0 else below) if b < high[i] else np.inf
        left = (above if b > 0 else below) if b > low[i] else -np.inf
        rising[i], falling[i] = right, left
        least, most = min(least, right), max(most, left)
    return least, most


@njit(float64(_VECTOR, _BOX, float64), fastmath=_FAST, **_COMPILE)
def _excess(g, box, multiplier):  # type: ignore[no-untyped-def]
    """Σ_i of the b in the box that minimise (g_i - multiplier) b + price_i(b)."""
    low, high, up, down, curve_up, curve_down = box[0], box[1], box[2], box[3], box[4], box[5]
    total = 0.0
    for i in range(g.size):
        pull = multiplier - g[i]
        above = (pull - up[i]) / max(curve_up[i], _LEAST_CURVE)
        below = (pull + down[i]) / max(curve_down[i], _LEAST_CURVE)
        total += min(high[i], max(0.0, above)) + max(low[i], min(0.0, below))
    return total


@njit(float64(_VECTOR, _BOX, float64, float64), **_COMPILE)
def best_multiplier(g, box, low, high):  # type: ignore[no-untyped-def]
    """The multiplier of ΣB between `low` and `high` for which the primal value is least.

    The variables that it asks for rise with it; where they add up to zero, the primal value is stationary.
    """
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _excess(g, box, middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@njit(_PAIR(_VECTOR, _VECTOR, _VECTOR, _BOX, float64), fastmath=_FAST, **_COMPILE)
def values(B, g, y, box, multiplier):  # type: ignore[no-untyped-def]
    """Values of the primal and of the dual program where g = KB - y, with the offset of a multiplier of ΣB."""
    low, high, up, down, curve_up, curve_down = box[0], box[1], box[2], box[3], box[4], box[5]
    square, loss, gain = 0.0, 0.0, 0.0
    for i in range(B.size):
        # The loss is the conjugate of the price.
        pull = multiplier - g[i]
        a = min(high[i], max(0.0, (pull - up[i]) / max(curve_up[i], _LEAST_CURVE)))
        b = max(low[i], min(0.0, (pull + down[i]) / max(curve_down[i], _LEAST_CURVE)))
        loss += a * (pull - up[i] - 0.5 * curve_up[i] * a) + b * (pull + down[i] - 0.5 * curve_down[i] * b)
        a, b = max(B[i], 0.0), min(B[i], 0.0)
        gain += B[i] * y[i] - a * (up[i] + 0.5 * curve_up[i] * a) + b * (down[i] - 0.5 * curve_down[i] * b)
        square += B[i] * (g[i] + y[i])
    return 0.5 * square + loss, gain - 0.5 * square
