"""The surface of a fit: f(z) = Σ_r b_r(z) y_r, and the density that its domain is defined by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.shared_numba import NOTHING

Array = NDArray[Any]

# Pairs of latent and training points that are weighed at once; points, where most pairs have no weight.
_BLOCK, _SPARSE_BLOCK = 2**21, 2**13


class Surface:
    """Kernel regression of rows on latent points, at any other latent points.

    Parameters
    ----------
    objective : LatentObjective
        Whose kernel, and circles, these are.
    Z : array of shape (N, q)
        Latent points, in widths of the kernel.
    Y : array of shape (N, d)
        Rows; NaN where an entry is missing: then the weights are those of the rows that have one.

    Attributes
    ----------
    means : array of shape (d,)
        Of the columns.
    values, seen : array of shape (N, d)
        Rows less their means, 0 where an entry is missing; and where none is, or None if all are known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.objective import LatentObjective
    >>> from mercer.manifolds.ukr.surface import Surface
    >>> from mercer.manifolds.ukr.targets import data_targets
    >>> z = np.linspace(-3, 3, 13)[:, None]
    >>> surface = Surface(LatentObjective(data_targets(2 * z)), z, 2 * z)
    >>> bool(abs(surface.images(np.zeros((1, 1)))[0, 0]) < 1e-12)
    True
    """

    def __init__(self, objective: LatentObjective, Z: Array, Y: Array):
        self.objective, self.Z = objective, Z
        self.means = np.nanmean(Y, axis=0)
        missing = np.isnan(Y)
        self.values = np.ascontiguousarray(np.where(missing, 0.0, Y - self.means))
        self.seen = (~missing).astype(np.float64) if missing.any() else None

    def images(self, Z: Array) -> Array:
        """f(z) of latent points, (M, d); where none is within reach of the kernel, the nearest row."""
        sparse = self.objective.density_kernel == "quartic"
        height = _SPARSE_BLOCK if sparse else max(1, _BLOCK // len(self.Z))
        return np.concatenate([self._images(Z[start : start + height]) for start in range(0, len(Z), height)])

    def filled(self, Y: Array, Z: Array) -> Array:
        """Rows whose missing entries are those of the images of their latent points."""
        missing = np.isnan(Y)
        some = np.flatnonzero(missing.any(axis=1))
        Y = Y.copy()
        Y[some] = np.where(missing[some], self.images(Z[some]), Y[some])
        return Y

    def _images(self, Z: Array) -> Array:
        weights = self.objective.weights(Z, self.Z).T
        F = weights @ self.values
        if self.seen is not None:
            F = F / np.maximum(weights @ self.seen, NOTHING)
        return np.asarray(F + self.means)

    def log_density(self, Z: Array) -> Array:
        """The logarithm of Σ_r K(z - z_r) / (N K(0))."""
        return self.log_share(self.objective.density(Z, self.Z))

    def log_share(self, densities: Any) -> Array:
        """The same for densities that are known."""
        shares = densities * self.objective.kernel_integral(self.Z.shape[1])
        return np.asarray(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))
