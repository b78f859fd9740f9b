"""The fit of `UnsupervisedKernelRegression` from its parameters: start, homotopy, optimisation, a sample before all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.manifolds.ukr.comparison import brought_near, joined
from mercer.manifolds.ukr.fitting import LatentFit, fit_latent, homotopy
from mercer.manifolds.ukr.lists import ListProblem, leading_columns
from mercer.manifolds.ukr.problem import Evaluated, LatentProblem
from mercer.manifolds.ukr.rows import TrainingRows
from mercer.manifolds.ukr.samples import placed
from mercer.manifolds.ukr.search import StartSearch
from mercer.manifolds.ukr.settings import Settings
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.units import LatentUnits
from mercer.running import Status


@dataclass(frozen=True)
class Training:
    """What `UnsupervisedKernelRegression` learns: latent points in widths of the kernel, and how they were found.

    Attributes
    ----------
    fit : LatentFit
        The points.
    problem : LatentProblem
        What they minimise.
    errors : array of shape (N,)
        Squared distances of the rows from their leave-one-out estimates.
    units : LatentUnits
        Lines and circles.
    init, candidates : str, dict of lists
        The start, and the table of all.
    """

    fit: LatentFit
    problem: LatentProblem
    errors: Array
    units: LatentUnits
    init: str
    candidates: dict[str, list[Any]]


def train(settings: Settings, rows: TrainingRows, previous: tuple[Array, LatentUnits, int] | None = None) -> Training:
    """Fit latent points to rows.

    Parameters
    ----------
    settings : Settings
        Parameters of the estimator.
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
        settings = replace(settings, fast=settings.fast and len(Z) > settings.tuning.exact_rows)
        fit = _descended(settings, rows, rows.points, Z, units)
    else:
        search = StartSearch(settings, rows, check_random_state(settings.random_state))
        init = search.run()
        settings, table = search.settings, search.table()
        if search.status == Status.INTERRUPTED:
            Z, units = search.stopped(init)
            fit = LatentFit.at(Z, _judged(settings, rows, units).value(Z), Status.INTERRUPTED)
        elif search.are_of_all or init == "given" or not rows.part_is_like_all:
            Z, units = search.of_all(init)
            fit = _descended(settings, rows, search.sample.points if settings.fast else rows.points, Z, units)
        else:
            fit, units = _by_sample(settings, rows, search, init)
    problem = settings.problem(rows.targets, units, settings.n_excluded)
    errors = _judged(replace(settings, n_excluded=0), rows, units).errors(fit.Z)
    return Training(fit, problem, errors, units, init, table)


def _judged(settings: Settings, rows: TrainingRows, units: LatentUnits) -> LatentProblem | ListProblem:
    """The problem that values are told of: by lists only where all pairs of many rows would take long."""
    if settings.fast and len(rows.points) > settings.tuning.exact_rows and not np.isnan(rows.points).any():
        return ListProblem(rows.points, settings.n_excluded, units)
    return settings.problem(rows.targets, units, settings.n_excluded)


def _descended(settings: Settings, rows: TrainingRows, complete: Array, Z: Array, units: LatentUnits) -> LatentFit:
    """A descent from latent points; a fast one by lists of latent neighbours.

    The latter counts as one iteration, and is followed by some of all pairs unless there are many rows. The history is
    that of the objective itself, at the start, after the lists, and from there on.
    """
    if not settings.fast:
        return _unfolded(settings, rows.targets, Z, units)
    judge = _judged(settings, rows, units)
    found = _by_lists(settings, complete, Z, units)
    if np.isnan(rows.points).any() and found.status != Status.INTERRUPTED:
        # Once more, with missing entries that are those of the surface, which they should have no part in.
        found = _by_lists(settings, _completed(settings, rows, found.Z, units), found.Z, units)
    first, value = judge.value(Z), judge.value(found.Z)
    if not value < first:
        found, value = replace(found, Z=Z), first
    Z, value = brought_near(settings, judge, found.Z, value)
    if found.status == Status.INTERRUPTED or isinstance(judge, ListProblem):
        return LatentFit(Z, value, [first, min(first, value)], 1, found.status)
    fit = _optimized(replace(settings, max_iter=settings.tuning.exact_iterations), rows.targets, Z, units)
    history = [first, *(min(first, value) for value in fit.history)]
    status = fit.status if fit.status == Status.INTERRUPTED else found.status
    return replace(fit, history=history, n_iter=len(history) - 1, status=status)


def _by_lists(settings: Settings, complete: Array, Z: Array, units: LatentUnits) -> LatentFit:
    problem = ListProblem(leading_columns(complete), settings.n_excluded, units)
    return _minimized(replace(settings, optimizer="rprop"), problem, Z)


def _by_sample(settings: Settings, rows: TrainingRows, search: StartSearch, init: str) -> tuple[LatentFit, LatentUnits]:
    """A fit to those rows that starts were compared on, and from there to all.

    Many iterations on few rows find the shape, and all rows need few from where they are projected on it.
    """
    Z, units = search.of_some(init)
    part = replace(settings, n_excluded=search.n_excluded)
    sample = _descended(part, search.rows_of_some, search.sample.points, Z, units)
    density = settings.problem(search.sample.targets, units, 0).density
    Z, units, finished = placed(rows.points, search.some, sample.Z, density, units)
    Z = joined(settings, rows.targets, Z, units)
    judge = _judged(settings, rows, units)
    Z, value = brought_near(settings, judge, Z, judge.value(Z))
    if sample.status == Status.INTERRUPTED or not finished:
        return LatentFit.at(Z, value, Status.INTERRUPTED), units
    few, tuning = settings.max_iter_is_auto, settings.tuning
    most = (tuning.max_listed_of_all if settings.fast else tuning.max_iter_of_all) if few else settings.max_iter
    settings = replace(settings, max_iter=most, thresholds=())  # a homotopy is of the sample
    complete = _completed(settings, rows, Z, units) if settings.fast else rows.points
    fit = _descended(settings, rows, complete, Z, units)
    # Few iterations on all rows cannot show convergence: the status is that of the sample.
    ended = sample.status if few or fit.status == Status.OPTIMAL else fit.status
    return fit if fit.status == Status.INTERRUPTED else replace(fit, status=ended), units


def _completed(settings: Settings, rows: TrainingRows, Z: Array, units: LatentUnits) -> Array:
    """Rows whose missing entries are those of the surface at their places."""
    if not np.isnan(rows.points).any():
        return rows.points
    return Surface(settings.problem(rows.targets, units, 0).density, Z, rows.points).filled(rows.points, Z)


def _unfolded(settings: Settings, targets: Targets, Z: Array, units: LatentUnits) -> LatentFit:
    """Homotopy, if it is wanted, and optimisation; the history is that of both."""
    if not settings.thresholds:
        return _optimized(settings, targets, Z, units)
    problem = settings.problem(targets, units, settings.n_excluded)
    first = homotopy(problem, Z, settings.thresholds, verbose=settings.verbose)
    if first.status == Status.INTERRUPTED:
        return first
    fit = _optimized(settings, targets, first.Z, units)
    return replace(fit, history=first.history + fit.history[1:], n_iter=first.n_iter + fit.n_iter)


def _optimized(settings: Settings, targets: Targets, Z: Array, units: LatentUnits) -> LatentFit:
    """Descent, after which pieces that lie far apart are brought near each other."""
    problem = settings.problem(targets, units, settings.n_excluded)
    fit = _minimized(settings, problem, Z)
    Z, value = brought_near(settings, problem, fit.Z, fit.objective)
    return fit if Z is fit.Z else replace(fit, Z=Z, objective=value)


def _minimized(settings: Settings, problem: Evaluated, Z: Array) -> LatentFit:
    return fit_latent(
        problem, Z, optimizer=settings.optimizer, max_iter=settings.max_iter, tol=settings.tol,
        verbose=settings.verbose, callback=settings.callback,
    )  # fmt: skip
