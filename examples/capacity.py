"""Four figures of capacity, drawn from data: shattering, structural risk, feature space, balls and hulls.

Top left: six points of the line, and the 64 functions of norm 10 that pass above or below bars of the largest margin.
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
from sklearn.datasets import load_digits

from mercer.capacity import SampleCapacity, entropy_number, periodic_spectrum
from mercer.kernels import Gaussian
from mercer.plots import EntropyNumberDisplay, FeatureBoxDisplay, HullDisplay, ShatteringDisplay


def main(path: Path) -> None:
    """Draw the picture."""
    figure, axes = plt.subplots(2, 2, figsize=(13, 10), layout="constrained")
    shattered = ShatteringDisplay.from_points(Gaussian(1.0), np.arange(6.0), norm=10.0, ax=axes[0, 0])
    axes[0, 0].set_title("Six points are shattered")
    print(f"six points are shattered at the margin {shattered.margin:.3f} by functions of norm 10")

    EntropyNumberDisplay.from_kernel(Gaussian(1.0), 2 * np.pi, n_dims=(1, 2), ax=axes[0, 1])
    axes[0, 1].set_title("How many balls cover a class")
    for d in (1, 2, 3):
        spectrum = periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=d)
        print(f"2^200 balls cover the functions of {d} variables at {entropy_number(spectrum, 200 * np.log(2)):.2e}")

    X, y = load_digits(return_X_y=True)
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
