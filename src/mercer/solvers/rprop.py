"""Resilient propagation: descent by the signs of the gradient, with a step length for every coordinate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.running import Iterates, Run, Status, Step, Stopping

# A step grows while the sign of its derivative stays, and shrinks when it has jumped over a minimum.
_GROWTH, _SHRINKAGE = 1.2, 0.5
# Steps this short, as a share of the first one, are rounding.
_LEAST_STEP = 1e-9
# Iterations over which a gain is measured: single ones may well raise the value.
_WINDOW = 20


@dataclass(frozen=True)
class RpropResult:
    """Where a descent came to.

    Attributes
    ----------
    x : array
        The best point that was seen.
    value : float
        The value there.
    history : list of float
        The best value so far, at the start and after each iteration.
    n_iter : int
        Number of iterations.
    status : Status
        How it ended.
    """

    x: Array
    value: float
    history: list[float]
    n_iter: int
    status: Status


def rprop(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    start: Array,
    *,
    first_step: float = 0.1,
    largest_step: float = 0.5,
    max_iter: int = 500,
    tol: float = 0.0,
    admissible: Callable[[Array], Array] | None = None,
    callback: Callable[[int, Array, float], Any] | None = None,
) -> RpropResult:
    """Minimise a function by the signs of its gradient.

    Every coordinate has its own step length, which grows by 1.2 while its derivative keeps its sign, and is halved when
    the sign changes; then the coordinate rests for one iteration. Sizes of derivatives do not matter, which makes it a
    safe descent where a function has flat parts and cliffs. Values may rise: the best point is kept.

    Parameters
    ----------
    value_and_gradient : callable
        Takes an array like `start`, gives a number and an array of the same shape.
    start : array
        Where to start.
    first_step, largest_step : float
        Step length of all coordinates at first, and at most.
    max_iter : int
        Most iterations.
    tol : float
        The descent ends when twenty iterations gain less than this share of the value.
    admissible : callable, optional
        Takes points, the rows of an array like `start`, and tells of each whether it may be there. Points that may not
        be where a step takes them stay, and take shorter steps; where that is not enough, all do. The start must be
        admissible.
    callback : callable, optional
        Called as callback(n_iter, x, value) after each iteration with the best point; ends the descent if it returns
        True. So does Ctrl-C.

    Returns
    -------
    RpropResult
        Point, value and history.

    Notes
    -----
    [Riedmiller1993]_, in the variant without a way back of [Igel2000]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import rprop
    >>> result = rprop(lambda x: (float(x @ x), 2 * x), np.array([3.0, -1.0]), tol=1e-9)
    >>> bool(result.value < 1e-6), result.status
    (True, 'optimal')
    """

    def told(n_iter: int, x: Array) -> Any:
        return n_iter > 0 and callback is not None and callback(n_iter, end.state, end.value)

    iterates = rprop_steps(value_and_gradient, start, first_step, largest_step, admissible)
    with Run[Array](Stopping(tol, max_iter, patience=_WINDOW), "RPROP", tell=told) as end:
        end.follow(iterates)
    return RpropResult(end.state, end.value, end.history, end.n_iter, end.status)


def rprop_steps(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    start: Array,
    first_step: float = 0.1,
    largest_step: float = 0.5,
    admissible: Callable[[Array], Array] | None = None,
) -> Iterates[Array]:
    """The start and all further points of `rprop`, without end, for a `Run` to follow."""
    x = np.array(start, dtype=np.float64)
    steps, signs = np.full_like(x, first_step), np.zeros_like(x)
    while True:
        value, gradient = value_and_gradient(x)
        yield Step(x, float(value))
        new_signs = np.sign(gradient)
        turned = signs * new_signs
        steps = np.where(turned > 0, np.minimum(_GROWTH * steps, largest_step), steps)
        steps = np.where(turned < 0, np.maximum(_SHRINKAGE * steps, _LEAST_STEP * first_step), steps)
        signs = np.where(turned < 0, 0.0, new_signs)
        moved = x - signs * steps
        if admissible is not None:
            moved, steps = _held_back(x, moved, steps, admissible)
        x = moved


def _held_back(x: Array, moved: Array, steps: Array, admissible: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Leave points where they were that would come to where they may not be; all, if others bring them there."""
    may = np.asarray(admissible(moved))
    if may.all():
        return moved, steps
    stay = ~may.reshape(-1, *[1] * (x.ndim - 1))
    steps = np.where(stay, _SHRINKAGE * steps, steps)
    moved = np.where(stay, x, moved)
    if np.all(admissible(moved)):
        return moved, steps
    return x, _SHRINKAGE * steps
