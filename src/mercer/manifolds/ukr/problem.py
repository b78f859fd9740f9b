"""The error of a kernel regression on latent points as a problem: data, a value, a gradient, and a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.hosts import ArrayRows
from mercer.manifolds.ukr.density_kernels import DensityKernel, GaussianDensity, LatentDensity, density_kernel_of
from mercer.manifolds.ukr.gaussian import Evaluation
from mercer.manifolds.ukr.shared_numba import TIE
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.tuning import PASSES, PassTuning
from mercer.manifolds.ukr.units import LatentUnits
from mercer.parameters import check_count


class Evaluator(Protocol):
    """Evaluates a problem at many points, and may keep lists of neighbours from one to the next: a solver's own."""

    def value(self, Z: Any) -> float:
        """R at latent points (N, q)."""

    def errors(self, Z: Any) -> Array:
        """||y_s - f_s||² of each row."""

    def isolated(self, Z: Any) -> Array:
        """Which rows have no other row that counts within reach of the kernel."""

    def value_and_gradient(self, Z: Any, n_threads: int | None = None) -> tuple[float, Array]:
        """R and its derivatives by Z, of shape (N, q); on as many threads as BLAS may use by default."""


class Evaluated(ABC):
    """A problem that is evaluated from nothing at each call; solvers take an `evaluator` for many calls.

    Attributes
    ----------
    density_kernel : DensityKernel
        K.
    periods : array or None
        Of circles; None if there is none.
    least_density : float
        Constraint: the least density p(z_i) of a latent point, as a share of K(0) / ∫ K. 0: there is none.
    """

    density_kernel: DensityKernel
    periods: Array | None
    least_density: float = 0.0

    @abstractmethod
    def evaluator(self) -> Evaluator:
        """An evaluator that has seen no points."""

    def value(self, Z: Any) -> float:
        """R at latent points (N, q)."""
        return self.evaluator().value(Z)

    def errors(self, Z: Any) -> Array:
        """||y_s - f_s||² of each row."""
        return self.evaluator().errors(Z)

    def isolated(self, Z: Any) -> Array:
        """Which rows have no other row that counts within reach of the kernel: never any if it does not end."""
        return self.evaluator().isolated(Z)

    def value_and_gradient(self, Z: Any, n_threads: int | None = None) -> tuple[float, Array]:
        """R and its derivatives by Z, of shape (N, q)."""
        return self.evaluator().value_and_gradient(Z, n_threads)


@dataclass(frozen=True)
class LatentCheck:
    """What holds of latent points, computed from the problem and the points alone.

    Attributes
    ----------
    value : float
        R.
    deviation : float
        |R - claimed| / R; 0 if nothing was claimed.
    monotone : bool
        Whether the values that were claimed on the way never rise, and end with that of the points.
    n_isolated : int
        Rows without another within reach.
    least_density : float
        Least density of a point, as a share of K(0) / ∫ K.
    admissible : bool
        Whether this is as large as the constraint demands.
    """

    value: float
    deviation: float
    monotone: bool
    n_isolated: int
    least_density: float
    admissible: bool

    def holds(self, tol: float = 1e-6) -> bool:
        """Whether claims are true to a relative tolerance, and points admissible."""
        return self.deviation <= tol and self.monotone and self.admissible


@dataclass(frozen=True, eq=False)
class LatentProblem(Evaluated):
    """R(Z) = 1/N Σ_s ||y_s - f_s||², with f_s = Σ_r K(z_r - z_s) y_r / Σ_r K(z_r - z_s) over rows r other than s.

    The width of K is one, and the scale of the latent points decides how smooth f is. If K ends, a row without others
    within reach is isolated: the nearest one takes all the weight, and the gradient knows nothing of it, so that
    isolated rows should not be allowed. Circles enter as in `LatentDensity`.

    Parameters
    ----------
    targets : Targets
        What is regressed: `data_targets` or `feature_targets`.
    density_kernel : DensityKernel or str
        K.
    n_excluded : int
        The regularizer. 0: leave one out. K > 0: the K nearest latent neighbours of row s do not count for f_s either,
        nor do others as near as the last of them, unless nothing else is left. Within a gradient it is fixed who they
        are: R jumps where neighbours change places, and the gradient is that between the jumps.
    periods : array of shape (q,), optional
        The period of each coordinate that is a circle; NaN or infinite for the others.
    least_density : float
        The constraint p(z_i) >= least_density K(0) / ∫ K.
    tuning : PassTuning
        Sizes of blocks and lists.

    References
    ----------
    Equations 10, 13 and 29 to 36 of [Meinicke2005]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.problem import LatentProblem
    >>> from mercer.manifolds.ukr.targets import data_targets
    >>> z = np.linspace(0, 3, 7)[:, None]
    >>> problem = LatentProblem(data_targets(np.hstack([np.cos(z), np.sin(z)])), "quartic")
    >>> value, gradient = problem.value_and_gradient(z)
    >>> print(f"{value:.4f}", gradient.shape, problem.value(0 * z) > value, problem.check(z, [value]).holds())
    0.0807 (7, 1) True True
    """

    targets: Targets
    density_kernel: DensityKernel = field(default_factory=GaussianDensity)
    n_excluded: int = 0
    periods: Array | None = None
    least_density: float = 0.0
    tuning: PassTuning = PASSES

    def __post_init__(self) -> None:
        name = type(self).__name__
        vars(self)["density_kernel"] = density_kernel_of(self.density_kernel, name)
        if check_count(self.n_excluded, "n_excluded", name, least=0) > self.targets.n_rows - 2:
            raise ValueError(
                f"n_excluded of {name} must be at most {self.targets.n_rows - 2} for {self.targets.n_rows} rows, "
                f"got {self.n_excluded!r}; leave some other row in."
            )
        if self.periods is not None:
            vars(self)["periods"] = np.asarray(self.periods, dtype=np.float64)
            if (vars(self)["periods"] <= 0.0).any():
                raise ValueError(
                    f"periods of {name} must be > 0, or nan or inf for intervals, got {self.periods!r}; "
                    "give lengths in units of the kernel's width."
                )

    @property
    def density(self) -> LatentDensity:
        """The density of latent points, and the weights of rows."""
        return LatentDensity(self.density_kernel, self.periods)

    def evaluator(self) -> PairEvaluator:
        """An evaluator that has seen no points."""
        return PairEvaluator(self)

    def check(self, Z: Any, history: Sequence[float] = ()) -> LatentCheck:
        """Value and constraints at latent points by all pairs and the profile of the kernel, in O(N² (d + q)) time.

        Parameters
        ----------
        Z : array of shape (N, q)
            Latent points.
        history : sequence of float
            Values that are claimed; the last one is that of the points.
        """
        U = self.density.unrolled(Z)

        def of_block(rows: Array) -> tuple[Array, Array, Array]:
            squares = np.sum((U[rows, None] - U) ** 2, axis=2)
            totals = self.density_kernel.profile(squares).sum(axis=1)
            squares[np.arange(len(rows)), rows] = np.inf
            if self.n_excluded:
                radii = np.partition(squares, self.n_excluded - 1, axis=1)[:, self.n_excluded - 1] * TIE
                left = (squares > radii[:, None]) & np.isfinite(squares)
                squares[~left & left.any(axis=1, keepdims=True)] = np.inf
            isolated = squares.min(axis=1) >= self.density_kernel.reach**2
            return self.targets.errors_of(self.density_kernel.relative(squares), rows), totals, isolated

        rows = ArrayRows(np.arange(len(U)), height=max(1, self.tuning.checked // len(U)))
        errors, totals, isolated = rows.map(of_block)
        value, least = float(errors.mean()), float(totals.min() / len(U))
        claimed = history[-1] if len(history) else value
        deviation = abs(value - claimed) / max(value, np.finfo(np.float64).tiny)
        monotone = bool(np.all(np.diff(history) <= 0.0))
        return LatentCheck(
            value, deviation, monotone, int(isolated.sum()), least, least >= self.least_density * (1 - 1e-9)
        )


class PairEvaluator:
    """Evaluates a `LatentProblem`; keeps the latest evaluation, since optimisers ask for errors after a gradient."""

    def __init__(self, problem: LatentProblem):
        self._density = problem.density
        self._units = None if problem.periods is None else LatentUnits(problem.periods)
        self._pairs = problem.density_kernel.pairs(problem.targets, problem.n_excluded, problem.tuning)
        self._latest: tuple[Array, Evaluation] | None = None

    def value(self, Z: Any) -> float:
        """R at latent points (N, q)."""
        return float(self.errors(Z).mean())

    def errors(self, Z: Any) -> Array:
        """||y_s - f_s||² of each row."""
        return self._evaluation(Z, with_gradient=False).errors.copy()

    def isolated(self, Z: Any) -> Array:
        """Which rows have no other row that counts within reach of the kernel."""
        return self._evaluation(Z, with_gradient=False).isolated.copy()

    def value_and_gradient(self, Z: Any, n_threads: int | None = None) -> tuple[float, Array]:
        """R and its derivatives by Z."""
        evaluation = self._evaluation(Z, with_gradient=True, n_threads=n_threads)
        assert evaluation.gradient is not None
        gradient = evaluation.gradient * (2.0 / len(Z))
        return float(evaluation.errors.mean()), gradient if self._units is None else self._units.along(Z, gradient)

    def _evaluation(self, Z: Any, *, with_gradient: bool, n_threads: int | None = None) -> Evaluation:
        U = self._density.unrolled(Z)
        if self._latest is not None:
            points, evaluation = self._latest
            if np.array_equal(points, U) and (evaluation.gradient is not None or not with_gradient):
                return evaluation
        evaluation = self._pairs.run(U, with_gradient=with_gradient, n_threads=n_threads)
        self._latest = U, evaluation
        return evaluation
