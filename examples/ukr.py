"""Unsupervised kernel regression in six pictures: no basis and no penalty to choose.

A noisy spiral: the starts that are compared, and what becomes of the curve if each row is left out alone, or with its
neighbours. Handwritten digits: their map, with the density that defines its domain and the borders of classes, and what
places of it stand for. Writes demo/ukr.png, or the path given as argument.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from mercer import DensityClassifier, UnsupervisedKernelRegression
from mercer.datasets import make_spiral
from mercer.plots import CandidatesDisplay, CurveDisplay, DecodedGridDisplay, HistoryDisplay, LatentMapDisplay
from mercer.plots.style import INK


def true_spiral() -> np.ndarray:
    """The curve that the rows of `make_spiral` are near to."""
    t = np.linspace(0, 1, 500)
    return (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])


def spirals(starts: plt.Axes, history: plt.Axes, alone: plt.Axes, together: plt.Axes) -> None:
    """Starts, their errors, the way down from the best of them, and where it leads, by both objectives."""
    X, _ = make_spiral(300, random_state=0)
    fits = {}
    for objective, ax, title in [
        ("leave_one_out", alone, "Each row left out alone: it follows the noise"),
        ("leave_neighbours_out", together, "Left out with its neighbours, as by default"),
    ]:
        model = UnsupervisedKernelRegression(1, objective=objective, max_iter=200).fit(X)
        fits[objective.replace("_", " ")] = model
        print(f"{objective}: start {model.init_}, {model.history_[0]:.5f} -> {model.objective_:.5f}")
        ax.plot(*true_spiral().T, color=INK, ls=":", lw=1.4, label="truth", zorder=4)
        CurveDisplay.from_estimator(model, X, ax=ax)
        ax.set_title(title)
    CandidatesDisplay.from_estimators(fits, ax=starts)
    starts.set_title("Starts for a spiral, and their errors")
    HistoryDisplay.from_estimators(fits, value_name="objective", ax=history)
    history.set_title("The way down from the best start")


def digits(flat: plt.Axes, decoded: plt.Axes) -> None:
    """Images of digits: their map, and images that places of the map stand for."""
    X, y = load_digits(n_class=5, return_X_y=True)
    X, X_test, y, y_test = X[:600], X[600:], y[:600].astype(str), y[600:].astype(str)
    model = UnsupervisedKernelRegression(2, init="pca", density_threshold=0.05).fit(X)
    classes = DensityClassifier().fit(model.embedding_, y)
    error = 100 * (1 - classes.score(model.transform(X_test), y_test))
    print(f"digits: {error:.1f} % of {len(X_test)} new rows in the domain of another class")
    LatentMapDisplay.from_estimator(model, y_test, X=X_test, classifier=classes, ax=flat)
    flat.set_title(f"New digits: {error:.1f} % beyond the borders of their class")
    DecodedGridDisplay.from_estimator(model, (8, 8), n=14, ax=decoded)
    decoded.set_title("What places stand for: pale where rows are few")


def main(path: Path) -> None:
    """Draw the picture."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # good enough to be looked at
    figure, axes = plt.subplots(2, 3, figsize=(18, 10), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    spirals(*axes[0, :1], axes[1, 0], *axes[0, 1:])
    digits(*axes[1, 1:])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/ukr.png"))
