"""Losses that grow as a power: squared, expectile, polynomial; and with a linear tail: Huber, piecewise polynomial."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import gamma, gammainc

from mercer.arrays import Array
from mercer.losses.rows import HuberRows, RowLoss, SquaredRows
from mercer.losses.tube import TubeLoss


class PowerGrowth(TubeLoss):
    """φ(ξ) = ξ^p / p, with conjugate t^q / q, q = p / (p - 1)."""

    @abstractmethod
    def _power(self) -> float:
        """The power p > 1."""

    @property
    def piecewise_quadratic(self) -> bool:  # type: ignore[override]
        """Whether the power is two."""
        return self._power() == 2.0

    def _growth(self, xi: Array) -> Array:
        return xi ** self._power() / self._power()

    def _growth_slope(self, xi: Array) -> Array:
        return xi ** (self._power() - 1.0)

    def _steepest(self) -> float:
        return np.inf

    def _growth_conjugate(self, t: Array) -> Array:
        q = _conjugate_power(self._power())
        return t**q / q

    def _growth_conjugate_slope(self, t: Array) -> Array:
        return t ** (_conjugate_power(self._power()) - 1.0)

    def _growth_conjugate_curvature(self, t: Array) -> Array:
        q = _conjugate_power(self._power())
        return (q - 1.0) * t ** (q - 2.0)

    def _growth_mass(self, weight: float) -> float:
        p = self._power()
        return float((p / weight) ** (1.0 / p) * gamma(1.0 + 1.0 / p))


class LinearTail(TubeLoss):
    """φ(ξ) = ξ^p / (p σ^(p-1)) up to σ and ξ - σ (p - 1) / p beyond, with conjugate σ t^q / q on [0, 1]."""

    sigma: float

    @abstractmethod
    def _power(self) -> float:
        """The power p > 1."""

    @property
    def piecewise_quadratic(self) -> bool:  # type: ignore[override]
        """Whether the power is two."""
        return self._power() == 2.0

    def _sigma(self) -> float:
        return self._number("sigma", 0.0, np.inf, "give the size of error from which on the loss is linear")

    def _growth(self, xi: Array) -> Array:
        p, sigma = self._power(), self._sigma()
        return sigma * np.minimum(xi / sigma, 1.0) ** p / p + np.maximum(xi - sigma, 0.0)

    def _growth_slope(self, xi: Array) -> Array:
        return np.minimum(xi / self._sigma(), 1.0) ** (self._power() - 1.0)

    def _steepest(self) -> float:
        return 1.0

    def _growth_conjugate(self, t: Array) -> Array:
        q = _conjugate_power(self._power())
        return self._sigma() * t**q / q

    def _growth_conjugate_slope(self, t: Array) -> Array:
        return self._sigma() * t ** (_conjugate_power(self._power()) - 1.0)

    def _growth_conjugate_curvature(self, t: Array) -> Array:
        q = _conjugate_power(self._power())
        return self._sigma() * (q - 1.0) * t ** (q - 2.0)

    def _growth_mass(self, weight: float) -> float | None:
        """∫ exp(-φ): an incomplete gamma function up to σ, an exponential beyond."""
        if weight != 1.0:
            return None
        p, sigma = self._power(), self._sigma()
        core = p ** (1.0 / p) * sigma ** (1.0 - 1.0 / p) * gamma(1.0 + 1.0 / p) * gammainc(1.0 / p, sigma / p)
        return float(core + np.exp(-sigma / p))


class Squared(PowerGrowth):
    """Squared loss r²/2: the loss of normal noise, whose minimiser is a mean.

    Parameters
    ----------
    epsilon : float, array_like or tuple
        Errors up to epsilon cost nothing, c(r) = max(0, |r| - epsilon)²/2; see `EpsilonInsensitive`.

    Notes
    -----
    One sample can have any influence: its dual interval is the whole line [Smola1998]_, table 2.2.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> Squared().value([-2.0, 1.0])
    array([2. , 0.5])
    >>> Squared().dual_interval
    (-inf, inf)
    """

    def __init__(self, *, epsilon: Any = 0.0):
        self.epsilon = epsilon

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        """Whether nothing is insensitive."""
        return not np.any(np.concatenate([np.ravel(side) for side in self.insensitivity]))

    def _power(self) -> float:
        return 2.0

    def for_rows(self) -> RowLoss:
        """||r||², without the half."""
        return SquaredRows() if self.quadratic else super().for_rows()


class Expectile(PowerGrowth):
    """Expectile loss, q r²/2 for r > 0 and (1 - q) r²/2 for r < 0: the smooth sibling of `Quantile`.

    Parameters
    ----------
    q : float
        Weight of errors above f, between 0 and 1; 0.5 is half of the squared loss.
    epsilon : float, array_like or tuple
        Errors up to epsilon cost nothing; see `EpsilonInsensitive`.

    Notes
    -----
    Its conjugate is a²/(2q) for a > 0 and a²/(2 - 2q) for a < 0 [Newey1987]_.

    Examples
    --------
    >>> from mercer.losses import Expectile
    >>> Expectile(q=0.75).value([-2.0, 2.0])
    array([0.5, 1.5])
    """

    def __init__(self, q: float = 0.5, *, epsilon: Any = 0.0):
        self.q = q
        self.epsilon = epsilon

    def _power(self) -> float:
        return 2.0

    def _weights(self) -> tuple[float, float]:
        q = self._number("q", 0.0, 1.0, "give the weight of errors above, 0.5 for a mean")
        return 1.0 - q, q


class PolynomialLoss(PowerGrowth):
    """Polynomial loss |r|^p / p, the loss of generalised Gaussian noise.

    Parameters
    ----------
    p : float
        The power, more than 1. For p = 1 take `Laplace`.
    epsilon : float, array_like or tuple
        Errors up to epsilon cost nothing; see `EpsilonInsensitive`.

    Notes
    -----
    Its conjugate |a|^q / q, q = p / (p - 1), has infinite curvature at 0 if p > 2 [Smola1998]_, table 2.2.

    Examples
    --------
    >>> from mercer.losses import PolynomialLoss
    >>> PolynomialLoss(p=3.0).value([-3.0, 1.0]).round(4)
    array([9.    , 0.3333])
    """

    def __init__(self, p: float = 1.5, *, epsilon: Any = 0.0):
        self.p = p
        self.epsilon = epsilon

    def _power(self) -> float:
        return self._number("p", 1.0, np.inf, "for p = 1 take Laplace()")


class PiecewisePolynomial(LinearTail):
    """Polynomial loss |r|^p / (p σ^(p-1)) for errors up to σ, and |r| - σ (p - 1)/p beyond: robust.

    Parameters
    ----------
    p : float
        The power for small errors, more than 1. For p = 1 take `Laplace`; p = 2 is `Huber`.
    sigma : float
        Size of error from which on the loss is linear.
    epsilon : float, array_like or tuple
        Errors up to epsilon cost nothing; see `EpsilonInsensitive`.

    Notes
    -----
    Its conjugate is σ |a|^q / q on [-1, 1], q = p / (p - 1) [Smola1998]_, table 2.2.

    Examples
    --------
    >>> from mercer.losses import PiecewisePolynomial
    >>> PiecewisePolynomial(p=3.0, sigma=1.0).value([-0.5, 4.0]).round(4)
    array([0.0417, 3.3333])
    """

    def __init__(self, p: float = 1.5, sigma: float = 1.0, *, epsilon: Any = 0.0):
        self.p = p
        self.sigma = sigma
        self.epsilon = epsilon

    def _power(self) -> float:
        return self._number("p", 1.0, np.inf, "for p = 1 take Laplace()")


class Huber(LinearTail):
    """Huber's robust loss, r²/(2σ) for errors up to σ, and |r| - σ/2 beyond.

    Parameters
    ----------
    sigma : float
        Size of error from which on the loss is linear. Small sigma approaches `Laplace`.
    epsilon : float, array_like or tuple
        Errors up to epsilon cost nothing; see `EpsilonInsensitive`.

    Notes
    -----
    Scaled such that its slope is at most 1: σ times this is the usual form [Huber1964]_. Its conjugate is σ a²/2 on
    [-1, 1] [Smola1998]_, table 2.2.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> Huber(sigma=0.5).value([-0.5, 2.0])
    array([0.25, 1.75])
    """

    def __init__(self, sigma: float = 1.0, *, epsilon: Any = 0.0):
        self.sigma = sigma
        self.epsilon = epsilon

    def _power(self) -> float:
        return 2.0

    def for_rows(self) -> RowLoss:
        """||r||² / (2σ) up to the length σ, and ||r|| - σ/2 beyond."""
        return super().for_rows() if np.any(self.insensitivity) else HuberRows(self._sigma())


def _conjugate_power(p: float) -> float:
    return p / (p - 1.0)
