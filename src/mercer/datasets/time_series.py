"""Time series: a chaotic one, and how a series becomes rows and targets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array


def make_mackey_glass(
    n_samples: int = 1000,
    *,
    tau: float = 17.0,
    interval: float = 1.0,
    history: float = 1.2,
    discard: int = 500,
    step: float = 0.1,
) -> Array:
    """Solution of the Mackey-Glass equation dx/dt = -0.1 x(t) + 0.2 x(t - tau) / (1 + x(t - tau)^10).

    Parameters
    ----------
    n_samples : int
        How many values.
    tau : float
        The delay. The solution is chaotic from about 17 on, and of higher dimension the longer the delay.
    interval : float
        Time between two values.
    history : float
        The constant value of x for t <= 0.
    discard : int
        How many values to leave out at the beginning, so that the series lies on the attractor. With 0 the first value
        is that at t = 0.
    step : float
        Largest step of the integration; the step taken is the largest that divides `interval`. It must not exceed tau.

    Returns
    -------
    array of shape (n_samples,)
        Values at times (discard + i) interval, without noise.

    Notes
    -----
    The classical Runge-Kutta method of fourth order; values between two steps, which the delayed term needs, come from
    the cubic that agrees with x and dx/dt at both ends, so that the order is kept. Steps that divide tau are best,
    since derivatives of x jump at multiples of tau. With the default step the error at t = 100 is about 1e-9; like any
    error it then grows as the system is chaotic, by a factor of e in some 150 units of time.

    The equation is that of [Mackey1977]_, with the constants of [Smola1998]_, eq. (6.7).

    Examples
    --------
    >>> from mercer.datasets import make_mackey_glass
    >>> make_mackey_glass(4, discard=0).round(4)
    array([1.2   , 1.1176, 1.043 , 0.9755])
    >>> x = make_mackey_glass(1000)
    >>> bool(0.2 < x.min() < x.max() < 1.4)
    True
    """
    _at_least("make_mackey_glass", 1, n_samples=n_samples)
    _at_least("make_mackey_glass", 0, discard=discard)
    for name, value in {"tau": tau, "interval": interval, "history": history, "step": step}.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(
                f"{name} of make_mackey_glass must be positive and finite, got {value!r}; give {name} > 0."
            )
    steps_per_value = math.ceil(interval / step * (1 - 1e-12))
    h = interval / steps_per_value
    if h > tau:
        raise ValueError(f"step of make_mackey_glass must be at most tau = {tau!r}, got {h!r}; give a smaller step.")
    values = _integrate((n_samples + discard - 1) * steps_per_value, h, tau, history)
    return values[discard * steps_per_value :: steps_per_value]


def _integrate(n_steps: int, h: float, tau: float, history: float) -> Array:
    """The values at times 0, h, ..., n_steps h."""
    x, slope = [history], [_slope(history, history)]

    def delayed(k: int, half: int) -> float:
        """The value of x at time (k + half/2) h - tau."""
        position = k + 0.5 * half - tau / h
        if position <= 0:
            return history
        i = min(int(position), len(x) - 2)
        s = position - i
        # Hermite's cubic on the step from i to i + 1.
        rise, left, right = x[i + 1] - x[i], h * slope[i], h * slope[i + 1]
        return x[i] + s * (left + s * (3 * rise - 2 * left - right + s * (left + right - 2 * rise)))

    for k in range(n_steps):
        now, middle, end = delayed(k, 0), delayed(k, 1), delayed(k, 2)
        a = _slope(x[k], now)
        b = _slope(x[k] + 0.5 * h * a, middle)
        c = _slope(x[k] + 0.5 * h * b, middle)
        d = _slope(x[k] + h * c, end)
        x.append(x[k] + h / 6 * (a + 2 * b + 2 * c + d))
        slope.append(_slope(x[k + 1], end))
    return np.array(x)


def _slope(x: float, past: float) -> float:
    return -0.1 * x + 0.2 * past / (1 + past**10)


def embed(series: ArrayLike, dimension: int, delay: int = 1, horizon: int = 1) -> tuple[Array, Array]:
    """Rows (s_i, s_(i - delay), ..., s_(i - (dimension - 1) delay)) of a series, and targets s_(i + horizon).

    Regression of the targets on the rows is an autoregressive model of the series.

    Parameters
    ----------
    series : array of shape (n,)
        Values at equal intervals of time.
    dimension : int
        How many past values make a row. If it exceeds twice the dimension of the attractor, the map from rows to
        targets of a noiseless series is smooth (Takens' theorem).
    delay : int
        How far apart they are.
    horizon : int
        How far ahead the target lies. With 0 it is the first column itself.

    Returns
    -------
    X : array of shape (n - horizon - (dimension - 1) delay, dimension)
        Rows in the order of time, each from the newest value to the oldest.
    y : array of shape (len(X),)
        Targets.

    Notes
    -----
    [Smola1998]_, eq. (6.8). To go on from the end of a series, embed it with horizon 0 and take the last row; to go on
    from a forecast, append it and do the same. That needs horizon = 1, or horizon = delay.

    Examples
    --------
    >>> from mercer.datasets import embed
    >>> X, y = embed([0, 1, 2, 3, 4, 5], dimension=2, delay=3)
    >>> X
    array([[3, 0],
           [4, 1]])
    >>> y
    array([4, 5])
    """
    series = np.asarray(series)
    _at_least("embed", 1, dimension=dimension, delay=delay)
    _at_least("embed", 0, horizon=horizon)
    reach = (dimension - 1) * delay
    if series.ndim != 1 or len(series) <= reach + horizon:
        raise ValueError(
            f"series of embed must be one-dimensional with more than {reach + horizon} values, got shape "
            f"{series.shape}; give a longer series, or a smaller dimension, delay or horizon."
        )
    windows = np.lib.stride_tricks.sliding_window_view(series[: len(series) - horizon], reach + 1)
    return windows[:, ::-delay].copy(), series[reach + horizon :].copy()


def _at_least(function: str, least: int, **numbers: int) -> None:
    for name, value in numbers.items():
        if value != int(value) or value < least:
            raise ValueError(f"{name} of {function} must be a whole number >= {least}, got {value!r}; ask for more.")
