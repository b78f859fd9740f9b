"""Graphs of rows in six pictures: clusters that no line separates, and maps that take new rows.

Spectral clustering finds two circles and two moons, and how many clusters there are; a diffusion map unrolls a sheet;
Laplacian eigenmaps put handwritten digits on a plane, new ones too. Writes demo/maps.png, or the path given as
argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from mercer import DiffusionMap, LaplacianEigenmaps, SpectralClustering
from mercer.plots import EigengapDisplay, MapDisplay
from mercer.plots.maps import edges_of
from mercer.plots.style import INK, color


def clusters(ax: plt.Axes, name: str, X: np.ndarray, truth: np.ndarray) -> SpectralClustering:
    """Rows in the plane, with the clusters that were found and the graph that they were found in."""
    model = SpectralClustering(random_state=0).fit(X)
    shared = contingency_matrix(truth, model.labels_)
    wrong = len(X) - int(shared[linear_sum_assignment(-shared)].sum())
    print(f"{name:14} {model.n_clusters_} clusters, {wrong} of {len(X)} rows in a wrong one")
    names = np.array([f"cluster {label}" for label in range(model.n_clusters_)])[model.labels_]
    MapDisplay(points=X, y=names, edges=edges_of(model.graph_), names=("x1", "x2")).plot(ax)
    ax.set_title(f"{name}: {model.n_clusters_} clusters found, {wrong} of {len(X)} rows wrong")
    return model


def digits(ax: plt.Axes) -> None:
    """Three digits on a plane; a quarter of them are new to the map."""
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (1, 2, 3))
    X, X_new, y, y_new = train_test_split(X[kept], y[kept], random_state=0, stratify=y[kept])
    model = LaplacianEigenmaps(2, n_neighbors=20).fit(X)
    Z_new = model.transform(X_new)
    right = KNeighborsClassifier(5).fit(model.embedding_, y).score(Z_new, y_new)
    print(f"digits         {100 * right:.1f} % of {len(X_new)} new rows lie among their own kind")
    colors = [color(code) for code in np.searchsorted(np.unique(y), y_new)]
    ax.scatter(*Z_new.T, s=44, facecolors=colors, edgecolors=INK, linewidths=0.9, zorder=3)
    ax.scatter([], [], s=44, facecolors="white", edgecolors=INK, linewidths=0.9, label="new rows")
    MapDisplay.from_estimator(model, y, ax=ax)
    ax.set_title(f"Digits: {100 * right:.0f} % of {len(X_new)} new rows among their own kind")


def rolled_sheet(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a square sheet that was rolled up, in three dimensions, and how far along the sheet they are."""
    rng = np.random.default_rng(0)
    start, end = 1.5 * np.pi, 4.5 * np.pi
    # The length of a spiral grows about with the square of the angle.
    angle = np.sqrt(rng.uniform(start**2, end**2, n))
    length = 0.5 * (end**2 - start**2)
    X = np.column_stack([angle * np.cos(angle), rng.uniform(0, 0.8 * length, n), angle * np.sin(angle)])
    return X, 0.5 * (angle**2 - start**2)


def sheet(before: plt.Axes, after: plt.Axes) -> None:
    """The sheet from its side, and unrolled."""
    X, along = rolled_sheet()
    model = DiffusionMap(2).fit(X)
    correlation = max(abs(np.corrcoef(along, z)[0, 1]) for z in model.embedding_.T)
    print(f"rolled sheet   correlation {correlation:.3f} of a coordinate with the place along the sheet")
    label = "place along the sheet"
    MapDisplay(points=X[:, [0, 2]], y=along, names=("x1", "x3"), y_name=label).plot(before)
    before.set_title("A rolled sheet, seen from its side")
    MapDisplay(points=model.embedding_, y=along, edges=edges_of(model.graph_), y_name=label).plot(after)
    after.set_title("Unrolled by a diffusion map")


def main(path: Path) -> None:
    """Draw the picture."""
    figure, axes = plt.subplots(2, 3, figsize=(16.5, 9.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    clusters(axes[0, 0], "Circles", *make_circles(400, factor=0.5, noise=0.05, random_state=0))
    moons = clusters(axes[0, 1], "Moons", *make_moons(600, noise=0.08, random_state=0))
    EigengapDisplay.from_estimator(moons, ax=axes[0, 2])
    axes[0, 2].set_title("The gap in the spectrum of the moons")
    sheet(axes[1, 0], axes[1, 1])
    digits(axes[1, 2])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/maps.png"))
