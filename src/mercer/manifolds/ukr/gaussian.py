"""The pass over all pairs of rows: for the Gaussian kernel, and for the quartic one where most pairs are in reach."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.graphs.searches import Tree
from mercer.kernels import Gaussian
from mercer.kernels.gram import Gram
from mercer.manifolds.ukr.shared_numba import TIE
from mercer.manifolds.ukr.targets import Targets, padded
from mercer.manifolds.ukr.tuning import PASSES, PassTuning
from mercer.threads import allowed_threads, run_threaded, single_threaded_blas

# exp(-r² / 2) = 2^-(scale r)²
_SCALE = math.sqrt(0.5 / math.log(2.0))


@dataclass(frozen=True)
class Evaluation:
    """What a pass finds.

    Attributes
    ----------
    errors : array of shape (N,)
        E_s = ||y_s - f_s||².
    isolated : array of shape (N,)
        Rows without another row that counts within reach of the kernel: the nearest that may count has all the weight.
    gradient : array of shape (N, q) or None
        ½ ∂/∂U Σ_s E_s.
    """

    errors: Array
    isolated: Array
    gradient: Array | None


class AllPairs:
    """Errors of the regression on latent points u_s, and their gradient, in O(N² (d + q)) time and O(N) memory.

    Gaussian weights are relative to that of the nearest row, so that they do not underflow.

    Parameters
    ----------
    targets : Targets
        What is regressed.
    quartic : bool
        (1 - r²)² for r < 1 instead of exp(-r² / 2).
    n_excluded : int
        Nearest neighbours that are left out besides the row itself, ties with the last of them included; if no other
        row is left, only the row itself is left out.
    tuning : PassTuning
        Sizes of blocks.
    """

    def __init__(self, targets: Targets, *, quartic: bool, n_excluded: int, tuning: PassTuning = PASSES):
        self._targets, self._quartic, self._n_excluded, self._tuning = targets, quartic, n_excluded, tuning

    def run(
        self, U: Array, *, with_gradient: bool, rows: Array | None = None, n_threads: int | None = None
    ) -> Evaluation:
        """Errors, and their gradient; errors of some rows only, without a gradient."""
        from mercer.manifolds.ukr.gaussian_numba import add_gradients

        rows = np.arange(len(U)) if rows is None else rows
        points, radii = self._scaled(U), self._radii(U, rows)
        columns = np.ascontiguousarray(points.T)
        errors, isolated, gradient = np.empty(len(rows)), np.empty(len(rows), bool), np.empty(points[rows].shape)
        height = max(8, self._tuning.block // len(U))
        length = math.ceil(len(rows) / self._tuning.strips / height) * height
        strips = [slice(start, min(start + length, len(rows))) for start in range(0, len(rows), length)]
        pulls = np.zeros((len(strips) if with_gradient else 0, *columns.shape))

        def work(task: tuple[int, slice], buffers: tuple[Array, Array]) -> None:
            number, strip = task
            for start in range(strip.start, strip.stop, height):
                block = slice(start, min(start + height, strip.stop))
                own = rows[block]
                V, W, slopes = points[own], buffers[0][: len(own)], buffers[1][: len(own)]
                isolated[block] = self._fill(columns, V, own, radii[block], W)
                if not with_gradient:
                    errors[block] = self._targets.errors_of(W, own)
                    continue
                errors[block] = self._targets.errors_and_slopes(W, own, slopes)
                add_gradients(columns, V, W, slopes, self._quartic, isolated[block], gradient[block], pulls[number])

        def new_buffers() -> tuple[Array, Array]:
            return np.empty((height, len(U))), np.empty((height if with_gradient else 0, len(U)))

        n_threads = (n_threads or allowed_threads()) if len(rows) * len(U) > self._tuning.few_pairs else 1
        with single_threaded_blas:
            run_threaded(work, enumerate(strips), new_buffers, n_threads)
        if not with_gradient:
            return Evaluation(errors, isolated, None)
        gradient += pulls.sum(axis=0).T
        return Evaluation(errors, isolated, gradient[:, : U.shape[1]] / self._scale)

    @property
    def _scale(self) -> float:
        return 1.0 if self._quartic else _SCALE

    def _fill(self, columns: Array, V: Array, own: Array, radii: Array, W: Array) -> Array:
        """Kernel values, and which points are isolated."""
        from mercer.manifolds.ukr.gaussian_numba import fill_weights

        isolated = np.empty(len(V), dtype=bool)
        fill_weights(columns, V, own, radii, self._quartic, W, isolated)
        return isolated

    def _scaled(self, U: Array) -> Array:
        """Points in units of the compiled functions."""
        return padded(U * self._scale, 2)

    def _radii(self, U: Array, rows: Array) -> Array:
        """Squared distances up to which neighbours are excluded."""
        if self._n_excluded == 0:
            return np.full(len(rows), -1.0)
        V = U if len(rows) == len(U) else U[rows]
        distances = Tree(U).nearest(V, self._n_excluded + 1)[0][:, -1]
        return (distances * self._scale) ** 2 * TIE


def gaussian_weights(V: Array, U: Array) -> Array:
    """Weights of all rows at new points, (M, N); rows sum to one."""
    from mercer.manifolds.ukr.gaussian_numba import fill_weights

    W, nobody = np.empty((len(V), len(U))), np.full(len(V), -1)
    columns = np.ascontiguousarray(padded(U * _SCALE, 2).T)
    fill_weights(
        columns, padded(V * _SCALE, 2), nobody, nobody.astype(np.float64), False, W, np.empty(len(V), dtype=bool)
    )
    W /= W.sum(axis=1, keepdims=True)
    return W


def gaussian_sums(V: Array, U: Array) -> Array:
    """Sums over the rows of Gaussian values at new points."""
    return Gram(Gaussian(1.0), V, U) @ np.ones(len(U))
