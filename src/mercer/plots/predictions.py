"""Predictions against the truth."""

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
class PredictionDisplay(PlainDisplay):
    """Predicted over true targets, with the line on which both agree and a bar for each prediction band.

    Parameters
    ----------
    truth, predicted : array of shape (n,)
        Targets, and what was predicted.
    interval : array of shape (n, 2), optional
        Ends of the bands.
    name : str
        The name of the target.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import SupportVectorRegressor
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import PredictionDisplay
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> display = PredictionDisplay.from_estimator(SupportVectorRegressor().fit(X[:60], y[:60]), X[60:], y[60:])
    >>> display.predicted.shape, display.ax_.get_ylabel()
    ((40,), 'target, predicted')
    """

    truth: Array
    predicted: Array
    interval: Array | None = None
    name: str = "target"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None) -> PredictionDisplay:
        """Draw the predictions of a fitted regressor for rows that it was not fitted to.

        Parameters
        ----------
        estimator : estimator
            Has `predict`.
        X, y : arrays
            Rows and their targets.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        PredictionDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["predict"], "fit a regressor")
        return cls(truth=np.asarray(y), predicted=np.asarray(estimator.predict(X))).plot(ax)

    def _draw(self, ax: Axes) -> None:
        both = np.concatenate([self.truth, self.predicted])
        ends = [both.min(), both.max()]
        ax.plot(ends, ends, color=INK, lw=1.2, ls=(0, (4, 2)), label="exact", zorder=1)
        if self.interval is not None:
            ax.vlines(self.truth, *self.interval.T, color=POINTS, lw=0.8, label="band", zorder=1)
        ax.scatter(self.truth, self.predicted, s=16, color=COLORS[1], linewidths=0, label="held-out rows", zorder=2)
        ax.set_xlabel(f"{self.name}, as it is")
        ax.set_ylabel(f"{self.name}, predicted")
        legend_above_data(ax)
