"""Where the rows are dense on a map, and how much a curve stretches there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Cells along each axis of a picture of a density, and points of a curve.
_CELLS, _STEPS = 70, 300


@dataclass(eq=False, kw_only=True)
class RowDensityDisplay(PlainDisplay):
    """Density of the rows on a map: a histogram for one coordinate, an estimate with Gaussian kernels for two.

    Parameters
    ----------
    points : array of shape (n, q)
        Coordinates of the rows, of which the first two are drawn.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from mercer.plots import RowDensityDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> display = RowDensityDisplay(points=PCA(2).fit_transform(X)).plot()
    >>> display.ax_.get_ylabel()
    'coordinate 2'
    """

    points: Array

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> RowDensityDisplay:
        """Draw the density of the training rows of a map.

        Parameters
        ----------
        estimator : estimator
            Has an `embedding_`; rows that are not embedded are left out.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        RowDensityDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_"], "fit a map such as PrincipalManifold")
        Z = np.asarray(estimator.embedding_)
        return cls(points=Z[np.isfinite(Z).all(axis=1)]).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.set_xlabel("coordinate 1")
        if self.points.shape[1] == 1:
            n_bins = min(40, max(8, len(self.points) // 10))
            # A smooth curve would fall at the ends, and on circles there are none.
            ax.hist(self.points[:, 0], bins=n_bins, density=True, color=COLORS[1], alpha=0.5)
            ax.set_ylabel("density of the rows")
            return
        edges, values = self._on_grid()
        image = ax.pcolormesh(*edges, values.T, cmap="viridis", rasterized=True)
        bar = ax.figure.colorbar(image, ax=ax, label="density of the rows", ticks=[])
        bar.outline.set_visible(False)
        ax.set_aspect("equal", adjustable="box")
        ax.set_ylabel("coordinate 2")

    def _on_grid(self) -> tuple[list[Array], Array]:
        """Edges of the cells, and values in them."""
        from scipy.stats import gaussian_kde

        Z = self.points[:, :2]
        low, high = Z.min(axis=0), Z.max(axis=0)
        margin = 0.04 * (high - low)
        edges = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low - margin, high + margin, strict=True)]
        centres = [(axis[1:] + axis[:-1]) / 2 for axis in edges]
        grid = np.stack(np.meshgrid(*centres, indexing="ij")).reshape(2, -1)
        try:
            return edges, gaussian_kde(Z.T)(grid).reshape(_CELLS, _CELLS)
        except np.linalg.LinAlgError:  # all rows on a line
            return edges, np.histogram2d(Z[:, 0], Z[:, 1], bins=edges)[0]


@dataclass(eq=False, kw_only=True)
class CurveMagnificationDisplay(PlainDisplay):
    """How far the image of a curve moves for a step of its coordinate; `LatentMapDisplay` has the same for surfaces.

    Parameters
    ----------
    places, lengths : array
        Places along the coordinate, and ||f'|| there.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import PrincipalManifold
    >>> from mercer.datasets import make_arc
    >>> from mercer.plots import CurveMagnificationDisplay
    >>> X, _ = make_arc(200, noise=0.05, random_state=0)
    >>> circle = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-3).fit(X)
    >>> display = CurveMagnificationDisplay.from_estimator(circle)
    >>> bool(2.5 < display.lengths.mean() < 3.5)  # a circle of radius 1 has the length 2 pi, and its coordinate 2
    True
    """

    places: Array
    lengths: Array

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> CurveMagnificationDisplay:
        """Draw the magnification of a fitted curve.

        Parameters
        ----------
        estimator : estimator
            Has a `metric`, and an `embedding_` of one coordinate.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        CurveMagnificationDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_", "metric"], "fit a PrincipalManifold(1)")
        Z = np.asarray(estimator.embedding_)
        if Z.shape[1] != 1:
            raise ValueError(
                f"estimator of {cls.__name__} must have one coordinate, got {Z.shape[1]}; draw a LatentMapDisplay."
            )
        places = np.linspace(Z.min(), Z.max(), _STEPS)
        return cls(places=places, lengths=np.sqrt(estimator.metric(places[:, None])[:, 0, 0])).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.plot(self.places, self.lengths, color=COLORS[0], lw=1.8)
        ax.set_ylim(0.0, 1.1 * float(self.lengths.max()))
        ax.set_xlabel("coordinate 1")
        ax.set_ylabel("magnification")
