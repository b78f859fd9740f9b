"""From the interior to the boundary: variables that would be zero at the solution are made so."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram
from mercer.solvers.balance import balanced
from mercer.solvers.interior_point.variables import Sides, Variables


def rounded_to_boundary(problem: KernelProgram, sides: Sides, v: Variables) -> tuple[Array, Array]:
    """B and d with exact zeros where the multiplier says that the solution has one.

    Of a variable and its multiplier one vanishes at the solution: a variable that is smaller than its multiplier, each
    in units of its own mean, is taken for zero. What the columns then miss of columnsᵀB = target is made up by the
    variables that are left.
    """
    on_support = np.any(sides.exists & ~_vanishes(v.alpha, v.z, sides.exists), axis=0)
    B = np.where(on_support, np.sum(sides.sign * v.alpha, axis=0), 0.0)
    d = np.where(_vanishes(np.abs(v.d), sides.bounds - np.abs(v.w), sides.penalised), 0.0, v.d)
    return balanced(problem, B), d


def _vanishes(values: Array, partners: Array, where: Array) -> Array:
    """Where a value is smaller than its partner, each in units of its mean."""
    if not where.any():
        return where
    return where & (values * np.mean(partners[where]) < partners * np.mean(values[where]))
