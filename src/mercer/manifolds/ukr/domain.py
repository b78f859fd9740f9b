"""The latent domain: where the density of the latent points is above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.graphs import NeighbourSearch, parts_of, shortest_links
from mercer.manifolds.ukr.covering import covering
from mercer.manifolds.ukr.density_kernels import LatentDensity
from mercer.manifolds.ukr.tuning import DOMAINS, DomainTuning
from mercer.manifolds.ukr.units import LatentUnits


def density_threshold(densities: Array, rule: Any) -> float:
    """The least density of the latent points, or a quantile of their densities."""
    return float(densities.min() if rule == "minimum" else np.quantile(densities, rule))


def count_pieces(
    density: LatentDensity,
    units: LatentUnits,
    Z: Array,
    densities: Array,
    threshold: float,
    tuning: DomainTuning = DOMAINS,
) -> int:
    """How many pieces the domain has, as seen from the latent points in it.

    Two points are in the same piece if the density between them stays above the threshold, or if both are in the same
    piece as others; neighbours are tried, and the shortest links between the pieces that these make. Of more than
    10,000 points those in the same cell, whose side is `cell` of the kernel, count as one.
    """
    inside = Z[densities >= threshold * (1 - 1e-12)]
    if len(inside) > tuning.many:
        inside = inside[covering(units.unrolled(inside), density.kernel.cell)[0]]
    n = len(inside)
    if n < 2:
        return n
    between = np.array(tuning.between)

    def joins(i: Array, j: Array) -> Array:
        """Whether the domain holds what is between pairs of points."""
        A, B = inside[i], inside[j]
        places = A[:, None] + between[:, None] * units.shortest(B - A)[:, None]
        found = density(places.reshape(-1, Z.shape[1]), Z).reshape(len(A), -1)
        return np.asarray(found.min(axis=1) >= threshold)

    embedded = units.unrolled(inside)
    nearest = NeighbourSearch(embedded).of_rows(min(tuning.neighbours, n - 1))[1]
    pairs = np.column_stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    joined = pairs[joins(*pairs.T)]
    piece = parts_of(_graph(joined, n))
    if piece.max() > 0:
        i, j, _ = shortest_links(embedded, piece)
        links = np.column_stack([i, j])
        links = links[joins(i, j)]
        piece = parts_of(_graph(np.vstack([joined, links]), n))
    return int(piece.max()) + 1


def _graph(pairs: Array, n: int) -> Any:
    return sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
