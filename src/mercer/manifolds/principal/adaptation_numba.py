"""Compiled part of the adaptation: what of some rows lies along the manifold."""

from numba import float32, float64, void

from mercer.compiled_numba import FAST, compiled, read_only

# What is only read may be of a model that was loaded from a file, and read-only.
_SLOPES = read_only(float32, 3)
_VALUES = read_only(float64, 2)


@compiled(void(_SLOPES, _VALUES, float64, float64[:, ::1]), **FAST)
def subtract_tangential(slopes, values, share, total):  # type: ignore[no-untyped-def]
    """Subtract share Σ_a s_a (s_aᵀ v) from the rows of total, for the rows v of values and their slopes s_a."""
    n, q, d = slopes.shape
    for i in range(n):
        for a in range(q):
            along = 0.0
            for c in range(d):
                along += slopes[i, a, c] * values[i, c]
            along *= share
            for c in range(d):
                total[i, c] -= along * slopes[i, a, c]
