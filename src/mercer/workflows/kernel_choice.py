"""Kernel, penalty and size of the noise for a machine: in a metric that is learned, or from a family by likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer.arrays import Array
from mercer.kernels import Exponential, Gaussian, Kernel, Linear, Polynomial, widths_for
from mercer.machines import KernelRidge
from mercer.metrics import LearnedMetric
from mercer.relevance import RelevantDimensions
from mercer.running import Iterates, Run, Status, Step, Stopping, unless_interrupted
from mercer.tables.schema import TableSchema
from mercer.tables.targets import Target
from mercer.workflows.progress import Stages

# Kinds of kernels by their names on the command line.
KERNELS = ("auto", "gaussian", "exponential", "linear", "polynomial")
METRICS = ("auto", "none")
# Rows for the choice of kernel and penalty, and kernels that are tried between two reports of progress.
MOST_ROWS, _TOGETHER = 1000, 4
# Widths of each kind of kernel.
_WIDTHS = 12
# A metric is learned with about so many evaluations of the likelihood.
EVALUATIONS = 400
# Smallest standard deviation of the noise, relative to that of the target.
_LEAST_NOISE = 1e-3
# Largest number of pairs of columns that are reported, and the least fraction of the variance for that.
_MOST_PAIRS, _LEAST_SHARE = 5, 0.005


@dataclass(frozen=True)
class MetricRows:
    """Rows in a learned metric: X matrix + shift, and for each missing entry what that adds.

    Attributes
    ----------
    matrix : array of shape (n_columns, n_components)
        The weights of the columns, and a rotation.
    shift : array of shape (n_components,)
        Where the row of zeros goes.
    missing : array of shape (n_columns, n_components)
        What a missing entry adds to a row that has 0 there.
    """

    matrix: Array
    shift: Array
    missing: Array

    @classmethod
    def of(cls, metric: LearnedMetric) -> Self:
        """What a metric does to rows."""
        d = metric.n_features_in_
        shift = metric.transform(np.zeros((1, d)))[0]
        without = np.zeros((d, d))
        np.fill_diagonal(without, np.nan)
        return cls(metric.transform(np.eye(d)) - shift, shift, metric.transform(without) - shift)

    def transform(self, X: Array) -> Array:
        """Rows in the metric."""
        unknown = np.isnan(X)
        rows = np.where(unknown, 0.0, X) @ self.matrix + self.shift
        return np.asarray(rows + unknown.astype(np.float64) @ self.missing if unknown.any() else rows)


@dataclass(frozen=True)
class Learned:
    """What a learned metric tells of the columns.

    Attributes
    ----------
    rows : MetricRows
        Rows in the metric.
    reason : str
        Why it is as it is.
    columns : list of (str, float)
        How much the prediction changes with each column: standard deviations of the target for one of the column.
    pairs : list of (str, str, float)
        Columns that act together, and the fraction of the variance that this is.
    """

    rows: MetricRows
    reason: str
    columns: list[tuple[str, float]]
    pairs: list[tuple[str, str, float]]


@dataclass(frozen=True)
class KernelChoice:
    """A kernel, the C of squared errors, the size of the noise, and the metric of the kernel, if it has one.

    `stopped` says that the choice was interrupted and is the best so far.
    """

    kernel: Kernel
    C: float
    noise: float
    learned: Learned | None = None
    stopped: bool = False

    def rows(self, X: Array) -> Array:
        """Rows as the kernel takes them."""
        return np.nan_to_num(X) if self.learned is None else self.learned.rows.transform(X)


def learns_metric(kernel: str, metric: str) -> bool:
    """Whether how much columns count is learned: for kernels that are not named."""
    return kernel == "auto" and metric == "auto"


def choose_kernel(
    X: Array, y: Array, schema: TableSchema, target: Target, *, kernel: str, metric: str, seed: int, stages: Stages
) -> KernelChoice:
    """Choose a kernel: with a metric unless the user wants a kind of kernel, or none."""
    if learns_metric(kernel, metric):
        return _with_metric(X, y, schema, target, seed, stages)
    X, y = _some(np.nan_to_num(X), y, seed)
    best, stopped = _most_likely(X, y, _family(X, kernel), target, stages)
    ridge = KernelRidge(best).fit(X, _columns(y, target))
    return KernelChoice(best, 1.0 / ridge.penalty_, _noise(ridge), stopped=stopped)


def _most_likely(X: Array, y: Array, family: list[Kernel], target: Target, stages: Stages) -> tuple[Kernel, bool]:
    """The kernel with the highest likelihood, and whether there was no time to try all of them."""

    def told(number: int, model: RelevantDimensions) -> bool:
        return stages.tell((number + 1) * _TOGETHER / (len(family) + _TOGETHER), float(-end.value))

    def models() -> Iterates[RelevantDimensions]:
        for start in range(0, len(family), _TOGETHER):
            model = RelevantDimensions(family[start : start + _TOGETHER], task=target.task, intercept=True).fit(X, y)
            yield Step(model, -model.log_likelihood_)
        return Status.OPTIMAL

    with Run(Stopping(), "Kernels", tell=told) as end:
        end.follow(models())
    return end.state.kernel_, end.status == Status.INTERRUPTED


def _with_metric(X: Array, y: Array, schema: TableSchema, target: Target, seed: int, stages: Stages) -> KernelChoice:
    def tell(iteration: int, objective: float) -> bool:
        return stages.tell(iteration / EVALUATIONS, objective)

    metric = LearnedMetric(groups=indicators(schema), random_state=seed, callback=tell).fit(X, y)
    rows = MetricRows.of(metric)
    learned = Learned(rows, metric.reason_, importance_of_columns(metric, schema), [])
    # The noise of the likelihood, replaced below by that of held-out rows.
    choice = KernelChoice(
        metric.kernel_, 1.0 / metric.penalty_, max(float(np.sqrt(metric.noise_)), _LEAST_NOISE), learned,
        metric.status_ == Status.INTERRUPTED,
    )  # fmt: skip
    if choice.stopped:
        return choice

    def completed() -> KernelChoice:
        some, targets = _some(X, y, seed)
        A = rows.transform(some)
        ridge = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(A, _columns(targets, target))
        return replace(choice, noise=_noise(ridge), learned=replace(learned, pairs=_pairs(metric, some, schema.groups)))

    return unless_interrupted(completed, lambda: replace(choice, stopped=True))


def indicators(schema: TableSchema) -> list[list[int]]:
    """Positions of the indicators of each category, which have one weight in a metric."""
    return [group for group in schema.groups.values() if len(group) > 1]


def importance_of_columns(metric: LearnedMetric, schema: TableSchema) -> list[tuple[str, float]]:
    """How much the prediction changes with each column of the table, most first; indicators count together."""
    found = [(name, float(np.linalg.norm(metric.importance_[group]))) for name, group in schema.groups.items()]
    return sorted(found, key=lambda pair: -pair[1])


def _pairs(metric: LearnedMetric, X: Array, groups: dict[str, list[int]]) -> list[tuple[str, str, float]]:
    """Columns of the table that act together, the strongest pairs first."""
    names = np.array([name for name, group in groups.items() for _ in group])
    shares: dict[tuple[str, str], float] = {}
    table = metric.interactions(X)
    for j, k in zip(*np.nonzero(np.triu(np.nan_to_num(table) >= _LEAST_SHARE, 1)), strict=True):
        if names[j] != names[k]:
            pair = (str(names[j]), str(names[k]))
            shares[pair] = shares.get(pair, 0.0) + float(table[j, k])
    strongest = sorted(shares.items(), key=lambda entry: -entry[1])[:_MOST_PAIRS]
    return [(left, right, share) for (left, right), share in strongest]


def _some(X: Array, y: Array, seed: int) -> tuple[Array, Array]:
    if len(X) <= MOST_ROWS:
        return X, y
    some = np.sort(np.random.default_rng(seed).choice(len(X), MOST_ROWS, replace=False))
    return X[some], y[some]


def _columns(y: Array, target: Target) -> Array:
    return y if target.classes is None else np.where(y[:, None] == np.unique(y), 1.0, -1.0)


def _noise(ridge: KernelRidge) -> float:
    return max(float(np.min(ridge.leave_one_out_error_)), _LEAST_NOISE)


def _family(X: Array, name: str) -> list[Kernel]:
    """Kernels of several kinds and widths that suit the scale of the rows, or those of one kind."""
    if name == "gaussian":
        return [Gaussian(float(width)) for width in widths_for(X)]
    widths = widths_for(X, _WIDTHS)
    smooth = [Gaussian(float(width)) for width in widths]
    rough = [Exponential(float(1.0 / width)) for width in widths[:: 2 if len(widths) > 6 else 1]]
    family = [*smooth, *rough, Linear(), Polynomial(2), Polynomial(3)]
    return [kernel for kernel in family if name in ("auto", type(kernel).__name__.lower())]
