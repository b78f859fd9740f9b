"""One noisy curve, four kernels: what each of them takes for smooth.

Each column fits the same points with another kernel, the penalty chosen by the exact leave-one-out error, and shows
below which frequencies that kernel lets pass. Writes demo/smoothing.png, or the path given as argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import make_sinc
from mercer.kernels import BSpline, Exponential, Gaussian, Kernel, ThinPlate

POINTS, TRUTH, FIT, SPECTRUM = "#8a8f98", "#1f2328", "#d1495b", "#2e6f9e"


def fit(kernel: Kernel, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, float]:
    """Kernel smoother at new points and its leave-one-out error, for the penalty where that is least.

    The polynomials that a conditionally positive kernel leaves unpenalised enter as further columns; kernels of order 0
    are given the constant.
    """
    P, P_new = kernel.polynomial_part(X), kernel.polynomial_part(new)
    if not P.shape[1]:
        P, P_new = np.ones((len(X), 1)), np.ones((len(new), 1))
    K, zeros = kernel(X), np.zeros((P.shape[1], P.shape[1]))
    best = (np.inf, np.empty(0))
    for penalty in np.geomspace(1e-4, 1e2, 40):
        inverse = np.linalg.inv(np.block([[K + penalty * np.eye(len(X)), P], [P.T, zeros]]))[:, : len(X)]
        # The residual without point i is coefficient_i / inverse_ii.
        left_out = (inverse @ y)[: len(X)] / np.diagonal(inverse)
        error = float(np.sqrt(np.mean(left_out**2)))
        if error < best[0]:
            best = (error, inverse @ y)
    return np.hstack([kernel(new, X), P_new]) @ best[1], best[0]


def main(path: Path) -> None:
    """Draw the picture."""
    X, y = make_sinc(60, noise=0.12, random_state=3)
    grid = np.linspace(-4, 4, 400)[:, None]
    truth = np.sinc(grid[:, 0])
    omega = np.geomspace(0.1, 30, 300)
    kernels = [Gaussian(width=0.7), BSpline(degree=3, width=1.0), ThinPlate(), Exponential(rate=0.5)]

    figure, axes = plt.subplots(2, 4, figsize=(13, 6), sharey="row", layout="constrained", height_ratios=[3, 2])
    for kernel, (above, below) in zip(kernels, axes.T, strict=True):
        curve, error = fit(kernel, X, y, grid)
        above.scatter(X[:, 0], y, s=14, color=POINTS, label="noisy points", zorder=1)
        above.plot(grid, truth, color=TRUTH, lw=1.2, ls=(0, (4, 3)), label="truth", zorder=2)
        above.plot(grid, curve, color=FIT, lw=2, label="fit", zorder=3)
        above.set_title(f"{kernel!r}\nleave-one-out error {error:.3f}", fontsize=10)
        above.set_xlabel("x")
        spectrum = kernel.spectrum(omega)
        below.loglog(omega, spectrum / spectrum[omega >= 1][0], color=SPECTRUM, lw=1.8)
        below.set_ylim(1e-7, 1e3)
        below.set_xlabel("frequency ω")
        distance = np.sqrt(np.mean((curve - truth) ** 2))
        print(f"{kernel!r:32} leave-one-out error {error:.4f}   distance to truth {distance:.4f}")
    axes[0, 0].set_ylabel("y")
    axes[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    axes[1, 0].set_ylabel("spectrum (1 at ω = 1)")
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("The same points, four ideas of smoothness: a kernel damps what its spectrum damps", fontsize=13)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/smoothing.png"))
