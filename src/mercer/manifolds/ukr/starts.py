"""Starts of unsupervised kernel regression: candidates for the latent points, before they are scaled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.graphs import NeighbourSearch
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.latent.starts import start_coordinates
from mercer.manifolds.principal.fast_maps import manifold_coordinates
from mercer.manifolds.ukr.tuning import TUNING

# Numbers of neighbours that the graphs of each method are tried with.
NEIGHBOURS: dict[str, tuple[int, ...]] = {
    "pca": (),
    "isomap": (5, 8, 12),
    "eigenmaps": (8, 15),
    "lle": (6, 8, 10, 12, 16, 24),
}
# The start of many rows: a soft manifold, if it is clearly better than the others.
MANIFOLD = "manifold"
FAST = ("pca", MANIFOLD, "isomap-12")


def candidate_names(init: str) -> list[str]:
    """Names of the starts that a word stands for: "auto" for all graphs, "isomap" for its own, "isomap-8" for one.

    The list is empty for words that mean nothing.

    Examples
    --------
    >>> from mercer.manifolds.ukr.starts import candidate_names
    >>> candidate_names("isomap"), candidate_names("lle-12"), candidate_names("magic")
    (['isomap-5', 'isomap-8', 'isomap-12'], ['lle-12'], [])
    """
    if init == "auto":
        return [name for method in NEIGHBOURS for name in candidate_names(method)]
    if init == MANIFOLD:
        return [init]
    method, _, count = init.partition("-")
    if method not in NEIGHBOURS or (count and (method == "pca" or not count.isdecimal() or int(count) < 1)):
        return []
    if count or method == "pca":
        return [init]
    return [f"{method}-{n}" for n in NEIGHBOURS[method]]


def candidates(Y: Array, space: LatentSpace, names: Sequence[str], rng: Any) -> Iterator[tuple[str, Array]]:
    """Names and latent coordinates of the rows in a box, one by one; those that cannot be computed are left out.

    Parameters
    ----------
    Y : array of shape (N, d)
        Rows without missing entries, or their coordinates in feature space.
    space : LatentSpace
        Intervals are [-1, 1] and circles have period 2: starts are not scaled yet.
    names : sequence of str
        As `candidate_names` gives them. Numbers of neighbours beyond those of the rows are cut; of equal starts the
        first is kept.
    rng : RandomState
        Moves points apart that a start puts on a line.
    """
    found: set[str] = set()
    for name in names:
        method, _, count = name.partition("-")
        n_neighbors = min(int(count or 1), len(Y) - 1)
        key = f"{method}-{n_neighbors}" if count else method
        if key not in found:
            coordinates = (
                manifold_coordinates(Y, space)
                if method == MANIFOLD
                else start_coordinates(Y, space, method, n_neighbors=n_neighbors)
            )
            found.add(key)
            if np.isfinite(coordinates).all() and np.ptp(coordinates, axis=0).any():
                yield key, apart(coordinates, space, rng)


def spread(Y: Array, some: Array, coordinates: Array, space: LatentSpace) -> Array:
    """Coordinates of all rows in the box from those of some: means over the nearest of these, the near ones most."""
    others = np.setdiff1d(np.arange(len(Y)), some)
    distances, nearest = NeighbourSearch(Y[some]).of(Y[others], TUNING.between)
    weights = 1.0 / np.maximum(distances, 1e-12 * distances.max() + np.finfo(np.float64).tiny)
    weights /= weights.sum(axis=1, keepdims=True)
    Z = np.empty((len(Y), space.n_dims))
    Z[some] = coordinates
    # Around a circle the mean is that of the ways from the nearest one.
    ways = coordinates[nearest] - coordinates[nearest[:, :1]]
    ways = np.where(space.is_circle, (ways + 1.0) % 2.0 - 1.0, ways)
    Z[others] = space.inside(coordinates[nearest[:, 0]] + np.einsum("ij,ijc->ic", weights, ways))
    return Z


def apart(Z: Array, space: LatentSpace, rng: Any) -> Array:
    """Points with some extent in every coordinate: where all have the same value, no gradient moves them apart."""
    flat = np.ptp(Z, axis=0) == 0
    if flat.any():
        Z = space.inside(Z + np.where(flat, 1e-2 * rng.uniform(-1, 1, size=Z.shape), 0.0))
    return Z
