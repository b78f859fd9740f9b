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
from mercer.solvers.smo.sums import Sums, cut_step
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
        The solution so far; d has the coefficients of the columns, if there are any.
    iterate : Iterate
        Values of the two programs, when the gradient of all variables was last known.
    exact : bool
        Whether the gradient was computed in double precision from B.
    """

    def __init__(self, problem: KernelProgram, options: Options, block: int | None, *, shrink: bool):
        self._problem = problem
        # The largest target is the unit of all lengths, so that rounding in single precision is the same in all units.
        self._unit = float(np.abs(problem.y).max()) or 1.0
        self._shrink, self._tol = shrink, options.tol
        self._block = min(max(SMALLEST_BLOCK, len(problem.y) // 3), _LARGEST_BLOCK) if block is None else block
        self._may_grow = block is None
        self._box_of_program = Box(problem, self._unit)
        self._stages = stages_of(problem) if options.start is None else [1.0]
        self._enter_stage()
        self._work_with(workspace_of(problem, options.memory))
        self._sums = Sums(problem)
        self._products = products_of(problem)
        self._y = problem.y / self._unit
        if options.start is None:
            self._B = self._sums.start(self._box, self._totals)
        else:
            self._B = self._sums.near(options.start.B / self._unit, self._box, self._totals)
        support = np.flatnonzero(self._B)
        self.exact = not support.size or self._products.knows(self._B)
        fitted = self._products.times(self._B) if self.exact else self._columns.times(support, self._B[support])
        self._g = fitted - self._y
        self._scale = float(np.abs(self._y).max()) or float(np.abs(self._g).max())
        self._rising, self._falling = np.empty_like(self._B), np.empty_like(self._B)
        self._active: Array | None = None  # which variables are not set aside, if any are
        self._moved = np.zeros(len(self._B))
        self._violation_when_shrunk = np.inf
        self._last_set = np.empty(0, dtype=np.intp)
        self._drift = 0.0 if self.exact else self._rounding * float(np.linalg.norm(self._B))
        self.look()
        if options.start is not None:
            self._last_set = np.flatnonzero(self._rising == self._falling)
            self._grow_if(len(self._last_set) > self._block)
        self._leave_stages()

    @property
    def B(self) -> Array:
        """The variables, in the units of the program."""
        return self._unit * self._B

    @property
    def doubtful(self) -> bool:
        """Whether the violation may be nothing but errors of single precision."""
        return self._violation < _CLEAR * self._drift

    def look(self) -> None:
        """Derivatives, offset and violation; and the values of the two programs if the whole gradient is known."""
        from mercer.solvers.smo.look_numba import derivatives

        extremes = derivatives(self._B, self._g, self._box.rows, self._rising, self._falling)
        if self._active is not None:
            self._rising[~self._active], self._falling[~self._active] = np.inf, -np.inf
            extremes = _extremes(self._B, self._rising, self._falling)
        self._find_violation(extremes)
        if self._active is None:
            multipliers = self._best_multipliers(extremes)
            self.d = self._unit * self._sums.coefficients(multipliers)
            self.iterate, self._of_stage = (
                self._values(box, totals, multipliers)
                for box, totals in ((self._box_of_program, self._sums.totals / self._unit), (self._box, self._totals))
            )

    def _values(self, box: Box, totals: Array, multipliers: Array) -> Iterate:
        from mercer.solvers.smo.look_numba import values

        primal, dual = values(self._B, self._g, self._y, box.rows, totals, multipliers)
        return Iterate(self._unit**2 * primal, self._unit**2 * dual, self._problem.floor)

    def improve(self) -> None:
        """One round: choose a block, optimise it, update the gradient; set variables aside or take them back."""
        if self._shrink and self._active is None:
            self._set_aside()
        last = self._last_set if self._active is None else self._last_set[self._active[self._last_set]]
        chosen = choose_working_set(self._rising, self._falling, self._bar, last, self._block)
        self._last_set = chosen
        if not len(chosen):  # nothing violates its condition: what is left of the gap is rounding
            return
        chosen = chosen[np.argsort(self._axis[chosen], kind="stable")]
        dtype = np.float32 if self._violation > _COARSE * self._scale else np.float64
        B, g = self._B[chosen], self._g[chosen].astype(dtype)
        K = self._columns.corner(chosen).astype(dtype, copy=False)
        box, target = self._box.restricted_to(chosen), self._violation * max(_SHARE, _ENOUGH * self._wanted_share())
        self._optimise(K, g, B, box, target, float(np.abs(self._B).sum() - np.abs(B).sum()))
        change = B - self._B[chosen]
        self._B[chosen], self._g[chosen] = B, g
        self.exact = False
        self._drift = float(np.hypot(self._drift, self._rounding * np.linalg.norm(change)))
        moved = np.flatnonzero(change)
        where, change = chosen[moved], change[moved]
        elsewhere = np.ones(len(self._B), dtype=bool) if self._active is None else self._active.copy()
        elsewhere[chosen] = False
        others = np.flatnonzero(elsewhere)
        self._g[others] += self._columns.times(where, change, others)
        if self._active is not None:
            self._moved[where] += change
        self.look()
        self._grow_if(n_free(B, box, self._n_sums) > _CROWDED * self._block)
        if self._active is not None and self._violation <= _SHRUNK_SHARE * self._violation_when_shrunk:
            self.take_back()
        self._leave_stages()

    def _optimise(self, K: Array, g: Array, B: Array, box: Array, target: float, outside: float) -> None:
        """Minimise over a block, in place, where Σ|B| of all other variables is `outside`.

        A budget that is not used up is first forgotten. If the block then wants more than there is, all of it will be
        used at its optimum, so that both sums are known.
        """
        start = B.copy(), g.copy()
        self._descend(K, g, B, box, target, self._n_sums)
        budget = float(np.abs(self._totals).sum()) - outside
        if self._sums.at_most and self._n_sums == 1 and np.abs(B).sum() > budget:
            length = cut_step(start[0], B, budget)
            B[:], g[:] = (old + length * (new - old) for old, new in zip(start, (B, g), strict=True))
            self._descend(K, g, B, box, target, 2)

    def _descend(self, K: Array, g: Array, B: Array, box: Array, target: float, n_sums: int) -> None:
        """Minimise over a block with its sums held, by steps on pairs and by guesses of the free variables."""
        near = self._relative_gap < _NEAR or len(B) < _FEW
        for patience in _PATIENCE:
            n_steps = patience * max(len(B), cost_of_guess(n_free(B, box, n_sums)) // len(B))
            violation = descend_by_halves(K, g, B, box, n_sums=n_sums, target=target, max_steps=n_steps)
            if violation <= max(target, _LARGE_SHARE * self._violation):
                break
            if near or patience == _PATIENCE[-2]:
                solve_by_active_set(K, g, B, box, n_sums=n_sums, slack=_SLACK * target, system=self._system)

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
        self._B = self._sums.without_rounding(self._B, self._box, self._totals)
        self._g = self._products.times(self._B) - self._y
        self.exact, self._drift = True, 0.0
        self.look()
        balanced = self._sums.n > 0 and self._totals.sum() == 0
        if balanced and self._wanted_share() < 1.0 and self._workspace.without_constant is not None:
            self._work_with(self._workspace.without_constant)  # errors of single precision were in the way

    def go_back(self, B: Array, d: Array) -> None:
        """Take earlier variables; their multipliers are found again."""
        self._B = B / self._unit
        self.refine()

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
            self._box = Box(self._staged, self._unit)

    def _leave_stages(self) -> None:
        """Go on to the next weights while the program of the stage is solved: multiply the solution as they are."""
        while (
            self._stages[0] > 1.0
            and self._active is None
            and (self._relative_gap <= _STAGE_TOL or self._violation <= _CLEAR * self._drift)
        ):
            ratio = self._stages[0] / self._stages[1]
            self._B *= ratio
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

    @property
    def _totals(self) -> Array:
        """The sums of the stage."""
        return self._sums.totals / self._unit / self._stages[0]

    def _set_aside(self) -> None:
        """Leave out variables at a bound or at zero that no other variable can move from there."""
        wanted = (self._rising < self._bar[0]) | (self._falling > self._bar[1])
        if np.mean(wanted) < 1 - _WORTH_SHRINKING:
            self._active = wanted
            self._violation_when_shrunk = self._violation

    def _find_violation(self, extremes: tuple[float, ...]) -> None:
        """The largest violation of the optimality conditions, and how many sums the next block has to keep."""
        least_above, most_above, least_below, most_below = extremes
        lowest, highest = min(least_above, least_below), max(most_above, most_below)
        of_signs = max(most_above - least_above, most_below - least_below)
        towards_zero = most_above - least_below  # always allowed, as Σ|B| falls
        self._n_sums = self._sums.n
        self._violation = of_signs if self._n_sums == 2 else highest - lowest if self._n_sums else max(highest, -lowest)
        if self._sums.at_most and not self._sums.are_reached(self._B, self._totals):
            self._n_sums, self._violation = 1, highest - lowest
        elif self._sums.at_most and towards_zero > of_signs:
            self._n_sums, self._violation = 1, towards_zero
        self._bar: tuple[Any, Any] = (highest, lowest) if self._n_sums else (0.0, 0.0)
        if self._n_sums == 2:
            above = np.where(self._B >= 0, most_above, most_below)
            self._bar = above, np.where(self._B > 0, least_above, least_below)

    def _best_multipliers(self, extremes: tuple[float, ...]) -> Array:
        """The multipliers of both sums that make the primal value least; they lie between what the variables want."""
        if not self._sums.n:
            return np.zeros(2)
        from mercer.solvers.smo.look_numba import best_multiplier, best_multipliers

        joint = _finite(min(extremes[0::2]), max(extremes[1::2]))
        if self._sums.n == 2:
            ends = [_finite(*extremes[:2]), _finite(*extremes[2:])] if self._n_sums == 2 else [joint, joint]
            low, high = np.min(ends, axis=1), np.max(ends, axis=1)
            above, below = best_multipliers(self._g, self._box.rows, self._totals, low, high)
            if above <= below or not self._sums.at_most:
                return np.array([above, below])
        multiplier = best_multiplier(self._g, self._box.rows, self._totals.sum(), min(joint), max(joint))
        return np.full(2, multiplier)


def _finite(lowest: float, highest: float) -> tuple[float, float]:
    """Two ends of an interval, or one of them twice if the other is infinite."""
    return (lowest if np.isfinite(lowest) else highest), (highest if np.isfinite(highest) else lowest)


def _extremes(B: Array, rising: Array, falling: Array) -> tuple[float, ...]:
    """The least derivative of variables that rise and the largest of those that fall, above and below zero."""
    return tuple(
        float(extreme)
        for rises, falls in ((B >= 0, B > 0), (B < 0, B <= 0))
        for extreme in (np.min(rising[rises], initial=np.inf), np.max(falling[falls], initial=-np.inf))
    )
