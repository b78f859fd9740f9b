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
    _check("make_sinc", n_samples, noise)
    rng = check_random_state(random_state)
    X = np.sort(rng.uniform(-4, 4, size=(n_samples, 1)), axis=0)
    return X, np.sinc(X[:, 0]) + noise * rng.normal(size=n_samples)


def make_semiparametric(
    n_samples: int = 50, *, noise: float = 0.2 / np.sqrt(3.0), random_state: Any = None
) -> tuple[Array, Array]:
    """Noisy samples of sin x + sinc(2(x - 5)), sinc u = sin(πu) / (πu), with x uniform in [0, 10].

    A slow wave that a parametric part (1, sin x, cos x) describes, and a fast wiggle around x = 5 that a kernel must.

    Parameters
    ----------
    n_samples : int
        How many.
    noise : float
        Standard deviation of the uniform noise. The default is noise in [-0.2, 0.2].
    random_state : int, RandomState or None
        Source of chance.

    Returns
    -------
    X : array of shape (n_samples, 1)
        Positions, sorted.
    y : array of shape (n_samples,)
        Values.

    Notes
    -----
    [Smola1998]_, eq. (3.100), where the π of the sinc is not written. The text there gives the noise a standard
    deviation of 0.2; the errors in its table 3.1 are those of noise in [-0.2, 0.2].

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_semiparametric
    >>> X, y = make_semiparametric(random_state=0)
    >>> truth = np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5))
    >>> X.shape, bool(np.abs(y - truth).max() <= 0.2)
    ((50, 1), True)
    """
    _check("make_semiparametric", n_samples, noise)
    rng = check_random_state(random_state)
    X = np.sort(rng.uniform(0, 10, size=(n_samples, 1)), axis=0)
    x = X[:, 0]
    return X, np.sin(x) + np.sinc(2 * (x - 5)) + noise * np.sqrt(3.0) * rng.uniform(-1, 1, size=n_samples)


def _check(function: str, n_samples: int, noise: float) -> None:
    if n_samples < 1:
        raise ValueError(f"n_samples of {function} must be a whole number >= 1, got {n_samples!r}; ask for more.")
    if noise < 0:
        raise ValueError(f"noise of {function} must be >= 0, got {noise!r}; it is a standard deviation.")
