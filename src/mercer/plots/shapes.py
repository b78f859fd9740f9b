"""Figures of capacity: data in a box in an ellipsoid, balls against hulls, and points that are shattered."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.capacity import SampleCapacity, Spectrum, shattering_functions, shattering_margin, water_filling
from mercer.plots.display import PairDisplay, PlainDisplay, SpaceDisplay
from mercer.plots.style import COLORS, DASHES, INK, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.kernels import Kernel


@dataclass(eq=False, kw_only=True)
class FeatureBoxDisplay(SpaceDisplay):
    """Rows in feature space, in their box, in an ellipsoid: three kernel principal components.

    Parameters
    ----------
    points : array of shape (m, 3)
        Uncentred principal components of the rows.
    half_sides, semi_axes : array of shape (3,)
        Of the box, and of the ellipsoid that `mercer.capacity.water_filling` puts around it.
    components : tuple of three int
        Which components, from 0.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Notes
    -----
    [Smola1998]_, figure 8.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import FeatureBoxDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50, 1))
    >>> display = FeatureBoxDisplay.from_sample(Gaussian(0.5), X)
    >>> bool((np.abs(display.points) <= display.half_sides).all())
    True
    """

    points: Array
    half_sides: Array
    semi_axes: Array
    components: tuple[int, int, int]

    @classmethod
    def from_sample(
        cls, kernel: Kernel, X: Any, *, components: tuple[int, int, int] = (0, 1, 2), ax: Axes | None = None
    ) -> FeatureBoxDisplay:
        """Draw the box of some rows.

        Parameters
        ----------
        kernel : Kernel
            Positive definite.
        X : table
            Rows.
        components : tuple of three int
            Which principal components.
        ax : Axes, optional
            Where to draw, with projection="3d"; by default a new figure.

        Returns
        -------
        FeatureBoxDisplay
            The display, drawn.
        """
        capacity = SampleCapacity.of(kernel(X))
        chosen = list(components)
        if len(chosen) != 3 or max(chosen) >= capacity.n_components:
            raise ValueError(
                f"components of {cls.__name__} must be three below {capacity.n_components}, the rank of the Gram "
                f"matrix, got {components!r}; take more rows or other components."
            )
        points = (capacity.eigenvectors * np.sqrt(capacity.eigenvalues))[:, chosen]
        sides = capacity.radii[chosen]
        # So many balls that all three axes are above the level.
        filled = water_filling(Spectrum.of(sides**2), 3 * float(np.log(sides.max() / sides.min())) + 1.0)
        scales = np.maximum(sides * np.exp(-0.5 * filled.log_level), 1.0)
        radius = float(np.sqrt(np.sum((sides / scales) ** 2)))
        semi_axes = scales * radius
        return cls(points=points, half_sides=sides, semi_axes=semi_axes, components=components).plot(ax)

    def _draw(self, ax: Any) -> None:
        angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, np.pi, 25))
        sphere = np.array([np.cos(angle) * np.sin(height), np.sin(angle) * np.sin(height), np.cos(height)])
        ax.plot_wireframe(
            *(self.semi_axes[:, None, None] * sphere), color=COLORS[1], lw=0.4, alpha=0.5, rstride=2, cstride=3,
            label="ellipsoid",
        )  # fmt: skip
        corners = np.array(list(product([-1, 1], repeat=3))) * self.half_sides
        edges = [(a, b) for a, b in product(range(8), repeat=2) if a < b and np.sum(corners[a] != corners[b]) == 1]
        for number, (a, b) in enumerate(edges):
            label = "box" if number == 0 else None
            ax.plot(*corners[[a, b]].T, color=COLORS[0], lw=1.5, label=label)
        ax.scatter(*self.points.T, s=8, color=INK, depthshade=False, label="rows")
        first, second, third = (f"component {c + 1}" for c in self.components)
        ax.set_xlabel(first)
        ax.set_ylabel(second)
        ax.set_zlabel(third)
        ax.set_box_aspect(np.sqrt(self.semi_axes / self.semi_axes.max()))
        ax.legend(frameon=False, fontsize=9, loc="upper left")


@dataclass(eq=False, kw_only=True)
class HullDisplay(PairDisplay):
    """Weight vectors of two machines: a ball for support vector machines, the hull of the rows for linear programs.

    Parameters
    ----------
    points : array of shape (m, 2)
        Two uncentred principal components of the rows in feature space.
    radius : float
        Of the ball, the largest norm of a row; the hull that is drawn is that of the rows and their negatives.
    components : pair of int
        Which components, from 0.

    Attributes
    ----------
    figure_, axes_
        The matplotlib figure and the pair of axes last drawn on.

    Notes
    -----
    [Smola1998]_, figure 9.1. A linear program spends its capacity where the rows are spread out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import HullDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> len(HullDisplay.from_sample(Gaussian(1.0), X).axes_)
    2
    """

    points: Array
    radius: float
    components: tuple[int, int]

    @classmethod
    def from_sample(
        cls, kernel: Kernel, X: Any, *, components: tuple[int, int] = (1, 2), ax: Any = None
    ) -> HullDisplay:
        """Draw two components of some rows.

        Parameters
        ----------
        kernel : Kernel
            Positive definite.
        X : table
            Rows.
        components : pair of int
            Which principal components; the first has one sign for kernels that are positive.
        ax : Axes or pair of Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        HullDisplay
            The display, drawn.
        """
        capacity = SampleCapacity.of(kernel(X))
        if max(components) >= capacity.n_components:
            raise ValueError(
                f"components of {cls.__name__} must be below {capacity.n_components}, the rank of the Gram matrix, got "
                f"{components!r}; take more rows or other components."
            )
        points = (capacity.eigenvectors * np.sqrt(capacity.eigenvalues))[:, list(components)]
        return cls(points=points, radius=capacity.radius, components=components).plot(ax)

    def _draw(self, axes: tuple[Axes, Axes]) -> None:
        from scipy.spatial import ConvexHull

        left, right = axes
        angle = np.linspace(0, 2 * np.pi, 200)
        ball = self.radius * np.column_stack([np.cos(angle), np.sin(angle)])
        both = np.vstack([self.points, -self.points])
        hull = both[ConvexHull(both).vertices]
        names = ("ball: support vector machines", "hull: linear programs")
        for half, region, name, color in zip((left, right), (ball, hull), names, COLORS[:2], strict=True):
            half.fill(*region.T, color=color, alpha=0.18, lw=0)
            half.text(0.5, 0.98, name, ha="center", va="top", fontsize=9, transform=half.transAxes)
            half.plot(*np.vstack([region, region[:1]]).T, color=color, lw=1.5)
            half.scatter(self.points[:, 0], self.points[:, 1], s=10, color=INK, label="rows", zorder=3)
            half.scatter(
                -self.points[:, 0],
                -self.points[:, 1],
                s=10,
                facecolors="none",
                edgecolors=POINTS,
                lw=0.7,
                label="negatives",
            )
            half.set_aspect("equal")
            half.set_xlim(-1.1 * self.radius, 1.1 * self.radius)
            half.set_ylim(-1.1 * self.radius, 1.7 * self.radius)
            half.set_xlabel(f"component {self.components[0] + 1}")
            half.legend(frameon=False, fontsize=9, loc="upper center", ncols=2, bbox_to_anchor=(0.5, 0.93))
        left.set_ylabel(f"component {self.components[1] + 1}")


@dataclass(eq=False, kw_only=True)
class ShatteringDisplay(PlainDisplay):
    """Functions of bounded norm that take all 2^m signs on m points, past bars of the largest margin.

    Parameters
    ----------
    points : array of shape (m,)
        Places on the line.
    grid, values : array of shape (g,), array of shape (2^m, g)
        The functions.
    margin : float
        γ.
    shown : int
        How many functions are drawn with a colour; all others are grey.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Notes
    -----
    [Smola1998]_, figure 7.4.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import ShatteringDisplay
    >>> round(ShatteringDisplay.from_points(Gaussian(1.0), [0.0, 1.0, 2.0, 3.0]).margin, 6)
    0.189562
    """

    points: Array
    grid: Array
    values: Array
    margin: float
    shown: int = 3

    @classmethod
    def from_points(
        cls, kernel: Kernel, points: Any, *, norm: float = 1.0, ax: Axes | None = None
    ) -> ShatteringDisplay:
        """Draw what shatters some points of the line.

        Parameters
        ----------
        kernel : Kernel
            Positive definite.
        points : array_like of shape (m,)
            Distinct, fourteen at most.
        norm : float
            Λ.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        ShatteringDisplay
            The display, drawn.
        """
        x = np.sort(np.asarray(points, dtype=np.float64).ravel())
        K = kernel(x[:, None])
        margin, values = shattering_margin(K, norm=norm), shattering_functions(K, norm=norm)
        room = 0.15 * float(np.ptp(x)) + 0.1
        grid = np.linspace(x[0] - room, x[-1] + room, 300)
        curves = np.linalg.solve(K, values.T).T @ kernel(x[:, None], grid[:, None])
        return cls(points=x, grid=grid, values=curves, margin=margin).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.plot(self.grid, self.values.T, color=POINTS, lw=0.6, alpha=0.5, zorder=1)
        # The rough ones tell most: signs that alternate, and two others.
        changes = np.count_nonzero(np.diff(np.sign(self.values), axis=1), axis=1)
        order = np.argsort(-changes, kind="stable")
        for number, index in enumerate(order[np.linspace(0, len(order) - 1, self.shown).astype(int)]):
            ax.plot(self.grid, self.values[index], color=COLORS[number], lw=1.8, ls=DASHES[number], zorder=2)
        ax.vlines(
            self.points, -self.margin, self.margin, color=INK, lw=5, zorder=3,
            label=f"bars of margin {self.margin:.3g}; {len(self.values)} functions pass above or below each",
        )  # fmt: skip
        ax.axhline(0.0, color=INK, lw=0.6)
        ax.set_xlabel("x")
        ax.set_ylabel("f(x)")
        legend_above_data(ax)
