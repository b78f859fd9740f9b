"""From latent points of a sample of the rows to those of all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.arrays import Array
from mercer.graphs import NeighbourSearch
from mercer.manifolds.latent.starts import filled
from mercer.manifolds.ukr.density_kernels import LatentDensity
from mercer.manifolds.ukr.domain import density_threshold
from mercer.manifolds.ukr.projection import SurfaceProjector
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.units import LatentUnits
from mercer.running import unless_interrupted


def placed(
    Y: Array, some: Array, Z_some: Array, density: LatentDensity, units: LatentUnits
) -> tuple[Array, LatentUnits, bool]:
    """Latent points of all rows, where the others than those of a sample are projected on its surface.

    Parameters
    ----------
    Y : array of shape (N, d)
        All rows; NaN where an entry is missing.
    some : array of shape (n,)
        Positions of the sample.
    Z_some : array of shape (n, q)
        Latent points of it, in widths of the kernel.
    density : LatentDensity
        Of the sample.
    units : LatentUnits
        Lines and circles.

    Returns
    -------
    Z : array of shape (N, q)
        Latent points in widths of a narrower kernel, since of more rows each has more neighbours.
    units : LatentUnits
        Lines and circles in these widths.
    finished : bool
        Whether all rows were projected. If Ctrl-C came before, they have the points of the nearest rows of the sample.
    """
    densities = density(Z_some, Z_some)
    surface = Surface(density, Z_some, Y[some])
    project = SurfaceProjector.within(surface, densities, density_threshold(densities, "minimum"))
    Z, finished = projected_others(Y, some, Z_some, lambda rows: project(rows).Z)
    factor = (len(Y) / len(some)) ** (1.0 / (Z.shape[1] + 4))
    return Z * factor, LatentUnits(units.periods * factor), finished


def projected_others(Y: Array, some: Array, Z_some: Array, project: Callable[[Array], Array]) -> tuple[Array, bool]:
    """Latent points of all rows from those of some, and whether the others were projected before Ctrl-C."""
    Z, others = np.empty((len(Y), Z_some.shape[1])), np.setdiff1d(np.arange(len(Y)), some)
    Z[some] = Z_some

    def nearest() -> Array:
        complete = filled(Y)
        return Z_some[NeighbourSearch(complete[some]).of(complete[others], 1)[1][:, 0]]

    found = unless_interrupted(lambda: project(Y[others]), lambda: None)
    Z[others] = nearest() if found is None else found
    return Z, found is not None
