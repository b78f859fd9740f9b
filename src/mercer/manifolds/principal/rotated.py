"""Fits to leading components, told and used as fits to all columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays import Array
from mercer.losses.rows import RowLoss
from mercer.manifolds.latent.maps import LatentMap
from mercer.manifolds.latent.rotation import Rotation
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.projection import Projection, project
from mercer.manifolds.principal.result import Callback, ManifoldFit


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


def project_rotated(rotation: Rotation, rows: Rows, f: LatentMap, cost: RowLoss | None = None) -> Projection:
    """Projections of rows on a map to all columns: complete rows by their components, which takes less time."""
    if rotation.components is None:
        return project(rows, f, cost=cost)
    Z, costs = np.empty((len(rows), f.basis.space.n_dims)), np.empty(len(rows))
    holes, whole = rows.divided()
    if len(whole):
        found = project(Rows(rotation.leading(rows.X[whole])), rotation.lowered(f), cost=cost)
        Z[whole], costs[whole] = found.Z, found.costs + rotation.left_out(rows.X[whole])
    if len(holes):
        found = project(rows.part(holes), f, cost=cost)
        Z[holes], costs[holes] = found.Z, found.costs
    return Projection(Z, costs)
