"""What a fit of a manifold is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.arrays import Array
from mercer.losses.rows import RowLoss
from mercer.manifolds.latent.maps import LatentMap
from mercer.running import Status


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
    status : Status
        How it ended.
    penalty : float
        λ; NaN where nothing was penalised.
    cost : RowLoss
        c.
    kind : {"manifold", "pca", "mean"}
        A penalised map, an affine map of principal components, or a constant one.
    """

    map: LatentMap
    Z: Array
    costs: Array
    objective: float
    history: list[float]
    n_iter: int
    status: Status
    penalty: float
    cost: RowLoss
    kind: str = "manifold"


Callback = Callable[[int, ManifoldFit], Any]
