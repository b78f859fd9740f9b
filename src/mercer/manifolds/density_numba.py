"""Compiled part of the density of a manifold: what rows say of its cells."""

from math import log
from typing import Any

import numpy as np
from numba import float64, njit, types

from mercer.kernels.exponential_numba import power_of_two

_COMPILE: Any = {
    "nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "nnan"},
}  # fmt: skip
_LOG2_E = 1.0 / log(2.0)
# Power of two of the least ratio of two densities: smaller ones are lost in rounding, and numbers near the smallest of
# all are slow.
_LEAST_POWER = -150.0
# Of a model that was loaded from a file, and may be read-only.
_VECTOR = types.Array(float64, 1, "C", readonly=True)
_MATRIX = types.Array(float64, 2, "C", readonly=True)


@njit(
    float64(
        float64[:, ::1], _VECTOR, _VECTOR, _VECTOR, _MATRIX, _MATRIX, float64, float64[::1], float64[:, :, ::1]
    ),
    **_COMPILE,
)  # fmt: skip
def cell_weights(P, lengths, norms, base, offsets, squares, s2, log_p, seconds):  # type: ignore[no-untyped-def]
    """What each of some rows x says of the cells g of a manifold, and of the places e within them.

    Parameters
    ----------
    P : array of shape (n, (1 + q) G)
        F_gᵀx of all cells, and then U_gaᵀx. Is overwritten by r_g = p(g | x), and then r_g E e_a.
    lengths : array of shape (n,)
        ||x||².
    norms, base : array of shape (G,)
        ||F_g||², and the log density of a cell but for what depends on x.
    offsets, squares : array of shape (q, G)
        F_gᵀU_ga and ||U_ga||².
    s2 : float
        Variance of the noise.
    log_p : array of shape (n,)
        Is set to the log densities of the rows.
    seconds : array of shape (q, q, G)
        Below and on the diagonal, Σ r_g E e_a E e_b is added.

    Returns
    -------
    float
        Σ E ||x - f||² of all rows.
    """
    n, (q, n_cells) = len(P), offsets.shape
    D, E = np.empty(n_cells), np.empty((q, n_cells))
    inverses, per_noise = 1.0 / (s2 + squares), 1.0 / s2
    noise = 0.0
    for i in range(n):
        for g in range(n_cells):
            D[g] = base[g] + P[i, g] * per_noise
        for a in range(q):
            for g in range(n_cells):
                along = P[i, (1 + a) * n_cells + g] - offsets[a, g]
                E[a, g] = along * inverses[a, g]
                D[g] += 0.5 * per_noise * along * E[a, g]
        top = D[0]
        for g in range(n_cells):
            if D[g] > top:
                top = D[g]
        total = 0.0
        for g in range(n_cells):
            D[g] = power_of_two(max((D[g] - top) * _LOG2_E, _LEAST_POWER))
            total += D[g]
        log_p[i] = top + log(total / n_cells) - 0.5 * lengths[i] * per_noise
        share = 1.0 / total
        for g in range(n_cells):
            D[g] *= share
            noise += D[g] * (lengths[i] - 2.0 * P[i, g] + norms[g])
            P[i, g] = D[g]
        for a in range(q):
            for g in range(n_cells):
                weighted = D[g] * E[a, g]
                P[i, (1 + a) * n_cells + g] = weighted
                seconds[a, a, g] += weighted * E[a, g]
                # x - f along U is left as s² / (s² + λ) of what it was, and the place is uncertain.
                noise += D[g] * s2 * squares[a, g] * inverses[a, g] - weighted * E[a, g] * (squares[a, g] + 2.0 * s2)
            for b in range(a):
                for g in range(n_cells):
                    seconds[a, b, g] += D[g] * E[a, g] * E[b, g]
    return noise
