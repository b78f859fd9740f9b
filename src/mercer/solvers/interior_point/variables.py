"""The variables of the method and the boxes in which they live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram


class Sides:
    """The two dual variables of each sample: row 0 for residuals above zero, row 1 for those below.

    Their upper bounds are those of the program, or given.

    Attributes
    ----------
    sign : array of shape (2, n)
        B = Σ over rows of sign α.
    upper : array of shape (2, n)
        Upper bounds of α, which may be infinite.
    exists : array of bool
        Whether the loss has this side at all.
    bounded : array of bool
        Whether the upper bound is finite.
    penalised : array of bool, shape (n_columns,)
        Columns whose coefficient has a price: w = columnsᵀB - target lives in [-bounds, bounds]; for the others it is
        zero.
    sparse : bool
        Whether solutions have exact zeros: the loss has a flat zone, or columns have a price.
    budget : array of length 1 or 0
        Upper bound of Σα, if there is one; its multiplier is the width of the tube.
    """

    def __init__(self, problem: KernelProgram, upper: Array | None = None):
        self.loss = problem.loss
        self.C = np.stack([problem.C_above, problem.C_below])
        low, high = problem.box()
        self.upper = np.stack([high, -low]) if upper is None else upper
        self.sign = np.stack([problem.sign, -problem.sign])
        self.exists = self.upper > 0
        self.bounded = self.exists & np.isfinite(self.upper)
        self.bounds = problem.bounds
        self.penalised = problem.bounds > 0
        # A flat zone of the loss: of a finite width, or, for margin losses, all that lies far below zero.
        flat = any(np.any(np.asarray(width) > 0) for width in problem.loss.insensitivity)
        flat = flat or not np.any(problem.loss.derivative(np.full(len(problem.y), -30.0)))
        self.sparse = bool(flat or self.penalised.any() or problem.budget is not None)
        self.budget = np.empty(0) if problem.budget is None else np.array([problem.budget])
        self.n_pairs = int(self.exists.sum() + self.bounded.sum() + 2 * self.penalised.sum() + len(self.budget))

    def slope(self, alpha: Array) -> Array:
        """Derivative of C c*(α / C) on both sides."""
        return self._of_sides(alpha, self.loss.conjugate_slope)

    def curvature(self, alpha: Array) -> Array:
        """Second derivative of C c*(α / C) on both sides."""
        return self._of_sides(alpha, self.loss.conjugate_curvature) / self.C

    def _of_sides(self, alpha: Array, function: Any) -> Array:
        # A side that does not exist is evaluated somewhere harmless and set to zero.
        s = np.where(self.exists, np.minimum(alpha, self.upper), 0.5 * self.C) / self.C
        values = np.stack([np.broadcast_to(function(s[row], row == 0), s[row].shape) for row in (0, 1)])
        return np.where(self.exists, values, 0.0)


@dataclass(frozen=True)
class Variables:
    """A point strictly inside all boxes.

    α >= 0 has the multiplier z, room = upper - α >= 0 the multiplier s. room is 1 where there is no upper bound, and a
    variable of its own, since the difference would lose its digits near the bound. d are the coefficients of the
    columns; w = columnsᵀB - target has the multipliers w_low and w_high of its two bounds; Σα <= budget has the
    multiplier tube (empty without a budget).
    """

    alpha: Array
    room: Array
    z: Array
    s: Array
    d: Array
    w: Array
    w_low: Array
    w_high: Array
    tube: Array

    def left_over(self, sides: Sides) -> Array:
        """What is left of the budget."""
        return sides.budget - self.alpha.sum()

    def complementarity(self, sides: Sides) -> float:
        """Mean product of slacks and multipliers."""
        p = sides.penalised
        total = np.sum(self.alpha * self.z) + np.sum((self.room * self.s)[sides.bounded])
        total += np.sum(((sides.bounds + self.w) * self.w_low)[p]) + np.sum(((sides.bounds - self.w) * self.w_high)[p])
        total += np.sum(self.left_over(sides) * self.tube)
        return float(total) / max(1, sides.n_pairs)

    def moved(self, direction: Variables, length: float) -> Variables:
        """The point reached by a step."""
        return Variables(*(getattr(self, n) + length * getattr(direction, n) for n in self.__dataclass_fields__))
