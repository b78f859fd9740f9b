"""Losses of rows: what it costs to replace a row by a point of a book of codes, of a plane or of a manifold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.parameters import check_choice, check_positive

# The smoothing of absolute values that is left in the end, as a fraction of the first; and what keeps weights finite.
_LEAST_SMOOTHING, _TINY = 1e-4, 1e-150


class RowLoss(ABC):
    """The cost c of a residual x - f, which has one entry for each column; missing entries are 0.

    A loss of one's own is one class: what is abstract here.

    Attributes
    ----------
    euclidean : bool
        Whether c grows with the Euclidean length of the residual: the nearest point is then the best one.
    """

    euclidean = True

    @abstractmethod
    def of_residuals(self, R: Array) -> Array:
        """The cost of each row of R."""

    @abstractmethod
    def weights(self, R: Array) -> Array | None:
        """Weights w, for rows (n, 1) or entries (n, d): Σ w r² + constant is nowhere below c, and touches it at R.

        None stands for ones.
        """

    @abstractmethod
    def curvature(self, scale: float) -> float:
        """Curvature of c at residuals of a scale, over the curvature of the squared loss."""

    def for_rows(self) -> RowLoss:
        """The loss itself."""
        return self

    def scaled_to(self, R: Array) -> RowLoss:
        """The loss of the first iteration, given the residuals of the start."""
        return self

    def annealed(self) -> RowLoss:
        """The loss of the next iteration, which is nowhere larger."""
        return self

    def exact(self) -> RowLoss:
        """The loss without smoothing."""
        return self


@dataclass(frozen=True)
class SquaredRows(RowLoss):
    """||r||², without the half of `Squared`."""

    def of_residuals(self, R: Array) -> Array:
        """The cost of each row of R."""
        return np.einsum("ij,ij->i", R, R)

    def weights(self, R: Array) -> None:
        """Ones."""
        return None

    def curvature(self, scale: float) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class HuberRows(RowLoss):
    """||r||² / (2σ) for residuals r shorter than σ, ||r|| - σ/2 beyond: [Smola2001]_, eq. (8).

    Parameters
    ----------
    sigma : float
        Length of the residuals beyond which they count as outliers.
    """

    sigma: float

    def __post_init__(self) -> None:
        check_positive(self.sigma, "sigma", "HuberRows", "it has the unit of the rows")

    def of_residuals(self, R: Array) -> Array:
        """The cost of each row of R."""
        length = np.sqrt(np.einsum("ij,ij->i", R, R))
        return np.where(length <= self.sigma, length**2 / (2 * self.sigma), length - self.sigma / 2)

    def weights(self, R: Array) -> Array:
        """1 / (2 max(||r||, σ))."""
        length = np.sqrt(np.einsum("ij,ij->i", R, R))
        return 0.5 / np.maximum(length, self.sigma)[:, None]

    def curvature(self, scale: float) -> float:
        """1 / (2σ), that of short residuals."""
        return 0.5 / self.sigma


@dataclass(frozen=True)
class LaplaceRows(RowLoss):
    """Σ_c |r_c|, smoothed to Σ_c √(r_c² + s²) with an s that shrinks from iteration to iteration.

    Without smoothing, the weights 1/|r| keep entries at zero that happen to be zero.

    Parameters
    ----------
    smoothing, least : float
        s, and its least value.
    """

    smoothing: float = 0.0
    least: float = 0.0
    euclidean = False

    def of_residuals(self, R: Array) -> Array:
        """The cost of each row of R."""
        return np.sqrt(R**2 + self.smoothing**2).sum(axis=1)

    def weights(self, R: Array) -> Array:
        """1 / (2 √(r² + s²))."""
        return 0.5 / np.sqrt(R**2 + max(self.smoothing, _TINY) ** 2)

    def curvature(self, scale: float) -> float:
        """One over the scale."""
        return 1.0 / scale

    def scaled_to(self, R: Array) -> LaplaceRows:
        """The loss whose smoothing is the median of the residuals."""
        scale = float(np.median(np.abs(R[R != 0]))) if np.any(R) else 0.0
        return LaplaceRows(scale, _LEAST_SMOOTHING * scale)

    def annealed(self) -> LaplaceRows:
        """The loss with two thirds of the smoothing."""
        return LaplaceRows(max(self.smoothing / 1.5, self.least), self.least)

    def exact(self) -> LaplaceRows:
        """The loss without smoothing."""
        return LaplaceRows()


ROW_LOSSES = ("squared", "l1", "huber")


def as_row_loss(cost: Any, sigma: float = 1.0, owner: str = "RowLoss") -> RowLoss:
    """The loss of rows that a word, a loss of residuals or a `RowLoss` stands for.

    Parameters
    ----------
    cost : {"squared", "l1", "huber"}, Loss or RowLoss
        "l1" is short for ``Laplace()``, "huber" for ``Huber(sigma)``.
    sigma : float
        That of "huber".
    owner : str
        The class that complains.

    Examples
    --------
    >>> from mercer.losses import Huber, as_row_loss
    >>> as_row_loss("huber", 0.1) == as_row_loss(Huber(0.1))
    True
    """
    if hasattr(cost, "for_rows") and not isinstance(cost, type):
        return cost.for_rows()
    check_choice(cost, ROW_LOSSES, "cost", owner, "choose one of them, or give an object such as Huber(0.1)")
    return {"squared": SquaredRows(), "l1": LaplaceRows(), "huber": HuberRows(float(sigma))}[cost]
