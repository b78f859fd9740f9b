"""How many components: a number, a fraction of the variance, or the elbow of the spectrum."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array

# The elbow is sought among so many eigenvalues, whatever the solver, so that all solvers find the same.
N_SCREE = 100


def check_dimension(owner: str, n_components: Any) -> None:
    """Refuse what is no number of components before any work is done."""
    if n_components is None or (isinstance(n_components, str) and n_components == "auto"):
        return
    whole = isinstance(n_components, Integral) and not isinstance(n_components, bool) and int(n_components) >= 1
    share = isinstance(n_components, Real) and not isinstance(n_components, Integral) and 0 < float(n_components) < 1
    if not whole and not share:
        raise ValueError(
            f"n_components of {owner} must be None, 'auto', a whole number >= 1 or a share of the variance between 0 "
            f"and 1, got {n_components!r}; give one of these."
        )


def count_for(n_components: Any, values: Array, total: float) -> int | None:
    """How many of the eigenvalues, given by decreasing size, are wanted; None if more must be known to tell."""
    sizes = np.abs(values)
    if n_components is None:
        return len(sizes)
    if isinstance(n_components, str):
        return elbow(sizes[:N_SCREE])
    if isinstance(n_components, Integral):
        return min(int(n_components), len(sizes))
    reached = np.cumsum(sizes) >= n_components * total * (1 - 1e-12)
    return int(np.argmax(reached)) + 1 if reached.any() else None


def elbow(values: ArrayLike) -> int:
    """Where a decreasing sequence falls from large values to small ones.

    Both groups are taken as Gaussian samples with their own means and a common variance, and the cut has the largest
    profile likelihood [Zhu2006]_: the one with the least sum of squared deviations from the two means.

    Examples
    --------
    >>> from mercer.components import elbow
    >>> elbow([9.0, 8.0, 7.5, 1.0, 0.7, 0.5, 0.4])
    3
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 3:
        return len(values)
    scatter = [np.var(values[:q]) * q + np.var(values[q:]) * (len(values) - q) for q in range(1, len(values))]
    return int(np.argmin(scatter)) + 1
