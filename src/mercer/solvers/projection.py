"""Conditionally positive kernels: the same program with a positive semi-definite matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.gram import FormedMatrix
from mercer.problems import KernelProgram


class Projected:
    """A kernel program with K replaced by (1 - P) K (1 - P), P the projection onto the unpenalised columns Φ.

    On ΦᵀB = 0 the quadratic forms agree and KB + Φd = K̃B + Φd̃ with d̃ = d + Φ⁺KB: forgetting the shift gives plausible,
    wrong answers. On ΦᵀB = t the part b = PB = Φ⁺ᵀt is fixed: with y - Kb + PKb/2 in place of y, d̃ = d + Φ⁺K(B - b/2)
    gives the same residuals and the same values of both programs. Matrices that are positive semi-definite as they are,
    low-rank factors among them, are left alone.
    """

    def __init__(self, problem: KernelProgram):
        self.original = problem
        self._free = problem.bounds == 0
        self._pseudoinverse: Array | None = None
        self.problem = problem
        formed = problem.gram.formed
        if formed is not None and problem.conditional:
            Phi = problem.columns[:, self._free]
            self._pseudoinverse = np.linalg.pinv(Phi)
            K = formed - Phi @ (self._pseudoinverse @ formed)
            K = K - (K @ self._pseudoinverse.T) @ Phi.T
            self._fixed = self._pseudoinverse.T @ np.broadcast_to(problem.target, len(self._free))[self._free]
            of_fixed = problem.gram @ self._fixed
            y = problem.y - of_fixed + Phi @ (self._pseudoinverse @ of_fixed) / 2
            self.problem = replace(problem, gram=FormedMatrix((K + K.T) / 2), y=y, conditional=False)

    def from_original(self, start: Any) -> tuple[Array, Array]:
        """B and d of a solution of the original program, for the projected one."""
        return start.B, self._shifted(start.B, start.d, +1.0)

    def to_original(self, B: Array, d: Array) -> tuple[Array, Array]:
        """B and d of a solution of the projected program, for the original one."""
        return B, self._shifted(B, d, -1.0)

    def _shifted(self, B: Array, d: Array, direction: float) -> Array:
        if self._pseudoinverse is None:
            return d
        d = d.copy()
        d[self._free] += direction * (self._pseudoinverse @ (self.original.gram @ (B - self._fixed / 2)))
        return d
