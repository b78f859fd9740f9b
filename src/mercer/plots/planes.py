"""Functions of two columns: a surface as filled contours, classes as regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.style import INK, MARKERS, color, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHED: Any = (0, (4, 3))


def draw_surface(
    ax: Axes, grid: tuple[Array, ...], values: Array, X: Array, y: Array, rings: Array, *, points: bool, target: str
) -> None:
    """Filled contours of a fit; the points have the colours of their targets, so that a misfit stands out."""
    from matplotlib.colors import ListedColormap, Normalize

    # The light part of a map from yellow to blue: dark rings and edges are seen on all of it.
    shades = ListedColormap(pyplot().get_cmap("YlGnBu")(np.linspace(0.04, 0.78, 256)))
    both = np.concatenate([values.ravel(), y]) if points else values.ravel()
    norm = Normalize(both.min(), both.max())
    if np.ptp(values) > 0:
        surface: Any = ax.contourf(*grid, values, levels=14, cmap=shades, norm=norm, zorder=0)
    else:
        surface = ax.pcolormesh(*grid, values, cmap=shades, norm=norm, zorder=0)
    if points:
        style: dict[str, Any] = {"cmap": shades, "norm": norm, "edgecolors": INK, "linewidths": 0.5}
        ax.scatter(X[:, 0], X[:, 1], c=y, s=26, label="points", zorder=2, **style)
        _draw_rings(ax, X, rings)
    scale = pyplot().cm.ScalarMappable(norm, shades) if points else surface
    ax.figure.colorbar(scale, ax=ax, label=target)


def draw_regions(
    ax: Axes, grid: tuple[Array, ...], values: Array, X: Array, codes: Array, rings: Array, *, points: bool,
    classes: list[str],
) -> None:  # fmt: skip
    """The region of each class, the lines between them, and for two classes the lines f = ±1."""
    scores = np.stack([-values, values], axis=-1) if values.ndim == 2 else values
    for code, label in enumerate(classes):
        lead = lead_of(code, scores)
        if lead.max() > 0:
            ax.contourf(*grid, lead, levels=[0.0, lead.max()], colors=[color(code)], alpha=0.2, zorder=0)
        # Between two classes one line says it all.
        if code > 0 or len(classes) > 2:
            draw_line(ax, grid, lead, 0.0, "-")
        # Without points the legend still tells the colours.
        rows = X[codes == code] if points else X[:0]
        style: dict[str, Any] = {"marker": MARKERS[code % len(MARKERS)], "edgecolors": "white", "linewidths": 0.5}
        ax.scatter(rows[:, 0], rows[:, 1], s=22, color=color(code), label=label, zorder=2, **style)
    if points:
        _draw_rings(ax, X, rings)
    if values.ndim == 2:
        for level in (-1.0, 1.0):
            draw_line(ax, grid, values, level, DASHED)
        ax.plot([], [], color=INK, lw=1.2, ls=DASHED, label="margin f = ±1")


def lead_of(code: int, scores: Array) -> Array:
    """How far the score of a class, along the last axis, is above those of all others."""
    return np.asarray(scores[..., code] - np.delete(scores, code, axis=-1).max(axis=-1))


def draw_line(ax: Axes, grid: tuple[Array, ...], values: Array, level: float, dashes: Any) -> None:
    """The line where values, which may be masked, are at a level."""
    if values.min() < level < values.max():
        ax.contour(*grid, values, levels=[level], colors=[INK], linewidths=1.2, linestyles=[dashes], zorder=1)


def _draw_rings(ax: Axes, X: Array, rings: Array) -> None:
    if len(rings):
        label = f"support vectors ({len(rings)} of {len(X)})"
        style: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.0}
        ax.scatter(X[rings, 0], X[rings, 1], s=64, label=label, zorder=3, **style)
