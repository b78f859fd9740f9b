"""Where to start: from the ridge solution, pulled inside the box."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram
from mercer.solvers.interior_point.kkt import KKTSystem
from mercer.solvers.interior_point.variables import Sides, Variables

# Shares of the typical size that keep the start away from the boundary; from trials over widths .25 to 3, C 1 to 1e4.
_ALPHA_MARGIN = 0.1
_MULTIPLIER_MARGIN = 0.5
_BOX_MARGIN = 0.1
# Share of the slope outside the tube that is taken for one inside of it.
_LEAST_SLOPE = 1e-3


def starting_point(
    problem: KernelProgram, sides: Sides, system: KKTSystem, start: tuple[Array, Array] | None
) -> Variables:
    """A point strictly inside the box, near the solution for a quadratic loss (or near a given one).

    At the typical residual r of the parametric fit, the loss acts like a quadratic one with the ridge r / (C c'(r)).
    """
    B, d = start if start is not None else _ridge_solution(problem, sides, system)
    A = problem.sign * B
    # Constant targets leave nothing to the kernel: a share of C then tells the size of things.
    typical = max(float(np.mean(np.abs(A))), 1e-6 * float(np.mean(sides.C * _typical_slope(problem)[1])))
    alpha = np.stack([np.maximum(A, 0.0), np.maximum(-A, 0.0)]) + _ALPHA_MARGIN * typical
    with np.errstate(invalid="ignore"):
        alpha = np.where(sides.bounded, np.minimum(alpha, (1 - _BOX_MARGIN) * sides.upper), alpha)
    alpha = np.where(sides.exists, alpha, 0.0)
    if len(sides.budget):
        alpha *= min(1.0, float((1 - _BOX_MARGIN) * sides.budget[0] / alpha.sum()))
    fitted = problem.fitted(B, d)
    tube = np.full(len(sides.budget), float(np.mean(np.abs(problem.y - fitted))) or 1.0)
    force = sides.sign * (fitted - problem.y) + sides.slope(alpha) + tube.sum()
    margin = _MULTIPLIER_MARGIN * (float(np.mean(np.abs(force[sides.exists]))) or 1.0)
    if start is not None:
        # At a solution all forces vanish, but not the gap of the point that was pulled inside: multipliers carry it.
        pulled = np.sum(sides.sign * alpha, axis=0)
        gap = abs(problem.iterate(pulled, d).gap)
        margin = max(margin, gap / float(alpha.sum())) if np.isfinite(gap) else margin
    z = np.where(sides.exists, np.maximum(force, 0.0) + margin, 0.0)
    s = np.where(sides.bounded, np.maximum(-force, 0.0) + margin, 0.0)
    p = sides.penalised
    widest = (1 - _BOX_MARGIN) * sides.bounds
    w = np.where(p, np.clip(problem.balance(B), -widest, widest), 0.0)
    size = _MULTIPLIER_MARGIN * (float(np.mean(np.abs(d[p]))) or 1.0) if p.any() else 0.0
    w_low = np.where(p, np.maximum(-d, 0.0) + size, 0.0)
    w_high = np.where(p, np.maximum(d, 0.0) + size, 0.0)
    room = np.where(sides.bounded, sides.upper - alpha, 1.0)
    return Variables(alpha, room, z, s, d, w, w_low, w_high, tube)


def _typical_slope(problem: KernelProgram) -> tuple[float, Array]:
    """The typical residual of the parametric fit, and the slopes of the loss there; a thousandth outside the tube."""
    residual, weight = problem.y - problem.columns @ problem.parametric_fit, problem.relative_weights
    typical = float(weight @ np.abs(residual) / weight.sum()) or 1.0
    widest = max(float(np.max(width)) for width in problem.loss.insensitivity)
    inside, outside = (
        np.abs(problem.loss.derivative(np.full(len(problem.y), size))) for size in (typical, 2 * (typical + widest))
    )
    return typical, np.maximum(inside, _LEAST_SLOPE * outside)


def _ridge_solution(problem: KernelProgram, sides: Sides, system: KKTSystem) -> tuple[Array, Array]:
    typical, slope = _typical_slope(problem)
    ridge = typical / (np.maximum(problem.C_above, problem.C_below) * slope)
    stiffness = np.where(sides.penalised, typical / np.where(sides.penalised, sides.bounds, 1.0), np.inf)
    system.factor_with(ridge, problem.columns, stiffness)
    return system.solve_with(problem.y, np.zeros(problem.columns.shape[1]) + problem.target)
