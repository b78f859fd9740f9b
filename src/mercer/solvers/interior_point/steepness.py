"""Bounds that every solution keeps, for losses whose conjugate has none but rises like a wall."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram
from mercer.solvers.interior_point.variables import Sides

# A conjugate that rises faster than this power, that of |r|^p with p < 1.25, is a wall to a Newton step.
_STEEP = 5.0
_MAX_STEPS = 1000


def with_bounds_where_steep(problem: KernelProgram) -> Sides:
    """The two sides, with upper bounds of α in place of infinite ones where the conjugate is steep.

    No residual of the solution costs more than all those of the parametric fit together, C c(r) <= P, and α = C c'(r)
    grows with the residual. A step towards a bound ends there. A step towards a wall must be halved again and again:
    the tangent in front of it is flat, and knows nothing of it.
    """
    sides = Sides(problem)
    endless = np.isposinf(sides.upper)
    unpriced = ~sides.penalised
    if not endless.any() or np.any(problem.target):  # a target can make a cost below that of the residuals
        return sides
    d = np.zeros(len(unpriced))
    d[unpriced] = np.linalg.lstsq(problem.columns[:, unpriced], problem.y, rcond=None)[0]
    nothing = np.zeros(len(problem.y))
    total = 1.1 * problem.primal(nothing, d, nothing)
    if not 0.0 < total < np.inf:
        return sides
    typical = float(np.mean(np.abs(problem.y - problem.columns @ d))) or 1.0
    residual = np.where(sides.sign * problem.sign > 0, typical, -typical)
    for _ in range(_MAX_STEPS):
        cheap = endless & (sides.C * _on_rows(problem.loss.value, residual) < total)
        if not cheap.any():
            break
        residual[cheap] *= 1.2
    else:
        return sides
    alpha = sides.C * np.abs(_on_rows(problem.loss.derivative, residual))
    rise = sides.slope(alpha) - sides.slope(np.zeros_like(alpha))
    steep = endless & (alpha * sides.curvature(alpha) > (_STEEP - 1.0) * rise)
    return Sides(problem, np.where(steep, alpha, sides.upper)) if steep.any() else sides


def _on_rows(function: Any, rows: Array) -> Array:
    """Losses take one number for each sample."""
    return np.stack([function(row) for row in rows])
