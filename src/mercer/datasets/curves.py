"""Noisy curves whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array = NDArray[Any]


def make_sinc(n_samples: int = 100, *, noise: float = 0.1, random_state: Any = None) -> tuple[Array, Array]:
    """Noisy samples of sin(πx) / (πx), with x uniform in [-4, 4].

    Parameters
    ----------
    n_samples : int
        How many.
    noise : float
        Standard deviation of the Gaussian noise.
    random_state : int, RandomState or None
        Source of chance.

    Returns
    -------
    X : array of shape (n_samples, 1)
        Positions, sorted.
    y : array of shape (n_samples,)
        Values.

    Examples
    --------
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(50, noise=0.0, random_state=0)
    >>> X.shape, bool(y.max() <= 1)
    ((50, 1), True)
    """
    if n_samples < 1:
        raise ValueError(f"n_samples of make_sinc must be a whole number >= 1, got {n_samples!r}; ask for more.")
    if noise < 0:
        raise ValueError(f"noise of make_sinc must be >= 0, got {noise!r}; it is a standard deviation.")
    rng = check_random_state(random_state)
    X = np.sort(rng.uniform(-4, 4, size=(n_samples, 1)), axis=0)
    return X, np.sinc(X[:, 0]) + noise * rng.normal(size=n_samples)
