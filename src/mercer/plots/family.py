"""How the estimates change over a family of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import PairDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMES = {
    "nll": "negative log-likelihood",
    "leave_one_out_error": "leave-one-out squared error",
    "dimension": "relevant dimension",
    "noise_level": "noise level",
}

# Leave-one-out errors above so many times their median are drawn at the edge.
_OFF_SCALE = 4.0


@dataclass(eq=False, kw_only=True)
class FamilyDisplay(PairDisplay):
    """Two quantities side by side over the widths of a family of kernels, with the width that was chosen.

    Parameters
    ----------
    positions : array
        The widths; or the numbers of the kernels in their list, if they have none.
    values : dict of str to array
        The two quantities, by name.
    best : int
        Which kernel was chosen.
    has_widths : bool
        Whether positions are widths.

    Attributes
    ----------
    figure_, axes_
        The matplotlib figure and the pair of axes last drawn on.

    Examples
    --------
    >>> from mercer import RelevantDimensions
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import FamilyDisplay
    >>> model = RelevantDimensions().fit(*make_sinc(100, noise=0.2, random_state=0))
    >>> FamilyDisplay.from_estimator(model, ("dimension", "noise_level")).axes_[0].get_ylabel()
    'relevant dimension'
    """

    positions: Array
    values: dict[str, Array]
    best: int
    has_widths: bool = True

    @classmethod
    def from_estimator(
        cls, estimator: Any, quantities: tuple[str, str] = ("nll", "leave_one_out_error"), *, ax: Any = None
    ) -> FamilyDisplay:
        """Draw a `RelevantDimensions` that was fitted with a family of kernels.

        Parameters
        ----------
        estimator : RelevantDimensions
            The estimate.
        quantities : pair of str
            Of "nll", "leave_one_out_error", "dimension" and "noise_level".
        ax : Axes or pair of Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        FamilyDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["table_", "best_"], "fit a RelevantDimensions first")
        if len(quantities) != 2 or not set(quantities) <= set(_NAMES):
            raise ValueError(
                f"quantities of {cls.__name__} must be two of {tuple(_NAMES)}, got {quantities!r}; draw twice for more."
            )
        table = estimator.table_
        if len(table["kernel"]) < 2:
            raise ValueError(
                f"estimator of {cls.__name__} must have two kernels or more to compare, got {table['kernel']}; fit "
                "with a list of kernels, or with widths."
            )
        widths = np.array(table["width"])
        has_widths = bool(np.all(np.isfinite(widths))) and len(np.unique(widths)) == len(widths)
        values = {
            "nll": -np.array(table["log_likelihood"]),
            **{k: np.array(v) for k, v in table.items() if k in _NAMES},
        }
        display = cls(
            positions=widths if has_widths else np.arange(1, len(widths) + 1),
            values={name: values[name] for name in quantities},
            best=estimator.best_,
            has_widths=has_widths,
        )
        return display.plot(ax)

    def _draw(self, axes: tuple[Axes, Axes]) -> None:
        order = np.argsort(self.positions)
        chosen = self.positions[self.best]
        label = f"chosen width {chosen:.3g}" if self.has_widths else f"chosen kernel {chosen}"
        for i, (half, (name, values)) in enumerate(zip(axes, self.values.items(), strict=True)):
            # Kernels that are too narrow leave samples alone, with errors of any size that would flatten all others.
            top = _OFF_SCALE * np.median(np.abs(values)) if name == "leave_one_out_error" else np.inf
            shown, off = np.minimum(values, top), values > top
            half.plot(self.positions[order], shown[order], color=COLORS[i], lw=1.5, marker="o", ms=4)
            if off.any():
                half.scatter(self.positions[off], shown[off], s=60, marker="^", color=COLORS[i], label="off the scale")
            half.axvline(chosen, ymax=0.9, color=INK, lw=1.2, ls=(0, (4, 2)), label=label)
            if self.has_widths:
                half.set_xscale("log")
            half.set_xlabel("width of the kernel" if self.has_widths else "kernel, by its place in the list")
            half.set_ylabel(_NAMES[name])
            legend_above_data(half)
