"""What the constraints of a program say of the sums of its variables, above zero and below."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.problems import KernelProgram
from mercer.rounding import HOLDS
from mercer.solvers.needs import ABSOLUTE_LOSS_OF_BUDGET, NO_TARGET, unmet
from mercer.solvers.smo.box import Box

# Halvings of a step that is too long.
_HALVINGS = 60


class Sums:
    """The sums Σ max(B, 0) and Σ min(B, 0) that a program asks for.

    A constant column asks for ΣB = target. A budget bounds Σ|B|, and with ΣB = 0 both sums by half of it. The columns
    of the ν-classifier, a constant and the labels, where B has the sign of its label, ask for both sums.

    Attributes
    ----------
    n : int
        How many sums there are: 0, 1 (ΣB) or 2.
    totals : array of shape (2,)
        What the two sums have to be; with n = 1 only their own sum matters.
    at_most : bool
        Whether both sums may be smaller in size: those of a budget.
    """

    def __init__(self, problem: KernelProgram):
        columns = problem.columns
        self._n_columns, self._constant = columns.shape[1], float(columns[0, 0]) if columns.any() else 1.0
        self.n = 2 if problem.budget is not None else int(np.any(columns, axis=0).sum())
        self.at_most = problem.budget is not None
        if problem.budget is not None:
            self.totals = np.array([0.5, -0.5]) * problem.budget
        else:
            target = np.zeros(2)
            target[: self._n_columns] = problem.target
            total, size = target[0] / self._constant, target[1]  # ΣB and, if there are labels, Σ|B|
            self.totals = 0.5 * np.array([total + (size or abs(total)), total - (size or abs(total))])

    @staticmethod
    def refusal(problem: KernelProgram) -> str | None:
        """Why the constraints of a program are other ones."""
        columns, n_columns = problem.columns, problem.columns.shape[1]
        reason = unmet(problem, ABSOLUTE_LOSS_OF_BUDGET)
        if reason is not None:
            return reason
        if problem.budget is not None and (not np.any(columns) or np.any(problem.target)):
            return "it has a budget, but no constant; choose the solver 'interior_point'"
        one_sided = np.all(np.equal(problem.loss.dual_interval[0], 0.0))
        of_labels = n_columns == 2 and one_sided and np.array_equal(columns[:, 1], problem.sign)
        if n_columns and (np.any(columns[:, 0] != columns[0, 0]) or not (n_columns == 1 or of_labels)):
            return "its unpenalised part is more than a constant; choose the solver 'working_set'"
        if not np.any(problem.target):
            return None
        totals, box = Sums(problem).totals, Box(problem)
        if not np.isfinite(box.rows).all():
            return f"{problem.loss!r} has no bounds, and {unmet(problem, NO_TARGET)}"
        if totals[0] > box.high.sum() or totals[1] < box.low.sum():
            return "its target is beyond the bounds of all variables together: no B is feasible"
        return None

    def coefficients(self, multipliers: Array) -> Array:
        """The coefficients of the columns that belong to the multipliers of the two sums."""
        above, below = multipliers
        return -np.array([0.5 * (above + below) / self._constant, 0.5 * (above - below)])[: self._n_columns]

    def are_reached(self, B: Array, totals: Array) -> bool:
        """Whether a budget is used up."""
        return float(np.abs(B).sum()) >= (1.0 - HOLDS) * float(np.abs(totals).sum())

    def start(self, box: Box, totals: Array) -> Array:
        """Variables with these sums: all at zero, or so many at their bounds, in a random order."""
        n = len(box.low)
        B = np.zeros(n)
        if self.at_most or not totals.any():
            return B
        order = np.random.default_rng(0).permutation(n)
        for total, bounds in zip(totals, (box.high[order], box.low[order]), strict=True):
            before = np.abs(np.cumsum(bounds) - bounds)
            B[order] += np.sign(total) * np.clip(np.abs(total) - before, 0.0, np.abs(bounds))
        return B

    def near(self, B: Array, box: Box, totals: Array) -> Array:
        """Variables with these sums, near to those of a solution of a similar program."""
        B = np.clip(B, box.low, box.high)
        if not self.n:
            return B
        above, below = np.maximum(B, 0.0), np.minimum(B, 0.0)
        total, size = totals.sum(), totals[0]
        if self.at_most:
            size = min(above.sum(), -below.sum(), size)
        elif self.n == 1:  # the side that has too much gives it back
            size = max(min(above.sum(), total - below.sum()), size)
        return _with_sum(above, size, box.high) + _with_sum(below, total - size, box.low)

    def without_rounding(self, B: Array, box: Box, totals: Array) -> Array:
        """Rounding of each sum goes to its variable farthest from where its price changes: the others stay there."""
        tied = self.n == 2 and (not self.at_most or self.are_reached(B, totals))
        parts = [(B > 0, totals[0]), (B < 0, totals[1])] if tied else [(np.ones(len(B), dtype=bool), totals.sum())]
        for part, total in parts[: self.n]:
            room = np.where(part, np.minimum(np.minimum(B - box.low, box.high - B), np.abs(B)), 0.0)
            excess = float(B[part].sum() - total)
            B[np.argmax(room)] -= excess if room.max() > abs(excess) else 0.0
        return B


def _with_sum(B: Array, total: float, bound: Array) -> Array:
    """Variables of one sign: multiplied if they add up to too much, moved towards their bounds if to too little."""
    reached = float(B.sum())
    if abs(reached) >= abs(total):
        return B * (total / reached) if reached else B
    room = np.where(np.isfinite(bound), bound, 0.0) - B
    return B + room * min(1.0, (total - reached) / room.sum()) if room.any() else B


def cut_step(B: Array, reached: Array, size: float) -> float:
    """The longest share of the step from B to `reached` with Σ|.| at most `size`."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if np.abs(B + middle * (reached - B)).sum() <= size:
            low = middle
        else:
            high = middle
    return low
