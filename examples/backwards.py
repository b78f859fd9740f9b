"""A map that runs backwards: images to places on a plane, and places on the plane to images.

`UnsupervisedKernelRegression` maps 1000 handwritten digits to two coordinates without seeing their labels. The map
takes new images, and `inverse_transform` turns places into images: those on a grid, and those on a line from digit to
digit. Writes demo/backwards.png, or the path given as argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from mercer import UnsupervisedKernelRegression
from mercer.plots import DecodedGridDisplay
from mercer.plots.style import INK

N_ROWS, SHAPE, CELL = 1000, (8, 8), 2.6
# The line leads through the middles of these digits.
STATIONS, N_STOPS = (5, 3, 8, 6, 0), 13
PALETTE = plt.get_cmap("tab10")
OUTLINE = [withStroke(linewidth=3, foreground="white")]


def line_through(places: np.ndarray, n: int) -> np.ndarray:
    """Points at equal distances on the line that joins some places."""
    lengths = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))]
    along = np.linspace(0.0, lengths[-1], n)
    return np.column_stack([np.interp(along, lengths, column) for column in places.T])


def draw_map(ax: plt.Axes, Z: np.ndarray, y: np.ndarray, middles: np.ndarray, stops: np.ndarray) -> None:
    """Rows in the colours of their digits, and the line with its stops."""
    ax.scatter(*Z.T, c=y, cmap=PALETTE, vmin=0, vmax=9, s=11, linewidths=0)
    for digit, place in enumerate(middles):
        # The line goes through the middles of some digits: their names stand beside it.
        left, up = place + (CELL * np.array([-0.9, 0.9]) if digit in STATIONS else 0.0)
        ax.text(left, up, str(digit), fontsize=19, weight="bold", color=PALETTE(digit), ha="center", va="center",
                path_effects=OUTLINE)  # fmt: skip
    ax.plot(*stops.T, color=INK, lw=1.2, marker="o", ms=4.5, mfc="white", mec=INK, zorder=4)
    for place, words in ((stops[0], "start"), (stops[-1], "end")):
        ax.annotate(words, place, xytext=(8, -4), textcoords="offset points", fontsize=11, color=INK,
                    path_effects=OUTLINE)  # fmt: skip


def draw_decoded(ax: plt.Axes, model: UnsupervisedKernelRegression, limits: np.ndarray) -> None:
    """Images of the places of a grid, pale where rows are few."""
    numbers = np.ceil(np.ptp(limits, axis=1) / CELL).astype(int)
    ends = limits[:, 0] + CELL * numbers
    centres = [low + CELL * (np.arange(n) + 0.5) for low, n in zip(limits[:, 0], numbers, strict=True)]
    cells = np.stack(np.meshgrid(*centres, indexing="ij"), axis=-1).reshape(-1, 2)
    density, typical = model.density(cells), np.median(model.density(model.embedding_))
    inside = density >= model.density_threshold_
    images = np.full((len(cells), np.prod(SHAPE)), np.nan)
    images[inside] = model.inverse_transform(cells[inside])
    shades = np.clip(2 * density / typical, 0.0, 1.0).reshape(numbers)
    DecodedGridDisplay(
        images=images.reshape(*numbers, *SHAPE), shades=shades, limits=np.column_stack([limits[:, 0], ends])
    ).plot(ax)


def draw_stops(axes: np.ndarray, images: np.ndarray) -> None:
    """What the stops of the line stand for."""
    for ax, image in zip(axes, images, strict=True):
        ax.imshow(image.reshape(SHAPE), cmap="Greys", vmin=0, vmax=16, interpolation="bicubic")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#c8ccd2")


def main(path: Path) -> None:
    """Draw the picture."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = X[:N_ROWS], X[N_ROWS:], y[:N_ROWS], y[N_ROWS:]
    model = UnsupervisedKernelRegression(2, init="isomap").fit(X)
    Z = model.embedding_
    share = 100 * KNeighborsClassifier(5).fit(Z, y).score(model.transform(X_new), y_new)
    print(f"{share:.1f} % of {len(X_new)} new digits lie among their own kind")
    middles = np.array([np.median(Z[y == digit], axis=0) for digit in range(10)])
    stops = line_through(middles[list(STATIONS)], N_STOPS)
    limits = np.column_stack([Z.min(axis=0) - CELL / 2, Z.max(axis=0) + CELL / 2])

    figure = plt.figure(figsize=(10, 6.1), facecolor="white", layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[5, 1.1])
    left, right = above.subplots(1, 2)
    draw_map(left, Z, y, middles, stops)
    left.set_title(f"{N_ROWS} images on a map of two coordinates", fontsize=12)
    draw_decoded(right, model, limits)
    right.set_title("Backwards: what places on the map stand for", fontsize=12)
    for ax in (left, right):
        ax.set(xlim=limits[0], ylim=limits[1], aspect="equal", xticks=[], yticks=[], xlabel="", ylabel="")
        ax.spines[:].set_visible(False)
    below.suptitle("Backwards along the line, from start to end: images that are not in the data", fontsize=12)
    draw_stops(below.subplots(1, N_STOPS), model.inverse_transform(stops))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/backwards.png"))
