"""Targets of the complementarity products, and how far to go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.solvers.interior_point.variables import Sides, Variables

_MAX_HALVINGS = 30


@dataclass(frozen=True)
class Targets:
    """By how much each product of slack and multiplier should change."""

    z: Array
    s: Array
    w_low: Array
    w_high: Array
    tube: Array

    @classmethod
    def predictor(cls, v: Variables, sides: Sides) -> Targets:
        """All products to zero."""
        return cls.corrector(v, sides, None, 0.0, 0.0)

    @classmethod
    def corrector(cls, v: Variables, sides: Sides, predictor: Variables | None, mu: float, share: float) -> Targets:
        """All products to mu, minus a share of the second-order term that the predictor found.

        Where the predictor could go only a short way, the term is that of a step which will never be made: taken in
        full it may send the method round in circles [Colombo2008]_.
        """
        z = mu - v.alpha * v.z
        s = mu - v.room * v.s
        w_low = mu - (sides.bounds + v.w) * v.w_low
        w_high = mu - (sides.bounds - v.w) * v.w_high
        tube = mu - v.left_over(sides) * v.tube
        if predictor is not None:
            z -= share * predictor.alpha * predictor.z
            s -= share * predictor.room * predictor.s
            w_low -= share * predictor.w * predictor.w_low
            w_high += share * predictor.w * predictor.w_high
            tube += share * predictor.alpha.sum() * predictor.tube
        return cls(z, s, w_low, w_high, tube)


def largest_step(v: Variables, direction: Variables, sides: Sides) -> float:
    """Length of the step that first leaves the box."""
    p, budget = sides.penalised, np.ones(len(sides.budget), dtype=bool)
    return min(
        _to_zero(v.left_over(sides), np.full(len(sides.budget), -direction.alpha.sum()), budget),
        _to_zero(v.tube, direction.tube, budget),
        _to_zero(v.alpha, direction.alpha, sides.exists),
        _to_zero(v.z, direction.z, sides.exists),
        _to_zero(v.room, direction.room, sides.bounded),
        _to_zero(v.s, direction.s, sides.bounded),
        _to_zero(sides.bounds + v.w, direction.w, p),
        _to_zero(v.w_low, direction.w_low, p),
        _to_zero(sides.bounds - v.w, -direction.w, p),
        _to_zero(v.w_high, direction.w_high, p),
    )


def _to_zero(values: Array, change: Array, where: Array) -> float:
    shrinks = where & (change < 0)
    return float(np.min(-values[shrinks] / change[shrinks], initial=np.inf))


def move(v: Variables, direction: Variables, sides: Sides, closeness: float, tolerated: float) -> Variables:
    """Go almost to the boundary, the nearer the closer the solution is, by its complementarity in units of its value.

    Where the slope of the conjugate is far from linear, the step is halved until what Newton's method neglects of it is
    at most `tolerated`.
    """
    share = max(0.99, 1.0 - closeness)
    length = min(1.0, share * largest_step(v, direction, sides))
    slope, curvature = sides.slope(v.alpha), sides.curvature(v.alpha)
    for _ in range(_MAX_HALVINGS):
        change = length * direction.alpha
        neglected = sides.slope(v.alpha + change) - slope - curvature * change
        if np.max(np.abs(neglected[sides.exists]), initial=0.0) <= tolerated:
            break
        length /= 2
    return v.moved(direction, length)
