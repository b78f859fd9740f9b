"""The latent domain: where the density of the latent points is above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer.graphs import NeighbourSearch, parts_of, shortest_links
from mercer.manifolds.ukr.covering import MANY, covering
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Neighbours that a point may be joined with, and places between two points where the density is looked at.
_NEIGHBOURS = 8
_BETWEEN = np.array([0.25, 0.5, 0.75])
# Of many points one stands for those of a cell of this side, in widths of the kernel: a quarter of what is averaged.
_CELLS = {"quartic": 0.25, "gaussian": 1.0}


def density_threshold(densities: Array, rule: Any) -> float:
    """The least density of the latent points, or a quantile of their densities."""
    return float(densities.min() if rule == "minimum" else np.quantile(densities, rule))


def count_pieces(objective: LatentObjective, units: LatentUnits, Z: Array, densities: Array, threshold: float) -> int:
    """How many pieces the domain has, as seen from the latent points in it.

    Two points are in the same piece if the density between them stays above the threshold, or if both are in the same
    piece as others; neighbours are tried, and the shortest links between the pieces that these make. Of more than
    10,000 points those in the same cell, of a quarter of the width of the quartic kernel or one of the Gaussian, count
    as one.
    """
    inside = Z[densities >= threshold * (1 - 1e-12)]
    if len(inside) > MANY:
        inside = inside[covering(units.unrolled(inside), _CELLS[objective.density_kernel])[0]]
    n = len(inside)
    if n < 2:
        return n
    embedded = units.unrolled(inside)
    nearest = NeighbourSearch(embedded).of_rows(min(_NEIGHBOURS, n - 1))[1]
    pairs = np.column_stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    joined = pairs[_dense_between(objective, units, inside[pairs[:, 0]], inside[pairs[:, 1]], Z, threshold)]
    piece = parts_of(_graph(joined, n))
    if piece.max() > 0:
        i, j, _ = shortest_links(embedded, piece)
        links = np.column_stack([i, j])
        links = links[_dense_between(objective, units, inside[i], inside[j], Z, threshold)]
        piece = parts_of(_graph(np.vstack([joined, links]), n))
    return int(piece.max()) + 1


def _dense_between(
    objective: LatentObjective, units: LatentUnits, A: Array, B: Array, Z: Array, threshold: float
) -> Array:
    """Whether the domain holds what is between pairs of points."""
    places = A[:, None] + _BETWEEN[:, None] * units.shortest(B - A)[:, None]
    densities = objective.density(places.reshape(-1, Z.shape[1]), Z).reshape(len(A), -1)
    return np.asarray(densities.min(axis=1) >= threshold)


def _graph(pairs: Array, n: int) -> Any:
    return sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
