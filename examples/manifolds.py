"""Principal manifolds in eight pictures: figures 1, 3 and 4 of the paper, drawn again.

A curve and a sheet under penalties from small to large; the flow of oil in a pipe, twelve measurements of three kinds
of flow, on maps of two and three coordinates, beside principal components. Where the files of the oil flow are not
found (see `mercer.datasets.load_oil_flow`), digits are drawn instead, and what places of their map stand for. Writes
demo/manifolds.png, or the path given as argument.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from mercer import PrincipalManifold
from mercer.datasets import load_oil_flow
from mercer.plots import CurveDisplay, DecodedGridDisplay, LatentMapDisplay, MapDisplay, SurfaceDisplay
from mercer.plots.style import INK

FLOWS = np.array(["homogeneous", "annular", "stratified"])


def noisy_curve(n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Rows near a wave, and the wave."""
    rng = np.random.default_rng(0)
    wave = lambda t: np.column_stack([t, 0.6 * np.sin(np.pi * t)])  # noqa: E731
    return wave(rng.uniform(-1, 1, n)) + 0.1 * rng.normal(size=(n, 2)), wave(np.linspace(-1, 1, 200))


def noisy_sheet(n: int = 500) -> np.ndarray:
    """Rows near a sheet that bends both ways."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=(n, 2))
    return np.column_stack([t, 0.8 * np.sin(2 * t[:, 0]) * t[:, 1]]) + 0.05 * rng.normal(size=(n, 3))


def curves(axes: list[plt.Axes]) -> None:
    """Figure 1, above: the same curve under three penalties; the paper's are sums, 100 times ours."""
    X, truth = noisy_curve()
    for ax, penalty in zip(axes, (0.001, 0.01, 0.1), strict=True):
        model = PrincipalManifold(1, width=1.0, n_nodes=10, penalty=penalty).fit(X)
        ax.plot(*truth.T, color=INK, ls=":", lw=1.4, label="truth", zorder=2)
        CurveDisplay.from_estimator(model, X, ax=ax)
        error = model.quantization_error(X)
        print(f"curve, penalty {penalty:<6} mean squared distance {error:.4f}")
        ax.set_title(f"Curve, penalty {penalty:g}: error {error:.4f}")


def sheets(axes: list[plt.Axes]) -> None:
    """Figure 1, below: the same sheet under two penalties."""
    X = noisy_sheet()
    for ax, penalty in zip(axes, (1e-4, 1e-1), strict=True):
        model = PrincipalManifold(2, width=1.0, n_nodes=36, penalty=penalty, init="pca").fit(X)
        SurfaceDisplay.from_estimator(model, X, ax=ax)
        error = model.quantization_error(X)
        print(f"sheet, penalty {penalty:<6} mean squared distance {error:.4f}")
        ax.set_title(f"Sheet, penalty {penalty:g}: error {error:.4f}")


def share_misplaced(y: np.ndarray, y_test: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float]:
    """How many new rows, in per cent, are next to another kind on a map."""
    return lambda Z, Z_test: 100 * (1 - KNeighborsClassifier(1).fit(Z, y).score(Z_test, y_test))


def digits(flat: plt.Axes, linear: plt.Axes, decoded: plt.Axes) -> None:
    """Images of digits: their map, principal components, and images that places of the map stand for."""
    X, y = load_digits(n_class=5, return_X_y=True)
    X, X_test, y, y_test = X[:600], X[600:], y[:600], y[600:]
    misplaced = share_misplaced(y, y_test)
    model = PrincipalManifold(2, width=0.5, penalty=1e-3, random_state=0).fit(X)
    error = misplaced(model.embedding_, model.transform(X_test))
    print(f"digits, two coordinates: {error:.1f} % of new rows next to another kind")
    LatentMapDisplay.from_estimator(model, y.astype(str), ax=flat)
    flat.set_title(f"Digits: {error:.1f} % of new rows misplaced")
    pca = PCA(2).fit(X)
    error = misplaced(pca.transform(X), pca.transform(X_test))
    print(f"digits, principal components: {error:.1f} %")
    MapDisplay(points=pca.transform(X), y=y.astype(str)).plot(linear)
    linear.set_title(f"Principal components: {error:.1f} % misplaced")
    DecodedGridDisplay.from_estimator(model, (8, 8), n=12, ax=decoded)
    decoded.set_title("What places on the map stand for")


def oil_flow(flat: plt.Axes, linear: plt.Axes, deep: plt.Axes) -> None:
    """Figures 3 and 4: maps of the oil flow of two coordinates, by principal components, and of three."""
    (X, y), (X_test, y_test) = load_oil_flow("train"), load_oil_flow("test")
    misplaced = share_misplaced(y, y_test)
    model = PrincipalManifold(2, width=1.0, n_nodes=49, penalty=1e-5).fit(X)
    error = misplaced(model.embedding_, model.transform(X_test))
    print(f"oil flow, two coordinates: {error:.1f} % of new rows next to another kind")
    LatentMapDisplay.from_estimator(model, FLOWS[y], ax=flat)
    flat.set_title(f"Oil flow: {error:.1f} % of new rows misplaced")
    pca = PCA(2).fit(X)
    error = misplaced(pca.transform(X), pca.transform(X_test))
    print(f"oil flow, principal components: {error:.1f} %")
    MapDisplay(points=pca.transform(X), y=FLOWS[y]).plot(linear)
    linear.set_title(f"Principal components: {error:.1f} % misplaced")
    model = PrincipalManifold(3, width=1.0, n_nodes=125, penalty=1e-5, init="pca", max_iter=30).fit(X)
    error = misplaced(model.embedding_, model.transform(X_test))
    print(f"oil flow, three coordinates: {error:.1f} %")
    MapDisplay(points=PCA(2).fit_transform(model.embedding_), y=FLOWS[y]).plot(deep)
    deep.set_title(f"Three coordinates: {error:.1f} % misplaced")


def main(path: Path) -> None:
    """Draw the picture."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # good enough to be looked at
    figure = plt.figure(figsize=(21, 9.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    curves([figure.add_subplot(2, 4, place) for place in (1, 2, 3)])
    sheets([figure.add_subplot(2, 4, place, projection="3d") for place in (4, 5)])
    axes = [figure.add_subplot(2, 4, place) for place in (6, 7, 8)]
    try:
        oil_flow(*axes)
    except FileNotFoundError as error:
        print(f"digits instead of the oil flow: {error}")
        digits(*axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/manifolds.png"))
