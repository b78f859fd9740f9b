"""Compiled parts of the sparse pass for so many pairs within reach that lists of them would fill the memory."""

import numpy as np
from numba import int64, void

from mercer.compiled_numba import FAST, compiled
from mercer.manifolds.ukr.cells_numba import (
    MATRIX,
    READ_CELLS,
    READ_COUNTS,
    READ_MATRIX,
    READ_VECTOR,
    VECTOR,
    squared_distance,
)
from mercer.manifolds.ukr.quartic_numba import error_of, radius_of


@compiled(
    void(
        READ_MATRIX, int64, int64, int64, int64, READ_MATRIX, READ_CELLS, READ_COUNTS, READ_COUNTS, int64, VECTOR,
        VECTOR, MATRIX,
    ),
    **FAST,
)  # fmt: skip
def cell_pass(features, d, step, start, stop, U, cells, sides, starts, n_excluded, errors, radii, H):  # type: ignore[no-untyped-def]
    """Errors as by `vector_pass`, with cells instead of lists; writes up to where neighbours do not count, and h_s."""
    rows, weights, room, P = np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(features.shape[1])
    for s in range(start, stop):
        last_low, last_high = max(cells[s, 2] - 1, 0), min(cells[s, 2] + 1, sides[2] - 1)
        n = 0
        for c0 in range(max(cells[s, 0] - 1, 0), min(cells[s, 0] + 2, sides[0])):
            for c1 in range(max(cells[s, 1] - 1, 0), min(cells[s, 1] + 2, sides[1])):
                row = (c0 * sides[1] + c1) * sides[2]
                low, high = starts[row + last_low], starts[row + last_high + 1]
                if n + high - low >= len(rows):
                    old_rows, old_weights = rows, weights
                    longer = 2 * (n + high - low) + 1
                    rows, weights, room = np.empty(longer, np.int64), np.empty(longer), np.empty(longer)
                    for i in range(n):
                        rows[i], weights[i] = old_rows[i], old_weights[i]
                for j in range(low, high):
                    distance = squared_distance(U, j, U, s)
                    # Written before it is known whether it stays: no branch that cannot be foreseen.
                    rows[n], weights[n] = j, distance
                    n += (distance < 1.0) & (j != s)
        radii[s] = radius_of(weights, n, n_excluded, room)
        left = 0
        for i in range(n):
            rows[left], weights[left] = rows[i], (1.0 - weights[i]) ** 2 if weights[i] > radii[s] else 0.0
            left += weights[left] > 0.0
        if left == 0:
            errors[s], H[s] = np.nan, 0.0
            continue
        errors[s] = error_of(features, d, step, s, rows, weights, left, P, H[s])


@compiled(
    void(
        READ_MATRIX, int64, int64, READ_MATRIX, READ_CELLS, READ_COUNTS, READ_COUNTS, READ_VECTOR, READ_MATRIX, MATRIX
    ),
    **FAST,
)
def cell_gradient(features, start, stop, U, cells, sides, starts, radii, H, gradient):  # type: ignore[no-untyped-def]
    """Σ_r (Q_rs + Q_sr) (u_r - u_s) for points s from start to stop, from what `cell_pass` wrote."""
    pull = np.empty(U.shape[1])
    for s in range(start, stop):
        last_low, last_high = max(cells[s, 2] - 1, 0), min(cells[s, 2] + 1, sides[2] - 1)
        own, h, radius = features[s], H[s], radii[s]
        pull[:] = 0.0
        for c0 in range(max(cells[s, 0] - 1, 0), min(cells[s, 0] + 2, sides[0])):
            for c1 in range(max(cells[s, 1] - 1, 0), min(cells[s, 1] + 2, sides[1])):
                row = (c0 * sides[1] + c1) * sides[2]
                for j in range(starts[row + last_low], starts[row + last_high + 1]):
                    distance = squared_distance(U, j, U, s)
                    if distance >= 1.0:
                        continue
                    mine, other = 0.0, 0.0
                    for c in range(features.shape[1]):
                        mine += features[j, c] * h[c]
                        other += own[c] * H[j, c]
                    slope = (mine if distance > radius else 0.0) + (other if distance > radii[j] else 0.0)
                    slope *= 4.0 * (1.0 - distance)
                    for k in range(U.shape[1]):
                        pull[k] += slope * (U[j, k] - U[s, k])
        for k in range(U.shape[1]):
            gradient[s, k] = pull[k]
