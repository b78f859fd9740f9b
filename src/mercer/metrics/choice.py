"""Which family and which shape: by errors on rows that the metric was not learned on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels import distinct_rows
from mercer.metrics.candidates import Candidate, Learner
from mercer.metrics.families import Family
from mercer.metrics.judges import deviance_left, is_clearly_less, variance_left
from mercer.metrics.likelihood import regression
from mercer.metrics.tuning import TUNING


@dataclass(frozen=True)
class Split:
    """Positions of rows that candidates are learned on, and of those that they predict."""

    learned: Array
    held_out: Array


@dataclass
class Choice:
    """Candidates with their errors, and the best of them.

    Attributes
    ----------
    splits : list of Split
        One with rows outside the subsample, or several folds.
    classes : bool
        Whether the targets are classes.
    selected : array of bool
        Columns of all shapes but the isotropic one, chosen by all rows. Candidates of splits choose their own.
    scores : dict
        For each family and shape: one candidate for each split, and their losses on rows that are held out.
    """

    splits: list[Split]
    classes: bool
    selected: Array
    scores: dict[tuple[str, str], tuple[list[Candidate], Array]] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """What errors are fractions of: the variance of the targets, or the deviance of classes."""
        return "deviance" if self.classes else "variance"

    def add(self, candidates: list[Candidate], X: Array, Y: Array) -> None:
        """Judge one candidate for each split, and keep what is judged."""
        self.scores[candidates[0].family.name, candidates[0].shape] = candidates, self.losses(candidates, X, Y)

    def losses(self, candidates: list[Candidate], X: Array, Y: Array) -> Array:
        """Losses of one candidate for each split on the rows of all splits together."""
        pairs = list(zip(candidates, self.splits, strict=True))
        values = np.vstack([held_out_values(candidate, X, Y, split) for candidate, split in pairs])
        targets = np.vstack([Y[split.held_out] for split in self.splits])
        return (deviance_left if self.classes else variance_left)(targets, values)

    def best(self, shapes: tuple[str, ...] = ("isotropic", "diagonal", "rotated")) -> tuple[str, str]:
        """Family and shape with the least error."""
        names = [name for name in self.scores if name[1] in shapes]
        return min(names, key=self.error)

    def leader(self, default: tuple[str, str]) -> tuple[str, str]:
        """The best family and shape, or the default if that is not clearly worse, or if nothing predicts anything."""
        best = self.best()
        n_errors = TUNING.clear_gain_of_classes if self.classes else TUNING.clear_gain
        wins = is_clearly_less(self.scores[best][1], self.scores[default][1], n_errors)
        return best if wins and self.finds_something else default

    @property
    def finds_something(self) -> bool:
        """Whether a candidate predicts better than the mean."""
        return self.error(self.best()) < TUNING.nothing_found

    def error(self, name: tuple[str, str]) -> float:
        """The error of a family and shape."""
        return float(self.scores[name][1].mean())

    def candidates(self, name: tuple[str, str]) -> list[Candidate]:
        """One candidate for each split."""
        return self.scores[name][0]

    def mean(self, name: tuple[str, str]) -> Candidate:
        """A candidate in the middle of those of all splits, from which one for all rows is learned.

        Columns that no split has used have a weight in the middle of the others.
        """
        candidates = self.scores[name][0]
        log_weights = _middle([c.log_weights for c in candidates], [c.used for c in candidates])
        shares = [c.log_shares for c in candidates if c.log_shares is not None]
        if name[1] != "isotropic":
            log_weights = np.where(self.selected, log_weights, -np.inf)
        ridge = float(np.exp(np.mean([np.log(c.ridge) for c in candidates])))
        value = float(np.mean([c.value for c in candidates]))
        log_shares = _middle(shares, [c.used for c in candidates]) if shares else None
        return replace(candidates[0], log_weights=log_weights, log_shares=log_shares, ridge=ridge, value=value)


def _middle(values: list[Array], used: list[Array]) -> Array:
    """Means of the values that are used; where none is, the mean of these."""
    n_known = np.sum(used, axis=0)
    means = np.sum([np.where(u, v, 0.0) for v, u in zip(values, used, strict=True)], axis=0) / np.maximum(n_known, 1)
    return np.where(n_known, means, means[n_known > 0].mean())


def shuffled(X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Positions of the rows in random order with equal rows together, and the number of distinct rows before each.

    Where most rows are repeated, as in tables of a few categories, new rows are repetitions, too: equal rows then count
    as different.
    """
    first, group = distinct_rows(X)
    if len(first) < TUNING.mostly_distinct * len(X):
        first, group = (np.arange(len(X)),) * 2
    rank = rng.permutation(len(first))[group]
    order = np.argsort(rank, kind="stable")
    return order, rank[order]


def without_copies(X: Array, Y: Array) -> Array:
    """Positions of rows without those that are copies of others: they would pass for targets without noise.

    Rows that are equal in X and Y are copies if the targets are nearly all different, or if equal rows never differ in
    their targets. Else they are repeated measurements, which tell the noise, and all of them are kept.
    """
    rows, both = distinct_rows(X)[0], distinct_rows(np.hstack([X, Y]))[0]
    targets = distinct_rows(Y)[0]
    are_copies = len(both) == len(rows) or len(targets) > TUNING.many_targets * len(both)
    return np.sort(both) if are_copies else np.arange(len(X))


def split_rows(ranks: Array, rows: int) -> list[Split]:
    """Rows after the first `rows` are held out if they are enough, else each of four folds.

    Rows are in random order with equal ones together: their ranks tell which are equal. Those are never parted, since
    one would give the other away.
    """
    n = len(ranks)
    n_learned = int(np.searchsorted(ranks, ranks[min(rows, n - 1)]))
    if n - n_learned >= TUNING.least_held_out and n_learned >= 2:
        return [Split(np.arange(n_learned), np.arange(n_learned, min(n, n_learned + TUNING.largest_held_out)))]
    fold = ranks % TUNING.n_folds
    splits = [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(TUNING.n_folds)]
    return [
        Split(split.learned[: TUNING.fold_rows], split.held_out)
        for split in splits
        if len(split.learned) > 1 and len(split.held_out)
    ]


def held_out_values(candidate: Candidate, X: Array, Y: Array, split: Split) -> Array:
    """Predictions of the rows that are held out."""
    A = candidate.rows(X)
    fit = regression(candidate.unit, A[split.learned], Y[split.learned], candidate.ridge)
    kernel = candidate.unit.kernel()
    return np.asarray(fit.offset + kernel(A[split.held_out], A[split.learned]) @ fit.coef)


def compare(learner: Learner, families: list[Family], X: Array, Y: Array, choice: Choice, found: Any) -> None:
    """Learn and judge isotropic and diagonal candidates of each family; `found` is notified of the best so far."""
    parts = [(X[split.learned], Y[split.learned]) for split in choice.splits]
    selected = [learner.selected(*part) for part in parts]
    for family in families:
        starts = []
        for part in parts:
            starts.append(learner.start(family, *part))
            if not choice.scores:
                found(starts[0])
        isotropic = [learner.scaled(start, *part) for start, part in zip(starts, parts, strict=True)]
        choice.add(isotropic, X, Y)
        found(choice.mean(choice.best()))
        diagonal = [learner.diagonal(c, *part, used) for c, part, used in zip(isotropic, parts, selected, strict=True)]
        choice.add(diagonal, X, Y)
        found(choice.mean(choice.best()))


def compare_sums(learner: Learner, families: list[Family], X: Array, Y: Array, choice: Choice, found: Any) -> None:
    """Learn and judge families with shares: all on few rows; the best on all, if its error is not far from the least.

    Equal weights and shares are judged only if there are no other families.
    """
    parts = [(X[split.learned], Y[split.learned]) for split in choice.splits]
    few = [(part[0][: TUNING.start_rows], part[1][: TUNING.start_rows]) for part in parts]
    alone, tried = not choice.scores, []
    for family in families:
        if alone:
            starts = []
            for part in few:
                starts.append(learner.start(family, *part))
                found(starts[0])
            choice.add([learner.scaled(start, *part) for start, part in zip(starts, few, strict=True)], X, Y)
        starts = [learner.flat(family, learner.selected(*part)) for part in parts]
        diagonal = [learner.weighted(c, *part, TUNING.first_steps) for c, part in zip(starts, few, strict=True)]
        tried.append((float(choice.losses(diagonal, X, Y).mean()), diagonal))
    error, diagonal = min(tried, key=lambda pair: pair[0])
    if alone or error < TUNING.promising * choice.error(choice.best()):
        choice.add([learner.weighted(c, *p, TUNING.more_steps) for c, p in zip(diagonal, parts, strict=True)], X, Y)
        found(choice.mean(choice.best()))
