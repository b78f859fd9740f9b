"""How far training errors can be from risks: deviations that hold with probability 1 - δ, and the samples they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import logsumexp

from mercer.arrays import Array
from mercer.capacity.checks import check_delta, check_functions, check_scale, check_share
from mercer.capacity.covers import log_binomials
from mercer.capacity.searches import least_count, least_root, whole_above
from mercer.parameters import check_choice, check_count, is_number

if TYPE_CHECKING:
    from mercer.losses import Loss

VC_FORMS = ("vapnik", "two_sided", "devroye", "no_errors", "relative")


class FunctionClass(Protocol):
    """A class of functions: whatever knows how many balls cover it on some points."""

    def log_covering(self, scale: float, n_samples: int) -> float:
        """Logarithm of a covering number in the maximum over n_samples points."""


@dataclass(frozen=True)
class Deviation:
    """What `deviation` found.

    Attributes
    ----------
    value : float
        With probability 1 - δ no risk of the class differs from its training error by more; at most the largest loss.
    vacuous : bool
        Whether the value is as large as the largest loss, which says nothing.
    log_covering : float
        Logarithm of the covering number that was used.
    scale : float
        The scale at which it was taken.
    """

    value: float
    vacuous: bool
    log_covering: float
    scale: float


def hoeffding(n_samples: int, delta: float, *, width: float = 1.0, sides: int = 1) -> float:
    """Deviation of a mean of m independent numbers from its expectation: width · sqrt(ln(sides/δ) / (2m)).

    Parameters
    ----------
    n_samples : int
        m.
    delta : float
        Probability of being wrong.
    width : float
        Length of the interval in which the numbers lie.
    sides : {1, 2}
        1: the expectation is not larger than the mean by more; 2: nor smaller.

    Returns
    -------
    float
        The deviation, at most `width`.

    Notes
    -----
    [Smola1998]_, theorem 7.2. It holds for one function that was fixed before the data were seen.

    Examples
    --------
    >>> from mercer.capacity import hoeffding
    >>> round(hoeffding(1000, 0.05), 6)
    0.038702
    """
    owner = "hoeffding"
    m, sides = check_count(n_samples, "n_samples", owner), _sides(sides, owner)
    value = float(np.sqrt(np.log(sides / check_delta(delta, owner)) / (2 * m)))
    return check_scale(width, owner, "width") * min(value, 1.0)


def hoeffding_samples(epsilon: float, delta: float, *, width: float = 1.0, sides: int = 1) -> int:
    """Least number of samples for which `hoeffding` is at most ε.

    Examples
    --------
    >>> from mercer.capacity import hoeffding_samples
    >>> hoeffding_samples(0.1, 0.05)
    150
    """
    owner = "hoeffding_samples"
    ratio = check_scale(width, owner, "width") / check_scale(epsilon, owner)
    return whole_above(0.5 * ratio * ratio * _log_inverse(_sides(sides, owner), check_delta(delta, owner)))


def _log_inverse(factor: float, delta: float) -> float:
    """Ln(factor/δ), also where the quotient overflows."""
    return float(np.log(factor) - np.log(delta))


def _sides(sides: int, owner: str) -> int:
    if sides not in (1, 2):
        raise ValueError(f"sides of {owner} must be 1 or 2, got {sides!r}; 2 bounds the deviation both ways.")
    return sides


def log_growth(n_samples: int, dimension: int) -> float:
    """Logarithm of Σ_{i≤h} C(m, i), which bounds the growth function of a class of VC dimension h.

    [Smola1998]_, eq. (7.46).

    Parameters
    ----------
    n_samples : int
        m.
    dimension : int
        h; hyperplanes in d dimensions have d + 1, or d if they pass through the origin.

    Examples
    --------
    >>> from mercer.capacity import log_growth
    >>> round(log_growth(100, 10), 6)
    30.597114
    """
    m = check_count(n_samples, "n_samples", "log_growth")
    h = check_count(dimension, "dimension", "log_growth", least=0)
    if h >= m:
        return float(m * np.log(2))
    return float(logsumexp(log_binomials(m, np.arange(h + 1.0))))


def vc_deviation(
    dimension: int, n_samples: int, delta: float, *, form: str = "vapnik", training_error: float | None = None
) -> float:
    """Deviation of risks from training errors in a class of VC dimension h, with G = `log_growth`.

    Parameters
    ----------
    dimension : int
        h.
    n_samples : int
        m.
    delta : float
        Probability of being wrong.
    form : {"vapnik", "two_sided", "devroye", "no_errors", "relative"}
        "vapnik": 1/m + sqrt((G(2m) + ln(4/δ))/m), the tightest one for all training errors at once.
        "two_sided": sqrt(8 (G(2m) + ln(4/δ))/m). "devroye": sqrt(32 (G(m) + ln(8/δ))/m).
        "no_errors": 2 (G(2m) + ln(2/δ))/(m ln 2), for functions without training errors.
        "relative": E/2 (1 + sqrt(1 + 4 R_emp/E)) with E = 4 (G(2m) + ln(4/δ))/m, for one training error.
    training_error : float, optional
        R_emp, a share; "relative" needs it, and every deviation ends at 1 - R_emp.

    Returns
    -------
    float
        R - R_emp is at most this with probability 1 - δ; where it is 1 - R_emp the bound is vacuous.

    Notes
    -----
    [Vapnik1998]_; [Smola1998]_, lemmas 7.4 and 7.5: eq. (7.22) as printed is valid but loose, and in eq. (7.23) the
    base is 2.

    Examples
    --------
    >>> from mercer.capacity import vc_deviation
    >>> round(vc_deviation(10, 10_000, 0.05), 6), vc_deviation(10, 30, 0.05)
    (0.094074, 1.0)
    """
    owner = "vc_deviation"
    m, delta = check_count(n_samples, "n_samples", owner), check_delta(delta, owner)
    check_choice(form, VC_FORMS, "form", owner)
    error = _training_error(training_error, form, owner)
    growth = log_growth(m if form == "devroye" else 2 * m, dimension)
    rate = (growth + np.log({"devroye": 8, "no_errors": 2}.get(form, 4) / delta)) / m
    if form == "vapnik":
        value = 1 / m + np.sqrt(rate)
    elif form == "no_errors":
        value = 2 * rate / np.log(2)
    elif form == "relative":
        value = 2 * rate * (1 + np.sqrt(1 + error / rate))
    else:
        value = np.sqrt((32 if form == "devroye" else 8) * rate)
    return min(float(value), 1.0 - error)


def _training_error(error: float | None, form: str, owner: str) -> float:
    if error is None:
        if form == "relative":
            raise ValueError(f'training_error of {owner} must be given for form="relative"; give the share of errors.')
        return 0.0
    if form == "no_errors" and error != 0:
        raise ValueError(
            f'training_error of {owner} must be 0 for form="no_errors", got {error!r}; take form="relative".'
        )
    return check_share(error, "training_error", owner)


def vc_samples(dimension: int, epsilon: float, delta: float, *, form: str = "vapnik") -> int:
    """Least number of samples from which on `vc_deviation` is at most ε ("relative" is one for each training error).

    Examples
    --------
    >>> from mercer.capacity import vc_deviation, vc_samples
    >>> m = vc_samples(10, 0.1, 0.05)
    >>> vc_deviation(10, m, 0.05) <= 0.1 < vc_deviation(10, m - 1, 0.05)
    True
    """
    owner = "vc_samples"
    check_choice(form, tuple(name for name in VC_FORMS if name != "relative"), "form", owner)
    epsilon = check_scale(epsilon, owner)
    if epsilon >= 1:
        return 1
    return least_count(lambda m: vc_deviation(dimension, m, delta, form=form) <= epsilon)


def rademacher_deviation(
    complexity: float, n_samples: int, delta: float, *, lipschitz: float = 1.0, width: float = 1.0
) -> float:
    """Deviation 2 L R̂ + 3 width sqrt(ln(2/δ)/(2m)) from the Rademacher average R̂ of the class on the sample.

    Parameters
    ----------
    complexity : float
        R̂, see `SampleCapacity.rademacher`; at most ΛR/sqrt(m) for a ball.
    n_samples : int
        m.
    delta : float
        Probability of being wrong.
    lipschitz : float
        L, the largest slope of the loss; 1/γ for the ramp at margin γ.
    width : float
        The largest loss, which no deviation exceeds.

    Examples
    --------
    >>> from mercer.capacity import rademacher_deviation
    >>> round(rademacher_deviation(1 / 3690**0.5, 3690, 0.05), 5)
    0.1
    """
    owner = "rademacher_deviation"
    m, delta = check_count(n_samples, "n_samples", owner), check_delta(delta, owner)
    if not is_number(complexity) or complexity < 0:
        raise ValueError(f"complexity of {owner} must be a number >= 0, got {complexity!r}; give a Rademacher average.")
    width, lipschitz = check_scale(width, owner, "width"), check_scale(lipschitz, owner, "lipschitz")
    return min(float(2 * lipschitz * complexity + 3 * width * np.sqrt(np.log(2 / delta) / (2 * m))), width)


def rademacher_samples(epsilon: float, delta: float, *, norm: float = 1.0, radius: float = 1.0) -> int:
    """Least number of samples for which `rademacher_deviation` of a ball of norm Λ is at most ε, with a loss in [0, 1].

    Examples
    --------
    >>> from mercer.capacity import rademacher_samples
    >>> rademacher_samples(0.1, 0.05)
    3690
    """
    owner = "rademacher_samples"
    size = check_scale(norm, owner, "norm") * check_scale(radius, owner, "radius")
    log_term = _log_inverse(2, check_delta(delta, owner))
    root = (2 * size + 3 * float(np.sqrt(log_term / 2))) / check_scale(epsilon, owner)
    return whole_above(root * root) if epsilon < 1 else 1


def deviation(
    functions: FunctionClass, n_samples: int, delta: float, *, loss: Loss | None = None, loss_range: float = 1.0
) -> Deviation:
    """Uniform deviation of risks from training errors, from covering numbers on 2m points.

    The least ε with ln(12m) + ln N(ε/(6C)) - ε² m / (36 B²) ≤ ln δ and m ≥ 2B²/ε².

    Parameters
    ----------
    functions : object
        A class of functions: anything with ``log_covering(scale, n_samples)``, as `KernelBall`, or a sum of them.
    n_samples : int
        m.
    delta : float
        Probability of being wrong.
    loss : Loss, optional
        C is its largest slope, B its largest value. None: the functions are losses themselves, C = 1.
    loss_range : float
        The largest residual in regression, the largest abs(f(x)) in classification; without a loss B itself.

    Returns
    -------
    Deviation
        value, vacuous, log_covering, scale.

    Notes
    -----
    [Smola1998]_, lemma 7.3 and corollary 7.8, where the square of B is missing; after [Alon1997]_. Its constants are
    large: with one function it needs 59,296 samples for a deviation of 0.1 at δ = .05, where `hoeffding` needs 150. So
    it is vacuous on samples of usual size, and models must not be chosen by it.

    Examples
    --------
    >>> from mercer.capacity import FiniteClass, deviation
    >>> round(deviation(FiniteClass(1000), 5000, 0.05).value, 6)
    0.387969
    >>> deviation(FiniteClass(1000), 100, 0.05).vacuous
    True
    """
    owner = "deviation"
    m, delta = check_count(n_samples, "n_samples", owner), check_delta(delta, owner)
    check_functions(functions, owner)
    slope, largest = loss_constants(loss, loss_range, owner)

    def excess(epsilon: float) -> float:
        return _log_failure(functions, m, epsilon, slope, largest) - float(np.log(delta))

    lowest = largest * np.sqrt(2 / m)
    vacuous = lowest >= largest or excess(largest * (1 - 1e-9)) > 0
    value = largest if vacuous else least_root(excess, lowest, largest)
    scale = value / (6 * slope)
    return Deviation(value, vacuous, functions.log_covering(scale, 2 * m), scale)


def samples_needed(
    functions: FunctionClass, epsilon: float, delta: float, *, loss: Loss | None = None, loss_range: float = 1.0
) -> int:
    """Least number of samples from which on `deviation` is at most ε.

    Examples
    --------
    >>> from mercer.capacity import FiniteClass, samples_needed
    >>> samples_needed(FiniteClass(1), 0.1, 0.05)
    59296
    """
    owner = "samples_needed"
    epsilon, delta = check_scale(epsilon, owner), check_delta(delta, owner)
    check_functions(functions, owner)
    slope, largest = loss_constants(loss, loss_range, owner)
    if epsilon >= largest:
        return 1
    ratio = largest / epsilon
    first = whole_above(2 * ratio * ratio)
    return least_count(lambda m: _log_failure(functions, m, epsilon, slope, largest) <= np.log(delta), first)


def _log_failure(functions: FunctionClass, m: int, epsilon: float, slope: float, largest: float) -> float:
    cover = functions.log_covering(epsilon / (6 * slope), 2 * m)
    return float(np.log(12.0 * m) + cover - m * (epsilon / (6 * largest)) ** 2)


def loss_constants(loss: Loss | None, loss_range: float, owner: str) -> tuple[float, float]:
    """Largest slope C and largest value B of a convex loss: both are at an end of its range."""
    size = check_scale(loss_range, owner, "loss_range")
    if loss is None:
        return 1.0, size
    ends: Array = np.array([-size, size]) + (1.0 if loss.classification else 0.0)
    slope, largest = float(np.abs(loss.derivative(ends)).max()), float(np.max(loss.value(ends)))
    if not (np.isfinite(slope) and np.isfinite(largest) and slope > 0 and largest > 0):
        raise ValueError(
            f"loss of {owner} must be finite and not zero for loss_range={loss_range!r}, got values up to "
            f"{largest:.3g}; give another loss_range."
        )
    return slope, largest
