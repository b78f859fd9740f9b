"""How Mercer's pictures look: colours, axes without ornament, legends that stand clear of the data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1f2328"
POINTS = "#8a8f98"
# Any two are at least 20 apart in CIELAB, also as they are seen with red, green or blue blindness.
COLORS = ("#d1495b", "#2e6f9e", "#e0a030", "#12355b", "#8fd0c0", "#7a3b1d")
# Markers and dashes repeat with another period than the colours, so that no pair looks alike.
MARKERS = ("o", "s", "^", "D", "v")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)), (0, (1, 1)))

_FONT_SIZE = 9


def pyplot() -> Any:
    """The module matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('mercer.plots needs matplotlib; install it with: pip install "mercer[plot]".') from error
    return plt


def color(i: int) -> str:
    """The colour of the i-th curve or class."""
    return COLORS[i % len(COLORS)]


def new_or_given(ax: Axes | None) -> Axes:
    """The axes to draw on, without the spines that say nothing."""
    if ax is None:
        ax = pyplot().subplots(figsize=(6.4, 4.4), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def new_or_given_pair(ax: Any) -> tuple[Axes, Axes]:
    """Two axes side by side: new ones, a pair that is given, or the halves of one that is given."""
    if ax is None:
        pair = tuple(pyplot().subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")[1])
    elif isinstance(ax, Iterable):
        pair = tuple(np.ravel(np.asarray(list(ax), dtype=object)))
    else:
        pair = _halves(ax)
    if len(pair) != 2:
        raise ValueError(f"ax must be None, one Axes or a pair of them, got {len(pair)}; give two.")
    for half in pair:
        half.spines[["top", "right"]].set_visible(False)
    return pair


def _halves(ax: Axes) -> tuple[Axes, Axes]:
    """Two axes inside of one, which stays as the invisible holder of their common title."""
    ax.set_axis_off()
    return ax.inset_axes((0.0, 0.0, 0.43, 1.0)), ax.inset_axes((0.57, 0.0, 0.43, 1.0))


def legend_above_data(ax: Axes, only: list[Any] | None = None) -> None:
    """A legend at the top, in as few lines as the width allows, with the y axis stretched so that nothing is under it.

    All that has a label enters, or only what is given. If the limits of the y axis were set by hand they stay, and the
    legend goes where it hides least.
    """
    handles = ax.get_legend_handles_labels()[0] if only is None else only
    labels = [str(handle.get_label()) for handle in handles]
    if not handles:
        return
    if not ax.get_autoscaley_on():
        ax.legend(handles, labels, frameon=False, fontsize=_FONT_SIZE, loc="best")
        return
    room = ax.get_window_extent()
    for n_lines in range(1, len(handles) + 1):
        legend = ax.legend(
            handles, labels, frameon=False, fontsize=_FONT_SIZE, loc="upper left", ncols=-(-len(handles) // n_lines),
            columnspacing=1.4, handletextpad=0.6, borderaxespad=0.2,
        )  # fmt: skip
        extent = legend.get_window_extent()
        if extent.width <= room.width:
            break
    share = min(1.1 * extent.height / room.height, 0.5)
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(np.array(ax.get_ylim()))
    top = scale.inverted().transform(np.array([low + (high - low) / (1.0 - share)]))[0]
    # auto=True: what is drawn later is seen, too.
    ax.set_ylim(top=float(top), auto=True)
