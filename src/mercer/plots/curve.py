"""A curve through data in the plane, and where the rows project to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import drawn_columns, images_of, latent_grid, require
from mercer.plots.style import COLORS, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points that a curve is drawn with; pieces of curves with gaps may be short.
_STEPS, _FINE_STEPS = 500, 4000


@dataclass(eq=False, kw_only=True)
class CurveDisplay(Display):
    """Rows, the curve that was fitted to them, and a line from each row to its projection on the curve.

    Both axes have the same scale, or that of `aspect`: projections are seen to be perpendicular.

    Parameters
    ----------
    rows, feet : arrays of shape (n, 2)
        The rows, and their projections.
    curve : array of shape (m, 2)
        Points along the curve; NaN where it has a gap.
    names : pair of str
        The names of the two columns.
    aspect : float
        How long a unit of the second column is beside one of the first: 1 unless the curve was fitted in other units.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrincipalCurve
    >>> from mercer.plots import CurveDisplay
    >>> t = np.linspace(-1, 1, 100)
    >>> X = np.column_stack([t, t**2]) + 0.05 * np.random.default_rng(0).normal(size=(100, 2))
    >>> display = CurveDisplay.from_estimator(PrincipalCurve().fit(X), X)
    >>> display.curve.shape, display.ax_.get_xlabel()
    ((500, 2), 'x1')
    """

    rows: Array
    feet: Array
    curve: Array
    names: tuple[str, ...] = ("x1", "x2")
    aspect: float = 1.0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, columns: Sequence[int] = (0, 1), ax: Axes | None = None
    ) -> CurveDisplay:
        """Draw a fitted curve: `PrincipalCurve`, or another map of one coordinate that runs both ways.

        Parameters
        ----------
        estimator : estimator
            Has `transform` and `inverse_transform`, and an `embedding_` of one coordinate. If its domain is defined by
            a density, the curve has a gap wherever that is below the threshold.
        X : array of shape (n, d)
            Rows to draw; they may be new. Those with missing entries are left out of the picture.
        columns : pair of int
            Which columns of X to draw.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        CurveDisplay
            The display, drawn.
        """
        needed = ["embedding_", "transform", "inverse_transform"]
        require(cls.__name__, estimator, needed, "fit a PrincipalCurve first")
        rows, names, chosen = drawn_columns(cls.__name__, X, columns, 2)
        Z = np.asarray(estimator.transform(X))
        if Z.shape[1] != 1:
            raise ValueError(
                f"estimator of {cls.__name__} must have one coordinate, got {Z.shape[1]}; draw a SurfaceDisplay or a "
                "LatentMapDisplay."
            )
        steps = _FINE_STEPS if hasattr(estimator, "density_threshold_") else _STEPS
        curve = images_of(estimator, latent_grid(cls.__name__, estimator, steps, least=1))
        feet = np.asarray(estimator.inverse_transform(Z))
        return cls(rows=rows, feet=feet[:, chosen], curve=curve[:, chosen], names=names).plot(ax)

    def plot(self, ax: Axes | None = None, *, projections: bool = True) -> CurveDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        projections : bool
            Whether to draw the lines from the rows to the curve.

        Returns
        -------
        CurveDisplay
            The display itself.
        """
        ax = self._on(ax)
        from matplotlib.collections import LineCollection

        size = float(np.clip(8_000 / len(self.rows), 3.0, 22.0))
        ax.scatter(self.rows[:, 0], self.rows[:, 1], s=size, color=COLORS[1], linewidths=0, label="rows", zorder=2)
        if projections:
            known = np.isfinite(self.rows).all(axis=1)
            pairs = np.stack([self.rows[known], self.feet[known]], axis=1)
            lines = LineCollection(list(pairs), colors=POINTS, linewidths=0.6, zorder=1, label="projections")
            ax.add_collection(lines)
        ax.plot(*self.curve.T, color=COLORS[0], lw=2.2, label="curve", zorder=3)
        ax.set_aspect(self.aspect, adjustable="datalim")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        legend_above_data(ax)
        # The room of the legend counts as data: else it may be cut away when both axes get one scale.
        ax.update_datalim([(float(np.mean(ax.get_xlim())), ax.get_ylim()[1])])
        return self
