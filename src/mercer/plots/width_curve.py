"""How the sum of Gaussian weights grows with their width, and the width that was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class WidthCurveDisplay(Display):
    """Slopes d log ΣK / d log h over the widths h, with the chosen one: at their maximum, or where neighbours are.

    A broad top says that data have one dimension at many lengths, the height of the top, and that the width matters
    little; several tops, that they have one at each of several lengths.

    Parameters
    ----------
    widths, slopes : array
        The curve, see `mercer.graphs.auto_width`.
    width : float
        The width that was chosen.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianEigenmaps
    >>> from mercer.plots import WidthCurveDisplay
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> display = WidthCurveDisplay.from_estimator(LaplacianEigenmaps(width="auto").fit(X))
    >>> bool(1.5 < display.slopes.max() < 2.2)
    True
    """

    widths: Array
    slopes: Array
    width: float

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> WidthCurveDisplay:
        """Draw the curve of an estimator that was fitted with width="auto".

        Parameters
        ----------
        estimator : LaplacianEigenmaps, DiffusionMap or SpectralClustering
            What else has `width_` and `width_curve_` will do.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        WidthCurveDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["width_", "width_curve_"], "fit it with width='auto' first")
        widths, slopes = estimator.width_curve_
        return cls(widths=np.asarray(widths), slopes=np.asarray(slopes), width=float(estimator.width_)).plot(ax)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, color: str | None = None) -> WidthCurveDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Curves of several data sets may share one.
        name : str, optional
            What the legend calls the curve.
        color : str, optional
            The colour of the curve.

        Returns
        -------
        WidthCurveDisplay
            The display itself.
        """
        ax = self._on(ax)
        label = f"{name or 'slope'}, at most {self.slopes.max():.2f}"
        ax.plot(self.widths, self.slopes, color=color or COLORS[1], lw=1.8, label=label, zorder=2)
        ax.axvline(
            self.width, ymax=0.9, color=INK, lw=1.2, ls=(0, (4, 2)), label=f"chosen width {self.width:.3g}", zorder=1
        )
        ax.set_xscale("log")
        ax.set_ylim(bottom=0.0, auto=True)
        ax.set_xlabel("width h of the weights")
        ax.set_ylabel("dimension: d log ΣK / d log h")
        legend_above_data(ax)
        return self
