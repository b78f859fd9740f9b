"""Compiled coordinate descent for the lasso and the group lasso."""

import numpy as np
from numba import boolean, float64, int64, void

from mercer.compiled_numba import PLAIN, compiled, read_only

# What is only read may come from a file, and be read-only.
_READ = read_only(float64, 2)


@compiled(void(_READ, _READ, float64, int64, boolean, float64, int64, float64[:, ::1]), **PLAIN)
def descend(G, C, lam, n_penalised, group, tol, sweeps, V):  # type: ignore[no-untyped-def]
    """Sweep over the rows of V until no entry (or group) violates its optimality condition by more than tol."""
    n, d = C.shape
    R = C - G @ V  # minus the gradient
    new = np.empty(d)
    for _ in range(sweeps):
        worst = 0.0
        for j in range(n):
            curvature = G[j, j]
            if curvature <= 0.0:
                continue
            price = lam if j < n_penalised else 0.0
            length = 0.0
            for c in range(d):
                new[c] = V[j, c] + R[j, c] / curvature
                length += new[c] ** 2
            length = np.sqrt(length)
            moved = 0.0
            for c in range(d):
                size = length if group else abs(new[c])
                shrunk = max(0.0, 1.0 - price / (curvature * size)) if size > 0.0 else 0.0
                step = shrunk * new[c] - V[j, c]
                new[c] = step
                moved = max(moved, abs(step))
            if moved == 0.0:
                continue
            # The step times the curvature is how far the condition was from holding.
            worst = max(worst, moved * curvature)
            for c in range(d):
                V[j, c] += new[c]
            for i in range(n):
                for c in range(d):
                    R[i, c] -= G[i, j] * new[c]
        if worst <= tol:
            return
