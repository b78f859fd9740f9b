"""How fast promises about manifolds become better with more rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import PlainDisplay
from mercer.plots.style import COLORS, DASHES, INK, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class RateDisplay(PlainDisplay):
    """Bounds on the expected excess of manifolds over the number of rows, with their slopes at the end.

    Parameters
    ----------
    sizes : array
        Numbers of rows.
    values : dict of str to array
        Bounds by name.
    trivial : float
        The error of the best constant: bounds above it are vacuous.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer.capacity import ManifoldClass, periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import RateDisplay
    >>> maps = ManifoldClass(periodic_spectrum(Gaussian(0.5), 4.5), n_outputs=2)
    >>> display = RateDisplay.from_classes({"width 0.5": maps}, radius=1.0)
    >>> -0.5 < display.slopes["width 0.5"] < -0.4
    True
    """

    sizes: Array
    values: dict[str, Array]
    trivial: float

    @classmethod
    def from_classes(
        cls,
        classes: dict[str, Any],
        *,
        radius: float,
        sizes: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> RateDisplay:
        """Draw the bounds of classes of manifolds.

        Parameters
        ----------
        classes : dict of str to ManifoldClass
            By name.
        radius : float
            Of the ball in which the rows are.
        sizes : sequence of int, optional
            Numbers of rows; by default 100 to ten million.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        RateDisplay
            The display, drawn.
        """
        from mercer.capacity import manifold_excess

        m = np.asarray(np.geomspace(100, 1e7, 16).astype(int) if sizes is None else sizes)
        values = {
            name: np.array([manifold_excess(maps, int(n), radius=radius).value for n in m])
            for name, maps in classes.items()
        }
        return cls(sizes=m, values=values, trivial=radius**2).plot(ax)

    @property
    def slopes(self) -> dict[str, float]:
        """Exponents of the last two sizes, by name."""
        step = float(np.log(self.sizes[-1] / self.sizes[-2]))
        return {name: float(np.log(v[-1] / v[-2])) / step for name, v in self.values.items()}

    def _draw(self, ax: Axes) -> None:
        for i, (name, values) in enumerate(self.values.items()):
            ax.loglog(
                self.sizes, values, color=COLORS[i % len(COLORS)], ls=DASHES[i % len(DASHES)], lw=1.8,
                label=f"{name}, slope {self.slopes[name]:.2f}",
            )  # fmt: skip
        ax.axhline(self.trivial, color=INK, lw=1.0, ls=DASHES[2], label="vacuous above")
        ax.set_xlabel("rows m")
        ax.set_ylabel("bound on the expected excess")
        legend_above_data(ax)
