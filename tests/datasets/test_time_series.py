import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mercer.datasets import embed, make_mackey_glass


def method_of_steps(n, tau, history):
    """Values at 0, 1, ..., n - 1: an ordinary equation on each interval of length tau, by another integrator."""

    def past(t):
        return history

    times, values, start, x = np.arange(n, dtype=float), np.empty(n), 0.0, history
    while start < n:

        def slope(t, x, past=past):
            z = past(t - tau)
            return -0.1 * x + 0.2 * z / (1 + z**10)

        piece = solve_ivp(slope, (start, start + tau), [x], method="DOP853", rtol=1e-11, atol=1e-12, dense_output=True)
        inside = (times >= start) & (times < start + tau)
        values[inside] = piece.sol(times[inside])[0]
        start, x = start + tau, piece.y[0, -1]

        def past(t, sol=piece.sol):
            return float(sol(t)[0])

    return values


def test_mackey_glass_agrees_with_another_integrator():
    expected = method_of_steps(120, 17.0, 1.2)
    np.testing.assert_allclose(make_mackey_glass(120, discard=0), expected, atol=1e-7)


def test_mackey_glass_is_of_fourth_order():
    exact = make_mackey_glass(100, discard=0, step=1 / 64)
    coarse, fine = (np.abs(make_mackey_glass(100, discard=0, step=h) - exact).max() for h in (0.5, 0.25))
    assert 12 < coarse / fine < 22


def test_delays_that_no_step_divides():
    exact = method_of_steps(60, 17.3, 0.9)
    np.testing.assert_allclose(make_mackey_glass(60, tau=17.3, history=0.9, discard=0), exact, atol=1e-5)


def test_mackey_glass_times():
    x = make_mackey_glass(50, discard=0)
    np.testing.assert_array_equal(make_mackey_glass(30, discard=20), x[20:])
    np.testing.assert_allclose(make_mackey_glass(25, interval=2.0, discard=0), x[::2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(make_mackey_glass(9, history=1.0), 1.0, rtol=1e-14)  # a fixed point
    assert make_mackey_glass(1, discard=0) == [1.2]
    assert make_mackey_glass(5, interval=0.01, discard=0).shape == (5,)


def test_mackey_glass_is_bounded_and_does_not_settle():
    x = make_mackey_glass(2000)
    assert 0.2 < x.min() < 0.5
    assert 1.2 < x.max() < 1.4
    assert abs(x.std() - 0.227) < 0.01
    assert abs(x[:1000].std() - x[1000:].std()) < 0.03


@pytest.mark.parametrize(("dimension", "delay", "horizon"), [(1, 1, 1), (3, 1, 1), (4, 2, 5), (2, 7, 0), (6, 6, 6)])
def test_embed(dimension, delay, horizon):
    series = np.random.default_rng(0).normal(size=60)
    X, y = embed(series, dimension, delay, horizon)
    times = range((dimension - 1) * delay, len(series) - horizon)
    np.testing.assert_array_equal(X, [[series[t - j * delay] for j in range(dimension)] for t in times])
    np.testing.assert_array_equal(y, [series[t + horizon] for t in times])


def test_embed_copies():
    series = np.arange(10.0)
    X, y = embed(series, 3)
    X[:] = y[:] = -1
    np.testing.assert_array_equal(series, np.arange(10.0))


def test_shortest_series():
    X, y = embed([1, 2, 3, 4], dimension=2, delay=2, horizon=1)
    assert X.tolist() == [[3, 1]]
    assert y.tolist() == [4]


def test_bad_input():
    with pytest.raises(ValueError, match="n_samples of make_mackey_glass must be a whole number >= 1, got 0"):
        make_mackey_glass(0)
    with pytest.raises(ValueError, match="discard of make_mackey_glass must be a whole number >= 0, got -1"):
        make_mackey_glass(5, discard=-1)
    for name in ("tau", "interval", "history", "step"):
        for bad in (0.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=f"{name} of make_mackey_glass must be positive and finite, got"):
                make_mackey_glass(5, **{name: bad})
    with pytest.raises(ValueError, match="step of make_mackey_glass must be at most tau = 0.05, got 0.1"):
        make_mackey_glass(5, tau=0.05)
    with pytest.raises(ValueError, match="dimension of embed must be a whole number >= 1, got 0"):
        embed([1, 2, 3], 0)
    with pytest.raises(ValueError, match="delay of embed must be a whole number >= 1, got 0.5"):
        embed([1, 2, 3], 1, 0.5)
    with pytest.raises(ValueError, match="horizon of embed must be a whole number >= 0, got -1"):
        embed([1, 2, 3], 1, 1, -1)
    with pytest.raises(ValueError, match=r"series of embed must be one-dimensional with more than 3 values, got shape"):
        embed([1, 2, 3], 2, 2)
    with pytest.raises(ValueError, match=r"got shape \(2, 2\); give a longer series"):
        embed([[1, 2], [3, 4]], 1)
