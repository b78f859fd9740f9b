"""The objective over lists of the nearest latent points, in single precision: nearly the same, in less time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer.arrays import Array
from mercer.graphs.searches import Tree
from mercer.manifolds.latent.rotation import automatic_n_rotated, rotation_of
from mercer.manifolds.ukr.density_kernels import DensityKernel, GaussianDensity
from mercer.manifolds.ukr.problem import Evaluated
from mercer.manifolds.ukr.targets import padded
from mercer.manifolds.ukr.tuning import PASSES, PassTuning
from mercer.manifolds.ukr.units import LatentUnits
from mercer.threads import allowed_threads, run_threaded


@dataclass(frozen=True, eq=False)
class ListProblem(Evaluated):
    """R of `LatentProblem` with the Gaussian kernel, for rows near in the latent space alone.

    Time and memory are O(N) for lists of a given length, which is 64 for 3000 rows and grows as the number of rows
    within reach does, with N^(4 / (q + 4)).

    Parameters
    ----------
    Y : array of shape (N, d)
        Rows, of which the mean is taken; their squares must be numbers in single precision.
    n_excluded : int
        Neighbours that are left out beside each row.
    units : LatentUnits
        Lines and circles.
    tuning : PassTuning
        Lengths of lists.
    """

    Y: Array
    n_excluded: int
    units: LatentUnits
    tuning: PassTuning = PASSES
    density_kernel: DensityKernel = field(default_factory=GaussianDensity, init=False)

    @property
    def periods(self) -> Array | None:  # type: ignore[override]
        """Of circles; None if there is none."""
        return self.units.periods if self.units.is_circle.any() else None

    def evaluator(self) -> ListEvaluator:
        """An evaluator without lists."""
        return ListEvaluator(self)


class ListEvaluator:
    """Evaluates a `ListProblem`; keeps lists for ten gradients."""

    def __init__(self, problem: ListProblem):
        Y, self._tuning = problem.Y, problem.tuning
        self._features = padded(Y - Y.mean(axis=0), 8).astype(np.float32)
        self._n_excluded, self._units = problem.n_excluded, problem.units
        n_dims = len(problem.units.periods)
        n_listed = self._tuning.listed * max(1.0, len(Y) / self._tuning.of_rows) ** (4 / (n_dims + 4))
        self._n_listed = min(round(n_listed) + problem.n_excluded, len(Y) - 1)
        self._lists: Array | None = None
        self._age = 0

    def value(self, Z: Array) -> float:
        """R at latent points, by lists of their own."""
        return float(self.errors(Z).mean())

    def errors(self, Z: Array) -> Array:
        """||y_s - f_s||² of each row, by lists of these points."""
        self._lists = None
        return self._pass(self._unrolled(Z), None)[0]

    def isolated(self, Z: Array) -> Array:
        """No point is out of the reach of all others."""
        return np.zeros(len(Z), dtype=bool)

    def value_and_gradient(self, Z: Array, n_threads: int | None = None) -> tuple[float, Array]:
        """R and its derivatives by Z; by lists of points where they were at most ten evaluations ago."""
        errors, pulls = self._pass(self._unrolled(Z), n_threads)
        return float(errors.mean()), self._units.along(Z, pulls * (2.0 / len(Z)))

    def _unrolled(self, Z: Array) -> Array:
        return np.ascontiguousarray(self._units.unrolled(np.asarray(Z, dtype=np.float64)))

    def _pass(self, U: Array, n_threads: int | None) -> tuple[Array, Array]:
        """Errors, and ½ ∂/∂U of their sum."""
        from mercer.manifolds.ukr.lists_numba import list_pass

        lists, n, n_strips = self._lists_for(U), len(U), self._tuning.list_strips
        errors, pulls = np.empty(n), np.zeros((n_strips, *U.shape))
        bounds = np.linspace(0, n, n_strips + 1).astype(int)

        def work(strip: int, _: None) -> None:
            list_pass(
                self._features, U, lists, self._n_excluded, bounds[strip], bounds[strip + 1], errors, pulls[strip]
            )

        run_threaded(work, range(n_strips), lambda: None, n_threads or allowed_threads())
        return errors, pulls.sum(axis=0)

    def _lists_for(self, U: Array) -> Array:
        if self._lists is None or self._age == self._tuning.lasting:
            found = Tree(U).nearest(U, self._n_listed + 1)[1]
            # Of equal points a row may not be the first one found.
            others = found != np.arange(len(U))[:, None]
            others[others.all(axis=1), -1] = False
            self._lists = found[others].reshape(len(U), -1).astype(np.int32)
            self._age = 0
        self._age += 1
        return self._lists


def leading_columns(Y: Array) -> Array:
    """Rows, of many columns their leading components."""
    Y = Y - Y.mean(axis=0)
    return rotation_of(Y, automatic_n_rotated(Y), 0).leading(Y)
