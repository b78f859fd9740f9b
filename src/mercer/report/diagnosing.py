"""The diagnosis of a learning problem: what kernels can know of the target, and which columns matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Exponential, Gaussian, Kernel, Linear, Polynomial, widths_for
from mercer.relevance import RelevantDimensions
from mercer.report.progress import Progress, Stages
from mercer.tables.memory import refuse_if_too_large
from mercer.tables.targets import LearningProblem

Array = NDArray[Any]

# Rows that are looked at: estimates hardly change with more, and the work grows with their cube.
_MOST_ROWS, _MOST_ROWS_FOR_COLUMNS = 2000, 700
# What is done: a first look at every fourth width, so that there is something to show.
_FIRST, _ALL, _COLUMNS, _FEW = "a first look", "trying all kernels", "leaving out columns", 4
# Columns that are left out one at a time, how many of these are looked at together, and widths that are tried.
_MOST_COLUMNS, _TOGETHER, _WIDTHS = 40, 8, 12


@dataclass(frozen=True)
class DiagnosisResult:
    """A diagnosis with its evidence.

    Attributes
    ----------
    problem : LearningProblem
        What was looked at.
    model : RelevantDimensions
        Over all kernels, or a few Gaussian ones if the work was cut short.
    y : array
        The target of the rows that were looked at.
    columns : list of (str, float)
        What leaving out each column costs in log-likelihood, over all rows; most first.
    notes, partial : list of str, bool
        What was done, and whether the work was cut short.
    """

    problem: LearningProblem
    model: RelevantDimensions
    y: Array
    columns: list[tuple[str, float]]
    notes: list[str]
    partial: bool = False


def kernel_family(X: Array) -> list[Kernel]:
    """Kernels of several kinds and widths that suit the scale of the rows."""
    widths = widths_for(X, _WIDTHS)
    smooth = [Gaussian(float(width)) for width in widths]
    rough = [Exponential(float(1.0 / width)) for width in widths[:: 2 if len(widths) > 6 else 1]]
    return [*smooth, *rough, Linear(), Polynomial(2), Polynomial(3)]


def diagnose_problem(problem: LearningProblem, *, seed: int = 0, progress: Progress | None = None) -> DiagnosisResult:
    """Diagnose a learning problem.

    Parameters
    ----------
    problem : LearningProblem
        Rows and target.
    seed : int
        Draws rows where there are too many.
    progress : Progress, optional
        Is told what is being done; if it returns True, no more is looked at.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.datasets import make_sinc
    >>> from mercer.report import LearningProblem, diagnose_problem, table_from_frame
    >>> X, y = make_sinc(80, noise=0.1, random_state=0)
    >>> table = table_from_frame(pl.DataFrame({"x": X[:, 0], "y": y}))
    >>> result = diagnose_problem(LearningProblem.read(table, "y"))
    >>> result.model.diagnosis_.noise
    'low'
    """
    some = _drawn(len(problem.X), _MOST_ROWS, seed)
    stages = Stages(progress, _plan(len(some), len(problem.schema.groups)))
    X, y = problem.X[some], problem.y[some]
    refuse_if_too_large(60.0 * len(X) ** 2 + 24.0 * problem.X.size, f"diagnosing {len(X):,} rows")
    notes = list(problem.notes)
    if len(some) < len(problem.X):
        notes.append(f"{len(some):,} of {len(problem.X):,} rows were drawn at random for the diagnosis.")
    task = "regression" if problem.target.classes is None else "classification"
    family = kernel_family(X)
    stages.begin(_FIRST)
    model = RelevantDimensions(family[:_WIDTHS:_FEW], task=task).fit(X, y)
    columns: list[tuple[str, float]] = []
    try:
        stages.begin(_ALL)
        stages.tell(0.0, model.log_likelihood_)
        model = RelevantDimensions(family, task=task).fit(X, y)
        stages.begin(_COLUMNS)
        columns = _column_costs(problem, model, X, y, task, seed, stages, notes)
        stages.end()
    except KeyboardInterrupt:
        return DiagnosisResult(problem, model, y, columns, notes, partial=True)
    return DiagnosisResult(problem, model, y, columns, notes)


def _plan(n_rows: int, n_columns: int) -> dict[str, float]:
    """About how long each stage takes beside the others."""
    every, one_column = 2.0 * (n_rows / 1000) ** 2.6, 0.06 * (min(n_rows, _MOST_ROWS_FOR_COLUMNS) / 700) ** 2
    return {_FIRST: 0.28 * every, _ALL: every, _COLUMNS: one_column * (1 + min(n_columns, _MOST_COLUMNS))}


def _column_costs(
    problem: LearningProblem, model: RelevantDimensions, X: Array, y: Array, task: str, seed: int, stages: Stages,
    notes: list[str],
) -> list[tuple[str, float]]:  # fmt: skip
    groups = problem.schema.groups
    if len(groups) < 2:
        return []
    some = _drawn(len(X), _MOST_ROWS_FOR_COLUMNS, seed)
    if task == "classification" and len(np.unique(y[some])) < len(np.unique(y)):
        some = np.arange(len(X))
    X, y = X[some], y[some]
    tried = list(groups)[:_MOST_COLUMNS]
    if len(tried) < len(groups):
        notes.append(f"Only the first {_MOST_COLUMNS} columns were left out one at a time.")
    everything = np.arange(X.shape[1])
    left = [everything, *(np.setdiff1d(everything, groups[name]) for name in tried)]
    kernels = [model.kernel_.on(columns.tolist()) for columns in left]
    likelihoods: list[float] = []
    for start in range(0, len(kernels), _TOGETHER):
        if stages.tell(start / len(kernels), model.log_likelihood_):
            raise KeyboardInterrupt
        family = RelevantDimensions(kernels[start : start + _TOGETHER], task=task).fit(X, y)
        likelihoods += family.table_["log_likelihood"]
    costs = [(name, len(X) * (likelihoods[0] - without)) for name, without in zip(tried, likelihoods[1:], strict=True)]
    return sorted(costs, key=lambda pair: -pair[1])


def _drawn(n: int, most: int, seed: int) -> Array:
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
