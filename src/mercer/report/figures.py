"""Still pictures of the report: Display objects of `mercer.plots` as SVG that follows the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from mercer.plots import CurveDisplay, DecodedGridDisplay, DenoisedDisplay, LatentMapDisplay, WidthCurveDisplay
from mercer.plots.style import COLORS, DASHES, INK, MARKERS, POINTS, color, legend_above_data, new_or_given

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mercer.relevance import LearningCurve, RelevantDimensions
    from mercer.report.mapping import MapResult
    from mercer.report.targets import Target

Array = NDArray[Any]

# Text stays text, identities depend on the picture alone, and all ink has the colour that the page replaces.
_STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "mercer", "font.family": "sans-serif", "font.size": 9,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
}  # fmt: skip
_VARIABLES = {INK: "var(--ink)", POINTS: "var(--muted)"} | {c: f"var(--c{i})" for i, c in enumerate(COLORS)}
# Cells of the picture of a density, and images along each axis of decoded ones.
_CELLS, _IMAGES = 70, 9


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
        file = io.StringIO()
        self.figure.savefig(
            file, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
        text = file.getvalue()
        text = text[text.index("<svg") :]
        # Groups of several pictures would have the same names; nothing refers to them.
        text = re.sub(r'<g id="[^"]*">', "<g>", text)
        text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%"', text, count=1)
        text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
        for old, new in _VARIABLES.items():
            text = text.replace(old, new)
        return Markup(text)


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
    stretched = hasattr(estimator, "metric")
    with drawing(9.2 if stretched else 5.2, 3.8) as picture:
        axes = np.ravel(picture.figure.subplots(1, 2 if stretched else 1, squeeze=False))
        if Z.shape[1] == 1:
            _curve_density(axes, Z[:, 0], estimator if stretched else None)
        else:
            _surface_density(picture.figure, axes[0], Z[:, :2])
            if stretched and Z.shape[1] == 2:
                LatentMapDisplay.from_estimator(estimator, ax=axes[1])
            elif stretched:
                axes[1].set_axis_off()
        return picture.svg()


def _curve_density(axes: Array, z: Array, estimator: Any) -> None:
    grid = np.linspace(z.min(), z.max(), 300)
    ax = new_or_given(axes[0])
    # A smooth curve would fall at the ends, and on circles there are none.
    ax.hist(z, bins=min(40, max(8, len(z) // 10)), density=True, color=COLORS[1], alpha=0.5)
    ax.set_xlabel("coordinate 1")
    ax.set_ylabel("density of the rows")
    if estimator is not None:
        ax = new_or_given(axes[1])
        speed = np.sqrt(estimator.metric(grid[:, None])[:, 0, 0])
        ax.plot(grid, speed, color=COLORS[0], lw=1.8)
        ax.set_ylim(0.0, 1.1 * speed.max())
        ax.set_xlabel("coordinate 1")
        ax.set_ylabel("magnification")


def _surface_density(figure: Figure, ax: Any, Z: Array) -> None:
    low, high = Z.min(axis=0), Z.max(axis=0)
    margin = 0.04 * (high - low)
    edges = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low - margin, high + margin, strict=True)]
    centres = [(axis[1:] + axis[:-1]) / 2 for axis in edges]
    grid = np.stack(np.meshgrid(*centres, indexing="ij")).reshape(2, -1)
    try:
        values = gaussian_kde(Z.T)(grid).reshape(_CELLS, _CELLS)
    except np.linalg.LinAlgError:  # all rows on a line
        values = np.histogram2d(Z[:, 0], Z[:, 1], bins=edges)[0]
    new_or_given(ax)
    image = ax.pcolormesh(*edges, values.T, cmap="viridis", rasterized=True)
    bar = figure.colorbar(image, ax=ax, label="density of the rows", ticks=[])
    bar.outline.set_visible(False)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("coordinate 1")
    ax.set_ylabel("coordinate 2")


def decoded_images(result: MapResult) -> Markup:
    """Images that places of the map stand for."""
    shape = result.model.schema.image_shape
    assert shape is not None
    axes = [span_of(result.embedding[:, c], _IMAGES) for c in range(min(result.embedding.shape[1], 2))]
    middle = np.nanmedian(result.embedding, axis=0)
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    Z = np.tile(middle, (len(places), 1))
    Z[:, : len(axes)] = places
    images = result.model.rows(Z)
    scale, centers = result.model.schema.columns[0].scale, [c.center[0] for c in result.model.schema.columns]
    images = (images * scale + np.array(centers)).reshape(len(axes[0]), -1, *shape)
    with drawing(6.0, 6.0 if len(axes) == 2 else 1.2) as picture:
        ax = picture.figure.subplots()
        DecodedGridDisplay(images=images).plot(ax)
        # The places are between the ends of the coordinates, not -1 and 1.
        ax.set_xticks([])
        ax.set_yticks([])
        return picture.svg()


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
    with drawing(6.0, 4.4) as picture:
        CurveDisplay(
            rows=in_units(result.X), feet=in_units(feet), curve=in_units(curve), names=tuple(c.name for c in columns)
        ).plot(picture.figure.subplots())
        return picture.svg()


def span_of(z: Array, n: int) -> Array:
    """Places along a coordinate between which nearly all rows are."""
    low, high = np.nanquantile(z, [0.01, 0.99])
    return np.linspace(low, high, n)


def choice_picture(estimator: Any) -> Markup | None:
    """What the width and the penalty of a manifold, or the size of another map, were chosen from."""
    if getattr(estimator, "candidates_", None):
        return _held_out_picture(estimator.candidates_)
    if hasattr(estimator, "width_curve_"):
        with drawing(5.6, 3.4) as picture:
            WidthCurveDisplay.from_estimator(estimator, ax=picture.figure.subplots())
            return picture.svg()
    ratios = getattr(estimator, "explained_variance_ratio_", None)
    if ratios is None or not np.all(np.isfinite(ratios)):
        return None
    with drawing(5.6, 2.6) as picture:
        ax = new_or_given(picture.figure.subplots())
        ax.bar(np.arange(1, len(ratios) + 1), 100 * np.asarray(ratios), color=COLORS[1], width=0.6)
        ax.set_xticks(range(1, len(ratios) + 1))
        ax.set_xlabel("coordinate")
        ax.set_ylabel("share of the variance in %")
        return picture.svg()


def _held_out_picture(candidates: dict[str, list[Any]]) -> Markup:
    """Held-out log density against the width, one curve for each penalty, and the levels of the simpler models."""
    table = {name: np.array(values) for name, values in candidates.items()}
    held_out = table["held_out"].astype(np.float64)
    judged = (table["rung"] == "manifold") & np.isfinite(held_out)
    with drawing(7.2, 3.8) as picture:
        ax = new_or_given(picture.figure.subplots())
        groups = sorted({(q, p) for q, p in zip(table["n_components"][judged], table["penalty"][judged], strict=True)})
        for i, (q, penalty) in enumerate(groups):
            rows = np.flatnonzero(judged & (table["n_components"] == q) & (table["penalty"] == penalty))
            best = {w: max(table["held_out"][i] for i in rows if table["width"][i] == w) for w in table["width"][rows]}
            widths = sorted(best)
            style: dict[str, Any] = {
                "color": color(i),
                "marker": MARKERS[i % len(MARKERS)],
                "ls": DASHES[i % len(DASHES)],
            }
            name = f"penalty {penalty:.0e}" + (f", {q}-d" if len(set(table["n_components"])) > 1 else "")
            ax.plot(widths, [best[w] for w in widths], lw=1.5, ms=6, label=name, **style)
        for name, words, dashes in (("pca", "principal components", (0, (6, 2))), ("mean", "the mean", (0, (1, 2)))):
            values = table["held_out"][table["rung"] == name]
            if len(values):
                ax.axhline(float(values[-1]), color=INK, lw=1.2, ls=dashes, label=words)
        if len(set(table["width"][judged])) > 1:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.xaxis.set_minor_formatter(lambda value, _: f"{value:g}")
        # Widths that are far too small would leave no room for the others.
        levels = {rung: held_out[(table["rung"] == rung) & np.isfinite(held_out)] for rung in ("mean", "manifold")}
        if levels["mean"].size and levels["manifold"].size:
            low, high = float(levels["mean"].min()), float(levels["manifold"].max())
            if levels["manifold"].min() < 2 * low - high:
                ax.set_ylim(1.5 * low - 0.5 * high, 1.1 * high - 0.1 * low, auto=True)
        ax.set_xlabel("width of the kernel on the map")
        ax.set_ylabel("log density of held-out rows")
        legend_above_data(ax)
        return picture.svg()


# Diagnoses -----------------------------------------------------------------------------------------------------------


def kernels_picture(model: RelevantDimensions) -> Markup:
    """The likelihood and the noise of all kernels, one curve for each kind, over their widths."""
    table = model.table_
    kinds = [type(kernel).__name__ for kernel in table["kernel"]]
    names = list(dict.fromkeys(kinds))
    with drawing(9.2, 3.6) as picture:
        for ax, quantity in zip(picture.figure.subplots(1, 2), ("log_likelihood", "noise_level"), strict=True):
            new_or_given(ax)
            for i, name in enumerate(names):
                rows = [j for j, kind in enumerate(kinds) if kind == name]
                places = [length_of(table["kernel"][j]) for j in rows]
                values = [table[quantity][j] for j in rows]
                style: dict[str, Any] = {"color": color(i), "marker": MARKERS[i % len(MARKERS)], "ms": 4.5}
                if np.all(np.isfinite(places)):
                    ax.plot(places, values, lw=1.4, ls=DASHES[i % len(DASHES)], label=name, **style)
                else:
                    ax.axhline(max(values) if quantity == "log_likelihood" else min(values), lw=1.2, color=color(i),
                               ls=DASHES[i % len(DASHES)], label=f"{name} (best)")  # fmt: skip
            best = length_of(model.kernel_)
            if np.isfinite(best):
                ax.axvline(best, ymax=0.8, color=INK, lw=1.2, ls=(0, (4, 2)), label="chosen")
            ax.set_xscale("log")
            ax.set_xlabel("width of the kernel")
            ax.set_ylabel({"log_likelihood": "log-likelihood per row", "noise_level": "noise level"}[quantity])
            legend_above_data(ax)
        return picture.svg()


def length_of(kernel: Any) -> float:
    """The width of a kernel of the distance; NaN for others."""
    width = getattr(kernel, "width", 1.0 / kernel.rate if hasattr(kernel, "rate") else np.nan)
    return float(width) if np.ndim(width) == 0 else np.nan


def learning_picture(curve: LearningCurve) -> Markup:
    """Held-out errors against the number of rows, and what to expect of more."""
    with drawing(5.2, 3.4) as picture:
        ax = new_or_given(picture.figure.subplots())
        sizes = np.linspace(curve.sizes.min(), 2 * curve.n, 100)
        expected = [100 * curve.expected(size) for size in sizes]
        ax.plot(sizes, expected, color=COLORS[1], lw=1.8, label="expected")
        ax.scatter(
            np.repeat(curve.sizes, curve.errors.shape[1]), 100 * curve.errors.ravel(), s=16, color=COLORS[0],
            label="held-out rows", zorder=3,
        )  # fmt: skip
        ax.axvline(curve.n, ymax=0.85, color=INK, lw=1.2, ls=(0, (4, 2)), label="rows there are")
        ax.set_ylim(bottom=0.0, auto=True)
        ax.set_xlabel("rows to learn from")
        ax.set_ylabel("error in %")
        legend_above_data(ax)
        return picture.svg()


def denoised_picture(model: RelevantDimensions, y: Array, target: Target) -> Markup:
    """Targets without their noise, in the units of the table, against the given ones."""
    with drawing(5.2, 3.4) as picture:
        ax = picture.figure.subplots()
        if target.classes is None:
            observed, denoised = (values * target.scale + target.center for values in (y, model.projection_))
            DenoisedDisplay(observed=observed, denoised=denoised).plot(ax)
        else:
            DenoisedDisplay.from_estimator(model, y, ax=ax)
        return picture.svg()


# Machines ------------------------------------------------------------------------------------------------------------


def prediction_picture(y: Array, predicted: Array, interval: Array | None, name: str) -> Markup:
    """Predictions of held-out rows against the truth, with their bands."""
    with drawing(5.6, 4.2) as picture:
        ax = new_or_given(picture.figure.subplots())
        ends = np.array([min(y.min(), predicted.min()), max(y.max(), predicted.max())])
        ax.plot(ends, ends, color=INK, lw=1.2, ls=(0, (4, 2)), label="exact", zorder=1)
        if interval is not None:
            ax.vlines(y, interval[:, 0], interval[:, 1], color=POINTS, lw=0.8, label="band", zorder=1)
        ax.scatter(y, predicted, s=16, color=COLORS[1], linewidths=0, label="held-out rows", zorder=2)
        ax.set_xlabel(f"{name}, as it is")
        ax.set_ylabel(f"{name}, predicted")
        legend_above_data(ax)
        return picture.svg()
