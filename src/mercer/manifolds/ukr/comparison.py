"""The comparison of starts: each at its best scale, and after descents of which the better half go on."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.graphs.searches import Tree
from mercer.manifolds.ukr.fitting import LatentFit, Rprop
from mercer.manifolds.ukr.gathering import gathered
from mercer.manifolds.ukr.lists import ListProblem, leading_columns
from mercer.manifolds.ukr.problem import Evaluated
from mercer.manifolds.ukr.scaling import ScaledStart, factor_scale, first_scale, grid_scale, searched_scale
from mercer.manifolds.ukr.settings import Settings
from mercer.manifolds.ukr.starts import MANIFOLD
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.tuning import DESCENTS
from mercer.manifolds.ukr.units import LatentUnits
from mercer.running import Run, Status, Step, Stopping


def brought_near(settings: Settings, problem: Evaluated, Z: Array, value: float) -> tuple[Array, float]:
    """Points whose pieces are brought near each other, and the objective there.

    A piece whose rows are all left out of each other's estimates is estimated from other pieces, so that it matters how
    far these are: if the move raises the objective by more than a little, all points stay. On circles they stay, too,
    since no piece can be moved away from one neighbour without coming nearer to the other.
    """
    near = Z if problem.periods is not None else gathered(Z, problem.density_kernel.gap)
    if near is Z:
        return Z, value
    error = problem.value(near)
    return (near, error) if error <= settings.tuning.little_worse * value else (Z, value)


def joined(settings: Settings, targets: Targets, Z: Array, units: LatentUnits) -> Array:
    """Points of all rows after isolated ones were moved to the nearest that is not: scales were found on a sample."""
    evaluator = settings.problem(targets, units, settings.n_excluded).evaluator()
    for _ in range(settings.tuning.most_moves if settings.density_kernel.ends else 0):
        isolated = evaluator.isolated(Z)
        if not isolated.any() or isolated.all():
            break
        U = units.unrolled(Z)
        nearest = Tree(U[~isolated]).nearest(U[isolated], 1)[1][:, 0]
        Z = Z.copy()
        Z[isolated] = Z[~isolated][nearest]
    return Z


@dataclass(frozen=True)
class Sample:
    """The rows that starts are compared on.

    Attributes
    ----------
    points : array of shape (n, d)
        Their coordinates, without missing entries.
    targets, rough : Targets
        What is regressed, and targets of less cost that are much the same.
    """

    points: Array
    targets: Targets
    rough: Targets

    @cached_property
    def leading(self) -> Array:
        """Leading columns, for lists."""
        return leading_columns(self.points)


class Comparison:
    """Starts at their best scales, with pieces near each other, and their descents, by name.

    Parameters
    ----------
    sample : Sample
        The rows.
    settings : Settings
        Of the fit to all rows.
    n_excluded : int
        Neighbours that are left out of the sample.

    Attributes
    ----------
    boxes : dict of arrays
        Starts before they are scaled.
    scaled : dict of ScaledStart
        Their best scales, and the objective there.
    placed : dict of arrays
        Their points, in widths of the kernel.
    descended : dict of LatentFit
        Descents from them.
    """

    def __init__(self, sample: Sample, settings: Settings, n_excluded: int):
        self._sample, self._settings, self.n_excluded = sample, settings, n_excluded
        self.boxes: dict[str, Array] = {}
        self.scaled: dict[str, ScaledStart] = {}
        self.placed: dict[str, Array] = {}
        self.descended: dict[str, LatentFit] = {}

    def steps(self, starts: Iterable[tuple[str, Array]]) -> Generator[Step[LatentFit], None, None]:
        """Scale all starts, and let them descend; a step is what there is of one of several."""
        several = len(self._settings.names) > 1
        for name, box in starts:
            self.boxes[name] = box
            self._place(name, self._at_best_scale(box))
            if several:
                yield Step(LatentFit.at(self.placed[name], self.error(name)), self.error(name))
        if self._is_settled():
            for kept in (self.boxes, self.scaled, self.placed):
                for name in set(kept) - {MANIFOLD}:
                    del kept[name]
            return
        left = sorted(self.scaled, key=self.error)
        for n_iter in self._settings.tuning.rounds:
            if len(left) < 2:
                break
            for name in left:
                yield from self.descent(name, n_iter)
            left = sorted(left, key=self.error)[: (len(left) + 1) // 2]

    def descent(self, name: str, n_iter: int) -> Generator[Step[LatentFit], None, None]:
        """Go on from a start, up to so many iterations unless it has ended before."""
        fast, problem = self._settings.fast, self.problem(name)
        before = self.descended.get(name, LatentFit(self.placed[name], np.inf, [np.inf], 0, Status.MAX_ITER))
        if before.n_iter >= n_iter or before.status != Status.MAX_ITER:
            return
        stopping = Stopping(self._settings.tuning.tol_of_starts, n_iter - before.n_iter, patience=DESCENTS.patience)
        run = Run[Array](stopping, name)
        for step in Rprop().steps(self._lists(self.scaled[name].scales) if fast else problem, before.Z):
            ended = run.see(step)
            if run.n_iter:
                fit = LatentFit.of(run, before, Status.MAX_ITER)
                yield Step(fit, fit.objective)
            if ended:
                break
        value = problem.value(run.state) if fast else run.value
        n_iter = before.n_iter + run.n_iter
        self.descended[name] = LatentFit(run.state, value, run.history, n_iter, run.status)

    def least(self) -> str:
        """The name of the best start."""
        return min(self.descended or self.scaled, key=self.error)

    def error(self, name: str) -> float:
        """The objective of a start, after a descent if there was one."""
        return self.descended[name].objective if name in self.descended else self.scaled[name].error

    def problem(self, name: str, n_excluded: int | None = None) -> Any:
        """The problem in the units of a start."""
        left_out = self.n_excluded if n_excluded is None else n_excluded
        return self._settings.problem(self._sample.targets, self.units(name), left_out)

    def units(self, name: str) -> LatentUnits:
        """Lines and circles in widths of the kernel."""
        return self._units(self.scaled[name].scales)

    def table(self, *, complete: bool) -> dict[str, list[Any]]:
        """All starts, and their errors; leave-one-out errors are NaN if there is no time for them."""
        names, descended = list(self.scaled), [self.descended.get(name) for name in self.scaled]
        single = [self.problem(name, 0).value(self.placed[name]) if complete else np.nan for name in names]
        return {
            "start": names,
            "objective": [self.scaled[name].error for name in names],
            "leave_one_out_error": single,
            "descended": [np.nan if fit is None else fit.objective for fit in descended],
            "iterations": [0 if fit is None else fit.n_iter for fit in descended],
        }

    def _is_settled(self) -> bool:
        """Whether the manifold is clearly better than the other starts, before any descent."""
        if not self._settings.fast or MANIFOLD not in self.scaled:
            return False
        others = [start.error for name, start in self.scaled.items() if name != MANIFOLD]
        return bool(self.scaled[MANIFOLD].error < self._settings.tuning.clearly * min(others, default=np.inf))

    def _at_best_scale(self, box: Array) -> ScaledStart:
        """The scales of a start; the last steps are always by the objective itself."""
        sample, first = self._sample, first_scale(box, self._settings.density_kernel)
        error = self._error_of(box, sample.targets)
        if self._settings.fast:
            scales = factor_scale(lambda scales: self._lists(scales).value(box * scales), first).scales
            return ScaledStart(scales, error(scales))
        rough = self._error_of(box, sample.rough)
        start = searched_scale(rough, grid_scale(rough, first))
        if sample.rough is sample.targets:
            return start
        return searched_scale(error, ScaledStart(start.scales, error(start.scales)))

    def _place(self, name: str, start: ScaledStart) -> None:
        """Bring the pieces of a start near each other before it is judged."""
        problem = self._settings.problem(self._sample.targets, self._units(start.scales), self.n_excluded)
        placed, error = brought_near(self._settings, problem, self.boxes[name] * start.scales, start.error)
        self.placed[name], self.scaled[name] = placed, replace(start, error=error)

    def _lists(self, scales: Array) -> ListProblem:
        return ListProblem(self._sample.leading, self.n_excluded, self._units(scales))

    def _units(self, scales: Array) -> LatentUnits:
        """Boxes have sides of 2, which is the period of circles."""
        return LatentUnits(np.where(self._settings.space.is_circle, 2.0 * scales, np.inf))

    def _error_of(self, box: Array, targets: Targets) -> Callable[[Array], float]:
        """The objective as a function of the scales of a start; infinite where points are isolated."""

        def error(scales: Array) -> float:
            evaluator = self._settings.problem(targets, self._units(scales), self.n_excluded).evaluator()
            isolated = self._settings.density_kernel.ends and evaluator.isolated(box * scales).any()
            return np.inf if isolated else evaluator.value(box * scales)

        return error
