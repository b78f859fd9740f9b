"""Whether rows lie along a closed loop rather than a surface, by the held-out likelihood of both manifolds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.manifolds import PrincipalManifold
from mercer.report.quality import MapQuality, paired_gain

Array = NDArray[Any]

# A loop that has less than this share of what the best surface gains upon flat models is not all that there is: what
# is left to a second coordinate is then more than the shape of the noise, which is seldom the same in all columns.
_SHARE_OF_GAIN = 0.9
# A gain counts if it is so many standard errors.
_ERRORS = 2.0


def is_closed_loop(loop: Any, surface: PrincipalManifold) -> bool:
    """Whether a closed curve tells nearly as much of held-out rows as the best surface, or more.

    Both manifolds chose their settings by the same held-out rows, being given the same random state. The gain of each
    is that of its best candidate upon the best flat one: the mean or a plane.

    Parameters
    ----------
    loop : PrincipalManifold
        Of one coordinate that is a circle.
    surface : PrincipalManifold
        Of two coordinates, fitted to the same rows.
    """
    if not np.isfinite(loop.penalty_):
        return False  # not even better than the mean
    densities = [
        (rung, density)
        for manifold in (loop, surface)
        for rung, density in zip(manifold.candidates_["rung"], manifold.candidates_["held_out"], strict=True)
    ]
    flat = max(density for rung, density in densities if rung != "manifold")
    gains = [_best(manifold) - flat for manifold in (loop, surface)]
    return bool(gains[0] > 0 and gains[0] >= _SHARE_OF_GAIN * gains[1])


def loop_in_words(loop: Any, surface: Any) -> str:
    """What was compared."""
    return (
        f"A closed loop needs one coordinate: its mean log density of held-out rows is {_best(loop):.4g}, that of the "
        f"best surface {_best(surface):.4g}."
    )


def gains(quality: MapQuality | None, flat: MapQuality | None, rows: Array) -> bool:
    """Whether a map gains upon a flat one in the density of held-out rows; if these do not tell, nothing is against it.

    Parameters
    ----------
    quality, flat : MapQuality or None
        Of both maps.
    rows : array of bool
        The held-out rows that may be compared: densities of rows with missing entries are of those that are known.
    """
    if quality is None or flat is None:
        return True
    gain, error = paired_gain(quality.log_densities[rows], flat.log_densities[rows])
    return bool(not np.isfinite(error) or gain > _ERRORS * error)


def _best(manifold: Any) -> float:
    """The largest held-out density of the candidates that are manifolds."""
    candidates = manifold.candidates_
    found = [
        density for rung, density in zip(candidates["rung"], candidates["held_out"], strict=True) if rung == "manifold"
    ]
    return max(found, default=-np.inf)
