"""The surface of a fit: f(z) = Σ_r b_r(z) y_r, and the density that its domain is defined by."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.hosts import ArrayRows, column_means
from mercer.manifolds.ukr.density_kernels import LatentDensity
from mercer.manifolds.ukr.shared_numba import NOTHING
from mercer.manifolds.ukr.tuning import PASSES, PassTuning


class Surface:
    """Kernel regression of rows on latent points, at any other latent points.

    Parameters
    ----------
    density : LatentDensity
        Kernel, and circles.
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
    >>> from mercer.manifolds.ukr.density_kernels import GaussianDensity, LatentDensity
    >>> from mercer.manifolds.ukr.surface import Surface
    >>> z = np.linspace(-3, 3, 13)[:, None]
    >>> surface = Surface(LatentDensity(GaussianDensity()), z, 2 * z)
    >>> bool(abs(surface.images(np.zeros((1, 1)))[0, 0]) < 1e-12)
    True
    """

    def __init__(self, density: LatentDensity, Z: Array, Y: Array, tuning: PassTuning = PASSES):
        self.density, self.Z, self._tuning = density, Z, tuning
        self.means = column_means(ArrayRows(Y))
        missing = np.isnan(Y)
        self.values = np.ascontiguousarray(np.where(missing, 0.0, Y - self.means))
        self.seen = (~missing).astype(np.float64) if missing.any() else None

    def __getstate__(self) -> dict[str, Any]:
        """All but the sizes of blocks."""
        return {name: value for name, value in vars(self).items() if name != "_tuning"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "objective" in state:  # in older files
            state = {**state, "density": state["objective"]}
            del state["objective"]
        vars(self).update(state, _tuning=PASSES)

    def images(self, Z: Array) -> Array:
        """f(z) of latent points, (M, d); where none is within reach of the kernel, the nearest row."""
        tuning = self._tuning
        height = tuning.sparse_images if self.density.kernel.ends else max(1, tuning.images // len(self.Z))
        return np.asarray(ArrayRows(Z, height=height).map(self._images))

    def filled(self, Y: Array, Z: Array) -> Array:
        """Rows whose missing entries are those of the images of their latent points."""
        missing = np.isnan(Y)
        some = np.flatnonzero(missing.any(axis=1))
        Y = Y.copy()
        Y[some] = np.where(missing[some], self.images(Z[some]), Y[some])
        return Y

    def _images(self, Z: Array) -> Array:
        weights = self.density.weights(Z, self.Z).T
        F = weights @ self.values
        if self.seen is not None:
            F = F / np.maximum(weights @ self.seen, NOTHING)
        return np.asarray(F + self.means)

    def log_density(self, Z: Array) -> Array:
        """The logarithm of Σ_r K(z - z_r) / (N K(0))."""
        return self.log_share(self.density(Z, self.Z))

    def log_share(self, densities: Any) -> Array:
        """The same for densities that are known."""
        shares = densities * self.density.integral(self.Z.shape[1])
        return np.asarray(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))
