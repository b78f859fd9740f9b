"""Which of several maps is shown, by what is honest without labels, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.workflows.methods import METHODS, MapSettings, methods_in_words
from mercer.workflows.quality import CLEAR_GAIN, MapQuality, neighbourhoods, paired_gain
from mercer.workflows.row_groups import Groups

# What headlines say.
_ENOUGH, _NO_SHAPES = "Principal components are enough", "do not read shapes into it."
# What manifolds are called, by their coordinates in the order of the alphabet.
_SHAPES = {
    ("interval",): "a curve", ("circle",): "a closed loop",
    ("interval", "interval"): "a curved surface", ("circle", "interval"): "a tube", ("circle", "circle"): "a torus",
}  # fmt: skip


@dataclass(frozen=True)
class FittedMap:
    """One of the maps that were tried.

    Attributes
    ----------
    method : str
        A name of `METHODS`.
    estimator : estimator
        Fitted to all rows.
    embedding : array of shape (n, dim)
        Coordinates of the rows.
    quality : MapQuality or None
        None if it was interrupted before.
    agreement : float
        `label_agreement`, NaN without labels.
    interrupted : bool
        Whether the fit ended early.
    """

    method: str
    estimator: Any
    embedding: Array
    quality: MapQuality | None = None
    agreement: float = np.nan
    interrupted: bool = False

    @property
    def is_flat(self) -> bool:
        """Whether a principal manifold is none: held-out rows did not want one."""
        return self.method == "manifold" and self.estimator.kind_ != "manifold"


@dataclass(frozen=True)
class MapChoice:
    """The choice between maps that were fitted.

    Attributes
    ----------
    maps : dict of str to FittedMap
        What there is; principal components are among them.
    X : array
        The rows.
    settings : MapSettings
        What was asked for.
    hides : bool
        Whether there are columns enough to hide entries.
    wanted : list of str
        The maps that were to be tried.
    groups : Groups
        Groups of rows with next to nothing between them.
    """

    maps: dict[str, FittedMap]
    X: Array
    settings: MapSettings
    hides: bool
    wanted: list[str]
    groups: Groups

    def made(self) -> tuple[str, str, list[str]]:
        """The name of the chosen map, the verdict, and reasons."""
        name, verdict, reasons = self._ladder()
        reasons = [*reasons, *self.groups.words]
        if self.settings.method not in ("auto", "manifold"):
            asked = self.settings.method
            if asked in self.maps:
                return asked, f"The map shows {METHODS[asked].words}, as asked.", []
            return "pca", "The work was stopped before the map that was asked for was ready; it shows PCA.", []
        if self.settings.method == "manifold":
            return name, verdict, reasons
        name, verdict, reasons = self._by_hidden_entries(name, verdict, reasons)
        left = [other for other in self.wanted if other != name and not self._is_compared(other)]
        if left:
            verdict = verdict.replace(_ENOUGH, f"As far as maps were compared, {_ENOUGH[0].lower()}{_ENOUGH[1:]}")
            reasons = [*reasons, f"Not compared: {methods_in_words(left)}."]
        if self.spared:
            spared = methods_in_words(self.spared)
            reasons = [*reasons, f"Not compared, since they are seldom better: {spared}. --thorough adds them."]
        return name, verdict, reasons

    def _is_compared(self, name: str) -> bool:
        """Whether held-out rows were used: for a manifold that turned out flat they were before it was measured."""
        found = self.maps.get(name)
        return found is not None and (found.quality is not None or (found.is_flat and not found.interrupted))

    @property
    def spared(self) -> list[str]:
        """Maps that would have been compared if that had been asked for."""
        if self.settings.method != "auto" or self.settings.thorough or "circle" in self.settings.topology:
            return []
        return [name for name, method in METHODS.items() if method.thorough and name not in self.wanted]

    def _ladder(self) -> tuple[str, str, list[str]]:
        """The mean, principal components, or a manifold: by the likelihood of held-out rows."""
        manifold = self.maps.get("manifold")
        if manifold is None:
            return "pca", "The map shows principal components; no curved map was ready to compare them to.", []
        how = [f"Held-out rows: {manifold.estimator.chosen_}."]
        if manifold.interrupted:
            return self._after_interruption(manifold)
        shape = _SHAPES.get(tuple(sorted(manifold.estimator.topology_)), "a curved space")
        if not manifold.is_flat:
            if manifold.embedding.shape[1] >= self.X.shape[1]:
                return "pca", (
                    "The map has as many coordinates as the table has columns: it shows the rows as they are, turned "
                    "to their principal components."
                ), how  # fmt: skip
            if self.groups.are_many:
                n = len(self.groups.shares)
                return "manifold", f"The rows fall into {n} separate groups: the map lays them out side by side.", how
            return "manifold", f"The rows lie along {shape}: the map unrolls it.", how
        if manifold.estimator.kind_ == "mean":
            return "pca", f"{self._no_structure(shape)} The picture shows principal components; {_NO_SHAPES}", how
        return "pca", f"{_ENOUGH}: no principal manifold predicts held-out rows better than a plane does.", how

    def _no_structure(self, shape: str) -> str:
        """By what was compared: the mean, a plane unless there are circles, and a manifold that must beat both."""
        if "circle" in self.settings.topology:
            return f"No structure was found: {shape} predicts held-out rows no better than the mean of the table."
        if self.groups.are_many:
            found = f"The rows fall into {len(self.groups.shares)} separate groups, and no other structure was found"
        else:
            found = "No structure was found"
        return (
            f"{found}: principal components predict held-out rows no better than the mean of the table, and no "
            "principal manifold predicts them better than both the mean and a plane."
        )

    def _after_interruption(self, manifold: FittedMap) -> tuple[str, str, list[str]]:
        pca = self.maps["pca"]
        gain, error = (0.0, np.inf)
        if manifold.quality is not None and pca.quality is not None:
            gain, error = paired_gain(manifold.quality.log_densities, pca.quality.log_densities)
        if not np.isfinite(error):
            return self._not_compared(manifold, pca)
        how = [f"Log density of held-out rows against principal components: {gain:+.3g} ± {error:.2g}."]
        if gain > CLEAR_GAIN * error or self.settings.method == "manifold":
            return "manifold", "The search was stopped early; the best curved map so far is shown.", how
        return "pca", "The search was stopped early; no curved map so far predicts held-out rows better than PCA.", how

    def _not_compared(self, manifold: FittedMap, pca: FittedMap) -> tuple[str, str, list[str]]:
        """Without held-out rows: the map that was asked for, or the one with the better neighbours."""
        filled = np.where(np.isnan(self.X), 0.0, self.X)
        trusts = {found.method: neighbourhoods(filled, found.embedding)[0] for found in (manifold, pca)}
        asked = self.settings.method == "manifold"
        curved = asked or not trusts["manifold"] <= trusts["pca"]
        how = [
            "The maps were not compared on held-out rows. Trustworthiness of neighbours: "
            f"{100 * trusts['manifold']:.1f}% on the curved map, {100 * trusts['pca']:.1f}% on principal components."
        ]
        shown = "the curved map so far" if curved else "the map of principal components"
        why = "as asked" if asked else "which keeps neighbours better"
        verdict = f"The search was stopped early, and held-out rows were not asked: shown is {shown}, {why}."
        return "manifold" if curved else "pca", verdict, how

    def _by_hidden_entries(self, name: str, verdict: str, reasons: list[str]) -> tuple[str, str, list[str]]:
        """Another map is taken if it guesses hidden entries better beyond doubt."""
        quality = self.maps[name].quality
        if quality is None or not self.hides:
            return name, verdict, reasons
        better: dict[str, tuple[float, float]] = {}
        for other, found in self.maps.items():
            if found.quality is not None and other not in ("pca", "manifold"):
                gain, error = paired_gain(quality.hidden_errors, found.quality.hidden_errors)
                if gain > CLEAR_GAIN * error:
                    better[other] = gain, error
        if not better:
            return name, verdict, reasons
        best = max(better, key=lambda other: better[other][0])
        gain, error = better[best]
        words = METHODS[best].words
        reasons = [*reasons, f"Error on hidden entries falls by {gain:.3g} ± {error:.2g} with {words}."]
        return best, f"The map shows {words}: no other map guesses hidden entries as well.", reasons
