"""Figure 2.3 of Smola's thesis "Learning with Kernels": the ε that estimates a function best, against theory.

50 samples of 2 sinc(2(x - 5)), sinc u = sin(πu)/(πu), x uniform in [0, 10], normal noise with σ = 0.4, Gaussian kernel
of width 1/4, for each ε and data set the C with the least L1 error against the truth.

Published: ε = 0.265; theory 0.612 σ = 0.245. Found: 0.316 (0.283 to 0.346, 95 % of bootstrap samples) as the vertex of
a parabola through ε >= 0.08, and 0.40 as the lowest point of the grid. So neither value is reached; on the same data
ε = 0.32 is better than theory's by 0.0029 ± 0.0011. But the optimum is flat: theory's ε costs 2 % more than the best on
the grid (0.1915 against 0.1881), no tube 9 %. The vertex depends on how it is looked for: it was 0.332 with C from 0.2
to 3.2, where small ε wanted less C than that, 0.317 with C from 0.05 to 12.8, and there 0.354 (0.298 to 0.434) without
ε = 0.6.
"""

import numpy as np
import pytest

from mercer import SupportVectorRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, optimal_epsilon

SIGMA = 0.4
GRID = np.linspace(0, 10, 501)[:, None]


def curve(X):
    return 2 * np.sinc(2 * (X[:, 0] - 5))


def errors(n_sets, epsilons, C):
    """L1 error of the best C, shape (n_sets, n_epsilons)."""
    found = []
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 10, size=(50, 1))
        y = curve(X) + SIGMA * rng.normal(size=50)
        for epsilon in epsilons:
            machines = [SupportVectorRegressor(Gaussian(0.25), loss=EpsilonInsensitive(epsilon), C=c) for c in C]
            found.append(min(np.mean(np.abs(machine.fit(X, y).predict(GRID) - curve(GRID))) for machine in machines))
    return np.reshape(found, (n_sets, len(epsilons)))


def test_theory_beats_no_tube_and_a_wide_one():
    theory = SIGMA * optimal_epsilon("normal")
    found = errors(8, [0.0, theory, 2.0 * SIGMA], [0.3, 0.8]).mean(axis=0)
    print(f"L1 error for ε = 0, {theory:.3f} (theory), {2 * SIGMA}: {found.round(4)}")
    assert found.argmin() == 1


@pytest.mark.slow
def test_figure_2_3():
    theory = SIGMA * optimal_epsilon("normal")
    epsilons = np.array([0.0, 0.08, 0.16, theory, 0.32, 0.4, 0.48, 0.6])
    found = errors(100, epsilons, np.geomspace(0.0125, 12.8, 8))
    mean = found.mean(axis=0)
    excess = found - found[:, [3]]
    for epsilon, value, e in zip(epsilons, mean, excess.T, strict=True):
        print(f"ε = {epsilon:.3f}: L1 error {value:.4f}, that is {e.mean():+.4f} ± {e.std() / 10:.4f} against theory")
    middle = slice(1, None)
    a, b, _ = np.polyfit(epsilons[middle], mean[middle], 2)
    vertex = -b / (2 * a)
    rng = np.random.default_rng(0)
    optima = []
    for _ in range(500):
        c = np.polyfit(epsilons[middle], found[rng.integers(0, 100, 100)].mean(axis=0)[middle], 2)
        optima.append(-c[1] / (2 * c[0]))
    low, high = np.percentile(optima, [2.5, 97.5])
    print(f"parabola: ε = {vertex:.3f} ({low:.3f} to {high:.3f}); published 0.265, theory {theory:.3f}")
    assert mean[3] < 1.04 * mean.min()
    assert mean[0] > 1.04 * mean[3]
    assert mean[-1] > 1.04 * mean[3]
    assert 0.27 < vertex < 0.37  # found, not published
