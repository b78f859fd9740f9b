"""Density kernels: what a latent point counts at a distance, and what follows from it for sums over pairs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import ive

from mercer.arrays import Array
from mercer.manifolds.ukr.gaussian import AllPairs, Evaluation, gaussian_sums, gaussian_weights
from mercer.manifolds.ukr.quartic import Cells, NeighbourPairs, quartic_weights
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.tuning import PASSES, PassTuning
from mercer.manifolds.ukr.units import LatentUnits
from mercer.parameters import check_choice

# Nodes along each circle for the integral of the quartic kernel, and squared radii from where circles are like lines.
_NODES, _LARGE = 100, 1e8


class Pairs(Protocol):
    """A pass over pairs of rows, which may keep what the next pass can use."""

    def run(self, U: Array, *, with_gradient: bool, n_threads: int | None = None) -> Evaluation:
        """Errors of the regression on points U, and their gradient."""


class DensityKernel(ABC):
    """K(r), of width one and with K(0) = 1: what a row at the distance r counts in a mean, and in a density.

    Estimators take instances, or short forms. A new kernel is a class here, with its passes over pairs.

    Attributes
    ----------
    name : str
        Short form.
    reach : float
        Distance from which K is zero; infinite if it is positive everywhere.
    gap : float
        Distance at which K is as good as zero: points that are farther apart know nothing of each other.
    cell : float
        Side of cells in which one point may stand for others.
    projection_reach : float
        Distance of training points beyond which one has no weight where another is near enough.
    compact : bool or None
        Which kernel of the compiled projection it is: (1 - r²)² if true, exp(-r² / 2) if false; None if neither, then
        estimators refuse it.
    has_lists : bool
        Whether `ListProblem` has this kernel.
    """

    name: ClassVar[str]
    reach: ClassVar[float]
    gap: ClassVar[float]
    cell: ClassVar[float]
    projection_reach: ClassVar[float]
    compact: ClassVar[bool | None] = None
    has_lists: ClassVar[bool] = False

    @property
    def ends(self) -> bool:
        """Whether points may be out of the reach of all others."""
        return math.isfinite(self.reach)

    @abstractmethod
    def profile(self, squares: Array) -> Array:
        """K at squared distances."""

    def relative(self, squares: Array) -> Array:
        """K at the squared distances of each row, divided by the largest; 1 for the nearest alone where all are 0."""
        K = self.profile(squares)
        largest = K.max(axis=1, keepdims=True)
        nearest = np.arange(squares.shape[1]) == squares.argmin(axis=1)[:, None]
        return np.where(largest > 0.0, K / np.where(largest > 0.0, largest, 1.0), nearest)

    @abstractmethod
    def widening(self, n_dims: int) -> float:
        """How many times as wide K is as a Gaussian whose coordinates have the same variance."""

    @abstractmethod
    def integral(self, n_lines: int, periods: Array) -> float:
        """∫ K over n_lines lines and circles of some periods."""

    @abstractmethod
    def pairs(self, targets: Targets, n_excluded: int, tuning: PassTuning = PASSES) -> Pairs:
        """The pass over pairs of rows for some targets."""

    @abstractmethod
    def weights(self, V: Array, U: Array) -> Any:
        """Weights of all rows at new points, (M, N), sparse or not; rows sum to one."""

    @abstractmethod
    def sums(self, V: Array, U: Array) -> Array:
        """Sums of K over all rows at new points."""


@dataclass(frozen=True)
class GaussianDensity(DensityKernel):
    """K(r) = exp(-r² / 2): O(N²) time for all pairs, O(N) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds import GaussianDensity
    >>> GaussianDensity().profile(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.135])
    """

    name = "gaussian"
    reach = math.inf
    gap = 6.0
    cell = 1.0
    projection_reach = 8.0
    compact = False
    has_lists = True

    def profile(self, squares: Array) -> Array:
        """exp(-r² / 2)."""
        return np.exp(-0.5 * squares)

    def relative(self, squares: Array) -> Array:
        """exp(-(r² - r²_nearest) / 2), which does not vanish far from all."""
        return self.profile(squares - squares.min(axis=1, keepdims=True))

    def widening(self, n_dims: int) -> float:
        """One."""
        return 1.0

    def integral(self, n_lines: int, periods: Array) -> float:
        """(2π)^(p / 2) for p lines, times P exp(-ρ²) I_0(ρ²) for each circle of radius ρ = P / 2π."""
        # exp(-x) I_0(x) is 1 / √(2πx) to rounding where x is large, and SciPy's is not a number where it is larger.
        x = (periods / (2.0 * np.pi)) ** 2
        circles = np.where(x < _LARGE, ive(0, np.minimum(x, _LARGE)), 1.0 / np.sqrt(2.0 * np.pi * x))
        return float((2.0 * np.pi) ** (n_lines / 2) * np.prod(periods * circles))

    def pairs(self, targets: Targets, n_excluded: int, tuning: PassTuning = PASSES) -> AllPairs:
        """All pairs."""
        return AllPairs(targets, quartic=False, n_excluded=n_excluded, tuning=tuning)

    def weights(self, V: Array, U: Array) -> Array:
        """Weights, dense; relative to that of the nearest row, so that none is lost far from all."""
        return gaussian_weights(V, U)

    def sums(self, V: Array, U: Array) -> Array:
        """Sums, in O(M N) time."""
        return gaussian_sums(V, U)


@dataclass(frozen=True)
class QuarticDensity(DensityKernel):
    """K(r) = (1 - r²)² within distance 1 and 0 beyond: time and memory of the pairs within reach, for many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds import QuarticDensity
    >>> QuarticDensity().profile(np.array([0.0, 0.5, 4.0]))
    array([1.  , 0.25, 0.  ])
    """

    name = "quartic"
    reach = 1.0
    gap = 2.0
    cell = 0.25
    projection_reach = 2.0
    compact = True

    def profile(self, squares: Array) -> Array:
        """(1 - r²)², or 0."""
        return np.maximum(1.0 - squares, 0.0) ** 2

    def widening(self, n_dims: int) -> float:
        """√(q + 6)."""
        return math.sqrt(n_dims + 6.0)

    def integral(self, n_lines: int, periods: Array) -> float:
        """By quadrature around the circles: ∫ (a - |u|²)² du over p lines is a^(2 + p/2) times that for a = 1."""
        nodes, node_weights = np.polynomial.legendre.leggauss(_NODES)
        a, weights = np.ones(1), np.ones(1)
        for radius in periods / (2.0 * np.pi):
            end = 2.0 * radius * math.asin(min(1.0, 1.0 / (2.0 * radius)))
            chords = 2.0 * radius * np.sin(end * (nodes + 1.0) / 2.0 / (2.0 * radius))
            a = np.maximum(a[:, None] - chords**2, 0.0).ravel()
            weights = (weights[:, None] * (end * node_weights)).ravel()
        p = n_lines
        return float(weights @ a ** (2 + p / 2)) * 2.0 * math.pi ** (p / 2) / math.gamma(p / 2 + 3)

    def pairs(self, targets: Targets, n_excluded: int, tuning: PassTuning = PASSES) -> NeighbourPairs:
        """Pairs within reach, from lists that are kept while points move little."""
        return NeighbourPairs(targets, n_excluded=n_excluded, tuning=tuning)

    def weights(self, V: Array, U: Array) -> Any:
        """Weights, sparse."""
        return quartic_weights(V, U)

    def sums(self, V: Array, U: Array) -> Array:
        """Sums, in the time of the pairs within reach."""
        return Cells(U, 1.0).sums(V)


DENSITY_KERNELS: dict[str, DensityKernel] = {kernel.name: kernel for kernel in (GaussianDensity(), QuarticDensity())}


def density_kernel_of(kernel: Any, owner: str) -> DensityKernel:
    """The density kernel that a name stands for, or that was given."""
    if isinstance(kernel, DensityKernel):
        return kernel
    return DENSITY_KERNELS[check_choice(kernel, tuple(DENSITY_KERNELS), "density_kernel", owner)]


@dataclass(frozen=True, eq=False)
class LatentDensity:
    """The density of latent points, p(z) = 1/N Σ_r K(z - z_r) / ∫ K, and the weights that rows have at a point.

    A circle of period P enters with its chord, as the circle of radius ρ = P / 2π in the plane: the Gaussian kernel is
    then exp(ρ² (cos(d / ρ) - 1)). This is smooth, which the shorter of the two ways around is not at the far side, and
    differs from exp(-d² / 2) by a factor of 1 + O(d⁴ / ρ²).

    Parameters
    ----------
    kernel : DensityKernel
        K.
    periods : array of shape (q,) or None
        The period of each coordinate that is a circle, infinite for others; None if there is no circle.
    """

    kernel: DensityKernel
    periods: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Kernels by their short forms, which files may hold."""
        named = DENSITY_KERNELS.get(self.kernel.name) == self.kernel
        return {"kernel": self.kernel.name if named else self.kernel, "periods": self.periods}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Older files have the objective that was minimised, whose kernel had a name.
        kernel = state["kernel"] if "kernel" in state else state["density_kernel"]
        vars(self).update(kernel=density_kernel_of(kernel, type(self).__name__), periods=state["periods"])

    def __call__(self, Znew: Any, Z: Any) -> Array:
        """P at new points."""
        Z = np.asarray(Z)
        return self.kernel.sums(self.unrolled(Znew), self.unrolled(Z)) / (len(Z) * self.integral(Z.shape[1]))

    def weights(self, Znew: Any, Z: Any) -> Any:
        """Weights (N, M) of all rows at new points, whose columns sum to one; sparse for kernels that end.

        Where no row is within reach, the nearest has weight one.
        """
        return self.kernel.weights(self.unrolled(Znew), self.unrolled(Z)).T

    def integral(self, n_dims: int) -> float:
        """∫ K over the latent space, of n_dims coordinates, for K(0) = 1."""
        periods = np.empty(0) if self.periods is None else self.periods[np.isfinite(self.periods)]
        return self.kernel.integral(n_dims - len(periods), periods)

    def unrolled(self, Z: Any) -> Array:
        """A copy of points in which circles have become circles of planes."""
        Z = np.array(Z, dtype=np.float64, order="C")
        if not np.isfinite(Z).all():
            raise ValueError("Z of LatentDensity must be finite, got nan or inf; take shorter steps.")
        return Z if self.periods is None else LatentUnits(self.periods).unrolled(Z)
