"""Tables of the factors of a kernel on a latent space: maps are then evaluated without the kernel, and much faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel
from mercer.manifolds.latent_space import LatentSpace

Array = NDArray[Any]

# Error of the cubics between the points of a table, as a share of the kernel. The error of f is that of its own cubics
# however large its coefficients are, since interpolation is linear.
_TOLERANCE = 1e-10
_STEPS = (256, 1024, 4096)


@dataclass(frozen=True)
class Tables:
    """Values and slopes of the factors k_c of k(z, z_j) = Π_c k_c(z_c, z_jc) at equidistant points.

    Attributes
    ----------
    values : array of shape (q, largest of steps + 1, 2 times the largest side)
        For each coordinate and point, k_c against the nodes of that coordinate, and the slopes.
    sides, steps : array of shape (q,)
        Number of nodes, and of intervals between the points, of each coordinate.
    """

    values: Array
    sides: Array
    steps: Array

    def fill(self, Z: Array, K: Array) -> None:
        """Set the first columns of K to k(z, z_j), for the rows of Z and all nodes."""
        from mercer.manifolds.tables_numba import fill

        fill(self.values, self.sides, self.steps, np.ascontiguousarray(Z), K)

    def evaluate(self, alpha: Array, Z: Array, F: Array, T: Array) -> None:
        """Add Σ_j α_j k(z, z_j) to F, of shape (n, d), and its derivatives to T, of shape (n, q, d)."""
        from mercer.manifolds.tables_numba import evaluate

        evaluate(self.values, self.sides, self.steps, np.ascontiguousarray(alpha), np.ascontiguousarray(Z), F, T)


def tables_of(kernel: Kernel, space: LatentSpace, sides: tuple[int, ...]) -> Tables | None:
    """Tables for the nodes of a grid, or None if the kernel is no product, or too rough for cubics."""
    nodes = space.grid(sides)
    middle = nodes[len(nodes) // 2]
    if not _is_product(kernel, nodes, middle):
        return None
    columns = []
    for c in range(space.n_dims):
        table = _table(kernel, c, space.axis(c, sides[c]), middle)
        if table is None:
            return None
        columns.append(table)
    steps = np.array([len(table) - 1 for table in columns])
    values = np.zeros((space.n_dims, steps.max() + 1, 2 * max(sides)))
    for c, table in enumerate(columns):
        # The first factor carries the size of the kernel.
        values[c, : len(table), : table.shape[1]] = table / (1.0 if c == 0 else kernel(middle[None])[0, 0])
    return Tables(values, np.array(sides), steps)


def _is_product(kernel: Kernel, nodes: Array, middle: Array) -> bool:
    """Whether k(z, z') k(o, o)^(q-1) = Π_c k(o + (z - o)_c, o + (z' - o)_c), at some points."""
    if nodes.shape[1] == 1:
        return True
    rng = np.random.default_rng(0)
    some = nodes[rng.integers(len(nodes), size=20)]
    Z = rng.uniform(-1.0, 1.0, size=(20, nodes.shape[1]))
    size = kernel(middle[None])[0, 0]
    if not size > 0:
        return False
    product = np.full((20, 20), size)
    for c in range(nodes.shape[1]):
        product *= kernel(_moved(middle, c, Z[:, c]), _moved(middle, c, some[:, c])) / size
    return bool(np.abs(product - kernel(Z, some)).max() <= _TOLERANCE * size)


def _table(kernel: Kernel, c: int, nodes: Array, middle: Array) -> Array | None:
    """Values and slopes of one factor, at the fewest points that are enough; None if none are."""
    at_nodes = _moved(middle, c, nodes)
    for n_steps in _STEPS:
        points, step = np.linspace(-1.0, 1.0, n_steps + 1), 2.0 / n_steps
        K = kernel(_moved(middle, c, points), at_nodes)
        slopes = step * kernel.gradient(_moved(middle, c, points), at_nodes)[..., c]
        between = (K[:-1] + K[1:]) / 2 + (slopes[:-1] - slopes[1:]) / 8
        exact = kernel(_moved(middle, c, points[:-1] + step / 2), at_nodes)
        if np.abs(between - exact).max() <= _TOLERANCE * np.abs(K).max():
            return np.hstack([K, slopes])
    return None


def _moved(middle: Array, c: int, values: Array) -> Array:
    points = np.tile(middle, (len(values), 1))
    points[:, c] = values
    return points
