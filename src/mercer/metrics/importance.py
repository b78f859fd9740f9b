"""Which columns act together on a fitted function."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from mercer.arrays import Array

_MOST_ROWS = 300


def pairwise_interactions(function: Callable[[Array], Array], X: Array, chosen: Array, families: Array) -> Array:
    """Mean squares of mixed differences for pairs of the chosen columns; NaN for other pairs, zeros on the diagonal.

    Column j, or k, or both are replaced by those of another row, with all columns of the same family. Cost: one
    evaluation of the function at 300 rows for each pair and each column.
    """
    rng = np.random.default_rng(0)
    rows = X[np.sort(rng.permutation(len(X))[:_MOST_ROWS])]
    others = np.roll(rng.permutation(rows), 1, axis=0)

    def replaced(*columns: int) -> Array:
        moved = np.isin(families, families[list(columns)])
        return function(np.where(moved, others, rows))

    here, single = replaced(), {int(j): replaced(int(j)) for j in chosen}
    table = np.full((X.shape[1], X.shape[1]), np.nan)
    np.fill_diagonal(table, 0.0)
    for j, k in combinations(single, 2):
        if families[j] == families[k]:
            continue
        mixed = here - single[j] - single[k] + replaced(j, k)
        table[j, k] = table[k, j] = float(np.mean(mixed**2)) / 4.0
    return table
