"""Estimates over kernels of several kinds and widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.display import PairDisplay
from mercer.plots.grids import require
from mercer.plots.style import DASHES, INK, MARKERS, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMES = {"log_likelihood": "log-likelihood per row", "noise_level": "noise level"}


@dataclass(eq=False, kw_only=True)
class KernelKindsDisplay(PairDisplay):
    """Likelihood and noise level over the width, a curve for each kind of kernel; kinds without widths are levels.

    `FamilyDisplay` is for kernels of one kind.

    Parameters
    ----------
    table : dict of lists
        The table `table_` of `RelevantDimensions`.
    chosen : Kernel
        The kernel that was chosen.

    Attributes
    ----------
    figure_, axes_
        The matplotlib figure and the pair of axes last drawn on.

    Examples
    --------
    >>> from mercer import RelevantDimensions
    >>> from mercer.datasets import make_sinc
    >>> from mercer.kernels import Exponential, Gaussian, Linear
    >>> from mercer.plots import KernelKindsDisplay
    >>> family = [Gaussian(0.5), Gaussian(1.0), Exponential(1.0), Exponential(2.0), Linear()]
    >>> model = RelevantDimensions(family).fit(*make_sinc(100, noise=0.2, random_state=0))
    >>> [ax.get_ylabel() for ax in KernelKindsDisplay.from_estimator(model).axes_]
    ['log-likelihood per row', 'noise level']
    """

    table: dict[str, list[Any]]
    chosen: Any

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> KernelKindsDisplay:
        """Draw the kernels that a diagnosis compared.

        Parameters
        ----------
        estimator : RelevantDimensions
            Fitted to a family of kernels.
        ax : Axes or pair of Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        KernelKindsDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["table_", "kernel_"], "fit a RelevantDimensions")
        return cls(table=estimator.table_, chosen=estimator.kernel_).plot(ax)

    def _draw(self, axes: tuple[Axes, Axes]) -> None:
        for half, quantity in zip(axes, _NAMES, strict=True):
            self._draw_quantity(half, quantity)

    def _draw_quantity(self, ax: Axes, quantity: str) -> None:
        kinds = [type(kernel).__name__ for kernel in self.table["kernel"]]
        for i, kind in enumerate(dict.fromkeys(kinds)):
            rows = [j for j, name in enumerate(kinds) if name == kind]
            places = [length_of(self.table["kernel"][j]) for j in rows]
            values = [self.table[quantity][j] for j in rows]
            style: dict[str, Any] = {"color": color(i), "ls": DASHES[i % len(DASHES)]}
            if np.all(np.isfinite(places)):
                ax.plot(places, values, lw=1.4, marker=MARKERS[i % len(MARKERS)], ms=4.5, label=kind, **style)
            else:
                best = max(values) if quantity == "log_likelihood" else min(values)
                ax.axhline(best, lw=1.2, label=f"{kind} (best)", **style)
        chosen = length_of(self.chosen)
        if np.isfinite(chosen):
            ax.axvline(chosen, ymax=0.8, color=INK, lw=1.2, ls=(0, (4, 2)), label="chosen")
        ax.set_xscale("log")
        ax.set_xlabel("width of the kernel")
        ax.set_ylabel(_NAMES[quantity])
        legend_above_data(ax)


def length_of(kernel: Any) -> float:
    """The width of a kernel of the distance, or one over its rate; NaN for others."""
    width = getattr(kernel, "width", 1.0 / kernel.rate if hasattr(kernel, "rate") else np.nan)
    return float(width) if np.ndim(width) == 0 else np.nan
