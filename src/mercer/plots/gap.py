"""How a solver closed the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import DASHES, INK, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.solvers import Iterate

# Nothing smaller can be distinguished from zero; a gap of zero is drawn here.
_FLOOR = float(np.finfo(np.float64).eps)


@dataclass(eq=False, kw_only=True)
class GapDisplay(PlainDisplay):
    """Primal value, dual value and relative gap in each iteration, on a logarithmic scale.

    The optimum lies between the dual and the primal value. Of a single program are drawn, in units of the primal value,
    the gap between the two, the height of the primal value above the last dual value, and the depth of the dual value
    below the last primal value: these two bound the distances from the optimum, and show which side is late. Of several
    programs (targets, classes, the ends of a band) only the gaps are drawn. Values below 2.2e-16 are drawn there.

    Parameters
    ----------
    histories : list of list of Iterate
        The history of each program.
    names : list of str
        What to call the programs, if there are several.
    tol : float, optional
        The relative gap to be reached.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import SupportVectorRegressor
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import GapDisplay
    >>> X, y = make_sinc(60, noise=0.1, random_state=0)
    >>> display = GapDisplay.from_estimator(SupportVectorRegressor(tol=1e-8).fit(X, y))
    >>> display.ax_.get_yscale(), bool(display.relative_gaps[0][-1] <= 1e-8)
    ('log', True)
    """

    histories: list[list[Iterate]]
    names: list[str]
    tol: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> GapDisplay:
        """Draw the history of a fitted machine.

        Parameters
        ----------
        estimator : estimator
            A fitted machine with `history_`, or a `QuantileBand`.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        GapDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["fit"], "give a machine of mercer that has a history_")
        histories, names = _histories(cls.__name__, estimator)
        return cls(histories=histories, names=names, tol=getattr(estimator, "tol", None)).plot(ax)

    @property
    def relative_gaps(self) -> list[NDArray[np.float64]]:
        """(primal - dual) / primal in each iteration of each program."""
        return [_values(history, "relative_gap") for history in self.histories]

    def _draw(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        several = len(self.histories) > 1
        for i, (gaps, name) in enumerate(zip(self.relative_gaps, self.names, strict=True)):
            style = {"ls": DASHES[i % len(DASHES)], "zorder": 3}
            _draw(ax, gaps, name if several else "relative gap", color=color(i), lw=2, marker="o", ms=4, **style)
        if not several and len(self.histories[0]) > 1:
            (history,) = self.histories
            primal, dual, scale = _values(history, "primal"), _values(history, "dual"), _scale(history)
            _draw(ax, (primal - dual[-1]) / scale, "primal above last dual", color=color(1), ls=DASHES[1])
            _draw(ax, (primal[-1] - dual) / scale, "dual below last primal", color=color(2), ls=DASHES[2])
        if self.tol is not None:
            ax.axhline(self.tol, color=INK, lw=1, label=f"tolerance {self.tol:.0e}", zorder=1)
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        longest = max(len(history) for history in self.histories)
        ax.set_xlim(-0.4, longest - 0.6)
        ax.set_xlabel("iteration")
        ax.set_ylabel("relative gap" if several else "in units of the primal value")
        legend_above_data(ax)


def _histories(owner: str, estimator: Any) -> tuple[list[list[Iterate]], list[str]]:
    if hasattr(estimator, "lower_") and hasattr(estimator, "upper_"):
        return [estimator.lower_.history_, estimator.upper_.history_], ["lower end", "upper end"]
    history = getattr(estimator, "history_", None)
    if not history:
        raise TypeError(
            f"estimator of {owner} must have a history_, got {estimator!r}; one that is solved directly has none."
        )
    if not isinstance(history[0], Sequence):
        return [history], [""]
    classes = getattr(estimator, "classes_", None)
    labels = [f"target {k}" for k in range(len(history))] if classes is None else [f"class {c}" for c in classes]
    return list(history), labels


def _values(history: list[Iterate], name: str) -> NDArray[np.float64]:
    return np.array([getattr(iterate, name) for iterate in history], dtype=np.float64)


def _scale(history: list[Iterate]) -> NDArray[np.float64]:
    size = np.maximum(np.abs(_values(history, "primal")), _values(history, "floor"))
    return np.maximum(size, np.finfo(np.float64).tiny)


def _draw(ax: Axes, values: NDArray[np.float64], label: str, **style: Any) -> None:
    ax.plot(np.maximum(values, _FLOOR), label=label, **{"lw": 1.4, "zorder": 2, **style})
