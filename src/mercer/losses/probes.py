"""The residuals and slopes at which `check_loss` looks at a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.losses.normalization import n_samples

_SIZES = np.geomspace(1e-3, 1e3, 73)
_HUGE = 1e100  # values beyond are left out: products of them overflow


@dataclass
class Probes:
    """Residuals r (one column for each sample with parameters of its own), their costs and slopes; duals a."""

    n: int
    per_sample: bool
    r: Array
    c: Array
    slope: Array
    step: Array
    low: Array
    high: Array
    a: Array
    conjugate: Array

    @classmethod
    def of(cls, loss: Any, r: Any) -> Self:
        """Look at a loss at residuals r, by default on a grid, and at the slopes that it has there."""
        samples = n_samples(loss)
        empty = np.empty((0, 1))
        probes = cls(samples or 1, samples is not None, *(empty,) * 8)
        probes.r = _residuals(loss, r, probes.n)
        probes.c = probes.call(loss.value, probes.r)
        moderate = ~np.any(probes.c > _HUGE, axis=1)
        probes.r, probes.c = probes.r[moderate], probes.c[moderate]
        probes.slope = probes.call(loss.derivative, probes.r)
        probes.step = 1e-4 * np.where(probes.r == 0, np.abs(probes.r[probes.r != 0]).min(), np.abs(probes.r))
        probes.low, probes.high = (np.broadcast_to(end, (probes.n,)).astype(float) for end in loss.dual_interval)
        probes.a = np.vstack([np.zeros((1, probes.n)), *(sign * s for s, _, sign in probes.dual_points())])
        probes.conjugate = probes.call(loss.conjugate, probes.a)
        return probes

    def call(self, function: Callable[[Array], Any], x: Array) -> Array:
        """Values of a function of residuals at a table with one column for each sample."""
        if self.per_sample:
            return np.stack([np.asarray(function(row), dtype=np.float64) for row in x])
        return np.asarray(function(x[:, 0]), dtype=np.float64)[:, None]

    def dual_points(self) -> Iterator[tuple[Array, Array, float]]:
        """Points s > 0 such that s (sign 1), or -s (sign -1), is inside the dual interval, and steps around them.

        Where the interval is infinite they run over the slopes that the residuals have, and a little beyond.
        """
        for sign, limit in ((1.0, self.high), (-1.0, -self.low)):
            if not np.all(limit > 0):
                continue
            slopes = np.where(sign * self.slope > 0, sign * self.slope, np.nan)
            known = ~np.all(np.isnan(slopes), axis=0)
            first = np.where(known, np.nanmin(np.where(known, slopes, 1.0), axis=0), 1.0)
            last = np.where(known, np.nanmax(np.where(known, slopes, 1.0), axis=0), 1.0)
            share = np.linspace(0.0, 1.0, 41)[:, None]
            attained = np.exp((1 - share) * np.log(first) + share * np.log(1.1 * last))
            inside = np.where(np.isinf(limit), 1.0, limit) * (0.01 + 0.98 * share)
            s = np.where(np.isinf(limit), attained, inside)
            yield s, 1e-4 * np.minimum(s, np.where(np.isinf(limit), np.inf, limit - s)), sign

    def tangents(self, loss: Any) -> tuple[Array, Array, Array]:
        """Residuals where the loss has the slopes of `dual_points`, by `conjugate_slope`; their costs; the slopes."""
        r, a = [], []
        for s, _, sign in self.dual_points():
            r.append(sign * self.call(partial(loss.conjugate_slope, above=sign > 0), s))
            a.append(sign * s)
        points = np.vstack([*r, self.r[:0]])
        return points, self.call(loss.value, points), np.vstack([*a, self.r[:0]])


def error_of_derivative(function: Callable[[Array], Array], x: Array, step: Array, claimed: Array) -> Array:
    """How far a claimed derivative is from central differences of fourth order, beyond what these can tell.

    Near a kink they are worthless. A kink shows in first differences that change, or in second differences that do
    not grow fourfold, when the step is doubled.
    """
    centre = function(x)
    right, left, far_right, far_left = (function(x + multiple * step) for multiple in (1.0, -1.0, 2.0, -2.0))
    coarse = (right - left) / (2 * step)
    derivative = (8 * (right - left) - (far_right - far_left)) / (12 * step)
    bend, far_bend = right + left - 2 * centre, far_right + far_left - 2 * centre
    doubt = np.abs(derivative - coarse) + np.abs(4 * bend - far_bend) / step
    return np.abs(derivative - claimed) - 4 * doubt


def _residuals(loss: Any, r: Any, n: int) -> Array:
    """A table of increasing residuals with one column for each sample: on both sides of the tube, and in it."""
    below, above = (np.broadcast_to(part, (n,)).astype(float) for part in loss.insensitivity)
    if r is None:
        upper, lower = above + _SIZES[:, None], -below - _SIZES[::-1, None]
        return np.vstack([lower, -below - 1e-5, -below / 2 - 1e-6, np.zeros(n), above / 2 + 1e-6, above + 1e-5, upper])
    given = np.asarray(r, dtype=np.float64)
    if given.ndim != 1 or len(np.unique(given)) < 3 or not np.all(np.isfinite(given)):
        raise ValueError(
            f"r of check_loss must be a list of at least three different finite numbers, got {r!r}; "
            "leave it out for a grid."
        )
    return np.unique(given)[:, None] * np.ones(n)
