"""Prediction bands that hold their share of new rows, not only of those that they were fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from mercer.machines import QuantileBand

Array = NDArray[Any]

# Folds that tell how much too narrow a band is; of more rows than this one fold is enough.
_FOLDS, _MOST_CROSS_FITTED = 5, 2000


def was_interrupted(machine: Any) -> bool:
    """Whether Ctrl-C ended a fit, which keeps what it has."""
    return "interrupted" in np.ravel(machine.status_)


def fit_band(band: QuantileBand, X: Array, y: Array) -> QuantileBand:
    """Fit a band to its optimum or not at all: ends that are not where they belong are no band."""
    band.fit(X, y)
    if was_interrupted(band.lower_) or was_interrupted(band.upper_):
        raise KeyboardInterrupt
    return band


def band_margin(band: QuantileBand, X: Array, y: Array, seed: int = 0) -> float:
    """What must be added to a band on both sides so that it holds its share of rows that it was not fitted to.

    A quantile machine has its share of the rows that it was fitted to on either side, and bends towards those nearest
    to it: of new rows a band holds fewer. How far these are outside, or inside if negative, is seen in folds; the
    margin is the quantile of that which conformal prediction takes [Romano2019]_.

    Parameters
    ----------
    band : QuantileBand
        With its parameters, not fitted.
    X, y : arrays of shape (n, d) and (n,)
        Rows and targets.
    seed : int
        Draws the folds.

    Examples
    --------
    >>> from mercer.datasets import make_sinc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.machines import QuantileBand
    >>> from mercer.report.bands import band_margin
    >>> X, y = make_sinc(60, noise=0.1, random_state=0)
    >>> band_margin(QuantileBand(Gaussian(0.1), coverage=0.8, C=100.0), X, y) > 0
    True
    """
    folds = list(KFold(_FOLDS, shuffle=True, random_state=seed).split(X))
    outside = []
    for training, test in folds if len(X) <= _MOST_CROSS_FITTED else folds[:1]:
        low, high = fit_band(clone(band), X[training], y[training]).predict_interval(X[test]).T
        outside.append(np.maximum(low - y[test], y[test] - high))
    sizes = np.sort(np.concatenate(outside))
    return float(sizes[min(int(np.ceil((len(sizes) + 1) * band.coverage)), len(sizes)) - 1])


def with_margin(interval: Array, margin: float) -> Array:
    """Ends of intervals that are moved outwards; where a negative margin would let them cross, both are the middle."""
    middle = interval.mean(axis=1, keepdims=True)
    half = np.maximum(np.diff(interval, axis=1) / 2 + margin, 0.0)
    return np.hstack([middle - half, middle + half])
