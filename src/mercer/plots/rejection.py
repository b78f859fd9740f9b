"""What it costs to be sure: purity against efficiency, or accuracy against coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.machines import Rejection, RejectionCurve


@dataclass(eq=False, kw_only=True)
class RejectionDisplay(Display):
    """Purity against efficiency for one class, or accuracy against coverage for all, with the threshold in use.

    A dashed line shows what is got if nothing is rejected.

    Parameters
    ----------
    curve : RejectionCurve
        What all thresholds give.
    chosen : Rejection, optional
        The one in use.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.machines import RejectingClassifier
    >>> from mercer.plots import RejectionDisplay
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> display = RejectionDisplay.from_estimator(RejectingClassifier(positive=1, efficiency=0.7).fit(X, y))
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('efficiency: share of class 1 that is accepted', 'purity: share of class 1 among the accepted')
    """

    curve: RejectionCurve
    chosen: Rejection | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> RejectionDisplay:
        """Draw the cross-validated curve of a fitted `RejectingClassifier`.

        Parameters
        ----------
        estimator : RejectingClassifier
            The classifier.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        RejectionDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["fit", "accepts"], "give a RejectingClassifier, or draw with from_curve")
        return cls(curve=estimator.curve_, chosen=estimator.rejection_).plot(ax)

    @classmethod
    def from_curve(
        cls, curve: RejectionCurve, *, chosen: Rejection | None = None, ax: Axes | None = None
    ) -> RejectionDisplay:
        """Draw a curve.

        Parameters
        ----------
        curve : RejectionCurve
            What all thresholds give.
        chosen : Rejection, optional
            One of them, to be marked.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        RejectionDisplay
            The display, drawn.
        """
        return cls(curve=curve, chosen=chosen).plot(ax)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, color: str | None = None) -> RejectionDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Curves of several classifiers may share one.
        name : str, optional
            What the legend calls the curve.
        color : str, optional
            The colour of the curve and its point.

        Returns
        -------
        RejectionDisplay
            The display itself.
        """
        ax = self._on(ax)
        from matplotlib.ticker import PercentFormatter

        color = color or COLORS[1]
        shares, purity = self._shares(self.curve), self.curve.purity
        floor = max(0.0, 1.1 * float(purity.min()) - 0.1)
        if ax.has_data():
            floor = min(floor, ax.get_ylim()[0])
        # Purity is that of all samples up to a threshold: it jumps where the next ones are accepted.
        ax.step(shares, purity, where="pre", color=color, lw=1.8, label=name or "all thresholds", zorder=2)
        ax.axhline(purity[-1], color=POINTS, lw=1, ls=(0, (6, 3)), label=f"nothing rejected: {_percent(purity[-1])}")
        if self.chosen is not None:
            x, y = self._shares(self.chosen), self.chosen.purity
            label = f"threshold {self.chosen.threshold:.3g}: {_percent(y)} at {_percent(x)}"
            ax.plot([x, x, 0], [floor, y, y], color=INK, lw=0.8, ls=(0, (2, 2)), zorder=1)
            ax.plot([x], [y], "o", ms=7, color=COLORS[0], label=label, zorder=3)
        ax.set_xlim(0, 1.02)
        ax.set_ylim(floor, 1.02)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0))
        ax.set_xlabel(self._words()[0])
        ax.set_ylabel(self._words()[1])
        legend_above_data(ax)
        return self

    def _shares(self, result: Any) -> Any:
        return result.coverage if self.curve.positive is None else result.efficiency

    def _words(self) -> tuple[str, str]:
        if self.curve.positive is None:
            return "coverage: share of samples that are classified", "accuracy among the classified"
        label = f"class {self.curve.positive}"
        return f"efficiency: share of {label} that is accepted", f"purity: share of {label} among the accepted"


def _percent(share: Array | float) -> str:
    return f"{100 * float(share):.3g} %"
