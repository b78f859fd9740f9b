"""Errors of kernels and of boosted trees on the same rows, which none of them was fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.machines import KernelRidge
from mercer.metrics import LearnedMetric
from mercer.metrics.choice import Split, shuffled
from mercer.relevance import LearningCurve
from mercer.relevance.labels import Labels
from mercer.running import Status, raise_if_interrupted
from mercer.tables.targets import LearningProblem
from mercer.workflows.rivals import boosted_trees_values

# From this number of rows on one part is held out; with fewer each of some folds, with a metric of its own.
_MANY_ROWS, _N_FOLDS = 2500, 4
# Fraction of many rows that is held out, and bounds of their number.
_SHARE, _LEAST_HELD_OUT, _MOST_HELD_OUT = 0.2, 600, 3000
# Most rows that a kernel machine is fitted to; most rows whose matrix is factored, and rows from which on conjugate
# gradients are faster.
MOST_FITTED, MOST_FACTORED, _MANY_FITTED = 20_000, 8000, 3000
# Most iterations of conjugate gradients: nearly singular systems would take thousands.
_MOST_ITERATIONS, _TOL = 200, 1e-4
# Fractions of the rows for the learning curve.
_PARTS = (4, 2, 1)
# Number of groups of held-out rows, whose errors estimate the standard error.
_N_GROUPS = 10


class Unsolved(Exception):
    """Equations of more rows than can be factored, which conjugate gradients did not solve in time."""


@dataclass(frozen=True)
class HeldOut:
    """Losses on rows that were held out: whether the class is wrong, or squared error over that of the best constant.

    Attributes
    ----------
    n : int
        Rows in all.
    sizes : array of shape (n_sizes,)
        Numbers of rows that the kernel machines were fitted to.
    kernel : array of shape (n_sizes, n_held_out)
        Losses of kernel ridge regression in the metric, the mean over machines fitted to different parts of the rows.
    trees : array of shape (n_held_out,)
        Losses of boosted trees that were fitted to the largest of these numbers of rows.
    trees_of_all : array of shape (n_held_out,)
        The same after learning from all rows that were not held out.
    guess : array of shape (n_held_out,)
        The same of the best constant.
    guess_error : float
        Its error on all rows.
    rows, values : arrays
        Positions of the rows that were held out, and what the kernel machine says of them.
    """

    n: int
    sizes: Array
    kernel: Array
    trees: Array
    trees_of_all: Array
    guess: Array
    guess_error: float
    rows: Array
    values: Array

    def curve(self) -> LearningCurve:
        """Errors of the kernel machine against the number of rows, in groups of the rows that were held out."""
        groups = np.array_split(self.kernel, min(_N_GROUPS, self.kernel.shape[1]), axis=1)
        return LearningCurve(self.sizes, np.column_stack([g.mean(axis=1) for g in groups]), self.n, self.guess_error)


def splits(X: Array, seed: int) -> list[Split]:
    """Rows to learn from, in random order, and rows to hold out; equal rows are not parted."""
    order, ranks = shuffled(X, np.random.default_rng(seed))
    n = len(order)
    if n < _MANY_ROWS:
        fold = ranks % _N_FOLDS
        return [Split(order[fold != k], order[fold == k]) for k in range(_N_FOLDS) if np.any(fold == k)]
    n_held_out = int(np.clip(_SHARE * n, _LEAST_HELD_OUT, _MOST_HELD_OUT))
    first = int(np.searchsorted(ranks, ranks[n - n_held_out]))
    return [Split(order[:first], order[first:])]


def held_out_losses(
    problem: LearningProblem, labels: Labels, parts: list[Split], metrics: Iterator[LearnedMetric], seed: int
) -> HeldOut:
    """Losses on the rows that are held out, with one metric for each split."""
    sizes = _sizes(min(min(len(part.learned) for part in parts), MOST_FITTED))
    kernel: list[Array] = []
    trees: list[Array] = []
    trees_of_all: list[Array] = []
    values: list[Array] = []
    for part, metric in zip(parts, metrics, strict=True):
        try:
            losses, last = _of_kernel(metric, problem.X, labels, part, sizes)
        except Unsolved:  # of many rows, which are one part
            sizes = _sizes(MOST_FACTORED)
            losses, last = _of_kernel(metric, problem.X, labels, part, sizes)
        kernel.append(losses)
        values.append(last)
        trees.append(_of_trees(problem, labels, Split(part.learned[: sizes[-1]], part.held_out), seed))
        more = len(parts) == 1 and len(part.learned) > sizes[-1]
        trees_of_all.append(_of_trees(problem, labels, part, seed) if more else trees[-1])
    guess = np.concatenate([_of_guessing(labels, part) for part in parts])
    return HeldOut(
        len(labels), sizes, np.hstack(kernel), np.concatenate(trees), np.concatenate(trees_of_all), guess,
        labels.guess_error, np.concatenate([part.held_out for part in parts]), np.vstack(values),
    )  # fmt: skip


def _sizes(largest: int) -> Array:
    """Numbers of rows to learn from."""
    return np.array([largest // n_parts for n_parts in _PARTS])


def _of_kernel(metric: LearnedMetric, X: Array, labels: Labels, part: Split, sizes: Array) -> tuple[Array, Array]:
    """Losses for each number of rows, and the values of the last machine."""
    A, new_rows = metric.transform(X[part.learned]), metric.transform(X[part.held_out])
    Y, truth = labels.columns[part.learned], labels.take(part.held_out)
    losses = np.zeros((len(sizes), len(part.held_out)))
    for i, (size, n_parts) in enumerate(zip(sizes, _PARTS, strict=True)):
        for start in range(0, size * n_parts, size):
            rows = slice(start, start + size)
            values = ridge_values(metric, A[rows], Y[rows], new_rows)
            losses[i] += truth.losses(values) / n_parts
    return losses, values


def ridge_values(metric: LearnedMetric, A: Array, Y: Array, new_rows: Array) -> Array:
    """Kernel ridge regression with an unpenalised constant, at new rows; raises `Unsolved` for more than 8,000 rows."""
    if len(A) > _MANY_FITTED:
        machine = _solved(metric, A, Y)
        if machine is not None:
            return np.asarray(machine.predict(new_rows)).reshape(len(new_rows), -1)
        if len(A) > MOST_FACTORED:
            raise Unsolved
    K = np.asarray(metric.kernel_(A))
    np.fill_diagonal(K, K.diagonal() + metric.penalty_)
    factor = cho_factor(K, overwrite_a=True, check_finite=False)
    solution = cho_solve(factor, np.column_stack([np.ones(len(Y)), Y]), check_finite=False)
    offset = solution[:, 1:].sum(axis=0) / solution[:, 0].sum()
    coef = solution[:, 1:] - solution[:, :1] * offset
    return np.asarray(metric.kernel_(new_rows, A) @ coef + offset)


def _solved(metric: LearnedMetric, A: Array, Y: Array) -> KernelRidge | None:
    """The regression by conjugate gradients; None if they take too long."""
    machine = KernelRidge(
        metric.kernel_, penalties=metric.penalty_, solver="conjugate_gradients", tol=_TOL, max_iter=_MOST_ITERATIONS
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(A, Y)
    statuses = set(np.ravel(machine.status_))
    raise_if_interrupted(*statuses)
    return machine if statuses == {Status.OPTIMAL} else None


def _of_guessing(labels: Labels, part: Split) -> Array:
    """Losses of the mean of the other rows, or of their largest class."""
    if labels.classes is not None:
        return np.asarray(labels.y[part.held_out] != np.bincount(labels.y[part.learned]).argmax(), dtype=np.float64)
    return labels.take(part.held_out).losses(labels.columns[part.learned].mean(axis=0))


def _of_trees(problem: LearningProblem, labels: Labels, part: Split, seed: int) -> Array:
    """Losses of boosted trees."""
    X, y = problem.X, problem.y
    if labels.classes is not None and len(np.unique(y[part.learned])) < 2:
        return np.asarray(y[part.held_out] != y[part.learned[0]], dtype=np.float64)
    guess = boosted_trees_values(X[part.learned], y[part.learned], X[part.held_out], problem.target, seed)
    if labels.classes is not None:
        return np.asarray(guess != y[part.held_out], dtype=np.float64)
    return labels.take(part.held_out).losses(guess[:, None])
