"""The fit: projection and adaptation in turns, so that the regularized quantization error never rises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from numpy.typing import NDArray
from tqdm import tqdm

from mercer.kernels.blas import single_threaded_blas
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.adaptation import Adaptation
from mercer.manifolds.principal.projection import Projection, project, residuals_at
from mercer.quantizers.costs import Cost, SquaredCost

Array = NDArray[Any]
Status = Literal["optimal", "max_iter", "interrupted"]

# The weight of residuals along the manifold: at first, at least, and how it changes after a success and a failure.
_FIRST_WEIGHT, _LEAST_WEIGHT, _BOLDER, _SHYER = 0.1, 1e-3, 0.3, 10.0
# Steps of a projection between two adaptations, and the gain as a share of the cost that is worth another.
_ROUGHLY: Any = {"n_starts": 1, "max_steps": 15, "tol": 1e-7}
# Gains below the tolerance in a row that end a fit.
_PATIENCE = 3


@dataclass(frozen=True)
class ManifoldFit:
    """A fitted manifold.

    Attributes
    ----------
    map : LatentMap
        f, its nodes (`map.basis.nodes`) and coefficients (`map.alpha`, `map.gamma`).
    Z : array of shape (m, q)
        Projections of the rows.
    costs : array of shape (m,)
        c(x_i, f(ζ_i)).
    objective : float
        R_reg = mean of the costs + penalty of f.
    history : list of float
        R_reg at the start and after each iteration: it never rises.
    n_iter : int
        Number of iterations.
    status : {"optimal", "max_iter", "interrupted"}
        How it ended.
    penalty : float
        λ.
    cost : Cost
        c.
    """

    map: LatentMap
    Z: Array
    costs: Array
    objective: float
    history: list[float]
    n_iter: int
    status: Status
    penalty: float
    cost: Cost


Callback = Callable[[int, ManifoldFit], Any]


def fit_manifold(
    X: Array | Rows,
    start: Array | LatentMap | ManifoldFit,
    basis: LatentBasis,
    penalty: float,
    *,
    cost: Cost | None = None,
    regularizer: str = "rkhs",
    max_iter: int = 200,
    tol: float = 1e-5,
    verbose: bool = False,
    callback: Callback | None = None,
) -> ManifoldFit:
    """Minimise R_reg = 1/m Σ_i min_z c(x_i, f(z)) + λ/2 ||f||² over the maps f of a basis, from a start.

    Each iteration adapts the map with residuals along the manifold weighed by some μ ≤ 1, and projects all rows again.
    If R_reg fell the step is kept and the next one is bolder (smaller μ), else it is taken back and μ grows, as in
    Levenberg's method; at μ = 1 both halves of the iteration decrease R_reg by themselves.

    Parameters
    ----------
    X : array of shape (m, d) or Rows
        Data; NaN are missing entries.
    start : array of shape (m, q), LatentMap or ManifoldFit
        Latent coordinates of the rows, a map (of any basis on the same space) to project them on, or another fit, of
        the same rows or of others: a penalty path is a chain of these.
    basis : LatentBasis
        The functions that f is made of.
    penalty : float
        λ > 0.
    cost : Cost
        By default squared.
    regularizer : {"rkhs", "length", "l2", "l1", "group_l1"}
        See `Adaptation`. "length" is "rkhs" with the kernel `Length`; "l2", "l1" and "group_l1" need a basis that is
        not whitened.
    max_iter : int
        Most iterations.
    tol : float
        The fit ends when three iterations in a row gain less than this share of R_reg.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(n_iter, fit) after each iteration; ends the fit if it returns True.

    Returns
    -------
    ManifoldFit
        Ctrl-C ends the fit, too, with the best map so far. Memory: see `Adaptation`; time is linear in m.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import LatentBasis, LatentSpace, fit_manifold
    >>> t = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([t, t**2])
    >>> basis = LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), sides=(8,))
    >>> fit = fit_manifold(X, t[:, None], basis, penalty=1e-6)
    >>> bool(fit.costs.mean() < 1e-5), all(np.diff(fit.history) <= 0)
    (True, True)
    """
    rows = X if isinstance(X, Rows) else Rows(X)
    with single_threaded_blas:  # once, since to set the limit takes longer than a small product
        state = _State.first(rows, start, basis, penalty, SquaredCost() if cost is None else cost, regularizer)
        return _improved(state, max_iter, tol, verbose, callback)


def fit_path(
    X: Array | Rows, start: Any, basis: LatentBasis, penalties: Sequence[float], **options: Any
) -> list[ManifoldFit]:
    """Fits for several penalties, each of which starts from the one before: falling penalties unfold step by step.

    Ctrl-C ends the path with the fit that it interrupts.
    """
    fits: list[ManifoldFit] = []
    rows = X if isinstance(X, Rows) else Rows(X)
    for penalty in penalties:
        fits.append(fit_manifold(rows, fits[-1] if fits else start, basis, penalty, **options))
        if fits[-1].status == "interrupted":
            break
    return fits


def _improved(state: _State, max_iter: int, tol: float, verbose: bool, callback: Callback | None) -> ManifoldFit:
    """Iterate from a state to the end."""
    weight, small_gains = _FIRST_WEIGHT, 0
    status: Status = "max_iter"
    progress = tqdm(total=max_iter, desc="Principal manifold", disable=not verbose)
    try:
        while len(state.history) <= max_iter:
            new = state.advanced(weight)
            gain = state.objective - new.objective
            if gain >= 0.0:
                state = new
                small_gains = small_gains + 1 if gain <= tol * state.objective else 0
                progress.update()
                if callback is not None and callback(len(state.history) - 1, state.fit("max_iter")):
                    raise KeyboardInterrupt
            if small_gains >= _PATIENCE or (gain < 0.0 and weight == 1.0):
                status = "optimal"
                break
            weight = min(1.0, weight * _SHYER) if gain < 0.0 else max(_LEAST_WEIGHT, weight * _BOLDER)
    except KeyboardInterrupt:
        status = "interrupted"
    finally:
        progress.close()
    return state.finished().fit(status)


@dataclass(frozen=True)
class _State:
    """A map, the projections on it, and its value."""

    rows: Rows
    adaptation: Adaptation
    penalty: float
    cost: Cost
    map: LatentMap
    projection: Projection
    history: tuple[float, ...]

    @classmethod
    def first(cls, rows: Rows, start: Any, basis: LatentBasis, penalty: float, cost: Cost, regularizer: str) -> _State:
        """Adapt a map to the start, and project on it."""
        adaptation = Adaptation(rows, basis, penalty, regularizer)
        if isinstance(start, ManifoldFit):
            start = start.Z if len(start.Z) == len(rows) else start.map
        if isinstance(start, LatentMap):
            start = project(rows, start, **_ROUGHLY).Z
        start = basis.space.inside(start)
        f = adaptation.solve(start, SquaredCost())
        cost = cost.scaled_to(residuals_at(rows, f, start))
        projection = project(rows, f, cost=cost, start=start, **_ROUGHLY)
        state = cls(rows, adaptation, penalty, cost, f, projection, ())
        return replace(state, history=(state.value(projection, f),))

    def value(self, projection: Projection, f: LatentMap) -> float:
        """R_reg."""
        return float(projection.costs.mean()) + self.adaptation.penalty_of(f)

    @property
    def objective(self) -> float:
        """The present R_reg."""
        return self.history[-1]

    def advanced(self, weight: float) -> _State:
        """One iteration; the cost may become sharper."""
        f = self.adaptation.solve(self.projection.Z, self.cost, self.map, tangential=weight)
        cost = self.cost.annealed()
        projection = project(self.rows, f, cost=cost, start=self.projection.Z, **_ROUGHLY)
        return replace(
            self, map=f, projection=projection, cost=cost, history=(*self.history, self.value(projection, f))
        )

    def finished(self) -> _State:
        """Project to the last digit, from several starts."""
        cost = self.cost.exact()
        projection = project(self.rows, self.map, cost=cost, start=self.projection.Z)
        return replace(
            self, projection=projection, cost=cost, history=(*self.history[:-1], self.value(projection, self.map))
        )

    def fit(self, status: Status) -> ManifoldFit:
        """What is handed out."""
        return ManifoldFit(
            self.map, self.projection.Z, self.projection.costs, self.objective, list(self.history),
            len(self.history) - 1, status, self.penalty, self.cost,
        )  # fmt: skip
