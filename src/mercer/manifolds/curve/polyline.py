"""Polygons in any number of dimensions: arc length, and the exact projection of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.threads import run_threaded, threads_for

# Numbers in the temporary arrays of a block of rows: few enough for the processor's cache.
_BLOCK = 2**16


@dataclass(frozen=True)
class Polyline:
    """Straight segments that join vertices, each to the next, and the last to the first if it is closed.

    Parameters
    ----------
    vertices : array of shape (m, d)
        The vertices.
    closed : bool
        Whether the last is joined to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds import Polyline
    >>> square = Polyline(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), closed=True)
    >>> square.length
    4.0
    >>> square.project(np.array([[0.3, -1.0], [-1.0, 0.5]]))
    (array([0.3, 3.5]), array([1., 1.]))
    """

    vertices: Array
    closed: bool = False

    @cached_property
    def corners(self) -> Array:
        """The vertices in order, the first again at the end if the polygon is closed."""
        return np.vstack([self.vertices, self.vertices[:1]]) if self.closed else self.vertices

    @cached_property
    def arcs(self) -> Array:
        """Arc length from the first vertex to each of `corners`."""
        return np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(self.corners, axis=0), axis=1))]

    @property
    def length(self) -> float:
        """The whole length."""
        return float(self.arcs[-1])

    def at(self, arc: Array) -> Array:
        """Points at some arc lengths: around and around if closed, else not beyond the ends."""
        arc = arc % self.length if self.closed and self.length else arc
        return np.column_stack([np.interp(arc, self.arcs, column) for column in self.corners.T])

    def project(self, X: Array) -> tuple[Array, Array]:
        """Arc length of the point nearest to each row, and the squared distance from it.

        All rows against all segments, in blocks of rows and in threads; memory some MiB.
        """
        centre = self.vertices.mean(axis=0)
        starts, steps = self.corners[:-1] - centre, np.diff(self.corners, axis=0)
        squares = np.einsum("ij,ij->i", steps, steps)
        inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
        offset, norms = np.einsum("ij,ij->i", starts, steps), np.einsum("ij,ij->i", starts, starts)
        nearest = np.empty(len(X), dtype=np.intp)
        height = max(16, _BLOCK // len(starts))

        def work(block: Any, _: None) -> None:
            rows = X[block] - centre
            along = rows @ steps.T
            along -= offset
            share = np.clip(along * inverse, 0.0, 1.0)
            # |x - a - t s|² without |x|², which does not matter to the choice.
            distance = share * squares
            distance -= 2.0 * along
            distance *= share
            distance += norms
            distance -= 2.0 * (rows @ starts.T)
            nearest[block] = np.argmin(distance, axis=1)

        blocks: Any = (slice(first, first + height) for first in range(0, len(X), height))
        run_threaded(work, blocks, lambda: None, threads_for(len(X) * len(starts)))
        start, step = starts[nearest] + centre, steps[nearest]
        share = np.clip(np.einsum("ij,ij->i", X - start, step) * inverse[nearest], 0.0, 1.0)
        residual = X - start - share[:, None] * step
        arc = self.arcs[nearest] + share * np.sqrt(squares[nearest])
        return arc, np.einsum("ij,ij->i", residual, residual)
