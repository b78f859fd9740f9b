"""Dual variables that satisfy columnsᵀB = target to the last digits."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram

# The second pass removes the rounding of the first.
_N_PASSES = 2


def balanced(problem: KernelProgram, B: Array) -> Array:
    """B, moved as little as the constraints of the unpenalised columns ask; variables at zero or at a bound stay.

    Each variable moves by the room that it has, at most the size of the largest: moved alike, some would leave their
    bounds.
    """
    low, high = problem.box()
    A = problem.sign * B
    room = np.minimum(np.minimum(A - low, high - A), np.abs(B).max(initial=0.0))
    free, unpriced = (B != 0) & (room > 0), problem.bounds == 0
    if not free.any() or not unpriced.any():
        return B
    B, Phi = B.copy(), problem.columns[np.ix_(free, unpriced)] * room[free, None]
    for _ in range(_N_PASSES):
        B[free] -= room[free] * np.linalg.lstsq(Phi.T, problem.balance(B)[unpriced], rcond=None)[0]
    return np.asarray(problem.sign * np.clip(problem.sign * B, low, high))
