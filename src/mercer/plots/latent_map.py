"""Latent coordinates of rows, over the magnification of the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.grids import Array, latent_grid, require
from mercer.plots.maps import MapDisplay, labels_or_numbers
from mercer.plots.style import new_or_given

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Cells along each latent coordinate.
_STEPS = 80


@dataclass(eq=False, kw_only=True)
class LatentMapDisplay:
    """Rows on the latent square [-1, 1]², and how much the map stretches each place.

    The magnification √det JᵀJ is what area of the space of the data a unit of latent area stands for: where it is dark,
    rows that are close on the map are far from each other; dark bands often are the borders between groups.

    Parameters
    ----------
    points : array of shape (n, 2)
        Latent coordinates.
    y : array of shape (n,), optional
        Labels or numbers of the rows, as in `MapDisplay`.
    magnification : array of shape (m, m), optional
        At the cells of a grid, the first coordinate along the first axis.
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
    names: tuple[str, str] = ("coordinate 1", "coordinate 2")
    y_name: str = "y"

    @classmethod
    def from_estimator(
        cls, estimator: Any, y: Any = None, *, X: Any = None, ax: Axes | None = None
    ) -> LatentMapDisplay:
        """Draw a fitted map of two latent coordinates.

        Parameters
        ----------
        estimator : estimator
            Has an `embedding_` of two coordinates from -1 to 1; the magnification is drawn if it has `metric`.
        y : array of shape (n,), optional
            Labels or numbers of the rows.
        X : array of shape (n, d), optional
            Rows to draw instead of those that the map was fitted to.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LatentMapDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_", "transform"], "fit a map such as PrincipalManifold first")
        cells = latent_grid(cls.__name__, estimator, _STEPS, centres=True)
        options: dict[str, Any] = {}
        if hasattr(estimator, "metric"):
            determinants = np.linalg.det(np.asarray(estimator.metric(cells)))
            options["magnification"] = np.sqrt(np.maximum(determinants, 0.0)).reshape(_STEPS, _STEPS)
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
        ax = self.ax_ = new_or_given(ax)
        self.figure_ = ax.figure
        if self.magnification is not None:
            edges = np.linspace(-1.0, 1.0, len(self.magnification) + 1)
            # Relative to the median, in steps of two: what matters is how many times more.
            middle = float(np.median(self.magnification)) or 1.0
            values = np.log2(np.maximum(self.magnification / middle, 1e-3))
            reach = float(np.clip(np.abs(np.percentile(values, [2, 98])).max(), 0.5, 6.0))
            image = ax.pcolormesh(edges, edges, values.T, cmap="Greys", vmin=-reach, vmax=2 * reach, zorder=0)
            image.set_rasterized(True)
            ticks = np.arange(-6.0, 6.5, 1.0 if reach >= 1.0 else 0.25)
            bar = ax.figure.colorbar(image, ax=ax, label="magnification, relative to the median", ticks=ticks)
            bar.ax.yaxis.set_major_formatter(lambda value, _: f"{2.0**value:.3g}")
            bar.ax.set_ylim(-reach, reach)
        MapDisplay(points=self.points, y=self.y, names=self.names, y_name=self.y_name).plot(ax, size=size)
        return self
