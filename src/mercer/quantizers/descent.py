"""The loop of every fit that lowers an error step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

State = TypeVar("State")


@dataclass(frozen=True)
class Stopping:
    """When a descent ends, and who is told of its progress.

    Attributes
    ----------
    tol : float
        It has converged when a step lowers the value by no more than `tol` times its size.
    max_iter : int
        Most steps.
    callback : callable, optional
        Called as ``callback(iteration, value)`` after every step; if it returns True, the descent ends there.
    verbose : bool
        Whether to show a progress bar.
    """

    tol: float
    max_iter: int
    callback: Callable[[int, float], object] | None = None
    verbose: bool = False

    @classmethod
    def of(cls, estimator: Any) -> Stopping:
        """The parameters of an estimator, checked."""
        owner, tol, max_iter = type(estimator).__name__, estimator.tol, estimator.max_iter
        if not isinstance(tol, Real) or isinstance(tol, bool) or not 0 <= float(tol) < 1:
            raise ValueError(f"tol of {owner} must be a number >= 0 and < 1, got {tol!r}; 0 goes on to the last digit.")
        if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or int(max_iter) < 1:
            raise ValueError(f"max_iter of {owner} must be a whole number >= 1, got {max_iter!r}; allow 1 or more.")
        if estimator.callback is not None and not callable(estimator.callback):
            raise TypeError(
                f"callback of {owner} must be callable or None, got {estimator.callback!r}; give a function of the "
                "iteration and the value."
            )
        return cls(float(tol), int(max_iter), estimator.callback, bool(estimator.verbose))


@dataclass(frozen=True)
class Descent(Generic[State]):
    """Where a descent ended, and how.

    Attributes
    ----------
    state : object
        The state with the lowest value, which is the last one.
    history : list of float
        The value at the start and after each step; it never rises.
    status : {"optimal", "max_iter", "interrupted"}
        Why it ended.
    """

    state: State
    history: list[float]
    status: Literal["optimal", "max_iter", "interrupted"]

    @property
    def value(self) -> float:
        """The lowest value."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """Number of steps that lowered the value."""
        return len(self.history) - 1

    def warn_unless_converged(self, owner: str, n_iter: int | None = None) -> None:
        """Say what to do about a descent that ran out of steps, or of n_iter iterations that a few steps stand for."""
        if self.status == "max_iter":
            warnings.warn(
                f"{owner} was still improving after {n_iter or self.n_iter} iterations; raise max_iter or tol, or go "
                "on with warm_start=True and fit again.",
                ConvergenceWarning,
                stacklevel=3,
            )


def descend(
    state: State,
    value: float,
    step: Callable[[State], tuple[State, float]],
    stopping: Stopping,
    *,
    name: str,
    scale: float | None = None,
    tell: Callable[[int, State], object] | None = None,
) -> Descent[State]:
    """Repeat a step as long as it lowers the value.

    A step that raises the value is not taken, so that the best state is the last; Ctrl-C ends the descent where it is.

    Parameters
    ----------
    state, value : object, float
        Where to start.
    step : callable
        Takes a state, and returns the next one and its value.
    stopping : Stopping
        When to stop.
    name : str
        What the progress bar says.
    scale : float, optional
        The size of values that `tol` refers to; by default the value itself.
    tell : callable, optional
        As the callback of `stopping`, but with the state in the place of the value.

    Examples
    --------
    >>> from mercer.quantizers import Stopping, descend
    >>> run = descend(1.0, 1.0, lambda x: (x / 2, x**2 / 4), Stopping(tol=0.5, max_iter=9), name="halving", scale=0.1)
    >>> run.history, run.status
    ([1.0, 0.25, 0.0625, 0.015625], 'optimal')
    """
    history = [value]
    status: Literal["optimal", "max_iter", "interrupted"] = "max_iter"
    progress = tqdm(total=stopping.max_iter, desc=name, disable=not stopping.verbose)
    try:
        for iteration in range(1, stopping.max_iter + 1):
            candidate, value = step(state)
            lowered = history[-1] - value
            if lowered >= 0:
                state = candidate
                history.append(value)
            progress.update()
            progress.set_postfix(value=f"{history[-1]:.6g}")
            if not lowered > stopping.tol * (abs(value) if scale is None else scale):
                status = "optimal"
                break
            if (stopping.callback is not None and stopping.callback(iteration, value)) or (
                tell is not None and tell(iteration, state)
            ):
                status = "interrupted"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    finally:
        progress.close()
    return Descent(state, history, status)


def best_of(runs: list[Descent[State]]) -> Descent[State]:
    """The run with the lowest value; the first of equals."""
    return runs[int(np.argmin([run.value for run in runs]))]
