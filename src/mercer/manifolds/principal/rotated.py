"""Fits to leading components, told and used as fits to all columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.losses.rows import RowLoss
from mercer.manifolds.latent.maps import LatentMap
from mercer.manifolds.latent.rotation import Rotation
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.projection import Projection, project
from mercer.manifolds.principal.result import Callback, ManifoldFit


@dataclass(frozen=True)
class RefinementTuning:
    """Which rows count as near, and how exact others become; set by `amortized` of `benchmarks/manifolds.py`.

    near: the quantile of the costs of the training rows above which a row is searched. tol: of its search.
    """

    near: float = 0.95
    tol: float = 1e-6


_REFINEMENT = RefinementTuning()


def lifted_fit(rotation: Rotation, fit: ManifoldFit, rest: Array) -> ManifoldFit:
    """A fit to components as one to rows, with costs in all columns; `rest` is what is left out of these."""
    if rotation.components is None:
        return fit
    lost = float(rest.mean())
    # The history of EM has another unit, and does not end with the objective.
    history = [value + lost for value in fit.history] if fit.history[-1] == fit.objective else fit.history
    return replace(
        fit, map=rotation.lifted(fit.map), costs=fit.costs + rest, objective=fit.objective + lost, history=history
    )


def lifted_density(rotation: Rotation, density: ManifoldDensity, rest: Array) -> ManifoldDensity:
    """The density of all columns: noise has the same variance in all, and the total that it has in the rows."""
    if rotation.components is None:
        return density
    (k, d), cells = rotation.components.shape, density.cells
    variance = (k * density.variance + float(rest.mean())) / d
    lifted = (cells.F @ rotation.components, cells.U @ rotation.components, cells.centre @ rotation.components)
    return ManifoldDensity(replace(cells, F=lifted[0], U=lifted[1], centre=lifted[2]), variance)


def lifting(rotation: Rotation, callback: Callback | None, rest: Array) -> Callback | None:
    """A callback for fits to components, that is told of all columns, but for the costs of samples of rows."""
    if callback is None or rotation.components is None:
        return callback
    return lambda n_iter, fit: callback(
        n_iter, lifted_fit(rotation, fit, rest if len(rest) == len(fit.costs) else np.zeros(len(fit.costs)))
    )


def project_rotated(
    rotation: Rotation,
    rows: Rows,
    f: LatentMap,
    cost: RowLoss | None = None,
    start: Array | None = None,
    **settings: Any,
) -> Projection:
    """Projections of rows on a map to all columns: complete rows by their components, which takes less time."""
    if rotation.components is None:
        return project(rows, f, cost=cost, start=start, **settings)
    Z, costs = np.empty((len(rows), f.basis.space.n_dims)), np.empty(len(rows))
    holes, whole = rows.divided()
    if len(whole):
        some = None if start is None else start[whole]
        lowered = Rows(rotation.leading(rows.X[whole])), rotation.lowered(f)
        found = project(*lowered, cost=cost, start=some, **settings)
        Z[whole], costs[whole] = found.Z, found.costs + rotation.left_out(rows.X[whole])
    if len(holes):
        some = None if start is None else start[holes]
        found = project(rows.part(holes), f, cost=cost, start=some, **settings)
        Z[holes], costs[holes] = found.Z, found.costs
    return Projection(Z, costs)


def refine_rotated(rotation: Rotation, rows: Rows, fit: ManifoldFit, Z: Array, n_steps: int) -> Array:
    """Points after a few steps of the projection; rows that end farther off than most training rows are searched."""
    found = project_rotated(rotation, rows, fit.map, fit.cost, Z, n_starts=0, max_steps=n_steps)
    far = np.flatnonzero(found.costs > np.quantile(fit.costs, _REFINEMENT.near))
    if len(far):
        part = rows.part(far), fit.map, fit.cost, found.Z[far]
        found.Z[far] = project_rotated(rotation, *part, n_starts=1, tol=_REFINEMENT.tol).Z
    return found.Z
