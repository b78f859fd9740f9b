"""Starts that a fit compared, and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import DASHES, INK, MARKERS, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ratio of the largest error to the smallest from which a logarithmic axis is needed.
_WIDE = 5.0
_RING: dict[str, Any] = {"marker": "o", "ms": 12, "mfc": "none", "mec": INK, "lw": 0}


@dataclass(eq=False, kw_only=True)
class CandidatesDisplay(PlainDisplay):
    """The error of each start that a fit compared, the one that was taken, and the error in the end.

    Figure 3 of [Meinicke2005]_.

    Parameters
    ----------
    errors : dict of str to dict of str to float
        For each fit, by name, the errors of its starts, by name.
    taken : dict of str to str
        For each fit, the start that was taken.
    final : dict of str to float
        For each fit, the error in the end.
    value_name : str
        What the errors are.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import UnsupervisedKernelRegression
    >>> from mercer.datasets import make_arc
    >>> from mercer.plots import CandidatesDisplay
    >>> X, _ = make_arc(100, angle=4.0, noise=0.05, random_state=0)
    >>> curve = UnsupervisedKernelRegression(1, init="isomap", max_iter=100).fit(X)
    >>> display = CandidatesDisplay.from_estimator(curve)
    >>> list(display.errors["UnsupervisedKernelRegression"])
    ['isomap-5', 'isomap-8', 'isomap-12']
    """

    errors: dict[str, dict[str, float]]
    taken: dict[str, str]
    final: dict[str, float]
    value_name: str = "objective"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> CandidatesDisplay:
        """Draw the starts of a fitted `UnsupervisedKernelRegression`, on new axes if none are given."""
        return cls.from_estimators({type(estimator).__name__: estimator}, ax=ax)

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Axes | None = None) -> CandidatesDisplay:
        """Draw the starts of several fits, such as those with one density kernel and the other.

        Parameters
        ----------
        estimators : dict of str to estimator
            Fitted estimators with a table of starts, `candidates_`, by name.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        CandidatesDisplay
            The display, drawn.
        """
        errors, taken, final = {}, {}, {}
        for name, estimator in estimators.items():
            needed, remedy = ["candidates_", "init_", "objective_"], "fit an UnsupervisedKernelRegression first"
            require(cls.__name__, estimator, needed, remedy)
            table = estimator.candidates_
            if not table:
                raise ValueError(
                    f"estimator of {cls.__name__} must have compared starts, got {estimator!r} that went on from "
                    "another fit; fit it with warm_start=False."
                )
            errors[str(name)] = dict(zip(table["start"], table["objective"], strict=True))
            taken[str(name)], final[str(name)] = estimator.init_, float(estimator.objective_)
        return cls(errors=errors, taken=taken, final=final).plot(ax)

    def _draw(self, ax: Axes) -> None:
        """Draw logarithmically, if the errors are far from each other."""
        # Starts in the order in which they were tried; some fits may have left some out.
        starts = list(dict.fromkeys(start for errors in self.errors.values() for start in errors))
        for i, (name, errors) in enumerate(self.errors.items()):
            heights = np.array([errors.get(start, np.nan) for start in starts])
            style: dict[str, Any] = {"color": color(i), "marker": MARKERS[i % len(MARKERS)], "ms": 5, "lw": 0}
            label = name if len(self.errors) > 1 else "starts"
            ax.plot(np.arange(len(starts)), heights, label=label, zorder=2, **style)
            best = starts.index(self.taken[name])
            ax.plot([best], [heights[best]], zorder=3, **_RING)
            ax.axhline(self.final[name], color=color(i), lw=1.4, ls=DASHES[1], zorder=1)
        ax.plot([], [], label="taken", **_RING)
        ax.plot([], [], color=INK, lw=1.4, ls=DASHES[1], label="after the fit")
        values = [*self.final.values(), *(value for errors in self.errors.values() for value in errors.values())]
        if min(values) > 0 and max(values) > _WIDE * min(values):
            ax.set_yscale("log")
        ax.set_xticks(np.arange(len(starts)), starts, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_xlabel("start")
        ax.set_ylabel(self.value_name)
        legend_above_data(ax)
