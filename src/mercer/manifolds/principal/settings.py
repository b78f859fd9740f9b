"""What the parameters of `PrincipalManifold` mean for given rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer.graphs import NeighbourSearch
from mercer.kernels import Kernel
from mercer.losses.rows import RowLoss, SquaredRows, as_row_loss
from mercer.manifolds.latent.kernels import Length, check_latent_kernel, default_kernel
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.rotation import automatic_n_rotated
from mercer.manifolds.latent.space import LatentSpace, latent_space
from mercer.parameters import check_count, check_positive
from mercer.regularizers.maps import MapPenalty, as_map_penalty

Array = NDArray[Any]

OWNER = "PrincipalManifold"
# Widths for one, two, and more coordinates, the penalty in units of the variance, and nodes of a curve of least length.
_WIDTHS = (0.2, 0.5, 0.8)
_PENALTY = 3e-4
_LENGTH_NODES = 41
# Nodes are no farther apart than this share of the width: more of them change nothing.
_SPACING = 0.7
# Rows that tell the level of noise, and neighbours whose mean a row is compared with.
_SAMPLE, _NEIGHBOURS = 2000, 10


@dataclass(frozen=True)
class Settings:
    """Parameters in numbers."""

    basis: LatentBasis
    penalty: float
    cost: RowLoss
    regularizer: MapPenalty


def settings_of(parameters: dict[str, Any], m: int, some_rows: Array) -> Settings:
    """Check the parameters, and replace those that are "auto" by rules that look at next to no data.

    Parameters
    ----------
    parameters : dict
        Of the estimator, by name.
    m : int
        Number of rows.
    some_rows : array of shape (n, d)
        Some of them, without missing entries.
    """
    space = _space(parameters, some_rows.shape[1])
    regularizer = as_map_penalty(parameters["regularizer"], OWNER)
    kernel, width = _kernel(parameters, space, regularizer)
    linear = _linear(parameters["linear_part"], space, kernel)
    sides = _sides(parameters["n_nodes"], space, width, m)
    basis = LatentBasis(space, kernel, sides, linear, whitened=regularizer.whitened)
    if not basis.whitened and kernel.order:
        raise complaint("kernel", f"positive definite for regularizer={regularizer.name!r}", kernel, "take 'rkhs'")
    as_row_loss(parameters["cost"], 1.0, OWNER)
    for name in ("penalty", "sigma"):
        if not is_auto(parameters[name]):
            positive(name, parameters[name])
    cost = _cost(parameters["cost"], parameters["sigma"], some_rows)
    penalty = _penalty(parameters["penalty"], cost, regularizer, some_rows)
    return Settings(basis, penalty, cost, regularizer)


def n_rotated_of(parameters: dict[str, Any], X: Array) -> int | None:
    """Number of leading components that rows are rotated to; None leaves them as they are."""
    wanted, squared = parameters["n_rotated"], is_squared(parameters)
    if wanted is None or (is_auto(wanted) and not squared):
        return None
    if is_auto(wanted):
        return automatic_n_rotated(X)
    least = 1 if is_auto(parameters["n_components"]) else whole("n_components", parameters["n_components"], least=1)
    if not squared or np.isnan(X).any():
        raise complaint(
            "n_rotated", "None or 'auto' for missing entries and other costs than 'squared'", wanted, "take None"
        )
    return whole("n_rotated", wanted, least=least)


def is_squared(parameters: dict[str, Any]) -> bool:
    """Whether the cost is squared."""
    return as_row_loss(parameters["cost"], 1.0, OWNER) == SquaredRows()


def complaint(parameter: str, constraint: str, value: Any, remedy: str) -> ValueError:
    """What is wrong with a parameter, and what to do."""
    return ValueError(f"{parameter} of {OWNER} must be {constraint}, got {value!r}; {remedy}.")


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == "auto"


def positive(parameter: str, value: Any) -> float:
    """A number > 0."""
    return check_positive(value, parameter, OWNER, "give another, or leave it out")


def whole(parameter: str, value: Any, *, least: int) -> int:
    """A whole number."""
    return check_count(value, parameter, OWNER, least=least)


def _space(parameters: dict[str, Any], n_columns: int) -> LatentSpace:
    q = parameters["n_components"]
    if is_auto(q):
        if not isinstance(parameters["topology"], str):
            raise complaint(
                "topology", "one word for all if n_components is 'auto'", parameters["topology"], "or give it"
            )
        q = 1
    q = whole("n_components", q, least=1)
    if q > n_columns:
        raise complaint(
            "n_components", f"at most the number of columns, n_features={n_columns}", q, "ask for fewer coordinates"
        )
    # Where there is no choice, intervals.
    return latent_space("interval" if is_auto(parameters["topology"]) else parameters["topology"], q, OWNER)


def _kernel(parameters: dict[str, Any], space: LatentSpace, regularizer: MapPenalty) -> tuple[Kernel, Array]:
    """The kernel on the latent space, and its widths."""
    kernel, width = parameters["kernel"], parameters["width"]
    if regularizer.of_length:
        if space.topology != ("interval",) or kernel is not None:
            raise complaint(
                "regularizer", "another for surfaces, circles and given kernels", "length", "it is for open curves"
            )
        return Length(), np.full(1, 2.0 / (_LENGTH_NODES - 1) / _SPACING)
    if kernel is not None:
        if not is_auto(width):
            raise complaint("width", "'auto' if a kernel is given", width, "set the width of the kernel")
        kernel = check_latent_kernel(clone(kernel) if isinstance(kernel, Kernel) else kernel, space, OWNER)
        return kernel, _measured_width(kernel, space)
    if is_auto(width):
        width = _WIDTHS[min(space.n_dims, len(_WIDTHS)) - 1]
    widths = width if isinstance(width, list | tuple | np.ndarray) else [width] * space.n_dims
    if len(widths) != space.n_dims:
        raise complaint("width", f"a number or {space.n_dims} of them", width, "give one for each coordinate")
    values = np.array([positive("width", w) for w in widths])
    return default_kernel(space, values), values


def _measured_width(kernel: Kernel, space: LatentSpace) -> Array:
    """Along each coordinate, the distance at which a kernel falls to exp(-1/2) of its value, as a Gaussian does."""
    distances = np.linspace(0.0, 1.0, 201)
    widths = np.ones(space.n_dims)
    for c in range(space.n_dims):
        Z = np.zeros((len(distances), space.n_dims))
        Z[:, c] = distances
        values = kernel(Z, Z[:1])[:, 0]
        below = np.flatnonzero(values <= np.exp(-0.5) * values[0])
        widths[c] = distances[max(below[0], 1)] if below.size and values[0] > 0 else 0.5
    return widths


def _linear(linear_part: Any, space: LatentSpace, kernel: Kernel) -> bool:
    if not isinstance(linear_part, bool | np.bool_):
        raise complaint("linear_part", "True or False", linear_part, "choose one of them")
    if linear_part and space.is_circle.all():
        raise complaint("linear_part", "False on circles", linear_part, "there are no linear functions on them")
    return bool(linear_part) or kernel.order == 2


def _sides(n_nodes: Any, space: LatentSpace, width: Array, m: int) -> tuple[int, ...]:
    """Numbers of nodes along the coordinates; automatic ones are no more than the rows."""
    q = space.n_dims
    if is_auto(n_nodes):
        return space.sides_for(_SPACING * width, most=m)
    if isinstance(n_nodes, tuple | list):
        sides = tuple(whole("n_nodes", n, least=2) for n in n_nodes)
    else:
        total = whole("n_nodes", n_nodes, least=2)
        sides = (round(total ** (1 / q)),) * q
        if np.prod(sides) != total:
            raise complaint(
                "n_nodes",
                f"a power {q} of the number along each coordinate",
                n_nodes,
                f"take {np.prod(sides)}, or a tuple",
            )
    if len(sides) != q or any(n < few for n, few in zip(sides, space.fewest_sides, strict=True)):
        raise complaint("n_nodes", f"a tuple of {q} numbers >= 2, or 3 on circles", n_nodes, "or take 'auto'")
    if np.prod(sides) > m:
        raise complaint("n_nodes", f"at most the number of rows, {m}", n_nodes, "take fewer nodes, or 'auto'")
    return sides


def _cost(cost: Any, sigma: Any, some_rows: Array) -> RowLoss:
    if is_auto(sigma):
        sigma = _noise_level(some_rows) if isinstance(cost, str) and cost == "huber" else 1.0
    return as_row_loss(cost, sigma, OWNER)


def _noise_level(X: Array) -> float:
    """Median distance of rows from the mean of their neighbours: outliers do not matter to it."""
    X = X[:: max(1, len(X) // _SAMPLE)]
    _, nearest = NeighbourSearch(X).of_rows(min(_NEIGHBOURS, len(X) - 1))
    level = float(np.median(np.linalg.norm(X - X[nearest].mean(axis=1), axis=1)))
    return level if level > 0 else float(np.sqrt(X.var(axis=0).sum()))


def _penalty(penalty: Any, cost: RowLoss, regularizer: MapPenalty, some_rows: Array) -> float:
    """λ; automatic ones weigh the same whatever the unit of the data."""
    if not is_auto(penalty):
        return float(penalty)
    scale = float(np.sqrt(some_rows.var(axis=0).sum()))
    return _PENALTY * cost.curvature(scale) * (1.0 if regularizer.quadratic else scale)
