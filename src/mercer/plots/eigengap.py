"""The eigenvalues of a graph, and the gap that tells the number of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.graphs import eigengaps
from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS, INK, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class EigengapDisplay(PlainDisplay):
    """Eigenvalues λ = 1 - θ of the random-walk Laplacian, increasing, and the gap after those of the clusters.

    On a logarithmic axis gaps are the ratios that `mercer.graphs.eigengaps` compares: the longest step upwards tells
    the number of clusters. Eigenvalues that are too small to be distinguished from 0 are triangles at the bottom.

    Parameters
    ----------
    eigenvalues : array
        λ, increasing.
    gaps : array
        Logarithms of the ratios of successive ones.
    n_clusters : int
        How many eigenvalues are before the gap that was chosen.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import SpectralClustering
    >>> from mercer.plots import EigengapDisplay
    >>> X, _ = make_circles(300, factor=0.4, noise=0.03, random_state=0)
    >>> EigengapDisplay.from_estimator(SpectralClustering(random_state=0).fit(X)).n_clusters
    2
    """

    eigenvalues: Array
    gaps: Array
    n_clusters: int

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> EigengapDisplay:
        """Draw a fitted `SpectralClustering`.

        Parameters
        ----------
        estimator : SpectralClustering
            The clustering.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        EigengapDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["eigenvalues_", "n_clusters_"], "fit a SpectralClustering first")
        lam, k = np.asarray(estimator.eigenvalues_), int(estimator.n_clusters_)
        if len(lam) <= k:
            raise ValueError(
                f"estimator of {cls.__name__} must have more eigenvalues than its {k} clusters, got {len(lam)}; fit it "
                "with fewer clusters than rows."
            )
        return cls(eigenvalues=lam, gaps=eigengaps(lam), n_clusters=k).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        k, m = self.n_clusters, np.arange(1, len(self.eigenvalues) + 1)
        # All gaps together lead from the smallest value that counts to the last one.
        floor = max(self.eigenvalues[-1] * np.exp(-self.gaps.sum()), np.finfo(np.float64).tiny)
        heights, below = np.maximum(self.eigenvalues, floor), self.eigenvalues < 0.999 * floor
        ax.set_yscale("log")
        before = f"before the gap: {k} cluster{'s' if k > 1 else ''}"
        for rows, name, shade in ((m <= k, before, COLORS[0]), (m > k, "behind it", POINTS)):
            ax.scatter(m[rows & ~below], heights[rows & ~below], s=26, color=shade, linewidths=0, zorder=3)
            ax.scatter(m[rows & below], heights[rows & below], s=44, marker="v", color=shade, linewidths=0, zorder=3)
            ax.scatter([], [], s=26, color=shade, label=name)
        if below.any():
            ax.scatter([], [], s=44, marker="v", color=INK, label=f"less than {floor:.0e}")
        self._draw_gap(ax, heights, k, INK, "gap")
        largest = 1 + int(np.argmax(self.gaps))
        if largest != k:
            self._draw_gap(ax, heights, largest, COLORS[1], "largest gap")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("eigenvalue of the Laplacian, by size")
        ax.set_ylabel("λ = 1 - θ")
        legend_above_data(ax)

    def _draw_gap(self, ax: Axes, heights: Array, k: int, shade: str, name: str) -> None:
        """An upright line from the k-th height to the next, and one across to where it starts."""
        low, high = heights[k - 1 : k + 1]
        ax.plot([k, k + 0.5], [low, low], color=shade, lw=0.8, ls=(0, (2, 2)), zorder=2)
        ax.plot([k + 0.5, k + 1], [high, high], color=shade, lw=0.8, ls=(0, (2, 2)), zorder=2)
        label = f"{name}: {np.exp(self.gaps[k - 1]):.3g} times as large"
        ax.plot([k + 0.5, k + 0.5], [low, high], color=shade, lw=1.6, label=label, zorder=2)
