"""What methods have in common that optimise a block of variables at a time and keep products in single precision."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from mercer.problems import Iterate, KernelProgram
from mercer.solvers.result import Options, Solver, SolverResult, Status
from mercer.threads import single_threaded_numpy

Array = NDArray[Any]

# The gap must fall to this share of itself, or the dual value rise by this share of the gap that is wanted, within the
# rounds that `Watch` waits: near the solution the dual value has much less left to rise than the gap has to fall.
_FALLS, _RISES = 0.99, 1e-3
# A dual value that rises by less than this share of the gap will never close it.
_HOPELESS = 1e-7
# Rounding may let the dual value rise and fall for ever: a record must be broken within so many times those rounds.
_WITHOUT_RECORD = 10
# No dual value is above a primal one; by so many times the least of these it is nothing but errors.
_BEYOND_DOUBT = 10.0


class State(Protocol):
    """Where a method stands.

    Attributes
    ----------
    B, d : array
        The solution so far, feasible for the dual program.
    iterate : Iterate
        Values of the two programs, as far as they are known.
    exact : bool
        Whether they were computed in double precision from B and d.
    """

    d: Array
    iterate: Iterate
    exact: bool

    @property
    def B(self) -> Array:
        """The variables."""

    @property
    def doubtful(self) -> bool:
        """Whether errors may matter."""

    def improve(self) -> None:
        """One round."""

    def refine(self) -> None:
        """Make everything exact."""

    def go_back(self, B: Array, d: Array) -> None:
        """Take an earlier solution, exactly."""


class Watch:
    """Tells when rounds lead nowhere: first the state is made exact, and if that does not help, they are stalled.

    Parameters
    ----------
    every : int
        Number of rounds that may pass without a gain.
    tol : float
        The relative gap that is wanted.
    """

    def __init__(self, every: int, tol: float):
        self._every, self._tol = every, tol
        self._seen: list[Iterate] = []
        self._least_gap = float("inf")
        self._highest_dual, self._n_since_record = -float("inf"), 0
        self._least_primal = float("inf")
        self.tired = False
        self.stalled = False

    def is_lost(self, iterate: Iterate) -> bool:
        """Whether errors have led to values that no solution has."""
        self._least_primal = min(self._least_primal, iterate.primal)
        return iterate.dual - self._least_primal > _BEYOND_DOUBT * abs(self._least_primal)

    def look(self, iterate: Iterate) -> None:
        """Take notice of one round."""
        self._seen.append(iterate)
        self._count_from_record(iterate)
        if len(self._seen) <= self._every:
            return
        gap = min(seen.gap for seen in self._seen)
        wanted = min(gap, self._tol * max(abs(iterate.primal), iterate.floor))
        rises = iterate.dual - self._seen[0].dual > max(_RISES * wanted, _HOPELESS * gap)
        gains = (rises or gap < _FALLS * self._least_gap) and self._n_since_record <= _WITHOUT_RECORD * self._every
        self.stalled = self.tired and not gains
        self.tired = not gains
        self._least_gap = min(gap, self._least_gap)
        self._seen = [iterate]

    def _count_from_record(self, iterate: Iterate) -> None:
        self._n_since_record += 1
        if iterate.dual > self._highest_dual + _HOPELESS * iterate.gap or iterate.gap < _FALLS * self._least_gap:
            self._highest_dual, self._n_since_record = max(iterate.dual, self._highest_dual), 0


class Decomposition(Solver):
    """The loop: improve, and claim success only after everything was computed again in double precision."""

    needs_matrix = False

    @abstractmethod
    def _start(self, problem: KernelProgram, options: Options) -> State:
        """The state before the first round."""

    @abstractmethod
    def _limits(self, problem: KernelProgram) -> tuple[int, int]:
        """Number of rounds that are more than enough, and number of rounds that may pass without a gain."""

    def _solve(self, problem: KernelProgram, options: Options) -> SolverResult:
        # Matrices beyond the range of single precision make numbers that are not finite, and a "stalled" result.
        with single_threaded_numpy, np.errstate(over="ignore", invalid="ignore"):
            return self._run(problem, options)

    def _run(self, problem: KernelProgram, options: Options) -> SolverResult:
        history: list[Iterate] = []
        status: Status = "max_iter"
        enough, patience = self._limits(problem)
        max_iter = enough if options.max_iter is None else options.max_iter
        watch = Watch(patience, options.tol)
        state = self._start(problem, options)
        best: tuple[Array, Array, Iterate] | None = None
        went_back = False
        progress = tqdm(desc=self.name, unit="block", disable=not options.verbose)
        try:
            for iteration in range(max_iter + 1):
                if watch.is_lost(state.iterate) and best is not None:
                    if went_back:
                        status = "stalled"
                        break
                    state.go_back(*best[:2])
                    went_back = True
                watch.look(state.iterate)
                if not state.exact and (state.iterate.relative_gap <= options.tol or state.doubtful or watch.tired):
                    state.refine()
                history.append(state.iterate)
                best = _better(best, state)
                progress.set_postfix(gap=f"{state.iterate.relative_gap:.1e}")
                if state.exact and abs(state.iterate.relative_gap) <= options.tol:
                    status = "optimal"
                elif watch.stalled:
                    status = "stalled"
                elif options.callback is not None and options.callback(iteration, state.iterate):
                    status = "interrupted"
                if status != "max_iter" or iteration == max_iter:
                    break
                state.improve()
                progress.update()
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            progress.close()
        if not state.exact:
            state.refine()
        best = None if status == "optimal" else best  # the last is as good as was asked for
        B, d, iterate = _better(best, state) or (state.B, state.d, state.iterate)
        history[-1:] = [iterate]
        return SolverResult(status, B, d, iterate.primal, iterate.dual, len(history) - 1, history)


def _better(best: tuple[Array, Array, Iterate] | None, state: State) -> tuple[Array, Array, Iterate] | None:
    """The exact solution with the smaller gap: rounding may lead away from a good one."""
    if state.exact and (best is None or abs(state.iterate.relative_gap) < abs(best[2].relative_gap)):
        return state.B.copy(), state.d.copy(), state.iterate
    return best


def checked_block(solver: Solver, block: Any) -> int:
    """The number of samples in a block."""
    if isinstance(block, bool) or not isinstance(block, Integral) or block < 2:
        raise ValueError(
            f"block of {type(solver).__name__} must be a whole number > 1, got {block!r}; it is the number of samples "
            "that are optimised together."
        )
    return int(block)
