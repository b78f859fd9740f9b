"""Which solver for which program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.kernels.gram import FormedMatrix
from mercer.problems import KernelProgram
from mercer.solvers.conjugate_gradients import ConjugateGradients
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.least_squares import LeastSquares
from mercer.solvers.linear_program import LinearProgram
from mercer.solvers.result import Solver
from mercer.solvers.smo import SMO
from mercer.solvers.working_set import WorkingSet

SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (LeastSquares(), LinearProgram(), InteriorPoint(), SMO(), WorkingSet(), ConjugateGradients())
}
# Below this number of samples all solvers take a moment; the direct ones reach rounding and load no compiler.
FEW_SAMPLES = 500
# Up to this number the interior point's Cholesky factorisations take less time than blocks of it.
MANY_SAMPLES = 3_000
# With a budget steps on pairs are so many times slower where samples move the function far.
_SLOWER_WITH_BUDGET = 5
# Below this gap the last digits of an iterative method cost more than a few factorisations.
_TIGHT = 1e-6
# Weights of samples that differ by more than this factor slow steps on pairs down.
_UNEVEN = 1e6


class SolverName(str):
    """The name of a solver; its attribute `reason` says why it was chosen."""

    reason: str

    def __new__(cls, name: str, reason: str) -> SolverName:
        """A name with a reason."""
        self = super().__new__(cls, name)
        self.reason = reason
        return self

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """What a copy is made of."""
        return str(self), self.reason

    def __repr__(self) -> str:
        """Name and reason."""
        return f"{str(self)!r} ({self.reason})"


def choose_solver(name: str | Solver, problem: KernelProgram, *, tol: float = 1e-3, memory: int = 2**30) -> SolverName:
    """The name of the solver that was asked for; for "auto" that of the one that is fastest for such programs.

    The program's matrix may be an operator: solvers that need it in memory are chosen only for few samples, and the
    caller then forms it, which must not take more than `memory` bytes. The numbers of samples and the weights where the
    choice changes are those of `benchmarks/machines_scale.py crossover`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber, Squared
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers import choose_solver
    >>> penalty = RKHSNorm().penalty(np.eye(3), np.ones((3, 1)))
    >>> for loss in (Squared(), Huber()):
    ...     print(repr(choose_solver("auto", KernelProgram.build(penalty, np.arange(3.0), loss, C=1.0))))
    'least_squares' (squared loss, 3 samples)
    'interior_point' (3 samples)
    """
    check_solver_name(name)
    if isinstance(name, Solver):
        return SolverName(name.name, "as asked")
    if name != "auto":
        return SolverName(name, "as asked")
    n = len(problem.y)
    samples = f"{n:,} samples"
    fits = _fits("interior_point", problem, memory)
    few, many = n < FEW_SAMPLES and fits, n > MANY_SAMPLES or not fits
    if _can("least_squares", problem):
        if not many or not _can("conjugate_gradients", problem):
            return SolverName("least_squares", f"squared loss, {samples}")
        return SolverName("conjugate_gradients", f"squared loss, {samples}: no matrix is factored")
    if _can("linear_program", problem) and (_fits("linear_program", problem, memory) or not fits):
        return SolverName("linear_program", "an l1 penalty and a loss of straight lines")
    if not (_can("smo", problem) or _can("working_set", problem)):
        return SolverName("interior_point", "the only one for this regularizer, budget or low-rank factor")
    if few:
        return SolverName("interior_point", samples)
    if not many and tol < _TIGHT:
        return SolverName("interior_point", f"{samples} and a tolerance below {_TIGHT:.0e}")
    if not _can("smo", problem):
        if not many:
            return SolverName("interior_point", samples)
        return SolverName("working_set", f"{samples}: the Gram matrix is not formed")
    weights = problem.relative_weights
    if not many and weights.max() > _UNEVEN * weights.min():
        return SolverName("interior_point", f"{samples} with weights that differ by orders of magnitude")
    reach = problem.reach * (1 if problem.budget is None else _SLOWER_WITH_BUDGET)
    if not many and not problem.loss.classification and reach > n:
        # Steps on pairs then go so far that they take longer than factorisations; classes are separated before that.
        return SolverName("interior_point", f"{samples} of so much weight that they move the function far")
    return SolverName("smo", f"{samples}, a loss of lines and parabolas: the Gram matrix is not formed")


def _fits(name: str, problem: KernelProgram, memory: int) -> bool:
    """Whether the matrices that a solver forms take at most so many bytes."""
    return bytes_of_matrices(SOLVERS[name].n_matrices(problem), len(problem.y)) <= memory


def bytes_of_matrices(n_matrices: int, n: int) -> int:
    """What n x n matrices take in double precision."""
    return 8 * n_matrices * n**2


def _can(name: str, problem: KernelProgram) -> bool:
    """Whether a solver takes the program, once its matrix is where the solver wants it."""
    if SOLVERS[name].needs_matrix and not problem.in_memory:
        problem = replace(problem, gram=FormedMatrix(np.empty((0, 0))))
    return SOLVERS[name].refusal(problem) is None


def check_solver_name(name: Any) -> None:
    """Refuse what is neither a solver nor the name of one."""
    if not isinstance(name, Solver) and (not isinstance(name, str) or name not in ("auto", *SOLVERS)):
        raise ValueError(
            f"solver must be 'auto' or one of {sorted(SOLVERS)}, or a Solver, got {name!r}; choose one of them."
        )
