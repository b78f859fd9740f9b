"""Table 6.2 of Smola's thesis "Learning with Kernels": data set D of the Santa Fe competition, 25 steps iterated.

Embedding of 20 values, Gaussian kernel with σ² = 0.75, ε-insensitive loss, C and ε where the one-step error on the last
50 patterns is least, of the last 3000 patterns at most. The full set has 99,980 patterns.

Published 0.0639 on the full set. Found with 1000, 2000, 3000 and all patterns: 0.095, 0.169, 0.039 and 0.079. The
published figure is of the right size and no more: it is the error of one forecast of a chaotic series, and moves more
with C and ε than methods differ in the table (on the full set 0.08, 0.08, 0.18 with C = 10 and ε = 0.01, 0.005, 0.03;
0.16, 0.12, 0.21 with C = 1; 0.19 with C = 100 and ε = 0.03). Where in a relative gap of 1e-3 the solver ends moves it
on the full set by 0.003; with fewer patterns a gap below 1e-6 gives the same errors to 1e-4. Forecasts from 20 places
in the continuation, of which the published one is the first, have a common error of 0.205, 0.214, 0.184, 0.188 (single
ones 0.05 to 0.40 with 1000 patterns), where the constant mean of the last 1000 values has 0.242.
"""

import numpy as np
import pytest

from mercer import SupportVectorRegressor
from mercer.datasets import embed, load_santa_fe
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from tests.datasets.folders import use_data

DIMENSION, N_STEPS, N_VALIDATION, N_TUNING, N_ALL = 20, 25, 50, 3000, 99_980


def machine(C, epsilon):
    return SupportVectorRegressor(Gaussian(np.sqrt(0.75)), loss=EpsilonInsensitive(epsilon), C=C)


def error(found, truth):
    return np.sqrt(np.mean((found - truth) ** 2))


def iterate(model, past, n_steps):
    """Forecasts from several pasts at once, each row in the order of time; every forecast becomes part of the past."""
    for _ in range(n_steps):
        past = np.column_stack([past, model.predict(past[:, : -DIMENSION - 1 : -1])])
    return past[:, -n_steps:]


def forecast_errors(n_training):
    """The setting that validation chooses; errors of the forecast of the competition, and of later ones."""
    series, continuation = load_santa_fe("D")
    X, y = embed(series[-n_training - DIMENSION :], DIMENSION)
    first, last = slice(-min(n_training, N_TUNING), -N_VALIDATION), slice(-N_VALIDATION, None)
    settings = [(C, epsilon) for C in (1.0, 10.0, 100.0) for epsilon in (0.005, 0.01, 0.03)]
    best = min(settings, key=lambda setting: error(machine(*setting).fit(X[first], y[first]).predict(X[last]), y[last]))
    model = machine(*best).fit(X, y)
    forecast = iterate(model, series[None, -DIMENSION:], N_STEPS)[0]
    windows = np.lib.stride_tricks.sliding_window_view(np.r_[series[-DIMENSION:], continuation], DIMENSION + N_STEPS)
    windows = windows[::N_STEPS]
    later = error(iterate(model, windows[:, :DIMENSION], N_STEPS), windows[:, DIMENSION:])
    return best, error(forecast, continuation[:N_STEPS]), later


@pytest.mark.slow
@pytest.mark.parametrize("n_training", [1000, 2000, 3000, N_ALL])
def test_25_steps_iterated(n_training, monkeypatch):
    use_data(monkeypatch, "santafe")
    (C, epsilon), found, later = forecast_errors(n_training)
    print(f"last {n_training} patterns: C {C:g}, ε {epsilon}: RMS {found:.4f}, over the continuation {later:.4f}")
    # What holds at every size: a forecast beats the constant mean, whose error over the continuation is 0.242.
    assert found < 0.2
    assert later < 0.235
