"""Table 6.1 of Smola's thesis "Learning with Kernels": the Mackey-Glass series with noise, one step ahead.

Embedding of 6 values 6 apart, 1000 training, 194 validation and 1000 noiseless test patterns, Gaussian kernel with
σ² = 0.75, C and the width of the loss where the error on the validation set is least. A level of noise is the ratio of
the standard deviations of noise and series, and a step is 6 samples: with 1 the errors are two thirds of the published
ones (0.0101, 0.0046, 0.0079 in one draw, with ε-insensitive loss and C up to 100).

Found, means over three draws of the noise, published in brackets: normal noise of 22 %, ε-insensitive loss 0.0200
(0.017), Huber's 0.0189 (0.017); uniform 6.2 %, 0.0062 (0.006), 0.0058 (0.008); uniform 12.4 %, 0.0111 (0.012), 0.0108
(0.014). Single draws of normal noise give 0.016 to 0.022. Not confirmed: that Huber's loss is worse than the
ε-insensitive one on uniform noise; here they are equally good, and why they differ there is not known.
"""

import numpy as np
import pytest

from mercer import SupportVectorRegressor
from mercer.datasets import embed, make_mackey_glass
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber

STEP = 6
KERNEL = Gaussian(np.sqrt(0.75))


def patterns(kind, level, seed):
    """Standard deviation of the noise; training, validation and test patterns."""
    n = 1000 + 194 + 6 * STEP
    series = make_mackey_glass(n + 1000 + 6 * STEP)
    rng = np.random.default_rng(seed)
    unit = rng.normal(size=n) if kind == "normal" else rng.uniform(-np.sqrt(3), np.sqrt(3), size=n)
    deviation = level * series.std()
    X, y = embed(series[:n] + deviation * unit, dimension=6, delay=STEP, horizon=STEP)
    test = embed(series[n:], dimension=6, delay=STEP, horizon=STEP)
    return deviation, (X[:1000], y[:1000]), (X[1000:], y[1000:]), test


def error(machine, X, y):
    return np.sqrt(np.mean((machine.predict(X) - y) ** 2))


def test_one_machine_on_uniform_noise():
    """Published 0.012, found 0.0119."""
    deviation, training, _, test = patterns("uniform", 0.124, seed=0)
    machine = SupportVectorRegressor(KERNEL, loss=EpsilonInsensitive(0.6 * deviation), C=100.0).fit(*training)
    found = error(machine, *test)
    print(f"uniform noise, 12.4 %: {found:.4f}, published 0.012")
    assert machine.status_ == "optimal"
    assert len(test[1]) == 1000
    assert abs(found - 0.012) < 0.0015


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "level", "loss", "published"),
    [
        ("normal", 0.2215, EpsilonInsensitive, 0.017),
        ("normal", 0.2215, Huber, 0.017),
        ("uniform", 0.062, EpsilonInsensitive, 0.006),
        ("uniform", 0.062, Huber, 0.008),
        ("uniform", 0.124, EpsilonInsensitive, 0.012),
        ("uniform", 0.124, Huber, 0.014),
    ],
)
def test_one_step_errors(kind, level, loss, published):
    found = []
    for seed in range(3):
        deviation, training, validation, test = patterns(kind, level, seed)
        machines = [
            SupportVectorRegressor(KERNEL, loss=loss(width * deviation), C=C).fit(*training)
            for width in (0.6, 1.2, 1.7)
            for C in (10.0, 100.0, 1000.0)
        ]
        best = min(machines, key=lambda machine: error(machine, *validation))
        found.append(error(best, *test))
    values = ", ".join(f"{value:.4f}" for value in found)
    print(f"{kind} noise, {level:.1%}, {loss.__name__}: {np.mean(found):.4f} ({values}), published {published}")
    # Huber's loss on uniform noise is better here than published.
    least = 0.6 if kind == "uniform" and loss is Huber else 0.8
    assert least * published < np.mean(found) < 1.25 * published
