"""What the method makes of a matrix alone: programs that differ in their weights share it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.gram import columns_of
from mercer.problems import KernelProgram
from mercer.solvers.smo.axis import leading_axis
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.halves import LEAST_DIVIDED

Array = NDArray[Any]


class Workspace:
    """Columns of a matrix, an order of its samples, and memory that was used before, which costs less than fresh one.

    Attributes
    ----------
    gram, memory : object, int
        What it was made of.
    columns : Columns
        Products with some columns of the matrix.
    axis : array of shape (n,)
        A number for each sample, such that near samples have near ones.
    system : FreeSystem
        Solves for Newton steps.
    """

    def __init__(self, gram: Any, n: int, memory: int):
        self.gram, self.memory = gram, memory
        self.columns = columns_of(gram, memory)
        self.axis = leading_axis(self.columns, n) if n >= LEAST_DIVIDED else np.zeros(n)
        self.system = FreeSystem(self.columns.precision)


def workspace_of(problem: KernelProgram, memory: int) -> Workspace:
    """The workspace of a program, or of another one with the same matrix; kept columns take at most `memory` bytes."""
    kept: Workspace | None = problem.kept.get("smo")
    if kept is None or kept.gram is not problem.gram or kept.memory != memory:
        kept = problem.kept["smo"] = Workspace(problem.gram, len(problem.y), memory)
    return kept
