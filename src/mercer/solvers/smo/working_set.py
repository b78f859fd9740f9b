"""Which variables to optimise next."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array


def choose_working_set(rising: Array, falling: Array, bar: tuple[Any, Any], last: Array, size: int) -> Array:
    """Positions of at most `size` variables: some of the last set, then the worst violators of both kinds.

    A variable wants to rise if its derivative there is below `bar[0]`, and to fall if that from the left is above
    `bar[1]`: numbers, or one for each variable. The variables that were optimised last stay for another round, since
    those that join them move them again: the free ones (not at a bound or a kink, so that both derivatives agree) and,
    as long as there are more violators than places, the newest others. They fill at most half of the set.
    """
    free = rising[last] == falling[last]
    others = last[~free] if len(last) == size else last[:0]
    kept = np.concatenate([others, last[free]])[-(size // 2) :] if size >= 8 else last[:0]
    taken = np.zeros(len(rising), dtype=bool)
    taken[kept] = True
    n_new = size - len(kept)
    joined = [kept]
    for values, wanted in ((rising - bar[0], n_new // 2), (bar[1] - falling, n_new - n_new // 2)):
        candidates = np.flatnonzero(~taken & (values < 0))
        if len(candidates) > wanted:
            candidates = candidates[np.argpartition(values[candidates], wanted)[:wanted]]
        taken[candidates] = True
        joined.append(candidates)
    return np.concatenate(joined)
