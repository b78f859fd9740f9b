"""Which variables of a block are free at its optimum, by Newton steps: what pairs would need thousands of steps for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.kernels.blas import single_threaded_blas

Array = NDArray[Any]

_MAX_GUESSES = 10
# With more wrong guesses than this share of the free variables, steps on pairs come closer at less cost.
_WRONG = 0.25
# What a multiplication of a factorisation costs, where one of a sweep costs one: they come in large products.
_COST = 0.01


def cost_of_active_set(B: Array, box: Array) -> int:
    """What one guess costs, in updates of one derivative by a step on a pair."""
    return int(_COST * (len(B) - np.count_nonzero(_fixed(B, box))) ** 3)


def solve_by_active_set(
    K: Array, g: Array, B: Array, box: Array, *, paired: bool, slack: float, precision: float
) -> bool:
    """Go to the minimum over a block if it is near: guess the free variables, solve for them, guess again.

    The primal-dual active set method [Hintermueller2002]_. Free variables that leave their piece of the price are fixed
    where they left it, fixed ones that want to move by more than `slack` become free; once no guess is wrong, the block
    is solved. Changes g = KB - y and B in place, or nothing if that does not happen; returns whether it did. The
    entries of K are right up to `precision`, or to that of their type. See `descend` for the other arguments.
    """
    low, high, up, down, curve_up, curve_down = box
    split, fixed = _split(box), _fixed(B, box)
    above, at = B > 0, B.copy()
    for _ in range(_MAX_GUESSES):
        free = np.flatnonzero(~fixed)
        if len(free) < 2:
            return False
        change = np.where(fixed, at - B, 0.0)
        slope = g + K @ change.astype(K.dtype) if change.any() else g
        curve = np.where(above, curve_up, curve_down)[free]
        wanted = slope[free] + np.where(above, up, -down)[free] + curve * B[free]
        step = _newton_step(K, free, wanted, curve, -change.sum() if paired else None, precision)
        if step is None:
            return False
        change[free], offset = step
        slope = g + K @ change.astype(K.dtype)
        reached = B + change
        over = ~fixed & (reached > np.where(split & ~above, 0.0, high))
        under = ~fixed & (reached < np.where(split & above, 0.0, low))
        right = slope + np.where(at >= 0, up + curve_up * at, curve_down * at - down)
        left = slope + np.where(at > 0, up + curve_up * at, curve_down * at - down)
        rises = fixed & (at < high) & (right < offset - slack)
        falls = fixed & (at > low) & (left > offset + slack)
        n_wrong = np.count_nonzero(over | under | rises | falls)
        if n_wrong == 0:
            B[:], g[:] = reached, slope
            return True
        if n_wrong > _WRONG * len(free):
            return False
        at = np.where(over, np.where(split & ~above, 0.0, high), np.where(under, np.where(split & above, 0.0, low), at))
        above = np.where(rises, at >= 0, np.where(falls, at > 0, above))
        fixed = (fixed | over | under) & ~rises & ~falls
    return False


def _split(box: Array) -> Array:
    """Whether the price of a variable is another function below zero than above."""
    _, _, up, down, curve_up, curve_down = box
    return np.asarray((up + down > 0) | (curve_up != curve_down))


def _fixed(B: Array, box: Array) -> Array:
    """Whether a variable is where its price changes."""
    return np.asarray((box[0] >= B) | (box[1] <= B) | (_split(box) & (B == 0)))


def _newton_step(
    K: Array, free: Array, slope: Array, curve: Array, total: float | None, precision: float
) -> tuple[Array, float] | None:
    """The change of the free variables, with a given sum if there is one, and its multiplier; None if it is not known.

    In the precision of K: what is added to its diagonal makes it positive in spite of rounding.
    """
    precision = max(precision, float(np.finfo(K.dtype).eps))
    dtype: Any = np.float32 if precision >= np.finfo(np.float32).eps else np.float64
    matrix = np.take(K[free], free, axis=1).astype(dtype, copy=False)
    rounding = 8.0 * np.sqrt(len(free)) * precision
    matrix[np.diag_indices(len(free))] += (curve + rounding * matrix.diagonal()).astype(dtype)
    right_sides = np.stack([-slope, np.ones(len(free))], axis=1).astype(dtype)
    with single_threaded_blas:  # a second thread gains little here, and waits long where cores are busy
        try:
            factor = cho_factor(matrix.T, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        step, ones = cho_solve(factor, right_sides, check_finite=False).T.astype(np.float64)
    offset = 0.0 if total is None else float((total - step.sum()) / ones.sum())
    step += offset * ones
    return (step, offset) if np.isfinite(step).all() else None
