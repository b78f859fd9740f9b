"""Units of latent coordinates: widths of the density kernel inside, period 2 on circles outside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Array


@dataclass(frozen=True)
class LatentUnits:
    """Lines and circles, whose periods are in widths of the kernel.

    The latent domain is no box but where latent points are dense, and its natural unit is the width of the kernel:
    lines have it outside as well. Circles have period 2 there, as in all latent spaces of Mercer.

    Parameters
    ----------
    periods : array of shape (q,)
        Infinite for lines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.units import LatentUnits
    >>> units = LatentUnits(np.array([np.inf, 10.0]))
    >>> units.outside([[3.0, 7.5]]), units.inside([[3.0, -0.5]])
    (array([[ 3. , -0.5]]), array([[ 3. , -2.5]]))
    """

    periods: Array

    def __getstate__(self) -> dict[str, Any]:
        """The periods, from which all else is found again."""
        return {"periods": self.periods}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self)["periods"] = state["periods"]

    @cached_property
    def is_circle(self) -> Array:
        """For each coordinate, whether it is a circle."""
        return np.isfinite(self.periods)

    @cached_property
    def _factors(self) -> Array:
        return np.where(self.is_circle, self.periods / 2.0, 1.0)

    def inside(self, Z: Any) -> Array:
        """Points in widths of the kernel."""
        return np.asarray(Z, dtype=np.float64) * self._factors

    def outside(self, Z: Any) -> Array:
        """Points as users see them: those on circles wrapped to [-1, 1)."""
        Z = np.asarray(Z, dtype=np.float64) / self._factors
        wrapped = (Z + 1.0) % 2.0 - 1.0
        return np.where(self.is_circle, np.where(wrapped >= 1.0, -1.0, wrapped), Z)

    def shortest(self, ways: Array) -> Array:
        """Differences of points in widths, the short way around circles."""
        periods = np.where(self.is_circle, self.periods, 1.0)
        return np.where(self.is_circle, ways - periods * np.round(ways / periods), ways)

    def unrolled(self, Z: Array) -> Array:
        """Points (M, Q) of a Euclidean space, in which circles are circles: of radius P / 2π for the period P."""
        if not self.is_circle.any():
            return Z
        columns = []
        for z, period, circle in zip(Z.T, self.periods, self.is_circle, strict=True):
            radius = period / (2 * np.pi)
            columns += [radius * np.cos(z / radius), radius * np.sin(z / radius)] if circle else [z]
        return np.column_stack(columns)

    def along(self, Z: Array, gradient: Array) -> Array:
        """Derivatives (M, q) by Z from those by the unrolled points (M, Q)."""
        if not self.is_circle.any():
            return gradient
        result, c = np.empty(Z.shape), 0
        for a, period in enumerate(self.periods):
            result[:, a] = gradient[:, c]
            if self.is_circle[a]:
                angle = Z[:, a] / (period / (2 * np.pi))
                result[:, a] = gradient[:, c + 1] * np.cos(angle) - gradient[:, c] * np.sin(angle)
                c += 1
            c += 1
        return result
