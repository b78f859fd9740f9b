"""How far a point is from satisfying the optimality conditions."""

from __future__ import annotations

import numpy as np

from mercer.problems import KernelProgram
from mercer.rounding import HOLDS
from mercer.solvers.interior_point.variables import Sides, Variables


class Residuals:
    """Values and residuals at a point.

    Attributes
    ----------
    B : array
        Signed dual variables.
    stationarity : array of shape (2, n)
        Minus the derivative of the Lagrangian with respect to α.
    tolerated : float
        Size of the terms of the stationarity condition: errors of a step beyond it do harm.
    columns : array
        What is missing in columnsᵀB - target - w = 0.
    penalty : array
        Minus the derivative of the Lagrangian with respect to w.
    iterate : Iterate
        Values of the two programs.
    """

    def __init__(self, problem: KernelProgram, sides: Sides, v: Variables):
        self.B = np.sum(sides.sign * v.alpha, axis=0)
        gram_B = problem.times_gram(self.B)
        gradient = sides.sign * (gram_B + problem.columns @ v.d - problem.y) + sides.slope(v.alpha)
        self.stationarity = np.where(sides.exists, v.z - v.s - gradient - v.tube.sum(), 0.0)
        force = np.abs(gradient[sides.exists])
        self.tolerated = float(np.mean(force) + np.max(np.abs(self.stationarity))) if force.size else 0.0
        self.columns = v.w - problem.balance(self.B)
        self.penalty = np.where(sides.penalised, v.d + v.w_low - v.w_high, 0.0)
        self.iterate = problem.iterate(self.B, v.d, gram_B)
        self.infeasibility = problem.column_violation(self.B)

    @property
    def merit(self) -> float:
        """What is kept small: the gap, and the violation of the constraints on the columns."""
        return max(abs(self.iterate.relative_gap), self.infeasibility)

    def converged(self, tol: float) -> bool:
        """Whether gap and infeasibility are below the tolerance."""
        return abs(self.iterate.relative_gap) <= tol and self.infeasibility <= min(tol, HOLDS)
