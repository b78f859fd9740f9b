"""The diagnosis of a learning problem: what kernels can know of the target, and which columns matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Exponential, Gaussian, Kernel, Linear, Polynomial, widths_for
from mercer.relevance import RelevantDimensions
from mercer.report.memory import refuse_if_too_large
from mercer.report.targets import LearningProblem

Array = NDArray[Any]
Progress = Callable[[str], Any]

# Rows that are looked at: estimates hardly change with more, and the work grows with their cube.
_MOST_ROWS, _MOST_ROWS_FOR_COLUMNS = 2000, 700
# Columns that are left out one at a time, and widths that are tried.
_MOST_COLUMNS, _WIDTHS = 40, 12


@dataclass(frozen=True)
class DiagnosisResult:
    """A diagnosis with its evidence.

    Attributes
    ----------
    problem : LearningProblem
        What was looked at.
    model : RelevantDimensions
        Over all kernels, or the Gaussian ones if the work was cut short.
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
    progress : callable, optional
        progress(words) is called before each piece of work.

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
    say = progress or (lambda words: None)
    some = _drawn(len(problem.X), _MOST_ROWS, seed)
    X, y = problem.X[some], problem.y[some]
    refuse_if_too_large(60.0 * len(X) ** 2 + 24.0 * problem.X.size, f"diagnosing {len(X):,} rows")
    notes = list(problem.notes)
    if len(some) < len(problem.X):
        notes.append(f"{len(some):,} of {len(problem.X):,} rows were drawn at random for the diagnosis.")
    task = "regression" if problem.target.classes is None else "classification"
    family = kernel_family(X)
    say("trying Gaussian kernels")
    model = RelevantDimensions(family[:_WIDTHS], task=task).fit(X, y)
    columns: list[tuple[str, float]] = []
    try:
        say("trying other kernels")
        model = RelevantDimensions(family, task=task).fit(X, y)
        columns = _column_costs(problem, model, X, y, task, seed, say, notes)
    except KeyboardInterrupt:
        return DiagnosisResult(problem, model, y, columns, notes, partial=True)
    return DiagnosisResult(problem, model, y, columns, notes)


def _column_costs(
    problem: LearningProblem, model: RelevantDimensions, X: Array, y: Array, task: str, seed: int, say: Progress,
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
    kernel = model.kernel_
    full = RelevantDimensions(kernel, task=task).fit(X, y).log_likelihood_
    costs = []
    for number, name in enumerate(tried):
        say(f"leaving out columns, {number + 1} of {len(tried)}")
        rest = np.setdiff1d(np.arange(X.shape[1]), groups[name])
        without = RelevantDimensions(kernel, task=task).fit(X[:, rest], y).log_likelihood_
        costs.append((name, len(X) * (full - without)))
    return sorted(costs, key=lambda pair: -pair[1])


def _drawn(n: int, most: int, seed: int) -> Array:
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
