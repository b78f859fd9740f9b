"""What a loss is: a convex function of a residual, its conjugate, and the noise it is the right loss for."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.arrays import Array
from mercer.losses.normalization import mass
from mercer.losses.rows import RowLoss


class Loss(BaseEstimator, ABC):
    """A convex cost c(r) of an error.

    In regression r = y - f(x) is the residual and c is least, and zero, at r = 0. In classification r = 1 - y f(x)
    with y = ±1 is the margin residual. A loss of one's own defines what is abstract here, or, more briefly, derives
    from `TubeLoss`; `check_loss` says whether its parts fit together. Parameters follow scikit-learn: they are stored
    as given and checked when the loss is used.

    Where a parameter has one entry for each sample, residuals are arrays whose first axis runs over the samples.

    Attributes
    ----------
    classification : bool
        Whether c is a function of the margin residual 1 - y f.
    has_probability : bool
        Whether c is the negative log-likelihood of a class: then `log_odds` exists.
    has_noise_density : bool
        Whether exp(-c) can be normalised, so that c is the negative log-likelihood of a noise model.
    piecewise_linear : bool
        Whether c consists of straight lines, so that a linear program can hold it.
    piecewise_quadratic : bool
        Whether c consists of straight lines and parabolas: its conjugate has one curvature on each side of zero.
    quadratic : bool
        Whether c(r) = r²/2, so that a linear system can hold it.
    """

    classification: bool = False
    has_probability: bool = False
    has_noise_density: bool = True
    piecewise_linear: bool = False
    piecewise_quadratic: bool = False
    quadratic: bool = False

    @abstractmethod
    def value(self, r: ArrayLike) -> Array:
        """Costs c(r), element by element."""

    @abstractmethod
    def derivative(self, r: ArrayLike) -> Array:
        """Derivatives dc/dr; at kinks the subgradient nearest to zero."""

    @abstractmethod
    def conjugate(self, a: ArrayLike) -> Array:
        """Convex conjugate c*(a) = sup_r a r - c(r); infinite outside `dual_interval`."""

    @property
    @abstractmethod
    def dual_interval(self) -> tuple[Any, Any]:
        """Where the conjugate is finite: (low, high) with low <= 0 <= high, numbers or one for each sample.

        Its ends are the slopes of c at minus and plus infinity.
        """

    @property
    def insensitivity(self) -> tuple[Any, Any]:
        """Widths (below, above) of the flat zone: c is zero on [-below, above]. Numbers or one for each sample.

        (0, 0) if there is none, and for losses that are flat for all negative r.
        """
        return 0.0, 0.0

    @abstractmethod
    def conjugate_slope(self, s: ArrayLike, above: Any) -> Array:
        """Derivative at s > 0 of s -> c*(s) if above, else of s -> c*(-s): the size of the residual with slope ±s."""

    @abstractmethod
    def conjugate_curvature(self, s: ArrayLike, above: Any) -> Array:
        """Second derivative at s > 0 of s -> c*(s) if above, else of s -> c*(-s)."""

    def log_odds(self, f: ArrayLike) -> Array:
        """Logarithm of p / (1 - p), where p is the probability of y = 1 that a decision value f stands for."""
        raise TypeError(f"{self!r} has no probabilities; choose Logistic(), or calibrate the decision values.")

    def restricted_to(self, samples: Array) -> Loss:
        """The loss of some of the samples, by their positions; itself if it is the same for all of them."""
        return self

    def for_rows(self) -> RowLoss:
        """The loss of rows, whose residuals are vectors, that goes by this name."""
        raise TypeError(f"{self!r} is no loss of rows; choose Squared(), Huber(sigma), Laplace(), or a RowLoss.")

    def noise_density(self, r: ArrayLike) -> Array:
        """Density of the noise for which c is the negative log-likelihood: exp(-c(r)), normalised.

        Losses that know no closed form for the normalisation find it by quadrature, once in each call.
        """
        if not self.has_noise_density:
            raise TypeError(
                f"{self!r} has no noise density, since exp(-c) has no finite integral; choose a loss that grows on "
                "both sides."
            )
        r, dtype = floats(r)
        return rounded(np.exp(-self.value(r)) / self._mass_at(r), dtype)

    def _mass_at(self, r: Array) -> Any:
        """Integral of exp(-c), in a shape that goes with r."""
        return self._along(mass(self), r, "insensitivity")

    def _along(self, values: Any, r: Array, parameter: str) -> Any:
        """Numbers, or one for each sample, in a shape that goes with the array r (samples on its first axis)."""
        if np.ndim(values) == 0 or r.ndim == 0:
            return values
        if len(values) != len(r):
            remedy = "samples are on the first axis of the residuals"
            raise self._complain(parameter, f"one number, or {len(r)}, one for each sample", len(values), remedy)
        return np.reshape(values, (-1, *(1,) * (r.ndim - 1)))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        values, signature = self.get_params(deep=False), inspect.signature(type(self))
        with np.printoptions(threshold=6, edgeitems=2, precision=4):
            parameters = ", ".join(f"{name}={values[name]!r}" for name in signature.parameters)
        return f"{type(self).__name__}({parameters})"

    def _complain(self, parameter: str, constraint: str, value: Any, remedy: str) -> ValueError:
        return ValueError(f"{parameter} of {type(self).__name__} must be {constraint}, got {value!r}; {remedy}.")

    def _number(self, parameter: str, low: float, high: float, remedy: str) -> float:
        """The value of a parameter that must be a number with low < value < high."""
        value = getattr(self, parameter)
        if not isinstance(value, Real) or isinstance(value, bool) or not low < float(value) < high:
            between = f"a finite number > {low:g}" if np.isinf(high) else f"a number between {low:g} and {high:g}"
            raise self._complain(parameter, between, value, remedy)
        return float(value)


def floats(values: ArrayLike) -> tuple[Array, np.dtype[Any]]:
    """Values as a float64 array, and the precision in which to give the answer: float32 if they were."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" and not (array.dtype == object):
        raise ValueError(f"residuals must be real numbers, got an array of {array.dtype}; convert it first.")
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    return array.astype(np.float64, copy=False), np.dtype(dtype)


def rounded(values: Any, dtype: np.dtype[Any]) -> Array:
    """Results of a computation in float64 in the precision of its input; a scalar for a scalar."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype, copy=False)[()]
