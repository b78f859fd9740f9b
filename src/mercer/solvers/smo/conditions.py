"""How far the variables are from the optimality conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.solvers.smo.gradient import Gradient
from mercer.solvers.smo.stages import Stage
from mercer.solvers.smo.sums import Sums


class Conditions:
    """The optimality conditions of a stage: what each variable wants, and the multipliers of the sums.

    Attributes
    ----------
    rising, falling : array of shape (n,)
        Derivatives of the dual objective where a variable rises and where it falls; infinite at its bounds.
    n_sums : int
        How many sums the next block has to keep.
    violation : float
        The largest violation.
    bar : pair
        Variables want to rise whose derivative is below the first, and to fall if it is above the second: numbers, or
        one for each variable.
    multipliers : array of shape (2,)
        Those of both sums that make the primal value least.
    """

    n_sums: int
    violation: float
    bar: tuple[Any, Any]
    multipliers: Array

    def __init__(self, sums: Sums, n: int):
        self._sums = sums
        self.rising, self.falling = np.empty(n), np.empty(n)

    def look(self, gradient: Gradient, stage: Stage) -> None:
        """Derivatives, violation and multipliers where the variables are now."""
        from mercer.solvers.smo.look_numba import derivatives

        extremes = derivatives(gradient.B, gradient.g, stage.box.rows, self.rising, self.falling)
        self._find_violation(gradient.B, stage.totals, extremes)
        self.multipliers = self._best_multipliers(gradient.g, stage, extremes)

    def _find_violation(self, B: Array, totals: Array, extremes: tuple[float, ...]) -> None:
        least_above, most_above, least_below, most_below = extremes
        lowest, highest = min(least_above, least_below), max(most_above, most_below)
        of_signs = max(most_above - least_above, most_below - least_below)
        towards_zero = most_above - least_below  # always allowed, as Σ|B| falls
        sums, self.n_sums = self._sums, self._sums.n
        self.violation = of_signs if sums.n == 2 else highest - lowest if sums.n else max(highest, -lowest)
        if sums.at_most and not sums.are_reached(B, totals):
            self.n_sums, self.violation = 1, highest - lowest
        elif sums.at_most and towards_zero > of_signs:
            self.n_sums, self.violation = 1, towards_zero
        self.bar = (highest, lowest) if self.n_sums else (0.0, 0.0)
        if self.n_sums == 2:
            above = np.where(B >= 0, most_above, most_below)
            self.bar = above, np.where(B > 0, least_above, least_below)

    def _best_multipliers(self, g: Array, stage: Stage, extremes: tuple[float, ...]) -> Array:
        """They lie between what the variables want."""
        if not self._sums.n:
            return np.zeros(2)
        from mercer.solvers.smo.look_numba import best_multiplier, best_multipliers

        joint = _finite(min(extremes[0::2]), max(extremes[1::2]))
        if self._sums.n == 2:
            ends = [_finite(*extremes[:2]), _finite(*extremes[2:])] if self.n_sums == 2 else [joint, joint]
            low, high = np.min(ends, axis=1), np.max(ends, axis=1)
            above, below = best_multipliers(g, stage.box.rows, stage.totals, low, high)
            if above <= below or not self._sums.at_most:
                return np.array([above, below])
        multiplier = best_multiplier(g, stage.box.rows, stage.totals.sum(), min(joint), max(joint))
        return np.full(2, multiplier)


def _finite(lowest: float, highest: float) -> tuple[float, float]:
    """Two ends of an interval, or one of them twice if the other is infinite."""
    return (lowest if np.isfinite(lowest) else highest), (highest if np.isfinite(highest) else lowest)
