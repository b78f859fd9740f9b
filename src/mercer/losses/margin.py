"""Losses for classification, functions of the margin residual r = 1 - y f(x): hinge, squared hinge, logistic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit, xlog1py, xlogy

from mercer.arrays import Array
from mercer.losses.absolute import LinearGrowth
from mercer.losses.base import Loss, floats, rounded
from mercer.losses.powers import PowerGrowth


class Hinge(LinearGrowth):
    """Hinge loss max(0, r) of the margin residual r = 1 - y f: the loss of support vector classifiers.

    Notes
    -----
    A sample on the right side of the margin costs nothing and does not enter the solution [Cortes1995]_.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> Hinge().value([-2.0, 0.0, 1.5])
    array([0. , 0. , 1.5])
    >>> Hinge().dual_interval
    (0.0, 1.0)
    """

    classification = True
    has_noise_density = False

    def _weights(self) -> tuple[float, float]:
        return 0.0, 1.0


class SquaredHinge(PowerGrowth):
    """Squared hinge loss max(0, r)²/2 of the margin residual r = 1 - y f.

    Notes
    -----
    Smooth, but without a bound on the influence of one sample.

    Examples
    --------
    >>> from mercer.losses import SquaredHinge
    >>> SquaredHinge().value([-2.0, 2.0])
    array([0., 2.])
    >>> SquaredHinge().dual_interval
    (0.0, inf)
    """

    classification = True
    has_noise_density = False

    def _power(self) -> float:
        return 2.0

    def _weights(self) -> tuple[float, float]:
        return 0.0, 1.0


class Logistic(Loss):
    """Logistic loss log(1 + exp(r - 1)) = log(1 + exp(-y f)) of the margin residual r = 1 - y f.

    Notes
    -----
    The negative log-likelihood of logistic regression. Its conjugate is a + a log a + (1 - a) log(1 - a) on [0, 1],
    with infinite slope at both ends. The decision value f is the log-odds of the class y = 1.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> Logistic().value([1.0, 2000.0]).round(4)
    array([6.931e-01, 1.999e+03])
    >>> Logistic().conjugate([0.0, 0.5, 1.0]).round(4)
    array([ 0.    , -0.1931,  1.    ])
    """

    classification = True
    has_probability = True
    has_noise_density = False

    @property
    def dual_interval(self) -> tuple[float, float]:
        """Where the conjugate is finite: [0, 1]."""
        return 0.0, 1.0

    def value(self, r: ArrayLike) -> Array:
        """Costs log(1 + exp(r - 1)), without overflow."""
        r, dtype = floats(r)
        return rounded(-log_expit(1.0 - r), dtype)

    def derivative(self, r: ArrayLike) -> Array:
        """Derivatives 1 / (1 + exp(1 - r))."""
        r, dtype = floats(r)
        return rounded(expit(r - 1.0), dtype)

    def log_odds(self, f: ArrayLike) -> Array:
        """The decision values themselves."""
        return np.asarray(f)

    def conjugate(self, a: ArrayLike) -> Array:
        """Convex conjugate a + a log a + (1 - a) log(1 - a) on [0, 1], infinite elsewhere."""
        a, dtype = floats(a)
        outside = (a < 0.0) | (a > 1.0)
        inside = np.where(outside, 0.5, a)
        return rounded(np.where(outside, np.inf, a + xlogy(inside, inside) + xlog1py(1.0 - inside, -inside)), dtype)

    def conjugate_slope(self, s: ArrayLike, above: Any) -> Array:
        """Derivative 1 + log(s / (1 - s)) of the conjugate; NaN outside [0, 1], and for above = False if s > 0."""
        s, dtype = floats(s)
        return rounded(np.where(above, 1.0 + logit(s), np.where(s == 0.0, 0.0, np.nan)), dtype)

    def conjugate_curvature(self, s: ArrayLike, above: Any) -> Array:
        """Second derivative 1 / (s (1 - s)) of the conjugate; NaN where `conjugate_slope` is."""
        s, dtype = floats(s)
        with np.errstate(divide="ignore", over="ignore"):
            curvature = np.where((s >= 0.0) & (s <= 1.0), 1.0 / (s * (1.0 - s)), np.nan)
        return rounded(np.where(above, curvature, np.where(s == 0.0, 0.0, np.nan)), dtype)
