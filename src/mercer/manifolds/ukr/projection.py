"""Projection of rows on a surface of unsupervised kernel regression, inside of the domain where it is dense enough."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from mercer.arrays import Array
from mercer.hosts import ArrayRows
from mercer.manifolds.ukr.covering import covering
from mercer.manifolds.ukr.quartic import Cells
from mercer.manifolds.ukr.shared_numba import COLUMNS
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.targets import padded
from mercer.manifolds.ukr.tuning import PROJECTIONS, ProjectionTuning


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
    tuning : ProjectionTuning
        Sizes of blocks, and which training points are starts.
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
        tuning: ProjectionTuning = PROJECTIONS,
    ):
        self._surface, self._n_starts, self._apart = surface, n_starts, tuning.apart
        self._limits = float(log_threshold), int(max_steps), float(tol)
        if log_densities is None:
            log_densities = surface.log_density(surface.Z)
        U, kernel = surface.density.unrolled(surface.Z), surface.density.kernel
        reach, number = kernel.projection_reach, np.arange(len(U))
        self._inside, chosen = np.flatnonzero(log_densities >= log_threshold - tuning.slack), number
        if len(U) > tuning.many:
            side = tuning.shared * reach
            self._inside = self._inside[covering(U[self._inside], side)[0]]
            chosen, number = covering(U, side)
            reach += side * math.sqrt(U.shape[1])
        self._height = max(tuning.fewest_rows, tuning.block // len(self._inside))
        self._images, self._places = surface.images(surface.Z[self._inside]), U[self._inside]
        cells = Cells(U, reach)
        first, found = cells.neighbours(U[chosen])
        lists = cells.order.astype(np.int32)[found]
        features = padded(
            surface.values if surface.seen is None else np.hstack([surface.values, surface.seen]), COLUMNS
        )
        periods = surface.density.periods
        radii = np.full(surface.Z.shape[1], np.inf) if periods is None else periods / (2 * np.pi)
        # The fields of `surface_numba.Surface`.
        arrays = [_frozen(array) for array in (surface.Z, U, number, first, lists, features)]
        self._fields = *arrays, surface.seen is not None, _frozen(radii), bool(kernel.compact)

    @classmethod
    def within(cls, surface: Surface, densities: Array, threshold: float) -> Self:
        """For the domain where densities are at least a threshold, given those of the training points."""
        return cls(surface, float(surface.log_share(threshold)), surface.log_share(densities))

    def __call__(self, Y: Array) -> SurfaceProjection:
        """Project rows, whose missing entries are NaN."""
        seen = ~np.isnan(Y)
        known = None if seen.all() else seen.astype(np.float64)
        rows = ArrayRows(np.where(seen, Y, 0.0), known, height=self._height)
        return SurfaceProjection(*rows.map(self._projected))

    def _projected(self, Y: Array, known: Array | None) -> tuple[Array, Array]:
        """The best of several descents."""
        from mercer.manifolds.ukr.projection_numba import Limits, descend
        from mercer.manifolds.ukr.surface_numba import Surface

        means = self._surface.means
        Z, costs = np.empty((len(Y), self._surface.Z.shape[1])), np.empty(len(Y))
        descend(
            np.ascontiguousarray(Y - (means if known is None else known * means)),
            np.ones((1, 1)) if known is None else np.ascontiguousarray(known),
            self._starts(Y, known), Surface(*self._fields), Limits(*self._limits), Z, costs,
        )  # fmt: skip
        return Z, costs

    def _starts(self, Y: Array, known: Array | None) -> Array:
        """Positions of training points to start from, the most promising first, and then -1."""
        images, places = self._images, self._places
        squares = -2.0 * (Y @ images.T)
        squares += np.sum(images**2, axis=1) if known is None else known @ (images**2).T
        starts = np.full((len(Y), self._n_starts), -1)
        for s in range(self._n_starts):
            nearest = squares.argmin(axis=1)
            possible = np.isfinite(squares[np.arange(len(Y)), nearest])
            starts[possible, s] = self._inside[nearest[possible]]
            squares[_squared_distances(places[nearest], places) < self._apart**2] = np.inf
        return starts


def _frozen(array: Array) -> Array:
    """A view that is contiguous, and must not be written to: compiled functions take tuples of one type alone."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _squared_distances(A: Array, B: Array) -> Array:
    return np.asarray(np.sum(A**2, axis=1)[:, None] - 2.0 * A @ B.T + np.sum(B**2, axis=1))
