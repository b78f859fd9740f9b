"""Still pictures of the report: Display objects of `mercer.plots` as SVG that follows the colours of the page."""

from __future__ import annotations

import datetime as dt
import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from scipy.spatial import cKDTree

from mercer.arrays import Array
from mercer.plots import (
    CandidatesDisplay,
    CurveDisplay,
    CurveMagnificationDisplay,
    DecodedGridDisplay,
    DenoisedDisplay,
    ExplainedVarianceDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    ModelChoiceDisplay,
    PredictionDisplay,
    RowDensityDisplay,
    WidthCurveDisplay,
)
from mercer.plots.style import COLORS, INK, POINTS
from mercer.report.map_data import pixel_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mercer.relevance import LearningCurve, RelevantDimensions
    from mercer.report.effects import Effect
    from mercer.tables.targets import Target
    from mercer.workflows.mapping import MapResult


# Text stays text, identities depend on the picture alone, and all ink has the colour that the page replaces.
_STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "mercer", "font.family": "sans-serif", "font.size": 9,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
}  # fmt: skip
_VARIABLES = {INK: "var(--ink)", POINTS: "var(--muted)"} | {c: f"var(--c{i})" for i, c in enumerate(COLORS)}
# Images along each axis of decoded ones; none is drawn where the nearest row is farther away than so many of them.
_IMAGES, _FARTHEST = 9, 1.0
# A picture of places is no more than this many times as long as it is high, and the other way round.
_LONGEST_SIDE = 3.0
# Points of an effect that are marked one by one, and letters of a category that are written.
_MARKED, _LONGEST_NAME = 12, 12


class Picture:
    """A figure while it is drawn, and then its SVG.

    Parameters
    ----------
    width, height : float
        In inches.
    """

    def __init__(self, width: float = 6.4, height: float = 3.6):
        from matplotlib.figure import Figure

        self.figure: Figure = Figure(figsize=(width, height), layout="constrained")

    def svg(self) -> Markup:
        """The picture as part of a page."""
        self._show_dollars()
        file = io.StringIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        with warnings.catch_warnings():
            # Text stays text: the browser has the letters that the font of the figure lacks.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            self.figure.savefig(file, format="svg", transparent=True, metadata=nothing)
        text = file.getvalue()
        text = text[text.index("<svg") :]
        # Groups of several pictures would have the same names; nothing refers to them.
        text = re.sub(r'<g id="[^"]*">', "<g>", text)
        text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%"', text, count=1)
        text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
        for old, new in _VARIABLES.items():
            text = text.replace(old, new)
        return Markup(text)

    def _show_dollars(self) -> None:
        """Dollars in names of columns and classes begin no formulas; ticks of logarithmic axes are not drawn yet."""
        from matplotlib.text import Text
        from matplotlib.ticker import FuncFormatter

        for text in self.figure.findobj(Text):
            text.set_text(_escaped(text.get_text()))
        for axes in self.figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                formatter = axis.get_major_formatter()
                if isinstance(formatter, FuncFormatter):  # of labels that were given
                    axis.set_major_formatter(partial(_escaped_label, formatter))


def _escaped_label(formatter: Callable[[float, int | None], str], value: float, place: int | None) -> str:
    return _escaped(formatter(value, place))


def _escaped(text: str) -> str:
    return text.replace("\\$", "$").replace("$", "\\$")


@contextmanager
def drawing(width: float = 6.4, height: float = 3.6) -> Iterator[Picture]:
    """A picture in the style of the report."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield Picture(width, height)


# Maps ----------------------------------------------------------------------------------------------------------------


def density_picture(result: MapResult) -> Markup:
    """Where rows are dense on the map and, for manifolds, how much the map stretches."""
    Z = result.embedding[np.isfinite(result.embedding).all(axis=1)]
    estimator = result.model.estimator
    stretched = hasattr(estimator, "metric") and Z.shape[1] <= 2
    with drawing(9.2 if stretched else 5.2, 3.8) as picture:
        axes = np.ravel(picture.figure.subplots(1, 2 if stretched else 1, squeeze=False))
        RowDensityDisplay(points=Z).plot(axes[0])
        _limit_aspect(axes[0])
        if stretched:
            (CurveMagnificationDisplay if Z.shape[1] == 1 else LatentMapDisplay).from_estimator(estimator, ax=axes[1])
        return picture.svg()


def _limit_aspect(ax: Axes) -> None:
    """Keep one scale for both axes unless that makes the picture a strip."""
    across, up = (abs(np.diff(limits)[0]) for limits in (ax.get_xlim(), ax.get_ylim()))
    if ax.get_aspect() == 1.0:
        ax.set_aspect(float(np.clip(up / across, 1.0 / _LONGEST_SIDE, _LONGEST_SIDE) * across / up))


def decoded_images(result: MapResult) -> Markup:
    """Images that places of the map stand for; none where no rows are."""
    schema = result.model.schema
    shape = schema.image_shape
    assert shape is not None
    axes = [_span_of(result.embedding[:, c], _IMAGES) for c in range(min(result.embedding.shape[1], 2))]
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    nearest, cells = _nearest_rows(result.embedding, places, axes)
    Z = result.embedding[nearest]
    Z[:, : len(axes)] = places
    ends = pixel_ends(result.table)
    images = schema.columns[0].scale * result.model.rows(Z) + np.array([c.center[0] for c in schema.columns])
    images = np.clip(images, *ends)
    images[cells > _FARTHEST] = np.nan
    display = DecodedGridDisplay(
        images=images.reshape(len(axes[0]), -1, *shape), limits=np.vstack([*map(_edges, axes), [-1.0, 1.0]])[:2],
        ends=ends,
    )  # fmt: skip
    with drawing(6.0, 6.0 if len(axes) == 2 else 1.2) as picture:
        display.plot(picture.figure.subplots(), cmap="gray")
        return picture.svg()


def _nearest_rows(Z: Array, places: Array, axes: list[Array]) -> tuple[Array, Array]:
    """The row nearest to each place in the coordinates that are drawn, and its distance in cells."""
    some = np.flatnonzero(np.isfinite(Z).all(axis=1))
    cell = np.array([np.diff(_edges(axis))[0] / len(axis) for axis in axes])
    distances, found = cKDTree(Z[some, : len(axes)] / cell).query(places / cell)
    return some[found], distances


def _edges(places: Array) -> Array:
    """Where the first cell begins and the last one ends, the places being their centres."""
    half = (places[1] - places[0]) / 2 or 0.5
    return np.array([places[0] - half, places[-1] + half])


def curve_picture(result: MapResult) -> Markup:
    """A curve among the rows, in the two columns of numbers that change most along it."""
    schema = result.model.schema
    places = np.linspace(np.nanmin(result.embedding), np.nanmax(result.embedding), 300)
    curve = result.model.rows(places[:, None])
    changes = [np.ptp(curve[:, group[0]]) if len(group) == 1 else 0.0 for group in schema.groups.values()]
    pair = np.sort(np.argsort(changes)[-2:])
    columns = [schema.columns[i] for i in pair]
    positions = [schema.groups[column.name][0] for column in columns]

    def in_units(X: Array) -> Array:
        return X[:, positions] * [c.scale for c in columns] + [c.center[0] for c in columns]

    feet = result.model.rows(result.embedding)
    # The curve was fitted to columns in units of their standard deviations.
    display = CurveDisplay(
        rows=in_units(result.X), feet=in_units(feet), curve=in_units(curve), names=tuple(c.name for c in columns),
        aspect=columns[0].scale / columns[1].scale,
    )  # fmt: skip
    with drawing(6.0, 4.4) as picture:
        display.plot(picture.figure.subplots())
        return picture.svg()


def _span_of(z: Array, n: int) -> Array:
    """Places along a coordinate between which nearly all rows are."""
    low, high = np.nanquantile(z, [0.01, 0.99])
    return np.linspace(low, high, n)


def choice_picture(estimator: Any) -> Markup | None:
    """What the width and the penalty of a manifold, or the size of another map, were chosen from."""
    candidates = getattr(estimator, "candidates_", None)
    if candidates and "held_out" in candidates:
        return _drawn(ModelChoiceDisplay.from_estimator, estimator, 7.2, 4.2)
    if candidates:
        return _drawn(CandidatesDisplay.from_estimator, estimator, 7.2, 3.8)
    if hasattr(estimator, "width_curve_"):
        return _drawn(WidthCurveDisplay.from_estimator, estimator, 5.6, 3.4)
    if np.all(np.isfinite(getattr(estimator, "explained_variance_ratio_", [np.nan]))):
        return _drawn(ExplainedVarianceDisplay.from_estimator, estimator, 5.6, 2.6)
    return None


def _drawn(draw: Callable[..., Any], estimator: Any, width: float, height: float) -> Markup:
    with drawing(width, height) as picture:
        draw(estimator, ax=picture.figure.subplots())
        return picture.svg()


# Diagnoses -----------------------------------------------------------------------------------------------------------


def learning_picture(curve: LearningCurve) -> Markup:
    """Held-out errors against the number of rows, and what to expect of more."""
    with drawing(5.2, 3.4) as picture:
        LearningCurveDisplay(curve=curve).plot(picture.figure.subplots())
        return picture.svg()


def denoised_picture(model: RelevantDimensions, y: Array, target: Target) -> Markup:
    """Targets without their noise, in the units of the table, against the given ones."""
    with drawing(5.2, 3.4) as picture:
        ax = picture.figure.subplots()
        if target.classes is None:
            observed, denoised = map(target.in_units, (y, model.projection_))
            DenoisedDisplay(observed=observed, denoised=denoised).plot(ax)
        else:
            DenoisedDisplay.from_estimator(model, y, ax=ax)
        return picture.svg()


# Machines ------------------------------------------------------------------------------------------------------------


def prediction_picture(y: Array, predicted: Array, interval: Array | None, name: str) -> Markup:
    """Predictions of held-out rows against the truth, with their bands."""
    with drawing(5.6, 4.2) as picture:
        PredictionDisplay(truth=y, predicted=predicted, interval=interval, name=name).plot(picture.figure.subplots())
        return picture.svg()


def effects_picture(effects: list[Effect]) -> Markup:
    """Mean predictions along columns, all on one scale."""
    n_across = min(3, len(effects))
    n_down = -(-len(effects) // n_across)
    with drawing(2.9 * n_across + 0.6, 2.3 * n_down + 0.2) as picture:
        grid = picture.figure.subplots(n_down, n_across, sharey=True, squeeze=False)
        for ax, effect in zip(grid.flat, effects, strict=False):
            is_category = isinstance(effect.places[0], str)
            places, unit = _on_axis(effect.places)
            for color, (name, means) in zip(COLORS, effect.means.items(), strict=False):
                ax.plot(places, means, color=color, marker="o" if len(places) <= _MARKED else None, markersize=4,
                        linestyle="none" if is_category else "-", label=name)  # fmt: skip
            ax.set_xlabel(f"{effect.column}{unit}")
            if is_category:
                ax.set_xticks(places, [_short(place) for place in effect.places])
            if is_category or not isinstance(effect.places[0], int | float):
                ax.tick_params(axis="x", rotation=45 if len(places) > 3 else 0)
        for ax in list(grid.flat)[len(effects) :]:
            ax.set_visible(False)
        names = list(effects[0].means)
        for ax in grid[:, 0]:
            ax.set_ylabel("probability" if len(names) > 1 else names[0])
        if len(names) > 1:
            grid[0, 0].legend(frameon=False)
        return picture.svg()


def _on_axis(places: list[Any]) -> tuple[list[Any], str]:
    """Places as Matplotlib draws them, and their unit: it knows dates, but neither times of a day nor durations."""
    if isinstance(places[0], str):
        return list(range(len(places))), ""
    if isinstance(places[0], dt.time):
        return [place.hour + place.minute / 60 + place.second / 3600 for place in places], " [hours]"
    if isinstance(places[0], dt.timedelta):
        return [place.total_seconds() for place in places], " [seconds]"
    return places, ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
