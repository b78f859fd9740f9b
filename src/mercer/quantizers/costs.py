"""What a residual costs: squared, absolute, and Huber's between the two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

COSTS = ("squared", "l1", "huber")
# The smoothing of absolute values that is left in the end, as a share of the first; and what keeps weights finite.
_LEAST_SMOOTHING, _TINY = 1e-4, 1e-150


class Cost(ABC):
    """What it costs to replace a row x by a point f(z), as a function of the residual x - f(z).

    Missing entries have residual 0.

    Attributes
    ----------
    euclidean : bool
        Whether it grows with the Euclidean length of the residual: then the nearest point in that sense is the best.
    """

    euclidean = True

    @abstractmethod
    def of_residuals(self, R: Array) -> Array:
        """C for each row of R."""

    @abstractmethod
    def weights(self, R: Array) -> Array | None:
        """The w, for rows (n, 1) or entries (n, d), of Σ w r² + constant, which is above c and touches it at R.

        None stands for ones.
        """

    @abstractmethod
    def curvature(self, scale: float) -> float:
        """By how much it is more curved than the squared cost, if entries are of this scale."""

    def scaled_to(self, R: Array) -> Cost:
        """The cost to begin with, given the residuals of the start."""
        return self

    def annealed(self) -> Cost:
        """The cost of the next iteration: nowhere larger."""
        return self

    def exact(self) -> Cost:
        """The cost without any smoothing."""
        return self


@dataclass(frozen=True)
class SquaredCost(Cost):
    """||x - f(z)||²."""

    def of_residuals(self, R: Array) -> Array:
        """C for each row of R."""
        return np.einsum("ij,ij->i", R, R)

    def weights(self, R: Array) -> None:
        """Ones."""
        return None

    def curvature(self, scale: float) -> float:
        """By how much it is more curved than the squared cost, if entries are of this scale."""
        return 1.0


@dataclass(frozen=True)
class HuberCost(Cost):
    """||r||² / (2σ) for residuals r shorter than σ, ||r|| - σ/2 beyond: [Smola2001]_, eq. (8).

    Parameters
    ----------
    sigma : float
        Length of the residuals beyond which they count as outliers.
    """

    sigma: float

    def of_residuals(self, R: Array) -> Array:
        """C for each row of R."""
        length = np.sqrt(np.einsum("ij,ij->i", R, R))
        return np.where(length <= self.sigma, length**2 / (2 * self.sigma), length - self.sigma / 2)

    def weights(self, R: Array) -> Array:
        """1 / (2 max(||r||, σ))."""
        length = np.sqrt(np.einsum("ij,ij->i", R, R))
        return 0.5 / np.maximum(length, self.sigma)[:, None]

    def curvature(self, scale: float) -> float:
        """By how much it is more curved than the squared cost, if entries are of this scale."""
        return 0.5 / self.sigma


@dataclass(frozen=True)
class AbsoluteCost(Cost):
    """Σ_c |r_c|, smoothed to Σ_c √(r_c² + s²) with an s that shrinks from iteration to iteration.

    Without smoothing the weights 1/|r| lock entries that happen to be met exactly.

    Parameters
    ----------
    smoothing, least : float
        s, and where it stops to shrink.
    """

    smoothing: float = 0.0
    least: float = 0.0
    euclidean = False

    def of_residuals(self, R: Array) -> Array:
        """C for each row of R."""
        return np.sqrt(R**2 + self.smoothing**2).sum(axis=1)

    def weights(self, R: Array) -> Array:
        """1 / (2 √(r² + s²))."""
        return 0.5 / np.sqrt(R**2 + max(self.smoothing, _TINY) ** 2)

    def curvature(self, scale: float) -> float:
        """By how much it is more curved than the squared cost, if entries are of this scale."""
        return 1.0 / scale

    def scaled_to(self, R: Array) -> AbsoluteCost:
        """With the median of the residuals as smoothing."""
        scale = float(np.median(np.abs(R[R != 0]))) if np.any(R) else 0.0
        return AbsoluteCost(scale, _LEAST_SMOOTHING * scale)

    def annealed(self) -> AbsoluteCost:
        """With two thirds of the smoothing."""
        return AbsoluteCost(max(self.smoothing / 1.5, self.least), self.least)

    def exact(self) -> AbsoluteCost:
        """Without smoothing."""
        return AbsoluteCost()


def cost_of(name: str, sigma: float) -> Cost:
    """The cost of a name; sigma is that of Huber's."""
    return {"squared": SquaredCost(), "l1": AbsoluteCost(), "huber": HuberCost(float(sigma))}[name]
