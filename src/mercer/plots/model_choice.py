"""What the width and the penalty of a manifold, or the number of components, were chosen from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import PlainDisplay
from mercer.plots.grids import require
from mercer.plots.style import COLORS, DASHES, INK, MARKERS, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = (("pca", "principal components", (0, (6, 2))), ("mean", "the mean", (0, (1, 2))))
# A triangle that points down.
_FAR_BELOW = 7


@dataclass(eq=False, kw_only=True)
class ModelChoiceDisplay(PlainDisplay):
    """Held-out log density over the width, a curve for each penalty, beside the levels of simpler models.

    Parameters
    ----------
    candidates : dict of lists
        The table `candidates_` of `PrincipalManifold`.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import PrincipalManifold
    >>> from mercer.datasets import make_arc
    >>> from mercer.plots import ModelChoiceDisplay
    >>> X, _ = make_arc(60, noise=0.1, random_state=0)
    >>> curve = PrincipalManifold(1, penalty=1e-3, random_state=0).fit(X)
    >>> ModelChoiceDisplay.from_estimator(curve).ax_.get_ylabel()
    'log density of held-out rows'
    """

    candidates: dict[str, list[Any]]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ModelChoiceDisplay:
        """Draw what a manifold was chosen from.

        Parameters
        ----------
        estimator : estimator
            A `PrincipalManifold` whose width or penalty was "auto".
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        ModelChoiceDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["candidates_"], "fit a PrincipalManifold with width='auto'")
        if not estimator.candidates_:
            raise ValueError(
                f"estimator of {cls.__name__} must have compared models, got one that has not; take width='auto'."
            )
        return cls(candidates=estimator.candidates_).plot(ax)

    def _draw(self, ax: Axes) -> None:
        table = _Candidates(self.candidates)
        held_out = table.column("held_out")
        judged = table.manifolds & np.isfinite(held_out)
        floor = _floor(held_out[table.rungs == "mean"], held_out[judged])
        for places, best, style in table.curves(np.where(judged, held_out, np.nan), np.max):
            far = best < floor
            ax.plot(places, np.where(far, np.nan, best), **style)
            if far.any():
                ax.plot(places[far], np.full(far.sum(), floor), ls="", marker=_FAR_BELOW, ms=9, color=style["color"])
        for rung, words, dashes in _LEVELS:
            levels = held_out[table.rungs == rung]
            if levels.size:
                ax.axhline(float(levels[-1]), color=INK, lw=1.2, ls=dashes, label=words)
        _widths_across(ax, table.widths[judged])
        if np.isfinite(floor):
            words = f"far below, down to {held_out[judged].min():.3g}"
            ax.plot([], [], ls="", marker=_FAR_BELOW, ms=9, color=INK, label=words)
        ax.set_ylabel("log density of held-out rows")
        legend_above_data(ax)


class _Candidates:
    """The columns of a table of candidates as arrays."""

    def __init__(self, candidates: dict[str, list[Any]]):
        self._candidates = candidates
        self.rungs = np.array(candidates["rung"])
        self.manifolds = self.rungs == "manifold"
        self.widths = np.array([_one_width(width) for width in candidates["width"]])

    def column(self, name: str) -> Array:
        return np.array(self._candidates[name], dtype=np.float64)

    def curves(self, values: Array, best_of: Callable[[Array], float]) -> Iterator[tuple[Array, Array, dict[str, Any]]]:
        """For each penalty and dimension, widths, the best of the known values at each, and a style with a label."""
        sizes, penalties = np.array(self._candidates["n_components"]), self.column("penalty")
        groups = sorted(set(zip(sizes[self.manifolds], penalties[self.manifolds], strict=True)))
        for i, (q, penalty) in enumerate(groups):
            rows = self.manifolds & (sizes == q) & (penalties == penalty) & np.isfinite(values)
            if rows.any():
                places = np.unique(self.widths[rows])
                best = np.array([best_of(values[rows & (self.widths == width)]) for width in places])
                label = f"penalty {penalty:.0e}" + (f", {q}-d" if len(set(sizes)) > 1 else "")
                marks = {"marker": MARKERS[i % len(MARKERS)], "ls": DASHES[i % len(DASHES)], "color": color(i)}
                yield places, best, {"lw": 1.5, "ms": 6, "label": label, **marks}


def _widths_across(ax: Axes, widths: Array) -> None:
    if len(set(widths)) > 1:
        ax.set_xscale("log")
        for axis_format in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
            axis_format(lambda value, _: f"{value:g}")
    ax.set_xlabel("width of the kernel on the map")


def _floor(of_means: Array, of_manifolds: Array) -> float:
    """Where models are marked that are far worse than the mean, which would leave no room for the others."""
    if of_means.size and of_manifolds.size:
        low, high = float(of_means.min()), float(of_manifolds.max())
        if of_manifolds.min() < 2 * low - high:
            return 1.5 * low - 0.5 * high
    return -np.inf


def _one_width(width: Any) -> float:
    """The width, or the largest of several; NaN where a kernel was given."""
    return np.nan if isinstance(width, str) else float(np.max(width))


@dataclass(eq=False, kw_only=True)
class ExplainedVarianceDisplay(PlainDisplay):
    """The fraction of the variance that each component holds.

    Parameters
    ----------
    ratios : array of shape (n_components,)
        Shares, from 0 to 1.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from mercer.plots import ExplainedVarianceDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> len(ExplainedVarianceDisplay.from_estimator(PCA(3).fit(X)).ax_.patches)
    3
    """

    ratios: Array

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ExplainedVarianceDisplay:
        """Draw the variance of fitted components.

        Parameters
        ----------
        estimator : estimator
            `KernelPCA`, scikit-learn's `PCA`, or what else has `explained_variance_ratio_`.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        ExplainedVarianceDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["explained_variance_ratio_"], "fit a PCA or a KernelPCA")
        return cls(ratios=np.asarray(estimator.explained_variance_ratio_)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        numbers = np.arange(1, len(self.ratios) + 1)
        ax.bar(numbers, 100 * self.ratios, color=COLORS[1], width=0.6)
        if len(numbers) <= 12:
            ax.set_xticks(numbers)
        ax.set_xlabel("coordinate")
        ax.set_ylabel("share of the variance in %")
