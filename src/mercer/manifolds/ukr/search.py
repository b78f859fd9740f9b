"""The search for a start: candidates, compared on some of the rows, and the number of neighbours to leave out."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.hosts import ArrayRows
from mercer.manifolds.latent.starts import filled, given_coordinates
from mercer.manifolds.ukr.comparison import Comparison, Sample, brought_near, joined
from mercer.manifolds.ukr.fitting import LatentFit
from mercer.manifolds.ukr.rows import DataRows, TrainingRows
from mercer.manifolds.ukr.settings import OWNER, Settings
from mercer.manifolds.ukr.starts import apart, candidates, spread
from mercer.manifolds.ukr.structure import common_share, halves_tell, n_excluded_for
from mercer.manifolds.ukr.units import LatentUnits
from mercer.running import Run, Status, Step, Stopping, raise_if_interrupted


class StartSearch:
    """Candidates, found, scaled and compared on some of the rows if these are many.

    Each is brought to its best scale, on a grid and by a direct search, and its pieces near each other. Several are
    compared after short descents: a start may tear what belongs together, and have the least objective for now. All
    descend for ten iterations, the better half of them for twenty, and the better half of these for sixty. If the
    residuals of the best say that fewer neighbours should be left out, all are compared once more.

    Fast fits have few starts, scaled and compared by lists of neighbours; none descends if a soft manifold is clearly
    better than the others before.

    Parameters
    ----------
    settings : Settings
        Of the fit to all rows.
    rows : TrainingRows
        What is regressed.
    rng : RandomState
        Chooses a sample.

    Attributes
    ----------
    some : array of shape (n,)
        Positions of the rows that starts are compared on.
    sample : Sample
        These rows.
    settings : Settings
        With the number of neighbours to leave out.
    status : Status
        "interrupted" if Ctrl-C or the callback, which is asked after each of several starts and each iteration of
        descents, ended the search: the best start so far is then all that there is time for.
    """

    def __init__(self, settings: Settings, rows: TrainingRows, rng: Any):
        self._given_settings, self._rows, self._rng = settings, rows, rng
        n, tuning = len(rows.points), settings.tuning
        self.some = ArrayRows(rows.points).sample(tuning.fast_start_rows if settings.fast else tuning.start_rows, rng)[
            0
        ]
        self.sample = Sample(*rows.part(self.some))
        self._first = Comparison(self.sample, settings, settings.n_excluded_of_part(len(self.some), n))
        # With fewer neighbours left out, if that was found to be better.
        self._second: Comparison | None = None
        self.status = Status.OPTIMAL

    @property
    def are_of_all(self) -> bool:
        """Whether they are starts of all rows."""
        return len(self.some) == len(self._rows.points)

    def run(self) -> str:
        """The name of the best start; Ctrl-C ends the search with those that there are."""
        callback = self._given_settings.callback

        def told(n: int, fit: LatentFit) -> object:
            return callback is not None and callback(n + 1, fit)

        with Run[LatentFit](Stopping(), "Starts", tell=told) as run:
            run.follow(self._steps())
        self.status = run.status
        if not self._current.scaled:
            raise_if_interrupted(run.status)
            raise ValueError(
                f"init of {OWNER} must give finite coordinates that differ, got none from "
                f"{self._given_settings.init!r}; take 'pca'."
            )
        return self._current.least()

    def _steps(self) -> Generator[Step[LatentFit], None, None]:
        settings = self._given_settings
        if isinstance(settings.init, str):
            yield from self._first.steps(candidates(self.sample.points, settings.space, settings.names, self._rng))
        else:
            yield from self._first.steps([("given", self._given()[self.some])])
        Y = self._rows.points[self.some]
        may_ask = settings.n_excluded_is_auto and self._rows.has_columns and halves_tell(Y, settings.space.n_dims)
        if not self._first.scaled or not may_ask:
            return
        best = self._first.least()
        yield from self._first.descent(
            best, settings.tuning.few_iterations if settings.fast else settings.tuning.rounds[-1]
        )
        share = common_share(Y, self._first.descended[best].Z, self._first.problem(best).density)
        needed = n_excluded_for(share, self._first.n_excluded)
        if needed < self._first.n_excluded:
            # The best start may be another one, too; of the few starts of fast fits the others are beaten already.
            boxes = self._first.boxes
            self._second = Comparison(self.sample, settings, needed)
            yield from self._second.steps([(best, boxes[best])] if settings.fast else list(boxes.items()))

    @property
    def _current(self) -> Comparison:
        """The latest comparison that knows a start."""
        return self._first if self._second is None or not self._second.scaled else self._second

    @property
    def settings(self) -> Settings:
        """With the number of neighbours to leave out of all rows."""
        settings, part = self._given_settings, self._current.n_excluded
        if self._current is self._first:
            return settings
        return replace(settings, n_excluded=max(1, round(part / self._first.n_excluded * settings.n_excluded)))

    @property
    def n_excluded(self) -> int:
        """Neighbours to leave out of the sample."""
        return self._current.n_excluded

    # Results ---------------------------------------------------------------------------------------------------------

    def of_some(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of some of the rows in widths of the kernel, and their units."""
        return self._current.placed[name], self._current.units(name)

    def of_all(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of all rows in widths of the kernel, and their units."""
        if self.are_of_all:
            return self.of_some(name)
        # Of more rows each has more neighbours: the kernel may be narrower.
        settings, targets, n_dims = self.settings, self._rows.targets, self._given_settings.space.n_dims
        share = len(self.some) / len(self._rows.points)
        scales = self._current.scaled[name].scales * share ** (-1.0 / (n_dims + 4))
        units = LatentUnits(np.where(settings.space.is_circle, 2.0 * scales, np.inf))
        Z = joined(settings, targets, self._of_all(name) * scales, units)
        if self.status == Status.INTERRUPTED:
            return Z, units
        problem = settings.problem(targets, units, settings.n_excluded)
        return brought_near(settings, problem, Z, problem.value(Z))[0], units

    def stopped(self, name: str) -> tuple[Array, LatentUnits]:
        """Points of all rows after what there was of a descent."""
        if self.are_of_all and name in self._current.descended:
            return self._current.descended[name].Z, self._current.units(name)
        return self.of_all(name)

    def table(self) -> dict[str, list[Any]]:
        """All starts, and their errors on the rows that they were compared on."""
        return self._current.table(complete=self.status != Status.INTERRUPTED)

    @property
    def rows_of_some(self) -> TrainingRows:
        """The rows of the sample, as those of a table of their own."""
        return DataRows(self._rows.points[self.some])

    def _of_all(self, name: str) -> Array:
        """Coordinates of all rows in the box of a start."""
        if name == "given":
            return self._given()
        return spread(filled(self._rows.points), self.some, self._current.boxes[name], self._given_settings.space)

    def _given(self) -> Array:
        """Coordinates that the user gives, lines brought to a box."""
        space = self._given_settings.space
        Z = given_coordinates(self._given_settings.init, (len(self._rows.points), space.n_dims), OWNER)
        low, high = Z.min(axis=0), Z.max(axis=0)
        if not np.any(high > low):
            raise ValueError(
                f"init of {OWNER} must have points that differ, got {len(Z)} equal ones; there is nothing to scale."
            )
        half = np.where(high > low, (high - low) / 2.0, 1.0)
        return apart(space.inside(np.where(space.is_circle, Z, (Z - low) / half - 1.0)), space, self._rng)
