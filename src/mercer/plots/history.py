"""How the value of a fit went down, or up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import DASHES, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ratio of the first value to the last from which a logarithmic axis is needed.
_WIDE = 20.0


@dataclass(eq=False, kw_only=True)
class HistoryDisplay(PlainDisplay):
    """The value that a fit lowers (an error) or raises (a log posterior), after each iteration.

    Machines have a primal and a dual value: see `GapDisplay`.

    Parameters
    ----------
    histories : dict of str to array
        Values at the start and after each iteration, by name.
    value_name : str
        What they are.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import VectorQuantizer
    >>> from mercer.plots import HistoryDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> fits = {cost: VectorQuantizer(3, cost=cost, random_state=0).fit(X) for cost in ("l1", "huber")}
    >>> HistoryDisplay.from_estimators(fits).ax_.get_xlabel()
    'iteration'
    """

    histories: dict[str, Array]
    value_name: str = "value"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> HistoryDisplay:
        """Draw the `history_` of a fitted estimator, on new axes if none are given."""
        return cls.from_estimators({type(estimator).__name__: estimator}, ax=ax)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Any], *, value_name: str = "value", ax: Axes | None = None
    ) -> HistoryDisplay:
        """Draw the histories of several fitted estimators.

        Parameters
        ----------
        estimators : dict of str to estimator
            Estimators with a `history_` of numbers, by name.
        value_name : str
            What the values are.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        HistoryDisplay
            The display, drawn.
        """
        histories = {}
        for name, estimator in estimators.items():
            require(cls.__name__, estimator, ["fit"], "give a fitted one")
            history = getattr(estimator, "history_", None)
            if not history or not all(isinstance(value, Real) for value in history):
                raise TypeError(
                    f"estimator of {cls.__name__} must have a history_ of numbers, got {estimator!r}; machines have a "
                    "GapDisplay."
                )
            histories[str(name)] = np.asarray(history, dtype=np.float64)
        return cls(histories=histories, value_name=value_name).plot(ax)

    def _draw(self, ax: Axes) -> None:
        """Draw logarithmically, if the values are positive and far from each other."""
        from matplotlib.ticker import MaxNLocator

        for i, (name, values) in enumerate(self.histories.items()):
            few: dict[str, Any] = {"marker": "o", "ms": 4} if len(values) <= 40 else {}
            ax.plot(values, label=name, color=color(i), ls=DASHES[i % len(DASHES)], lw=1.8, **few)
        values = np.concatenate(list(self.histories.values()))
        if values.min() > 0 and values.max() > _WIDE * values.min():
            ax.set_yscale("log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.set_xlabel("iteration")
        ax.set_ylabel(self.value_name)
        legend_above_data(ax)
