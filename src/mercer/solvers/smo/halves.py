"""Steps on pairs of a block, most of them on its two halves at the same time."""

from __future__ import annotations

from itertools import cycle, pairwise

import numpy as np

from mercer.arrays import Array
from mercer.solvers.smo.box import price_of
from mercer.solvers.smo.tuning import TUNING, Tuning
from mercer.threads import run_threaded, threads_for


def descend_by_halves(
    K: Array,
    g: Array,
    B: Array,
    box: Array,
    *,
    n_sums: int,
    target: float,
    max_steps: int,
    tuning: Tuning = TUNING,
) -> float:
    """Minimise over a block as `block_numba.descend` does; returns the largest violation.

    A step on half of the variables costs half as much, and the halves can be optimised at the same time, if what is
    near in the kernel is near in the order of the variables: then little that one half does matters to the other. They
    are joined by the longest step, up to the whole one, that the dual objective allows. Steps on the whole block come
    in between, and the cut moves, so that it does not stay where it is in the way.
    """
    from mercer.solvers.smo.block_numba import descend

    n, n_steps = len(B), 0
    half, quarter = n // 2, n // 4
    for cuts in cycle([(0, half, n), (0, quarter, quarter + half, n)]):
        # The last steps are always on the block: they quickly mend what steps on its parts do at the cut.
        most = max_steps if n < tuning.least_divided else tuning.on_block * n
        steps, violation = descend(K, 0, g, B, box, n_sums, target, most)
        n_steps += steps
        if violation <= target or n_steps >= max_steps:
            break
        share, most = tuning.share_of_part, tuning.on_parts
        n_steps += descend_on_parts(K, g, B, box, cuts, n_sums=n_sums, target=share * target, steps=most)
    return float(violation)


def descend_on_parts(
    K: Array, g: Array, B: Array, box: Array, cuts: tuple[int, ...], *, n_sums: int, target: float, steps: int
) -> int:
    """Optimise the parts between the cuts, each as if the others stayed; returns the work, in steps on the block.

    On each part there are at most `steps` for each of its variables.
    """
    from mercer.solvers.smo.block_numba import descend

    n, reached = len(B), B.copy()
    work = np.zeros(n, dtype=np.int64)  # at the first variable of each part
    gram_change = np.empty_like(g)

    def optimise(variables: slice, _: None) -> None:
        size = variables.stop - variables.start
        own_g, own_box = g[variables].copy(), np.ascontiguousarray(box[:, variables])
        if n_sums == 2:  # no variable passes zero, so that shorter steps keep both sums
            own_box[0, B[variables] > 0] = 0.0
            own_box[1, B[variables] < 0] = 0.0
        done, _ = descend(K, variables.start, own_g, reached[variables], own_box, n_sums, target, steps * size)
        work[variables.start] = done * size
        gram_change[variables] = own_g - g[variables]

    def hear_of_others(variables: slice, _: None) -> None:
        for others in (slice(0, variables.start), slice(variables.stop, n)):
            gram_change[variables] += K[variables, others] @ change[others]

    parts = [slice(start, stop) for start, stop in pairwise(cuts)]
    parts.sort(key=lambda part: part.start - part.stop)  # the ends together are as long as the middle
    run_threaded(optimise, parts, lambda: None, threads_for(n * n))
    change = (reached - B).astype(K.dtype)
    run_threaded(hear_of_others, parts, lambda: None, threads_for(n * n))
    slope = float(g @ change) + price_of(box, reached) - price_of(box, B)
    bend = float(change @ gram_change)
    if slope < 0:
        # The price is convex: along the step it lies below its chord, so that the objective falls.
        length = min(1.0, -slope / bend) if bend > 0 else 1.0
        B[:] = reached if length == 1.0 else np.clip(B + length * (reached - B), box[0], box[1])
        g += (length * gram_change).astype(K.dtype)
    return int(work.sum()) // n
