"""exp(-x) for tiles of non-negative numbers, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Smaller arrays are left to NumPy: a program that works on a few hundred rows never loads Numba.
_SMALL = 100_000


def exp_of_negative(x: NDArray[Any], factor: float) -> NDArray[Any]:
    """Overwrite x >= 0 by exp(-factor x), to the last bit or two.

    NumPy's exponential of doubles is vectorised only on processors with AVX-512; elsewhere the polynomial in
    `exponential_numba` is about four times as fast.
    """
    if x.dtype == np.float64 and x.flags.c_contiguous and x.size >= _SMALL:
        from mercer.kernels.exponential_numba import exp_of_negative_in_place

        exp_of_negative_in_place(x.reshape(-1), factor)
        return x
    np.multiply(x, -factor, out=x)
    return np.exp(x, out=x)
