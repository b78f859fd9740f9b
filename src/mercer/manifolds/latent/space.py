"""Latent spaces: products of intervals and circles, their grids, and what moving in them means."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Array

TOPOLOGIES = ("interval", "circle")
PERIOD = 2.0
# Cells along each coordinate, by the number of coordinates.
_CELL_SIDES = (140, 22, 8)
_FEWEST_CELLS = 5
# Rounding that a coordinate may have beyond the end of an interval.
_SLACK = 1e-9


@dataclass(frozen=True)
class LatentSpace:
    """A product of intervals [-1, 1] and circles, which have period 2 on the same numbers.

    Parameters
    ----------
    topology : tuple of {"interval", "circle"}
        One for each coordinate.
    n_cells : int, optional
        Cells along each coordinate; by default fewer the more coordinates there are. Spaces that differ in this alone
        are equal.

    Examples
    --------
    >>> from mercer.manifolds import LatentSpace
    >>> cylinder = LatentSpace(("interval", "circle"))
    >>> cylinder.inside([[1.5, 1.5]])
    array([[ 1. , -0.5]])
    >>> cylinder.grid((2, 4))[:3]
    array([[-1. , -1. ],
           [-1. , -0.5],
           [-1. ,  0. ]])
    """

    topology: tuple[str, ...]
    n_cells: int | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Topology and number of cells, from which all else is found again."""
        return {"topology": self.topology, "n_cells": self.n_cells}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The first model files had no number of cells.
        vars(self).update(topology=state["topology"], n_cells=state.get("n_cells"))

    @property
    def n_dims(self) -> int:
        """Number of coordinates."""
        return len(self.topology)

    @cached_property
    def is_circle(self) -> Array:
        """For each coordinate, whether it is a circle."""
        return np.array([kind == "circle" for kind in self.topology])

    def inside(self, Z: Any) -> Array:
        """Points wrapped around the circles, to [-1, 1), and moved to the nearest end of the intervals."""
        Z = np.asarray(Z, dtype=np.float64)
        wrapped = (Z + 1.0) % PERIOD - 1.0
        # The remainder of a tiny negative number rounds to the period itself.
        wrapped = np.where(wrapped >= 1.0, -1.0, wrapped)
        return np.where(self.is_circle, wrapped, np.clip(Z, -1.0, 1.0))

    def outside(self, Z: Array) -> Array:
        """Which points are beyond the end of an interval; none is outside of a circle."""
        return np.any(~self.is_circle & (np.abs(Z) > 1.0 + _SLACK), axis=1)

    def axis(self, coordinate: int, n: int) -> Array:
        """Equidistant points of a coordinate: with both ends of an interval, or the start of a circle once."""
        return np.linspace(-1.0, 1.0, n, endpoint=not self.is_circle[coordinate])

    def grid(self, sides: tuple[int, ...]) -> Array:
        """All points of a grid with so many points along each coordinate; the last coordinate runs fastest."""
        axes = [self.axis(c, n) for c, n in enumerate(sides)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.n_dims)

    @cached_property
    def cells(self) -> tuple[Array, float]:
        """Centres of equal cells, and the length of their sides."""
        few = _CELL_SIDES[self.n_dims - 1] if self.n_dims <= len(_CELL_SIDES) else _FEWEST_CELLS
        n = few if self.n_cells is None else self.n_cells
        side = PERIOD / n
        axis = -1.0 + side * (np.arange(n) + 0.5)
        return np.stack(np.meshgrid(*[axis] * self.n_dims, indexing="ij"), axis=-1).reshape(-1, self.n_dims), side

    def in_cells(self, Z: Array) -> tuple[Array, Array]:
        """The positions of the cells that points lie in, and where they do, in standard deviations within a cell."""
        centres, side = self.cells
        n = round(PERIOD / side)
        along = np.clip(((Z + 1.0) / side).astype(int), 0, n - 1)
        g = np.ravel_multi_index(tuple(along.T), (n,) * self.n_dims)
        return g, (Z - centres[g]) / (side / np.sqrt(12.0))

    def neighbours(self, sides: tuple[int, ...]) -> Array:
        """Positions in the grid of the points before and after each one, along each coordinate; -1 where none is."""
        position = np.arange(int(np.prod(sides))).reshape(sides)
        columns = []
        for c in range(self.n_dims):
            for step in (1, -1):
                moved = np.roll(position, step, axis=c)
                if not self.is_circle[c]:
                    edge = [slice(None)] * self.n_dims
                    edge[c] = slice(0, 1) if step == 1 else slice(-1, None)
                    moved[tuple(edge)] = -1
                columns.append(moved.ravel())
        return np.column_stack(columns)

    @cached_property
    def fewest_sides(self) -> tuple[int, ...]:
        """Number of points along each coordinate that a grid has at the least."""
        return tuple(3 if circle else 2 for circle in self.is_circle)

    def sides_for(self, spacing: Array, most: float = np.inf) -> tuple[int, ...]:
        """Fewest points along each coordinate whose distance is at most the spacing; fewer if these are too many."""
        steps = np.ceil(PERIOD / spacing - 1e-9).astype(int) + ~self.is_circle
        sides = tuple(max(int(n), few) for n, few in zip(steps, self.fewest_sides, strict=True))
        while np.prod(sides) > most and sides != self.fewest_sides:
            sides = tuple(max(n - 1, few) for n, few in zip(sides, self.fewest_sides, strict=True))
        return sides

    def refined(self, sides: tuple[int, ...]) -> tuple[int, ...]:
        """Points along each coordinate of the grid that has one more point between any two."""
        return tuple(2 * n if circle else 2 * n - 1 for n, circle in zip(sides, self.is_circle, strict=True))


def latent_space(topology: Any, n_components: int, owner: str) -> LatentSpace:
    """The space that a word for all coordinates, or one for each, describes."""
    kinds = (topology,) * n_components if isinstance(topology, str) else topology
    valid = isinstance(kinds, tuple | list) and all(isinstance(kind, str) and kind in TOPOLOGIES for kind in kinds)
    if not valid or len(kinds) != n_components:
        raise ValueError(
            f"topology of {owner} must be 'interval', 'circle' or a tuple of {n_components} of them, got {topology!r}; "
            "name one for each coordinate."
        )
    return LatentSpace(tuple(kinds))
