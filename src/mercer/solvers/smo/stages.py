"""Programs with smaller weights, on which a cold start begins: each is the warm start of the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram
from mercer.solvers.smo.box import Box
from mercer.solvers.smo.sums import Sums
from mercer.solvers.smo.tuning import Tuning


@dataclass(frozen=True)
class Stage:
    """A program whose weights are divided, in units of the largest target.

    Attributes
    ----------
    divisor : float
        Of the weights, and so of the solution.
    box : Box
        Bounds of its variables, and what they cost.
    totals : array of shape (2,)
        Their sums, see `Sums`.
    tol : float
        Relative gap to which it is solved.
    """

    divisor: float
    box: Box
    totals: Array
    tol: float


def stages_of(
    problem: KernelProgram, sums: Sums, unit: float, tol: float, tuning: Tuning, *, cold: bool
) -> list[Stage]:
    """The stages of a cold start, and the program itself, which is all that a warm one takes.

    Where C is large, the first blocks fit their own samples with coefficients that the later ones must take back, while
    under a small C the function is formed by all samples together; the solution, multiplied, is a good start.
    """
    reach = problem.reach / tuning.reach if cold else 0.0
    n_stages = int(np.log(reach) / np.log(tuning.ratio)) if reach >= 1.0 else 0
    stages = []
    for power in range(n_stages, 0, -1):
        divisor = tuning.ratio**power
        program = problem.with_weights((problem.C_below / divisor, problem.C_above / divisor))
        stages.append(Stage(divisor, Box(program, unit), sums.totals / unit / divisor, tuning.tol_of_stage))
    return [*stages, Stage(1.0, Box(problem, unit), sums.totals / unit, tol)]
