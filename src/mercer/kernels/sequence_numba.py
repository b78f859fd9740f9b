"""The compiled loop of the weighted degree kernel."""

import numpy as np
from numba import float64, uint32

from mercer.compiled_numba import PLAIN, compiled, read_only

_LETTERS = read_only(uint32, 2)


@compiled(float64[:, ::1](_LETTERS, _LETTERS, read_only(float64, 1)), **PLAIN)
def weighted_degree_tile(left, right, run_weights):  # type: ignore[no-untyped-def]
    """Σ_l run_weights[length of the run of matches that ends at letter l], for all pairs of rows."""
    n_letters = left.shape[1]
    longest = run_weights.size - 1
    tile = np.empty((left.shape[0], right.shape[0]))
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            total = 0.0
            run = 0
            for letter in range(n_letters):
                run = min(run + 1, longest) if left[i, letter] == right[j, letter] else 0
                total += run_weights[run]
            tile[i, j] = total
    return tile
