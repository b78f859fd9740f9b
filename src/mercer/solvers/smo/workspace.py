"""What the method makes of a matrix alone: programs that differ in their weights share it."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from mercer.kernels.gram import GramMatrix, columns_of, shifted_columns_of
from mercer.problems import KernelProgram
from mercer.solvers.smo.axis import leading_axis
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.tuning import TUNING, Tuning

# Between how many samples entries are looked at, and how near to their mean they are in a matrix that hardly varies.
_N_SAMPLES, _NEAR = 64, 0.25


class Workspace:
    """Columns of a matrix, an order of its samples, and memory that was used before, which costs less than fresh one.

    Attributes
    ----------
    gram, memory, tuning : GramMatrix, int, Tuning
        What it was made of.
    columns : Columns
        Products with some columns of the matrix.
    axis : array of shape (n,)
        A number for each sample, such that near samples have near ones.
    system : FreeSystem
        Solves for Newton steps.
    size : float
        How large entries of blocks are, beside those of the matrix.
    """

    def __init__(self, gram: GramMatrix, n: int, memory: int, tuning: Tuning):
        self.gram, self.memory, self.tuning, self.size = gram, memory, tuning, 1.0
        self.columns = columns_of(gram, memory)
        self.axis = leading_axis(self.columns, n) if n >= tuning.least_divided else np.zeros(n)
        self.system = FreeSystem(self.columns.precision, tuning=tuning)

    @cached_property
    def without_constant(self) -> Workspace | None:
        """The same for a matrix that hardly varies, such as that of a wide kernel, less a constant; None for others.

        With ΣB = 0 the constant does not matter to the program, but to the digits that single precision keeps.
        """
        n, gram = len(self.axis), self.gram
        some = np.unique(np.linspace(0, n - 1, _N_SAMPLES).astype(np.intp))
        K = np.asarray(gram.block(some, some), dtype=np.float64)
        shift = float(K.mean())
        size = float(np.abs(K - shift).max()) / abs(shift) if shift else np.inf
        if size >= _NEAR:
            return None
        twin = copy(self)
        twin.columns, twin.size = shifted_columns_of(gram, shift), size
        twin.system = FreeSystem(size * twin.columns.precision, shift, self.tuning)
        twin.__dict__["without_constant"] = None  # it is
        return twin


def workspace_of(problem: KernelProgram, memory: int, tuning: Tuning = TUNING) -> Workspace:
    """The workspace of a program, or of another one with the same matrix; kept columns take at most `memory` bytes."""
    kept: Workspace | None = problem.kept.get("smo")
    if kept is None or kept.gram is not problem.gram or (kept.memory, kept.tuning) != (memory, tuning):
        kept = problem.kept["smo"] = Workspace(problem.gram, len(problem.y), memory, tuning)
    return kept
