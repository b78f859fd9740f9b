"""Bounds that ΣB = 0 implies, for weights that differ by orders of magnitude."""

from __future__ import annotations

import numpy as np

from mercer.problems import KernelProgram
from mercer.solvers.interior_point.variables import Sides

# Implied bounds are never reached if they are this many times as wide: their multipliers then vanish.
_SLACK = 2.0


def with_balanced_bounds(problem: KernelProgram, sides: Sides) -> Sides:
    """The two sides, with upper bounds of α lowered to what variables of the other sign can balance.

    With a free constant, all α that raise B together are at most the sum of the bounds of those that lower it. Boxes
    that are wider by orders of magnitude, such as those of a class with a large weight, would set the scale of the
    central path, and the small ones would be lost in it.
    """
    constant = np.any(np.all(problem.columns[:, ~sides.penalised] == 1.0, axis=0))
    if not constant or np.any(problem.target):
        return sides
    raises = sides.sign > 0
    total_up, total_down = (float(sides.upper[side].sum()) for side in (raises, ~raises))
    implied = _SLACK * np.where(raises, total_down, total_up)
    return Sides(problem, np.minimum(implied, sides.upper)) if np.any(implied < sides.upper) else sides
