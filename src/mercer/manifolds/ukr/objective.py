"""The error of a kernel regression on latent points, as a function of these, with its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from mercer.manifolds.ukr.gaussian import AllPairs, Evaluation
from mercer.manifolds.ukr.quartic import NeighbourPairs
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.units import LatentUnits
from mercer.parameters import check_choice, check_count

Array = NDArray[Any]

DENSITY_KERNELS = ("gaussian", "quartic")
# Nodes along each circle for the integral of the quartic kernel, and squared radii from where circles are like lines.
_NODES, _LARGE = 100, 1e8


class LatentObjective:
    """R(Z) = 1/N Σ_s ||y_s - f_s||², with f_s = Σ_r K(z_r - z_s) y_r / Σ_r K(z_r - z_s) over rows r other than s.

    K is exp(-||z||² / 2), or (1 - ||z||²)² for ||z|| < 1 and 0 beyond: its width is one, and the scale of the latent
    points decides how smooth f is. The quartic kernel is sparse; a row without others within reach is isolated: the
    nearest one takes all the weight, and the gradient knows nothing of it, so that isolated rows should not be allowed.

    A circle of period P enters with its chord, as the circle of radius ρ = P / 2π in the plane: the Gaussian kernel is
    then exp(ρ² (cos(d / ρ) - 1)). This is smooth, which the shorter of the two ways around is not at the far side, and
    differs from exp(-d² / 2) by a factor of 1 + O(d⁴ / ρ²).

    Parameters
    ----------
    targets : Targets
        What is regressed: `data_targets` or `feature_targets`.
    density_kernel : {"gaussian", "quartic"}
        K. The Gaussian takes O(N²) time and O(N) memory, the quartic O(number of pairs within reach) of both.
    n_excluded : int
        0: leave one out. K > 0: the K nearest latent neighbours of row s do not count for f_s either, nor do others as
        near as the last of them, unless nothing else is left. Within a gradient it is fixed who they are: R jumps where
        neighbours change places, and the gradient is that between the jumps.
    periods : array of shape (q,), optional
        The period of each coordinate that is a circle; NaN or infinite for the others.

    References
    ----------
    P. Meinicke, S. Klanke, R. Memisevic and H. Ritter, Principal surfaces from unsupervised kernel regression, 2005:
    equations 10, 13 and 29 to 36.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.objective import LatentObjective
    >>> from mercer.manifolds.ukr.targets import data_targets
    >>> z = np.linspace(0, 3, 7)[:, None]
    >>> objective = LatentObjective(data_targets(np.hstack([np.cos(z), np.sin(z)])), "quartic")
    >>> value, gradient = objective.value_and_gradient(z)
    >>> print(f"{value:.4f}", gradient.shape, objective.value(0 * z) > value)
    0.0807 (7, 1) True
    """

    def __init__(
        self,
        targets: Targets,
        density_kernel: str = "gaussian",
        n_excluded: int = 0,
        periods: Any = None,
    ):
        name = type(self).__name__
        check_choice(density_kernel, DENSITY_KERNELS, "density_kernel", name)
        if check_count(n_excluded, "n_excluded", name, least=0) > targets.n_rows - 2:
            raise ValueError(
                f"n_excluded of {name} must be at most {targets.n_rows - 2} for {targets.n_rows} rows, "
                f"got {n_excluded!r}; leave some other row in."
            )
        self.targets, self.density_kernel, self.n_excluded = targets, density_kernel, n_excluded
        self.periods = None if periods is None else np.asarray(periods, dtype=np.float64)
        if self.periods is not None and (self.periods <= 0.0).any():
            raise ValueError(
                f"periods of {name} must be > 0, or nan or inf for intervals, got {periods!r}; "
                "give lengths in units of the kernel's width."
            )
        self._units = None if self.periods is None else LatentUnits(self.periods)
        self._pairs: AllPairs | NeighbourPairs
        if density_kernel == "gaussian":
            self._pairs = AllPairs(targets, quartic=False, n_excluded=n_excluded)
        else:
            self._pairs = NeighbourPairs(targets, n_excluded=n_excluded)
        self._latest: tuple[Array, Evaluation] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the latest evaluation."""
        return {**vars(self), "_latest": None}

    def value(self, Z: Any) -> float:
        """R at latent points (N, q)."""
        return float(self.errors(Z).mean())

    def errors(self, Z: Any) -> Array:
        """||y_s - f_s||² of each row."""
        return self._evaluation(self._on_circles(Z), with_gradient=False).errors.copy()

    def isolated(self, Z: Any) -> Array:
        """Which rows have no other row that counts within reach of the kernel: never any with the Gaussian one."""
        return self._evaluation(self._on_circles(Z), with_gradient=False).isolated.copy()

    def value_and_gradient(self, Z: Any, n_threads: int | None = None) -> tuple[float, Array]:
        """R and its derivatives by Z, of shape (N, q); on as many threads as BLAS may use by default."""
        evaluation = self._evaluation(self._on_circles(Z), with_gradient=True, n_threads=n_threads)
        assert evaluation.gradient is not None
        gradient = evaluation.gradient * (2.0 / len(Z))
        return float(evaluation.errors.mean()), gradient if self._units is None else self._units.along(Z, gradient)

    def density(self, Znew: Any, Z: Any) -> Array:
        """1/N Σ_r K(z - z_r) at new points, with K divided by its integral over the latent space."""
        Z, Znew = np.asarray(Z), np.asarray(Znew)
        sums = self._pairs.sums(self._on_circles(Znew), self._on_circles(Z))
        return sums / (len(Z) * self.kernel_integral(Z.shape[1]))

    def weights(self, Znew: Any, Z: Any) -> Any:
        """Weights (N, M) of all rows at new points, whose columns sum to one; sparse for the quartic kernel.

        Where no row is within reach, the nearest has weight one.
        """
        return self._pairs.weights(self._on_circles(Znew), self._on_circles(Z)).T

    def kernel_integral(self, n_dims: int) -> float:
        """∫ K over the latent space, of n_dims coordinates, for K(0) = 1."""
        periods = np.empty(0) if self.periods is None else self.periods[np.isfinite(self.periods)]
        radii, p = periods / (2.0 * np.pi), n_dims - len(periods)
        if self.density_kernel == "gaussian":
            # exp(-x) I_0(x) is 1 / √(2πx) to rounding where x is large, and SciPy's is not a number where it is larger.
            x = radii**2
            circles = np.where(x < _LARGE, ive(0, np.minimum(x, _LARGE)), 1.0 / np.sqrt(2.0 * np.pi * x))
            return float((2.0 * np.pi) ** (p / 2) * np.prod(periods * circles))
        # ∫ (a - |u|²)² du over the intervals is a^(2 + p/2) times that for a = 1; the circles are left for quadrature.
        nodes, node_weights = np.polynomial.legendre.leggauss(_NODES)
        a, weights = np.ones(1), np.ones(1)
        for radius in radii:
            end = 2.0 * radius * math.asin(min(1.0, 1.0 / (2.0 * radius)))
            chords = 2.0 * radius * np.sin(end * (nodes + 1.0) / 2.0 / (2.0 * radius))
            a = np.maximum(a[:, None] - chords**2, 0.0).ravel()
            weights = (weights[:, None] * (end * node_weights)).ravel()
        return float(weights @ a ** (2 + p / 2)) * 2.0 * math.pi ** (p / 2) / math.gamma(p / 2 + 3)

    def _evaluation(self, U: Array, *, with_gradient: bool, n_threads: int | None = None) -> Evaluation:
        """Errors and gradient at points, which are kept: optimisers ask for errors where they have had the gradient."""
        if self._latest is not None:
            points, evaluation = self._latest
            if np.array_equal(points, U) and (evaluation.gradient is not None or not with_gradient):
                return evaluation
        evaluation = self._pairs.run(U, with_gradient=with_gradient, n_threads=n_threads)
        self._latest = U, evaluation
        return evaluation

    def _on_circles(self, Z: Any) -> Array:
        """A copy of points in which circles have become circles of planes."""
        Z = np.array(Z, dtype=np.float64, order="C")
        if not np.isfinite(Z).all():
            raise ValueError("Z of LatentObjective must be finite, got nan or inf; take shorter steps.")
        return Z if self._units is None else self._units.unrolled(Z)
