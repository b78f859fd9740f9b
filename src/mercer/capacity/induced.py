"""Classes of functions that come from others: losses of their errors, and functions of a whole space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.capacity.checks import check_norm, check_scale
from mercer.capacity.classes import Functions
from mercer.capacity.deviations import FunctionClass, loss_constants
from mercer.parameters import check_count, is_number

if TYPE_CHECKING:
    from mercer.losses import Loss

# Points per axis of a grid that are tried, from a few to many.
_PER_AXIS = np.unique(np.geomspace(1, 10_000, 60).astype(int))


@dataclass(frozen=True)
class LossClass(Functions):
    """Losses c(y - f(x)) of the functions of a class: ln N(ε) ≤ ln N(ε/C) of the functions, C the largest slope of c.

    Parameters
    ----------
    functions : FunctionClass
        Anything with ``log_covering(scale, n_samples)``.
    loss : Loss
        c.
    loss_range : float
        The largest residual in regression, the largest abs(f(x)) in classification.
    step : float
        Losses that jump, by C̃ at most, satisfy c(r) - c(r') ≤ max(C abs(r - r'), C̃): then C̃, and the cover holds for
        ε ≥ C̃ alone.

    Notes
    -----
    [Smola1998]_, lemma 7.6 and corollary 7.7; its second part asks for ε ≥ C̃/C by mistake.

    Examples
    --------
    >>> from mercer.capacity import FiniteClass, KernelBall, LossClass
    >>> from mercer.losses import Squared
    >>> ball = KernelBall(1.0)
    >>> LossClass(ball, Squared(), 2.0).log_covering(0.4, 100) == ball.log_covering(0.2, 100)
    True
    """

    functions: FunctionClass
    loss: Loss
    loss_range: float = 1.0
    step: float = 0.0

    def __post_init__(self) -> None:
        loss_constants(self.loss, self.loss_range, "LossClass")
        if not is_number(self.step) or self.step < 0:
            raise ValueError(f"step of LossClass must be a number >= 0, got {self.step!r}; 0 if no jumps.")

    def log_covering(self, scale: float, n_samples: int) -> float:
        """Cover of the losses; infinite below the step, where nothing is known."""
        if check_scale(scale, "LossClass", "scale") < self.step:
            return np.inf
        slope, _ = loss_constants(self.loss, self.loss_range, "LossClass")
        return self.functions.log_covering(scale / slope, n_samples)


@dataclass(frozen=True)
class LipschitzDomain(Functions):
    """Functions of norm Λ on a whole cube, when features move by at most c_k times the distance of points.

    ln N(ε) ≤ min over grids of a points of ln N(ε - 2Λ c_k ρ_a) on these, ρ_a = √q g/2 for a grid of side g.

    Parameters
    ----------
    functions : FunctionClass
        Their covers on points, as of `KernelBall`.
    norm : float
        Λ.
    lipschitz : float
        c_k: ‖Φ(z) - Φ(z')‖ ≤ c_k ‖z - z'‖; 1/width for a Gaussian.
    extent : float
        Length of the sides of the cube.
    n_dims : int
        q.

    Notes
    -----
    [Smola2001]_, eq. (88) and (89), with the factor 2. For maps of manifolds, where no points are given.

    Examples
    --------
    >>> from mercer.capacity import KernelBall, LipschitzDomain
    >>> domain = LipschitzDomain(KernelBall(1.0), norm=1.0, lipschitz=2.0, extent=2.0)
    >>> domain.log_covering(0.5) > KernelBall(1.0).log_covering(0.5, 1)
    True
    """

    functions: FunctionClass
    norm: float
    lipschitz: float
    extent: float
    n_dims: int = 1

    def __post_init__(self) -> None:
        check_norm(self.norm, "LipschitzDomain")
        check_scale(self.lipschitz, "LipschitzDomain", "lipschitz")
        check_scale(self.extent, "LipschitzDomain", "extent")
        check_count(self.n_dims, "n_dims", "LipschitzDomain")

    def log_covering(self, scale: float, n_samples: int = 1) -> float:
        """The least over grids; the same for any points."""
        scale = check_scale(scale, "LipschitzDomain", "scale")
        radii = np.sqrt(self.n_dims) * self.extent / (2.0 * _PER_AXIS)
        left = scale - 2 * self.norm * self.lipschitz * radii
        grids = [(int(n) ** self.n_dims, float(e)) for n, e in zip(_PER_AXIS, left, strict=True) if e > 0]
        return min((self.functions.log_covering(e, n) for n, e in grids), default=np.inf)
