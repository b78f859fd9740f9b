"""Where the method stands: variables, gradient, the gap, and which variables are set aside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.problems import Iterate, KernelProgram
from mercer.solvers.result import Options
from mercer.solvers.smo.active_set import cost_of_guess, n_free, solve_by_active_set
from mercer.solvers.smo.box import Box
from mercer.solvers.smo.halves import descend_by_halves
from mercer.solvers.smo.products import products_of
from mercer.solvers.smo.stages import stages_of
from mercer.solvers.smo.working_set import choose_working_set
from mercer.solvers.smo.workspace import Workspace, workspace_of

Array = NDArray[Any]

# Blocks that nobody has chosen: their size at first, and when they hold more than this share of free variables. The
# large ones are no powers of two: rows that are so far apart in memory take each other's places in the cache.
SMALLEST_BLOCK = 1024
_LARGEST_BLOCK, _GROWN_BLOCK, _CROWDED = 2032, 3568, 0.8
# A block is left when its largest violation has fallen to the first share or, after steps that cost as much as a guess
# of the free variables at the optimum, to the second: the next blocks move what is left again anyway.
_SHARE, _LARGE_SHARE = 0.1, 0.33
# After as many steps on pairs as cost these multiples of a guess, guesses are tried, if the relative gap is below this,
# so that they may be right, or if there are few variables, or if pairs get nowhere; they may be wrong by this share of
# the violation that is aimed at.
_PATIENCE, _NEAR, _SLACK = (1, 2, 4, 8, 16, 128), 0.05, 0.1
_FEW = 100
# A larger share will do if the gap is then below this share of the wanted one.
_ENOUGH = 0.7
# Error of the gradient from columns in single precision, in units of the change of B; violations are clear if larger.
_ROUNDING, _CLEAR = 1e-6, 2.0
# Violations above this share of the largest target are reduced in single precision, which drifts by less than a tenth.
_COARSE = 1e-3
# A stage with smaller weights is left at this relative gap.
_STAGE_TOL = 0.1
# Variables are set aside only if so many are that the smaller products pay, until the violation fell to this share.
_WORTH_SHRINKING, _SHRUNK_SHARE = 0.3, 0.1


class State:
    """The variables B with the gradient g = KB - y of the dual objective, kept in single-precision steps.

    Attributes
    ----------
    B, d : array
        The solution so far; d is the coefficient of the constant column, if there is one.
    iterate : Iterate
        Values of the two programs, when the gradient of all variables was last known.
    exact : bool
        Whether the gradient was computed in double precision from B.
    """

    def __init__(self, problem: KernelProgram, options: Options, block: int | None, *, shrink: bool):
        self._problem = problem
        self._shrink, self._tol = shrink, options.tol
        self._block = min(max(SMALLEST_BLOCK, len(problem.y) // 3), _LARGEST_BLOCK) if block is None else block
        self._may_grow = block is None
        self._box_of_program = Box(problem)
        self._stages = stages_of(problem) if options.start is None else [1.0]
        self._enter_stage()
        self._work_with(workspace_of(problem, options.memory))
        self._paired = bool(problem.columns.any())
        self._products = products_of(problem)
        # With ΣB = 0 a constant in the targets does not matter, but to the digits that are kept of them.
        self._shift = float(np.median(problem.y)) if self._paired else 0.0
        self._y = problem.y - self._shift
        self._scale = float(np.abs(self._y).max())
        self.B = np.zeros(len(problem.y)) if options.start is None else self._feasible(options.start.B)
        support = np.flatnonzero(self.B)
        self.exact = not support.size or self._products.knows(self.B)
        fitted = self._products.times(self.B) if self.exact else self._columns.times(support, self.B[support])
        self._g = fitted - self._y
        self._rising, self._falling = np.empty_like(self.B), np.empty_like(self.B)
        self._active: Array | None = None  # which variables are not set aside, if any are
        self._moved = np.zeros(len(self.B))
        self._violation_when_shrunk = np.inf
        self._last_set = np.empty(0, dtype=np.intp)
        self._drift = 0.0 if self.exact else self._rounding * float(np.linalg.norm(self.B))
        self.look()
        if options.start is not None:
            self._last_set = np.flatnonzero(self._rising == self._falling)
            self._grow_if(len(self._last_set) > self._block)
        self._leave_stages()

    @property
    def doubtful(self) -> bool:
        """Whether the violation may be nothing but errors of single precision."""
        return self._violation < _CLEAR * self._drift

    def look(self) -> None:
        """Derivatives, offset and violation; and the values of the two programs if the whole gradient is known."""
        from mercer.solvers.smo.look_numba import derivatives

        lowest, highest = derivatives(self.B, self._g, self._box.rows, self._rising, self._falling)
        if self._active is not None:
            self._rising[~self._active], self._falling[~self._active] = np.inf, -np.inf
            lowest, highest = float(self._rising.min()), float(self._falling.max())
        self._violation = highest - lowest if self._paired else max(highest, -lowest)
        self._bar = (highest, lowest) if self._paired else (0.0, 0.0)
        if self._active is None:
            multiplier = self._best_multiplier(lowest, highest)
            constant = self._problem.columns[0]
            self.d = (self._shift - multiplier) / constant if self._paired else np.zeros(len(constant))
            self.iterate, self._of_stage = (self._values(box, multiplier) for box in (self._box_of_program, self._box))

    def _values(self, box: Box, multiplier: float) -> Iterate:
        from mercer.solvers.smo.look_numba import values

        primal, dual = values(self.B, self._g, self._y, box.rows, multiplier)
        return Iterate(primal, dual, self._problem.floor)

    def improve(self) -> None:
        """One round: choose a block, optimise it, update the gradient; set variables aside or take them back."""
        if self._shrink and self._active is None:
            self._set_aside()
        last = self._last_set if self._active is None else self._last_set[self._active[self._last_set]]
        chosen = choose_working_set(self._rising, self._falling, self._bar, last, self._block)
        self._last_set = chosen
        chosen = chosen[np.argsort(self._axis[chosen], kind="stable")]
        dtype = np.float32 if self._violation > _COARSE * self._scale else np.float64
        B, g = self.B[chosen], self._g[chosen].astype(dtype)
        K = self._columns.corner(chosen).astype(dtype, copy=False)
        box, target = self._box.restricted_to(chosen), self._violation * max(_SHARE, _ENOUGH * self._wanted_share())
        self._optimise(K, g, B, box, target)
        change = B - self.B[chosen]
        self.B[chosen], self._g[chosen] = B, g
        self.exact = False
        self._drift = float(np.hypot(self._drift, self._rounding * np.linalg.norm(change)))
        moved = np.flatnonzero(change)
        where, change = chosen[moved], change[moved]
        elsewhere = np.ones(len(self.B), dtype=bool) if self._active is None else self._active.copy()
        elsewhere[chosen] = False
        others = np.flatnonzero(elsewhere)
        self._g[others] += self._columns.times(where, change, others)
        if self._active is not None:
            self._moved[where] += change
        self.look()
        self._grow_if(n_free(B, box) > _CROWDED * self._block)
        if self._active is not None and self._violation <= _SHRUNK_SHARE * self._violation_when_shrunk:
            self.take_back()
        self._leave_stages()

    def _optimise(self, K: Array, g: Array, B: Array, box: Array, target: float) -> None:
        """Minimise over a block, in place, by steps on pairs and by guesses of the free variables at its optimum."""
        near = self._relative_gap < _NEAR or len(B) < _FEW
        for patience in _PATIENCE:
            n_steps = patience * max(len(B), cost_of_guess(n_free(B, box)) // len(B))
            violation = descend_by_halves(K, g, B, box, paired=self._paired, target=target, max_steps=n_steps)
            if violation <= max(target, _LARGE_SHARE * self._violation):
                break
            if near or patience == _PATIENCE[-2]:
                solve_by_active_set(K, g, B, box, paired=self._paired, slack=_SLACK * target, system=self._system)

    def take_back(self) -> None:
        """Bring the gradient of all variables up to date."""
        if self._active is None:
            return
        aside = np.flatnonzero(~self._active)
        where = np.flatnonzero(self._moved)
        self._g[aside] += self._columns.times(where, self._moved[where], aside)
        self._moved[:] = 0.0
        self._active = None
        self.look()

    def refine(self) -> None:
        """Gradient in double precision."""
        self._active = None
        self._moved[:] = 0.0
        if self._paired:
            # Rounding of ΣB goes to the variable that is farthest from where its price changes: the others stay there.
            room = np.minimum(np.minimum(self.B - self._box.low, self._box.high - self.B), np.abs(self.B))
            self.B[np.argmax(room)] -= self.B.sum() if room.max() > abs(self.B.sum()) else 0.0
        self._g = self._products.times(self.B) - self._y
        self.exact, self._drift = True, 0.0
        self.look()
        if self._paired and self._wanted_share() < 1.0 and self._workspace.without_constant is not None:
            self._work_with(self._workspace.without_constant)  # errors of single precision were in the way

    def _work_with(self, workspace: Workspace) -> None:
        """Take the columns, the order and the memory that belong to the matrix."""
        self._workspace = workspace
        self._columns, self._axis, self._system = workspace.columns, workspace.axis, workspace.system
        self._rounding = _ROUNDING * workspace.size

    def _grow_if(self, crowded: bool) -> None:
        """Take larger blocks from now on if the free variables do not fit, unless somebody has chosen the size."""
        if crowded and self._may_grow:
            self._block, self._may_grow = _GROWN_BLOCK, False

    def _enter_stage(self) -> None:
        """Take the weights of the first of the stages."""
        self._staged, self._box = self._problem, self._box_of_program
        if self._stages[0] > 1.0:
            C = self._problem.C_below / self._stages[0], self._problem.C_above / self._stages[0]
            self._staged = self._problem.with_weights(C)
            self._box = Box(self._staged)

    def _leave_stages(self) -> None:
        """Go on to the next weights while the program of the stage is solved: multiply the solution as they are."""
        while (
            self._stages[0] > 1.0
            and self._active is None
            and (self._relative_gap <= _STAGE_TOL or self._violation <= _CLEAR * self._drift)
        ):
            ratio = self._stages[0] / self._stages[1]
            self.B *= ratio
            self._g = ratio * (self._g + self._y) - self._y
            self._drift *= ratio
            del self._stages[0]
            self._enter_stage()
            self.look()

    def _wanted_share(self) -> float:
        """The share of the gap that is left when it is small enough: violations fall as it does."""
        tol = self._tol if self._staged is self._problem else _STAGE_TOL
        return tol / self._relative_gap if self._relative_gap > 0 else 1.0

    @property
    def _relative_gap(self) -> float:
        """That of the stage."""
        return self._of_stage.relative_gap

    def _set_aside(self) -> None:
        """Leave out variables at a bound or at zero that no other variable can move from there."""
        wanted = (self._rising < self._bar[0]) | (self._falling > self._bar[1])
        if np.mean(wanted) < 1 - _WORTH_SHRINKING:
            self._active = wanted
            self._violation_when_shrunk = self._violation

    def _best_multiplier(self, lowest: float, highest: float) -> float:
        """The multiplier of ΣB that makes the primal value least; it lies between what the variables want."""
        if not self._paired:
            return 0.0
        from mercer.solvers.smo.look_numba import best_multiplier

        ends = [end for end in (lowest, highest) if np.isfinite(end)]
        return float(best_multiplier(self._g, self._box.rows, min(ends), max(ends)))

    def _feasible(self, B: Array) -> Array:
        """A given start, in the box and with ΣB = 0 where that is asked."""
        B = np.clip(B, self._box.low, self._box.high)
        excess = B.sum()
        if not self._paired or not excess:
            return B
        prevailing = B > 0 if excess > 0 else B < 0
        return np.where(prevailing, B * (1.0 - excess / B[prevailing].sum()), B)
