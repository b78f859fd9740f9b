"""One number for each sample, such that near samples have near ones."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.kernels.gram.columns import Columns

# Samples that the axis is made of, and products with their matrix.
_N_SAMPLES, _N_PRODUCTS = 256, 20


def leading_axis(columns: Columns, n: int) -> Array:
    """A function of the samples that is smooth in the kernel: about the first of kernel PCA, by a power iteration."""
    chosen = np.unique(np.linspace(0, n - 1, _N_SAMPLES).astype(np.intp))
    values = np.random.default_rng(0).normal(size=len(chosen))
    K = columns.corner(chosen).astype(np.float64)
    for _ in range(_N_PRODUCTS):
        values = K @ (values - values.mean())
        values /= np.abs(values).max() or 1.0
    return columns.times(chosen, values - values.mean())
