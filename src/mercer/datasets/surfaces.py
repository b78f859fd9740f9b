"""Noisy surfaces whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.datasets.curves import check_sample


def make_s_sheet(
    n_samples: int = 500, *, n_columns: int = 3, noise: float = 0.05, random_state: Any = None
) -> tuple[Array, Array]:
    """Noisy samples of a sheet that is bent like an S, in three dimensions or lifted into more.

    Parameters
    ----------
    n_samples : int
        How many.
    n_columns : int
        Dimension of the space, 3 or more, which the sheet is rotated into at random.
    noise : float
        Standard deviation of the Gaussian noise in each column.
    random_state : int, RandomState or None
        Source of chance.

    Returns
    -------
    X : array of shape (n_samples, n_columns)
        Noisy points.
    Z : array of shape (n_samples, 2)
        Their true places, uniform in [-1, 1]²: along the S, which has length 3π, and across, which has width 2.

    Examples
    --------
    >>> from mercer.datasets import make_s_sheet
    >>> X, Z = make_s_sheet(100, n_columns=10, random_state=0)
    >>> X.shape, Z.shape
    ((100, 10), (100, 2))
    """
    check_sample("make_s_sheet", n_samples, noise)
    if n_columns < 3:
        raise ValueError(f"n_columns of make_s_sheet must be >= 3, got {n_columns!r}; the sheet is bent in space.")
    rng = check_random_state(random_state)
    Z = rng.uniform(-1, 1, size=(n_samples, 2))
    angle = 1.5 * np.pi * Z[:, 0]
    X = np.column_stack([np.sin(angle), Z[:, 1], np.sign(angle) * (np.cos(angle) - 1)])
    if n_columns > 3:
        X = X @ np.linalg.qr(rng.normal(size=(n_columns, 3)))[0].T
    return X + noise * rng.normal(size=X.shape), Z


def make_torus(
    n_samples: int = 1000, *, radius: float = 0.5, noise: float = 0.05, random_state: Any = None
) -> tuple[Array, Array]:
    """Noisy samples of a torus in three dimensions, whose middle is the unit circle.

    Parameters
    ----------
    n_samples : int
        How many.
    radius : float
        Of the tube.
    noise : float
        Standard deviation of the Gaussian noise in each column.
    random_state : int, RandomState or None
        Source of chance.

    Returns
    -------
    X : array of shape (n_samples, 3)
        Noisy points.
    Z : array of shape (n_samples, 2)
        The angles around the axis and around the tube, uniform in [-π, π).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_torus
    >>> X, Z = make_torus(100, noise=0.0, random_state=0)
    >>> bool(np.allclose(np.hypot(np.hypot(X[:, 0], X[:, 1]) - 1, X[:, 2]), 0.5))
    True
    """
    check_sample("make_torus", n_samples, noise)
    rng = check_random_state(random_state)
    Z = rng.uniform(-np.pi, np.pi, size=(n_samples, 2))
    distance = 1 + radius * np.cos(Z[:, 1])
    X = np.column_stack([distance * np.cos(Z[:, 0]), distance * np.sin(Z[:, 0]), radius * np.sin(Z[:, 1])])
    return X + noise * rng.normal(size=X.shape), Z
