"""What the method makes of a matrix alone: programs that differ in their weights share it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.gram import Columns, Gram, columns_of, shifted_columns_of
from mercer.problems import KernelProgram
from mercer.solvers.smo.axis import leading_axis
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.halves import LEAST_DIVIDED

Array = NDArray[Any]

# Between how many samples entries are looked at, and how near to their mean they are in a matrix that hardly varies.
_N_SAMPLES, _NEAR = 64, 0.25


class Workspace:
    """Columns of a matrix, an order of its samples, and memory that was used before, which costs less than fresh one.

    Attributes
    ----------
    gram, memory : object, int
        What it was made of.
    columns : Columns
        Products with some columns of the matrix. If the matrix hardly varies, a constant is taken from its blocks: with
        ΣB = 0 it does not matter to the program, but to the digits that single precision keeps.
    size : float
        That of the largest entries of blocks, beside those of the matrix.
    axis : array of shape (n,)
        A number for each sample, such that near samples have near ones.
    system : FreeSystem
        Solves for Newton steps.
    """

    def __init__(self, gram: Any, n: int, memory: int, *, paired: bool):
        self.gram, self.memory = gram, memory
        shift, self.size = _constant_part(gram, n) if paired else (0.0, 1.0)
        self.columns: Columns = shifted_columns_of(gram, shift) if shift else columns_of(gram, memory)
        self.axis = leading_axis(self.columns, n) if n >= LEAST_DIVIDED else np.zeros(n)
        self.system = FreeSystem(self.size * self.columns.precision, shift)


def _constant_part(gram: Any, n: int) -> tuple[float, float]:
    """The mean entry of a matrix, from a sample, if all are near; and how far away they are, in units of it."""
    some = np.unique(np.linspace(0, n - 1, _N_SAMPLES).astype(np.intp))
    K = np.asarray(gram.block(some, some) if isinstance(gram, Gram) else gram[np.ix_(some, some)], dtype=np.float64)
    mean = float(K.mean())
    size = float(np.abs(K - mean).max()) / abs(mean) if mean else np.inf
    return (mean, size) if size < _NEAR else (0.0, 1.0)


def workspace_of(problem: KernelProgram, memory: int) -> Workspace:
    """The workspace of a program, or of another one with the same matrix; kept columns take at most `memory` bytes."""
    kept: Workspace | None = problem.kept.get("smo")
    if kept is None or kept.gram is not problem.gram or kept.memory != memory:
        paired = bool(problem.columns.any())
        kept = problem.kept["smo"] = Workspace(problem.gram, len(problem.y), memory, paired=paired)
    return kept
