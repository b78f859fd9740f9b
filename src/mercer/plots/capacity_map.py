"""How capacity grows with the width of a kernel and the dimension of the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.arrays import Array
from mercer.capacity import best_period, log_covering, periodic_spectrum
from mercer.plots.display import PlainDisplay
from mercer.plots.style import INK, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.kernels import Kernel

# The period is chosen for so many balls, 2^60.
_LOG_N = 60 * float(np.log(2))


@dataclass(eq=False, kw_only=True)
class CapacityMapDisplay(PlainDisplay):
    """Logarithm of a covering number over the width of a kernel and the dimension of the space.

    Parameters
    ----------
    widths, n_dims : array
        Of the rows and columns of the map.
    log_coverings : array of shape (n_dims, widths)
        ln N(ε).
    epsilon : float
        ε.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import CapacityMapDisplay
    >>> display = CapacityMapDisplay.from_kernels([Gaussian(w) for w in (0.5, 1.0)], [0.5, 1.0], n_dims=(1, 2))
    >>> bool((display.log_coverings[:, 0] > display.log_coverings[:, 1]).all())
    True
    """

    widths: Array
    n_dims: Array
    log_coverings: Array
    epsilon: float

    @classmethod
    def from_kernels(
        cls,
        kernels: Sequence[Kernel],
        widths: Sequence[float],
        *,
        n_dims: Sequence[int] = (1, 2, 3, 4, 5),
        diameter: float = 2.0,
        epsilon: float = 0.3,
        norm: float = 1.0,
        coefficient_norm: float = 10.0,
        ax: Axes | None = None,
    ) -> CapacityMapDisplay:
        """Draw the map of a family of radial kernels, each with its best period.

        Parameters
        ----------
        kernels : sequence of Kernel
            One for each width.
        widths : sequence of float
            Ascending.
        n_dims : sequence of int
            Dimensions.
        diameter : float
            Of the data.
        epsilon, norm : float
            ε and Λ.
        coefficient_norm : float
            Σ abs(α_i), see `mercer.capacity.best_period`.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        CapacityMapDisplay
            The display, drawn.
        """
        table = np.zeros((len(n_dims), len(kernels)))
        for row, d in enumerate(n_dims):
            for column, kernel in enumerate(kernels):
                found = best_period(
                    kernel, diameter, log_n=_LOG_N, norm=norm, coefficient_norm=coefficient_norm, n_dims=d
                )
                spectrum = periodic_spectrum(kernel, found.period, n_dims=d)
                table[row, column] = log_covering(spectrum, epsilon, norm=norm)
        widths_, dims = np.asarray(widths, dtype=np.float64), np.asarray(n_dims)
        return cls(widths=widths_, n_dims=dims, log_coverings=table, epsilon=epsilon).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.colors import LogNorm

        table = np.maximum(self.log_coverings, 0.1)
        # One value on all of a map is no range.
        limits = LogNorm(table.min(), max(table.max(), 1.01 * table.min()))
        mesh = ax.pcolormesh(table, norm=limits, cmap="viridis")
        for (row, column), value in np.ndenumerate(self.log_coverings):
            light = limits(max(value, 0.1)) < 0.6
            ax.text(
                column + 0.5, row + 0.5, f"{value:.3g}", ha="center", va="center", fontsize=8,
                color="white" if light else INK,
            )  # fmt: skip
        ax.set_xticks(np.arange(len(self.widths)) + 0.5, [f"{width:.3g}" for width in self.widths])
        ax.set_yticks(np.arange(len(self.n_dims)) + 0.5, [str(d) for d in self.n_dims])
        ax.set_xlabel("width of the kernel")
        ax.set_ylabel("dimension")
        pyplot().colorbar(mesh, ax=ax, label=f"ln N({self.epsilon:g})")
