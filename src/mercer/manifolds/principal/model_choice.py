"""Model choice without labels: the density that a manifold implies, on rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer.arrays import Array
from mercer.losses.rows import SquaredRows
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.affine_maps import affine_basis
from mercer.manifolds.principal.choice.candidates import Candidate, density_of
from mercer.manifolds.principal.choice.folds import Folds
from mercer.manifolds.principal.choice.ladder import Ladder
from mercer.manifolds.principal.choice.search import ManifoldSearch
from mercer.manifolds.principal.choice.tuning import TUNING
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.result import Callback, ManifoldFit
from mercer.running import Run, Status, Step, Stopping

WIDTHS, PENALTIES = TUNING.widths, TUNING.penalties
# Steps of the projections that are shown while a model is chosen.
_SHOWN: Any = {"n_starts": 1, "max_steps": 3}


@dataclass
class ModelChoice:
    """Chooses the number of coordinates, width and penalty of a manifold, or a simpler model, by held-out density.

    For the squared cost and quadratic penalties.

    The ladder is the mean, then principal components and the best manifold for each number of coordinates; a rung is
    climbed if the paired gain in log density per row exceeds two standard errors, and the first number of coordinates
    that gains nothing is the last. The gain over the mean is trimmed, since a few rows that lie elsewhere do not tell
    that a table is not flat. A manifold must also gain upon places on the plane that are normal rather than even.
    Among manifolds the best on held-out rows is taken, but a circle must gain two standard errors upon the manifold
    without this coordinate. `ManifoldSearch` finds them.

    Parameters
    ----------
    X, some_rows : array of shape (m, d)
        Rows, and the same without missing entries.
    basis_for : callable
        basis_for(space, width) gives a `LatentBasis`.
    starts_for : callable
        starts_for(space) gives coordinates of the rows by the names of starts.
    spaces : sequence of sequences of LatentSpace
        Spaces to choose from, by numbers of coordinates that are tried one after the other.
    widths : sequence of float, optional
        By default those of `SearchTuning`; a single one is taken as given, "auto" if a kernel is.
    penalties : sequence of float
        Falling.
    soft : bool
        Whether fits are soft in the end.
    drops_circles : bool
        Whether a space with a circle must also be better than that without it; starts and widths must suit both.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(number, fit) with a `ManifoldFit` after each manifold; ends the search if it returns True.
    random_state : int or RandomState
        Chooses the rows that are held out.

    Attributes
    ----------
    candidates : list of Candidate
        All that were fitted.
    interrupted : bool
        Whether the search was ended by Ctrl-C or by the callback.
    """

    X: Array
    some_rows: Array
    basis_for: Callable[[LatentSpace, Any], LatentBasis]
    starts_for: Callable[[LatentSpace], dict[str, Array]]
    spaces: Sequence[Sequence[LatentSpace]]
    widths: Sequence[Any] | None = None
    penalties: Sequence[float] = PENALTIES
    soft: bool = False
    drops_circles: bool = False
    verbose: bool = False
    callback: Callback | None = None
    random_state: Any = None
    candidates: list[Candidate] = field(default_factory=list)
    interrupted: bool = False

    def choose(self) -> tuple[Candidate, str]:
        """The chosen model and why, in words. Ctrl-C ends the search: then the best so far is taken."""
        folds = Folds.of(self.X, self.some_rows, self.basis_for, self.soft, self.random_state)
        search = ManifoldSearch(folds, self.starts_for, self.widths, self.penalties, self.drops_circles)
        ladder = Ladder(search, self.spaces, self.candidates.append)
        for spaces in self.spaces:
            affine_basis(spaces[0]).prepared()
        with Run[Candidate](Stopping(verbose=self.verbose), "Model choice", tell=self._tell) as run:
            steps = ladder.climb()
            setting = next(steps, None)
            while setting is not None:
                self.basis_for(setting.space, setting.width).prepared(for_projection=not self.soft)
                candidate = folds.manifold(setting)
                if not setting.is_probe:
                    self.candidates.append(candidate)
                    if run.see(Step(candidate, -candidate.held_out)):
                        break
                try:
                    setting = steps.send(candidate)
                except StopIteration:
                    setting = None
        self.interrupted = run.status == Status.INTERRUPTED
        if self.interrupted:
            return self._best_so_far(run, ladder.best)
        assert ladder.best is not None
        return ladder.best, "; ".join(ladder.words)

    def table(self) -> dict[str, list[Any]]:
        """All candidates, as columns."""
        names = ("rung", "n_components", "topology", "width", "penalty", "start", "held_out")
        return {name: [getattr(candidate, name) for candidate in self.candidates] for name in names}

    def _best_so_far(self, run: Run[Candidate], rung: Candidate | None) -> tuple[Candidate, str]:
        asked_for = [space for spaces in self.spaces for space in spaces]
        finished = [each for each in self.candidates if each.rung == "manifold" and each.space in asked_for]
        best = max(finished, key=density_of, default=rung) or run.state  # which raises the interrupt if there is none
        return best, f"interrupted: {best}"

    def _tell(self, _: int, candidate: Candidate) -> Any:
        """Tell that there is another manifold; its projections are rough."""
        if self.callback is None:
            return False
        found = project(Rows(self.X), candidate.map, **_SHOWN)
        error = float(found.costs.mean())
        fit = ManifoldFit(
            candidate.map, found.Z, found.costs, error, [error], 0, Status.MAX_ITER, candidate.penalty, SquaredRows()
        )
        n_manifolds = sum(each.rung == "manifold" for each in self.candidates)
        return self.callback(n_manifolds, fit)
