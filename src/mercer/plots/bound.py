"""Bounds of mutual information against the number of pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.information import Bound

_SIZES = (2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(eq=False, kw_only=True)
class BoundDisplay(PlainDisplay):
    """A bound of mutual information against the number of pairs that are compared, with its ceiling.

    Where the bound follows its ceiling, it says how many pairs there are, and not how much is shared.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of pairs in a batch.
    bounds : sequence of Bound
        One for each.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCritic
    >>> from mercer.plots import BoundDisplay
    >>> x = np.random.default_rng(0).normal(size=(300, 1))
    >>> critic = KernelCritic(rank=5, penalty=0.01).fit(x[:150], x[:150])
    >>> BoundDisplay.from_estimator(critic, x[150:], x[150:]).ax_.get_ylabel()
    'nats'
    """

    sizes: Sequence[int]
    bounds: Sequence[Bound]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, Y: Any, *, sizes: Any = None, ax: Axes | None = None
    ) -> BoundDisplay:
        """Draw the bounds of a fitted critic on rows that it has not seen.

        Parameters
        ----------
        estimator : KernelCritic
            A fitted critic.
        X, Y : array_like
            Pairs of rows.
        sizes : sequence of int, optional
            Numbers of pairs in a batch; by default powers of two, up to a quarter of the rows.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        BoundDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["coef_", "bound"], "fit a KernelCritic")
        if sizes is None:
            sizes = [size for size in _SIZES if 4 * size <= len(X)] or [2]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the picture shows where a bound is near its ceiling
            bounds = [estimator.bound(X, Y, batch_size=size) for size in sizes]
        return cls(sizes=list(sizes), bounds=bounds).plot(ax)

    def _draw(self, ax: Axes) -> None:
        values = np.array([bound.value for bound in self.bounds])
        errors = 2.0 * np.nan_to_num([bound.standard_error for bound in self.bounds])
        ceilings = np.array([bound.ceiling for bound in self.bounds])
        ax.errorbar(self.sizes, values, errors, fmt="o-", ms=5, lw=1.2, capsize=3, color=COLORS[0], label="bound")
        if np.isfinite(ceilings).all():
            ax.plot(self.sizes, ceilings, color=INK, lw=1.2, ls=(0, (4, 2)), label="ceiling")
        ax.set_xscale("log", base=2)
        ax.set_xticks(self.sizes, [str(size) for size in self.sizes])
        ax.minorticks_off()
        ax.set_ylim(bottom=min(0.0, float((values - errors).min())))
        ax.set_xlabel("pairs that are compared")
        ax.set_ylabel("nats")
        ax.legend(frameon=False, loc="upper left")
