"""Kernel machines in four pictures: robust fits, a prediction band, losses with their noise, and the gap.

Two robust losses fit the same points, outliers included; two quantile machines make a band; each loss stands beside the
noise it is made for; and the solver proves how near it came to the optimum. Writes demo/machines.png, or the path given
as argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import QuantileBand, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber, Loss, Squared
from mercer.plots import BandDisplay, FitDisplay, GapDisplay, LossDisplay
from mercer.plots.style import COLORS, INK


def sinc_with_outliers(n_outliers: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Noisy points of the sinc function, a few of them raised far above it."""
    # A middling draw of 20: there the squared loss is 1.6 to 3.0 times as far from the truth, 2.1 in the median.
    X, y = make_sinc(80, noise=0.1, random_state=8)
    rng = np.random.default_rng(13)
    y[rng.choice(len(y), n_outliers, replace=False)] += rng.uniform(0.6, 1.1, n_outliers)
    return X, y


def robust_fits(ax: plt.Axes) -> SupportVectorRegressor:
    """Two robust losses on the same points, and in numbers the squared one; gives back the first machine."""
    X, y = sinc_with_outliers()
    grid = np.linspace(-4, 4, 400)[:, None]

    def machine_and_distance(loss: Loss, C: float = 1.0) -> tuple[SupportVectorRegressor, float]:
        machine = SupportVectorRegressor(Gaussian(0.7), loss=loss, C=C, tol=1e-8).fit(X, y)
        return machine, float(np.sqrt(np.mean((machine.predict(grid) - np.sinc(grid[:, 0])) ** 2)))

    tube, distance = machine_and_distance(EpsilonInsensitive(0.1))
    huber, distance_huber = machine_and_distance(Huber(0.1))
    # The squared loss is given the C that is best in hindsight.
    distance_squared = min(machine_and_distance(Squared(), C)[1] for C in np.geomspace(1e-2, 10, 10))
    for name, value in {"ε-insensitive": distance, "Huber": distance_huber, "squared": distance_squared}.items():
        print(f"{name:14} distance to truth {value:.4f}")
    ax.plot(grid, np.sinc(grid), color=INK, lw=1.2, ls=(0, (4, 3)), label="truth", zorder=2)
    FitDisplay.from_estimator(tube, X, y, ax=ax, name="ε-insensitive")
    FitDisplay.from_estimator(huber, X, y, ax=ax, name="Huber", color=COLORS[1], points=False)
    ratio = distance_squared / distance
    ax.set_title(f"Outliers: even the best squared loss is {ratio:.1f} times as far from the truth")
    return tube


def band(ax: plt.Axes) -> None:
    """A band for points whose noise grows from left to right, put to the test on new points."""

    def sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = make_sinc(n, noise=0.0, random_state=seed)
        return X, y + np.random.default_rng(seed).normal(size=n) * (0.03 + 0.04 * (X[:, 0] + 4))

    X, y = sample(300, 0)
    display = BandDisplay.from_estimator(QuantileBand(Gaussian(1.0), coverage=0.9).fit(X, y), *sample(200, 1), ax=ax)
    print(f"band for 90 %  holds {100 * display.inside.mean():.1f} % of new points")
    ax.set_title("A band that widens with the noise, and points it has not seen")


def main(path: Path) -> None:
    """Draw the picture."""
    figure, axes = plt.subplots(2, 2, figsize=(13, 8.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    machine = robust_fits(axes[0, 0])
    band(axes[0, 1])
    names = ["ε-insensitive", "Huber", "squared"]
    LossDisplay.from_loss([EpsilonInsensitive(0.5), Huber(1.0), Squared()], ax=axes[1, 0], names=names)
    axes[1, 0].set_title("A loss, and the noise it is made for")
    GapDisplay.from_estimator(machine, ax=axes[1, 1])
    axes[1, 1].set_title(
        f"Optimal, and proved to be: relative gap {machine.gap_:.0e} after {machine.n_iter_} iterations"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo/machines.png"))
