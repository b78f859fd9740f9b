"""Which variables of a block are free at its optimum, by Newton steps: what pairs would need thousands of steps for."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.tuning import TUNING, Tuning


def n_free(B: Array, box: Array, n_sums: int) -> int:
    """How many variables are not where their price, or the sum that they belong to, changes."""
    return len(B) - int(np.count_nonzero(_fixed(B, box, _split(box, n_sums))))


def cost_of_guess(n_free: int, tuning: Tuning) -> int:
    """What one guess costs, in updates of one derivative by a step on a pair."""
    return int(tuning.cost * n_free**3)


def solve_by_active_set(
    K: Array,
    g: Array,
    B: Array,
    box: Array,
    *,
    n_sums: int,
    slack: float,
    system: FreeSystem,
    tuning: Tuning = TUNING,
) -> bool:
    """Go to the minimum over a block if it is near: guess the free variables, solve for them, guess again.

    The primal-dual active set method [Hintermueller2002]_. Free variables that leave their piece of the price are fixed
    where they left it, fixed ones that want to move by more than `slack` become free; once no guess is wrong, the block
    is solved. Changes g = KB - y and B in place, or nothing if that does not happen; returns whether it did. See
    `descend` for the arguments; `system` solves for the steps.
    """
    low, high, up, down, curve_up, curve_down = box
    split = _split(box, n_sums)
    fixed = _fixed(B, box, split)
    above, at = B > 0, B.copy()
    sums = _groups(above, n_sums) @ B
    system.enter(K)
    for _ in range(tuning.n_guesses):
        free = np.flatnonzero(~fixed)
        if len(free) < 2:
            return False
        change = np.where(fixed, at - B, 0.0)
        moved = np.flatnonzero(change)  # few
        slope = g + change[moved].astype(K.dtype) @ K[moved] if len(moved) else g
        curve = np.where(above, curve_up, curve_down)
        wanted = slope + np.where(above, up, -down) + curve * B
        groups = _groups(np.where(fixed, at > 0, above), n_sums)
        step = system.step(free, curve, wanted, groups, sums - groups @ np.where(fixed, at, B))
        if step is None:
            return False
        change[free], offsets = step
        of_rising, of_falling = (offsets @ _groups(side, n_sums) for side in (at >= 0, at > 0))
        slope = g + K @ change.astype(K.dtype)
        reached = B + change
        over = ~fixed & (reached > np.where(split & ~above, 0.0, high))
        under = ~fixed & (reached < np.where(split & above, 0.0, low))
        right = slope + np.where(at >= 0, up + curve_up * at, curve_down * at - down)
        left = slope + np.where(at > 0, up + curve_up * at, curve_down * at - down)
        rises = fixed & (at < high) & (right < of_rising - slack)
        falls = fixed & (at > low) & (left > of_falling + slack)
        n_wrong = np.count_nonzero(over | under | rises | falls)
        if n_wrong == 0:
            B[:], g[:] = reached, slope
            return True
        if n_wrong > tuning.wrong * len(free):
            return False
        at = np.where(over, np.where(split & ~above, 0.0, high), np.where(under, np.where(split & above, 0.0, low), at))
        above = np.where(rises, at >= 0, np.where(falls, at > 0, above))
        fixed = (fixed | over | under) & ~rises & ~falls
    return False


def _groups(above: Array, n_sums: int) -> Array:
    """Which variables each sum is of, one row for each: all of them, or those above zero and the others."""
    rows = [above, ~above] if n_sums == 2 else [np.ones(len(above))] * n_sums
    return np.array(rows, dtype=np.float64).reshape(n_sums, len(above))


def _split(box: Array, n_sums: int) -> Array:
    """Whether the price of a variable, or the sum that it belongs to, is another one below zero than above."""
    _, _, up, down, curve_up, curve_down = box
    return np.asarray((up + down > 0) | (curve_up != curve_down) | (n_sums == 2))


def _fixed(B: Array, box: Array, split: Array) -> Array:
    """Whether a variable is at a bound, or at zero if it is split there."""
    return np.asarray((box[0] >= B) | (box[1] <= B) | (split & (B == 0)))
