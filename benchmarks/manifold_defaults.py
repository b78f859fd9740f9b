"""Hard iterations at the end of soft fits: where they help, and how far they then move the manifold.

The evidence for ``assignment="auto"`` of `PrincipalManifold`, on curves and draws other than those of ``manifolds.py``:
for each curve and noise the mean squared distance of test rows above that of the true curve, in per cent, and the root
of the mean squared distance of points of the true curve, of soft fits without and with their hard end; and how far that
moved them, as a share of the noise. ``--small`` has few rows and one draw.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from mercer import PrincipalManifold
from mercer.manifolds import Polyline
from mercer.manifolds.principal.soft import share_moved

SMALL = "--small" in sys.argv
N_TEST = 20_000
SIZES = [200] if SMALL else [400, 2_000]
SEEDS = [21] if SMALL else [21, 22, 23]
NOISES = [0.03, 0.1, 0.2, 0.3]
PLACES = np.linspace(0, 1, 4_001)


def sine(t):
    return np.column_stack([6 * t - 3, np.sin(6 * t - 3)])


def letter_s(t):
    u = 4.5 * (2 * t - 1)
    return np.column_stack([np.sin(u), np.sign(u) * (np.cos(u) - 1)])


def ellipse(t):
    return np.column_stack([1.5 * np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])


def helix(t):
    return np.column_stack([np.cos(9 * t), np.sin(9 * t), 2 * t])


def arc(t):
    return np.column_stack([np.cos(4 * t), np.sin(4 * t)])


def rows(curve, n, noise, seed):
    """Rows that are uniform in the length of a curve, and noise."""
    rng = np.random.default_rng(seed)
    lengths = np.cumsum(np.linalg.norm(np.diff(curve(PLACES), axis=0, prepend=curve(PLACES[:1])), axis=1))
    X = curve(np.interp(rng.uniform(0, lengths[-1], n), lengths, PLACES))
    return X + noise * rng.normal(size=X.shape)


def compared(curve, n, noise, seed):
    """Errors of test rows above the true curve's, and distances of the true curve, soft and both; and the move."""
    X, X_test, truth = rows(curve, n, noise, seed), rows(curve, N_TEST, noise, 1_000 + seed), curve(PLACES)
    topology = "circle" if curve is ellipse else "interval"
    soft, both = (
        PrincipalManifold(1, topology=topology, assignment=assignment, random_state=0).fit(X)
        for assignment in ("soft", "both")
    )
    least = Polyline(truth).project(X_test)[1].mean()
    errors = [100 * (model.quantization_error(X_test) / least - 1) for model in (soft, both)]
    distances = [np.sqrt(model.quantization_error(truth)) for model in (soft, both)]
    return *errors, *distances, share_moved(soft.fit_.map, both.fit_.map, soft.noise_variance_)


def main():
    print("                    error above the true curve's, %      distance of the true curve    moved")
    print("curve    noise    n      soft            both                soft     both           (of the noise)")
    for n in SIZES:
        for noise in NOISES:
            for curve in (sine, letter_s, ellipse, helix, arc):
                found = np.array([compared(curve, n, noise, seed) for seed in SEEDS])
                error = found.std(axis=0, ddof=1) / np.sqrt(len(SEEDS)) if len(SEEDS) > 1 else np.full(5, np.nan)
                mean = found.mean(axis=0)
                print(f"{curve.__name__:8} {noise:5} {n:5}  {mean[0]:+6.2f} ± {error[0]:.2f}   {mean[1]:+6.2f} ± "
                      f"{error[1]:.2f}         {mean[2]:.4f}   {mean[3]:.4f}         {np.round(found[:, 4], 3)}",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
