"""Where the method stands: the variables, the optimality conditions, and the values of the program."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.problems import Iterate, KernelProgram
from mercer.solvers.result import Options
from mercer.solvers.smo.active_set import n_free
from mercer.solvers.smo.block_solver import BlockSolver
from mercer.solvers.smo.conditions import Conditions
from mercer.solvers.smo.gradient import Gradient
from mercer.solvers.smo.products import products_of
from mercer.solvers.smo.stages import Stage, stages_of
from mercer.solvers.smo.sums import Sums
from mercer.solvers.smo.tuning import Tuning
from mercer.solvers.smo.working_set import choose_working_set
from mercer.solvers.smo.workspace import workspace_of


class State:
    """The variables of a program, improved block by block.

    The largest target is the unit of all lengths, so that rounding in single precision is the same in all units.

    Attributes
    ----------
    d : array
        The coefficients of the columns, if there are any.
    iterate : Iterate
        Values of the two programs.
    """

    d: Array
    iterate: Iterate

    def __init__(self, problem: KernelProgram, options: Options, block: int | None, tuning: Tuning):
        self._problem, self._tuning = problem, tuning
        self._unit = float(np.abs(problem.y).max()) or 1.0
        self._block = block or min(max(tuning.smallest_block, len(problem.y) // 3), tuning.largest_block)
        self._may_grow = block is None
        self._sums, start = Sums(problem), options.start
        self._stages = stages_of(problem, self._sums, self._unit, options.tol, tuning, cold=start is None)
        box, totals = self._stages[0].box, self._stages[0].totals
        sums, unit = self._sums, self._unit
        B = sums.start(box, totals) if start is None else sums.near(start.B / unit, box, totals)
        self._workspace = workspace_of(problem, options.memory, tuning)
        self._gradient = Gradient(B, problem.y / self._unit, products_of(problem), self._workspace)
        self._conditions = Conditions(self._sums, len(B))
        self._last_set = np.empty(0, dtype=np.intp)
        self.look()
        if start is not None:
            self._last_set = np.flatnonzero(self._conditions.rising == self._conditions.falling)
            self._grow_if(len(self._last_set) > self._block)
        self._leave_stages()

    @property
    def B(self) -> Array:
        """The variables, in the units of the program."""
        return self._unit * self._gradient.B

    @property
    def exact(self) -> bool:
        """Whether the gradient was computed in double precision from B."""
        return self._gradient.exact

    @property
    def doubtful(self) -> bool:
        """Whether the violation may be nothing but errors of single precision."""
        return self._conditions.violation <= self._tuning.clear * self._gradient.drift

    def look(self) -> None:
        """Optimality conditions, and the values of the two programs and of those of the stage."""
        stage, program = self._stages[0], self._stages[-1]
        self._conditions.look(self._gradient, stage)
        self.d = self._unit * self._sums.coefficients(self._conditions.multipliers)
        self.iterate = self._values(program)
        self._gap = (self.iterate if stage is program else self._values(stage)).relative_gap

    def _values(self, stage: Stage) -> Iterate:
        from mercer.solvers.smo.look_numba import values

        gradient = self._gradient
        primal, dual = values(
            gradient.B, gradient.g, gradient.y, stage.box.rows, stage.totals, self._conditions.multipliers
        )
        return Iterate(self._unit**2 * primal, self._unit**2 * dual, self._problem.floor)

    def improve(self) -> None:
        """One round: choose a block, optimise it, update the gradient."""
        wanted = self._conditions
        chosen = choose_working_set(wanted.rising, wanted.falling, wanted.bar, self._last_set, self._block)
        self._last_set = chosen
        if not len(chosen):  # nothing violates its condition: what is left of the gap is rounding
            return
        chosen = chosen[np.argsort(self._workspace.axis[chosen], kind="stable")]
        box = self._stages[0].box.restricted_to(chosen)
        B, g = self._optimised(chosen, box)
        self._gradient.move(chosen, B, g)
        self.look()
        self._grow_if(n_free(B, box, self._conditions.n_sums) > self._tuning.crowded * self._block)
        self._leave_stages()

    def _optimised(self, chosen: Array, box: Array) -> tuple[Array, Array]:
        """Variables and gradient of a block that was optimised while all others stay."""
        tuning, gradient, violation = self._tuning, self._gradient, self._conditions.violation
        dtype = np.float32 if violation > tuning.coarse * gradient.scale else np.float64
        B, g = gradient.B[chosen], gradient.g[chosen].astype(dtype)
        K = self._workspace.columns.corner(chosen).astype(dtype, copy=False)
        target = violation * max(tuning.share, tuning.enough * self._wanted_share())
        enough, near = max(target, tuning.large_share * violation), self._gap < tuning.near
        solver = BlockSolver(K, box, target, enough, near, self._workspace.system, tuning)
        if self._sums.at_most and self._conditions.n_sums == 1:
            outside = float(np.abs(gradient.B).sum() - np.abs(B).sum())
            solver.minimise_within(g, B, float(np.abs(self._stages[0].totals).sum()) - outside)
        else:
            solver.minimise(g, B, self._conditions.n_sums)
        return B, g

    def refine(self) -> None:
        """Gradient in double precision."""
        stage = self._stages[0]
        self._gradient.refine(self._sums.without_rounding(self._gradient.B, stage.box, stage.totals))
        self.look()
        balanced = self._sums.n > 0 and stage.totals.sum() == 0
        if balanced and self._wanted_share() < 1.0 and self._workspace.without_constant is not None:
            self._workspace = self._workspace.without_constant  # errors of single precision were in the way
            self._gradient.work_with(self._workspace)

    def go_back(self, B: Array, d: Array) -> None:
        """Take earlier variables; their multipliers are found again."""
        self._gradient.B = B / self._unit
        self.refine()

    def _grow_if(self, crowded: bool) -> None:
        """Take larger blocks from now on if the free variables do not fit, unless somebody has chosen the size."""
        if crowded and self._may_grow:
            self._block, self._may_grow = self._tuning.grown_block, False

    def _leave_stages(self) -> None:
        """Go on to the next weights while the program of the stage is solved: its solution, multiplied, starts them."""
        while len(self._stages) > 1 and (self._gap <= self._stages[0].tol or self.doubtful):
            self._gradient.multiply(self._stages[0].divisor / self._stages[1].divisor)
            del self._stages[0]
            self.look()

    def _wanted_share(self) -> float:
        """The share of the gap that is left when it is small enough: violations fall as it does."""
        return self._stages[0].tol / self._gap if self._gap > 0 else 1.0
