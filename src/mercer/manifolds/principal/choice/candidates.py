"""Settings to fit, candidates that come of them, and which of two is better on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentMap
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.choice.tuning import TUNING
from mercer.running import Stopping


@dataclass(frozen=True)
class Candidate:
    """A model that may be chosen.

    Attributes
    ----------
    rung : {"mean", "pca", "manifold"}
        What it is.
    space : LatentSpace
        Its coordinates.
    width, penalty : float
        Of a manifold, else NaN; a width may also be a tuple, for the coordinates, or "auto" for that of a given kernel.
    start : str
        Where a manifold was started.
    maps, variances : list of LatentMap, list of float
        Of the fits in the folds, and their noise.
    map : LatentMap
        Of all rows, or for a manifold that of the first fold.
    log_densities : array of shape (n,)
        Of the rows that are held out, each by the fit that it was held out of.
    """

    rung: str
    space: LatentSpace
    width: Any
    penalty: float
    start: str
    maps: list[LatentMap]
    variances: list[float]
    log_densities: Array
    map: LatentMap

    @property
    def n_components(self) -> int:
        """Number of coordinates."""
        return self.space.n_dims

    @property
    def topology(self) -> tuple[str, ...]:
        """Of the coordinates."""
        return self.space.topology

    @property
    def held_out(self) -> float:
        """Mean of the held-out log densities."""
        return float(self.log_densities.mean())

    def __str__(self) -> str:
        if self.rung == "mean":
            return "the mean"
        if self.rung == "pca":
            return f"{self.n_components} principal components"
        kind = {1: "a curve", 2: "a surface"}.get(self.n_components, f"a manifold of {self.n_components} coordinates")
        width = self.width if isinstance(self.width, str) else ", ".join(f"{w:.2g}" for w in np.ravel(self.width))
        return f"{kind} of width {width} and penalty {self.penalty:.1g} from {self.start}"


@dataclass(frozen=True)
class Setting:
    """A manifold to fit in the folds.

    Attributes
    ----------
    space, width, penalty, start
        As of the `Candidate` that comes of it.
    before : Candidate or list of arrays
        What the fits start from: the maps of another candidate, or coordinates of the training rows of each fold.
    stopping : Stopping
        When they end.
    is_probe : bool
        Whether one fold is enough, for a comparison that nobody is told of.
    """

    space: LatentSpace
    width: Any
    penalty: float
    start: str
    before: Any
    stopping: Stopping
    is_probe: bool = False


def density_of(candidate: Candidate) -> float:
    """What candidates are sorted by."""
    return candidate.held_out


def gain_of(new: Candidate, old: Candidate) -> tuple[float, float]:
    """Mean gain in log density per row, and its standard error; trimmed where a plane is compared to what is flat."""
    gains = new.log_densities - old.log_densities
    return mean_and_error(gains, TUNING.trimmed if new.rung == "pca" and old.rung != "manifold" else 0.0)


def is_clear(gain: float, error: float) -> bool:
    """Whether a gain is more than its error explains."""
    return gain > TUNING.n_errors * error


def mean_and_error(values: Array, trimmed: float = 0.0) -> tuple[float, float]:
    """The mean without a share of the values at either end, and its standard error (Tukey & McLaughlin 1963)."""
    values, n_left_out = np.sort(values), int(trimmed * len(values))
    kept = values[n_left_out : len(values) - n_left_out]
    spread = np.clip(values, kept[0], kept[-1]).std(ddof=1) / (1.0 - 2.0 * trimmed)
    return float(kept.mean()), float(spread / np.sqrt(len(values)))
