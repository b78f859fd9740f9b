"""The search for a start: candidates, each at its best scale, compared by short descents on some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from mercer.graphs.searches import Tree
from mercer.manifolds.latent.starts import filled
from mercer.manifolds.ukr.fitting import Callback, LatentFit, fit_latent
from mercer.manifolds.ukr.gathering import GAPS, gathered
from mercer.manifolds.ukr.lists import ListObjective, leading_columns
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.rows import DataRows, TrainingRows
from mercer.manifolds.ukr.scaling import ScaledStart, factor_scale, first_scale, grid_scale, searched_scale
from mercer.manifolds.ukr.settings import OWNER, Settings
from mercer.manifolds.ukr.starts import MANIFOLD, apart, candidates, spread
from mercer.manifolds.ukr.structure import common_share, halves_tell, n_excluded_for
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Rows that starts are found and scaled on, and that more are fitted by way of; of fast fits, whose few starts differ
# more than by what a larger sample would tell.
START_ROWS, FAST_START_ROWS = 3000, 2000
# How often points that are isolated may go to others: those that they leave may be isolated then.
_MOST_MOVES = 5
# Iterations after which starts are compared, and the worse half of them is dropped.
ROUNDS = (10, 20, 60)
# By which factor pieces that are brought near each other may raise the objective.
_A_LITTLE = 1.05
# A manifold whose objective is less than this share of those of graphs, before any descent, needs no comparison.
_CLEARLY = 0.9
# Iterations after which a fast start tells how many neighbours are to be left out.
_FEW_ITERATIONS = 30


def objective_of(settings: Settings, targets: Targets, units: LatentUnits, n_excluded: int) -> LatentObjective:
    """The objective in some units, with so many neighbours left out."""
    return LatentObjective(
        targets, settings.density_kernel, n_excluded, units.periods if units.is_circle.any() else None
    )


def brought_near(objective: LatentObjective | ListObjective, Z: Array, value: float) -> tuple[Array, float]:
    """Points whose pieces are brought near each other, and the objective there.

    Pieces so small that all other rows in them are left out are estimated from others, and care where these are: if
    that raises the objective by more than a little, all points stay. So they do with circles, around which no piece can
    be moved away from one end without coming nearer to the other.
    """
    near = Z if objective.periods is not None else gathered(Z, GAPS[objective.density_kernel])
    if near is Z:
        return Z, value
    error = objective.value(near)
    return (near, error) if error <= _A_LITTLE * value else (Z, value)


def joined(settings: Settings, targets: Targets, Z: Array, units: LatentUnits) -> Array:
    """Points of all rows, where those that are isolated have gone to the nearest that is not: scales are of some."""
    objective = objective_of(settings, targets, units, settings.n_excluded)
    for _ in range(_MOST_MOVES if settings.density_kernel == "quartic" else 0):
        isolated = objective.isolated(Z)
        if not isolated.any() or isolated.all():
            break
        U = units.unrolled(Z)
        nearest = Tree(U[~isolated]).nearest(U[isolated], 1)[1][:, 0]
        Z = Z.copy()
        Z[isolated] = Z[~isolated][nearest]
    return Z


@dataclass
class _Kept:
    """What is known of starts, by their names: scales, points with pieces near each other, and short descents."""

    scaled: dict[str, ScaledStart]
    placed: dict[str, Array]
    descended: dict[str, LatentFit]


class StartSearch:
    """Candidates, found, scaled and compared on some of the rows if these are many.

    Each is brought to its best scale, on a grid and by a direct search, and its pieces near each other. Several are
    compared after short descents: a start may tear what belongs together, and have the least objective for now. All
    descend for ten iterations, the better half of them for twenty, and the better half of these for sixty.

    Fast fits have few starts, scaled and compared by lists of neighbours; none descends if a soft manifold is clearly
    better than the others before.

    Parameters
    ----------
    settings : Settings
        Of the fit to all rows.
    rows : TrainingRows
        What is regressed.
    init : str or array
        As it was given.
    rng : RandomState
        Chooses a sample.
    callback : callable, optional
        Asked after each of several starts and after each iteration of descents, with their number and a `LatentFit` of
        the rows that are looked at; ends the search if it returns True.

    Attributes
    ----------
    some : array of shape (n,)
        Positions of the rows that starts are compared on.
    settings : Settings
        With the number of neighbours to leave out.
    n_excluded : int
        The number of them among these rows.
    interrupted : bool
        Whether Ctrl-C or the callback ended the search: the best start so far is then all that there is time for.
    """

    def __init__(self, settings: Settings, rows: TrainingRows, init: Any, rng: Any, callback: Callback | None = None):
        self.settings, self._rows, self._init, self._rng, self._callback = settings, rows, init, rng, callback
        n, most = len(rows.points), FAST_START_ROWS if settings.fast else START_ROWS
        self.some = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
        self.points, self.targets, self._rough = rows.part(self.some)
        self.n_excluded = settings.n_excluded_of_part(len(self.some), n)
        self.interrupted = False
        self._n_told, self._boxes, self._kept = 0, dict[str, Array](), _Kept({}, {}, {})

    @property
    def are_of_all(self) -> bool:
        """Whether they are starts of all rows."""
        return len(self.some) == len(self._rows.points)

    def run(self) -> str:
        """The name of the best start; Ctrl-C ends the search with those that there are."""
        first = dict(vars(self))
        try:
            best = self._best()
            needed = self._needed(best)
            if needed < self.n_excluded:
                first = dict(vars(self))
                self._leave_out(needed, best)
                best = self._best()
        except KeyboardInterrupt:
            if not self._kept.scaled:
                vars(self).update(first)
            if not self._kept.scaled:
                raise
            self.interrupted = True
            best = self._least()
        return best

    # Comparison ------------------------------------------------------------------------------------------------------

    def _best(self) -> str:
        """Place all starts, and let them descend."""
        several = len(self.settings.names) > 1
        for name, box in self._found():
            self._boxes[name] = box
            self._place(name, self._at_best_scale(box))
            if several:
                self._tell(LatentFit(self._kept.placed[name], self._error(name), [self._error(name)], 0, "max_iter"))
        if not self._boxes:
            raise ValueError(
                f"init of {OWNER} must give finite coordinates that differ, got none from {self._init!r}; take 'pca'."
            )
        if self._is_settled():
            for kept in (self._boxes, *vars(self._kept).values()):
                for name in set(kept) - {MANIFOLD}:
                    del kept[name]
        else:
            self._compare()
        return self._least()

    def _found(self) -> Iterable[tuple[str, Array]]:
        """Names and boxes of starts, which are found one by one and then known."""
        if self._boxes:
            return list(self._boxes.items())
        if not isinstance(self._init, str):
            return [("given", self._given()[self.some])]
        return candidates(self.points, self.settings.space, self.settings.names, self._rng)

    def _is_settled(self) -> bool:
        """Whether the manifold is clearly better than the other starts, before any descent."""
        if not self.settings.fast or MANIFOLD not in self._kept.scaled:
            return False
        others = [start.error for name, start in self._kept.scaled.items() if name != MANIFOLD]
        return bool(self._kept.scaled[MANIFOLD].error < _CLEARLY * min(others, default=np.inf))

    def _compare(self) -> None:
        """Let all starts descend, and ever fewer of them longer."""
        left = sorted(self._kept.scaled, key=self._error)
        for n_iter in ROUNDS:
            if len(left) == 1:
                break
            for name in left:
                self._descend(name, n_iter)
            left = sorted(left, key=self._error)[: (len(left) + 1) // 2]

    def _least(self) -> str:
        return min(self._kept.descended or self._kept.scaled, key=self._error)

    def _error(self, name: str) -> float:
        """The objective of a start, after a descent if there was one."""
        kept = self._kept
        return kept.descended[name].objective if name in kept.descended else kept.scaled[name].error

    def _needed(self, name: str) -> int:
        """How many neighbours should be left out, by what a start leaves of the rows after a short descent.

        At most as many as were; so many if the number is given, and where columns cannot tell.
        """
        settings, Y = self.settings, self._rows.points[self.some]
        if not (settings.n_excluded_is_auto and self._rows.has_columns and halves_tell(Y, settings.space.n_dims)):
            return self.n_excluded
        fit = self._descend(name, _FEW_ITERATIONS if settings.fast else ROUNDS[-1])
        objective = objective_of(settings, self.targets, self._units(self._kept.scaled[name].scales), 0)
        return n_excluded_for(common_share(Y, fit.Z, objective), self.n_excluded)

    def _leave_out(self, n_excluded: int, best: str) -> None:
        """Forget what was found with another number of neighbours: the best start may be another one, too.

        Of the few starts of fast fits the others are beaten already.
        """
        share = n_excluded / self.n_excluded
        self.settings = replace(self.settings, n_excluded=max(1, round(share * self.settings.n_excluded)))
        self.n_excluded, self._kept = n_excluded, _Kept({}, {}, {})
        self._boxes = {best: self._boxes[best]} if self.settings.fast else self._boxes

    def _descend(self, name: str, n_iter: int) -> LatentFit:
        """The descent from a start, with so many iterations unless it has ended before."""
        Z, units = self.of_some(name)
        before = self._kept.descended.get(name, LatentFit(Z, np.inf, [np.inf], 0, "max_iter"))
        if before.n_iter < n_iter and before.status == "max_iter":
            exact = objective_of(self.settings, self.targets, units, self.n_excluded)
            objective = self._lists(self._kept.scaled[name].scales) if self.settings.fast else exact
            fit = fit_latent(
                objective, before.Z, optimizer="rprop", max_iter=n_iter - before.n_iter,
                callback=None if self._callback is None else lambda _, fit: self._tell(fit),
            )  # fmt: skip
            if fit.status == "interrupted":
                raise KeyboardInterrupt
            if self.settings.fast:
                fit = replace(fit, objective=exact.value(fit.Z))
            self._kept.descended[name] = replace(fit, n_iter=before.n_iter + fit.n_iter)
        return self._kept.descended[name]

    def _tell(self, fit: LatentFit) -> None:
        self._n_told += 1
        if self._callback is not None and self._callback(self._n_told, fit):
            raise KeyboardInterrupt

    # Results ---------------------------------------------------------------------------------------------------------

    def of_some(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of some of the rows in widths of the kernel, and their units."""
        return self._kept.placed[name], self._units(self._kept.scaled[name].scales)

    def of_all(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of all rows in widths of the kernel, and their units."""
        if self.are_of_all:
            return self.of_some(name)
        # Of more rows each has more neighbours: the kernel may be narrower.
        share = len(self.some) / len(self._rows.points)
        scales = self._kept.scaled[name].scales * share ** (-1.0 / (self.settings.space.n_dims + 4))
        units = self._units(scales)
        Z = joined(self.settings, self._rows.targets, self._of_all(name) * scales, units)
        objective = objective_of(self.settings, self._rows.targets, units, self.settings.n_excluded)
        return (Z if self.interrupted else brought_near(objective, Z, objective.value(Z))[0]), units

    def stopped(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of all rows after what there was of a descent."""
        if self.are_of_all and name in self._kept.descended:
            return self._kept.descended[name].Z, self._units(self._kept.scaled[name].scales)
        return self.of_all(name)

    def table(self) -> dict[str, list[Any]]:
        """All starts, and their errors on the rows that they were compared on."""
        kept = self._kept
        names, descended = list(kept.scaled), [kept.descended.get(name) for name in kept.scaled]
        return {
            "start": names,
            "objective": [kept.scaled[name].error for name in names],
            "leave_one_out_error": [self._leave_one_out_error(name) for name in names],
            "descended": [np.nan if fit is None else fit.objective for fit in descended],
            "iterations": [0 if fit is None else fit.n_iter for fit in descended],
        }

    def _leave_one_out_error(self, name: str) -> float:
        """NaN if there is no time for it."""
        if self.interrupted:
            return np.nan
        Z, units = self.of_some(name)
        return objective_of(self.settings, self.targets, units, 0).value(Z)

    @property
    def rows_of_some(self) -> TrainingRows:
        """The rows of the sample, as those of a table of their own."""
        return DataRows(self._rows.points[self.some])

    # Scales ----------------------------------------------------------------------------------------------------------

    def _at_best_scale(self, box: Array) -> ScaledStart:
        """The scales of a start; the last steps are always by the objective itself."""
        first = first_scale(box, self.settings.density_kernel)
        if self.settings.fast:
            scales = factor_scale(lambda scales: self._lists(scales).value(box * scales), first).scales
            return ScaledStart(scales, self._error_of(box, self.targets)(scales))
        rough, error = self._error_of(box, self._rough), self._error_of(box, self.targets)
        start = searched_scale(rough, grid_scale(rough, first))
        if self._rough is self.targets:
            return start
        return searched_scale(error, ScaledStart(start.scales, error(start.scales)))

    def _place(self, name: str, start: ScaledStart) -> None:
        """Bring the pieces of a start near each other before it is judged."""
        objective = objective_of(self.settings, self.targets, self._units(start.scales), self.n_excluded)
        placed, error = brought_near(objective, self._boxes[name] * start.scales, start.error)
        self._kept.placed[name], self._kept.scaled[name] = placed, replace(start, error=error)

    def _lists(self, scales: Array) -> ListObjective:
        """The objective over lists, in units of these scales."""
        return ListObjective(self._leading, self.n_excluded, self._units(scales))

    @cached_property
    def _leading(self) -> Array:
        return leading_columns(self.points)

    def _units(self, scales: Array) -> LatentUnits:
        """Boxes have sides of 2, which is the period of circles."""
        return LatentUnits(np.where(self.settings.space.is_circle, 2.0 * scales, np.inf))

    def _error_of(self, box: Array, targets: Targets) -> Callable[[Array], float]:
        """The objective as a function of the scales of a start."""

        def error(scales: Array) -> float:
            objective = objective_of(self.settings, targets, self._units(scales), self.n_excluded)
            Z = box * scales
            isolated = self.settings.density_kernel == "quartic" and objective.isolated(Z).any()
            return np.inf if isolated else objective.value(Z)

        return error

    def _of_all(self, name: str) -> Array:
        """Coordinates of all rows in the box of a start."""
        if name == "given":
            return self._given()
        return spread(filled(self._rows.points), self.some, self._boxes[name], self.settings.space)

    def _given(self) -> Array:
        """Coordinates that the user gives, lines brought to a box."""
        space = self.settings.space
        shape = (len(self._rows.points), space.n_dims)
        Z = check_array(self._init, dtype=np.float64, input_name="init")
        if Z.shape != shape:
            raise ValueError(
                f"init of {OWNER} must be of shape {shape}, coordinates of the rows, got {Z.shape}; or name a method."
            )
        low, high = Z.min(axis=0), Z.max(axis=0)
        if not np.any(high > low):
            raise ValueError(
                f"init of {OWNER} must have points that differ, got {len(Z)} equal ones; there is nothing to scale."
            )
        half = np.where(high > low, (high - low) / 2.0, 1.0)
        return apart(space.inside(np.where(space.is_circle, Z, (Z - low) / half - 1.0)), space, self._rng)
