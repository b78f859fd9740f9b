"""Tables of the factors of a kernel on a latent space: maps are then evaluated without the kernel, and much faster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.manifolds.latent.space import LatentSpace

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

    def __post_init__(self) -> None:
        """Compiled functions read where sides and steps say."""
        q, n_points, width = self.values.shape
        fits = self.sides.shape == self.steps.shape == (q,) and self.sides.min() >= 1 and self.steps.min() >= 1
        if not (fits and self.steps.max() < n_points and 2 * self.sides.max() <= width):
            raise ValueError(
                f"sides and steps of Tables must fit values of shape {self.values.shape}, got {self.sides} and "
                f"{self.steps}; see the attributes."
            )

    def fill(self, Z: Array, K: Array) -> None:
        """Set the first columns of K to k(z, z_j), for the rows of Z and all nodes."""
        from mercer.manifolds.latent.tables_numba import fill

        fill(self.values, self.sides, self.steps, np.ascontiguousarray(Z), K)

    def evaluate(self, alpha: Array, Z: Array, F: Array, T: Array) -> None:
        """Add Σ_j α_j k(z, z_j) to F, of shape (n, d), and its derivatives to T, of shape (n, q, d)."""
        from mercer.manifolds.latent.tables_numba import evaluate

        evaluate(self.values, self.sides, self.steps, np.ascontiguousarray(alpha), np.ascontiguousarray(Z), F, T)


@dataclass(frozen=True)
class Factor:
    """A factor k_c(z_c, z_jc) of a product kernel, between points of one coordinate and its nodes.

    Attributes
    ----------
    kernel, coordinate, nodes : Kernel, int, array of shape (n,)
        The product, which coordinate it is of, and the nodes along this.
    middle : array of shape (q,)
        The point through which the coordinate runs.
    size : float
        What the kernel is divided by, so that the factors have it as their product.
    """

    kernel: Kernel
    coordinate: int
    nodes: Array
    middle: Array
    size: float

    def __call__(self, z: Array) -> Array:
        """The matrix k_c(z_i, z_j)."""
        K = self.kernel(self._on_axis(z), self._on_axis(self.nodes))
        return np.asarray(K / self.size)

    def slope(self, z: Array) -> Array:
        """Its derivative by z_i."""
        gradient = self.kernel.gradient(self._on_axis(z), self._on_axis(self.nodes))
        return np.asarray(gradient[..., self.coordinate] / self.size)

    def _on_axis(self, z: Array) -> Array:
        return _moved(self.middle, self.coordinate, z)


def factors_of(kernel: Kernel, space: LatentSpace, sides: tuple[int, ...]) -> list[Factor] | None:
    """The factors of a kernel for the nodes of a grid, or None if it is no product."""
    nodes = space.grid(sides)
    middle = nodes[len(nodes) // 2]
    if not _is_product(kernel, nodes, middle):
        return None
    # The first factor carries the size of the kernel.
    size = float(kernel(middle[None])[0, 0])
    return [Factor(kernel, c, space.axis(c, n), middle, size if c else 1.0) for c, n in enumerate(sides)]


def tables_of(factors: list[Factor]) -> Tables | None:
    """Tables of the factors of a kernel, or None if one of these is too rough for cubics."""
    columns, sides = [], [len(factor.nodes) for factor in factors]
    for factor in factors:
        table = _table(factor)
        if table is None:
            return None
        columns.append(table)
    steps = np.array([len(table) - 1 for table in columns])
    values = np.zeros((len(factors), steps.max() + 1, 2 * max(sides)))
    for c, table in enumerate(columns):
        values[c, : len(table), : table.shape[1]] = table
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


def _table(factor: Factor) -> Array | None:
    """Values and slopes of one factor, at the fewest points that are enough; None if none are."""
    for n_steps in _STEPS:
        points, step = np.linspace(-1.0, 1.0, n_steps + 1), 2.0 / n_steps
        K, slopes = factor(points), step * factor.slope(points)
        between = (K[:-1] + K[1:]) / 2 + (slopes[:-1] - slopes[1:]) / 8
        if np.abs(between - factor(points[:-1] + step / 2)).max() <= _TOLERANCE * np.abs(K).max():
            return np.hstack([K, slopes])
    return None


def _moved(middle: Array, c: int, values: Array) -> Array:
    points = np.tile(middle, (len(values), 1))
    points[:, c] = values
    return points
