"""Projection of rows on a surface of unsupervised kernel regression, inside of the domain where it is dense enough."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.blas import allowed_threads, single_threaded_blas
from mercer.kernels.tiles import run_threaded
from mercer.manifolds.ukr.covering import MANY, covering
from mercer.manifolds.ukr.quartic import Cells
from mercer.manifolds.ukr.shared_numba import COLUMNS
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.targets import padded
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Numbers in the largest temporary array of a block of rows, and how many rows it has at least.
_BLOCK, _FEWEST_ROWS = 2**18, 32
# Starts are apart by so many widths of the kernel.
_APART = 1.0
# Distances of training points beyond which one has no weight where the other is near enough; see `projection_numba`.
_GAUSSIAN_REACH, _QUARTIC_REACH = 8.0, 2.0
# Of many training points those in a cell, whose side is this share of the reach, have one list and are one start.
_SHARED = 0.25
# Rounding by which a point may be outside of the domain, in the logarithm of the density.
_SLACK = 1e-9


class SurfaceProjection(NamedTuple):
    """Latent points (M, q), and the squared distances of the rows from their images, in entries that are known (M,)."""

    Z: Array
    squares: Array


class RowProjection(NamedTuple):
    """Latent points of rows, squared distances of the rows from the surface, and who is outside.

    Attributes
    ----------
    Z : array of shape (M, q)
        Latent points.
    squares : array of shape (M,)
        Squared distances.
    outside : array of bool of shape (M,)
        Which rows are farther from the surface than any training row from its leave-one-out estimate.
    """

    Z: Array
    squares: Array
    outside: Array


class SurfaceProjector:
    """Finds argmin_z ||y - f(z)||² subject to p(z) >= threshold K(0), [Meinicke2005]_, eq. (19), for many rows at once.

    From the nearest images of training points, a kernel width apart from each other, damped Gauss-Newton steps, each in
    the plane where the log density, linearised, stays above the threshold. No step is taken that raises the distance
    or leaves the domain. Of more than 10,000 training points only some are starts: none of the others is farther from
    one of them than a step or two.

    Parameters
    ----------
    surface : Surface
        The surface.
    log_threshold : float
        Logarithm of the threshold η; at least one training point must be as dense.
    log_densities : array of shape (N,), optional
        Of the training points, if they are known.
    n_starts : int
        Starts for each row.
    max_steps : int
        Most steps.
    tol : float
        A row goes on until a step promises less than this share of its distance.
    """

    def __init__(
        self,
        surface: Surface,
        log_threshold: float,
        log_densities: Array | None = None,
        *,
        n_starts: int = 3,
        max_steps: int = 50,
        tol: float = 1e-6,
    ):
        self._surface, self._log_threshold = surface, log_threshold
        self._n_starts, self._max_steps, self._tol = n_starts, max_steps, tol
        if log_densities is None:
            log_densities = surface.log_density(surface.Z)
        self._quartic = surface.objective.density_kernel == "quartic"
        q = surface.Z.shape[1]
        periods = np.full(q, np.inf) if surface.objective.periods is None else surface.objective.periods
        self._radii = periods / (2 * np.pi)
        self._U = np.ascontiguousarray(LatentUnits(periods).unrolled(surface.Z))
        reach = _QUARTIC_REACH if self._quartic else _GAUSSIAN_REACH
        self._inside = np.flatnonzero(log_densities >= log_threshold - _SLACK)
        chosen = self._number = np.arange(len(self._U))
        if len(self._U) > MANY:
            side = _SHARED * reach
            self._inside = self._inside[covering(self._U[self._inside], side)[0]]
            chosen, self._number = covering(self._U, side)
            reach += side * math.sqrt(self._U.shape[1])
        self._images = surface.images(surface.Z[self._inside])
        cells = Cells(self._U, reach)
        # Training points within reach of point i are lists[first[k]:first[k + 1]] for k = number[i].
        self._first, found = cells.neighbours(self._U[chosen])
        self._lists = cells.order.astype(np.int32)[found]
        features = surface.values if surface.seen is None else np.hstack([surface.values, surface.seen])
        self._features = padded(features, COLUMNS)

    @classmethod
    def within(cls, surface: Surface, densities: Array, threshold: float) -> Self:
        """For the domain where densities are at least a threshold, given those of the training points."""
        return cls(surface, float(surface.log_share(threshold)), surface.log_share(densities))

    def _blocks(self, n_rows: int) -> list[slice]:
        height = max(_FEWEST_ROWS, _BLOCK // len(self._inside))
        return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]

    def __call__(self, Y: Array) -> SurfaceProjection:
        """Project rows, whose missing entries are NaN."""
        seen = ~np.isnan(Y)
        known = None if seen.all() else seen.astype(np.float64)
        Y = np.where(seen, Y, 0.0)
        Z, squares = np.empty((len(Y), self._surface.Z.shape[1])), np.empty(len(Y))

        def work(block: Any, _: None) -> None:
            part = None if known is None else known[block]
            Z[block], squares[block] = self._projected(Y[block], part)

        with single_threaded_blas:
            blocks: Any = self._blocks(len(Y))
            run_threaded(work, blocks, lambda: None, min(allowed_threads(), len(blocks)))
        return SurfaceProjection(Z, squares)

    def _projected(self, Y: Array, known: Array | None) -> tuple[Array, Array]:
        """The best of several descents."""
        from mercer.manifolds.ukr.projection_numba import descend

        surface = self._surface
        Z, costs = np.empty((len(Y), surface.Z.shape[1])), np.empty(len(Y))
        descend(
            np.ascontiguousarray(Y - (surface.means if known is None else known * surface.means)),
            np.ones((1, 1)) if known is None else np.ascontiguousarray(known),
            self._starts(Y, known), surface.Z, self._U, self._number, self._first, self._lists, self._features,
            surface.seen is not None, self._radii, self._quartic, self._log_threshold, self._max_steps, self._tol,
            Z, costs,
        )  # fmt: skip
        return Z, costs

    def _starts(self, Y: Array, known: Array | None) -> Array:
        """Positions of training points to start from, the most promising first, and then -1."""
        images, places = self._images, self._U[self._inside]
        squares = -2.0 * (Y @ images.T)
        squares += np.sum(images**2, axis=1) if known is None else known @ (images**2).T
        starts = np.full((len(Y), self._n_starts), -1)
        for s in range(self._n_starts):
            nearest = squares.argmin(axis=1)
            possible = np.isfinite(squares[np.arange(len(Y)), nearest])
            starts[possible, s] = self._inside[nearest[possible]]
            squares[_squared_distances(places[nearest], places) < _APART**2] = np.inf
        return starts


def _squared_distances(A: Array, B: Array) -> Array:
    return np.asarray(np.sum(A**2, axis=1)[:, None] - 2.0 * A @ B.T + np.sum(B**2, axis=1))
