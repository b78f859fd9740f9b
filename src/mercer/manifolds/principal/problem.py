"""The problem of principal manifolds as data: R_reg, and a check of fits that trusts no solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.losses.rows import RowLoss, SquaredRows, as_row_loss
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.adaptation import Adaptation
from mercer.manifolds.principal.projection import project
from mercer.regularizers.maps import MapNorm, MapPenalty, as_map_penalty

if TYPE_CHECKING:
    from mercer.manifolds.principal.result import ManifoldFit


@dataclass(frozen=True)
class FitCheck:
    """What a fit is worth, computed from its map and its places alone.

    Attributes
    ----------
    value : float
        R_reg.
    claimed : float
        The objective that the fit states.
    adapted, projected : float
        R_reg after another adaptation of the map, and after another projection of the rows. Neither is larger where the
        cost is smooth, and at a stationary point both are equal to it.
    """

    value: float
    claimed: float
    adapted: float
    projected: float

    @property
    def error(self) -> float:
        """Relative error of what the fit states."""
        return abs(self.claimed - self.value) / max(abs(self.value), np.finfo(np.float64).tiny)

    @property
    def gain(self) -> float:
        """Relative gain of the better one of the two half-steps."""
        return (self.value - min(self.adapted, self.projected)) / max(abs(self.value), np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class ManifoldProblem:
    """Minimise R_reg = 1/m Σ_i min_z c(x_i, f(z)) + λ Ω(f) over the maps f of a basis.

    Parameters
    ----------
    rows : Rows
        The data x_i.
    basis : LatentBasis
        The functions that f is made of.
    penalty : float
        λ.
    cost : RowLoss
        c.
    regularizer : MapPenalty
        Ω; the features of the basis must be those that it is stated for.

    Examples
    --------
    >>> from mercer.datasets import make_arc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import LatentBasis, LatentSpace, ManifoldProblem, Rows, fit_manifold
    >>> X, t = make_arc(200, angle=4.0, noise=0.1, random_state=0)
    >>> problem = ManifoldProblem(Rows(X), LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), (7,)), penalty=1e-3)
    >>> check = problem.check(fit_manifold(X, t[:, None] / 2 - 1, problem.basis, problem.penalty))
    >>> check.error < 1e-9, 0 <= check.gain < 1e-3
    (True, True)
    """

    rows: Rows
    basis: LatentBasis
    penalty: float
    cost: RowLoss = field(default_factory=SquaredRows)
    regularizer: MapPenalty = field(default_factory=MapNorm)

    def __post_init__(self) -> None:
        if self.basis.whitened != self.regularizer.whitened:
            raise ValueError(
                f"basis of ManifoldProblem must have whitened={self.regularizer.whitened} for {self.regularizer!r}, "
                f"got {self.basis.whitened}; make it so, or take another regularizer."
            )

    @classmethod
    def of(cls, X: Any, basis: LatentBasis, penalty: float, cost: Any = "squared", regularizer: Any = None) -> Any:
        """A problem from rows or an array, and from short forms; by default Ω is half the norm that the basis has."""
        rows = X if isinstance(X, Rows) else Rows(X)
        regularizer = ("rkhs" if basis.whitened else "l2") if regularizer is None else regularizer
        return cls(rows, basis, penalty, as_row_loss(cost), as_map_penalty(regularizer))

    def value(self, f: LatentMap, Z: Array) -> float:
        """R_reg of a map with rows at places that are given, by the kernel itself."""
        costs = [
            self.cost.of_residuals(self.rows.residuals(block, f(Z[block])))
            for block in self.rows.blocks(len(f.basis.nodes))
        ]
        norm = self.regularizer.of_map(f.alpha, f.basis.kernel(f.basis.nodes))
        return float(np.concatenate(costs).mean()) + self.penalty * norm

    def check(self, fit: ManifoldFit) -> FitCheck:
        """Compute again what a fit states, and whether a half-step would better it."""
        adapted = Adaptation(self.rows, self.basis, self.penalty, self.regularizer).solve(fit.Z, self.cost, fit.map)
        Z = project(self.rows, fit.map, cost=self.cost, start=fit.Z).Z
        return FitCheck(
            self.value(fit.map, fit.Z), fit.objective, self.value(adapted, fit.Z), self.value(fit.map, Z)
        )  # fmt: skip
