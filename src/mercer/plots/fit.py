"""A fitted machine with its data: curve and tube, surface, or decision regions, and the support vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from mercer.arrays import Array
from mercer.losses import Loss
from mercer.plots.display import Display
from mercer.plots.grids import Sample, codes_of, require, support_of
from mercer.plots.planes import draw_regions, draw_surface
from mercer.plots.style import COLORS, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class FitDisplay(Display):
    """A fitted machine and its data.

    One column: the curve, the tube if there is one, points, support vectors ringed. Two columns: filled contours of the
    fit with the points in the same colours, or for a classifier the regions of the classes, with the lines f = ±1 for
    two classes. Points that enter the solution only as much as the tolerance of the solver allows are not ringed; where
    all points are support vectors, none is.

    Parameters
    ----------
    X, y : array
        The rows (n, 1) or (n, 2) and targets, class numbers for a classifier.
    grid : tuple of array
        The positions along each column.
    values : array
        The fitted function there, of shape (n_grid,), or (n_grid, n_grid) with the second column along the first axis;
        for more than two classes one value for each along a last axis.
    tube : tuple, optional
        Widths (below, above) of the tube: numbers or one for each row.
    support : array, optional
        Which rows are support vectors.
    classes : list of str, optional
        The names of the classes.
    names : tuple of str
        The names of the columns and of the target.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    See Also
    --------
    BandDisplay : A prediction band.

    Examples
    --------
    >>> from mercer import SupportVectorRegressor
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import FitDisplay
    >>> X, y = make_sinc(60, noise=0.1, random_state=0)
    >>> display = FitDisplay.from_estimator(SupportVectorRegressor(C=10.0).fit(X, y), X, y)
    >>> display.tube, display.ax_.get_xlabel()
    ((0.1, 0.1), 'x')
    """

    X: Array
    y: Array
    grid: tuple[Array, ...]
    values: Array
    tube: tuple[Any, Any] | None = None
    support: Array | None = None
    classes: list[str] | None = None
    names: tuple[str, ...] = ("x", "y")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ax: Axes | None = None,
        grid_resolution: int = 200,
        name: str = "fit",
        color: str | None = None,
        points: bool = True,
    ) -> FitDisplay:
        """Draw a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted regressor, or a classifier with `decision_function`.
        X, y : array or table
            Data. Support vectors are ringed if these are the rows that the estimator was fitted to.
        ax : Axes, optional
            Where to draw; by default a new figure.
        grid_resolution : int
            Positions along each column at which the estimator is asked.
        name, color, points
            As in `plot`.

        Returns
        -------
        FitDisplay
            The display, drawn.
        """
        remedy = "draw a prediction band with BandDisplay" if hasattr(estimator, "coverage") else "give a regressor"
        if not (is_classifier(estimator) or is_regressor(estimator)):
            raise TypeError(
                f"estimator of {cls.__name__} must be a regressor or a classifier, got {estimator!r}; {remedy}."
            )
        method = "decision_function" if is_classifier(estimator) else "predict"
        require(cls.__name__, estimator, [method], "give a regressor, or a classifier with a decision function")
        columns = (2,) if is_classifier(estimator) else (1, 2)
        sample = Sample.read(cls.__name__, X, y, columns, labels=is_classifier(estimator))
        codes = codes_of(cls.__name__, estimator, sample.y)
        grid = tuple(sample.axis(j, grid_resolution) for j in range(sample.X.shape[1]))
        rows = np.column_stack([part.ravel() for part in np.meshgrid(*grid)])
        values = np.asarray(getattr(estimator, method)(sample.in_kind(rows)))
        several = values.ndim == 2 and values.shape[1] > 1
        shape = (grid_resolution,) * len(grid)
        display = cls(
            X=sample.X,
            y=sample.y if codes is None else codes,
            grid=grid,
            values=values.reshape(*shape, values.shape[1]) if several else values.reshape(shape),
            tube=_tube(estimator, len(sample.X)) if codes is None else None,
            support=support_of(estimator, sample.X, sparse=_is_sparse(estimator)),
            classes=None if codes is None else [str(label) for label in estimator.classes_.tolist()],
            names=sample.names,
        )
        return display.plot(ax, name=name, color=color, points=points)

    def plot(
        self, ax: Axes | None = None, *, name: str = "fit", color: str | None = None, points: bool = True
    ) -> FitDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Curves of several machines may share one.
        name : str
            What the legend calls the curve.
        color : str, optional
            The colour of the curve, its tube and its support vectors.
        points : bool
            Whether to draw the data.

        Returns
        -------
        FitDisplay
            The display itself.
        """
        ax = self._on(ax)
        rings = self._ringed()
        if len(self.grid) == 1:
            self._draw_curve(ax, name, color or COLORS[0], points, rings)
        elif self.classes is None:
            draw_surface(ax, self.grid, self.values, self.X, self.y, rings, points=points, target=self.names[-1])
        else:
            draw_regions(ax, self.grid, self.values, self.X, self.y, rings, points=points, classes=self.classes)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        legend_above_data(ax)
        return self

    def _ringed(self) -> Array:
        if self.support is None or len(self.support) == len(self.X):
            return np.empty(0, dtype=int)
        return self.support

    def _draw_curve(self, ax: Axes, name: str, color: str, points: bool, rings: Array) -> None:
        x = self.grid[0]
        if points:
            ax.scatter(self.X[:, 0], self.y, s=14, color=POINTS, label="points", zorder=2, linewidths=0)
        ax.plot(x, self.values, color=color, lw=2, label=name, zorder=3)
        if self.tube is not None:
            self._draw_tube(ax, color)
        if points and len(rings):
            label = f"support vectors ({len(rings)} of {len(self.X)})"
            where = (self.X[rings, 0], self.y[rings])
            ax.scatter(*where, s=46, facecolors="none", edgecolors=color, linewidths=1.1, label=label, zorder=4)

    def _draw_tube(self, ax: Axes, color: str) -> None:
        below, above = self.tube or (0.0, 0.0)
        if np.ndim(below) == 0 and np.ndim(above) == 0:
            width = f"±{below:.3g}" if below == above else f"-{below:.3g} to +{above:.3g}"
            edges = (self.values - below, self.values + above)
            ax.fill_between(self.grid[0], *edges, color=color, alpha=0.16, lw=0, label=f"tube {width}", zorder=1)
            return
        # A width for each sample says nothing of what lies between the samples.
        x = self.X[:, 0]
        middle = np.interp(x, self.grid[0], self.values)
        label = "tube of each point"
        ax.vlines(x, middle - below, middle + above, color=color, alpha=0.3, lw=3, label=label, zorder=1)


def _tube(estimator: Any, n: int) -> tuple[Any, Any] | None:
    """Widths of the tube (below, above); None if there is none, or if it belongs to other samples."""
    epsilon = getattr(estimator, "epsilon_", None)
    widths: tuple[Any, Any] = getattr(_loss(estimator), "insensitivity", (0.0, 0.0))
    if epsilon is not None:
        widths = (epsilon, epsilon)
    if not any(np.any(width) for width in widths) or any(np.ndim(width) and len(width) != n for width in widths):
        return None
    return widths


def _is_sparse(estimator: Any) -> bool:
    """Whether there are errors that cost nothing, so that their points should not enter the solution."""
    if hasattr(estimator, "epsilon_"):
        return True
    loss = _loss(estimator)
    if not isinstance(loss, Loss):
        return False
    return any(np.any(width) for width in loss.insensitivity) or bool(loss.classification and loss.value(-1.0) == 0)


def _loss(estimator: Any) -> Any:
    """The loss that a fitted estimator used, if it says so."""
    return getattr(estimator, "loss_", None)
