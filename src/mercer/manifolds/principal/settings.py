"""The parameters of `PrincipalManifold`, checked once, and the rules for those that are "auto"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arrays import Array
from mercer.graphs import NeighbourSearch
from mercer.kernels import Kernel
from mercer.losses.rows import RowLoss, SquaredRows, as_row_loss
from mercer.manifolds.latent.kernels import Length, check_latent_kernel, default_kernel
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.rotation import automatic_n_rotated
from mercer.manifolds.latent.space import LatentSpace, latent_space
from mercer.manifolds.latent.starts import STARTS, given_coordinates
from mercer.parameters import check_callback, check_choice, check_count, check_positive
from mercer.regularizers.maps import MapPenalty, as_map_penalty

OWNER = "PrincipalManifold"
ASSIGNMENTS = ("auto", "soft", "both", "hard")


@dataclass(frozen=True)
class RuleTuning:
    """Numbers of the rules, set by `benchmarks/manifold_defaults.py`.

    Attributes
    ----------
    widths : tuple of float
        For one, two, and more coordinates.
    penalty : float
        In units of the variance.
    length_nodes : int
        Nodes of a curve of least length.
    spacing : float
        Nodes are no farther apart than this fraction of the width: more of them change nothing.
    n_sample, n_neighbours : int
        Rows that tell the level of noise, and neighbours whose mean a row is compared with.
    """

    widths: tuple[float, ...] = (0.2, 0.5, 0.8)
    penalty: float = 3e-4
    length_nodes: int = 41
    spacing: float = 0.7
    n_sample: int = 2000
    n_neighbours: int = 10


_TUNING = RuleTuning()


@dataclass(frozen=True)
class Settings:
    """Checked parameters; those that are to be chosen, or follow from rows by a rule, are None.

    Attributes
    ----------
    cost : RowLoss or None
        None for Huber's loss with a length that the rows tell.
    width : float, tuple of float or None
        Of the default kernel.
    n_rotated : int, "auto" or None
        None leaves columns as they are.

    The others are those of `PrincipalManifold`.
    """

    n_components: int | None
    kernel: Kernel | None
    width: Any
    n_nodes: Any
    penalty: float | None
    cost: RowLoss | None
    regularizer: MapPenalty
    topology: Any
    linear_part: bool
    n_rotated: Any
    init: Any
    assignment: str
    annealing: int
    max_iter: int
    tol: float
    verbose: bool
    callback: Any
    random_state: Any

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """The parameters of an estimator, checked as far as that needs no rows."""
        p = estimator
        regularizer = as_map_penalty(p.regularizer, OWNER)
        n_components = None if is_auto(p.n_components) else whole("n_components", p.n_components, least=1)
        if n_components is None and not isinstance(p.topology, str):
            raise complaint("topology", "one word for all if n_components is 'auto'", p.topology, "or give it")
        if not isinstance(p.linear_part, bool | np.bool_):
            raise complaint("linear_part", "True or False", p.linear_part, "choose one of them")
        check_callback(p.callback, OWNER, "the iteration and the fit")
        sigma = None if is_auto(p.sigma) else positive("sigma", p.sigma)
        unknown = isinstance(p.cost, str) and p.cost == "huber" and sigma is None
        if isinstance(p.init, str) and p.init not in ("auto", *STARTS):
            raise complaint("init", f"'auto', one of {STARTS} or coordinates of the rows", p.init, "choose one of them")
        return cls(
            n_components,
            _checked_kernel(p.kernel, p.width, regularizer),
            _checked_width(p.width),
            p.n_nodes,
            None if is_auto(p.penalty) else positive("penalty", p.penalty),
            None if unknown else as_row_loss(p.cost, sigma or 1.0, OWNER),
            regularizer,
            p.topology,
            bool(p.linear_part),
            p.n_rotated if p.n_rotated is None or is_auto(p.n_rotated) else _checked_n_rotated(p, n_components),
            p.init,
            check_choice(p.assignment, ASSIGNMENTS, "assignment", OWNER),
            whole("annealing", p.annealing, least=0),
            whole("max_iter", p.max_iter, least=1),
            positive("tol", p.tol),
            bool(p.verbose),
            p.callback,
            p.random_state,
        )

    @property
    def is_squared(self) -> bool:
        """Whether the cost is squared."""
        return self.cost == SquaredRows()

    @property
    def is_quadratic(self) -> bool:
        """Whether EM may minimise the objective."""
        return self.is_squared and self.regularizer.quadratic

    @property
    def left_open(self) -> tuple[str, ...]:
        """Parameters that are left to be chosen."""
        is_open = {
            "n_components": self.n_components is None,
            "topology": is_auto(self.topology),
            "penalty": self.penalty is None,
            "width": self.width is None and self.kernel is None and not self.regularizer.of_length,
        }
        return tuple(name for name, so in is_open.items() if so)

    def n_rotated_for(self, X: Array) -> int | None:
        """Number of leading components that rows are rotated to; None leaves them as they are."""
        if self.n_rotated is None or (is_auto(self.n_rotated) and not self.is_squared):
            return None
        if is_auto(self.n_rotated):
            return automatic_n_rotated(X)
        if not self.is_squared or np.isnan(X).any():
            raise complaint(
                "n_rotated", "None or 'auto' for missing entries and other costs than 'squared'", self.n_rotated,
                "take None",
            )  # fmt: skip
        return int(self.n_rotated)

    def space_for(self, n_columns: int) -> LatentSpace:
        """The latent space by rule: of one coordinate, and of intervals, where these are left open."""
        q = self.n_components or 1
        if q > n_columns:
            raise complaint(
                "n_components", f"at most the number of columns, n_features={n_columns}", q, "ask for fewer coordinates"
            )
        return latent_space("interval" if is_auto(self.topology) else self.topology, q, OWNER)

    def basis_for(self, space: LatentSpace, m: int, width: Any = None) -> LatentBasis:
        """The functions of maps of m rows, with a width, or the one that is given, or the one by rule."""
        kernel, widths = self._kernel_for(space, self.width if width is None or is_auto(width) else width)
        if self.linear_part and space.is_circle.all():
            raise complaint("linear_part", "False on circles", True, "there are no linear functions on them")
        linear, sides = self.linear_part or kernel.order == 2, _sides(self.n_nodes, space, widths, m)
        if not self.regularizer.whitened and kernel.order:
            name = self.regularizer.name
            raise complaint("kernel", f"positive definite for regularizer={name!r}", kernel, "take 'rkhs'")
        return LatentBasis(space, kernel, sides, linear, whitened=self.regularizer.whitened)

    def cost_for(self, some_rows: Array) -> RowLoss:
        """The cost; the length of residuals of outliers is that of the noise."""
        return as_row_loss("huber", _noise_level(some_rows)) if self.cost is None else self.cost

    def penalty_for(self, some_rows: Array) -> float:
        """λ; automatic ones weigh the same whatever the unit of the data."""
        if self.penalty is not None:
            return self.penalty
        scale = float(np.sqrt(some_rows.var(axis=0).sum()))
        curvature = self.cost_for(some_rows).curvature(scale)
        return _TUNING.penalty * curvature * (1.0 if self.regularizer.quadratic else scale)

    def given_start(self, space: LatentSpace, m: int) -> Array:
        """The coordinates of m rows that were given to start from, checked."""
        Z = given_coordinates(self.init, (m, space.n_dims), OWNER)
        outside = space.outside(Z)
        if outside.any():
            raise complaint(
                "init", "within [-1, 1] in coordinates that are intervals", Z[outside][0].tolist(),
                "the manifold ends there (circles go on)",
            )  # fmt: skip
        return space.inside(Z)

    def _kernel_for(self, space: LatentSpace, width: Any) -> tuple[Kernel, Array]:
        """The kernel on the latent space, and its widths."""
        if self.regularizer.of_length:
            if space.topology != ("interval",):
                raise _no_length()
            return Length(), np.full(1, 2.0 / (_TUNING.length_nodes - 1) / _TUNING.spacing)
        if self.kernel is not None:
            kernel = clone(check_latent_kernel(self.kernel, space, OWNER))
            return kernel, _measured_width(kernel, space)
        width = _TUNING.widths[min(space.n_dims, len(_TUNING.widths)) - 1] if width is None else width
        widths = width if isinstance(width, tuple) else (width,) * space.n_dims
        if len(widths) != space.n_dims:
            raise complaint(
                "width", f"a number or {space.n_dims} of them", list(widths), "give one for each coordinate"
            )
        return default_kernel(space, np.array(widths)), np.array(widths)


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


def _no_length() -> ValueError:
    return complaint(
        "regularizer", "another for surfaces, circles and given kernels", "length", "it is for open curves"
    )


def _checked_kernel(kernel: Any, width: Any, regularizer: MapPenalty) -> Any:
    if kernel is None:
        return None
    if regularizer.of_length:
        raise _no_length()
    if not is_auto(width):
        raise complaint("width", "'auto' if a kernel is given", width, "set the width of the kernel")
    return kernel


def _checked_width(width: Any) -> Any:
    if is_auto(width):
        return None
    if isinstance(width, list | tuple | np.ndarray):
        return tuple(positive("width", each) for each in width)
    return positive("width", width)


def _checked_n_rotated(estimator: Any, n_components: int | None) -> int:
    return whole("n_rotated", estimator.n_rotated, least=n_components or 1)


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


def _sides(n_nodes: Any, space: LatentSpace, width: Array, m: int) -> tuple[int, ...]:
    """Numbers of nodes along the coordinates; automatic ones are no more than the rows."""
    q = space.n_dims
    if is_auto(n_nodes):
        return space.sides_for(_TUNING.spacing * width, most=m)
    if isinstance(n_nodes, tuple | list):
        sides = tuple(whole("n_nodes", n, least=2) for n in n_nodes)
    else:
        total = whole("n_nodes", n_nodes, least=2)
        sides = (round(total ** (1 / q)),) * q
        if np.prod(sides) != total:
            raise complaint(
                "n_nodes", f"a power {q} of the number along each coordinate", n_nodes,
                f"take {np.prod(sides)}, or a tuple",
            )  # fmt: skip
    if len(sides) != q or any(n < few for n, few in zip(sides, space.fewest_sides, strict=True)):
        raise complaint("n_nodes", f"a tuple of {q} numbers >= 2, or 3 on circles", n_nodes, "or take 'auto'")
    if np.prod(sides) > m:
        raise complaint("n_nodes", f"at most the number of rows, {m}", n_nodes, "take fewer nodes, or 'auto'")
    return sides


def _noise_level(X: Array) -> float:
    """Median distance of rows from the mean of their neighbours: outliers do not matter to it."""
    X = X[:: max(1, len(X) // _TUNING.n_sample)]
    _, nearest = NeighbourSearch(X).of_rows(min(_TUNING.n_neighbours, len(X) - 1))
    level = float(np.median(np.linalg.norm(X - X[nearest].mean(axis=1), axis=1)))
    return level if level > 0 else float(np.sqrt(X.var(axis=0).sum()))
