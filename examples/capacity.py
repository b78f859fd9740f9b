"""Four figures of capacity, drawn from data: shattering, structural risk, feature space, balls and hulls.

Top left: six points of the line, and the 64 functions of norm 10 that pass above or below bars of the largest margin.
Top right: errors of machines along C, and what is said of them without held-out rows.
Bottom left: handwritten zeros in the feature space of a Gaussian kernel, inside their box, inside an ellipsoid. Bottom
right: weight vectors of support vector machines lie in a ball, those of linear programs in the hull of the digits and
their negatives. Writes demo/capacity.png, or the path given as argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_digits

from mercer import SupportVectorClassifier
from mercer.capacity import SampleCapacity, structural_risk_path
from mercer.kernels import Gaussian
from mercer.plots import FeatureBoxDisplay, HullDisplay, RiskPathDisplay, ShatteringDisplay


def risks(X: np.ndarray, y: np.ndarray, ax: Axes) -> None:
    """Errors of machines that tell threes from eights with one label in ten wrong, along C."""
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.flatnonzero((y == 3) | (y == 8)))
    train, test = chosen[:150], chosen[150:]
    labels = np.where(y == 3, 1, -1) * np.where(rng.uniform(size=len(y)) < 0.1, -1, 1)
    Cs = np.logspace(-2, 3, 9)
    machine = SupportVectorClassifier(Gaussian.scaled_to(X[train]))
    machines = machine.regularization_path(X[train], labels[train], Cs)
    criteria = ["span", "training rows", "compression", "PAC-Bayes"]
    path = structural_risk_path(machines, X[train], labels[train], criterion=criteria)
    errors = [np.mean(one.predict(X[test]) != labels[test]) for one in machines]
    RiskPathDisplay.from_path(path, Cs, others={"rows held out": errors}, ax=ax)
    ax.set_title("Structural risk: threes and eights, noisy labels")
    print(f"C = {Cs[path.best]:.3g} has the least leave-one-out error; {100 * errors[path.best]:.1f} % held out")


def main(path: Path) -> None:
    """Draw the picture."""
    figure, axes = plt.subplots(2, 2, figsize=(13, 10), layout="constrained")
    shattered = ShatteringDisplay.from_points(Gaussian(1.0), np.arange(6.0), norm=10.0, ax=axes[0, 0])
    axes[0, 0].set_title("Six points are shattered")
    print(f"six points are shattered at the margin {shattered.margin:.3f} by functions of norm 10")

    X, y = load_digits(return_X_y=True)
    risks(X, y, axes[0, 1])
    zeros, kernel = X[y == 0], Gaussian.scaled_to(X[y == 0])
    position = axes[1, 0].get_subplotspec()
    axes[1, 0].remove()
    box = FeatureBoxDisplay.from_sample(
        kernel, zeros, components=(1, 2, 3), ax=figure.add_subplot(position, projection="3d")
    )
    box.ax_.set_title("Zeros, their box, an ellipsoid")
    HullDisplay.from_sample(kernel, zeros, ax=axes[1, 1])
    axes[1, 1].set_title("Where the weights of two machines are")
    dimension = SampleCapacity.of(kernel(zeros)).effective_dimension(0.1)
    print(f"{len(zeros)} zeros have an effective dimension of {dimension:.1f} at C = 10")

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/capacity.png"))
