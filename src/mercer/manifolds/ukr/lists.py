"""The objective over lists of the nearest latent points, in single precision: nearly the same, in less time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.graphs.searches import Tree
from mercer.kernels.blas import allowed_threads
from mercer.kernels.tiles import run_threaded
from mercer.manifolds.ukr.targets import padded
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Latent neighbours in a list beside those that are left out, and evaluations before lists are made anew. At the scale
# of the best objective some 50 rows lie within four widths of the kernel.
_LISTED, _LASTING = 64, 10
# Rows go to threads in so many strips, however many threads there are: sums do not depend on their number.
_STRIPS = 4


class ListObjective:
    """R of `LatentObjective` with the Gaussian kernel, for rows near in the latent space alone.

    Parameters
    ----------
    Y : array of shape (N, d)
        Rows, of which the mean is taken.
    n_excluded : int
        Neighbours that are left out beside each row.
    units : LatentUnits
        Lines and circles.
    """

    density_kernel = "gaussian"

    def __init__(self, Y: Array, n_excluded: int, units: LatentUnits):
        self._features = padded(Y - Y.mean(axis=0), 8).astype(np.float32)
        self._n_excluded, self._units = n_excluded, units
        self._n_listed = min(_LISTED + n_excluded, len(Y) - 1)
        self._lists: Array | None = None
        self._age = 0

    def value(self, Z: Array) -> float:
        """R at latent points, by lists of their own."""
        self._lists = None
        return self.value_and_gradient(Z)[0]

    def isolated(self, Z: Array) -> Array:
        """No point is out of the reach of all others."""
        return np.zeros(len(Z), dtype=bool)

    def value_and_gradient(self, Z: Array, n_threads: int | None = None) -> tuple[float, Array]:
        """R and its derivatives by Z; by lists of points where they were at most ten evaluations ago."""
        from mercer.manifolds.ukr.lists_numba import list_pass

        U = np.ascontiguousarray(self._units.unrolled(np.asarray(Z, dtype=np.float64)))
        lists, n = self._lists_for(U), len(U)
        errors, pulls = np.empty(n), np.zeros((_STRIPS, *U.shape))
        bounds = np.linspace(0, n, _STRIPS + 1).astype(int)

        def work(strip: Any, _: None) -> None:
            list_pass(
                self._features, U, lists, self._n_excluded, bounds[strip], bounds[strip + 1], errors, pulls[strip]
            )

        strips: Any = range(_STRIPS)
        run_threaded(work, strips, lambda: None, n_threads or allowed_threads())
        gradient = pulls.sum(axis=0) * (2.0 / n)
        return float(errors.mean()), self._units.along(Z, gradient)

    def _lists_for(self, U: Array) -> Array:
        if self._lists is None or self._age == _LASTING:
            found = Tree(U).nearest(U, self._n_listed + 1)[1]
            # Of equal points a row may not be the first one found.
            others = found != np.arange(len(U))[:, None]
            others[others.all(axis=1), -1] = False
            self._lists = found[others].reshape(len(U), -1).astype(np.int32)
            self._age = 0
        self._age += 1
        return self._lists
