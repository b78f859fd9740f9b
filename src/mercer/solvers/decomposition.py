"""What methods have in common that optimise a block of variables at a time and keep products in single precision."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.problems import Iterate, KernelProgram
from mercer.running import Iterates, Status, Step
from mercer.solvers.result import Options, Solver, SolverResult
from mercer.threads import single_threaded_numpy

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

    @property
    def B(self) -> Array:
        """The variables."""

    @property
    def exact(self) -> bool:
        """Whether everything is known in double precision."""

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
        enough, patience = self._limits(problem)
        rounds = _Rounds(self._start(problem, options), Watch(patience, options.tol), options.tol)
        status = options.run(rounds.iterates(), self.name, enough).status
        B, d, iterate = rounds.solution(status)
        history = [*rounds.history[:-1], iterate]
        return SolverResult(status, B, d, iterate.primal, iterate.dual, len(history) - 1, history)


class _Rounds:
    """The rounds of a method: their values, and the exact solution with the smallest gap.

    Rounding may lead away from a good one.
    """

    def __init__(self, state: State, watch: Watch, tol: float):
        self.history: list[Iterate] = []
        self._state, self._watch, self._tol = state, watch, tol
        self._best: tuple[Array, Array, Iterate] | None = None

    def iterates(self) -> Iterates[Iterate]:
        """The values of each round; success is claimed only of exact ones."""
        state, watch, went_back = self._state, self._watch, False
        while True:
            if watch.is_lost(state.iterate) and self._best is not None:
                if went_back:
                    return Status.STALLED
                state.go_back(*self._best[:2])
                went_back = True
            watch.look(state.iterate)
            if not state.exact and (state.iterate.relative_gap <= self._tol or state.doubtful or watch.tired):
                state.refine()
            self.history.append(state.iterate)
            self._keep()
            gap = abs(state.iterate.relative_gap)
            converged = Status.OPTIMAL if state.exact and gap <= self._tol else None
            yield Step(state.iterate, gap, converged or (Status.STALLED if watch.stalled else None))
            state.improve()

    def solution(self, status: Status) -> tuple[Array, Array, Iterate]:
        """B, d and the values: the last if it is as good as was asked for, else the best."""
        if not self._state.exact:
            self._state.refine()
        if status == Status.OPTIMAL:
            self._best = None
        self._keep()
        return self._best or (self._state.B, self._state.d, self._state.iterate)

    def _keep(self) -> None:
        state = self._state
        if state.exact and (self._best is None or abs(state.iterate.relative_gap) < abs(self._best[2].relative_gap)):
            self._best = state.B.copy(), state.d.copy(), state.iterate


def checked_block(solver: Solver, block: Any) -> int:
    """The number of samples in a block."""
    if isinstance(block, bool) or not isinstance(block, Integral) or block < 2:
        raise ValueError(
            f"block of {type(solver).__name__} must be a whole number > 1, got {block!r}; it is the number of samples "
            "that are optimised together."
        )
    return int(block)
