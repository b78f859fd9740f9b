"""Compiled part of the pass over lists of the nearest latent points: errors, and what their slopes give."""

from math import exp

import numpy as np
from numba import float32, float64, int32, int64, void

from mercer.compiled_numba import FAST, compiled, read_only
from mercer.manifolds.ukr.selection_numba import kth_smallest
from mercer.manifolds.ukr.shared_numba import TIE

_FEATURES = read_only(float32, 2)


@compiled(
    void(_FEATURES, float64[:, ::1], int32[:, ::1], int64, int64, int64, float64[::1], float64[:, ::1]), **FAST
)  # fmt: skip
def list_pass(features, U, lists, n_excluded, start, stop, errors, gradient):  # type: ignore[no-untyped-def]
    """Errors E_s = ||y_s - f_s||² of points start to stop; ½ ∂/∂U of their sum is added to the gradient.

    f_s is the mean of the listed rows with Gaussian weights, but for the nearest ones that are excluded, and others as
    near as the last of them. Where none is left, f_s is zero, the mean of all rows.
    """
    n_listed, d, q = lists.shape[1], features.shape[1], U.shape[1]
    squares, room, weights = np.empty(n_listed), np.empty(n_listed), np.empty(n_listed, np.float32)
    residual = np.empty(d, np.float32)
    for s in range(start, stop):
        for k in range(n_listed):
            total = 0.0
            for a in range(q):
                step = U[lists[s, k], a] - U[s, a]
                total += step * step
            squares[k] = total
        radius = kth_smallest(squares, n_listed, n_excluded - 1, room) * TIE if n_excluded > 0 else -1.0
        nearest = np.inf
        for k in range(n_listed):
            if radius < squares[k] < nearest:
                nearest = squares[k]
        residual[:] = 0.0
        total_weight = np.float32(0.0)
        for k in range(n_listed):
            weights[k] = exp(0.5 * (nearest - squares[k])) if squares[k] > radius else 0.0
            total_weight += weights[k]
            if weights[k] > 0.0:
                for c in range(d):
                    residual[c] += weights[k] * features[lists[s, k], c]
        inverse = np.float32(1.0) / total_weight if total_weight > 0.0 else np.float32(0.0)
        error, along = np.float32(0.0), np.float32(0.0)
        for c in range(d):
            mean = residual[c] * inverse
            residual[c] = mean - features[s, c]
            error += residual[c] * residual[c]
            along += residual[c] * mean
        errors[s] = error
        for k in range(n_listed):
            if weights[k] > 0.0:
                r = lists[s, k]
                slope = -along
                for c in range(d):
                    slope += residual[c] * features[r, c]
                slope *= weights[k] * inverse
                for a in range(q):
                    pull = slope * (U[r, a] - U[s, a])
                    gradient[s, a] += pull
                    gradient[r, a] -= pull
