"""The fit of `UnsupervisedKernelRegression` from its parameters: starts, their scales, homotopy, optimisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from mercer.graphs.searches import Tree
from mercer.manifolds.rotation import automatic_n_rotated, rotation_of
from mercer.manifolds.starts import filled
from mercer.manifolds.ukr.fitting import LatentFit, fit_latent, homotopy
from mercer.manifolds.ukr.gathering import GAPS, gathered
from mercer.manifolds.ukr.lists import ListObjective
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.rows import TrainingRows
from mercer.manifolds.ukr.samples import placed
from mercer.manifolds.ukr.scaling import ScaledStart, factor_scale, first_scale, grid_scale, searched_scale
from mercer.manifolds.ukr.settings import OWNER, Settings
from mercer.manifolds.ukr.starts import MANIFOLD, apart, candidate_names, candidates, spread
from mercer.manifolds.ukr.structure import common_share, halves_tell, n_excluded_for
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Rows that starts are found and scaled on, and that more are fitted by way of.
_START_ROWS = 3000
# How often points that are isolated may go to others: those that they leave may be isolated then.
_MOST_MOVES = 5
# Iterations after which starts are compared, and the worse half of them is dropped.
_ROUNDS = (10, 20, 60)
# By which factor pieces that are brought near each other may raise the objective.
_A_LITTLE = 1.05
# Iterations on all rows, unless their number is given, after those on a sample.
_MAX_ITER_OF_ALL = 20
# A manifold whose objective is less than this share of those of graphs, before any descent, needs no comparison.
_CLEARLY = 0.9
# Iterations by all pairs after those by lists of neighbours.
_EXACT_ITERATIONS = 10
# Iterations after which a fast start tells how many neighbours are to be left out.
_FEW_ITERATIONS = 30


@dataclass(frozen=True)
class Training:
    """What `UnsupervisedKernelRegression` learns: latent points in widths of the kernel, and how they were found."""

    fit: LatentFit
    objective: LatentObjective
    units: LatentUnits
    init: str
    candidates: dict[str, list[Any]]


def train(
    parameters: dict[str, Any], settings: Settings, rows: TrainingRows, previous: tuple[Array, LatentUnits, int] | None
) -> Training:
    """Fit latent points to rows.

    Parameters
    ----------
    parameters : dict
        Of the estimator, by name.
    settings : Settings
        The same in numbers.
    rows : TrainingRows
        What is regressed.
    previous : tuple, optional
        Latent points, in widths, their units, and the number of neighbours that were left out, to go on from.
    """
    if previous is not None:
        init, table = "warm_start", {}
        Z, units, n_excluded = previous
        if settings.n_excluded_is_auto and n_excluded:
            settings = replace(settings, n_excluded=min(n_excluded, settings.n_excluded))
        fit = _unfolded(parameters, settings, rows.targets, Z, units)
    else:
        rng = check_random_state(parameters["random_state"])
        starts = _Starts(settings, rows, parameters["init"], rng)
        if starts.fast and not starts.settled():
            starts = _Starts(replace(settings, fast=False), rows, parameters["init"], rng)
        init = starts.best()
        needed = starts.needed(init)
        if needed < starts.n_excluded:
            share = needed / starts.n_excluded
            settings = replace(settings, n_excluded=max(1, round(share * settings.n_excluded)))
            starts.leave_out(needed, settings)
            init = starts.best()
        table = starts.table()
        if starts.fast:
            Z, units = starts.of_some(init)
            fit = _by_lists(parameters, settings, rows, Z, units)
        elif starts.are_of_all or init == "given" or not rows.part_is_like_all:
            Z, units = starts.of_all(init)
            fit = _unfolded(parameters, settings, rows.targets, Z, units)
        else:
            fit, units = _by_sample(parameters, settings, rows, starts, init)
    # Another objective than the one that was minimised, whose lists of neighbours take memory.
    return Training(fit, _objective(settings, rows.targets, units, settings.n_excluded), units, init, table)


def _by_lists(
    parameters: dict[str, Any], settings: Settings, rows: TrainingRows, Z: Array, units: LatentUnits
) -> LatentFit:
    """A descent by lists of latent neighbours, which counts as one iteration, and the last ones by all pairs.

    The history is that of the objective itself, at the start, after the lists, and from there on.
    """
    exact = _objective(settings, rows.targets, units, settings.n_excluded)
    options = {name: parameters[name] for name in ("tol", "verbose", "callback")}
    lists = ListObjective(_leading(rows.points), settings.n_excluded, units)
    found = fit_latent(lists, Z, optimizer="rprop", max_iter=settings.max_iter, **options)
    first, value = exact.value(Z), exact.value(found.Z)
    if not value < first:
        found, value = replace(found, Z=Z), first
    Z, value = _gathered(exact, found.Z, value)
    if found.status == "interrupted":
        return LatentFit(Z, value, [first, min(first, value)], 1, "interrupted")
    fit = _optimized(parameters, replace(settings, max_iter=_EXACT_ITERATIONS), rows.targets, Z, units)
    history = [first, *(min(first, value) for value in fit.history)]
    status = fit.status if fit.status == "interrupted" else found.status
    return replace(fit, history=history, n_iter=len(history) - 1, status=status)


def _leading(Y: Array) -> Array:
    """Rows, of many columns their leading components."""
    Y = Y - Y.mean(axis=0)
    return rotation_of(Y, automatic_n_rotated(Y), 0).leading(Y)


def _by_sample(
    parameters: dict[str, Any], settings: Settings, rows: TrainingRows, starts: _Starts, init: str
) -> tuple[LatentFit, LatentUnits]:
    """A fit to those rows that starts were compared on, and from there to all.

    Many iterations on few rows find the shape, and all rows need few from where they are projected on it.
    """
    Z, units = starts.of_some(init)
    part = replace(settings, n_excluded=starts.n_excluded)
    sample = _unfolded({**parameters, "callback": None}, part, starts.targets, Z, units)
    objective = _objective(settings, starts.targets, units, 0)
    Z, units, finished = placed(rows.points, starts.some, sample.Z, objective, units)
    Z = _joined(settings, rows.targets, Z, units)
    objective = _objective(settings, rows.targets, units, settings.n_excluded)
    Z, value = _gathered(objective, Z, objective.value(Z))
    if sample.status == "interrupted" or not finished:
        return LatentFit(Z, value, [value], 0, "interrupted"), units
    few = parameters["max_iter"] is None
    most = _MAX_ITER_OF_ALL if few else settings.max_iter
    fit = _optimized(parameters, replace(settings, max_iter=most), rows.targets, Z, units)
    # Few iterations on all cannot tell whether more would gain anything: the sample had enough of them, or not.
    ended = sample.status if few or fit.status == "optimal" else fit.status
    return fit if fit.status == "interrupted" else replace(fit, status=ended), units


def _unfolded(
    parameters: dict[str, Any], settings: Settings, targets: Targets, Z: Array, units: LatentUnits
) -> LatentFit:
    """Homotopy, if it is wanted, and optimisation; the history is that of both."""
    if not settings.thresholds:
        return _optimized(parameters, settings, targets, Z, units)
    objective = _objective(settings, targets, units, settings.n_excluded)
    first = homotopy(objective, Z, settings.thresholds, verbose=parameters["verbose"])
    if first.status == "interrupted":
        return first
    fit = _optimized(parameters, settings, targets, first.Z, units)
    return replace(fit, history=first.history + fit.history[1:], n_iter=first.n_iter + fit.n_iter)


def _optimized(
    parameters: dict[str, Any], settings: Settings, targets: Targets, Z: Array, units: LatentUnits
) -> LatentFit:
    """Descent, after which pieces that lie far apart are brought near each other."""
    objective = _objective(settings, targets, units, settings.n_excluded)
    options = {name: parameters[name] for name in ("tol", "verbose", "callback")}
    fit = fit_latent(objective, Z, optimizer=settings.optimizer, max_iter=settings.max_iter, **options)
    Z, value = _gathered(objective, fit.Z, fit.objective)
    return fit if Z is fit.Z else replace(fit, Z=Z, objective=value)


def _gathered(objective: LatentObjective, Z: Array, value: float) -> tuple[Array, float]:
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


def _objective(settings: Settings, targets: Targets, units: LatentUnits, n_excluded: int) -> LatentObjective:
    return LatentObjective(
        targets, settings.density_kernel, n_excluded, units.periods if units.is_circle.any() else None
    )


def _joined(settings: Settings, targets: Targets, Z: Array, units: LatentUnits) -> Array:
    """Points of all rows, where those that are isolated have gone to the nearest that is not: scales are of some."""
    objective = _objective(settings, targets, units, settings.n_excluded)
    for _ in range(_MOST_MOVES if settings.density_kernel == "quartic" else 0):
        isolated = objective.isolated(Z)
        if not isolated.any() or isolated.all():
            break
        U = units.unrolled(Z)
        nearest = Tree(U[~isolated]).nearest(U[isolated], 1)[1][:, 0]
        Z = Z.copy()
        Z[isolated] = Z[~isolated][nearest]
    return Z


class _Starts:
    """Candidates, found, scaled and compared on some of the rows if these are many.

    Each is brought to its best scale, on a grid and by a direct search, and its pieces near each other. Several are
    compared after short descents: a start may tear what belongs together, and have the least objective for now. All
    descend for ten iterations, the better half of them for twenty, and the better half of these for sixty.
    """

    def __init__(self, settings: Settings, rows: TrainingRows, init: Any, rng: Any):
        self._settings, self._rows, self._init, self._rng = settings, rows, init, rng
        n = len(rows.points)
        self.fast = settings.fast and not np.isnan(rows.points).any()
        whole = self.fast or n <= _START_ROWS
        self.some = np.arange(n) if whole else np.sort(rng.choice(n, _START_ROWS, replace=False))
        points, self.targets, self._rough = rows.part(self.some)
        if isinstance(init, str):
            names = settings.names if self.fast or init != "auto" else candidate_names(init)
            self._boxes = candidates(points, settings.space, names, rng)
        else:
            self._boxes = {"given": self._given()[self.some]}
        if not self._boxes:
            raise ValueError(
                f"init of {OWNER} must give finite coordinates that differ, got none from {init!r}; take 'pca'."
            )
        self.n_excluded = settings.n_excluded_of_part(len(self.some), n)
        self._scaled: dict[str, ScaledStart] = {}
        self._placed: dict[str, Array] = {}
        self._descended: dict[str, LatentFit] = {}

    @property
    def are_of_all(self) -> bool:
        """Whether they are starts of all rows."""
        return len(self.some) == len(self._rows.points)

    def settled(self) -> bool:
        """Whether the manifold is clearly better than the other starts, before any descent; these are then dropped.

        Ctrl-C ends the comparison with those that there are.
        """
        try:
            self._place_all()
        except KeyboardInterrupt:
            if MANIFOLD not in self._scaled:
                raise
        own, *others = [self._scaled[name].error for name in sorted(self._scaled, key=lambda name: name != MANIFOLD)]
        if MANIFOLD not in self._scaled or not own < _CLEARLY * min(others, default=np.inf):
            return False
        for kept in (self._boxes, self._scaled, self._placed):
            for name in set(kept) - {MANIFOLD}:
                del kept[name]
        return True

    def _place_all(self) -> None:
        for name, box in self._boxes.items():
            if name not in self._scaled:
                self._place(name, self._at_best_scale(box))

    def best(self) -> str:
        """The name of the best start.

        Ctrl-C ends the comparison with those that there are.
        """
        try:
            self._place_all()
            self._compare()
        except KeyboardInterrupt:
            if not self._scaled:
                raise
        return min(self._descended or self._scaled, key=self._error)

    def needed(self, name: str) -> int:
        """How many neighbours should be left out, by what a start leaves of the rows after a short descent.

        At most as many as were; so many if the number is given, and where columns cannot tell. Ctrl-C ends the descent.
        """
        settings, Y = self._settings, self._rows.points[self.some]
        if not (settings.n_excluded_is_auto and self._rows.has_columns and halves_tell(Y, settings.space.n_dims)):
            return self.n_excluded
        try:
            fit = self._descend(name, _FEW_ITERATIONS if self.fast else _ROUNDS[-1])
        except KeyboardInterrupt:
            return self.n_excluded
        objective = _objective(settings, self.targets, self._units(self._scaled[name].scales), 0)
        return n_excluded_for(common_share(Y, fit.Z, objective), self.n_excluded)

    def leave_out(self, n_excluded: int, settings: Settings) -> None:
        """Forget what was found with another number of neighbours: the best start may be another one, too."""
        self.n_excluded, self._settings = n_excluded, settings
        self._scaled, self._placed, self._descended = {}, {}, {}

    def of_some(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of some of the rows in widths of the kernel, and their units."""
        return self._placed[name], self._units(self._scaled[name].scales)

    def of_all(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of all rows in widths of the kernel, and their units."""
        if self.are_of_all:
            return self.of_some(name)
        # Of more rows each has more neighbours: the kernel may be narrower.
        share = len(self.some) / len(self._rows.points)
        scales = self._scaled[name].scales * share ** (-1.0 / (self._settings.space.n_dims + 4))
        units = self._units(scales)
        Z = _joined(self._settings, self._rows.targets, self._of_all(name) * scales, units)
        objective = _objective(self._settings, self._rows.targets, units, self._settings.n_excluded)
        return _gathered(objective, Z, objective.value(Z))[0], units

    def _at_best_scale(self, box: Array) -> ScaledStart:
        """The scales of a start; the last steps are always by the objective itself."""
        first = first_scale(box, self._settings.density_kernel)
        if self.fast:
            scales = factor_scale(lambda scales: self._lists(scales).value(box * scales), first).scales
            return ScaledStart(scales, self._error_of(box, self.targets)(scales))
        rough, error = self._error_of(box, self._rough), self._error_of(box, self.targets)
        start = searched_scale(rough, grid_scale(rough, first))
        if self._rough is self.targets:
            return start
        return searched_scale(error, ScaledStart(start.scales, error(start.scales)))

    def _place(self, name: str, start: ScaledStart) -> None:
        """Bring the pieces of a start near each other before it is judged."""
        objective = _objective(self._settings, self.targets, self._units(start.scales), self.n_excluded)
        self._placed[name], error = _gathered(objective, self._boxes[name] * start.scales, start.error)
        self._scaled[name] = replace(start, error=error)

    def _compare(self) -> None:
        """Let all starts descend, and ever fewer of them longer."""
        left = sorted(self._scaled, key=self._error)
        for n_iter in _ROUNDS:
            if len(left) == 1:
                break
            for name in left:
                self._descend(name, n_iter)
            left = sorted(left, key=self._error)[: (len(left) + 1) // 2]

    def _descend(self, name: str, n_iter: int) -> LatentFit:
        """The descent from a start, with so many iterations unless it has ended before."""
        Z, units = self.of_some(name)
        before = self._descended.get(name, LatentFit(Z, np.inf, [np.inf], 0, "max_iter"))
        if before.n_iter < n_iter and before.status == "max_iter":
            exact = _objective(self._settings, self.targets, units, self.n_excluded)
            objective = self._lists(self._scaled[name].scales) if self.fast else exact
            fit = fit_latent(objective, before.Z, optimizer="rprop", max_iter=n_iter - before.n_iter)
            if fit.status == "interrupted":
                raise KeyboardInterrupt
            if self.fast:
                fit = replace(fit, objective=exact.value(fit.Z))
            self._descended[name] = replace(fit, n_iter=before.n_iter + fit.n_iter)
        return self._descended[name]

    def _error(self, name: str) -> float:
        """The objective of a start, after a descent if there was one."""
        return self._descended[name].objective if name in self._descended else self._scaled[name].error

    def table(self) -> dict[str, list[Any]]:
        """All starts, and their errors on the rows that they were compared on."""
        errors: dict[int, list[float]] = {self.n_excluded: [], 0: []}
        for name in self._scaled:
            Z, units = self.of_some(name)
            for n_excluded, column in errors.items():
                column.append(_objective(self._settings, self.targets, units, n_excluded).value(Z))
        descended = [self._descended.get(name) for name in self._scaled]
        return {
            "start": list(self._scaled),
            "objective": errors[self.n_excluded],
            "leave_one_out_error": errors[0],
            "descended": [np.nan if fit is None else fit.objective for fit in descended],
            "iterations": [0 if fit is None else fit.n_iter for fit in descended],
        }

    def _lists(self, scales: Array) -> ListObjective:
        """The objective over lists, in units of these scales."""
        return ListObjective(self._leading, self.n_excluded, self._units(scales))

    @cached_property
    def _leading(self) -> Array:
        return _leading(self._rows.points[self.some])

    def _units(self, scales: Array) -> LatentUnits:
        """Boxes have sides of 2, which is the period of circles."""
        return LatentUnits(np.where(self._settings.space.is_circle, 2.0 * scales, np.inf))

    def _error_of(self, box: Array, targets: Targets) -> Callable[[Array], float]:
        """The objective as a function of the scales of a start."""

        def error(scales: Array) -> float:
            objective = _objective(self._settings, targets, self._units(scales), self.n_excluded)
            Z = box * scales
            isolated = self._settings.density_kernel == "quartic" and objective.isolated(Z).any()
            return np.inf if isolated else objective.value(Z)

        return error

    def _of_all(self, name: str) -> Array:
        """Coordinates of all rows in the box of a start."""
        if name == "given":
            return self._given()
        return spread(filled(self._rows.points), self.some, self._boxes[name], self._settings.space)

    def _given(self) -> Array:
        """Coordinates that the user gives, lines brought to a box."""
        space = self._settings.space
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
