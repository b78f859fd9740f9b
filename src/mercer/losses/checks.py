"""Does a loss keep its promises? A public test, for users' losses as for Mercer's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arrays import Array
from mercer.losses.base import Loss
from mercer.losses.kinks import jump_of_conjugate
from mercer.losses.normalization import mass
from mercer.losses.probes import Probes, error_of_derivative
from mercer.rounding import HOLDS

OnSide = Callable[[Any, bool], Any]

_NOISE = 2e-15  # absolute: a cost of 1 is the natural unit, and small values are often small differences
_NUMERICAL = 1e-6  # what finite differences and quadrature reach


@dataclass
class LossReport:
    """What `check_loss` measured: the name of each property and its largest relative error."""

    loss: str
    errors: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{name:<13} {error:.1e}" for name, error in self.errors.items()]
        return "\n".join([f"{self.loss} passes:", *lines])


def check_loss(loss: Loss, r: Any = None) -> LossReport:
    """Check that the parts of a loss fit together.

    That it is convex; zero and flat where `insensitivity` says; its derivative, as a subgradient everywhere and by
    finite differences where it is smooth; its dual interval, by the slopes of c and by where the conjugate is finite;
    the conjugate, by the inequality c(r) + c*(a) >= a r, with equality where a is the slope at r; `conjugate_slope`
    and `conjugate_curvature` by finite differences; that the slope of the conjugate does not jump; `piecewise_linear`
    and `quadratic` where they are claimed; the noise density, by quadrature; that `clone` copies it.

    Parameters
    ----------
    loss : Loss
        The loss. If it has parameters with an entry for each sample, each is checked.
    r : array_like, optional
        Residuals to test at, all numbers of the scale at which the loss is of interest. By default of sizes from
        0.001 to 1000.

    Returns
    -------
    LossReport
        What was measured.

    Raises
    ------
    ValueError
        If a property fails, saying which one and by how much.

    Examples
    --------
    >>> from mercer.losses import Huber, check_loss
    >>> report = check_loss(Huber(sigma=0.3))
    >>> sorted(report.errors)[:5]
    ['clone', 'conjugate', 'convexity', 'curvature', 'density']
    >>> max(report.errors.values()) < 1e-6
    True
    """
    if not isinstance(loss, Loss):
        raise ValueError(
            f"loss of check_loss must be an instance of Loss, got {loss!r}; derive a class from mercer.losses.Loss."
        )
    report = LossReport(repr(loss))
    with np.errstate(all="ignore"):
        probes = Probes.of(loss, r)
        report.errors["convexity"] = _check_convexity(loss, probes)
        report.errors["insensitivity"] = _check_insensitivity(loss, probes)
        report.errors["derivative"] = _check_derivative(loss, probes)
        report.errors["interval"] = _check_interval(loss, probes)
        report.errors["conjugate"] = _check_conjugate(loss, probes)
        report.errors["slope"] = _check_conjugate_slope(loss, probes)
        report.errors["curvature"] = _check_conjugate_curvature(loss, probes)
        report.errors["shape"] = _check_shape(loss, probes)
        report.errors["clone"] = _check_clone(loss, probes)
        if loss.has_noise_density:
            report.errors["density"] = _check_density(loss, probes)
    return report


def _require(loss: Loss, promise: str, error: Any, allowed: float, where: Any = None) -> float:
    """The largest error, if it is allowed; NaN is not. `where` are the arguments at which the errors were found.

    Errors may be numbers or say by True that something is wrong.
    """
    yes_or_no, error = np.asarray(error).dtype == bool, np.asarray(error, dtype=np.float64)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    largest = float(error.flat[worst])
    if not largest <= allowed:
        at = "" if where is None else f" at {np.broadcast_to(where, error.shape).flat[worst]:.4g}"
        found = "a violation" if yes_or_no else f"a relative error of {largest:.1e}"
        raise ValueError(f"{loss!r} must {promise}, got {found}{at}.")
    return max(largest, 0.0)


def _check_convexity(loss: Loss, probes: Probes) -> float:
    """No value above the chord of its neighbours."""
    r, c = probes.r, probes.c
    _require(loss, "be finite at all residuals", ~np.isfinite(c), 0.0, r)
    share = (r[1:-1] - r[:-2]) / (r[2:] - r[:-2])
    chord = (1 - share) * c[:-2] + share * c[2:]
    scale = np.abs(c[:-2]) + np.abs(c[2:])
    return _require(loss, "be convex", _over(c[1:-1] - chord - _NOISE, scale), HOLDS, r[1:-1])


def _check_insensitivity(loss: Loss, probes: Probes) -> float:
    below, above = (np.asarray(part, dtype=np.float64) for part in loss.insensitivity)
    widths = "have an insensitivity (below, above) of finite widths >= 0"
    _require(loss, widths, [np.any(~((part >= 0) & (part < np.inf))) for part in (below, above)], 0.0)
    if loss.classification and not np.any(below + above):
        return 0.0
    tube = np.linspace(-below, above, 9).reshape(9, -1) * np.ones(probes.n)
    zero = np.abs(probes.call(loss.value, tube)) + np.abs(probes.call(loss.derivative, tube))
    error = _require(loss, "be zero and flat on [-below, above], its insensitivity", zero, 1e-12, tube)
    if not loss.classification:
        _require(loss, "be nowhere negative", -probes.c, 1e-12, probes.r)
    return error


def _check_derivative(loss: Loss, probes: Probes) -> float:
    """Between the slopes of the chords on both sides, and equal to finite differences where c is smooth."""
    r, c, slope, step = probes.r, probes.c, probes.slope, probes.step
    left = (c - probes.call(loss.value, r - step)) / step
    right = (probes.call(loss.value, r + step) - c) / step
    scale = np.abs(slope) + np.abs(left) + np.abs(right) + np.abs(c) / np.maximum(np.abs(r), step)
    promise = "have the derivative that its values have"
    _require(loss, promise, _over(np.maximum(left - slope, slope - right) - _NOISE / step, scale), 1e-7, r)
    error = error_of_derivative(lambda x: probes.call(loss.value, x), r, step, slope)
    return _require(loss, promise, _over(error - _NOISE / step, scale), _NUMERICAL, r)


def _check_interval(loss: Loss, probes: Probes) -> float:
    low, high = probes.low, probes.high
    _require(loss, "have a dual_interval with low <= 0 <= high", ~((low <= 0) & (high >= 0)), 0.0)
    promise = "have the dual_interval (low, high) of its slopes"
    scale = np.abs(probes.slope) + 1.0
    outside = np.maximum(probes.slope - high, low - probes.slope) / scale
    error = _require(loss, promise, outside, HOLDS, probes.r)
    far = 1e8 * np.abs(probes.r).max() * np.ones((1, probes.n))
    for sign, end in ((1.0, high), (-1.0, low)):
        gap = np.abs(probes.call(loss.derivative, sign * far)[0] - end) / (np.abs(end) + 1.0)
        error = max(error, _require(loss, promise, np.where(np.isinf(end), 0.0, gap), 1e-3, sign * far[0]))
    finite = "have a conjugate that is finite inside dual_interval and infinite outside"
    _require(loss, finite, ~np.isfinite(probes.conjugate), 0.0, probes.a)
    for end, sign in ((high, 1.0), (low, -1.0)):
        beyond = np.where(np.isinf(end), 0.0, end + sign * 1e-6 * (1.0 + np.abs(end)))
        infinite = probes.call(loss.conjugate, beyond[None])[0] == np.inf
        _require(loss, finite, ~infinite & np.isfinite(end), 0.0, beyond)
    return error


def _check_conjugate(loss: Loss, probes: Probes) -> float:
    """c(r) + c*(a) >= a r for all pairs, and equality where a is a slope at r or r a slope at a."""
    promise = "have the conjugate sup_r a r - c(r)"
    error = 0.0
    for a, conjugate in zip(probes.a, probes.conjugate, strict=True):
        excess = a * probes.r - probes.c - conjugate - _NOISE
        scale = np.abs(a * probes.r) + np.abs(probes.c) + np.abs(conjugate)
        error = max(error, _require(loss, promise, _over(excess, scale), HOLDS, a))
    for r, c, a in ((probes.r, probes.c, probes.slope), probes.tangents(loss)):
        inside = (a > probes.low) & (a < probes.high)
        conjugate = probes.call(loss.conjugate, np.where(inside, a, 0.0))
        scale = np.abs(a * r) + np.abs(c) + np.abs(conjugate)
        gap = np.where(inside, _over(np.abs(c + conjugate - a * r) - _NOISE, scale), 0.0)
        error = max(error, _require(loss, promise, gap, _NUMERICAL, a))
    return error


def _check_conjugate_slope(loss: Loss, probes: Probes) -> float:
    promise = "have the conjugate_slope that finite differences of the conjugate give"
    return _check_dual(loss, probes, promise, lambda s, above: loss.conjugate(s if above else -s), loss.conjugate_slope)


def _check_conjugate_curvature(loss: Loss, probes: Probes) -> float:
    promise = "have the conjugate_curvature that finite differences of conjugate_slope give"
    return _check_dual(loss, probes, promise, loss.conjugate_slope, loss.conjugate_curvature)


def _check_dual(loss: Loss, probes: Probes, promise: str, function: OnSide, derivative: OnSide) -> float:
    """Compare a function of (s, above) and its derivative on both sides of the dual interval."""
    errors = [0.0]
    for s, step, sign in probes.dual_points():
        of_s = partial(probes.call, _on_side(function, sign > 0))
        claimed = probes.call(_on_side(derivative, sign > 0), s)
        scale = np.abs(claimed) + np.abs(of_s(s)) / s
        error = error_of_derivative(of_s, s, step, claimed)
        errors.append(_require(loss, promise, _over(error - _NOISE / step, scale), _NUMERICAL, sign * s))
    return max(errors)


def _check_shape(loss: Loss, probes: Probes) -> float:
    """What the loss says of its shape, and solvers believe."""
    error = 0.0
    jump = jump_of_conjugate(loss)
    promise = "have one kink at most on each side of zero, so that the slope of its conjugate does not jump"
    _require(loss, promise, [jump is not None], 0.0, 0.0 if jump is None else jump)
    if loss.quadratic:
        gap = _over(np.abs(probes.c - probes.r**2 / 2), probes.r**2)
        error = _require(loss, "be r²/2, since it says that it is quadratic", gap, HOLDS, probes.r)
    if loss.piecewise_linear:
        for s, _, sign in probes.dual_points():
            curvature = np.abs(probes.call(_on_side(loss.conjugate_curvature, sign > 0), s))
            promise = "have a conjugate without curvature, since it says that it is piecewise_linear"
            error = max(error, _require(loss, promise, curvature, HOLDS, sign * s))
    if loss.piecewise_quadratic:
        for s, _, sign in probes.dual_points():
            curvature = probes.call(_on_side(loss.conjugate_curvature, sign > 0), s)
            spread = _over(np.abs(curvature - curvature[:1]), np.abs(curvature))
            promise = "have a conjugate of one curvature on each side, since it says that it is piecewise_quadratic"
            error = max(error, _require(loss, promise, spread, HOLDS, sign * s))
    return error


def _on_side(function: OnSide, above: bool) -> Callable[[Array], Any]:
    return lambda s: function(s, above)


def _check_clone(loss: Loss, probes: Probes) -> float:
    copied = probes.call(clone(loss).value, probes.r)
    scale = np.abs(probes.c) + 1e-300
    return _require(loss, "be copied by sklearn.base.clone", np.abs(copied - probes.c) / scale, HOLDS, probes.r)


def _check_density(loss: Loss, probes: Probes) -> float:
    some = slice(None, None, 9 if probes.per_sample else 1)  # each row may cost a quadrature
    density = probes.call(loss.noise_density, probes.r[some])
    error = np.abs(density * mass(loss) - np.exp(-probes.c[some]))
    return _require(loss, "have the noise_density exp(-c), normalised to one", error, _NUMERICAL, probes.r[some])


def _over(excess: Array, scale: Array) -> Array:
    """Excess relative to the size of its terms, zero where all of them vanish."""
    return np.where(scale > 0, excess / np.where(scale > 0, scale, 1.0), excess)
