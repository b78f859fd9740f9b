"""Kernel machines for a table: kernel and penalty by fast criteria, a loss by name, and a check on held-out rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from sklearn.model_selection import train_test_split

from mercer.arrays import Array
from mercer.capacity import RiskBounds
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.running import Status, raise_if_interrupted, unless_interrupted
from mercer.tables.errors import InputError
from mercer.tables.memory import refuse_if_too_large
from mercer.tables.targets import LearningProblem, Target, are_far
from mercer.workflows.fit_warnings import in_plain_words, unsettled
from mercer.workflows.fitting import Fitter
from mercer.workflows.kernel_choice import MOST_ROWS, KernelChoice, Learned, choose_kernel, learns_metric
from mercer.workflows.loss_choice import Parts, candidates, choose_loss, losses_for, plain_parts
from mercer.workflows.machine_models import MachineModel
from mercer.workflows.progress import Progress, Stages
from mercer.workflows.promises import HeldOutPromise, said_of_own_rows
from mercer.workflows.rivals import boosted_trees
from mercer.workflows.scores import (
    FEWEST_HELD_OUT,
    are_clearly_less,
    coverage,
    in_standard_errors,
    log_loss,
    losses,
    losses_of_guessing,
    mean_error,
)
from mercer.workflows.target_choice import choose_transform, keeps_squares

_HELD_OUT = 0.2
# Stages.
_CHOOSING, _WEIGHING = "choosing the kernel and the penalty", "choosing the loss and its weight"
_CHECKING, _FITTING = "checking on held-out rows", "fitting all rows"
_COMPARING = "comparing with boosted trees"
# Errors below this fraction of those of guessing, with this fraction of the importance in one column, mean that the
# column gives the target away.
_NO_ERROR, _NEARLY_ALL = 0.03, 0.99


@dataclass(frozen=True)
class MachineSettings:
    """What the user asks of a machine.

    Attributes
    ----------
    loss, kernel, metric : str
        Of `LOSSES` of `loss_choice`, and of `KERNELS` and `METRICS` of `kernel_choice`. The metric is for the kernel
        "auto".
    band : float or None
        The fraction of targets that a prediction band is to hold.
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
        Of held-out rows, of the best constant, and of boosted trees (NaN if there was no time for them): fraction of
        wrong classes, or root mean squared error.
    gain : float
        By how many standard errors held-out losses (squared errors, or wrong classes) are less than those of guessing.
    log_loss, trees_log_loss : float
        Of the probabilities of held-out classes, and of those of boosted trees; NaN without probabilities.
    trees_are_better : bool
        Whether the errors of boosted trees are less by more than two standard errors of the difference; of a few
        held-out rows that cannot be determined.
    coverage : float
        Fraction of held-out targets in the band; NaN without one.
    held_out : polars.DataFrame
        Held-out targets ("truth") and their predictions.
    promise : HeldOutPromise or None
        Of held-out rows, which the machine of the others has not seen; None for numbers.
    left_out_error : float
        Of the stored machine on each of its rows without that row, as `error`; NaN if that takes too long.
    bounds : RiskBounds or None
        All that these rows say of the errors of classes.
    warnings : list of str
        What to be careful with.
    learned : Learned or None
        What the metric tells of the columns.
    reason : str
        Why this loss and this C; empty if nothing was compared.
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
    promise: HeldOutPromise | None = None
    left_out_error: float = np.nan
    bounds: RiskBounds | None = None
    warnings: list[str] = field(default_factory=list)
    learned: Learned | None = None
    reason: str = ""
    partial: bool = False


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
        Called with what is being done; if it returns True, or after Ctrl-C, what there is is returned, marked as
        partial.

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
    settings = settings or MachineSettings()
    stages = Stages(progress, _plan(len(problem.X), settings))
    X, target = problem.X, problem.target
    losses_to_try = _losses_to_try(target, settings)
    choosing = 60.0 * min(len(X), MOST_ROWS) ** 2
    refuse_if_too_large(24.0 * X.size + choosing + _solving(len(X)), f"fitting {len(X):,} rows")
    train, test = _split(problem.y, target, settings.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work = _Work(problem, settings, stages, train, losses_to_try)
        part, model = work.machines()
        test = test[~problem.far[test]]
        trees = work.trees(test)
        stages.end()
    said = [*problem.warnings, *unsettled("the machine", caught), *in_plain_words("the machine", caught)]
    return _result(work, part, model, trees, test, said)


class _Work:
    """The work of a fit: what was chosen so far is kept if it is stopped."""

    def __init__(
        self, problem: LearningProblem, settings: MachineSettings, stages: Stages, train: Array, losses: list[str]
    ):
        self.problem, self.settings, self._stages, self.train, self._losses = problem, settings, stages, train, losses
        self.target, self.stopped = problem.target, False
        self._y, self.far = problem.y, problem.far
        self.left_out_error = np.nan
        self.bounds: RiskBounds | None = None

    def machines(self) -> tuple[MachineModel, MachineModel]:
        """The machine of the rows that are not held out, and that of all rows if there is time."""
        self._stages.begin(_CHOOSING)
        self.parts = self._first_parts(self._chosen(self.target, self._y))
        part = None if self.parts.choice.stopped else unless_interrupted(self._checked, lambda: None)
        if part is None:
            self.stopped, part = True, self._fitter().hurried(*self._rows(self.learned))
        if self.stopped:
            return part, part
        whole = unless_interrupted(self._whole, lambda: None)
        self.stopped = whole is None or self._fitted_by.stopped
        if whole is None or self.stopped:
            return part, part
        unless_interrupted(lambda: self._look_at_own_rows(whole), lambda: None)  # the machine is there
        return part, whole

    def _checked(self) -> MachineModel:
        """The machine of the rows that are not held out, once everything about it was chosen."""
        self._choose_transform()
        self._stages.begin(_WEIGHING)
        self._choose_loss()
        self._fitted_by = self._fitter()
        part = self._fitted_by.fitted(_CHECKING, *self._rows(self.learned))
        self.stopped = self._fitted_by.stopped
        return part

    def _whole(self) -> MachineModel:
        """The machine of all rows."""
        return self._fitted_by.fitted(_FITTING, *self._rows(np.flatnonzero(~self.far)))

    def _look_at_own_rows(self, whole: MachineModel) -> None:
        """What the rows of the stored machine say of its error."""
        X, y = self._rows(np.flatnonzero(~self.far))
        self.left_out_error, self.bounds = said_of_own_rows(whole, self.parts.choice.rows(X), y)

    def trees(self, test: Array) -> pl.DataFrame | None:
        """What boosted trees say of the rows that are held out; None if there was no time."""
        if self.stopped:
            return None
        learned = self.train[~self.problem.far[self.train]]
        X, y = self.problem.X, self.problem.y

        def compared() -> pl.DataFrame:
            self._stages.begin(_COMPARING)
            return boosted_trees(
                X[learned], y[learned], X[test], self.problem.target, self.settings.seed, ended=self._stages.tell
            )

        return unless_interrupted(compared, lambda: None)  # the machine is there

    @property
    def learned(self) -> Array:
        """Rows to learn from: not held out, and not far from all others."""
        return self.train[~self.far[self.train]]

    def _chosen(self, target: Target, y: Array) -> KernelChoice:
        rows, settings = self.learned, self.settings
        return choose_kernel(
            self.problem.X[rows], y[rows], self.problem.schema, target,
            kernel=settings.kernel, metric=settings.metric, seed=settings.seed, stages=self._stages,
        )  # fmt: skip

    def _choose_transform(self) -> None:
        """Learn another function of the target if that is clearly easier; the metric is then learned anew."""
        plain, before, seed = self.target, self.parts.choice, self.settings.seed
        if plain.classes is not None:
            return
        rows, units = self.learned, self.target.in_units(self.problem.y)
        X, y = self.problem.X[rows], units[rows]
        transform = choose_transform(before, X, y, plain, seed)
        if transform == plain.transform:
            return
        target = plain.transformed(transform, y)
        values = target.learned(units)
        choice = self._chosen(target, values)
        if choice.stopped:
            raise_if_interrupted(Status.INTERRUPTED)
        if keeps_squares(before, choice, X, y, plain, target, seed):
            self.target, self._y, self.parts = target, values, self._first_parts(choice)
            self.far = are_far(values)  # others than before

    def _first_parts(self, choice: KernelChoice) -> Parts:
        return plain_parts(choice, self._losses[0], classes=self.target.classes is not None)

    def _choose_loss(self) -> None:
        self.parts = choose_loss(
            self.parts.choice, *self._rows(self.learned), self._losses, classes=self.target.classes is not None,
            seed=self.settings.seed, stages=self._stages,
        )  # fmt: skip
        self.target = replace(self.target, errors=self.parts.errors)

    def _rows(self, rows: Array) -> tuple[Array, Array]:
        return self.problem.X[rows], self._y[rows]

    def _fitter(self) -> Fitter:
        settings = self.settings
        return Fitter(
            self.parts,
            self.problem.schema,
            self.target,
            len(self.problem.X),
            band=settings.band,
            seed=settings.seed,
            stages=self._stages,
        )


def _result(
    work: _Work, part: MachineModel, model: MachineModel, trees: pl.DataFrame | None, test: Array, said: list[str]
) -> MachineResult:
    """How good the machine is on the rows that were held out."""
    problem, settings, target = work.problem, work.settings, work.problem.target
    y, learned = problem.y, work.learned
    truth = y[test] if target.classes is not None else target.in_units(y[test])
    held_out = part.predict(problem.X[test]).with_columns(truth=pl.Series(truth))
    ours, guesses = losses(held_out, target, truth), losses_of_guessing(target, y[learned], truth)
    trees_error, trees_log_loss, trees_are_better = np.nan, np.nan, False
    if trees is not None:
        others = losses(trees, target, truth)
        trees_error, trees_log_loss = mean_error(others, target), log_loss(trees, truth)
        trees_are_better = len(test) >= FEWEST_HELD_OUT and are_clearly_less(others, ours)
    covered = coverage(held_out, target)
    result = MachineResult(
        problem, model, settings, work.parts.choice.kernel, work.parts.C, work.parts.loss, mean_error(ours, target),
        mean_error(guesses, target), trees_error, in_standard_errors(guesses - ours), log_loss(held_out, truth),
        trees_log_loss, trees_are_better, covered, held_out,
        HeldOutPromise.of(ours) if target.classes is not None else None, work.left_out_error, work.bounds, said,
        work.parts.choice.learned, work.parts.reason, work.stopped,
    )  # fmt: skip
    said += _limits(result, has_trees=trees is not None)
    return result


def _suspicions(result: MachineResult) -> list[str]:
    """That hardly an error is left, and one or two columns do it, as those do that are known only with the target."""
    columns = [] if result.learned is None else result.learned.columns
    squares = np.array([value**2 for _, value in columns])
    few_rows = result.held_out.height < FEWEST_HELD_OUT
    if few_rows or len(columns) <= 2 or result.error > _NO_ERROR * result.guess_error or squares.sum() == 0:
        return []
    shares = np.cumsum(squares) / squares.sum()
    if shares[1] < _NEARLY_ALL:
        return []
    names = [name for name, _ in columns[: 1 if shares[0] >= _NEARLY_ALL else 2]]
    return [
        f"Hardly an error is left, and {' and '.join(names)} alone would do it: if that is known only together with "
        f"{result.problem.target.name}, this is no prediction; leave it out with --drop."
    ]


def _limits(result: MachineResult, *, has_trees: bool) -> list[str]:
    """What is not there, and what is not as good as was asked for."""
    said, model, band, covered = [], result.model, result.settings.band, result.coverage
    if band is not None and model.band is None:
        said.append(
            f"The band for {100 * band:.3g}% is not there: the work was stopped before it was ready. Give it "
            "more time, or fewer rows."
        )
    if not has_trees:
        said.append("The comparison with boosted trees is left out: the work was stopped before it was ready.")
    if band is not None and covered < band - 2 * np.sqrt(covered * (1 - covered) / result.held_out.height):
        said.append(
            f"The band holds only {100 * covered:.0f}% of held-out rows: it is too narrow, as happens with few rows "
            "or with columns that say nothing of the target."
        )
    said += _suspicions(result)
    if model.target.classes is not None and not model.has_probabilities:
        why = "the work was stopped before" if result.partial else "a class has one row only"
        said.append(f"There are no probabilities: {why}.")
    return said


def _plan(n_rows: int, settings: MachineSettings) -> dict[str, float]:
    """About how long each stage takes beside the others."""
    # A band counts as one more machine, which is right for thousands of rows and too little for hundreds.
    n_runs = 1 if settings.band is None else 2
    run = 0.04 + 0.02 * (n_rows / 1000) ** 1.5
    return {
        _CHOOSING: 0.1 + 3.0 * (min(0.8 * n_rows, MOST_ROWS) / 1000) ** 2,
        _WEIGHING: 0.3 * (min(0.8 * n_rows, MOST_ROWS) / 1000) ** 2,
        _CHECKING: n_runs * run,
        _FITTING: n_runs * run,
        _COMPARING: 0.02 + 0.1 * (n_rows / 1000) ** 0.5,
    }


def _solving(n_rows: int) -> float:
    """Bytes that a solver takes at most: a few matrices of all rows, within the `memory` of machines."""
    return min(40.0 * n_rows**2, 2.0**30)


def _losses_to_try(target: Target, settings: MachineSettings) -> list[str]:
    classes = target.classes is not None
    fitting = losses_for(classes=classes)
    if settings.loss not in ("auto", *fitting):
        kind = "classes" if classes else "numbers"
        raise InputError(
            f"--loss must be one of {', '.join(fitting)} for {kind}, got {settings.loss!r}; or give --task."
        )
    if settings.band is not None and classes:
        raise InputError(f"--band is for numbers, and {target.name} holds classes; leave it out.")
    return candidates(settings.loss, classes=classes, learns_metric=learns_metric(settings.kernel, settings.metric))


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
