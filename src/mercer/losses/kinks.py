"""Losses with several kinks on one side of zero, which no solver takes: they need a dual variable for each kink."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.losses.base import Loss
from mercer.losses.normalization import n_samples

# Points on each side of the dual interval, halvings of the intervals between them, and fractions of the slope that a
# jump has at least.
_N_POINTS, _HALVINGS, _JUMP = 33, 40, 1e-6


def jump_of_conjugate(loss: Loss) -> float | None:
    """A point inside the dual interval at which the slope of the conjugate jumps, if there is one.

    c* has a kink where c is a straight line between two kinks of its own. Zero, where the tube ends, does not count. Of
    losses with parameters for each sample, the first and the last sample are examined.
    """
    n = n_samples(loss)
    for sample in (0,) if n is None else (0, -1):
        for above in (True, False):
            where = _jump_on_side(loss, above, n, sample)
            if where is not None:
                return where if above else -where
    return None


def _jump_on_side(loss: Loss, above: bool, n: int | None, sample: int) -> float | None:
    """Where s -> c*(±s) jumps: intervals in which its slope rises by more than its curvature tells are halved."""
    end = np.abs(np.ravel(loss.dual_interval[1 if above else 0])[sample])
    if not end > 0:
        return None
    share = np.linspace(0.0, 1.0, _N_POINTS)
    points = end * (0.01 + 0.98 * share) if np.isfinite(end) else 10.0 ** (6.0 * share - 3.0)
    left, right = points[:-1], points[1:]

    def of(function: Any, s: Array) -> Array:
        if n is None:
            return np.broadcast_to(function(s, above), s.shape)
        return np.array([np.broadcast_to(function(np.full(n, value), above), n)[sample] for value in s])

    def rise(s: Array, t: Array) -> Array:
        return of(loss.conjugate_slope, t) - of(loss.conjugate_slope, s)

    with np.errstate(all="ignore"):
        size = np.abs(of(loss.conjugate_slope, points)).max()
        for _ in range(_HALVINGS):
            steepest = np.maximum(of(loss.conjugate_curvature, left), of(loss.conjugate_curvature, right))
            jumps = rise(left, right) > _JUMP * size + 2.0 * steepest * (right - left)
            left, right = left[jumps][:4], right[jumps][:4]
            if not len(left):
                return None
            middle = 0.5 * (left + right)
            first = rise(left, middle) > 0.5 * rise(left, right)
            left, right = np.where(first, left, middle), np.where(first, middle, right)
    return float(right[0])
