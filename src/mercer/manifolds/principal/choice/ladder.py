"""The ladder of models: the mean, then principal components and manifolds of more and more coordinates."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.choice.candidates import Candidate, Setting, gain_of, is_clear, mean_and_error
from mercer.manifolds.principal.choice.search import ManifoldSearch


@dataclass
class Ladder:
    """Climbs from rung to rung for gains that are more than chance.

    Attributes
    ----------
    search : ManifoldSearch
        Where manifolds come from.
    spaces : sequence of sequences of LatentSpace
        Spaces to choose from, by numbers of coordinates that are tried one after the other.
    note : callable
        Told of each model that is not a manifold.
    best, words : Candidate, list of str
        The rung that was reached, and why.
    """

    search: ManifoldSearch
    spaces: Sequence[Sequence[LatentSpace]]
    note: Callable[[Candidate], None]
    best: Candidate | None = None
    words: list[str] = field(default_factory=list)

    def climb(self) -> Generator[Setting, Candidate, None]:
        """All rungs; the first number of coordinates that gains nothing is the last."""
        folds, first = self.search.folds, self.spaces[0][0]
        may_be_flat = not first.is_circle.any()
        self._compare(self._flat(folds.mean(first)))
        for spaces in self.spaces:
            is_better = not spaces[0].is_circle.any() and self._compare(self._flat(folds.plane(spaces[0])))
            manifold = yield from self.search.best(spaces)
            if not (self._compare(manifold, must_be_curved=may_be_flat) or is_better):
                return

    def _flat(self, candidate: Candidate) -> Candidate:
        self.note(candidate)
        return candidate

    def _compare(self, rung: Candidate, *, must_be_curved: bool = False) -> bool:
        """Take a rung if it is clearly better; whether it is."""
        if self.best is None:
            self.best, self.words = rung, [str(rung)]
            return False
        gain, error = gain_of(rung, self.best)
        verdict = f"{rung} ({gain:+.3g} ± {error:.2g} in log density per row against {self.best})"
        is_better = is_clear(gain, error)
        if is_better and must_be_curved:
            # A density may be better for other reasons than a curve: places on the plane that are normal, not even.
            normal = self.search.folds.normal_log_densities(rung.n_components)
            gain, error = mean_and_error(rung.log_densities - normal)
            is_better = is_clear(gain, error)
            if not is_better:
                verdict = f"{verdict[:-1]}, and {gain:+.3g} ± {error:.2g} against a plane with normal places)"
        self.words.append(verdict if is_better else f"not {verdict}")
        self.best = rung if is_better else self.best
        return is_better
