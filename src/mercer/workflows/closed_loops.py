"""Whether rows lie along a closed loop rather than a surface, by the held-out likelihood of both manifolds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances

from mercer.arrays import Array
from mercer.manifolds.latent.space import PERIOD
from mercer.workflows.quality import CLEAR_GAIN, paired_gain

# A loop must have this fraction of the gain of the best surface over flat models. Otherwise a second coordinate
# explains more than the shape of the noise, which is seldom the same in all columns.
_SHARE_OF_GAIN = 0.9
# If a loop leaves less than this fraction of the variance, no second coordinate is tried.
_NOTHING_LEFT = 0.02
# Number of places along a loop, and the largest gap as a fraction of its length: a larger gap is the way back from the
# end of an open curve to its beginning.
_PLACES, _LONGEST_GAP = 200, 0.2
# A loop may also follow an open curve there and back, its two sides no more than so many deviations of the noise apart.
# Without noise half of its places, those far from the turns, then have a twin; a loop that crosses itself has few.
_TWINS, _MOST_TWINS = 3.0, 0.25


def loop_or_surface(
    fit: Callable[[int, str], Any], fit_some: Callable[[int, str], Any], gains: Callable[[Any], bool], X: Array
) -> tuple[Any, list[str]]:
    """A principal manifold of the rows, with notes: a closed loop if it explains as much as a surface.

    An interrupted fit is the last.

    Parameters
    ----------
    fit : callable
        fit(n_components, topology) gives a fitted `PrincipalManifold`; all choose by the same held-out rows, being
        given the same random state.
    fit_some : callable
        The same of some of the rows, which are enough to compare shapes; of all if these are few.
    gains : callable
        gains(loop) says whether it is better than a plane, for the case that no surface was fitted.
    X : array
        The rows, with NaN where entries are missing.
    """
    loop = fit_some(1, "circle")
    if _is_interrupted(loop):
        return fit(1, "circle"), []  # the same, or one of all rows that ends at once
    # Otherwise there are too few rows for a choice, or only noise, or the curve is open.
    may_be = bool(loop.candidates_) and loop.kind_ == "manifold" and is_closed(loop)
    if may_be and loop.noise_variance_ < _NOTHING_LEFT * np.nanvar(X, axis=0).mean() and gains(loop):
        words = "A closed loop leaves next to nothing of the variance, so that no surface was compared."
        return fit(1, "circle"), [words]
    if not may_be:
        return fit(2, "auto"), []
    surface = fit_some(2, "auto")
    if _is_interrupted(surface) or not _tells_as_much(loop, surface):
        return fit(2, "auto"), []
    return fit(1, "circle"), [
        f"A closed loop needs one coordinate: its mean log density of held-out rows is {_best(loop):.4g}, that of the "
        f"best surface {_best(surface):.4g}."
    ]


def is_closed(loop: Any) -> bool:
    """Whether rows are all around a loop, and it does not follow an open curve there and back."""
    z = np.linspace(-1.0, 1.0, _PLACES, endpoint=False)
    F = loop.inverse_transform(z[:, None])
    return bool(_longest_gap(loop.embedding_[:, 0], z, F) < _LONGEST_GAP and _share_of_twins(loop, z, F) < _MOST_TWINS)


def _longest_gap(rows: Array, z: Array, F: Array) -> float:
    """The longest piece between neighbouring rows along a loop, as a fraction of its length."""
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.roll(F, -1, axis=0) - F, axis=1))])
    places = np.sort(np.interp(rows, [*z, 1.0], lengths))
    gaps = np.diff(places, append=places[0] + lengths[-1])
    return float(gaps.max() / lengths[-1])


def _share_of_twins(loop: Any, z: Array, F: Array) -> float:
    """Fraction of the places of a loop with a twin: a place a quarter of the loop away or more with the same image."""
    steps = np.abs(z[:, None] - z)
    elsewhere = np.minimum(steps, PERIOD - steps) >= PERIOD / 4
    distances = np.where(elsewhere, euclidean_distances(F), np.inf).min(axis=1)
    # The noise of the components that the loop was fitted to, at most.
    noise = np.sqrt(loop.noise_variance_ * loop.n_features_in_ / loop.n_rotated_)
    return float(np.mean(distances < _TWINS * noise))


def gains_upon(densities: Array, of_flat: Array) -> bool:
    """Whether held-out rows are denser on a map than on a flat one; if there is no evidence, it is accepted."""
    gain, error = paired_gain(densities, of_flat)
    return bool(not np.isfinite(error) or gain > CLEAR_GAIN * error)


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
