"""The coefficients of labels in the basis of kernel principal components, and where they are cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class CoefficientDisplay(PlainDisplay):
    """Sizes |z_m| of the coefficients of the labels, with the cut between signal and noise.

    For more than two classes, the root mean square over the classes. The levels are those of the two-component model:
    the root mean square of the coefficients before the cut, and of all behind it.

    Parameters
    ----------
    sizes : array
        |z_m|, in the order of the eigenvalues.
    dimension : int
        Where they are cut.
    noise : float
        Root mean square of what lies behind the cut.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import RelevantDimensions
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import CoefficientDisplay
    >>> model = RelevantDimensions().fit(*make_sinc(100, noise=0.2, random_state=0))
    >>> CoefficientDisplay.from_estimator(model).dimension == model.dimension_
    True
    """

    sizes: Array
    dimension: int
    noise: float

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> CoefficientDisplay:
        """Draw a fitted `RelevantDimensions`.

        Parameters
        ----------
        estimator : RelevantDimensions
            The estimate.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        CoefficientDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["coefficients_", "dimension_"], "fit a RelevantDimensions first")
        z = np.reshape(estimator.coefficients_, (len(estimator.coefficients_), -1))
        d, n = estimator.dimension_, len(estimator.denoised_) - bool(estimator.intercept)
        energy = np.mean(np.sum(z[d:] ** 2, axis=0) + estimator.tail_energy_)
        display = cls(sizes=np.sqrt(np.mean(z**2, axis=1)), dimension=d, noise=float(np.sqrt(energy / (n - d))))
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        d, m = self.dimension, np.arange(1, len(self.sizes) + 1)
        before, behind = m <= d, m > d
        ax.vlines(m[before], 0, self.sizes[before], color=COLORS[0], lw=1, alpha=0.5)
        ax.scatter(
            m[before], self.sizes[before], s=18, color=COLORS[0], linewidths=0, label=f"relevant ({d})", zorder=3
        )
        if behind.any():
            ax.scatter(m[behind], self.sizes[behind], s=10, color=POINTS, linewidths=0, label="noise", zorder=2)
        ax.axvline(d + 0.5, ymax=0.9, color=INK, lw=1.2, ls=(0, (4, 2)), label="cut")
        ax.axhline(self.noise, color=COLORS[1], lw=1.5, label="noise level", zorder=1)
        if len(m) > 60:
            ax.set_xscale("log")
        ax.set_ylim(bottom=0.0, auto=True)
        ax.set_xlabel("kernel principal component, by eigenvalue")
        ax.set_ylabel("size of the coefficient")
        legend_above_data(ax)
