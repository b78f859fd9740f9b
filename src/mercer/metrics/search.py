"""The whole search for a metric: compare, rotate, refine; it keeps the best so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels import distinct_rows
from mercer.metrics.candidates import Candidate, Learner
from mercer.metrics.choice import Choice, compare, compare_sums, shuffled, split_rows
from mercer.metrics.families import Family
from mercer.metrics.judges import are_classes, is_clearly_less, standard_errors_of_gain
from mercer.metrics.likelihood import left_out_residuals, regression
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
    likelier : bool
        Whether the likelihood of all rows chose the metric, not the errors on folds.
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
        self._X, self._Y, self._rotation = X[order], Y[order], rotation
        self._distances = [family for family in families if not family.has_shares]
        self._sums = [family for family in families if family.has_shares]
        self._default = (self._distances or self._sums)[-1]
        self.refined = order[:refine_rows]
        splits = split_rows(ranks, rows) if len(distinct_rows(X)[0]) >= TUNING.least_distinct else []
        self._run = Run[float](Stopping(verbose=verbose), "Metric", tell=callback, shows="objective")
        self._learner = Learner(groups, prior, self._run.note)
        self.choice = Choice(splits, are_classes(Y), self._learner.selected(X, Y))
        self.best: Candidate | None = None
        self.likelier = False

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
            self._likelier(best, self._refined(best, self._turned(best)))
        else:
            self._keep(self._learner.plain(best.family, self._X, self._Y))

    def _keep(self, candidate: Candidate) -> Candidate:
        self.best = candidate
        return candidate

    def _scaled(self) -> None:
        """One scale and the ridge, where the rows are too few to compare anything."""
        start = self._keep(self._learner.start(self._default, self._X, self._Y))
        self._keep(self._learner.scaled(start, self._X, self._Y))

    def _compared(self) -> Candidate:
        """The best family and shape; equal weights of the last family unless others are clearly better."""
        compare(self._learner, self._distances, self._X, self._Y, self.choice, self._keep)
        if self._sums:
            compare_sums(self._learner, self._sums, self._X, self._Y, self.choice, self._keep)
        return self._keep(self.choice.mean(self.choice.leader((self._default.name, "isotropic"))))

    def _turned(self, best: Candidate) -> Candidate | None:
        """The metric to rotate, if that lowers the error enough: the best diagonal one of those that can be turned."""
        names = [(family.name, "diagonal") for family in self._distances if family.turns]
        if not self._rotation or not names or self._X.shape[1] < 2:
            return None
        name = min(names, key=self.choice.error)
        if self.choice.error(name) > TUNING.promising * self.choice.error(self.choice.best()):
            return None
        parts = zip(self.choice.candidates(name), self.choice.splits, strict=True)
        rotated = [self._learner.rotated(c, self._X[s.learned], self._Y[s.learned]) for c, s in parts]
        self.choice.add(rotated, self._X, self._Y)
        before, after = (best.family.name, best.shape), (name[0], "rotated")
        gains = self.choice.error(after) < (1.0 - TUNING.least_gain) * self.choice.error(before)
        return self._keep(self.choice.mean(name)) if gains and self.choice.leader(before) == after else None

    def _likelier(self, best: Candidate, final: Candidate) -> Candidate:
        """Sums over sets of columns, learned on all rows, if these make them likelier than the metric that was chosen.

        Folds have fewer rows than there are, on which the shares may not be found yet. What they say counts as nats of
        a Gaussian. Far values could fool the likelihood: most rows must be predicted better from the others, too.
        """
        choice, chosen, default = self.choice, (best.family.name, best.shape), (self._default.name, "isotropic")
        sums = [(family.name, "diagonal") for family in self._sums[:1]]
        if len(choice.splits) < 2 or choice.classes or chosen == default or not choice.scores.keys() & sums:
            return final
        behind = max(0.0, standard_errors_of_gain(choice.scores[chosen][1], choice.scores[sums[0]][1]))
        X, Y = (rows[: len(self.refined)] for rows in (self._X, self._Y))
        family = choice.candidates(sums[0])[0].family
        found = self._learner.weighted(self._learner.flat(family, choice.selected), X, Y, TUNING.first_steps)
        if (final.value - found.value) * len(X) < TUNING.unclear + 0.5 * behind**2:
            return final
        wrong, others = (_left_out_losses(candidate, X, Y) for candidate in (found, final))
        self.likelier = is_clearly_less(np.sign(wrong - others), np.zeros(len(X)), TUNING.clear_majority)
        return self._keep(found) if self.likelier else final

    def _refined(self, best: Candidate, to_turn: Candidate | None) -> Candidate:
        """The chosen metric on more rows; a rotation is learned there anew."""
        X, Y = (rows[: len(self.refined)] for rows in (self._X, self._Y))
        if to_turn is None:
            return self._keep(self._learner.refined(best, X, Y))
        diagonal = self._keep(self._learner.refined(to_turn, X, Y))
        rotated = self._keep(self._learner.rotated(diagonal, X, Y))
        return self._keep(self._learner.refined(rotated, X, Y))


def _left_out_losses(candidate: Candidate, X: Array, Y: Array) -> Array:
    """Squared errors of predicting each row from all others: for each row the mean of its targets."""
    A = candidate.rows(X)
    fit = regression(candidate.unit, A, Y, candidate.ridge)
    return np.asarray(np.mean(left_out_residuals(candidate.unit, A, fit.coef, candidate.ridge) ** 2, axis=1))
