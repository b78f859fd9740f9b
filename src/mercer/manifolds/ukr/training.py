"""The fit of `UnsupervisedKernelRegression` from its parameters: start, homotopy, optimisation, a sample before all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer.manifolds.ukr.fitting import LatentFit, fit_latent, homotopy
from mercer.manifolds.ukr.lists import ListObjective, leading_columns
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.rows import TrainingRows
from mercer.manifolds.ukr.samples import placed
from mercer.manifolds.ukr.search import StartSearch, brought_near, joined, objective_of
from mercer.manifolds.ukr.settings import Settings
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.units import LatentUnits

Array = NDArray[Any]

# Iterations on all rows, unless their number is given, after those on a sample; by lists, which take less time, more.
_MAX_ITER_OF_ALL, _MAX_LISTED_OF_ALL = 20, 60
# Iterations by all pairs after those by lists of neighbours, of no more rows than this: they take O(N²) time.
_EXACT_ITERATIONS, _EXACT_ROWS = 10, 3000


@dataclass(frozen=True)
class Training:
    """What `UnsupervisedKernelRegression` learns: latent points in widths of the kernel, and how they were found.

    Attributes
    ----------
    fit : LatentFit
        The points.
    objective : LatentObjective
        What they minimise.
    errors : array of shape (N,)
        Squared distances of the rows from their leave-one-out estimates.
    units : LatentUnits
        Lines and circles.
    init, candidates : str, dict of lists
        The start, and the table of all.
    """

    fit: LatentFit
    objective: LatentObjective
    errors: Array
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
        settings = replace(settings, fast=settings.fast and len(Z) > _EXACT_ROWS)
        fit = _descended(parameters, settings, rows, rows.points, Z, units)
    else:
        rng = check_random_state(parameters["random_state"])
        search = StartSearch(settings, rows, parameters["init"], rng, parameters["callback"])
        init = search.run()
        settings, table = search.settings, search.table()
        if search.interrupted:
            Z, units = search.stopped(init)
            value = _judged(settings, rows, units).value(Z)
            fit = LatentFit(Z, value, [value], 0, "interrupted")
        elif search.are_of_all or init == "given" or not rows.part_is_like_all:
            Z, units = search.of_all(init)
            points = search.points if settings.fast else rows.points
            fit = _descended(parameters, settings, rows, points, Z, units)
        else:
            fit, units = _by_sample(parameters, settings, rows, search, init)
    # Another objective than the one that was minimised, whose lists of neighbours take memory.
    objective = objective_of(settings, rows.targets, units, settings.n_excluded)
    errors = _judged(replace(settings, n_excluded=0), rows, units).errors(fit.Z)
    return Training(fit, objective, errors, units, init, table)


def _judged(settings: Settings, rows: TrainingRows, units: LatentUnits) -> LatentObjective | ListObjective:
    """The objective that values are told of: by lists only where all pairs of many rows would take long."""
    if settings.fast and len(rows.points) > _EXACT_ROWS and not np.isnan(rows.points).any():
        return ListObjective(rows.points, settings.n_excluded, units)
    return objective_of(settings, rows.targets, units, settings.n_excluded)


def _descended(
    parameters: dict[str, Any], settings: Settings, rows: TrainingRows, complete: Array, Z: Array, units: LatentUnits
) -> LatentFit:
    """A descent from latent points; a fast one by lists of latent neighbours.

    The latter counts as one iteration, and is followed by some of all pairs unless there are many rows. The history is
    that of the objective itself, at the start, after the lists, and from there on.
    """
    if not settings.fast:
        return _unfolded(parameters, settings, rows.targets, Z, units)
    judge = _judged(settings, rows, units)
    found = _by_lists(parameters, settings, complete, Z, units)
    if np.isnan(rows.points).any() and found.status != "interrupted":
        # Once more, with missing entries that are those of the surface, which they should have no part in.
        found = _by_lists(parameters, settings, _completed(settings, rows, found.Z, units), found.Z, units)
    first, value = judge.value(Z), judge.value(found.Z)
    if not value < first:
        found, value = replace(found, Z=Z), first
    Z, value = brought_near(judge, found.Z, value)
    if found.status == "interrupted" or isinstance(judge, ListObjective):
        return LatentFit(Z, value, [first, min(first, value)], 1, found.status)
    fit = _optimized(parameters, replace(settings, max_iter=_EXACT_ITERATIONS), rows.targets, Z, units)
    history = [first, *(min(first, value) for value in fit.history)]
    status = fit.status if fit.status == "interrupted" else found.status
    return replace(fit, history=history, n_iter=len(history) - 1, status=status)


def _by_lists(
    parameters: dict[str, Any], settings: Settings, complete: Array, Z: Array, units: LatentUnits
) -> LatentFit:
    options = {name: parameters[name] for name in ("tol", "verbose", "callback")}
    lists = ListObjective(leading_columns(complete), settings.n_excluded, units)
    return fit_latent(lists, Z, optimizer="rprop", max_iter=settings.max_iter, **options)


def _by_sample(
    parameters: dict[str, Any], settings: Settings, rows: TrainingRows, search: StartSearch, init: str
) -> tuple[LatentFit, LatentUnits]:
    """A fit to those rows that starts were compared on, and from there to all.

    Many iterations on few rows find the shape, and all rows need few from where they are projected on it.
    """
    Z, units = search.of_some(init)
    part = replace(settings, n_excluded=search.n_excluded)
    sample = _descended(parameters, part, search.rows_of_some, search.points, Z, units)
    objective = objective_of(settings, search.targets, units, 0)
    Z, units, finished = placed(rows.points, search.some, sample.Z, objective, units)
    Z = joined(settings, rows.targets, Z, units)
    judge = _judged(settings, rows, units)
    Z, value = brought_near(judge, Z, judge.value(Z))
    if sample.status == "interrupted" or not finished:
        return LatentFit(Z, value, [value], 0, "interrupted"), units
    few = parameters["max_iter"] is None
    most = (_MAX_LISTED_OF_ALL if settings.fast else _MAX_ITER_OF_ALL) if few else settings.max_iter
    settings = replace(settings, max_iter=most, thresholds=())  # a homotopy is of the sample
    complete = _completed(settings, rows, Z, units) if settings.fast else rows.points
    fit = _descended(parameters, settings, rows, complete, Z, units)
    # Few iterations on all cannot tell whether more would gain anything: the sample had enough of them, or not.
    ended = sample.status if few or fit.status == "optimal" else fit.status
    return fit if fit.status == "interrupted" else replace(fit, status=ended), units


def _completed(settings: Settings, rows: TrainingRows, Z: Array, units: LatentUnits) -> Array:
    """Rows whose missing entries are those of the surface at their places."""
    if not np.isnan(rows.points).any():
        return rows.points
    return Surface(objective_of(settings, rows.targets, units, 0), Z, rows.points).filled(rows.points, Z)


def _unfolded(
    parameters: dict[str, Any], settings: Settings, targets: Targets, Z: Array, units: LatentUnits
) -> LatentFit:
    """Homotopy, if it is wanted, and optimisation; the history is that of both."""
    if not settings.thresholds:
        return _optimized(parameters, settings, targets, Z, units)
    objective = objective_of(settings, targets, units, settings.n_excluded)
    first = homotopy(objective, Z, settings.thresholds, verbose=parameters["verbose"])
    if first.status == "interrupted":
        return first
    fit = _optimized(parameters, settings, targets, first.Z, units)
    return replace(fit, history=first.history + fit.history[1:], n_iter=first.n_iter + fit.n_iter)


def _optimized(
    parameters: dict[str, Any], settings: Settings, targets: Targets, Z: Array, units: LatentUnits
) -> LatentFit:
    """Descent, after which pieces that lie far apart are brought near each other."""
    objective = objective_of(settings, targets, units, settings.n_excluded)
    options = {name: parameters[name] for name in ("tol", "verbose", "callback")}
    fit = fit_latent(objective, Z, optimizer=settings.optimizer, max_iter=settings.max_iter, **options)
    Z, value = brought_near(objective, fit.Z, fit.objective)
    return fit if Z is fit.Z else replace(fit, Z=Z, objective=value)
