"""The objective of unsupervised kernel regression and its gradient, row by row in NumPy; shares nothing with src."""

import numpy as np

# K as a function of the squared distance, and its derivative.
PROFILES = {
    "gaussian": (lambda squares: np.exp(-squares / 2), lambda squares: -np.exp(-squares / 2) / 2),
    "quartic": (
        lambda squares: np.where(squares < 1, (1 - squares) ** 2, 0.0),
        lambda squares: np.where(squares < 1, -2 * (1 - squares), 0.0),
    ),
}


def unrolled(Z, periods):
    """Points of a Euclidean space, and their derivatives by the latent coordinates, (N, q, Q)."""
    columns, tangents = [], []
    for a, period in enumerate(periods):
        own = np.eye(len(periods))[a]
        if np.isfinite(period):
            angles, radius = 2 * np.pi * Z[:, a] / period, period / (2 * np.pi)
            columns += [radius * np.cos(angles), radius * np.sin(angles)]
            tangents += [-np.sin(angles)[:, None] * own, np.cos(angles)[:, None] * own]
        else:
            columns.append(Z[:, a])
            tangents.append(np.tile(own, (len(Z), 1)))
    return np.stack(columns, axis=1), np.stack(tangents, axis=2)


def squares_of(Z, periods):
    """Squared distances between all latent points, with circles as circles of planes."""
    U, _ = unrolled(Z, periods)
    return ((U[:, None] - U) ** 2).sum(axis=2)


def left_in(D, s, n_excluded):
    """Which rows count for row s: not itself, nor those as near as the last to leave out, unless nobody is left."""
    others = np.arange(len(D)) != s
    if n_excluded:
        farther = others & (D[s] > np.sort(D[s][others])[n_excluded - 1] * (1 + 1e-12))
        others = farther if farther.any() else others
    return others


def value_and_gradient(Y, Z, kernel, n_excluded, periods):
    """R = 1/N Σ_s ||y_s - f_s||² over known entries, its gradient, and the rows that no other one within reach."""
    K, slope = PROFILES[kernel]
    (U, tangents), D, n = unrolled(Z, periods), squares_of(Z, periods), len(Z)
    known, Y = ~np.isnan(Y), np.nan_to_num(Y - np.nanmean(Y, axis=0))
    total, pulls, isolated = 0.0, np.zeros(U.shape), np.zeros(n, dtype=bool)
    for s in range(n):
        counts = left_in(D, s, n_excluded)
        # Relative to the nearest row, so that no Gaussian weight underflows.
        shift = D[s][counts].min() if kernel == "gaussian" else 0.0
        squares = np.where(counts, D[s] - shift, np.inf)
        w, w_slopes = K(squares), slope(squares)
        if not w.any():
            isolated[s], w_slopes = True, np.zeros(n)
            w = np.eye(n)[np.flatnonzero(counts)[D[s][counts].argmin()]]
        for c in np.flatnonzero(known[s]):
            mass = w @ known[:, c]
            f = w @ Y[:, c] / mass if mass > 1e-250 else 0.0
            total += (f - Y[s, c]) ** 2 / n
            if mass > 1e-250:
                by_w = 2 * (f - Y[s, c]) * known[:, c] * (Y[:, c] - f) / mass / n
                pull = 2 * (by_w * w_slopes)[:, None] * (U - U[s])
                pulls += pull
                pulls[s] -= pull.sum(axis=0)
    return total, np.einsum("naQ,nQ->na", tangents, pulls), isolated


def densities(Z, kernel, periods):
    """Σ_r K(z - z_r) / (N K(0)) at all latent points."""
    return PROFILES[kernel][0](squares_of(Z, periods)).mean(axis=1)
