"""A Newton step on the free variables of a block: what pairs of variables would need thousands of steps for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Array = NDArray[Any]


def newton_step(K: Array, g: Array, B: Array, box: Array, *, paired: bool) -> bool:
    """Go towards the minimum over the variables inside their piece of the price, until one of them leaves its piece.

    Changes g = KB - y and B in place. Returns whether the minimum was reached. See `descend` for the arguments.
    """
    low, high, up, down, curve_up, curve_down = box
    above, kink = B > 0, up + down > 0
    inside = (low < B) & (high > B)
    free = np.flatnonzero(inside & ~(kink & (B == 0)))
    if len(free) < 2:
        return False
    curve = np.where(above, curve_up, curve_down)[free]
    slope = g[free] + np.where(above, up, -down)[free] + curve * B[free]
    matrix = K[np.ix_(free, free)]
    precision = len(free) * float(np.finfo(K.dtype).eps)
    matrix[np.diag_indices(len(free))] += curve + precision * matrix.diagonal()
    try:
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    step = -cho_solve(factor, slope, check_finite=False)
    if paired:
        ones = cho_solve(factor, np.ones_like(slope), check_finite=False)
        step -= ones * (step.sum() / ones.sum())
    step = step.astype(np.float64)
    b, kink = B[free], kink[free]
    end = np.where(step > 0, np.where(kink & (b < 0), 0.0, high[free]), np.where(kink & (b > 0), 0.0, low[free]))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step != 0, (end - b) / step, np.inf)
    length = min(1.0, float(reach.min()))
    if not np.isfinite(step).all() or length <= 0:
        return False
    moved = np.where(reach <= length, end, b + length * step)
    g += K[:, free] @ (moved - b).astype(K.dtype)
    B[free] = moved
    return length == 1.0
