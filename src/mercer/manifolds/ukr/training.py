"""The fit of `UnsupervisedKernelRegression` from its parameters: starts, their scales, homotopy, optimisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from mercer.manifolds.starts import filled
from mercer.manifolds.ukr.fitting import LatentFit, fit_latent, homotopy
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.rows import TrainingRows
from mercer.manifolds.ukr.scaling import ScaledStart, first_scale, grid_scale, searched_scale
from mercer.manifolds.ukr.settings import OWNER, Settings
from mercer.manifolds.ukr.starts import apart, candidates, spread
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Rows that starts are found and scaled on.
_START_ROWS = 3000
# What scales are multiplied by, so often at most, where points are isolated.
_SHRINKAGE, _MOST_SHRINKAGES = 0.8, 5
# Iterations after which the best starts of each method are compared.
_SHORT = 30


@dataclass(frozen=True)
class Training:
    """What `UnsupervisedKernelRegression` learns: latent points in widths of the kernel, and how they were found."""

    fit: LatentFit
    objective: LatentObjective
    units: LatentUnits
    init: str
    candidates: dict[str, list[Any]]


def train(
    parameters: dict[str, Any], settings: Settings, rows: TrainingRows, previous: tuple[Array, LatentUnits] | None
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
        Latent points, in widths, and their units, to go on from.
    """
    table: dict[str, list[Any]] = {}
    if previous is not None:
        init, (Z, units) = "warm_start", previous
    else:
        starts = _Starts(settings, rows, parameters["init"], check_random_state(parameters["random_state"]))
        init, Z, units = starts.best()
        table = starts.table()
    objective = _objective(settings, rows.targets, units, settings.n_excluded)
    if previous is None and settings.thresholds:
        unfolded = homotopy(objective, Z, settings.thresholds, verbose=parameters["verbose"])
        if unfolded.status == "interrupted":
            return Training(unfolded, objective, units, init, table)
        Z = unfolded.Z
    options = {name: parameters[name] for name in ("tol", "verbose", "callback")}
    fit = fit_latent(objective, Z, optimizer=settings.optimizer, max_iter=settings.max_iter, **options)
    return Training(fit, objective, units, init, table)


def _objective(settings: Settings, targets: Targets, units: LatentUnits, n_excluded: int) -> LatentObjective:
    return LatentObjective(
        targets, settings.density_kernel, n_excluded, units.periods if units.is_circle.any() else None
    )


class _Starts:
    """Candidates, found, scaled and compared on some of the rows if these are many.

    All are scaled on a grid, and the best of each method by a direct search. Where there are several methods, these
    are compared after a short descent: a start may tear what belongs together, and have the least objective for now.
    """

    def __init__(self, settings: Settings, rows: TrainingRows, init: Any, rng: Any):
        self._settings, self._rows, self._init, self._rng = settings, rows, init, rng
        n = len(rows.points)
        self._some = np.arange(n) if n <= _START_ROWS else np.sort(rng.choice(n, _START_ROWS, replace=False))
        points, self._targets = rows.part(self._some)
        if isinstance(init, str):
            self._boxes = candidates(points, settings.space, settings.names, rng)
        else:
            self._boxes = {"given": self._given()[self._some]}
        if not self._boxes:
            raise ValueError(
                f"init of {OWNER} must give finite coordinates that differ, got none from {init!r}; take 'pca'."
            )
        self._scaled: dict[str, ScaledStart] = {}
        self._descended: dict[str, float] = {}

    def best(self) -> tuple[str, Array, LatentUnits]:
        """The name of the best start, its points in widths of the kernel, and their units.

        Ctrl-C ends the comparison with those that there are.
        """
        try:
            self._compare()
        except KeyboardInterrupt:
            if not self._scaled:
                raise
        name = min(self._descended or self._scaled, key=self._error)
        # Of more rows each has more neighbours: the kernel may be narrower.
        share = len(self._some) / len(self._rows.points)
        scales = self._scaled[name].scales * share ** (-1.0 / (self._settings.space.n_dims + 4))
        box = self._of_all(name)
        if share < 1.0 and self._settings.density_kernel == "quartic":
            scales = self._joined(box, scales)
        return name, box * scales, self._units(scales)

    def _joined(self, box: Array, scales: Array) -> Array:
        """Smaller scales if rows that the start was not scaled on are isolated, but not for a few far ones."""
        for _ in range(_MOST_SHRINKAGES):
            units = self._units(scales)
            objective = _objective(self._settings, self._rows.targets, units, self._settings.n_excluded)
            if not objective.isolated(box * scales).any():
                break
            scales = _SHRINKAGE * scales
        return scales

    def _compare(self) -> None:
        for name, box in self._boxes.items():
            self._scaled[name] = grid_scale(self._error_of(box), first_scale(box, self._settings.density_kernel))
        best: dict[str, str] = {}
        for name in sorted(self._scaled, key=self._error):
            best.setdefault(name.partition("-")[0], name)
        for name in best.values():
            self._scaled[name] = searched_scale(self._error_of(self._boxes[name]), self._scaled[name])
        if len(best) > 1:
            for name in best.values():
                self._descended[name] = self._after_descent(name)

    def _after_descent(self, name: str) -> float:
        scales = self._scaled[name].scales
        objective = _objective(self._settings, self._targets, self._units(scales), self._settings.n_excluded)
        fit = fit_latent(objective, self._boxes[name] * scales, optimizer="rprop", max_iter=_SHORT)
        if fit.status == "interrupted":
            raise KeyboardInterrupt
        return fit.objective

    def _error(self, name: str) -> float:
        """The objective of a start, after a descent if there was one."""
        return self._descended.get(name, self._scaled[name].error)

    def table(self) -> dict[str, list[Any]]:
        """All starts, and their errors on the rows that they were compared on."""
        targets = self._targets if len(self._some) < len(self._rows.points) else self._rows.targets
        errors: dict[int, list[float]] = {self._settings.n_excluded: [], 0: []}
        for name, start in self._scaled.items():
            for n_excluded, column in errors.items():
                objective = _objective(self._settings, targets, self._units(start.scales), n_excluded)
                column.append(objective.value(self._boxes[name] * start.scales))
        return {
            "start": list(self._scaled),
            "objective": errors[self._settings.n_excluded],
            "leave_one_out_error": errors[0],
            "descended": [self._descended.get(name, np.nan) for name in self._scaled],
        }

    def _units(self, scales: Array) -> LatentUnits:
        """Boxes have sides of 2, which is the period of circles."""
        return LatentUnits(np.where(self._settings.space.is_circle, 2.0 * scales, np.inf))

    def _error_of(self, box: Array) -> Callable[[Array], float]:
        """The objective as a function of the scales of a start."""

        def error(scales: Array) -> float:
            objective = _objective(self._settings, self._targets, self._units(scales), self._settings.n_excluded)
            Z = box * scales
            isolated = self._settings.density_kernel == "quartic" and objective.isolated(Z).any()
            return np.inf if isolated else objective.value(Z)

        return error

    def _of_all(self, name: str) -> Array:
        """Coordinates of all rows in the box of a start."""
        if len(self._some) == len(self._rows.points):
            return self._boxes[name]
        if name == "given":
            return self._given()
        return spread(filled(self._rows.points), self._some, self._boxes[name], self._settings.space)

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
