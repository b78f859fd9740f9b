"""Losses that grow linearly: ε-insensitive, Laplace, quantile."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.losses.rows import LaplaceRows, RowLoss
from mercer.losses.tube import TubeLoss


class LinearGrowth(TubeLoss):
    """φ(ξ) = ξ: bounded influence of each sample, and a conjugate that is zero on [0, 1]."""

    piecewise_linear = True
    piecewise_quadratic = True

    def _growth(self, xi: Array) -> Array:
        return xi

    def _growth_slope(self, xi: Array) -> Array:
        return np.sign(xi)

    def _steepest(self) -> float:
        return 1.0

    def _growth_conjugate(self, t: Array) -> Array:
        return np.zeros_like(t)

    def _growth_conjugate_slope(self, t: Array) -> Array:
        return np.zeros_like(t)

    def _growth_conjugate_curvature(self, t: Array) -> Array:
        return np.zeros_like(t)

    def _growth_mass(self, weight: float) -> float:
        return 1.0 / weight


class EpsilonInsensitive(LinearGrowth):
    """ε-insensitive loss max(0, |r| - epsilon): errors up to epsilon cost nothing.

    Samples inside the tube do not enter the solution, which is why it is sparse. `optimal_epsilon` knows the best
    epsilon for a kind of noise.

    Parameters
    ----------
    epsilon : float, array_like or tuple
        Half-width of the tube; one for each sample; or a pair (below, above) of either. Only a tuple is a pair.

    Notes
    -----
    Its noise model is flat on the tube with exponential tails, exp(-max(0, |r| - ε)) / (2 + 2ε) [Smola1998]_,
    tables 2.1 and 2.2. With epsilon = 0 it is `Laplace`.

    Examples
    --------
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value([-2.0, 0.3, 1.0])
    array([1.5, 0. , 0.5])
    >>> EpsilonInsensitive(epsilon=(0.5, 0.1)).insensitivity
    (0.5, 0.1)
    """

    def __init__(self, epsilon: Any = 0.1):
        self.epsilon = epsilon


class Laplace(LinearGrowth):
    """Absolute loss |r|, whose minimiser is a median: the loss of Laplacian noise.

    Notes
    -----
    Robust, but not sparse [Smola1998]_, table 2.1.

    Examples
    --------
    >>> from mercer.losses import Laplace
    >>> Laplace().derivative([-2.0, 0.0, 1.0])
    array([-1.,  0.,  1.])
    """

    def for_rows(self) -> RowLoss:
        """Σ_c |r_c|."""
        return LaplaceRows()


class Quantile(LinearGrowth):
    """Quantile ("pinball") loss, q r for r > 0 and (1 - q) |r| for r < 0: a fraction q of the data ends up below f.

    Parameters
    ----------
    q : float
        The quantile, between 0 and 1; 0.5 is half of the absolute loss.
    epsilon : float, array_like or tuple
        Errors up to epsilon cost nothing; see `EpsilonInsensitive`.

    Notes
    -----
    The dual interval is [-(1 - q), q] [Koenker1978]_.

    Examples
    --------
    >>> from mercer.losses import Quantile
    >>> Quantile(q=0.75).value([-2.0, 2.0])
    array([0.5, 1.5])
    >>> Quantile(q=0.75).dual_interval
    (-0.25, 0.75)
    """

    def __init__(self, q: float = 0.5, *, epsilon: Any = 0.0):
        self.q = q
        self.epsilon = epsilon

    def _weights(self) -> tuple[float, float]:
        q = self._number("q", 0.0, 1.0, "give the fraction of the data that shall lie below")
        return 1.0 - q, q
