"""Losses that are flat in a tube and grow outside it as a multiple of one convex function."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from mercer.arrays import Array
from mercer.losses.base import Loss, floats, rounded


class TubeLoss(Loss):
    """A loss c(r) = w φ(ξ), ξ the distance of r from the tube [-below, above], w a weight for each side.

    φ is convex and increasing on ξ >= 0 with φ(0) = 0. A concrete loss gives φ (`_growth`), its derivative
    (`_growth_slope`, zero at ξ = 0), the conjugate φ* on 0 <= t <= `_steepest` with two derivatives
    (`_growth_conjugate`, `_growth_conjugate_slope`, `_growth_conjugate_curvature`), the slope of φ at infinity
    (`_steepest`), and the integral of exp(-w φ) (`_growth_mass`; by default numerical). Its parameter `epsilon`, if it
    has one, is the half-width of the tube; `_weights` differ where the loss is not symmetric.

    Notes
    -----
    The conjugate is c*(a) = ε |a| + w φ*(|a| / w), with ε and w those of the side to which a points
    [Smola1998]_, section 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import xlog1py
    >>> from mercer.losses import TubeLoss, check_loss
    >>> class LogCosh(TubeLoss):
    ...     def _steepest(self):
    ...         return 1.0
    ...     def _growth(self, xi):
    ...         return np.logaddexp(xi, -xi) - np.log(2)
    ...     def _growth_slope(self, xi):
    ...         return np.tanh(xi)
    ...     def _growth_conjugate(self, t):
    ...         return (xlog1py(1 + t, t) + xlog1py(1 - t, -t)) / 2
    ...     def _growth_conjugate_slope(self, t):
    ...         return np.arctanh(t)
    ...     def _growth_conjugate_curvature(self, t):
    ...         return 1 / (1 - t**2)
    >>> check_loss(LogCosh()).errors["density"] < 1e-8
    True
    """

    # What a concrete loss provides -----------------------------------------------------------------------------------

    @abstractmethod
    def _growth(self, xi: Array) -> Array:
        """φ(ξ) for ξ >= 0."""

    @abstractmethod
    def _growth_slope(self, xi: Array) -> Array:
        """φ'(ξ) for ξ > 0, and 0 at ξ = 0."""

    @abstractmethod
    def _steepest(self) -> float:
        """The slope of φ at infinity."""

    @abstractmethod
    def _growth_conjugate(self, t: Array) -> Array:
        """φ*(t) = sup over ξ >= 0 of t ξ - φ(ξ)."""

    @abstractmethod
    def _growth_conjugate_slope(self, t: Array) -> Array:
        """Derivative of φ*."""

    @abstractmethod
    def _growth_conjugate_curvature(self, t: Array) -> Array:
        """Second derivative of φ*."""

    def _growth_mass(self, weight: float) -> float | None:
        """Integral of exp(-weight φ) over ξ > 0; None if there is no closed form."""
        return None

    def _weights(self) -> tuple[float, float]:
        """Factors w for residuals below and above the tube."""
        return 1.0, 1.0

    # What follows from it --------------------------------------------------------------------------------------------

    @property
    def insensitivity(self) -> tuple[Any, Any]:
        """Widths (below, above) of the tube."""
        epsilon = getattr(self, "epsilon", 0.0)
        if not isinstance(epsilon, tuple):
            below = above = self._width(epsilon, epsilon)
        elif len(epsilon) == 2:
            below, above = (self._width(part, epsilon) for part in epsilon)
        else:
            raise self._complain("epsilon", "a pair (below, above) if it is a tuple", epsilon, "give a list otherwise")
        if np.ndim(below) and np.ndim(above) and len(below) != len(above):
            raise self._complain("epsilon", "of one length below and above", epsilon, "give one entry for each sample")
        return below, above

    @property
    def dual_interval(self) -> tuple[float, float]:
        """Where the conjugate is finite: from -w φ'(∞) of the lower side to w φ'(∞) of the upper."""
        below, above = (weight * self._steepest() if weight else 0.0 for weight in self._weights())
        return 0.0 - below, above

    def restricted_to(self, samples: Array) -> Loss:
        """The loss of some of the samples, by their positions; itself if it is the same for all of them."""
        below, above = self.insensitivity
        if not np.ndim(below) and not np.ndim(above):
            return self
        parts = tuple(part[samples] if np.ndim(part) else part for part in (below, above))
        return clone(self).set_params(epsilon=parts)

    def value(self, r: ArrayLike) -> Array:
        """Costs c(r) = w φ(ξ), element by element."""
        r, dtype = floats(r)
        xi, upper = self._distance(r)
        with np.errstate(over="ignore"):
            return rounded(self._weight(upper) * self._growth(xi), dtype)

    def derivative(self, r: ArrayLike) -> Array:
        """Derivatives ±w φ'(ξ); zero in the tube and on its edges."""
        r, dtype = floats(r)
        xi, upper = self._distance(r)
        with np.errstate(over="ignore"):
            slope = self._weight(upper) * self._growth_slope(xi)
        return rounded(np.where(upper, slope, 0.0 - slope), dtype)

    def conjugate(self, a: ArrayLike) -> Array:
        """Convex conjugate c*(a) = ε |a| + w φ*(|a| / w); infinite outside `dual_interval`."""
        a, dtype = floats(a)
        upper = a > 0
        s = np.abs(a)
        inside = self._inside(s, upper, dtype) & np.isfinite(s)
        with np.errstate(over="ignore"):
            values = self._conjugate_inside(np.where(inside, s, 0.0), upper)
        return rounded(np.where(inside, values, np.where(np.isnan(a), np.nan, np.inf)), dtype)

    def conjugate_slope(self, s: ArrayLike, above: Any) -> Array:
        """Derivative of s -> c*(±s), which is ε + φ*'(s / w); NaN outside the dual interval."""
        s, dtype = floats(s)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            slope = self._epsilon(above, s) + self._growth_conjugate_slope(self._scaled(s, above))
        return rounded(np.where(self._inside(s, above, dtype), slope, np.nan), dtype)

    def conjugate_curvature(self, s: ArrayLike, above: Any) -> Array:
        """Second derivative of s -> c*(±s), which is φ*''(s / w) / w; NaN outside the dual interval."""
        s, dtype = floats(s)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            curvature = self._scaled(self._growth_conjugate_curvature(self._scaled(s, above)), above)
        return rounded(np.where(self._inside(s, above, dtype), curvature, np.nan), dtype)

    def _distance(self, r: Array) -> tuple[Array, Any]:
        """Distance ξ of residuals from the tube, and whether they are on its upper side."""
        below, above = (self._along(part, r, "epsilon") for part in self.insensitivity)
        if self._weights()[0] == 0:
            return np.maximum(r - above, 0.0), True
        upper = r > 0
        return np.maximum(np.where(upper, r - above, -r - below), 0.0), upper

    def _conjugate_inside(self, s: Array, upper: Any) -> Array:
        return self._epsilon(upper, s) * s + self._weight(upper) * self._growth_conjugate(self._scaled(s, upper))

    def _epsilon(self, upper: Any, s: Array) -> Any:
        below, above = (self._along(part, s, "epsilon") for part in self.insensitivity)
        return np.where(upper, above, below)

    def _weight(self, upper: Any) -> Any:
        below, above = self._weights()
        return below if below == above else np.where(upper, above, below)

    def _inside(self, s: Array, upper: Any, dtype: np.dtype[Any]) -> Any:
        """Whether ±s is in the dual interval, whose ends are rounded to the precision of s."""
        low, high = np.asarray(self.dual_interval, dtype=dtype).astype(np.float64)
        return (s >= 0.0) & (s <= np.where(upper, high, -low))

    def _scaled(self, values: Array, upper: Any) -> Array:
        """Values over the weight of their side; zero on a side that costs nothing."""
        weight = self._weight(upper)
        return np.where(weight > 0, values / np.where(weight > 0, weight, 1.0), 0.0)

    def _mass_at(self, r: Array) -> Any:
        lower, upper = (self._growth_mass(weight) for weight in self._weights())
        if lower is None or upper is None:
            return super()._mass_at(r)
        return lower + upper + sum(self._along(part, r, "epsilon") for part in self.insensitivity)

    def _width(self, part: Any, epsilon: Any) -> Any:
        """A number, or one for each sample, that is a width."""
        remedy = "give one width, one for each sample, or a pair (below, above) of either"
        if isinstance(part, Real) and not isinstance(part, bool):
            widths = np.asarray(float(part))
        else:
            try:
                widths = np.asarray(part)
                widths = widths.astype(np.float64) if widths.ndim == 1 and widths.dtype != bool else np.empty(0)
            except (TypeError, ValueError):
                widths = np.empty(0)
        if not widths.size or not np.all(np.isfinite(widths) & (widths >= 0)):
            raise self._complain("epsilon", "finite and not negative", epsilon, remedy)
        return widths if widths.ndim else float(widths)
