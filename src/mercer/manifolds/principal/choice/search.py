"""The search for the best manifold of a latent space, from all starts.

Searches are generators: they yield settings, are sent the candidates that come of them, and return the best. They fit
nothing themselves, and hold nothing back: whoever drives them has seen all candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mercer.arrays import Array
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.choice.candidates import (
    Candidate,
    Setting,
    density_of,
    gain_of,
    is_clear,
    mean_and_error,
)
from mercer.manifolds.principal.choice.folds import Folds
from mercer.manifolds.principal.choice.tuning import TUNING
from mercer.running import Stopping

Search: TypeAlias = Generator[Setting, Candidate, Candidate]


@dataclass(frozen=True)
class ManifoldSearch:
    """Where to look for manifolds.

    All starts are fitted with one width and two penalties. From the best one penalties and then widths are followed as
    long as the density of the held-out rows rises, each from the map before it: narrow kernels and small penalties fold
    what is not unfolded yet.

    Attributes
    ----------
    folds : Folds
        The rows.
    starts_for : callable
        starts_for(space) gives coordinates of all rows by the names of starts.
    widths, penalties : sequence of float, or None
        Those that may be chosen.
    drops_circles : bool
        Whether a space with a circle must also be better than that without it.
    """

    folds: Folds
    starts_for: Callable[[LatentSpace], dict[str, Array]]
    widths: Sequence[Any] | None
    penalties: Sequence[float]
    drops_circles: bool

    def best(self, spaces: Sequence[LatentSpace]) -> Search:
        """The best manifold of several spaces whose circles close something; starts far behind are followed last."""
        starts = []
        for space in spaces:
            starts.append((yield from self._best_start(space)))
        starts.sort(key=density_of, reverse=True)
        is_far = [is_clear(*gain_of(starts[0], start)) for start in starts]
        found: list[Candidate] = []
        for start, far in zip(starts, is_far, strict=True):
            if not far:
                found.append((yield from self._best_from(start)))
        found.sort(key=density_of, reverse=True)
        for manifold in found:
            if (yield from self._closes(manifold)):
                return manifold
        for start, far in zip(starts, is_far, strict=True):
            if far:
                manifold = yield from self._best_from(start)
                if (yield from self._closes(manifold)):
                    return manifold
        return found[0]

    def _closes(self, manifold: Candidate) -> Generator[Setting, Candidate, bool]:
        """Whether a manifold is clearly better than the best without its first circle.

        Rows around a loop lie on a torus, too: thin, and wound around the loop.
        """
        if manifold.n_components == 1 or "circle" not in manifold.topology or not self.drops_circles:
            return True
        start = yield from self._best_start(LatentSpace(manifold.topology[1:]))
        without = yield from self._best_from(start)
        return is_clear(*gain_of(manifold, without))

    def _best_start(self, space: LatentSpace) -> Search:
        """The best manifold of a space with the first width and penalties."""
        width = TUNING.first_widths[TUNING.kind(space)] if self.widths is None else self.widths[0]
        penalties = [each for each in self.penalties if each in TUNING.first_penalties] or self.penalties[:1]
        found: list[Candidate] = []
        for name, Z in self.starts_for(space).items():
            before = [Z[train] for train in self.folds.positions]
            found += yield from _path(Setting(space, width, 0.0, name, before, TUNING.first), penalties)
        return max(found, key=density_of)

    def _best_from(self, start: Candidate) -> Search:
        """The best manifold of a space, from its best start; by a leap to wide kernels, too."""
        kind, widths = TUNING.kind(start.space), self._widths(start.space)
        best = yield from self._followed(start, widths)
        light = [penalty for penalty in self.penalties if penalty in TUNING.light]
        if len(widths) == 1 or not light or best.width < TUNING.wide_from[kind]:
            return best
        if (yield from self._leaps_behind(best, light)):
            return best
        found = yield from _path(_beside(best, TUNING.wide[kind]), light)
        wide = max(found, key=density_of)
        return (yield from self._followed(wide, widths)) if wide.held_out > best.held_out else best

    def _leaps_behind(self, best: Candidate, light: Sequence[float]) -> Generator[Setting, Candidate, bool]:
        """Whether one fold of several tells that wide kernels, lightly penalised, are clearly worse."""
        if len(self.folds.training) == 1:
            return False
        wide = TUNING.wide[TUNING.kind(best.space)]
        found = yield from _path(_beside(best, wide, is_probe=True), light)
        densities = max((each.log_densities for each in found), key=np.mean)
        gain, error = mean_and_error(densities - best.log_densities[: len(densities)])
        return is_clear(-gain, error)

    def _followed(self, best: Candidate, widths: Sequence[Any]) -> Search:
        """The best model on the way from another: moves to settings beside it are repeated while they are better."""
        (best,) = yield from _path(_beside(best, best.width), [best.penalty])
        tried, moves = {(best.width, best.penalty)}, list(TUNING.moves)
        while True:
            for move in moves:
                width, penalty = _moved(widths, best.width, move[0]), _moved(self.penalties, best.penalty, move[1])
                if width is None or penalty is None or (width, penalty) in tried or self._is_too_fine(best, width):
                    continue
                tried.add((width, penalty))
                (candidate,) = yield from _path(_beside(best, width), [penalty])
                if candidate.held_out > best.held_out:
                    best = candidate
                    moves = [move, *(other for other in moves if other != move)]  # the same again, first of all
                    break
            else:
                return best

    def _widths(self, space: LatentSpace) -> Sequence[Any]:
        return TUNING.widths[TUNING.kind(space)] if self.widths is None else self.widths

    def _is_too_fine(self, best: Candidate, width: Any) -> bool:
        """Whether nodes of a kernel are more than the rows that it is fitted to."""
        return len(self.folds.basis_for(best.space, width).nodes) > self.folds.fewest_rows


def _beside(best: Candidate, width: Any, *, is_probe: bool = False) -> Setting:
    """Another width, from the map of the best; the penalty is still to be set."""
    stopping: Stopping = TUNING.followed[TUNING.kind(best.space)]
    return Setting(best.space, width, 0.0, best.start, best, stopping, is_probe)


def _path(setting: Setting, penalties: Sequence[float]) -> Generator[Setting, Candidate, list[Candidate]]:
    """Candidates for several penalties, each started from the one before."""
    found: list[Candidate] = []
    for penalty in penalties:
        before = found[-1] if found else setting.before
        found.append((yield Setting(**{**vars(setting), "penalty": penalty, "before": before})))
    return found


def _moved(values: Sequence[Any], value: Any, step: int) -> Any:
    """The value that is a step further in a sequence, or None beyond its ends."""
    place = values.index(value) + step
    return values[place] if 0 <= place < len(values) else None
