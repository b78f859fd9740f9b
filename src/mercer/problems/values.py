"""Values of the two programs at a point, and how far apart they are."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.rounding import HOLDS


@dataclass(frozen=True)
class Iterate:
    """Values of the primal and the dual program at one point.

    Attributes
    ----------
    primal, dual : float
        The optimum lies between them if the dual point is feasible.
    floor : float
        The least primal value that the gap is compared with, `KernelProgram.floor`.
    gap : float
        primal - dual.
    relative_gap : float
        gap / max(|primal|, floor): the same in all units of the targets and of the weights.

    Examples
    --------
    >>> from mercer.problems import Iterate
    >>> Iterate(primal=4.0, dual=3.0, floor=0.0).relative_gap
    0.25
    """

    primal: float
    dual: float
    floor: float

    @property
    def gap(self) -> float:
        """Difference of the primal and the dual value."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap in units of the primal value."""
        size = max(abs(self.primal), self.floor)
        if size == 0.0:
            return 0.0 if self.gap == 0.0 else float("inf")
        return self.gap / size


@dataclass(frozen=True)
class Certificate(Iterate):
    """How good a solution is, computed from the program and the solution alone.

    Attributes
    ----------
    primal, dual, floor, gap, relative_gap : float
        As in `Iterate`.
    infeasibility : float
        Largest violation of a dual constraint, relative to its size.
    risk : float
        Mean of the loss over the training rows, with the weights of the program; NaN if it is not known.
    """

    infeasibility: float
    risk: float = float("nan")

    def holds(self, tol: float) -> bool:
        """Whether the solution is optimal and feasible to a relative tolerance."""
        return bool(abs(self.relative_gap) <= tol and self.infeasibility <= max(tol, HOLDS))
