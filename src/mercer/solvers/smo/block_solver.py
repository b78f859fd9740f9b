"""The minimum over one block: steps on pairs, and guesses of the free variables in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.solvers.smo.active_set import cost_of_guess, n_free, solve_by_active_set
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.halves import descend_by_halves
from mercer.solvers.smo.sums import cut_step
from mercer.solvers.smo.tuning import Tuning


@dataclass(frozen=True)
class BlockSolver:
    """What is known of a block beside its variables.

    Attributes
    ----------
    K, box : array
        Its matrix, and the rows of its box.
    target, enough : float
        Violation to reach, and the one that will do after as many steps as cost a guess.
    near : bool
        Whether guesses of the free variables may be right.
    system : FreeSystem
        Solves for Newton steps.
    tuning : Tuning
        Numbers.
    """

    K: Array
    box: Array
    target: float
    enough: float
    near: bool
    system: FreeSystem
    tuning: Tuning

    def minimise(self, g: Array, B: Array, n_sums: int) -> None:
        """Change B and g = KB - y in place, with the sums held."""
        near = self.near or len(B) < self.tuning.few
        options: Any = {"n_sums": n_sums, "tuning": self.tuning}
        for patience in self.tuning.patience:
            cost = cost_of_guess(n_free(B, self.box, n_sums), self.tuning)
            max_steps = patience * max(len(B), cost // len(B))
            violation = descend_by_halves(self.K, g, B, self.box, target=self.target, max_steps=max_steps, **options)
            if violation <= self.enough:
                break
            if near or patience == self.tuning.patience[-2]:
                slack = self.tuning.slack * self.target
                solve_by_active_set(self.K, g, B, self.box, slack=slack, system=self.system, **options)

    def minimise_within(self, g: Array, B: Array, budget: float) -> None:
        """The same where Σ|B| is at most a budget of which some is left.

        It is first forgotten. If the block then wants more than there is, all of it will be used at its optimum, so
        that both sums are known.
        """
        start = B.copy(), g.copy()
        self.minimise(g, B, 1)
        if np.abs(B).sum() > budget:
            length = cut_step(start[0], B, budget)
            B[:], g[:] = (old + length * (new - old) for old, new in zip(start, (B, g), strict=True))
            self.minimise(g, B, 2)
