"""Tiles and products of Gaussian Gram matrices, exp(-|x - y|² / 2), in double and in single precision.

And of exponentials of distances: exp(-Σ|x_j - y_j|) for the kind CITY_BLOCK, exp(-|x - y|) for EUCLIDEAN.

Written by hand: distances, exponentials and sums of two rows against one block of columns stay in the first-level
cache, which no sequence of library calls does. Distances are sums of squared differences, so that nothing cancels,
however far the rows are from the origin.

Shapes that matter to the compiler: blocks have a fixed length, with zeros where there are fewer columns; four
dimensions are taken at once; exponentials are written and summed in the same loop, since loops that sum are unrolled;
and functions that hold loops are inlined before compilation.
"""

import math
from typing import Any

import numpy as np
from numba import float32, float64, int64, njit, void

from mercer.compiled_numba import FAST, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two
from mercer.kernels.kinds_numba import CITY_BLOCK, EUCLIDEAN, GAUSSIAN

BLOCK = 384  # columns of a block
# exp(-r² / 2) = 2^-(scale r)², and exp(-r) = 2^-(scale r)
_SCALE, _SCALE_OF_DISTANCES = math.sqrt(0.5 / math.log(2.0)), 1.0 / math.log(2.0)
_TYPES = (float64, float32)
_SUMS = float64[:, ::1]


@njit(inline="always", **FAST)
def _pack(rows, start, n, packed, kind):  # type: ignore[no-untyped-def]
    """Scaled rows from `start` on, n of them, as columns."""
    scale = packed.dtype.type(_SCALE if kind == GAUSSIAN else _SCALE_OF_DISTANCES)
    for j in range(n):
        for k in range(rows.shape[1]):
            packed[k, j] = scale * rows[start + j, k]


@njit(inline="always", **FAST)
def _exponents(block, pair, first, second, kind):  # type: ignore[no-untyped-def]
    """Minus the distances, or squared distances, of the two columns of `pair` from all columns of a block."""
    for k in range(0, len(block), 4):
        y0, y1, y2, y3 = block[k], block[k + 1], block[k + 2], block[k + 3]
        a0, a1, a2, a3 = pair[k, 0], pair[k + 1, 0], pair[k + 2, 0], pair[k + 3, 0]
        b0, b1, b2, b3 = pair[k, 1], pair[k + 1, 1], pair[k + 2, 1], pair[k + 3, 1]
        if kind == CITY_BLOCK:
            for j in range(BLOCK):
                d = abs(a0 - y0[j]) + abs(a1 - y1[j]) + abs(a2 - y2[j]) + abs(a3 - y3[j])
                e = abs(b0 - y0[j]) + abs(b1 - y1[j]) + abs(b2 - y2[j]) + abs(b3 - y3[j])
                first[j] = -d if k == 0 else first[j] - d
                second[j] = -e if k == 0 else second[j] - e
        else:
            for j in range(BLOCK):
                d0, d1, d2, d3 = a0 - y0[j], a1 - y1[j], a2 - y2[j], a3 - y3[j]
                e0, e1, e2, e3 = b0 - y0[j], b1 - y1[j], b2 - y2[j], b3 - y3[j]
                d, e = d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3, e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3
                first[j] = -d if k == 0 else first[j] - d
                second[j] = -e if k == 0 else second[j] - e
    if kind == EUCLIDEAN:
        for j in range(BLOCK):
            first[j], second[j] = -math.sqrt(-first[j]), -math.sqrt(-second[j])


@njit(inline="always", **FAST)
def _exponentials(values, weights):  # type: ignore[no-untyped-def]
    """Overwrite exponents by powers of two, and sum these with weights."""
    total = values.dtype.type(0.0)
    for j in range(BLOCK):
        value = power_of_two(values[j])
        values[j] = value
        total += value * weights[j]
    return total


@njit(inline="always", **FAST)
def _sum(values, weights):  # type: ignore[no-untyped-def]
    """Sum powers of two with weights."""
    total = values.dtype.type(0.0)
    for j in range(BLOCK):
        total += power_of_two(values[j]) * weights[j]
    return total


@njit(inline="always", **FAST)
def _sum_and_add(values, weights, factor, target):  # type: ignore[no-untyped-def]
    """Sum powers of two with weights, and add a multiple of them to others."""
    total = values.dtype.type(0.0)
    for j in range(BLOCK):
        value = power_of_two(values[j])
        total += value * weights[j]
        target[j] += factor * value
    return total


@njit(inline="always", **FAST)
def _multiple_of_four(n):  # type: ignore[no-untyped-def]
    return (n + 3) // 4 * 4


def _add_products_of(t: Any) -> Any:
    rows, vectors = read_only(t, 2, "A"), read_only(t, 2)
    return void(rows, rows, vectors, _SUMS, vectors, _SUMS, int64)


@compiled(*[_add_products_of(t) for t in _TYPES], **FAST)
def add_products(X, Y, V, sums, W, transposed_sums, kind):  # type: ignore[no-untyped-def]
    """Add K V to sums and, unless W is empty, Kᵀ W to transposed_sums, for the Gram matrix K of rows X against Y."""
    n_dims, n_vectors = _multiple_of_four(X.shape[1]), V.shape[1]
    block, pair = np.zeros((n_dims, BLOCK), X.dtype), np.zeros((n_dims, 2), X.dtype)
    values = np.empty((2, BLOCK), X.dtype)
    weights, below = np.zeros((n_vectors, BLOCK), X.dtype), np.zeros((n_vectors, BLOCK))
    zero = X.dtype.type(0.0)
    for start in range(0, len(Y), BLOCK):
        width = min(BLOCK, len(Y) - start)
        _pack(Y, start, width, block, kind)
        for c in range(n_vectors):
            for j in range(BLOCK):
                weights[c, j] = V[start + j, c] if j < width else zero
        for i in range(0, len(X), 2):
            n_rows = min(2, len(X) - i)
            _pack(X, i, n_rows, pair, kind)
            _exponents(block, pair, values[0], values[1], kind)
            for r in range(n_rows):
                row = values[r]
                # Of one vector nobody needs the values again, unless they must be converted before they are added.
                if n_vectors == 1 and len(W) == 0:
                    sums[i + r, 0] += _sum(row, weights[0])
                    continue
                if n_vectors == 1 and row.itemsize == below.itemsize:
                    sums[i + r, 0] += _sum_and_add(row, weights[0], W[i + r, 0], below[0])
                    continue
                sums[i + r, 0] += _exponentials(row, weights[0])
                for c in range(1, n_vectors):
                    total, others = zero, weights[c]
                    for j in range(BLOCK):
                        total += row[j] * others[j]
                    sums[i + r, c] += total
                if len(W):
                    for c in range(n_vectors):
                        factor, target = W[i + r, c], below[c]
                        for j in range(BLOCK):
                            target[j] += factor * row[j]
        if len(W):
            for c in range(n_vectors):
                for j in range(width):
                    transposed_sums[start + j, c] += below[c, j]
                    below[c, j] = 0.0


@compiled(*[t(read_only(t, 2, "A"), read_only(t, 2, "A"), t[:, ::1], int64) for t in _TYPES], **FAST)
def fill(X, Y, out, kind):  # type: ignore[no-untyped-def]
    """Write the Gram matrix of rows X against Y; what it returns only keeps the compiler from dropping the sums.

    Row by row, since memory takes what is written in order sooner; the columns stay in the second-level cache.
    """
    n_dims, n_blocks = _multiple_of_four(X.shape[1]), (len(Y) + BLOCK - 1) // BLOCK
    blocks, pair = np.zeros((n_blocks, n_dims, BLOCK), X.dtype), np.zeros((n_dims, 2), X.dtype)
    values, weights, totals = np.empty((2, BLOCK), X.dtype), np.ones(BLOCK, X.dtype), np.zeros(2, X.dtype)
    for b in range(n_blocks):
        _pack(Y, b * BLOCK, min(BLOCK, len(Y) - b * BLOCK), blocks[b], kind)
    for i in range(0, len(X), 2):
        n_rows = min(2, len(X) - i)
        _pack(X, i, n_rows, pair, kind)
        for b in range(n_blocks):
            start, width = b * BLOCK, min(BLOCK, len(Y) - b * BLOCK)
            _exponents(blocks[b], pair, values[0], values[1], kind)
            for r in range(n_rows):
                row, target = values[r], out[i + r, start : start + width]
                totals[r] = _exponentials(row, weights)
                for j in range(width):
                    target[j] = row[j]
    return totals[0]
