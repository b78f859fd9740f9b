"""What more rows would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.relevance import LearningCurve


@dataclass(eq=False, kw_only=True)
class LearningCurveDisplay(PlainDisplay):
    """Held-out errors over the number of rows, with two standard errors, and what to expect of up to twice as many.

    Parameters
    ----------
    curve : LearningCurve
        Of a diagnosis.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import RelevantDimensions
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import LearningCurveDisplay
    >>> model = RelevantDimensions().fit(*make_sinc(100, noise=0.2, random_state=0))
    >>> LearningCurveDisplay.from_estimator(model).ax_.get_xlabel()
    'rows to learn from'
    """

    curve: LearningCurve

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> LearningCurveDisplay:
        """Draw the learning curve of a diagnosis.

        Parameters
        ----------
        estimator : estimator
            A fitted `RelevantDimensions`.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LearningCurveDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["diagnosis_"], "fit a RelevantDimensions")
        curve = estimator.diagnosis_.learning_curve
        if curve is None:
            raise ValueError(
                f"estimator of {cls.__name__} must have a learning curve, got a diagnosis without; give it more rows."
            )
        return cls(curve=curve).plot(ax)

    def _draw(self, ax: Axes) -> None:
        curve = self.curve
        sizes = np.linspace(curve.sizes.min(), 2 * curve.n, 100)
        beyond = sizes[sizes >= curve.sizes[-1]]
        low, high = 100 * np.array([curve.forecast(size) for size in beyond]).T
        ax.fill_between(beyond, low, high, color=COLORS[1], alpha=0.35, lw=1.0, label="expected")
        means, spread = 100 * curve.errors.mean(axis=1), 100 * curve.errors.std(axis=1, ddof=1)
        ax.plot(curve.sizes, means, color=COLORS[0], lw=1.2, zorder=3)
        errors = 2.0 * spread / np.sqrt(curve.errors.shape[1])
        ax.errorbar(curve.sizes, means, errors, fmt="o", ms=5, capsize=3, color=COLORS[0], label="held-out rows")
        ax.axvline(curve.n, ymax=0.85, color=INK, lw=1.2, ls=(0, (4, 2)), label="rows there are")
        ax.set_ylim(bottom=0.0, auto=True)
        ax.set_xlabel("rows to learn from")
        ax.set_ylabel("error in %")
        legend_above_data(ax)
