"""Noisy curves whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array


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
    check_sample("make_sinc", n_samples, noise)
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
    check_sample("make_semiparametric", n_samples, noise)
    rng = check_random_state(random_state)
    X = np.sort(rng.uniform(0, 10, size=(n_samples, 1)), axis=0)
    x = X[:, 0]
    return X, np.sin(x) + np.sinc(2 * (x - 5)) + noise * np.sqrt(3.0) * rng.uniform(-1, 1, size=n_samples)


def make_spiral(n_samples: int = 300, *, noise: float = 0.05, random_state: Any = None) -> tuple[Array, Array]:
    """Noisy samples of a spiral with two whorls whose radius grows from 0.2 to 1.2.

    Parameters
    ----------
    n_samples : int
        How many.
    noise : float
        Standard deviation of the Gaussian noise in each column.
    random_state : int, RandomState or None
        Source of chance.

    Returns
    -------
    X : array of shape (n_samples, 2)
        Noisy points.
    t : array of shape (n_samples,)
        Their true places on the spiral, sorted, 0 at the inner end and 1 at the outer: the true curve is
        (0.2 + t)(cos 4πt, sin 4πt). They are uniform in the length of the curve, which is 8.85.

    Notes
    -----
    [Meinicke2005]_, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_spiral
    >>> X, t = make_spiral(100, noise=0.0, random_state=0)
    >>> bool(np.allclose(np.hypot(*X.T), 0.2 + t))
    True
    """
    check_sample("make_spiral", n_samples, noise)
    rng = check_random_state(random_state)
    fine = np.linspace(0, 1, 10_001)
    speed = np.hypot(1.0, 4 * np.pi * (0.2 + fine))
    length = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2)])
    t = np.sort(np.interp(rng.uniform(size=n_samples) * length[-1], length, fine))
    X = (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])
    return X + noise * rng.normal(size=X.shape), t


def make_arc(
    n_samples: int = 300, *, angle: float = 2 * np.pi, noise: float = 0.1, random_state: Any = None
) -> tuple[Array, Array]:
    """Noisy samples of an arc of the unit circle: of the whole circle by default.

    Parameters
    ----------
    n_samples : int
        How many.
    angle : float
        Angle of the arc, that samples are uniform in.
    noise : float
        Standard deviation of the Gaussian noise in each column.
    random_state : int, RandomState or None
        Source of chance.

    Returns
    -------
    X : array of shape (n_samples, 2)
        Noisy points.
    t : array of shape (n_samples,)
        Their true angles, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_arc
    >>> X, t = make_arc(100, noise=0.0, random_state=0)
    >>> bool(np.allclose(np.hypot(*X.T), 1.0))
    True
    """
    check_sample("make_arc", n_samples, noise)
    rng = check_random_state(random_state)
    t = np.sort(rng.uniform(0, angle, size=n_samples))
    X = np.column_stack([np.cos(t), np.sin(t)])
    return X + noise * rng.normal(size=X.shape), t


def check_sample(function: str, n_samples: int, noise: float) -> None:
    """A number of samples and a level of noise that make sense."""
    if n_samples < 1:
        raise ValueError(f"n_samples of {function} must be a whole number >= 1, got {n_samples!r}; ask for more.")
    if noise < 0:
        raise ValueError(f"noise of {function} must be >= 0, got {noise!r}; it is a standard deviation.")
