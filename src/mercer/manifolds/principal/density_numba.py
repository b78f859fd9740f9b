"""Compiled part of the density of a manifold: what rows say of its cells."""

from math import log

import numpy as np
from numba import float64

from mercer.compiled_numba import FAST_WITHOUT_NAN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two

_LOG2_E = 1.0 / log(2.0)
# Power of two of the least ratio of two densities of a row that is told apart from zero: 1000 cells at 2^-40 are 1e-9.
_LEAST_POWER = -40.0
# Of a model that was loaded from a file, and may be read-only.
_VECTOR = read_only(float64, 1)
_MATRIX = read_only(float64, 2)


@compiled(
    float64(
        _MATRIX, _MATRIX, _VECTOR, _VECTOR, _MATRIX, _MATRIX, float64, float64[::1], float64[:, :, ::1],
        float64[:, :, ::1],
    ),
    **FAST_WITHOUT_NAN,
)  # fmt: skip
def cell_sums(P, X, norms, base, offsets, squares, s2, log_p, seconds, totals):  # type: ignore[no-untyped-def]
    """What each of some rows x says of the cells g of a manifold, and of the places e within them.

    Cells whose share of a row is less than 2^-40 of the largest one are left out.

    Parameters
    ----------
    P : array of shape (n, (1 + q) G)
        F_gᵀx of all cells, and then U_gaᵀx.
    X : array of shape (n, 1 + d)
        1, and x.
    norms, base : array of shape (G,)
        ||F_g||², and the log density of a cell but for what depends on x.
    offsets, squares : array of shape (q, G)
        F_gᵀU_ga and ||U_ga||².
    s2 : float
        Variance of the noise.
    log_p : array of shape (n,)
        Is set to the log densities of the rows.
    seconds : array of shape (q, q, G)
        Below and on the diagonal, Σ r_g E e_a E e_b is added, with r_g = p(g | x).
    totals : array of shape (G, 1 + q, 1 + d)
        Σ r_g E e_a (1, x) is added, with e_0 = 1, unless G = 0.

    Returns
    -------
    float
        Σ E ||x - f||² of all rows.
    """
    n, (q, n_cells) = len(P), offsets.shape
    D, kept = np.empty(n_cells), np.empty(n_cells, np.int64)
    inverses, per_noise = 1.0 / (s2 + squares), 1.0 / s2
    gains = 0.5 * per_noise * inverses
    places = np.empty(1 + q)
    noise = 0.0
    for i in range(n):
        for g in range(n_cells):
            D[g] = base[g] + P[i, g] * per_noise
        for a in range(q):
            for g in range(n_cells):
                along = P[i, (1 + a) * n_cells + g] - offsets[a, g]
                D[g] += gains[a, g] * along * along
        top = D[0]
        for g in range(n_cells):
            top = max(top, D[g])
        least, n_kept, total = top + _LEAST_POWER / _LOG2_E, 0, 0.0
        for g in range(n_cells):
            kept[n_kept] = g
            n_kept += D[g] > least
        for k in range(n_kept):
            D[k] = power_of_two((D[kept[k]] - top) * _LOG2_E)
            total += D[k]
        length = 0.0
        for c in range(1, X.shape[1]):
            length += X[i, c] * X[i, c]
        log_p[i] = top + log(total / n_cells) - 0.5 * length * per_noise
        for k in range(n_kept):
            g, share = kept[k], D[k] / total
            noise += share * (length - 2.0 * P[i, g] + norms[g])
            places[0] = share
            for a in range(q):
                place = (P[i, (1 + a) * n_cells + g] - offsets[a, g]) * inverses[a, g]
                places[1 + a] = share * place
                # x - f along U is left as s² / (s² + λ) of what it was, and the place is uncertain.
                noise += share * (
                    s2 * squares[a, g] * inverses[a, g] - place * place * (squares[a, g] + 2.0 * s2)
                )  # fmt: skip
                for b in range(a + 1):
                    seconds[a, b, g] += places[1 + a] * places[1 + b] / share
            if len(totals):
                for a in range(1 + q):
                    for c in range(X.shape[1]):
                        totals[g, a, c] += places[a] * X[i, c]
    return noise
