"""The whole search for a metric: compare, rotate, refine; it keeps the best so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels import distinct_rows
from mercer.metrics.candidates import Candidate, Learner
from mercer.metrics.choice import Choice, compare, shuffled, split_rows
from mercer.metrics.families import Family
from mercer.metrics.judges import are_classes
from mercer.metrics.tuning import TUNING
from mercer.running import Run, Status, Stopping, raise_if_interrupted


class Search:
    """The search for a metric on standardised rows and targets.

    Parameters
    ----------
    X, Y : array
        Standardised rows (n, d) and targets (n, n_targets).
    families : list of Family
        To choose from.
    groups, prior
        As in `Learner`.
    rotation : bool
        Whether to try rotations.
    rows, refine_rows : int
        Most rows of the comparison and of the refinement.
    random_state : RandomState
        Draws the rows.
    callback : callable or None
        Called as ``callback(iteration, objective)``; if it returns True, the search ends with the best so far.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    best : Candidate or None
        The metric.
    choice : Choice
        All candidates with their errors.
    refined : array
        Positions of the rows that the metric was refined on.
    """

    def __init__(
        self,
        X: Array,
        Y: Array,
        *,
        families: list[Family],
        groups: Array,
        prior: float,
        rotation: bool,
        rows: int,
        refine_rows: int,
        random_state: Any,
        callback: Callable[[int, float], Any] | None,
        verbose: bool,
    ):
        order, ranks = shuffled(X, np.random.default_rng(random_state.randint(2**31)))
        self._X, self._Y, self._families, self._rotation = X[order], Y[order], families, rotation
        self.refined = order[:refine_rows]
        splits = split_rows(ranks, rows) if len(distinct_rows(X)[0]) >= TUNING.least_distinct else []
        self._run = Run[float](Stopping(verbose=verbose), "Metric", tell=callback, shows="objective")
        self._learner = Learner(groups, prior, self._run.note)
        self.choice = Choice(splits, are_classes(Y), self._learner.selected(X, Y))
        self.best: Candidate | None = None

    def run(self) -> Candidate:
        """The metric; after Ctrl-C the best so far."""
        with self._run:
            self._search()
        if self.best is None:
            raise_if_interrupted(self.status)
        assert self.best is not None
        return self.best

    @property
    def status(self) -> Status:
        """How it ended."""
        return self._run.status

    @property
    def n_iter(self) -> int:
        """How often the likelihood was evaluated."""
        return len(self._run.history)

    def _search(self) -> None:
        if not self.choice.splits:
            self._scaled()
            return
        best = self._compared()
        if self.choice.finds_something:
            self._refined(best, self._turned(best))
        else:
            self._keep(self._learner.plain(best.family, self._X, self._Y))

    def _keep(self, candidate: Candidate) -> Candidate:
        self.best = candidate
        return candidate

    def _scaled(self) -> None:
        """One scale and the ridge, where the rows are too few to compare anything."""
        start = self._keep(self._learner.start(self._families[-1], self._X, self._Y))
        self._keep(self._learner.scaled(start, self._X, self._Y))

    def _compared(self) -> Candidate:
        """The best family and shape; equal weights of the last family unless others are clearly better."""
        compare(self._learner, self._families, self._X, self._Y, self.choice, self._keep)
        return self._keep(self.choice.mean(self.choice.leader((self._families[-1].name, "isotropic"))))

    def _turned(self, best: Candidate) -> Candidate | None:
        """The metric to rotate, if that lowers the error enough: the best diagonal one of those that can be turned."""
        names = [(family.name, "diagonal") for family in self._families if family.turns]
        if not self._rotation or not names or self._X.shape[1] < 2:
            return None
        name = min(names, key=self.choice.error)
        parts = zip(self.choice.candidates(name), self.choice.splits, strict=True)
        rotated = [self._learner.rotated(c, self._X[s.learned], self._Y[s.learned]) for c, s in parts]
        self.choice.add(rotated, self._X, self._Y)
        before, after = (best.family.name, best.shape), (name[0], "rotated")
        gains = self.choice.error(after) < (1.0 - TUNING.least_gain) * self.choice.error(before)
        return self._keep(self.choice.mean(name)) if gains and self.choice.leader(before) == after else None

    def _refined(self, best: Candidate, to_turn: Candidate | None) -> None:
        """The chosen metric on more rows; a rotation is learned there anew."""
        X, Y = (rows[: len(self.refined)] for rows in (self._X, self._Y))
        if to_turn is None:
            self._keep(self._learner.refined(best, X, Y))
            return
        diagonal = self._keep(self._learner.refined(to_turn, X, Y))
        rotated = self._keep(self._learner.rotated(diagonal, X, Y))
        self._keep(self._learner.refined(rotated, X, Y))
