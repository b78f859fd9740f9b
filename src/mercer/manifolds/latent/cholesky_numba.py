"""Cholesky factors of small matrices in compiled loops, where a call of LAPACK takes longer than the arithmetic."""

import numpy as np
from numba import njit

from mercer.compiled_numba import PLAIN, UNCOUNTED


@njit(**UNCOUNTED, **PLAIN)
def factorise(L, least, replacement):  # type: ignore[no-untyped-def]
    """Overwrite the lower triangle of a matrix by its factor; returns whether all squared pivots exceed `least`.

    The other pivots become `replacement`: infinite ones make their coordinate of a solution zero.
    """
    positive = True
    for a in range(len(L)):
        for b in range(a + 1):
            value = L[a, b]
            for e in range(b):
                value -= L[a, e] * L[b, e]
            if a != b:
                L[a, b] = value / L[b, b]
            elif value > least:
                L[a, a] = np.sqrt(value)
            else:
                positive = False
                L[a, a] = replacement
    return positive


@njit(**UNCOUNTED, **PLAIN)
def solve_factored(L, b, x):  # type: ignore[no-untyped-def]
    """Write the solution of L Lᵀ x = b."""
    q = len(b)
    for a in range(q):
        value = b[a]
        for e in range(a):
            value -= L[a, e] * x[e]
        x[a] = value / L[a, a]
    for a in range(q - 1, -1, -1):
        value = x[a]
        for e in range(a + 1, q):
            value -= L[e, a] * x[e]
        x[a] = value / L[a, a]
