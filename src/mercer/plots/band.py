"""A prediction band with the points inside and outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import Sample, require
from mercer.plots.style import COLORS, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class BandDisplay(Display):
    """A prediction band over one column, with the points that fall outside it marked and counted.

    Parameters
    ----------
    X, y : array
        The rows (n, 1) and targets.
    grid, lower, upper : array
        Positions, and the ends of the band there.
    inside : array of bool
        Which rows are in the band.
    coverage : float
        The share that shall be.
    names : tuple of str
        The names of the column and of the target.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import QuantileBand
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import BandDisplay
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> display = BandDisplay.from_estimator(QuantileBand(coverage=0.8).fit(X, y), X, y)
    >>> bool(0.7 < display.inside.mean() < 0.9)
    True
    """

    X: Array
    y: Array
    grid: Array
    lower: Array
    upper: Array
    inside: Array
    coverage: float
    names: tuple[str, ...] = ("x", "y")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None, grid_resolution: int = 200
    ) -> BandDisplay:
        """Draw a fitted `QuantileBand` (or what else has `coverage` and `predict_interval`).

        Parameters
        ----------
        estimator : QuantileBand
            The band.
        X, y : array or table
            Data, of one column and one target: those of the fit, or others that put the coverage to the test.
        ax : Axes, optional
            Where to draw; by default a new figure.
        grid_resolution : int
            Positions at which the band is computed.

        Returns
        -------
        BandDisplay
            The display, drawn.
        """
        require(
            cls.__name__, estimator, ["predict_interval", "coverage"], "give a QuantileBand, or draw with FitDisplay"
        )
        sample = Sample.read(cls.__name__, X, y, (1,))
        grid = sample.axis(0, grid_resolution)
        lower, upper = np.asarray(estimator.predict_interval(sample.in_kind(grid[:, None]))).T
        low, high = np.asarray(estimator.predict_interval(X)).T
        # A quantile machine runs through some of its points: to the accuracy of the solver these are inside.
        slack = getattr(estimator, "tol", 0.0) * np.mean(high - low)
        display = cls(
            X=sample.X, y=sample.y, grid=grid, lower=lower, upper=upper,
            inside=(sample.y >= low - slack) & (sample.y <= high + slack),
            coverage=float(estimator.coverage), names=sample.names,
        )  # fmt: skip
        return display.plot(ax)

    def plot(self, ax: Axes | None = None, *, color: str | None = None) -> BandDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        color : str, optional
            The colour of the band.

        Returns
        -------
        BandDisplay
            The display itself.
        """
        ax = self._on(ax)
        color = color or COLORS[1]
        x, n, outside = self.X[:, 0], len(self.X), ~self.inside
        label = f"band for {100 * self.coverage:.3g} %"
        ax.fill_between(self.grid, self.lower, self.upper, color=color, alpha=0.16, lw=0, label=label, zorder=1)
        for edge in (self.lower, self.upper):
            ax.plot(self.grid, edge, color=color, lw=1.5, zorder=3)
        label = f"inside ({100 * self.inside.mean():.1f} % of {n})"
        ax.scatter(x[self.inside], self.y[self.inside], s=14, color=POINTS, linewidths=0, label=label, zorder=2)
        ax.scatter(x[outside], self.y[outside], s=26, color=COLORS[0], marker="x", label="outside", zorder=4)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        legend_above_data(ax)
        return self
