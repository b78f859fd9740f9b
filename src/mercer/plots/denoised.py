"""Denoised labels against the labels that were observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from mercer.arrays import Array
from mercer.plots.display import PlainDisplay
from mercer.plots.grids import class_numbers, require
from mercer.plots.style import COLORS, INK, POINTS, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class DenoisedDisplay(PlainDisplay):
    """Labels and what is left of them without noise.

    Numbers: the denoised against the observed ones, with the line where they agree. Classes: how far the projection
    speaks for the observed class of each sample (the projection of labels ±1 for two classes; else that of its class
    less the largest other one), one row of points for each class; samples left of zero contradict their label.

    Parameters
    ----------
    observed : array
        Labels; the number of the class for classes.
    denoised : array
        Denoised numbers; for classes how far they speak for the observed class.
    classes : list of str, optional
        The names of the classes.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import RelevantDimensions
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import DenoisedDisplay
    >>> X, y = make_sinc(100, noise=0.2, random_state=0)
    >>> DenoisedDisplay.from_estimator(RelevantDimensions().fit(X, y), y).ax_.get_ylabel()
    'denoised label'
    """

    observed: Array
    denoised: Array
    classes: list[str] | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, y: Any, *, ax: Axes | None = None) -> DenoisedDisplay:
        """Draw a fitted `RelevantDimensions`.

        Parameters
        ----------
        estimator : RelevantDimensions
            The estimate.
        y : array
            The labels that it was fitted to.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        DenoisedDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["projection_", "denoised_"], "fit a RelevantDimensions first")
        observed, projection = np.ravel(np.asarray(y)), estimator.projection_
        check_consistent_length(observed, projection)
        if not hasattr(estimator, "classes_"):
            return cls(observed=observed, denoised=projection).plot(ax)
        codes = class_numbers(cls.__name__, estimator, observed)
        if projection.ndim == 1:
            support = np.where(codes == 1, projection, -projection)
        else:
            own = np.take_along_axis(projection, codes[:, None], axis=1)[:, 0]
            others = np.where(np.arange(projection.shape[1]) == codes[:, None], -np.inf, projection)
            support = own - others.max(axis=1)
        return cls(observed=codes, denoised=support, classes=[str(c) for c in estimator.classes_.tolist()]).plot(ax)

    def _draw(self, ax: Axes) -> None:
        if self.classes is None:
            self._draw_numbers(ax)
        else:
            self._draw_classes(ax, self.classes)
        legend_above_data(ax)

    def _draw_numbers(self, ax: Axes) -> None:
        ends = np.array([self.observed.min(), self.observed.max()])
        ax.plot(ends, ends, color=INK, lw=1.2, ls=(0, (4, 2)), label="no noise", zorder=1)
        ax.scatter(self.observed, self.denoised, s=14, color=COLORS[1], linewidths=0, label="samples", zorder=2)
        ax.set_xlabel("observed label")
        ax.set_ylabel("denoised label")

    def _draw_classes(self, ax: Axes, classes: list[str]) -> None:
        wrong = self.denoised <= 0
        spread = np.random.default_rng(0).uniform(-0.3, 0.3, size=len(wrong))
        for code in range(len(classes)):
            rows = (self.observed == code) & ~wrong
            ax.scatter(
                self.denoised[rows], self.observed[rows] + spread[rows], s=12, color=color(code + 1), linewidths=0
            )
        share = f"contradict their label ({100 * wrong.mean():.1f} % of {len(wrong)})"
        where = (self.denoised[wrong], self.observed[wrong] + spread[wrong])
        ax.scatter(*where, s=24, color=COLORS[0], marker="x", linewidths=1.2, label=share)
        ax.axvline(0.0, ymax=0.9, color=POINTS, lw=1.2, ls=(0, (4, 2)))
        ax.set_yticks(range(len(classes)), classes)
        ax.set_ylabel("observed class")
        ax.set_xlabel("how far the denoised label speaks for it")
