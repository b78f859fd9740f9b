"""Rows whose missing entries were filled so that EM may take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentMap
from mercer.manifolds.latent.rotation import Rotation
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.result import ManifoldFit

# The projections that missing entries are filled by.
_ROUGHLY: Any = {"n_starts": 1, "max_steps": 20, "tol": 1e-6}


@dataclass(frozen=True)
class PartlyKnown:
    """The leading components of rows of which some entries were filled, and the rows as they were.

    Attributes
    ----------
    X : array of shape (m, k)
        The components; filled entries are written anew by `fill`.
    known : array of shape (m, d)
        The rows, with NaN where entries are missing.
    rotation : Rotation
        To the components.
    """

    X: Array
    known: Array
    rotation: Rotation

    @property
    def is_complete(self) -> bool:
        """Whether no entry is missing any more."""
        return not np.isnan(self.X).any()

    @cached_property
    def holes(self) -> Array:
        """Positions of the rows whose missing entries were filled."""
        return np.flatnonzero(np.isnan(self.known).any(axis=1) & ~np.isnan(self.X).any(axis=1))

    @property
    def judged(self) -> Array:
        """Rows with the entries that are known, but for those whose components are looked at."""
        return self.X if self.rotation.components is not None else self.known

    def part(self, positions: Array, f: LatentMap) -> ManifoldDensity:
        """The density of a map, with the noise of some of the rows."""
        return ManifoldDensity.of(Rows(self.X[positions]), f)

    def density(self, f: LatentMap, positions: Array, variance: float | None = None) -> ManifoldDensity:
        """The density of all columns, with the noise of the entries of some rows that are known."""
        return ManifoldDensity.of(Rows(self.known[positions]), self.rotation.lifted(f), variance)

    def fill(self, f: LatentMap) -> None:
        """Give rows the entries of the nearest points of a map where they have none of their own.

        Expectations would lie off the map, and bring it there, where known entries suit several of its places.
        """
        if len(self.holes):
            known, lifted = self.known[self.holes], self.rotation.lifted(f)
            images = lifted(project(Rows(known), lifted, **_ROUGHLY).Z)
            self.X[self.holes] = self.rotation.leading(np.where(np.isnan(known), images, known))

    def by_known_entries(self, fit: ManifoldFit) -> ManifoldFit:
        """A fit to filled components as one to all columns, with places and costs by the entries that are known."""
        f, rows = self.rotation.lifted(fit.map), Rows(self.known)
        holes, whole = rows.divided()
        Z, costs = fit.Z.copy(), fit.costs.copy()
        costs[whole] += self.rotation.left_out(self.known[whole])
        found = project(rows.part(holes), f, start=fit.Z[holes], n_starts=1)
        Z[holes], costs[holes] = found.Z, found.costs
        objective = fit.objective - float(fit.costs.mean()) + float(costs.mean())
        history = [objective] if fit.history[-1] == fit.objective else fit.history
        return replace(fit, map=f, Z=Z, costs=costs, objective=objective, history=history)
