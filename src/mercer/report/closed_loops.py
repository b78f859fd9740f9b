"""Whether rows lie along a closed loop rather than a surface, by the held-out likelihood of both manifolds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.report.quality import MapQuality, paired_gain

Array = NDArray[Any]

# A loop that has less than this share of what the best surface gains upon flat models is not all that there is: what
# is left to a second coordinate is then more than the shape of the noise, which is seldom the same in all columns.
_SHARE_OF_GAIN = 0.9
# A loop that leaves less than this share of the variance leaves nothing that a second coordinate could show.
_NOTHING_LEFT = 0.02
# A gain counts if it is so many standard errors.
_ERRORS = 2.0


def loop_or_surface(fit: Callable[[int, str], Any], gains: Callable[[Any], bool], X: Array) -> tuple[Any, list[str]]:
    """A principal manifold of the rows, and what there is to say: a closed loop if it tells as much as a surface.

    It must also tell more than an open curve, which a loop can follow there and back. An interrupted fit is the last.

    Parameters
    ----------
    fit : callable
        fit(n_components, topology) gives a fitted `PrincipalManifold`; all choose by the same held-out rows, being
        given the same random state.
    gains : callable
        gains(loop) tells whether it gains upon a plane.
    X : array
        The rows, with NaN where entries are missing.
    """
    loop = fit(1, "circle")
    if _is_interrupted(loop):
        return loop, []
    may_be = bool(loop.candidates_) and np.isfinite(loop.penalty_)  # else too few rows to choose, or just noise
    if may_be and loop.noise_variance_ < _NOTHING_LEFT * np.nanvar(X, axis=0).mean() and gains(loop):
        curve = fit(1, "interval")
        if not _is_interrupted(curve) and _best(loop) > _best(curve):
            return loop, ["A closed loop leaves next to nothing of the variance, so that no surface was compared."]
        may_be = False
    surface = fit(2, "auto")
    if _is_interrupted(surface) or not may_be or not _tells_as_much(loop, surface) or not gains(loop):
        return surface, []
    curve = fit(1, "interval")
    if _is_interrupted(curve) or _best(loop) <= _best(curve):
        return surface, []
    return loop, [
        f"A closed loop needs one coordinate: its mean log density of held-out rows is {_best(loop):.4g}, that of the "
        f"best surface {_best(surface):.4g}, and of an open curve {_best(curve):.4g}."
    ]


def gains_upon(quality: MapQuality, flat: MapQuality | None, rows: Array) -> bool:
    """Whether a map gains upon a flat one in the density of held-out rows; if these do not tell, nothing is against it.

    Parameters
    ----------
    quality, flat : MapQuality or None
        Of both maps.
    rows : array of bool
        The held-out rows that may be compared: densities of rows with missing entries are of those that are known.
    """
    if flat is None:
        return True
    gain, error = paired_gain(quality.log_densities[rows], flat.log_densities[rows])
    return bool(not np.isfinite(error) or gain > _ERRORS * error)


def _tells_as_much(loop: Any, surface: Any) -> bool:
    """Whether the gain of a loop upon the best flat model is nearly that of a surface, or more."""
    flat = max(
        density
        for manifold in (loop, surface)
        for rung, density in zip(manifold.candidates_["rung"], manifold.candidates_["held_out"], strict=True)
        if rung != "manifold"
    )
    gain = _best(loop) - flat
    return bool(gain > 0 and gain >= _SHARE_OF_GAIN * (_best(surface) - flat))


def _best(manifold: Any) -> float:
    """The largest held-out density of the candidates that are manifolds."""
    candidates = manifold.candidates_
    found = [
        density for rung, density in zip(candidates["rung"], candidates["held_out"], strict=True) if rung == "manifold"
    ]
    return max(found, default=-np.inf)


def _is_interrupted(manifold: Any) -> bool:
    return bool(manifold.status_ == "interrupted")
