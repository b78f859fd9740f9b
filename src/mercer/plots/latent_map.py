"""Latent coordinates of rows, over the magnification of the map or the density of its domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import latent_grid, latent_limits, require
from mercer.plots.maps import MapDisplay, labels_or_numbers
from mercer.plots.planes import DASHED, draw_line, lead_of
from mercer.plots.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Cells along each latent coordinate: a density has finer structure than a magnification.
_STEPS, _FINE_STEPS = 80, 160
# Fraction of the range of the latent points by which the picture of their density is larger.
_MARGIN = 0.1


@dataclass(eq=False, kw_only=True)
class LatentMapDisplay(Display):
    """Rows on the latent plane, over how much the map stretches each place, or over their density.

    The magnification √det JᵀJ is what area of the space of the data a unit of latent area stands for: where it is dark,
    rows that are close on the map are far from each other; dark bands often are the borders between groups.

    `UnsupervisedKernelRegression` has a density instead: the domain of its surface is inside of the dashed line, where
    the density is at its threshold. Solid lines are borders of classes, drawn inside of the domain.

    Parameters
    ----------
    points : array of shape (n, 2)
        Latent coordinates.
    y : array of shape (n,), optional
        Labels or numbers of the rows, as in `MapDisplay`.
    magnification, density : array of shape (m, m), optional
        At the cells of a grid, the first coordinate along the first axis.
    threshold : float
        The least density of the domain.
    probabilities : array of shape (m, m, n_classes), optional
        Of classes, at the same cells as the density.
    limits : array of shape (2, 2)
        The ends of the grid, for each coordinate.
    names : pair of str
        The names of the coordinates.
    y_name : str
        What the colour bar of y says.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GenerativeTopographicMap
    >>> from mercer.plots import LatentMapDisplay
    >>> T = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> X = np.column_stack([T, T[:, 0] * T[:, 1]])
    >>> display = LatentMapDisplay.from_estimator(GenerativeTopographicMap(2, tol=1e-2).fit(X), T[:, 0] > 0)
    >>> display.magnification.shape
    (80, 80)
    """

    points: Array
    y: Array | None = None
    magnification: Array | None = None
    density: Array | None = None
    threshold: float = 0.0
    probabilities: Array | None = None
    limits: Array = field(default_factory=lambda: np.tile([-1.0, 1.0], (2, 1)))
    names: tuple[str, str] = ("coordinate 1", "coordinate 2")
    y_name: str = "y"

    @classmethod
    def from_estimator(
        cls, estimator: Any, y: Any = None, *, X: Any = None, classifier: Any = None, ax: Axes | None = None
    ) -> LatentMapDisplay:
        """Draw a fitted map of two latent coordinates.

        Parameters
        ----------
        estimator : estimator
            Has an `embedding_` of two coordinates. The magnification is drawn if it has `metric`, and the density if it
            has that with a `density_threshold_`.
        y : array of shape (n,), optional
            Labels or numbers of the rows.
        X : array of shape (n, d), optional
            Rows to draw instead of those that the map was fitted to.
        classifier : classifier, optional
            Fitted to latent points, with `predict_proba`, such as `DensityClassifier`: its borders are drawn, inside of
            the domain if the map has one.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LatentMapDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_", "transform"], "fit a map such as PrincipalManifold first")
        if classifier is not None:
            remedy = "fit a DensityClassifier to the embedding_"
            require(cls.__name__, classifier, ["predict_proba"], remedy, parameter="classifier")
        has_domain = hasattr(estimator, "density_threshold_")
        steps = _FINE_STEPS if has_domain else _STEPS
        cells = latent_grid(cls.__name__, estimator, steps, centres=True, margin=_MARGIN)
        options: dict[str, Any] = {"limits": latent_limits(estimator, _MARGIN)}
        if has_domain:
            options["density"] = np.asarray(estimator.density(cells)).reshape(steps, steps)
            options["threshold"] = float(estimator.density_threshold_)
        elif hasattr(estimator, "metric"):
            determinants = np.linalg.det(np.asarray(estimator.metric(cells)))
            options["magnification"] = np.sqrt(np.maximum(determinants, 0.0)).reshape(steps, steps)
        if classifier is not None:
            options["probabilities"] = np.asarray(classifier.predict_proba(cells)).reshape(steps, steps, -1)
        if y is not None:
            options |= {"y": labels_or_numbers(cls.__name__, y), "y_name": str(getattr(y, "name", None) or "y")}
        points = np.asarray(estimator.embedding_ if X is None else estimator.transform(X), dtype=np.float64)
        if y is not None and len(options["y"]) != len(points):
            raise ValueError(
                f"y of {cls.__name__} must have {len(points)} entries, got {len(options['y'])}; or give X."
            )
        return cls(points=points, **options).plot(ax)

    def plot(self, ax: Axes | None = None, *, size: float | None = None) -> LatentMapDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        size : float, optional
            The area of a point, as in `MapDisplay`.

        Returns
        -------
        LatentMapDisplay
            The display itself.
        """
        ax = self._on(ax)
        if self.magnification is not None:
            self._draw_magnification(ax, self.magnification)
        if self.density is not None:
            self._draw_density(ax, self.density)
        if self.probabilities is not None:
            self._draw_borders(ax, self.probabilities)
        MapDisplay(points=self.points, y=self.y, names=self.names, y_name=self.y_name).plot(ax, size=size)
        return self

    def _draw_magnification(self, ax: Axes, magnification: Array) -> None:
        # Relative to the median, in steps of two: what matters is how many times more.
        middle = float(np.median(magnification)) or 1.0
        values = np.log2(np.maximum(magnification / middle, 1e-3))
        reach = float(np.clip(np.abs(np.percentile(values, [2, 98])).max(), 0.5, 6.0))
        bar = self._draw_shades(ax, values, -reach, reach, "magnification, relative to the median")
        bar.set_ticks(np.arange(-6.0, 6.5, 1.0 if reach >= 1.0 else 0.25))
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{2.0**value:.3g}")
        bar.ax.set_ylim(-reach, reach)

    def _draw_density(self, ax: Axes, density: Array) -> None:
        self._draw_shades(ax, density, 0.0, float(density.max()), "density of the latent points")
        draw_line(ax, self._centres(len(density)), density.T, self.threshold, DASHED)
        ax.plot([], [], color=INK, lw=1.2, ls=DASHED, label="edge of the domain")

    def _draw_borders(self, ax: Axes, probabilities: Array) -> None:
        density = np.inf if self.density is None else self.density
        outside = np.broadcast_to(density < self.threshold, probabilities.shape[:2])
        for code in range(1 if probabilities.shape[-1] == 2 else 0, probabilities.shape[-1]):
            lead = np.ma.masked_array(lead_of(code, probabilities), outside)
            draw_line(ax, self._centres(len(lead)), lead.T, 0.0, "-")
        ax.plot([], [], color=INK, lw=1.2, label="class borders")

    def _draw_shades(self, ax: Axes, values: Array, low: float, high: float, name: str) -> Any:
        """Cells in light greys, on which points are seen, and their colour bar."""
        x, y = (np.linspace(low_end, high_end, len(values) + 1) for low_end, high_end in self.limits)
        image = ax.pcolormesh(x, y, values.T, cmap="Greys", vmin=low, vmax=high + (high - low) / 2, zorder=0)
        image.set_rasterized(True)
        bar = ax.figure.colorbar(image, ax=ax, label=name)
        bar.ax.set_ylim(low, high)
        return bar

    def _centres(self, n: int) -> tuple[Array, ...]:
        shares = (np.arange(n) + 0.5) / n
        return tuple(low + (high - low) * shares for low, high in self.limits)
