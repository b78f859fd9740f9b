"""What every iterative fit shares: when it stops, who is told of it, its best iterate, and how it ended.

An algorithm is a generator of steps, and `run` drives it. Where a library calls back instead (an optimiser of SciPy's),
`Run` is told of the steps by `Run.see`. Both end on convergence, on a limit, on request of a callback, and on Ctrl-C,
and keep the best iterate.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from mercer.parameters import check_callback

State = TypeVar("State")
Found = TypeVar("Found")
Item = TypeVar("Item")


class Status(StrEnum):
    """How a fit ended: a string that also says in words what happened and what to do.

    Examples
    --------
    >>> from mercer.running import Status
    >>> Status.MAX_ITER == "max_iter", Status.MAX_ITER.message
    (True, 'was still improving when its iterations ran out; raise max_iter or tol')
    """

    message: str

    OPTIMAL = "optimal", "has reached its tolerance"
    STALLED = "stalled", "cannot improve any more because of rounding; scale the columns and y, or raise tol"
    MAX_ITER = "max_iter", "was still improving when its iterations ran out; raise max_iter or tol"
    TIME_LIMIT = "time_limit", "was still improving when its time ran out; allow more time, or raise tol"
    INTERRUPTED = "interrupted", "was interrupted; set warm_start=True and call fit again to go on"

    def __new__(cls, value: str, message: str = "") -> Status:
        """Make a string that has a message."""
        member = str.__new__(cls, value)
        member._value_, member.message = value, message
        return member

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def of_all(cls, statuses: Iterable[str]) -> Status:
        """The status of a fit that is made of others: interrupted if one of them is, else the first not optimal."""
        left = [cls(status) for status in statuses if status != cls.OPTIMAL]
        return cls.INTERRUPTED if cls.INTERRUPTED in left else next(iter(left), cls.OPTIMAL)


@dataclass(frozen=True)
class Stopping:
    """When a fit ends, and who is told of its progress.

    Attributes
    ----------
    tol : float
        It has converged when `patience` steps together lower the value by no more than `tol` times its size. A negative
        number, as by default, leaves convergence to the algorithm.
    max_iter : int
        Most steps; by default there is no limit.
    callback : callable, optional
        Called as ``callback(iteration, value)`` after every step; if it returns True, the fit ends there.
    verbose : bool
        Whether to show a progress bar.
    patience : int
        Number of steps over which a gain is measured.
    time_limit : float
        Most seconds; the step that is being made is completed.
    """

    tol: float = -1.0
    max_iter: int = sys.maxsize
    callback: Callable[[int, float], object] | None = None
    verbose: bool = False
    patience: int = 1
    time_limit: float = math.inf

    @classmethod
    def of(cls, estimator: Any) -> Stopping:
        """The parameters of an estimator, checked."""
        owner, tol, max_iter = type(estimator).__name__, estimator.tol, estimator.max_iter
        if not isinstance(tol, Real) or isinstance(tol, bool) or not 0 <= float(tol) < 1:
            raise ValueError(f"tol of {owner} must be a number >= 0 and < 1, got {tol!r}; 0 goes on to the last digit.")
        if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or int(max_iter) < 1:
            raise ValueError(f"max_iter of {owner} must be a whole number >= 1, got {max_iter!r}; allow 1 or more.")
        check_callback(estimator.callback, owner, "the iteration and the value")
        return cls(float(tol), int(max_iter), estimator.callback, bool(estimator.verbose))


@dataclass(frozen=True)
class Step(Generic[State]):
    """One iterate of an algorithm.

    Attributes
    ----------
    state : object
        What the algorithm has found; it must not change later.
    value : float
        What is minimised.
    status : Status, optional
        How the algorithm ends with this step, if it does.
    """

    state: State
    value: float
    status: Status | None = None


# An algorithm: its start, then each step. It may end by itself, as "optimal" or with the status that it returns.
Iterates = Generator[Step[State], None, Status | None]


class Run(Generic[State]):
    """A fit that is going on, or has ended: a context in which Ctrl-C ends the fit instead of the program.

    Parameters
    ----------
    stopping : Stopping
        When to stop.
    name : str
        What the progress bar says.
    scale : float, optional
        The size of values that `tol` refers to; by default the value itself.
    tell : callable, optional
        As the callback of `stopping`, but with the state in the place of the value, and called at the start, too.
    shows : str
        What the progress bar calls the value; nothing shows none.

    Attributes
    ----------
    status : Status
        How it ended. "optimal" if the steps converged or the algorithm had no further step.
    history : list of float
        The best value so far, at the start and after each step.
    best, last : Step or None
        The first of the steps with the lowest value, and the last step; None before the first.

    Examples
    --------
    >>> from scipy.optimize import minimize
    >>> from mercer.running import Run, Step, Stopping
    >>> def note(intermediate_result):
    ...     if run.see(Step(intermediate_result.x, intermediate_result.fun)):
    ...         raise StopIteration
    >>> with Run(Stopping(tol=1e-3, max_iter=50), "L-BFGS") as run:
    ...     _ = minimize(lambda x: x @ x, [3.0, -1.0], callback=note)
    >>> run.status, bool(run.value < 1e-6)
    ('optimal', True)
    """

    def __init__(
        self,
        stopping: Stopping,
        name: str,
        *,
        scale: float | None = None,
        tell: Callable[[int, State], object] | None = None,
        shows: str = "value",
    ):
        self._stopping, self._name, self._scale, self._tell, self._shows = stopping, name, scale, tell, shows
        self._started, self._bar, self._ended = time.monotonic(), None, False
        self.status = Status.OPTIMAL
        self.history: list[float] = []
        self.best: Step[State] | None = None
        self.last: Step[State] | None = None

    def __enter__(self) -> Self:
        if self._stopping.verbose:
            total = self._stopping.max_iter if self._stopping.max_iter < sys.maxsize else None
            self._bar = tqdm(total=total, desc=self._name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._bar is not None:
            self._bar.close()
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if interrupted and not self._ended:
            self.status = Status.INTERRUPTED
        return interrupted

    @property
    def state(self) -> State:
        """The best state; an interrupt before the first is raised again, since there is nothing to go on with."""
        if self.best is None:
            raise KeyboardInterrupt
        return self.best.state

    @property
    def last_state(self) -> State:
        """That of the last step, as `state` is that of the best."""
        if self.last is None:
            raise KeyboardInterrupt
        return self.last.state

    @property
    def value(self) -> float:
        """The lowest value."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """Number of steps after the start."""
        return max(0, len(self.history) - 1)

    def follow(self, iterates: Iterates[State]) -> Self:
        """Take the steps of an algorithm until it ends, or has to end."""
        while True:
            try:
                step = next(iterates)
            except StopIteration as end:
                self.status = end.value or Status.OPTIMAL
                break
            if self.see(step):
                break
        return self

    def see(self, step: Step[State]) -> bool:
        """Take note of the start or of another step; returns whether the fit ends with it."""
        self.last = step
        if self.best is None or step.value < self.best.value or math.isnan(self.best.value):
            self.best = step
        self.history.append(self.best.value)
        self._show()
        told_to_stop = self._says_stop(step)
        ended = step.status or self._ending(told_to_stop)
        self.status, self._ended = ended or Status.OPTIMAL, ended is not None
        return self._ended

    def note(self, value: float) -> None:
        """Take note of a value from inside of calls that nobody else can end: where the fit ends, its context is left.

        Its state is the value.
        """
        if self.see(Step(value, value)):  # type: ignore[arg-type]
            raise KeyboardInterrupt

    def _says_stop(self, step: Step[State]) -> bool:
        """Tell of the step; whether somebody wants to stop there."""
        says = self.n_iter and self._stopping.callback is not None and self._stopping.callback(self.n_iter, self.value)
        goes_on = step.status is None
        return bool(says or (goes_on and self._tell is not None and self._tell(self.n_iter, step.state)))

    def _ending(self, told_to_stop: bool) -> Status | None:
        stopping = self._stopping
        if self._has_converged():
            return Status.OPTIMAL
        if told_to_stop:
            return Status.INTERRUPTED
        if self.n_iter >= stopping.max_iter:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if time.monotonic() - self._started > stopping.time_limit else None

    def _has_converged(self) -> bool:
        tol, patience = self._stopping.tol, self._stopping.patience
        if tol < 0 or self.n_iter < patience:
            return False
        size = abs(self.value) if self._scale is None else self._scale
        return not self.history[-1 - patience] - self.value > tol * size

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(int(self.n_iter > 0))
            if self._shows:
                self._bar.set_postfix({self._shows: f"{self.value:.6g}"})

    def warn_unless_converged(self, owner: str, n_iter: int | None = None) -> None:
        """Say what to do about a fit that ran out of steps, or of n_iter iterations that a few steps stand for."""
        if self.status == Status.MAX_ITER:
            warnings.warn(
                f"{owner} was still improving after {n_iter or self.n_iter} iterations; raise max_iter or tol, or go "
                "on with warm_start=True and fit again.",
                ConvergenceWarning,
                stacklevel=3,
            )


def run(iterates: Iterates[State], stopping: Stopping, name: str, **options: Any) -> Run[State]:
    """Drive an algorithm, a generator that yields its start and then each step, until it ends or has to end.

    Parameters
    ----------
    iterates : generator of Step
        The algorithm. It may end by itself, as "optimal" or with the status that it returns, or with a step that has a
        status.
    stopping, name, **options
        As in `Run`.

    Examples
    --------
    >>> from mercer.running import Step, Stopping, run
    >>> def newton(x):
    ...     while True:
    ...         yield Step(x, abs(x**2 - 2))
    ...         x = (x + 2 / x) / 2
    >>> end = run(newton(1.0), Stopping(tol=1e-6, max_iter=20), "square root", scale=1.0)
    >>> end.status, round(end.state, 6), end.n_iter
    ('optimal', 1.414214, 5)
    """
    with Run[State](stopping, name, **options) as going:
        return going.follow(iterates)
    return going


def descend(
    state: State,
    value: float,
    step: Callable[[State], tuple[State, float]],
    stopping: Stopping,
    *,
    name: str,
    scale: float | None = None,
) -> Run[State]:
    """Repeat a step as long as it lowers the value; one that raises it is not taken, and ends the descent.

    Parameters
    ----------
    state, value : object, float
        Where to start.
    step : callable
        Takes a state, and returns the next one and its value.
    stopping, name, scale
        As in `Run`.

    Examples
    --------
    >>> from mercer.running import Stopping, descend
    >>> end = descend(1.0, 1.0, lambda x: (x / 2, x**2 / 4), Stopping(tol=0.5, max_iter=9), name="halving", scale=0.1)
    >>> end.history, end.status
    ([1.0, 0.25, 0.0625, 0.015625], 'optimal')
    """
    return run(descent(state, value, step), stopping, name, scale=scale)


def descent(state: State, value: float, step: Callable[[State], tuple[State, float]]) -> Iterates[State]:
    """The steps of `descend`, to be followed by a run."""
    reached = Step(state, value)
    while True:
        yield reached
        new = Step(*step(reached.state))
        if not new.value <= reached.value:
            return None
        reached = new


def best_of(runs: list[Run[State]]) -> Run[State]:
    """The run with the lowest value; the first of equals."""
    return min(runs, key=lambda run: run.value)


def unless_interrupted(work: Callable[[], Found], otherwise: Callable[[], Found]) -> Found:
    """What some work returns; after Ctrl-C, what can be said without it.

    Examples
    --------
    >>> from mercer.running import raise_if_interrupted, unless_interrupted
    >>> unless_interrupted(lambda: raise_if_interrupted("interrupted"), lambda: "what was found before")
    'what was found before'
    """
    try:
        return work()
    except KeyboardInterrupt:
        return otherwise()


def raise_if_interrupted(*statuses: str) -> None:
    """Interrupt a fit that is worth nothing unless the fits inside of it, with these statuses, were completed."""
    if Status.INTERRUPTED in statuses:
        raise KeyboardInterrupt


def with_progress(items: Iterable[Item], name: str, *, total: int | None = None, shown: bool = True) -> Iterable[Item]:
    """Items with a progress bar, if it is shown."""
    # A bar that is not shown would still take a lock, which a fork may copy in its locked state.
    return tqdm(items, desc=name, total=total) if shown else items
