"""A surface through data in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import SpaceDisplay
from mercer.plots.grids import drawn_columns, images_of, latent_grid, require
from mercer.plots.style import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points along each latent coordinate.
_STEPS = 30


@dataclass(eq=False, kw_only=True)
class SurfaceDisplay(SpaceDisplay):
    """Rows in space, and the net of latent coordinate lines on the surface that was fitted to them.

    Parameters
    ----------
    rows : array of shape (n, 3)
        The rows.
    surface : array of shape (m, m, 3)
        Images of a latent grid.
    names : three str
        The names of the columns.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GenerativeTopographicMap
    >>> from mercer.plots import SurfaceDisplay
    >>> T = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> X = np.column_stack([T, T[:, 0] * T[:, 1]])
    >>> display = SurfaceDisplay.from_estimator(GenerativeTopographicMap(2, tol=1e-2).fit(X), X)
    >>> display.surface.shape
    (30, 30, 3)
    """

    rows: Array
    surface: Array
    names: tuple[str, ...] = ("x1", "x2", "x3")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, columns: Sequence[int] = (0, 1, 2), ax: Axes | None = None
    ) -> SurfaceDisplay:
        """Draw a fitted map of two coordinates that runs backwards.

        Parameters
        ----------
        estimator : estimator
            Has an `embedding_` of two coordinates, and `inverse_transform`. If its domain is defined by a density, the
            surface has holes wherever that is below the threshold.
        X : array of shape (n, d)
            Rows to draw.
        columns : three int
            Which columns of X to draw.
        ax : Axes, optional
            Where to draw, with projection="3d"; by default a new figure.

        Returns
        -------
        SurfaceDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_", "inverse_transform"], "fit a PrincipalManifold first")
        rows, names, chosen = drawn_columns(cls.__name__, X, columns, 3)
        images = images_of(estimator, latent_grid(cls.__name__, estimator, _STEPS))
        return cls(rows=rows, surface=images[:, chosen].reshape(_STEPS, _STEPS, 3), names=names).plot(ax)

    def _draw(self, ax: Any) -> None:
        size = float(np.clip(6_000 / len(self.rows), 2.0, 16.0))
        ax.scatter(*self.rows.T, s=size, color=COLORS[1], linewidths=0, alpha=0.8, label="rows")
        x, y, z = np.moveaxis(self.surface, -1, 0)
        ax.plot_wireframe(x, y, z, rcount=15, ccount=15, color=COLORS[0], lw=0.9, label="surface")
        both = [np.r_[a, b.ravel()] for a, b in zip(self.rows.T, (x, y, z), strict=True)]
        spans = [np.ptp(values[np.isfinite(values)]) for values in both]
        ax.set_box_aspect([span or 1.0 for span in spans])
        for axis, name in zip("xyz", self.names, strict=True):
            getattr(ax, f"set_{axis}label")(name)
            getattr(ax, f"{axis}axis").pane.fill = False
        ax.legend(frameon=False, loc="upper left")
