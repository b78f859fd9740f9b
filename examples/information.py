"""What two sides share: variance and information, a bound with its ceiling, and functions that go together.

Left: for Gaussian data the principal components keep the most information, and random directions keep less. Middle: the
InfoNCE bound of a kernel critic on held-out pairs, beside the mutual information and the ceiling log N. Right: kernel
canonical correlations of a relation without any linear part. Writes demo/information.png, or the path given
as argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelCCA, KernelCritic
from mercer.information import independence_test, infomax
from mercer.plots import BoundDisplay
from mercer.plots.style import COLORS, INK, POINTS

N_COMPONENTS, NOISE, RHO = 20, 1.0, 0.9


def draw_infomax(ax: plt.Axes) -> None:
    """Information of noisy codes of digits, by principal components and by random directions."""
    cov = np.cov(load_digits().data, rowvar=False)
    ks = np.arange(1, N_COMPONENTS + 1)
    best = [infomax(cov, int(k), noise_variance=NOISE).information for k in ks]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(20):
        Q = np.linalg.qr(rng.normal(size=(len(cov), N_COMPONENTS)))[0]
        codes = (np.eye(int(k)) + Q[:, :k].T @ cov @ Q[:, :k] / NOISE for k in ks)
        draws.append([0.5 * np.linalg.slogdet(code)[1] for code in codes])
    ax.plot(ks, np.transpose(draws), color=POINTS, lw=0.6, alpha=0.6)
    ax.plot([], [], color=POINTS, label="random directions")
    ax.plot(ks, best, color=COLORS[0], lw=1.8, label="principal components")
    ax.set(xlabel="coordinates of the code", ylabel="nats", title="Gaussian information of digits")
    ax.legend(frameon=False)


def draw_bound(ax: plt.Axes) -> float:
    """A bound of the information of a normal pair, against the number of pairs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 1))
    y = RHO * x + np.sqrt(1 - RHO**2) * rng.normal(size=x.shape)
    critic = KernelCritic(rank=12, random_state=0).fit(x[:1500], y[:1500])
    display = BoundDisplay.from_estimator(critic, x[1500:], y[1500:], ax=ax)
    information = -0.5 * np.log(1 - RHO**2)
    ax.axhline(information, color=INK, lw=1.0, ls=":", label="information")
    ax.set_ylim(0.0, 2.5)
    ax.set_title("InfoNCE bound of a kernel critic")
    ax.legend(frameon=False, loc="lower right")
    return display.bounds[-1].value


def draw_directions(ax: plt.Axes) -> tuple[float, float]:
    """Functions of an angle that two tables share, though no columns of them are correlated."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-np.pi, np.pi, size=800)
    X = np.column_stack([np.cos(t), np.sin(t)]) + 0.1 * rng.normal(size=(800, 2))
    Y = np.column_stack([np.cos(2 * t), rng.normal(size=800)]) + 0.1 * rng.normal(size=(800, 2))
    cca = KernelCCA(1, random_state=0).fit(X[:500], Y[:500])
    left, right = cca.transform(X[500:], Y[500:])
    ax.scatter(left, right, c=np.cos(2 * t[500:]), cmap="viridis", s=14, linewidths=0)
    ax.set(xlabel="function of the left side", ylabel="function of the right side")
    correlation = cca.score(X[500:], Y[500:])
    ax.set_title(f"Held-out correlation {correlation:.2f}")
    return correlation, independence_test(X, Y, random_state=0).p_value


def main() -> None:
    """Draw all three."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo/information.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 3.9), layout="constrained")
    draw_infomax(axes[0])
    bound = draw_bound(axes[1])
    correlation, p_value = draw_directions(axes[2])
    figure.savefig(path, dpi=150)
    print(f"bound {bound:.3f} nats of {-0.5 * np.log(1 - RHO**2):.3f}")
    print(f"held-out correlation {correlation:.3f}, p = {p_value:.3f}")
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
