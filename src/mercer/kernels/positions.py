"""Positions of rows and columns, in all the forms in which people give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array


def positions(index: Any, n: int, name: str = "index") -> Array:
    """Positions from 0 to n - 1 out of a slice, a mask, or whole numbers (negative ones count from the end).

    Examples
    --------
    >>> from mercer.kernels.positions import positions
    >>> positions(slice(1, None, 2), 5), positions([True, False, True], 3), positions([-1], 5)
    (array([1, 3]), array([0, 2]), array([4]))
    """
    if isinstance(index, slice):
        return np.arange(n)[index]
    array = np.asarray(index)
    if array.dtype == bool and array.shape == (n,):
        return np.flatnonzero(array)
    if not array.size and array.ndim == 1:
        return np.empty(0, dtype=np.intp)
    if array.ndim > 1 or array.dtype.kind not in "iu" or array.min() < -n or array.max() >= n:
        raise ValueError(
            f"{name} must hold whole numbers from {-n} to {n - 1}, or a mask of {n} booleans, got {index!r}; "
            "give positions of rows."
        )
    return np.atleast_1d(array.astype(np.intp)) % n
