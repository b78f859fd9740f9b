"""Images of a point under translations by whole periods: sums of a radial kernel over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels import Kernel

_MOST_SHELLS = 10**5


def shells(n_dims: int, n_shells: int) -> tuple[Array, Array]:
    """Squared lengths below `n_shells` (1-D: its square) and numbers of whole vectors that have them.

    In floating point, by sums of positive terms.
    """
    if n_dims == 1:
        return np.arange(float(n_shells)) ** 2, np.r_[1.0, np.full(n_shells - 1, 2.0)]
    squares = np.arange(int(np.sqrt(n_shells - 1)) + 1) ** 2
    counts = np.zeros(n_shells)
    counts[squares] = 2.0
    counts[0] = 1.0
    for _ in range(n_dims - 1):
        longer = counts.copy()
        for square in squares[1:]:
            longer[square:] += 2 * counts[: n_shells - square]
        counts = longer
    lengths = np.flatnonzero(counts)
    return lengths.astype(np.float64), counts[lengths]


def image_sum(kernel: Kernel, period: float, n_dims: int, *, nearer_by: float = 0.0, owner: str) -> float:
    """Σ_j k(max(v‖j‖ - D, 0)) over all whole vectors j, for a stationary kernel and D = nearer_by."""
    n_shells = 16
    while n_shells <= _MOST_SHELLS:
        squares, counts = shells(n_dims, n_shells)
        distances: Any = np.maximum(period * np.sqrt(squares) - nearer_by, 0.0)
        terms = counts * np.abs(kernel.of_squared_distance(distances**2, n_dims))
        if terms[-max(1, len(terms) // 4) :].sum() <= 1e-16 * terms.sum():
            return float(terms.sum())
        n_shells *= 2
    raise ValueError(
        f"kernel of {owner} must fall fast in space or in frequency, got {kernel!r} with period {period!r}; the sum "
        "over its images does not converge: take another kernel or a larger period."
    )
