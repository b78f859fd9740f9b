"""Gaussian tiles and products by compiled loops, where these are faster than products of matrices.

And those of exponentials of distances: of city-block ones, which are no product of matrices, and of Euclidean ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.kinds_numba import GAUSSIAN
from mercer.kernels.tiles import TILE

# With more columns, or fewer rows on either side, a matrix product gives the distances sooner.
_FEW_COLUMNS = 32
_FEW_ROWS = 16
# With more right-hand sides a product of matrices gives the sums sooner.
_FEW_VECTORS = 8


def compiled_rows(left: Any, right: Any) -> tuple[Array, Array] | None:
    """The rows behind two prepared sides (see `distance_sides`) if compiled loops should take them, else None.

    Sides of less than a full tile are left to NumPy: a program that works on a few hundred rows never loads Numba.
    """
    return plain_rows(left, right) if are_compiled(left, right) else None


def are_compiled(left: Any, right: Any) -> bool:
    """Whether compiled loops should take the rows behind two prepared sides."""
    return not isinstance(left, tuple) and left.shape[1] - 2 <= _FEW_COLUMNS and are_many_rows(left, right)


def are_many_rows(left: Array, right: Array) -> bool:
    """Whether there are enough rows on both sides for compiled loops."""
    shorter, longer = sorted((len(left), len(right)))
    return shorter >= _FEW_ROWS and longer >= TILE


def plain_rows(left: Array, right: Array) -> tuple[Array, Array]:
    """The rows behind two dense sides that `distance_sides` prepared: centred, in units of the kernel's length."""
    return -0.5 * left[:, :-2], right[:, :-2]


def few_vectors(V: Array) -> bool:
    """Whether compiled loops should take these right-hand sides."""
    return V.dtype == np.float64 and 1 <= V.shape[1] <= _FEW_VECTORS


def gaussian_tile(X: Array, Y: Array, *, kind: int = GAUSSIAN) -> Array:
    """The Gram matrix of one of the kinds of kernels for rows X against Y, in their precision."""
    from mercer.kernels.gram.gaussian_numba import BLOCK

    if len(Y) < min(len(X), BLOCK):  # the loops run along Y
        return gaussian_tile(Y, X, kind=kind).T
    out = np.empty((len(X), len(Y)), dtype=X.dtype)
    fill_gaussian_tile(X, Y, out, kind=kind)
    return out


def fill_gaussian_tile(X: Array, Y: Array, out: Array, *, kind: int = GAUSSIAN) -> None:
    """Write the Gram matrix of one of the kinds of kernels for rows X against Y, in their precision."""
    from mercer.kernels.gram.gaussian_numba import fill

    fill(X, Y, out, kind)


def add_gaussian_products(
    X: Array,
    Y: Array,
    V: Array,
    sums: Array,
    W: Array | None = None,
    transposed_sums: Array | None = None,
    *,
    kind: int = GAUSSIAN,
) -> None:
    """Add K V to sums and, where W is given, Kᵀ W to transposed_sums, for the Gram matrix K of rows X against Y.

    Sums are in double precision; rows and right-hand sides have one precision, double or single.
    """
    from mercer.kernels.gram.gaussian_numba import BLOCK, add_products

    n_vectors, narrow = V.shape[1], len(Y) < min(len(X), BLOCK)
    if W is None and narrow:  # the loops run along Y: let Y be the longer side, and its own sums be lost
        W, transposed_sums = np.zeros((len(X), n_vectors), V.dtype), np.zeros((len(Y), n_vectors))
    elif W is None:
        W, transposed_sums = np.empty((0, n_vectors), V.dtype), np.empty((0, n_vectors))
    if narrow:
        add_products(Y, X, W, transposed_sums, V, sums, kind)
    else:
        add_products(X, Y, V, sums, W, transposed_sums, kind)
