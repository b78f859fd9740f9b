"""The diagnosis of a learning problem: what can be known of the target, by which kernel, and from how many rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.kernels import Gaussian, widths_for
from mercer.metrics import LearnedMetric
from mercer.metrics.choice import Split
from mercer.relevance import LearningCurve, RelevantDimensions
from mercer.relevance.labels import Labels
from mercer.running import raise_if_interrupted, unless_interrupted
from mercer.tables.memory import refuse_if_too_large
from mercer.tables.targets import LearningProblem
from mercer.workflows.held_out import MOST_FACTORED, MOST_FITTED, HeldOut, held_out_losses, splits
from mercer.workflows.kernel_choice import EVALUATIONS, importance_of_columns, indicators
from mercer.workflows.progress import Progress, Stages
from mercer.workflows.promises import Outlook
from mercer.workflows.verdicts import Verdict, judge

# Rows whose components are examined, and rows that the metric is refined on.
_MOST_ROWS, _REFINED_ROWS = 700, 2000
# With fewer rows nothing is held out.
_FEWEST_ROWS = 40
# Stages: the first tries every fourth width, so that there is an early result.
_FIRST, _METRIC, _HELD_OUT, _FEW = "a first look", "learning the metric", "checking on held-out rows", 4
# Number of widths in the first stage.
_WIDTHS = 12


@dataclass(frozen=True)
class DiagnosisResult:
    """A diagnosis with its evidence.

    Attributes
    ----------
    problem : LearningProblem
        The problem that was diagnosed.
    model : RelevantDimensions
        Components of the kernel that was chosen, or of a few Gaussian ones if the work was cut short, on some rows.
    rows : array of int
        Positions of these rows.
    notes, partial : list of str, bool
        What was done, and whether the work was cut short.
    metric : LearnedMetric or None
        The kernel that was chosen, with all that it was compared with; None if the work was cut short.
    held_out : HeldOut or None
        Errors on rows that were held out; None if there are too few rows, or if the work was cut short.
    judged : Verdict or None
        What they say.
    outlook : Outlook or None
        What can be promised of a machine with this kernel; None as `held_out`.
    columns : tuple of (str, float)
        How much the prediction changes with each column, in standard deviations of the target for one of the column;
        most first.
    """

    problem: LearningProblem
    model: RelevantDimensions
    rows: Array
    notes: list[str]
    metric: LearnedMetric | None = None
    held_out: HeldOut | None = None
    judged: Verdict | None = None
    outlook: Outlook | None = None
    columns: tuple[tuple[str, float], ...] = ()
    partial: bool = False

    @property
    def verdict(self) -> str:
        """What is the case, and what to do: by held-out rows."""
        if self.has_few_rows:
            return (
                f"with {len(self.problem.X)} rows it is unclear whether there is anything to learn: {_FEWEST_ROWS} "
                "or more are needed to hold some out"
            )
        if self.judged is None:
            return (
                "the work was stopped before the check on held-out rows: it is not known yet what is complex, and what "
                "is noise"
            )
        return self.judged.text

    @property
    def has_few_rows(self) -> bool:
        """Whether the rows are too few to hold some out, so that nothing can be said of noise."""
        return len(self.problem.X) < _FEWEST_ROWS

    @property
    def learning_curve(self) -> LearningCurve | None:
        """Held-out errors against the number of rows, if there are any."""
        if self.has_few_rows:
            return None
        return None if self.judged is None else self.judged.curve

    @property
    def evidence(self) -> list[str]:
        """The numbers that it rests on; of few rows none."""
        if self.has_few_rows:
            return []
        of_components = self.model.diagnosis_.evidence
        if self.judged is None:
            return [f"a first look at a few Gaussians, without a metric and without boosted trees: {of_components[0]}"]
        measure = "the variance" if self.problem.target.classes is None else "the classes"
        contradictions = [line for line in of_components if line.startswith("equal rows")]
        return [*self.judged.evidence(measure), of_components[0], *contradictions]


def diagnose_problem(problem: LearningProblem, *, seed: int = 0, progress: Progress | None = None) -> DiagnosisResult:
    """Diagnose a learning problem.

    Parameters
    ----------
    problem : LearningProblem
        Rows and target.
    seed : int
        Draws rows where there are too many.
    progress : Progress, optional
        Called with what is being done; if it returns True, the diagnosis ends.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.datasets import make_sinc
    >>> from mercer.report import LearningProblem, diagnose_problem, table_from_frame
    >>> X, y = make_sinc(80, noise=0.1, random_state=0)
    >>> table = table_from_frame(pl.DataFrame({"x": X[:, 0], "y": y}))
    >>> result = diagnose_problem(LearningProblem.read(table, "y"))
    >>> result.judged.noise_low < result.judged.noise_high < 0.5
    True
    """
    problem = _near(problem)
    n = len(problem.X)
    fitted = min(n, MOST_FACTORED)
    refuse_if_too_large(24.0 * fitted**2 + 24.0 * problem.X.size, f"diagnosing {n:,} rows")
    stages = Stages(progress, _plan(n))
    stages.begin(_FIRST)
    rows = _drawn(problem, seed)
    some = np.nan_to_num(problem.X[rows])
    family = [Gaussian(float(width)) for width in widths_for(some, _WIDTHS)[::_FEW]]
    model = RelevantDimensions(family, task=problem.target.task).fit(some, problem.y[rows])
    result = DiagnosisResult(problem, model, rows, list(problem.notes))
    return unless_interrupted(lambda: _with_metric(result, seed, stages), lambda: replace(result, partial=True))


def _near(problem: LearningProblem) -> LearningProblem:
    """The problem without rows whose targets are far from all others, since they would dominate the variance."""
    near = ~problem.far
    return replace(problem, X=problem.X[near], y=problem.y[near], far=problem.far[near], rows=problem.rows[near])


def _with_metric(first: DiagnosisResult, seed: int, stages: Stages) -> DiagnosisResult:
    """The diagnosis with a learned metric, held-out rows and boosted trees."""
    problem, rows = first.problem, first.rows
    X, y, task = problem.X, problem.y, problem.target.task
    parts = splits(X, seed) if len(X) >= _FEWEST_ROWS else []
    stages.begin(_METRIC)
    # With many rows there is one metric, which is learned without the held-out rows.
    learned = parts[0].learned if len(parts) == 1 else np.arange(len(X))
    metric = _learned(problem, learned, seed, stages)
    model = RelevantDimensions(metric.kernel_, task=task, intercept=True).fit(metric.transform(X[rows]), y[rows])
    columns = tuple(importance_of_columns(metric, problem.schema))
    stages.begin(_HELD_OUT)
    result = replace(first, model=model, metric=metric, columns=columns)
    if not parts:
        stages.end()
        return result
    labels = Labels.read("diagnosis", y, task)
    metrics = iter([metric]) if len(parts) == 1 else _metrics_of_folds(problem, metric, parts, seed, stages)
    held_out = held_out_losses(problem, labels, parts, metrics, seed)
    stages.end()
    notes = [*first.notes, _held_out_note(parts, held_out)]
    outlook = unless_interrupted(lambda: Outlook.of(metric, X[rows], labels.take(rows)), lambda: None)
    return replace(
        result, outlook=outlook, held_out=held_out, judged=judge(held_out, _noise(metric, labels)), notes=notes
    )


def _learned(
    problem: LearningProblem, rows: Array, seed: int, stages: Stages, *, start: float = 0.0, share: float = 1.0,
    **options: Any,
) -> LearnedMetric:  # fmt: skip
    """The metric of some rows, which is one part of a stage; raises `KeyboardInterrupt` if the work is to end."""

    def tell(iteration: int, objective: float) -> bool:
        return stages.tell(start + share * min(iteration / EVALUATIONS, 1.0), objective)

    groups = indicators(problem.schema)
    metric = LearnedMetric(groups=groups, refine_rows=_REFINED_ROWS, random_state=seed, callback=tell, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a search that was interrupted is not used
        metric.fit(problem.X[rows], problem.y[rows])
    raise_if_interrupted(metric.status_)
    return metric


def _metrics_of_folds(
    problem: LearningProblem, chosen: LearnedMetric, parts: list[Split], seed: int, stages: Stages
) -> Iterator[LearnedMetric]:
    """The kernel that was chosen, with a metric that has not seen the rows that are held out."""
    # Without a rotation each component is one column, whatever the number of columns that were dropped.
    is_rotated = bool(np.any(np.count_nonzero(chosen.components_, axis=0) > 1))
    options = {"kernel": type(chosen.kernel_).__name__, "rotation": "auto" if is_rotated else "none"}
    share = 1.0 / len(parts)
    for i, part in enumerate(parts):
        yield _learned(problem, part.learned, seed, stages, start=i * share, share=share, **options)


def _noise(metric: LearnedMetric, labels: Labels) -> float:
    """The error that the likelihood's noise makes, at least: of classes half of their Gini impurity, given the row."""
    if labels.classes is None:
        return metric.noise_
    shares = np.bincount(labels.y) / len(labels)
    return 0.5 * metric.noise_ * float(np.sum(shares * (1.0 - shares)))


def _held_out_note(parts: list[Split], held_out: HeldOut) -> str:
    if len(parts) > 1:
        return f"Each of {len(parts)} parts of the rows was held out in turn, and the metric learned from the others."
    part = parts[0]
    note = f"{len(part.held_out):,} of {held_out.n:,} rows were held out."
    if held_out.sizes[-1] < len(part.learned):
        note += f" The kernel machine learned from {held_out.sizes[-1]:,} of the others at most."
    return note


def _plan(n_rows: int) -> dict[str, float]:
    """About how long each stage takes beside the others."""
    metric = 0.5 + 4.0 * min(n_rows / 1000, 2.0)
    return {_FIRST: 1.0, _METRIC: metric, _HELD_OUT: metric + 4.0 * (min(n_rows, MOST_FITTED) / MOST_FITTED) ** 2}


def _drawn(problem: LearningProblem, seed: int) -> Array:
    """Rows whose components are examined: of each class, if there are classes."""
    n, y = len(problem.y), problem.y
    if n <= _MOST_ROWS:
        return np.arange(n)
    some = np.random.default_rng(seed).choice(n, _MOST_ROWS, replace=False)
    if problem.target.classes is not None:
        some = np.union1d(some, np.unique(y, return_index=True)[1])
    return np.sort(some)
