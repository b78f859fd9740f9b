"""What solvers need of a program, and what they say if it is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.problems import KernelProgram


@dataclass(frozen=True)
class Need:
    """One condition that a program has to satisfy.

    Attributes
    ----------
    is_met : callable
        is_met(problem) says whether it does.
    words : str
        Why not; ``{loss}`` stands for the loss, ``{solver}`` for the solver to choose instead.
    solver : str
        The one that takes such programs.
    """

    is_met: Callable[[KernelProgram], bool]
    words: str
    solver: str = "interior_point"

    def or_else(self, solver: str) -> Need:
        """The same condition with the advice to choose another solver."""
        return replace(self, solver=solver)


def unmet(problem: KernelProgram, *needs: Need) -> str | None:
    """What to say of the first condition that a program does not satisfy; None if it satisfies all."""
    for need in needs:
        if not need.is_met(problem):
            return need.words.format(loss=repr(problem.loss), solver=f"choose the solver {need.solver!r}")
    return None


IN_MEMORY = Need(
    lambda problem: problem.in_memory,
    "its Gram matrix is an operator that is never formed; choose the solver 'smo' or 'working_set'",
)
QUADRATIC_PENALTY = Need(
    lambda problem: not problem.gram.is_zero and not np.any(problem.bounds > 0), "it has an l1 penalty; {solver}"
)
WHOLE_MATRIX = Need(lambda problem: problem.gram.factor is None, "its matrix is a low-rank factor; {solver}")
SQUARED_LOSS = Need(lambda problem: problem.loss.quadratic, "{loss} is not the squared loss; {solver}")
STRAIGHT_LOSS = Need(lambda problem: problem.loss.piecewise_linear, "{loss} is not piecewise linear; {solver}")
LINES_AND_PARABOLAS = Need(
    lambda problem: problem.loss.piecewise_quadratic,
    "{loss} is not made of lines and parabolas; {solver}",
    "working_set",
)
EQUAL_WEIGHTS = Need(
    lambda problem: not np.any(problem.C_above != problem.C_below), "C differs above and below; {solver}"
)
NO_BUDGET = Need(lambda problem: problem.budget is None, "it has a budget; {solver}")
NO_TARGET = Need(lambda problem: not np.any(problem.target), "its target is not zero; {solver}")
ABSOLUTE_LOSS_OF_BUDGET = Need(
    lambda problem: problem.budget is None or problem.is_absolute,
    "a budget is for the absolute loss, not for {loss}; take Laplace()",
)
