"""Cells of rows: splits at medians along principal directions, with borders where both sides count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from mercer.arrays import Array
from mercer.rounding import EQUAL
from mercer.solvers import dense_eigenpairs

# Rows that tell the principal directions, and directions that are tried where many rows are equal.
_ROWS_OF_DIRECTIONS, _MOST_DIRECTIONS = 10_000, 10
# A split that parts fewer rows than this fraction would cost more than it saves.
_LEAST_SIDE = 0.25


class CellRows(NamedTuple):
    """The rows of a cell, and the weights with which it counts for them."""

    cell: int
    rows: Array
    weights: Array


@dataclass(frozen=True)
class CellTree:
    """A binary tree of soft splits, whose leaves are cells.

    Attributes
    ----------
    directions : array of shape (n_splits, n_columns)
        Unit vectors, on which rows are projected.
    low, high : array of shape (n_splits,)
        The border. With u = (projection - low) / (high - low), clipped to [0, 1], the second side of a split has the
        weight 3u² - 2u³ and the first the rest; if low = high, rows beyond belong to the second side alone.
    children : array of shape (n_splits, 2)
        The split on either side, which comes later than this one, or ~k for the cell k.
    n_cells : int
        Number of cells; one, if there are no splits.

    Notes
    -----
    The weight of a cell is the product along its path. Weights add up to one in every row, and change smoothly.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.machines.cell_tree import CellTree
    >>> Z = np.linspace(0.0, 1.0, 101)[:, None]
    >>> tree = CellTree.build(Z, max_rows=60, overlap=0.1)
    >>> [(len(part.rows), float(part.weights.sum().round(6))) for part in tree.parts(Z)]
    [(54, 50.0), (55, 51.0)]
    """

    directions: Array
    low: Array
    high: Array
    children: Array
    n_cells: int

    @classmethod
    def build(cls, Z: Array, max_rows: int, overlap: float) -> Self:
        """Split rows at medians until no cell has more than `max_rows`, borders included.

        The border of a split holds the share `overlap` of the rows of the smaller side, on either side. Rows of which
        no direction parts a quarter, since most of them are equal, stay in one cell.
        """
        splits: list[tuple[Array, float, float]] = []
        children: list[list[int]] = []
        n_cells = 0

        def grow(rows: Array) -> int:
            nonlocal n_cells
            split = _split(Z[rows], overlap) if len(rows) > max_rows else None
            if split is None:
                n_cells += 1
                return ~(n_cells - 1)
            node = len(splits)
            splits.append(split)
            children.append([0, 0])
            second = _weight_of_second(Z[rows], *split)
            children[node] = [grow(rows[second < 1.0]), grow(rows[second > 0.0])]
            return node

        grow(np.arange(len(Z)))
        directions = np.array([direction for direction, _, _ in splits]).reshape(-1, Z.shape[1])
        low, high = (np.array([split[i] for split in splits], dtype=np.float64) for i in (1, 2))
        return cls(directions, low, high, np.array(children, dtype=np.intp).reshape(-1, 2), n_cells)

    def parts(self, Z: Array) -> Iterator[CellRows]:
        """The rows that belong to each cell, and their weights in it."""
        pending = [(0 if len(self.children) else -1, np.arange(len(Z)), np.ones(len(Z)))]
        while pending:
            node, rows, weights = pending.pop()
            if node < 0:
                yield CellRows(~node, rows, weights)
                continue
            second = _weight_of_second(Z[rows], self.directions[node], self.low[node], self.high[node])
            for child, share in zip(self.children[node][::-1], (second, 1.0 - second), strict=True):
                inside = share > 0.0
                pending.append((int(child), rows[inside], weights[inside] * share[inside]))


def _weight_of_second(Z: Array, direction: Array, low: float, high: float) -> Array:
    projection = Z @ direction
    if low == high:
        return (projection > low).astype(np.float64)
    u = np.clip((projection - low) / (high - low), 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def _split(Z: Array, overlap: float) -> tuple[Array, float, float] | None:
    """A direction of large variance that parts the rows in about equal halves, and the ends of the border."""
    n = len(Z)
    for direction in _directions(Z):
        p = np.sort(Z @ direction)
        steps = np.flatnonzero(np.diff(p) > EQUAL * np.abs(p).max()) + 1
        cut = int(steps[np.argmin(np.abs(steps - n / 2))]) if steps.size else 0
        smaller = min(cut, n - cut)
        if smaller < _LEAST_SIDE * n:
            continue
        border = int(overlap * smaller)
        if not border:
            middle = float(p[cut - 1] + 0.5 * (p[cut] - p[cut - 1]))
            return direction, middle, middle
        return direction, float(p[cut - border]), float(p[cut + border - 1])
    return None


def _directions(Z: Array) -> Array:
    """Principal directions, those of most variance first."""
    some = Z[:: -(-len(Z) // _ROWS_OF_DIRECTIONS)]
    centred = some - some.mean(axis=0)
    return dense_eigenpairs(centred.T @ centred, min(_MOST_DIRECTIONS, Z.shape[1]), definite=True).vectors.T
