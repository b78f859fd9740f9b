"""A map: the first two coordinates of each row, and the graph that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import require
from mercer.plots.style import COLORS, MARKERS, POINTS, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More edges than this are grey all over.
_MOST_EDGES = 20_000
# Pairs of a colour and a marker that can be distinguished.
_MOST_LABELS = len(COLORS) * len(MARKERS)


@dataclass(eq=False, kw_only=True)
class MapDisplay(Display):
    """Rows as points in the plane, coloured by what is known of them, over the edges of their graph.

    Both axes have the same scale: distances on the map are seen as they are. Rows without coordinates are left out, and
    the legend says how many.

    Parameters
    ----------
    points : array of shape (n, 2)
        Coordinates; NaN for rows that have none.
    y : array of shape (n,), optional
        Labels or numbers of the rows. Numbers with decimals, and whole ones of more than 30 values, get a colour bar;
        all else are labels.
    edges : array of shape (m, 2)
        Pairs of rows to be joined by a line.
    names : pair of str
        The names of the coordinates.
    y_name : str
        What the colour bar says.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import DiffusionMap
    >>> from mercer.plots import MapDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = MapDisplay.from_estimator(DiffusionMap(n_neighbors=30).fit(X), y)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['0', '1', '2']
    """

    points: Array
    y: Array | None = None
    edges: Array = field(default_factory=lambda: np.empty((0, 2), dtype=np.intp))
    names: tuple[str, str] = ("coordinate 1", "coordinate 2")
    y_name: str = "y"

    @classmethod
    def from_estimator(cls, estimator: Any, y: Any = None, *, edges: bool = True, ax: Axes | None = None) -> MapDisplay:
        """Draw a fitted `LaplacianEigenmaps` or `DiffusionMap`, or what else has an `embedding_`.

        Parameters
        ----------
        estimator : estimator
            The map.
        y : array of shape (n,), optional
            Labels or numbers of the rows that it was fitted to.
        edges : bool
            Whether the edges of its `graph_` are drawn, if it has one with at most 20,000 of them.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        MapDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_"], "fit a map such as LaplacianEigenmaps first")
        points = np.asarray(estimator.embedding_, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] < 2:
            raise ValueError(
                f"estimator of {cls.__name__} must have two coordinates or more, got an embedding_ of shape "
                f"{points.shape}; fit it with n_components=2."
            )
        graph = getattr(estimator, "graph_", None) if edges else None
        options: dict[str, Any] = {} if graph is None else {"edges": edges_of(graph)}
        if y is not None:
            options["y_name"] = str(getattr(y, "name", None) or "y")
            options["y"] = labels_or_numbers(cls.__name__, y)
            check_consistent_length(points, options["y"])
        return cls(points=points[:, :2], **options).plot(ax)

    def plot(self, ax: Axes | None = None, *, size: float | None = None) -> MapDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        size : float, optional
            The area of a point, in square points of typography.

        Returns
        -------
        MapDisplay
            The display itself.
        """
        ax = self._on(ax)
        shown: Array = np.asarray(np.isfinite(self.points).all(axis=1))
        n, (x, y) = len(shown), self.points[shown].T
        size = float(np.clip(20_000 / n, 3.0, 22.0)) if size is None else size
        self._draw_edges(ax, shown)
        style: dict[str, Any] = {"s": size, "linewidths": 0, "zorder": 2}
        if self.y is None:
            ax.scatter(x, y, color=COLORS[1], label="rows", **style)
        elif _are_numbers(self.y):
            drawn = ax.scatter(x, y, c=self.y[shown], cmap="viridis", **style)
            ax.figure.colorbar(drawn, ax=ax, label=self.y_name)
        else:
            for code, label in enumerate(np.unique(self.y)):
                rows = self.y[shown] == label
                # Labels differ in colour; where the colours come again, in the marker.
                marker = MARKERS[code // len(COLORS) % len(MARKERS)]
                ax.scatter(x[rows], y[rows], color=color(code), marker=marker, label=str(label), **style)
        if not shown.all():
            ax.plot([], [], ls="none", label=f"not on the map ({n - int(shown.sum())} of {n})")
        # The limits give way, not the box, which may have neighbours of the same size.
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        # One kind of points, and nothing else, needs no legend.
        if len(ax.get_legend_handles_labels()[0]) > (self.y is None):
            legend_above_data(ax)
            # The room of the legend counts as data: else it may be cut away when both axes get one scale.
            ax.update_datalim([(float(np.mean(ax.get_xlim())), ax.get_ylim()[1])])
        return self

    def _draw_edges(self, ax: Axes, shown: Array) -> None:
        from matplotlib.collections import LineCollection

        edges = self.edges[shown[self.edges].all(axis=1)]
        if len(edges):
            # Many lines lie over each other.
            alpha = float(np.clip(2_000 / len(edges), 0.15, 0.6))
            ax.add_collection(
                LineCollection(list(self.points[edges]), colors=POINTS, linewidths=0.5, alpha=alpha, zorder=1)
            )


def edges_of(graph: Any) -> Array:
    """Pairs of rows that a graph joins, each once; none if there are more than can be seen."""
    upper = sparse.triu(graph, k=1, format="coo") if sparse.issparse(graph) else sparse.coo_array(np.triu(graph, 1))
    pairs = np.column_stack([upper.row, upper.col])[upper.data > 0]
    return pairs if len(pairs) <= _MOST_EDGES else pairs[:0]


def labels_or_numbers(owner: str, y: Any) -> Array:
    """What is known of the rows: one label or number for each, checked."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y of {owner} must have one column, got shape {values.shape}; draw one at a time.")
    if values.dtype.kind == "f":
        return np.asarray(check_array(values, ensure_2d=False, input_name="y"))
    if not _are_numbers(values) and len(np.unique(values)) > _MOST_LABELS:
        raise ValueError(
            f"y of {owner} must have at most {_MOST_LABELS} labels, got {len(np.unique(values))}; join some of them, "
            "or give numbers."
        )
    return values


def _are_numbers(y: Array) -> bool:
    return y.dtype.kind == "f" or (y.dtype.kind in "iu" and len(np.unique(y)) > _MOST_LABELS)
