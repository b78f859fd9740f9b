"""Whether circles that held-out rows are denser on are circles: then they keep neighbours that intervals part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.arrays import Array
from mercer.workflows.quality import CLEAR_GAIN, paired_gain, places_of, shares_of_neighbours


def with_true_circles(manifold: Any, intervals: Callable[[], Any], X: Array) -> tuple[Any, list[str]]:
    """A principal manifold with circles if it keeps more true neighbours than one without, else the latter.

    A circle has no ends, and so no rows that pile up there: held-out rows may be denser on it though nothing is closed.
    But where something is closed, intervals part rows that are near each other or fold over.

    Parameters
    ----------
    manifold : PrincipalManifold
        Fitted with topology="auto".
    intervals : callable
        Gives the manifold of as many intervals; called if there are circles.
    X : array
        The rows, complete.
    """
    if "circle" not in getattr(manifold, "topology_", ()) or manifold.status_ == "interrupted":
        return manifold, []
    cut = intervals()
    if cut.status_ == "interrupted":
        return manifold, []
    kept, parted = (shares_of_neighbours(X, places_of(found, found.embedding_)) for found in (manifold, cut))
    gain, error = paired_gain(kept, parted)
    shares = f"{100 * kept.mean():.0f}% of the nearest rows are true neighbours with circles"
    told = f"{shares}, {100 * parted.mean():.0f}% with intervals."
    if gain > CLEAR_GAIN * error:
        return manifold, [f"Something is closed: {told}"]
    return cut, [f"Circles were tried, and nothing is closed: {told}"]
