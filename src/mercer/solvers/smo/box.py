"""The dual variables of losses made of straight lines and parabolas: bounds, and what B costs on each side of zero."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram


class Box:
    """Bounds of the signed variables B, and their price Σ C c*(A / C), in a unit: a parabola on each side of zero.

    Attributes
    ----------
    low, high : array of shape (n,)
        Bounds of B, which may be infinite.
    up, down : array of shape (n,)
        Slope of the price at zero, for B > 0 and for B < 0.
    curve_up, curve_down : array of shape (n,)
        Its curvature on these sides.
    """

    def __init__(self, problem: KernelProgram, unit: float = 1.0):
        n = len(problem.y)
        low, high = problem.box()
        zero = np.zeros(n)
        slope = [np.broadcast_to(problem.loss.conjugate_slope(zero, above), n) for above in (True, False)]
        bend = [np.broadcast_to(problem.loss.conjugate_curvature(zero, above), n) for above in (True, False)]
        curve = [bend[0] / problem.C_above, bend[1] / problem.C_below]
        upright = problem.sign > 0
        self.rows = np.stack(
            [
                np.where(upright, low, -high),
                np.where(upright, high, -low),
                np.where(upright, *slope),
                np.where(upright, *slope[::-1]),
                np.where(upright, *curve),
                np.where(upright, *curve[::-1]),
            ]
        )
        self.rows[:4] /= unit
        self.low, self.high, self.up, self.down, self.curve_up, self.curve_down = self.rows

    def restricted_to(self, chosen: Array) -> Array:
        """Low, high, up, down, curve_up, curve_down of some variables, one row for each."""
        return np.ascontiguousarray(self.rows[:, chosen])


def price_of(rows: Array, B: Array) -> float:
    """The price of variables whose box is given by its rows."""
    _, _, up, down, curve_up, curve_down = rows
    above, below = np.maximum(B, 0.0), np.maximum(-B, 0.0)
    total = up @ above + down @ below
    return float(total + 0.5 * (curve_up @ above**2 + curve_down @ below**2))
