"""The variables and the gradient of the dual objective, which is kept up to date in single precision."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.solvers.smo.products import Products
from mercer.solvers.smo.workspace import Workspace

# Error of the gradient from columns in single precision, in units of the change of B.
_SINGLE = 1e-6


class Gradient:
    """The variables B with the gradient g = KB - y of the dual objective.

    Attributes
    ----------
    B, g, y : array of shape (n,)
        In units of the largest target.
    exact : bool
        Whether g was computed in double precision from B.
    drift, scale : float
        Estimate of the error of g, and the size of g that matters.
    """

    def __init__(self, B: Array, y: Array, products: Products, workspace: Workspace):
        self.B, self.y, self._products = B, y, products
        self.work_with(workspace)
        support = np.flatnonzero(B)
        self.exact = not support.size or products.knows(B)
        self.g = (products.times(B) if self.exact else self._columns.times(support, B[support])) - y
        self.drift = 0.0 if self.exact else self._rounding * float(np.linalg.norm(B))
        self.scale = float(np.abs(y).max()) or float(np.abs(self.g).max())

    def work_with(self, workspace: Workspace) -> None:
        """Take the columns that belong to the matrix."""
        self._columns, self._rounding = workspace.columns, _SINGLE * workspace.size

    def move(self, chosen: Array, B: Array, g: Array) -> None:
        """Give some variables other values, whose gradient is known."""
        change = B - self.B[chosen]
        self.B[chosen], self.g[chosen] = B, g
        moved = np.flatnonzero(change)
        elsewhere = np.ones(len(self.B), dtype=bool)
        elsewhere[chosen] = False
        others = np.flatnonzero(elsewhere)
        self.g[others] += self._columns.times(chosen[moved], change[moved], others)
        self.exact, self.drift = False, float(np.hypot(self.drift, self._rounding * np.linalg.norm(change)))

    def multiply(self, ratio: float) -> None:
        """Multiply the variables: the start of the next stage."""
        self.B *= ratio
        self.g = ratio * (self.g + self.y) - self.y
        self.drift *= ratio

    def refine(self, B: Array) -> None:
        """Take variables, with their gradient in double precision."""
        self.B, self.g = B, self._products.times(B) - self.y
        self.exact, self.drift = True, 0.0
