"""The search for the penalty of kernel ridge regression that predicts best, where each costs a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.kernels import Kernel, distinct_rows
from mercer.kernels.gram import Gram, GramMatrix
from mercer.losses import Squared
from mercer.machines.samples import rows_in_use
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.running import Status, unless_interrupted
from mercer.solvers import ConjugateGradients, SolverResult
from mercer.solvers.leading_spectrum import LeadingSpectrum

# Fraction of the rows that are held out, and their least number if that is not more than half.
_HELD_OUT, _LEAST_HELD_OUT = 0.1, 300


@dataclass(frozen=True)
class Samples:
    """Distinct rows: their mean targets, total weights, and the weighted scatter around the means.

    The sum of squares of rows that are equal is that of their mean, plus the scatter.
    """

    targets: Array
    weight: Array
    scatter: Array

    @classmethod
    def merged(cls, X: Any, targets: Array, weight: Array) -> tuple[Array, Array, Samples]:
        """Positions of the distinct rows of X, which of them each row equals, and what is known of them."""
        rows, group = distinct_rows(X)
        total = np.bincount(group, weight)
        means = np.column_stack([np.bincount(group, weight * column) / total for column in targets.T])
        scatter = np.bincount(group, weight * np.sum((targets - means[group]) ** 2, axis=1))
        return rows, group, cls(means, total, scatter)

    @property
    def root(self) -> Array:
        """In units of 1 / √weight all samples weigh the same."""
        return np.sqrt(self.weight)[:, None]

    def restricted_to(self, rows: Array) -> Samples:
        """Some of the rows."""
        return Samples(self.targets[rows], self.weight[rows], self.scatter[rows])

    def apart(self, B: Array, group: Array, y: Array, weight: Array, penalty: float) -> Array:
        """The dual variables weight (y - f) / penalty of all samples, from the sums B of those of equal rows."""
        total = self.weight
        alone = np.bincount(group)[group] == 1
        above_mean = np.where(alone, 0.0, y - (np.bincount(group, weight * y) / total)[group])
        return np.where(alone, B[group], weight * (above_mean / penalty + (B / total)[group]))

    def error(self, residuals: Array) -> float:
        """Root mean square error, from the residuals of the means."""
        total = np.sum(self.weight[:, None] * residuals**2) + np.sum(self.scatter)
        return float(np.sqrt(total / (self.weight.sum() * self.targets.shape[1])))

    def programs(self, kernel: Kernel, gram: GramMatrix, Phi: Array, penalty: float) -> list[KernelProgram]:
        """The program of each target, with Φ unpenalised."""
        form, C = RKHSNorm().penalty(gram, Phi), self.weight / penalty
        return [KernelProgram.build(form, y, Squared(), C, conditional=bool(kernel.order)) for y in self.targets.T]


@dataclass(frozen=True)
class Found:
    """What a search has found: errors are NaN for penalties that it did not come to.

    `starts` are the solutions with the best penalty for those rows that were not held out, with zeros for the others.
    """

    penalties: Array
    errors: Array
    best: int
    starts: list[SolverResult]
    interrupted: bool


class PenaltySearch:
    """The penalty with the least error on rows that are held out: a random tenth of all, and 300 at least.

    The search begins with the penalty that has the least leave-one-out error if the leading part of the spectrum
    replaces K: since that cannot follow the targets as closely as K, the penalty is most often too large, where
    solutions are cheap. From there it goes to smaller penalties, or else to larger ones, as long as the error falls.
    """

    # A penalty that takes more iterations than this is no candidate, unless it is the first.
    most_iterations: ClassVar[int] = 100
    solver: ClassVar[ConjugateGradients] = ConjugateGradients()

    def __init__(self, kernel: Kernel, X: Any, Phi: Array, samples: Samples, memory: int):
        n = len(Phi)
        n_held_out = max(int(_HELD_OUT * n), min(_LEAST_HELD_OUT, n // 2))
        shuffled = np.random.default_rng(0).permutation(n)
        self._held_out, self._rest = np.sort(shuffled[:n_held_out]), np.sort(shuffled[n_held_out:])
        self._kernel, self._Phi = kernel, Phi
        self._judges, self._samples = samples.restricted_to(self._held_out), samples.restricted_to(self._rest)
        X_rest, X_held_out = rows_in_use(X, self._rest, kernel), _safe_indexing(X, self._held_out)
        self._gram = Gram(kernel, X_rest).for_products(memory // 2)
        self._to_held_out = Gram(kernel, X_held_out[:, self._rest] if kernel.pairwise else X_held_out, X_rest)
        self._spectrum = self.solver.preconditioner(self._programs(1.0)[0], weights=self._samples.weight, memory=memory)

    def run(
        self, grid: Callable[[float], Array], *, tol: float, max_iter: int | None, verbose: bool, callback: Any = None
    ) -> Found:
        """Search the penalties that a function of the mean eigenvalue of the Gram matrix gives."""
        penalties = grid(self._spectrum.mean)
        first = int(np.argmin([leave_one_out_error(self._spectrum, self._samples, penalty) for penalty in penalties]))
        ascending = np.argsort(penalties, kind="stable")
        place = int(np.flatnonzero(ascending == first)[0])
        errors = np.full(len(penalties), np.nan)
        errors[first], best = self._solve(penalties[first], tol, max_iter, verbose, callback)
        interrupted = _is_interrupted(best)
        for step in (-1, 1):
            while not interrupted and 0 <= place + step < len(penalties) and np.isnan(errors[ascending[place + step]]):
                trial = ascending[place + step]
                limit = self.most_iterations if max_iter is None else max_iter
                errors[trial], results = self._solve(penalties[trial], tol, limit, verbose, callback)
                interrupted = _is_interrupted(results)
                if not errors[trial] < errors[ascending[place]]:
                    break
                place, best = place + step, results
        errors[np.isinf(errors)] = np.nan
        starts = [replace(result, B=self._with_zeros(result.B)) for result in best]
        return Found(penalties, errors, int(ascending[place]), starts, interrupted)

    def _solve(
        self, penalty: float, tol: float, max_iter: int | None, verbose: bool, callback: Any
    ) -> tuple[float, list[SolverResult]]:
        """The error of a penalty, which is infinite if it cannot be solved for, and the solutions."""
        programs = self._programs(penalty)
        options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "verbose": verbose, "callback": callback}
        results = self.solver.solve_all(programs, self._spectrum, **options)
        if any(result.status != Status.OPTIMAL for result in results):
            return np.inf, results
        B, d = (np.column_stack([getattr(result, name) for result in results]) for name in ("B", "d"))
        predicted = unless_interrupted(lambda: self._to_held_out @ B + self._Phi[self._held_out] @ d, lambda: None)
        if predicted is None:
            return np.inf, [replace(result, status=Status.INTERRUPTED) for result in results]
        return self._judges.error(self._judges.targets - predicted), results

    def _programs(self, penalty: float) -> list[KernelProgram]:
        return self._samples.programs(self._kernel, self._gram, self._Phi[self._rest], penalty)

    def _with_zeros(self, B: Array) -> Array:
        spread = np.zeros(len(self._Phi))
        spread[self._rest] = B
        return spread


def leave_one_out_error(spectrum: LeadingSpectrum, samples: Samples, penalty: float) -> float:
    """That of the machine whose Gram matrix has only the leading part of the spectrum.

    The residual of a sample that is left out is b_i / (S⁻¹)_ii in units of 1 / √weight, with S b = √weight y, S the
    spectrum plus the penalty. Cost O(n rank).
    """
    b = spectrum.solve(spectrum.project(samples.root * samples.targets), penalty)
    diagonal = np.maximum(spectrum.inverse_diagonal(penalty), np.finfo(np.float64).tiny)
    return samples.error(b / (diagonal[:, None] * samples.root))


def _is_interrupted(results: list[SolverResult]) -> bool:
    return any(result.status == Status.INTERRUPTED for result in results)
