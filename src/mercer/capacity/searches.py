"""Searches among whole numbers and along the real line, for bounds that hold wherever the search ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

_LARGEST = 2**62


def least_of(cost: Callable[[int], float], first: int, last: int) -> float:
    """The least cost found among first, ..., last: at doubling steps, then at halving ones around the least."""
    known: dict[int, float] = {}

    def look_at(j: int) -> None:
        j = min(max(j, first), last)
        if j not in known:
            known[j] = cost(j)

    step = 1
    while first + step // 2 <= last:
        look_at(first + step // 2)
        step *= 2
    while step >= 1:
        best = min(known, key=known.__getitem__)
        look_at(best - step)
        look_at(best + step)
        step //= 2
    return min(known.values())


def whole_above(x: float) -> int:
    """The least number of samples, one or more, that is x or more; refused where nobody can have so many."""
    if not x <= _LARGEST:
        raise ValueError(f"More than {_LARGEST:.0e} samples are needed; ask for a larger deviation.")
    return max(1, int(np.ceil(x)))


def least_count(holds: Callable[[int], bool], first: int = 1) -> int:
    """The least whole number from `first` on where a condition holds that stays true from there on."""
    low, high = first - 1, whole_above(first)
    while not holds(high):
        low, high = high, whole_above(2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_root(excess: Callable[[float], float], low: float, high: float) -> float:
    """The least x in [low, high] from which on a falling function is <= 0, or high; it may have jumps."""
    log_low, log_high = np.log(low), np.log(high)
    while log_high - log_low > 1e-11:
        middle = 0.5 * (log_low + log_high)
        log_low, log_high = (log_low, middle) if excess(float(np.exp(middle))) <= 0 else (middle, log_high)
    return float(np.exp(log_high))


def least_along(cost: Callable[[float], float], grid: NDArray[np.float64]) -> tuple[float, float]:
    """The least cost found on a grid and between its neighbours there, and where; costs may be infinite."""
    values = [cost(float(x)) for x in grid]
    best = int(np.argmin(values))
    around = [i for i in (best - 1, best, best + 1) if 0 <= i < len(grid) and np.isfinite(values[i])]
    here = (values[best], float(grid[best]))
    if len(around) < 2:
        return here
    ends = (float(grid[around[0]]), float(grid[around[-1]]))
    found = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-8})
    return min((float(found.fun), float(found.x)), here)
