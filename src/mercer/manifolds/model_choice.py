"""Model choice without labels: the density that a manifold implies, on rows that were held out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from tqdm import tqdm

from mercer.kernels.blas import allowed_threads, single_threaded_blas
from mercer.kernels.tiles import run_threaded
from mercer.manifolds.adaptation import Adaptation
from mercer.manifolds.affine_maps import constant_map, principal_map, unchanged_fit
from mercer.manifolds.density import ManifoldDensity
from mercer.manifolds.fitting import Callback, ManifoldFit, fit_manifold
from mercer.manifolds.latent_map import LatentBasis, LatentMap
from mercer.manifolds.latent_space import LatentSpace
from mercer.manifolds.projection import Rows
from mercer.manifolds.soft import soft_map
from mercer.quantizers import Stopping

Array = NDArray[Any]

# Widths that are tried, by the number of coordinates, and penalties, from the largest, which unfolds first.
WIDTHS = ((0.1, 0.17, 0.28, 0.48, 0.8), (0.2, 0.34, 0.58, 1.0), (0.6, 0.77, 1.0))
PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
# Beyond the ends of these, values continue by these factors; the best is left for a neighbour so often at most.
_WIDTH_STEP, _PENALTY_STEP, _MOST_MOVES = 1.7, 10.0, 3
# Penalties after which starts are compared, those of them that are followed at all widths, settings whose held-out
# density is computed, if their AIC is no further from the best than a margin, and folds for that.
_FIRST_PENALTIES, _STARTS, _FINALISTS, _MARGIN, _FOLDS = 3, 2, 3, 30.0, 5
# A rung of the ladder is climbed for a gain of so many of its standard errors.
_ERRORS = 2.0
# When fits that are compared end: screened ones, those around the best, and those in folds.
_SCREENING, _JUDGED = Stopping(1e-3, 5), Stopping(1e-4, 12)
_SOFT_SCREENING, _SOFT_CLOSE, _SOFT_JUDGED = Stopping(3e-3, 9), Stopping(1e-4, 30), Stopping(1e-3, 20)


@dataclass(frozen=True)
class Candidate:
    """A model that may be chosen.

    Attributes
    ----------
    rung : {"mean", "pca", "manifold"}
        What it is.
    n_components : int
        Number of coordinates.
    width, penalty : float
        Of a manifold, else NaN; a width may also be a tuple, for the coordinates, or "auto" for that of a given kernel.
    start : str
        Where a manifold was started.
    map, variance : LatentMap, float
        Of the fit to all rows, and the noise.
    aic : float
        -2 log p + 2 d tr H m / (m - tr H - 1) on the m rows; NaN for the lower rungs.
    log_densities : array of shape (m,) or None
        Of the rows, each by the model of the other folds; None if it was not among the best.
    """

    rung: str
    n_components: int
    width: Any
    penalty: float
    start: str
    map: LatentMap
    variance: float
    aic: float = np.nan
    log_densities: Array | None = None

    @property
    def held_out(self) -> float:
        """Mean of the held-out log densities."""
        return np.nan if self.log_densities is None else float(self.log_densities.mean())

    def __str__(self) -> str:
        if self.rung == "mean":
            return "the mean"
        if self.rung == "pca":
            return f"{self.n_components} principal components"
        kind = {1: "a curve", 2: "a surface"}.get(self.n_components, f"a manifold of {self.n_components} coordinates")
        width = self.width if isinstance(self.width, str) else ", ".join(f"{w:.2g}" for w in np.ravel(self.width))
        return f"{kind} of width {width} and penalty {self.penalty:.1g} from {self.start}"


@dataclass
class ModelChoice:
    """Chooses the number of coordinates, width and penalty of a manifold, or a simpler model, by held-out density.

    For the squared cost and quadratic penalties.

    The ladder is the mean, then principal components and the best manifold for each number of coordinates; a rung is
    climbed if the paired gain in log density per row exceeds two standard errors, and the first number of coordinates
    that gains nothing is the last. Among manifolds there is no such rule: after a screening by AIC the best of three in
    five folds is taken, or, if it is better in the folds, what lies where AIC falls from there, on the grid or beyond
    its edges. The screening follows falling penalties, at the middle width for all starts, and then for the best two of
    these, if they differ, at widths outward from there until AIC rises.

    Parameters
    ----------
    X, some_rows : array of shape (m, d)
        Rows, and the same without missing entries.
    basis_for : callable
        basis_for(n_components, width) gives a `LatentBasis`.
    starts_for : callable
        starts_for(space) gives coordinates of the rows by the names of starts.
    dimensions : sequence of int
        Numbers of coordinates to try.
    widths : sequence of float, optional
        By default those of `WIDTHS`; a single one is taken as given, "auto" if a kernel is.
    penalties : sequence of float
        Falling.
    soft : bool
        Whether fits are soft in the end.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(number, fit) with a `ManifoldFit` after each manifold; ends the search if it returns True.
    random_state : int or RandomState
        Chooses the folds.
    """

    X: Array
    some_rows: Array
    basis_for: Callable[[int, Any], LatentBasis]
    starts_for: Callable[[Any], dict[str, Array]]
    dimensions: Sequence[int]
    widths: Sequence[float] | None = None
    penalties: Sequence[float] = PENALTIES
    soft: bool = False
    verbose: bool = False
    callback: Callback | None = None
    random_state: Any = None
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.interrupted = self._climbed = False
        self._n_fits = 0
        folds = KFold(_FOLDS, shuffle=True, random_state=self.random_state)
        self._folds = list(folds.split(self.X))
        # Fits run at the same time, each on one thread; who is called back is called by one of them at a time.
        self._n_threads, self._telling = allowed_threads(), threading.Lock()

    def choose(self) -> tuple[Candidate, str]:
        """The chosen model and why, in words. Ctrl-C ends the search: then the best so far is taken."""
        self._progress = tqdm(desc="Model choice", unit=" fits", disable=not self.verbose)
        words: list[str] = []
        best: Candidate | None = None
        try:
            with single_threaded_blas:
                self._rows = Rows(self.X)
                self._training = [Rows(self.X[train]) for train, _ in self._folds]
                self._test = [Rows(self.X[test]) for _, test in self._folds]
            for rung in self._ladder():
                if best is None:
                    best, words = rung, [str(rung)]
                    continue
                gain, error = _gain(rung, best)
                self._climbed = self._climbed or gain > _ERRORS * error
                verdict = f"{rung} ({gain:+.3g} ± {error:.2g} in log density per row against {best})"
                words.append(verdict if gain > _ERRORS * error else f"not {verdict}")
                best = rung if gain > _ERRORS * error else best
        except KeyboardInterrupt:
            self.interrupted = True
            finished = [candidate for candidate in self.candidates if candidate.rung == "manifold"]
            if best is None and not finished:
                raise
            best = min(finished, key=lambda candidate: candidate.aic, default=best)
            words = [f"interrupted: {best}"]
        finally:
            self._progress.close()
        assert best is not None
        return best, "; ".join(words)

    def table(self) -> dict[str, list[Any]]:
        """All candidates, as columns."""
        names = ("rung", "n_components", "width", "penalty", "start", "aic", "held_out")
        return {name: [getattr(candidate, name) for candidate in self.candidates] for name in names}

    # Rungs -----------------------------------------------------------------------------------------------------------

    def _ladder(self) -> Iterable[Candidate]:
        for number, q in enumerate(self.dimensions):
            space = self.basis_for(q, self._widths(q)[0]).space
            if number == 0:
                yield self._flat("mean", constant_map, space)
            self._climbed = False
            if not space.is_circle.any():
                yield self._flat("pca", principal_map, space)
            yield self._best_manifold(q, space)
            if not self._climbed:
                break

    def _widths(self, q: int) -> Sequence[float]:
        return WIDTHS[min(q, len(WIDTHS)) - 1] if self.widths is None else self.widths

    def _flat(self, rung: str, map_of: Callable[[Array, LatentSpace], LatentMap], space: LatentSpace) -> Candidate:
        def fit(fold: int) -> ManifoldDensity:
            f = map_of(self.some_rows[self._folds[fold][0]], space)
            return ManifoldDensity.of(self._training[fold], f, variance)

        f = map_of(self.some_rows, space)
        variance = ManifoldDensity.of(self._rows, f).variance
        model = Candidate(rung, space.n_dims, np.nan, np.nan, "", f, variance)
        self.candidates.append(replace(model, log_densities=self._held_out(fit)))
        return self.candidates[-1]

    def _best_manifold(self, q: int, space: LatentSpace) -> Candidate:
        starts = self.starts_for(space)
        widths = self._widths(q)
        middle = len(widths) // 2
        paths = {name: self._path(q, widths[middle], name, start) for name, start in starts.items()}
        found = self._walked(list(paths.values()), _FIRST_PENALTIES)
        more = []
        for name, aic in self._followed(found).items():
            for others in (widths[:middle][::-1], widths[middle + 1 :]):
                more.append(self._outward(q, others, name, starts[name], aic))
            more.append(paths[name])
        found += self._walked(more)
        finalists = self._judged(_promising(found, _FINALISTS))
        return self._climbed_to(max(finalists, key=lambda c: c.held_out))

    def _followed(self, found: Sequence[Candidate]) -> dict[str, float]:
        """The best starts, and their AIC, but for those that have come to the same manifold as a better one."""
        best_of: dict[str, float] = {}
        for candidate in sorted(found, key=lambda c: c.aic):
            best_of.setdefault(candidate.start, candidate.aic)
        (best, least), *others = list(best_of.items())[:_STARTS]
        same = 2 * len(self.X) * _SOFT_SCREENING.tol  # what another step may change it by
        return {best: least, **{name: aic for name, aic in others if aic > least + same}}

    def _outward(self, q: int, widths: Sequence[float], name: str, start: Array, aic: float) -> Iterator[Candidate]:
        """Paths at widths further and further from one with this AIC, up to the first whose AIC is larger."""
        for width in widths:
            least = np.inf
            for candidate in self._path(q, width, name, start):
                least = min(least, candidate.aic)
                yield candidate
            if least > aic:
                break
            aic = least

    def _walked(self, paths: Sequence[Iterator[Candidate]], most: int | None = None) -> list[Candidate]:
        """The next candidates of several paths, also kept; if it is interrupted, those that there are."""
        found: list[list[Candidate]] = [[] for _ in paths]

        def follow(number: int) -> None:
            for candidate in islice(paths[number], most):
                found[number].append(candidate)

        try:
            self._run(follow, len(paths))
        finally:
            self.candidates += [candidate for path in found for candidate in path]
        return [candidate for path in found for candidate in path]

    def _run(self, work: Callable[[int], None], n: int) -> None:
        """Do pieces of work, by their numbers, at the same time."""
        numbers: Any = range(n)
        with single_threaded_blas:
            run_threaded(lambda number, _: work(cast(Any, number)), numbers, lambda: None, self._n_threads)

    def _path(self, q: int, width: float, name: str, start: Any) -> Iterator[Candidate]:
        """Candidates for all penalties, each started from the one before."""
        basis = self.basis_for(q, width)
        for penalty in self.penalties:
            start, candidate = self._screened(start, None, basis, q, width, penalty, name)
            yield candidate

    def _screened(
        self,
        start: Any,
        variance: Any,
        basis: LatentBasis,
        q: int,
        width: float,
        penalty: float,
        name: str,
        *,
        closely: bool = False,
    ) -> tuple[Any, Candidate]:
        """A fit, to start another from, and the candidate that it makes, with its AIC."""
        fit: Any
        if self.soft:
            stopping = _SOFT_CLOSE if closely else _SOFT_SCREENING
            fit = soft_map(self._rows.X, start, basis, penalty, stopping, variance=variance, accelerated=closely)
            self._check(fit.status)
            noise, n_parameters, log_likelihood = fit.density.variance, fit.n_parameters, fit.log_likelihood
        else:
            fit = self._hard(self._rows, start, basis, penalty, _JUDGED if closely else _SCREENING)
            # What is off the manifold, spread over the directions normal to it, to start from.
            noise = float(fit.costs.mean()) / max(self.X.shape[1] - q, 1)
            density = ManifoldDensity.of(self._rows, fit.map, noise)
            n_parameters = Adaptation(self._rows, basis, penalty).effective_parameters(fit.Z)
            noise, log_likelihood = density.variance, float(density.log_density(self._rows).sum())
        # Corrected for few rows, where plain AIC prefers what follows every one of them [Hurvich1989]_.
        n_left = len(self.X) - n_parameters - 1
        correction = len(self.X) / n_left if n_left > 0 else np.inf
        aic = -2 * log_likelihood + 2 * self.X.shape[1] * n_parameters * correction
        self._tell(fit.map, penalty)
        return fit, Candidate("manifold", q, width, penalty, name, fit.map, noise, aic)

    def _tell(self, f: LatentMap, penalty: float) -> None:
        """Show and tell that there is another fit."""
        self._progress.update()
        if self.callback is None:
            return
        fit = unchanged_fit(self.X, f, penalty, "max_iter")
        with self._telling:
            self._n_fits += 1
            if self.callback(self._n_fits, fit):
                raise KeyboardInterrupt

    def _hard(self, rows: Rows, start: Any, basis: LatentBasis, penalty: float, stopping: Stopping) -> ManifoldFit:
        fit = fit_manifold(rows, start, basis, penalty, max_iter=stopping.max_iter, tol=stopping.tol)
        self._check(fit.status)
        return fit

    def _check(self, status: str) -> None:
        if status == "interrupted":
            raise KeyboardInterrupt

    def _judged(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """With held-out log densities; folds start from the fit to all rows, and adapt it to theirs at once."""
        judged = list(candidates)

        def judge(number: int) -> None:
            log_densities = self._held_out(partial(self._refitted, candidates[number]))
            judged[number] = replace(candidates[number], log_densities=log_densities)
            self._progress.update()

        self._run(judge, len(judged))
        for old, new in zip(candidates, judged, strict=True):
            self.candidates[next(i for i, c in enumerate(self.candidates) if c is old)] = new
        return judged

    def _refitted(self, candidate: Candidate, fold: int) -> ManifoldDensity:
        f, penalty, rows = candidate.map, candidate.penalty, self._training[fold]
        if not self.soft:
            fit = self._hard(rows, f, f.basis, penalty, _JUDGED)
            return ManifoldDensity.of(rows, fit.map, candidate.variance)
        soft = soft_map(rows.X, f, f.basis, penalty, _SOFT_JUDGED, variance=candidate.variance)
        self._check(soft.status)
        return soft.density

    def _held_out(self, density_of: Callable[[int], ManifoldDensity]) -> Array:
        """Log densities of the rows, each by the model of the folds that it is not in."""
        values = np.empty(len(self.X))
        for fold, (_, test) in enumerate(self._folds):
            values[test] = density_of(fold).log_density(self._test[fold])
        return values

    def _climbed_to(self, best: Candidate) -> Candidate:
        """Go on to the settings around the best while AIC falls, also beyond the edges of the grid.

        Each is started from the best so far, and followed further than in the screening: along paths of falling
        penalties wide kernels unfold late or not at all. The held-out density decides whether it was worth it.
        """
        (end,) = self._walked([self._beside(best, best.width, best.penalty)])
        tried = {(end.width, end.penalty)}
        for _ in range(_MOST_MOVES):
            around = [pair for pair in self._around(end) if pair not in tried]
            tried |= set(around)
            better = min([end, *self._walked([self._beside(end, *pair) for pair in around])], key=lambda c: c.aic)
            if better is end:
                break
            end = better
        return max(best, *self._judged([end]), key=lambda c: c.held_out)

    def _around(self, best: Candidate) -> list[tuple[Any, float]]:
        """Settings next to these: in one of the two, or wider and less penalised, or the other way round."""
        widths = _neighbours(self._widths(best.n_components), best.width, _WIDTH_STEP)
        penalties = _neighbours(self.penalties, best.penalty, _PENALTY_STEP)
        one = [(width, best.penalty) for width in widths] + [(best.width, penalty) for penalty in penalties]
        return one + list(zip(widths, penalties[::-1], strict=False))

    def _beside(self, best: Candidate, width: Any, penalty: float) -> Iterator[Candidate]:
        basis = self.basis_for(best.n_components, width)
        yield self._screened(
            best.map, best.variance, basis, best.n_components, width, penalty, best.start, closely=True
        )[1]


def _promising(candidates: Sequence[Candidate], most: int | None = None) -> list[Candidate]:
    """The best by AIC, up to a margin: what is further behind is not ahead on rows that were held out."""
    best_first = sorted(candidates, key=lambda c: c.aic)[:most]
    return [candidate for candidate in best_first if candidate.aic <= best_first[0].aic + _MARGIN]


def _gain(new: Candidate, old: Candidate) -> tuple[float, float]:
    """Mean gain in log density per row, and its standard error."""
    assert new.log_densities is not None
    assert old.log_densities is not None
    gains = new.log_densities - old.log_densities
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def _neighbours(values: Sequence[float], value: float, step: float) -> list[float]:
    """The next smaller and larger value, or one that is a step further; none if there is a single value."""
    if len(values) == 1:
        return []
    below = max((v for v in values if v < value), default=value / step)
    return [below, min((v for v in values if v > value), default=value * step)]
