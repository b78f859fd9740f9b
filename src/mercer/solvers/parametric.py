"""Programs whose solution is a parametric function that costs nothing."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from mercer.arrays import Array
from mercer.problems import KernelProgram
from mercer.rounding import HOLDS

# By this share the tube is made narrower for HiGHS, which keeps bounds to 1e-7.
_NARROWER = 1e-5
# How often a function that separates classes is doubled, and a margin residual at which losses vanish that do so.
_DOUBLINGS, _FAR = 12, -1e4


def free_fit(problem: KernelProgram) -> Array | None:
    """Coefficients d of the unpenalised columns for which no sample costs anything, so that B = 0 is optimal, or None.

    Interior points and active sets approach such a solution, whose value is zero, only in the limit.
    """
    if np.any(problem.target):
        return None
    nothing = np.zeros(len(problem.y))
    d = problem.parametric_fit
    if abs(problem.iterate(nothing, d, nothing).relative_gap) <= HOLDS:
        return d
    if problem.budget is not None:
        return None
    inside = _in_the_tube(problem)
    if inside is None:
        return None
    # The logistic loss vanishes only in the limit: classes that the columns separate may be ever farther apart.
    for larger in 2.0 ** np.arange(_DOUBLINGS if problem.loss.classification else 1):
        if abs(problem.iterate(nothing, larger * inside, nothing).relative_gap) <= HOLDS:
            return larger * inside
    return None


def _in_the_tube(problem: KernelProgram) -> Array | None:
    """The d for which all residuals are where the loss is flat, if there is one."""
    low, high = _limits(problem)
    unpriced = problem.bounds == 0
    Phi = problem.columns[:, unpriced]
    d = np.zeros(len(unpriced))
    # If even least squares have a larger sum of squares than the tube allows, no d keeps to it.
    left_over, weight = problem.y - problem.columns @ problem.parametric_fit, problem.relative_weights
    allowed = np.maximum(high - problem.y, problem.y - low)
    if not Phi.shape[1] or weight @ left_over**2 > weight @ allowed**2:
        return None
    if Phi.shape[1] == 1 and np.all(Phi == Phi[0]) and Phi[0] != 0:
        d[unpriced] = 0.5 * (low.max() + high.min()) / Phi[0]
        return d
    scale, size = float(np.max(np.abs(problem.y))), np.maximum(np.abs(Phi).max(axis=0), np.finfo(np.float64).tiny)
    narrower = _NARROWER * np.minimum(high - low, scale)
    sides = [(Phi, high - narrower), (-Phi, -low - narrower)]
    kept = [np.isfinite(bound) for _, bound in sides]
    A = np.vstack([matrix[rows] / size for (matrix, _), rows in zip(sides, kept, strict=True)])
    b = np.concatenate([bound[rows] / scale for (_, bound), rows in zip(sides, kept, strict=True)])
    found = linprog(np.zeros(Phi.shape[1]), A_ub=A, b_ub=b, bounds=(None, None), method="highs")
    if found.x is None:
        return None
    d[unpriced] = scale * found.x / size
    return d


def _limits(problem: KernelProgram) -> tuple[Array, Array]:
    """Least and largest values of the function at each row for which the loss is zero."""
    n = len(problem.y)
    below, above = (np.broadcast_to(np.asarray(width, dtype=np.float64), n) for width in problem.loss.insensitivity)
    if problem.loss.classification:
        flat = np.full(n, np.inf) if not np.any(problem.loss.value(np.full(n, _FAR))) else np.zeros(n)
        below = np.maximum(below, flat)
    upright = problem.sign > 0
    return problem.y - np.where(upright, above, below), problem.y + np.where(upright, below, above)
