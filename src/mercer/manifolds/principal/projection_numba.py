"""Compiled parts of the projection: where to start, and damped steps in a box or around circles."""

import numpy as np
from numba import boolean, float64, int64, njit, void

from mercer.compiled_numba import PLAIN, compiled, read_only
from mercer.manifolds.latent.cholesky_numba import factorise, solve_factored

# What is added to the diagonal of JᵀJ, as a share of its largest entry: f may stand still in a direction.
_LEAST_CURVATURE = 1e-14
_MATRIX, _CUBE = float64[:, ::1], float64[:, :, ::1]
# Of a model that was loaded from a file, and may be read-only.
_FLAGS = read_only(boolean, 1)
_POSITIONS = read_only(int64, 2)
_READ_VECTOR, _READ_MATRIX, _READ_CUBE = (read_only(float64, n_dims) for n_dims in (1, 2, 3))


@compiled(void(_READ_MATRIX, _READ_VECTOR, _POSITIONS, int64[:, ::1]), **PLAIN)
def best_local_minima(distances, reach, neighbours, found):  # type: ignore[no-untyped-def]
    """The positions of the least local minima of each row of distances from a grid, best first, then -1.

    A minimum is left out if the surface comes no nearer than `reach` from its grid point, and that is not enough.
    """
    n_rows, n_points = distances.shape
    most = found.shape[1]
    for i in range(n_rows):
        row = distances[i]
        count = 0
        for g in range(n_points):
            if count == most and row[g] >= row[found[i, most - 1]]:
                continue
            lowest = True
            for a in range(neighbours.shape[1]):
                other = neighbours[g, a]
                if other >= 0 and row[other] < row[g]:
                    lowest = False
                    break
            if not lowest:
                continue
            place = min(count, most - 1)
            while place > 0 and row[found[i, place - 1]] > row[g]:
                found[i, place] = found[i, place - 1]
                place -= 1
            found[i, place] = g
            count = min(count + 1, most)
        for place in range(1, most):
            if place >= count or row[found[i, place]] - reach[found[i, place]] > row[found[i, 0]]:
                found[i, place] = -1


@njit(**PLAIN)
def _solve_free(A, S, g, free, damping, largest, factor, held, step):  # type: ignore[no-untyped-def]
    """Solve (A + S + damping diag A) step = g for the free coordinates; without S, and 0.0 returned, where concave."""
    q = len(g)
    share = 1.0
    while True:
        for a in range(q):
            for b in range(a + 1):
                factor[a, b] = A[a, b] + share * S[a, b] if free[a] and free[b] else 0.0
            # Coordinates that are held have a unit row.
            factor[a, a] += A[a, a] * damping + _LEAST_CURVATURE * largest if free[a] else 1.0
            held[a] = g[a] if free[a] else 0.0
        if factorise(factor, _LEAST_CURVATURE * largest * share, np.inf) or share == 0.0:
            break
        share = 0.0
    solve_factored(factor, held, step)
    return share


@njit(**PLAIN)
def _promised(step, length, g, A, S, share):  # type: ignore[no-untyped-def]
    """The decrease that the model promises for a part of a step."""
    total = 0.0
    for a in range(len(g)):
        total += 2.0 * length * step[a] * g[a]
        for b in range(len(g)):
            total -= length**2 * step[a] * (A[a, b] + share * S[a, b]) * step[b]
    return total


@compiled(
    void(_READ_CUBE, _READ_MATRIX, _READ_MATRIX, _READ_MATRIX, _READ_CUBE, _READ_VECTOR, _FLAGS, _MATRIX, float64[::1]),
    **PLAIN,
)
def propose_steps(T, R, W, Z, S, damping, is_circle, steps, gains):  # type: ignore[no-untyped-def]
    """Minimise Σ_c W_c (R_c - (sᵀT)_c)² + sᵀSs + damping Σ_a (TWTᵀ)_aa s_a² over steps s that stay in the box, roughly.

    Coordinates at an end of their interval that would leave it are held, and the others solved for. What is then still
    outside is clipped or, if that promises more, the whole step is shortened: it always promises something. S is left
    out where it makes the problem concave. Writes s, and the decrease that the model promises without the damping.
    W may have one row for all.
    """
    n, q, d = T.shape
    A, g, step, clipped = np.empty((q, q)), np.empty(q), np.empty(q), np.empty(q)
    free, factor, held = np.empty(q, np.bool_), np.empty((q, q)), np.empty(q)
    for i in range(n):
        w = W[i if W.shape[0] > 1 else 0]
        largest = 0.0
        for a in range(q):
            total = 0.0
            for c in range(d):
                total += w[c] * T[i, a, c] * R[i, c]
            g[a] = total
            for b in range(a + 1):
                total = 0.0
                for c in range(d):
                    total += w[c] * T[i, a, c] * T[i, b, c]
                A[a, b] = total
                A[b, a] = total
            largest = max(largest, A[a, a])
            z = Z[i, a]
            free[a] = is_circle[a] or not ((z >= 1.0 and g[a] > 0.0) or (z <= -1.0 and g[a] < 0.0))
        share, leaves = 1.0, True
        while leaves:
            share = _solve_free(A, S[i], g, free, damping[i], largest, factor, held, step)
            leaves = False
            for a in range(q):
                z = Z[i, a]
                if free[a] and not is_circle[a] and ((z >= 1.0 and step[a] > 0.0) or (z <= -1.0 and step[a] < 0.0)):
                    free[a] = False
                    leaves = True
        length = 1.0
        for a in range(q):
            # Around a circle the model knows nothing of what is farther than a quarter of the way.
            end = 0.5 if is_circle[a] else (1.0 - Z[i, a] if step[a] > 0.0 else 1.0 + Z[i, a])
            clipped[a] = min(max(step[a], -end), end)
            if abs(step[a]) > end:
                length = min(length, end / abs(step[a]))
        gains[i] = _promised(clipped, 1.0, g, A, S[i], share)
        shortened = _promised(step, length, g, A, S[i], share)
        for a in range(q):
            steps[i, a] = clipped[a] if gains[i] >= shortened else length * step[a]
        gains[i] = max(gains[i], shortened)


@compiled(
    void(_FLAGS, _READ_MATRIX, _READ_MATRIX, _READ_CUBE, _READ_MATRIX, _MATRIX, _CUBE, _CUBE),
    **PLAIN,
)
def accept_steps(better, steps, R_moved, T_moved, W, R, T, S):  # type: ignore[no-untyped-def]
    """Take over residuals and tangents of the steps that were better, and learn the curvature of f from all.

    S approximates -Σ_c W_c R_c ∂²f_c, which Gauss-Newton neglects: by the symmetric secant formula of rank one.
    """
    n, q, d = T.shape
    u = np.empty(q)
    for i in range(n):
        w = W[i if W.shape[0] > 1 else 0]
        along, length, size = 0.0, 0.0, 0.0
        for a in range(q):
            total = 0.0
            for c in range(d):
                total -= w[c] * (T_moved[i, a, c] - T[i, a, c]) * R_moved[i, c]
            for b in range(q):
                total -= S[i, a, b] * steps[i, b]
            u[a] = total
            along += total * steps[i, a]
            length += steps[i, a] ** 2
            size += total**2
        if along**2 > 1e-6 * length * size:
            for a in range(q):
                for b in range(q):
                    S[i, a, b] += u[a] * u[b] / along
        if better[i]:
            # Entry by entry: for whole arrays the compiler makes code that broadcasts, for two seconds.
            for c in range(d):
                R[i, c] = R_moved[i, c]
                for a in range(q):
                    T[i, a, c] = T_moved[i, a, c]
