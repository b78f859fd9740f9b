"""Kernel machines for a table: kernel and penalty by fast criteria, a loss by name, and a check on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from mercer.kernels import Kernel
from mercer.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    Loss,
    Quantile,
    Squared,
    SquaredHinge,
    optimal_epsilon,
)
from mercer.machines import QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.machines.bands import folds_to_fit
from mercer.machines.classifier import N_FOLDS
from mercer.report.fit_warnings import in_plain_words, unsettled
from mercer.report.kernel_choice import MOST_ROWS, KernelChoice, Learned, choose_kernel, learns_metric
from mercer.report.large_tables import machine_for, runs_for, set_calibration, without_callbacks
from mercer.report.machine_models import MachineModel
from mercer.report.progress import Progress, Stages
from mercer.report.rivals import boosted_trees
from mercer.report.scores import (
    are_clearly_less,
    coverage,
    in_standard_errors,
    log_loss,
    losses,
    losses_of_guessing,
    mean_error,
)
from mercer.report.seen_rows import SeenRows
from mercer.solvers import Iterate
from mercer.tables.errors import InputError
from mercer.tables.memory import refuse_if_too_large
from mercer.tables.targets import LearningProblem, Target

Array = NDArray[Any]

# Losses by name, for the standard deviation of the noise; those of classes do not depend on it.
REGRESSION_LOSSES: dict[str, Callable[[float], Loss]] = {
    "epsilon": lambda noise: EpsilonInsensitive(optimal_epsilon("normal") * noise),
    "squared": lambda noise: Squared(),
    "laplace": lambda noise: Laplace(),
    "huber": lambda noise: Huber(noise),
}
CLASSIFICATION_LOSSES: dict[str, Callable[[float], Loss]] = {
    "squared_hinge": lambda noise: SquaredHinge(),
    "hinge": lambda noise: Hinge(),
    "logistic": lambda noise: Logistic(),
}
LOSSES = ("auto", *REGRESSION_LOSSES, *CLASSIFICATION_LOSSES)
_HELD_OUT = 0.2
# What is done.
_CHOOSING, _CHECKING, _FITTING = "choosing the kernel and the penalty", "checking on held-out rows", "fitting all rows"
_COMPARING = "comparing with boosted trees"
# Penalties are kept within these bounds of C.
_LEAST_C, _LARGEST_C = 1e-3, 1e5
# Relative gap of the machines.
_TOL = 1e-3


@dataclass(frozen=True)
class MachineSettings:
    """What the user asks of a machine.

    Attributes
    ----------
    loss, kernel, metric : str
        Of `LOSSES`, and of `KERNELS` and `METRICS` of `kernel_choice`. The metric is for the kernel "auto".
    band : float or None
        The share of targets that a prediction band is to hold.
    seed : int
        Of everything that is drawn.
    """

    loss: str = "auto"
    kernel: str = "auto"
    band: float | None = None
    seed: int = 0
    metric: str = "auto"


@dataclass(frozen=True)
class MachineResult:
    """A machine, and how well it does on rows that it was not fitted to.

    Attributes
    ----------
    problem, model, settings
        What was learned from, the machine fitted to all rows, and what was asked for.
    kernel, C, loss : Kernel, float, Loss
        What was chosen.
    error, guess_error, trees_error : float
        Of held-out rows, of the best constant, and of boosted trees (NaN if there was no time for them): share of wrong
        classes, or root mean squared error.
    gain : float
        By how many standard errors held-out losses (squared errors, or wrong classes) are less than those of guessing.
    log_loss, trees_log_loss : float
        Of the probabilities of held-out classes, and of those of boosted trees; NaN without probabilities.
    trees_are_better : bool
        Whether the errors of boosted trees are less by more than two standard errors of the difference.
    coverage : float
        Share of held-out targets in the band; NaN without one.
    held_out : polars.DataFrame
        Held-out targets ("truth") and their predictions.
    warnings : list of str
        What to be careful with.
    learned : Learned or None
        What the metric tells of the columns.
    partial : bool
        Whether the work was cut short: the machine has not seen the held-out rows, and may not be at its optimum.
    """

    problem: LearningProblem
    model: MachineModel
    settings: MachineSettings
    kernel: Kernel
    C: float
    loss: Loss
    error: float
    guess_error: float
    trees_error: float
    gain: float
    log_loss: float
    trees_log_loss: float
    trees_are_better: bool
    coverage: float
    held_out: pl.DataFrame
    warnings: list[str] = field(default_factory=list)
    learned: Learned | None = None
    partial: bool = False


@dataclass(frozen=True)
class _Parts:
    """What was chosen: C is that of squared errors, and noise the size of errors."""

    choice: KernelChoice
    loss: Loss

    def weight(self, loss: Loss) -> float:
        """The C of a loss for which errors of the size of the noise pull as hard as squared errors do."""
        steepest = float(np.max(np.abs(loss.derivative(np.array([-self.choice.noise, self.choice.noise])))))
        return float(np.clip(self.choice.C * self.choice.noise / max(steepest, 1e-3), _LEAST_C, _LARGEST_C))


def fit_machine(
    problem: LearningProblem, settings: MachineSettings | None = None, *, progress: Progress | None = None
) -> MachineResult:
    """Fit a kernel machine: choose on most rows, check on the others, then fit all of them.

    Parameters
    ----------
    problem : LearningProblem
        Rows and target.
    settings : MachineSettings
        Loss, kernel, band and seed.
    progress : Progress, optional
        Is told what is being done; if it returns True, or after Ctrl-C, what there is is returned, marked as partial.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.datasets import make_sinc
    >>> from mercer.report import LearningProblem, fit_machine, table_from_frame
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> result = fit_machine(LearningProblem.read(table_from_frame(pl.DataFrame({"x": X[:, 0], "y": y})), "y"))
    >>> result.error < 0.5 * result.guess_error
    True
    """
    settings, stages = settings or MachineSettings(), Stages(progress, _plan(len(problem.X), settings))
    X, y, target = problem.X, problem.y, problem.target
    make_loss = _loss_maker(target, settings)
    choosing = 60.0 * min(len(X), MOST_ROWS) ** 2
    refuse_if_too_large(24.0 * X.size + choosing + _solving(len(X)), f"fitting {len(X):,} rows")
    train, test = _split(y, target, settings.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stages.begin(_CHOOSING)
        choice = choose_kernel(
            X[train], y[train], problem.schema, target,
            kernel=settings.kernel, metric=settings.metric, seed=settings.seed, stages=stages,
        )  # fmt: skip
        machine = _Parts(choice, make_loss(choice.noise))
        fitter = _Fitter(problem, machine, settings, stages)
        part = model = fitter.fitted(_CHECKING, X[train], y[train])
        if not fitter.stopped:
            try:
                whole = fitter.fitted(_FITTING, X, y)
                model = part if fitter.stopped else whole
            except KeyboardInterrupt:
                fitter.stopped = True
        trees = None
        if not fitter.stopped:
            try:
                stages.begin(_COMPARING)
                trees = boosted_trees(X[train], y[train], X[test], target, settings.seed, ended=stages.tell)
            except KeyboardInterrupt:
                pass  # the machine is there
        stages.end()
    said = [*unsettled("the machine", caught), *in_plain_words("the machine", caught)]
    if settings.band is not None and model.band is None:
        said.append(
            f"The band for {100 * settings.band:.3g}% is not there: the work was stopped before it was ready. Give it "
            "more time, or fewer rows."
        )
    if trees is None:
        said.append("The comparison with boosted trees is left out: the work was stopped before it was ready.")
    truth = y[test] if target.classes is not None else y[test] * target.scale + target.center
    held_out = part.predict(X[test]).with_columns(truth=pl.Series(truth))
    ours, guesses = losses(held_out, target, truth), losses_of_guessing(target, y[train], truth)
    trees_error, trees_log_loss, trees_are_better = np.nan, np.nan, False
    if trees is not None:
        others = losses(trees, target, truth)
        trees_error, trees_log_loss = mean_error(others, target), log_loss(trees, truth)
        trees_are_better = are_clearly_less(others, ours)
    covered = coverage(held_out, target)
    if settings.band is not None and covered < settings.band - 2 * np.sqrt(covered * (1 - covered) / len(test)):
        said.append(
            f"The band holds only {100 * covered:.0f}% of held-out rows: it is too narrow, as happens with few rows "
            "or with columns that say nothing of the target."
        )
    if target.classes is not None and not model.has_probabilities:
        why = "the work was stopped before" if fitter.stopped else "a class has one row only"
        said.append(f"There are no probabilities: {why}.")
    return MachineResult(
        problem, model, settings, choice.kernel, machine.weight(machine.loss), machine.loss, mean_error(ours, target),
        mean_error(guesses, target), trees_error, in_standard_errors(guesses - ours), log_loss(held_out, truth),
        trees_log_loss, trees_are_better, covered, held_out, [*problem.warnings, *said], choice.learned, fitter.stopped,
    )  # fmt: skip


def _plan(n_rows: int, settings: MachineSettings | None) -> dict[str, float]:
    """About how long each stage takes beside the others."""
    # A band counts as one more machine: that is right for thousands of rows, and too little for hundreds.
    n_runs = 1 if settings is None or settings.band is None else 2
    run = 0.04 + 0.02 * (n_rows / 1000) ** 1.5
    return {
        _CHOOSING: 0.1 + 3.0 * (min(0.8 * n_rows, MOST_ROWS) / 1000) ** 2,
        _CHECKING: n_runs * run,
        _FITTING: n_runs * run,
        _COMPARING: 0.02 + 0.1 * (n_rows / 1000) ** 0.5,
    }


def _solving(n_rows: int) -> float:
    """Bytes that a solver takes at most: a few matrices of all rows, within the `memory` of machines."""
    return min(40.0 * n_rows**2, 2.0**30)


def _loss_maker(target: Target, settings: MachineSettings) -> Callable[[float], Loss]:
    classes = target.classes is not None
    fitting = CLASSIFICATION_LOSSES if classes else REGRESSION_LOSSES
    name = settings.loss
    if name == "auto":
        # A metric is learned by the likelihood of squared errors.
        name = "squared" if not classes and learns_metric(settings.kernel, settings.metric) else next(iter(fitting))
    if name not in fitting:
        kind = "classes" if classes else "numbers"
        raise InputError(f"--loss must be one of {', '.join(fitting)} for {kind}, got {name!r}; or give --task.")
    if settings.band is not None and classes:
        raise InputError(f"--band is for numbers, and {target.name} holds classes; leave it out.")
    return fitting[name]


def _split(y: Array, target: Target, seed: int) -> tuple[Array, Array]:
    rows = np.arange(len(y))
    counts = np.unique(y, return_counts=True)[1] if target.classes is not None else np.array([0])
    # Classes of a single row cannot be on both sides.
    stratify = y if counts.min() >= 2 and _HELD_OUT * len(y) >= len(counts) else None
    train, test = train_test_split(rows, test_size=_HELD_OUT, random_state=seed, stratify=stratify)
    if target.classes is not None and len(np.unique(y[train])) < 2:
        raise InputError(
            f"The target {target.name!r} must have two classes of several rows, got {counts.tolist()} rows; give more."
        )
    return np.sort(train), np.sort(test)


def _has_folds(loss: Loss, y: Array) -> bool:
    """Whether sigmoids are needed for probabilities, and no class is too small to be on both sides of a fold."""
    return not loss.has_probability and int(np.unique(y, return_counts=True)[1].min()) >= 2


def _knows_all_classes(model: MachineModel) -> bool:
    return len(model.machine.classes_) == len(model.target.classes or ())


class _Course:
    """Tells of the iterations of solvers: how much of several runs, one after the other, is behind."""

    def __init__(self, stages: Stages, n_runs: int):
        self._stages, self._n_runs = stages, n_runs
        self._n_begun, self._first_gap = 0, 1.0

    def __call__(self, iteration: int, values: Iterate) -> bool:
        gap = max(values.relative_gap, _TOL)
        if iteration == 0:
            self._n_begun, self._first_gap = self._n_begun + 1, max(gap, 2 * _TOL)
        # Gaps shrink by about the same factor in each iteration.
        behind = np.log(self._first_gap / gap) / np.log(self._first_gap / _TOL)
        return self._stages.tell((self._n_begun - 1 + max(float(behind), 0.0)) / self._n_runs, values.primal)


class _Fitter:
    """Fits machines with their bands; `stopped` tells whether one was ended before its optimum."""

    def __init__(self, problem: LearningProblem, parts: _Parts, settings: MachineSettings, stages: Stages):
        self._problem, self._parts, self._settings, self._stages = problem, parts, settings, stages
        self.stopped = False
        self._first: MachineModel | None = None

    def fitted(self, words: str, X: Array, y: Array) -> MachineModel:
        """A machine as good as there was time for, and its band if there was time for all of it.

        The sigmoids of probabilities are those of the first machine, for which the log loss of held-out rows is known.
        """
        parts, share, target = self._parts, self._settings.band, self._problem.target
        self._stages.begin(words)
        given, X = X, parts.choice.rows(X)
        kind = SupportVectorRegressor if target.classes is None else SupportVectorClassifier
        n_machines = 1 if target.classes is None or len(target.classes) == 2 else len(target.classes)
        calibrates = target.classes is not None and self._first is None and _has_folds(parts.loss, y)
        n_runs = n_machines * (1 + N_FOLDS if calibrates else 1)
        n_runs += 0 if share is None else 2 * (1 + folds_to_fit(len(X)))
        n_rows = len(self._problem.X)
        course = _Course(self._stages, n_runs * runs_for(n_rows))
        kernel, C = parts.choice.kernel, parts.weight(parts.loss)
        machine = kind(kernel, loss=parts.loss, C=C, tol=_TOL, callback=course)
        if calibrates:
            machine.set_params(probability=True, random_state=self._settings.seed)
        machine = machine_for(n_rows, machine).fit(X, y)
        if self._first is not None and target.classes is not None and _knows_all_classes(self._first):
            set_calibration(machine, self._first.machine.calibration_)
        self.stopped = "interrupted" in np.ravel(machine.status_)
        band = None
        if share is not None and not self.stopped:
            weight = parts.weight(Quantile((1 + share) / 2))
            band = QuantileBand(kernel, coverage=share, C=weight, tol=_TOL, calibrate=True, callback=course)
            try:
                band = machine_for(n_rows, band.set_params(random_state=self._settings.seed)).fit(X, y)
            except KeyboardInterrupt:
                band, self.stopped = None, True
        without_callbacks([machine] if band is None else [machine, band])
        seen = SeenRows.of(given, seed=self._settings.seed)
        metric = None if parts.choice.learned is None else parts.choice.learned.rows
        model = MachineModel(machine, band, self._problem.schema, target, seen, metric)
        self._first = self._first or model
        return model
