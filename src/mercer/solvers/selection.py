"""Which solver for which program."""

from __future__ import annotations

from typing import Any

from mercer.problems import KernelProgram
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.least_squares import LeastSquares
from mercer.solvers.linear_program import LinearProgram
from mercer.solvers.result import Solver

# In the order in which "auto" tries them: the most special first.
SOLVERS: dict[str, Solver] = {solver.name: solver for solver in (LeastSquares(), LinearProgram(), InteriorPoint())}


def choose_solver(name: str, problem: KernelProgram) -> Solver:
    """The solver of that name; for "auto" the most special one that does not refuse the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber, Squared
    >>> from typing import Any

    from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers import choose_solver
    >>> penalty = RKHSNorm().penalty(np.eye(3), np.ones((3, 1)))
    >>> for loss in (Squared(), Huber()):
    ...     print(choose_solver("auto", KernelProgram.build(penalty, np.arange(3.0), loss, C=1.0)).name)
    least_squares
    interior_point
    """
    check_solver_name(name)
    if name != "auto":
        return SOLVERS[name]
    refusals = {solver.name: solver.refusal(problem) for solver in SOLVERS.values()}
    for solver in SOLVERS.values():
        if refusals[solver.name] is None:
            return solver
    reasons = "; ".join(f"{solver}: {reason}" for solver, reason in refusals.items())
    raise ValueError(f"No solver can solve this problem: {reasons}.")


def check_solver_name(name: Any) -> None:
    """Refuse names that no solver has."""
    if not isinstance(name, str) or name not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {sorted(SOLVERS)}, got {name!r}; choose one of them.")
