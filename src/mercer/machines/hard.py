"""C = inf: no error is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mercer.arrays import Array
from mercer.machines.training import Expansion, Training
from mercer.running import Status

# Weights that stand for infinite ones: how many are tried, their ratios, and the fraction of them that no |B| may
# exceed.
_N_LEVELS, _RATIO, _BELOW = 8, 100.0, 0.99


def is_hard(training: Training) -> bool:
    """Whether a weight is infinite."""
    return bool(np.isinf(training.C).any())


def with_level(training: Training, level: float) -> Training:
    """The training set with a finite weight in place of infinite ones."""
    below, above = (np.where(np.isinf(side), level, side) for side in training.C)
    return replace(training, C=(below, above))


def check_hard(owner: str, training: Training) -> None:
    """Refuse losses for which no finite weight does what an infinite one would."""
    if not training.loss.piecewise_linear:
        raise ValueError(
            f"C of {owner} must be finite for {training.loss!r}, got inf; only for losses of straight lines is an "
            "infinite weight the same as a large one: take EpsilonInsensitive() or Hinge()."
        )


def solve_hard(
    owner: str, training: Training, unit: float, solve: Callable[[Training], list[Expansion]]
) -> tuple[list[Expansion], float]:
    """Expansions for a weight that is large enough, and this weight.

    The penalty of straight lines is exact: as soon as no dual variable is at its bound, a larger weight changes
    nothing. `unit` is the size of the dual variables.
    """
    hard = np.isinf(training.C[0]), np.isinf(training.C[1])
    for level in _levels(unit):
        expansions = solve(with_level(training, level))
        solved = all(expansion.result.status == Status.OPTIMAL for expansion in expansions)
        ended = any(expansion.result.status in (Status.INTERRUPTED, Status.MAX_ITER) for expansion in expansions)
        if ended or (solved and all(_is_free(expansion, hard) for expansion in expansions)):
            return expansions, level
        if not solved:
            break
    raise ValueError(
        f"C of {owner} must be finite for these samples, got inf; no function was found that keeps all of them within "
        "the tube or the margin: give a finite C, widen the tube, or narrow the kernel."
    )


def _levels(unit: float) -> Iterator[float]:
    return (unit * _RATIO**i for i in range(1, _N_LEVELS + 1))


def _is_free(expansion: Expansion, hard: tuple[Array, Array]) -> bool:
    """Whether no variable is at a bound that stands for an infinite one."""
    program, result = expansion.program, expansion.result
    low, high = program.box()
    A = program.sign * result.B
    return bool(np.all((_BELOW * low <= A) | ~hard[0]) and np.all((_BELOW * high >= A) | ~hard[1]))
