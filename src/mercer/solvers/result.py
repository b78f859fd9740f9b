"""What every solver takes and gives back."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.parameters import check_callback
from mercer.problems import Certificate, Iterate, KernelProgram
from mercer.running import Iterates, Run, Status, Stopping, run, unless_interrupted
from mercer.solvers.certified import certified
from mercer.solvers.parametric import free_fit

# Share of the tolerance to which an algorithm goes on if rounding is in the way of the certificate.
_SMALLER = 0.1


@dataclass(frozen=True)
class SolverResult:
    """A solution, how it was reached, and how good it is.

    Attributes
    ----------
    status : Status
        "stalled": rounding, or what a low-rank matrix leaves out, is in the way of the tolerance.
    B, d : array
        Dual variables, and coefficients of the columns. Either may start another solver on a similar problem.
    primal, dual, gap : float
        Values of the two programs.
    n_iter : int
        Number of iterations.
    history : list of Iterate
        Values at the start of every iteration and at the end.
    certificate : Certificate, optional
        That of B and d, computed by `Solver.solve` when the algorithm had ended: status and values follow it.
    """

    status: Status
    B: Array
    d: Array
    primal: float
    dual: float
    n_iter: int
    history: list[Iterate] = field(default_factory=list)
    certificate: Certificate | None = None

    @property
    def gap(self) -> float:
        """Difference of the primal and the dual value."""
        return self.primal - self.dual


class Solver(ABC):
    """An algorithm for some kernel programs.

    Attributes
    ----------
    name : str
        What users call it.
    needs_matrix : bool
        Whether the Gram matrix (or its factor) must be an array; else it may be an operator.
    reaches_rounding : bool
        Whether the last digits cost little.
    """

    name: ClassVar[str]
    needs_matrix: ClassVar[bool] = True
    reaches_rounding: ClassVar[bool] = False

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters.values()
        changed = [p.name for p in parameters if getattr(self, p.name) != p.default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _result(
        self, status: Status, problem: KernelProgram, B: Array, d: Array, n_iter: int, options: Options
    ) -> SolverResult:
        """The result of a direct method, which has no history but its end."""
        iterate = problem.iterate(B, d)
        if options.callback is not None:
            options.callback(0, iterate)
        return SolverResult(status, B, d, iterate.primal, iterate.dual, int(n_iter), [iterate])

    def n_matrices(self, problem: KernelProgram) -> int:
        """How many n x n matrices of numbers in double precision are in memory at once, that of the program included.

        Counted as the peak of memory over 8 n², with n some thousand; see `benchmarks/machines_scale.py memory`.
        """
        return 0

    @abstractmethod
    def refusal(self, problem: KernelProgram) -> str | None:
        """Why this solver cannot take the problem; None if it can."""

    @abstractmethod
    def _solve(self, problem: KernelProgram, options: Options) -> SolverResult:
        """Solve a problem that was not refused."""

    def solve(
        self,
        problem: KernelProgram,
        *,
        start: SolverResult | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        callback: Callable[[int, Iterate], object] | None = None,
        verbose: bool = False,
        memory: int = 2**30,
    ) -> SolverResult:
        """Solve a kernel program.

        Parameters
        ----------
        problem : KernelProgram
            The program.
        start : SolverResult, optional
            Solution of a similar program to start from.
        tol : float
            Relative gap (primal - dual) / primal to reach.
        max_iter : int, optional
            Largest number of iterations; by default what the solver thinks is more than enough.
        callback : callable, optional
            Called as ``callback(iteration, iterate)``; if it returns True, the solver stops there.
        verbose : bool
            Whether to show a progress bar.
        memory : int
            Bytes for columns of the Gram matrix that are kept, where that is faster than computing them again.
        """
        check_options(tol, max_iter, f"solver {self.name!r}", callback)
        reason = self.refusal(problem)
        if reason is not None:
            raise ValueError(f"solver {self.name!r} cannot solve this problem: {reason}.")
        options = Options(start, tol, max_iter, callback, verbose, memory)
        d = free_fit(problem)
        if d is None:
            result = self._solve_centred(problem, options)
        else:
            result = self._result(Status.OPTIMAL, problem, np.zeros(len(problem.y)), d, 0, options)
        return unless_interrupted(
            lambda: self._certified(problem, result, options), lambda: replace(result, status=Status.INTERRUPTED)
        )

    def _certified(self, problem: KernelProgram, result: SolverResult, options: Options) -> SolverResult:
        """The result with its certificate; if rounding is in the way of that, one for a smaller tolerance."""
        final = certified(problem, result, options.tol)
        if not (final.status == Status.STALLED and result.status == Status.OPTIMAL):
            return final
        # Rounding takes a part of the tolerance, which the algorithm did not know of.
        left = None if options.max_iter is None else max(0, options.max_iter - result.n_iter)
        more = replace(options, start=result, tol=_SMALLER * options.tol, max_iter=left)
        again = self._solve_centred(problem, more)
        n_iter, history = result.n_iter + again.n_iter, result.history[:-1] + again.history
        again = certified(problem, replace(again, n_iter=n_iter, history=history), options.tol)
        return again if again.status == Status.OPTIMAL else final

    def _solve_centred(self, problem: KernelProgram, options: Options) -> SolverResult:
        """Solve for what the parametric fit leaves of the targets: where they are far from zero it has more digits."""
        if problem.loss.classification or np.any(problem.target) or not problem.parametric_fit.any():
            return self._solve(problem, options)
        shift, rest = _centred(problem)
        start = options.start if options.start is None else replace(options.start, d=options.start.d - shift)
        result = self._solve(replace(problem, y=rest), replace(options, start=start))
        return replace(result, d=result.d + shift)


def _centred(problem: KernelProgram) -> tuple[Array, Array]:
    """The parametric fit, and the targets less its values: those of the first program of a path serve all others.

    Solvers recognise the targets of a path by their identity. Any shift is right, as long as it belongs to the targets.
    """
    kept: list[tuple[Array, Array, Array]] = problem.kept.setdefault("centred", [])
    for y, shift, rest in kept:
        if y is problem.y:
            return shift, rest
    kept.append((problem.y, problem.parametric_fit, problem.y - problem.columns @ problem.parametric_fit))
    return kept[-1][1:]


@dataclass(frozen=True)
class Options:
    """The options of `Solver.solve`."""

    start: SolverResult | None
    tol: float
    max_iter: int | None
    callback: Callable[[int, Iterate], object] | None
    verbose: bool
    memory: int

    def run(self, iterates: Iterates[Iterate], name: str, most: int) -> Run[Iterate]:
        """Drive an algorithm, whose steps have the values of both programs as their state, for `most` steps or less."""
        stopping = Stopping(max_iter=most if self.max_iter is None else self.max_iter, verbose=self.verbose)
        return run(iterates, stopping, name, tell=self.callback, shows="gap")


def check_options(tol: Any, max_iter: Any, owner: str, callback: Any = None) -> None:
    """Refuse tolerances and numbers of iterations that mean nothing, and callbacks that cannot be called."""
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 < float(tol) < float("inf"):
        raise ValueError(f"tol of {owner} must be a number > 0, got {tol!r}; it is the relative gap to reach.")
    if max_iter is not None and (isinstance(max_iter, bool) or not isinstance(max_iter, Integral) or max_iter < 0):
        raise ValueError(f"max_iter of {owner} must be a whole number >= 0, got {max_iter!r}; or None.")
    check_callback(callback, owner, "the iteration and the values of both programs")
