"""Products with a Gram matrix in single precision, with a bound on what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides
from mercer.kernels.distances import n_columns_of
from mercer.kernels.gaussian import add_gaussian_products, plain_rows
from mercer.kernels.gram.operator import Gram
from mercer.threads import run_over_rows

# With more columns double precision and matrix products are as fast.
_FEW_COLUMNS = 64


def single_precision_product(kernel: Kernel, X: Any, Y: Any, V: Array) -> Array:
    """k(X, Y) @ V in float64, evaluated in single precision where that is faster: for Gaussians of few columns.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X, Y : array_like
        Rows and columns.
    V : array of shape (len(Y),) or (len(Y), n_vectors)
        Right-hand sides.

    Returns
    -------
    array
        Off by at most ``single_precision_error(kernel, Y)`` times Σ_j |V_j|, whatever X is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import single_precision_product
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 500, 3))
    >>> difference = single_precision_product(Gaussian(), X, Y, np.ones(500)) - Gaussian()(X, Y).sum(axis=1)
    >>> bool(np.abs(difference).max() < 1e-7 * 500)
    True
    """
    sides = _sides(kernel, Y, X)
    if sides is None:
        return np.asarray(Gram(kernel, X, Y) @ V)
    with np.errstate(over="ignore"):  # rows at infinity are infinitely far from all of Y
        columns, rows = (np.ascontiguousarray(side, np.float32) for side in plain_rows(sides.left, sides.right))
    weights = np.ascontiguousarray(V.reshape(len(V), -1), np.float32)
    sums = np.zeros((len(rows), weights.shape[1]))

    def work(part: slice) -> None:
        add_gaussian_products(rows[part], columns, weights, sums[part])

    run_over_rows(work, len(rows), len(columns))
    return sums.reshape(len(rows), *V.shape[1:])


def single_precision_error(kernel: Kernel, Y: Any) -> float:
    """Largest error of `single_precision_product` for any X, in units of Σ_j |V_j|.

    Zero where the product is taken in double precision. With R the radius of Y in units of the kernel's length, d the
    number of columns and u = 2⁻²⁴: rounded rows move the distance r of x and y by 2u (2R + r) at most, which changes
    exp(-r²/2) by no more than (2.5 R + 1.5) u; rounded distances change it by (d + 6) / e times u, the exponential
    itself, weights and their products by 6u, and a block of 384 sums that are taken in sixteen strands or more by 28u.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.kernels.gram import single_precision_error
    >>> round(1e6 * single_precision_error(Gaussian(), [[0.0], [1.0]]), 1), single_precision_error(Linear(), [[1.0]])
    (2.3, 0.0)
    """
    sides = _sides(kernel, Y, None)
    if sides is None:
        return 0.0
    radius = float(np.sqrt(sides.right[:, -1].max()))
    return float(2.0**-24 * (2.5 * radius + 1.5 + (n_columns_of(sides.right) + 6) / np.e + 6 + 28))


def _sides(kernel: Kernel, Y: Any, X: Any) -> Sides | None:
    """Both sides, centred at Y; None where double precision is as fast."""
    sides = kernel._prepare(Y, X) if kernel._is_gaussian else None
    if sides is None or isinstance(sides.left, tuple) or n_columns_of(sides.left) > _FEW_COLUMNS:
        return None
    return sides
