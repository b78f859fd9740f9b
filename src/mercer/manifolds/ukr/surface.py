"""The surface of a fit: f(z) = Σ_r b_r(z) y_r, its tangents, and the density that its domain is defined by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]


class SurfacePoints(NamedTuple):
    """What a surface is at some latent points."""

    F: Array
    tangents: Array
    log_density: Array
    density_slopes: Array


class Surface:
    """Kernel regression of rows on latent points, at any other latent points.

    Parameters
    ----------
    Z : array of shape (N, q)
        Latent points, in widths of the kernel.
    Y : array of shape (N, d)
        Rows; NaN where an entry is missing: then the weights are those of the rows that have one.
    density_kernel : {"gaussian", "quartic"}
        exp(-r²/2) or (1 - r²)² within distance 1.
    units : LatentUnits
        Lines and circles; distances around circles are those of chords.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.surface import Surface
    >>> from mercer.manifolds.ukr.units import LatentUnits
    >>> z = np.linspace(-3, 3, 13)[:, None]
    >>> surface = Surface(z, 2 * z, "gaussian", LatentUnits(np.array([np.inf])))
    >>> at = surface(np.zeros((1, 1)))
    >>> bool(abs(at.F[0, 0]) < 1e-12), bool(1.8 < at.tangents[0, 0, 0] < 2)
    (True, True)
    """

    def __init__(self, Z: Array, Y: Array, density_kernel: str, units: LatentUnits):
        self.Z, self.units, self.density_kernel = Z, units, density_kernel
        self.means = np.nanmean(Y, axis=0)
        missing = np.isnan(Y)
        self.values = np.ascontiguousarray(np.where(missing, 0.0, Y - self.means))
        self.seen = (~missing).astype(np.float64) if missing.any() else np.ones((1, 1))
        self._n_dims = Y.shape[1]
        # What is summed with the weights of rows: values, where they are known, and one.
        weighs = [self.seen] if missing.any() else []
        features = np.hstack([self.values, *weighs, np.ones((len(Y), 1))])
        self.U, _ = units.unrolled(Z)
        self._squares = np.einsum("ij,ij->i", self.U, self.U)
        self._features = features
        self._moments = np.hstack([features, *(features * u[:, None] for u in self.U.T)])

    def __call__(self, Z: Array) -> SurfacePoints:
        """F (M, d), tangents ∂f/∂z_a (M, q, d), the log of Σ_r K(z - z_r) / (N K(0)), and its derivatives (M, q).

        Memory: some arrays of shape (M, N) and (M, (q + 1) d).
        """
        U, T = self.units.unrolled(Z)
        squares = U @ (-2.0 * self.U.T)
        squares += np.einsum("ij,ij->i", U, U)[:, None]
        squares += self._squares
        np.maximum(squares, 0.0, out=squares)
        if self.density_kernel == "gaussian":
            nearest = squares.min(axis=1)
            squares -= nearest[:, None]  # the largest weight is 1: none underflows
            squares *= -0.5
            slopes = np.exp(squares, out=squares)
            moments = slopes @ self._moments
            sums, log_scale = moments[:, : self._features.shape[1]], -0.5 * nearest
        else:
            slopes = np.maximum(1.0 - squares, 0.0)
            alone = np.flatnonzero(~slopes.any(axis=1))
            sums, log_scale = (slopes**2) @ self._features, 0.0
            moments = (4.0 * slopes) @ self._moments
            sums[alone] = 1e-300 * self._features[squares[alone].argmin(axis=1)]  # f is the nearest row's there
        return self._assembled(U, T, sums, moments, log_scale)

    def _assembled(self, U: Array, T: Array, sums: Array, moments: Array, log_scale: Any) -> SurfacePoints:
        d, width = self._n_dims, sums.shape[1]
        totals = sums[:, -1:]
        # ∂/∂u_c Σ_r K(u - u_r) φ_r = Σ_r p_r (u_rc - u_c) φ_r.
        by_u = moments[:, width:].reshape(len(U), -1, width) - U[:, :, None] * moments[:, None, :width]
        by_z = np.matmul(T, by_u)
        weights, weight_slopes = (totals, by_z[:, :, -1:]) if width == d + 1 else (sums[:, d:-1], by_z[:, :, d:-1])
        known = weights > 1e-290 if width > d + 1 else np.ones_like(weights, dtype=bool)
        weights = np.where(known, weights, 1.0)
        F = np.where(known, sums[:, :d] / weights, 0.0)
        tangents = np.where(known[:, None], (by_z[:, :, :d] - F[:, None] * weight_slopes) / weights[:, None], 0.0)
        log_density = np.log(totals[:, 0]) + log_scale - np.log(len(self.U))
        return SurfacePoints(F + self.means, tangents, log_density, by_z[:, :, -1] / totals)
