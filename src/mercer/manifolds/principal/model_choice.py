"""Model choice without labels: the density that a manifold implies, on rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from tqdm import tqdm

from mercer.losses.rows import SquaredRows
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.affine_maps import constant_map, normal_density, principal_map
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.fitting import fit_manifold
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.result import Callback, ManifoldFit
from mercer.manifolds.principal.soft import soft_map
from mercer.running import Status, Stopping
from mercer.threads import allowed_threads, run_threaded, single_threaded_blas

Array = NDArray[Any]

# Widths that are tried, by the number of coordinates, those of them that are tried first, and penalties.
WIDTHS = ((0.035, 0.06, 0.1, 0.17, 0.28, 0.48, 0.8, 1.4), (0.1, 0.14, 0.2, 0.34, 0.58, 1.0), (0.45, 0.6, 0.77, 1.0))
_FIRST_WIDTHS = (0.17, 0.34, 0.77)
PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7)
# Penalties that every start is fitted with, from the largest, which unfolds first; then the best one is followed.
_FIRST_PENALTIES = (1e-2, 1e-3)
# A fold holds out a fifth of the rows; there are as many as it takes to hold out so many rows.
_FOLDS, _HELD_OUT = 5, 160
# Moves from one setting to another, in widths, up or down, and in penalties, which fall.
_MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1))
# Smooth manifolds with much noise need kernels that are much wider and much less penalised; in between all are worse.
# So these are tried in one leap, from kernels of these widths and more: surfaces of narrow ones are not smooth. The
# first penalty takes away what a narrow kernel has made of the noise.
_WIDE, _LIGHT, _FROM = (0.8, 1.0, 1.0), (1e-2, 1e-4, 1e-5, 1e-6), (0.0, 0.2, 0.0)
# A rung of the ladder is climbed for a gain of so many of its standard errors.
_ERRORS = 2.0
# Share of the rows, at either end, that do not decide whether a table is flat: a few may lie elsewhere.
_TRIMMED = 0.1
# When fits that are compared end: hard ones, soft ones of starts, and those that are followed, curves the latest.
_HARD, _FIRST = Stopping(1e-3, 6), Stopping(1e-3, 6)
_FOLLOWED = (Stopping(1e-4, 10), Stopping(1e-3, 3), Stopping(1e-3, 3))
# Steps of the projections that are shown while a model is chosen.
_SHOWN: Any = {"n_starts": 1, "max_steps": 3}


@dataclass(frozen=True)
class Candidate:
    """A model that may be chosen.

    Attributes
    ----------
    rung : {"mean", "pca", "manifold"}
        What it is.
    space : LatentSpace
        Its coordinates.
    width, penalty : float
        Of a manifold, else NaN; a width may also be a tuple, for the coordinates, or "auto" for that of a given kernel.
    start : str
        Where a manifold was started.
    maps, variances : list of LatentMap, list of float
        Of the fits in the folds, and their noise.
    map : LatentMap
        Of all rows, or for a manifold that of the first fold.
    log_densities : array of shape (n,)
        Of the rows that are held out, each by the fit that it was held out of.
    """

    rung: str
    space: LatentSpace
    width: Any
    penalty: float
    start: str
    maps: list[LatentMap]
    variances: list[float]
    log_densities: Array
    map: LatentMap

    @property
    def n_components(self) -> int:
        """Number of coordinates."""
        return self.space.n_dims

    @property
    def topology(self) -> tuple[str, ...]:
        """Of the coordinates."""
        return self.space.topology

    @property
    def held_out(self) -> float:
        """Mean of the held-out log densities."""
        return float(self.log_densities.mean())

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
    that gains nothing is the last. A few rows that lie elsewhere do not tell that a table is not flat: the gain over
    the mean is trimmed. And a density may be better for other reasons than a curve: a manifold must also gain upon
    places on the plane that are normal rather than even. Among manifolds there is no such rule: the best on held-out
    rows is taken, but a circle must gain two standard errors upon the manifold without this coordinate. All starts, in
    all spaces, are fitted with one width and two penalties. From the best of each space that is not two standard errors
    behind another, penalties and then widths are followed as long as the density of the held-out rows rises, each from
    the map before it: narrow kernels and small penalties fold what is not unfolded yet.

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
        By default those of `WIDTHS`; a single one is taken as given, "auto" if a kernel is.
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
    """

    X: Array
    some_rows: Array
    basis_for: Callable[[LatentSpace, Any], LatentBasis]
    starts_for: Callable[[LatentSpace], dict[str, Array]]
    spaces: Sequence[Sequence[LatentSpace]]
    widths: Sequence[float] | None = None
    penalties: Sequence[float] = PENALTIES
    soft: bool = False
    drops_circles: bool = False
    verbose: bool = False
    callback: Callback | None = None
    random_state: Any = None
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.interrupted = self._climbed = False
        self._n_fits = 0
        n_folds = min(_FOLDS, -(-_HELD_OUT * _FOLDS // len(self.X)))
        folds = KFold(_FOLDS, shuffle=True, random_state=self.random_state)
        self._folds = list(folds.split(self.X))[:n_folds]

    def choose(self) -> tuple[Candidate, str]:
        """The chosen model and why, in words. Ctrl-C ends the search: then the best so far is taken."""
        self._progress = tqdm(desc="Model choice", unit=" fits", disable=not self.verbose)
        words: list[str] = []
        best: Candidate | None = None
        try:
            # EM needs complete rows; what is held out is judged by the entries that are known.
            self._training = [Rows((self.some_rows if self.soft else self.X)[train]) for train, _ in self._folds]
            self._test = [Rows(self.X[test]) for _, test in self._folds]
            for rung in self._ladder():
                if best is None:
                    best, words = rung, [str(rung)]
                    continue
                gain, error = _gain(rung, best)
                verdict = f"{rung} ({gain:+.3g} ± {error:.2g} in log density per row against {best})"
                better = gain > _ERRORS * error
                if better and rung.rung == "manifold" and not self.spaces[0][0].is_circle.any():
                    better, verdict = self._is_curved(rung, verdict)
                self._climbed = self._climbed or better
                words.append(verdict if better else f"not {verdict}")
                best = rung if better else best
        except KeyboardInterrupt:
            self.interrupted = True
            asked_for = [space for spaces in self.spaces for space in spaces]
            finished = [each for each in self.candidates if each.rung == "manifold" and each.space in asked_for]
            if best is None and not finished:
                raise
            best = max(finished, key=_density, default=best)
            words = [f"interrupted: {best}"]
        finally:
            self._progress.close()
        assert best is not None
        return best, "; ".join(words)

    def table(self) -> dict[str, list[Any]]:
        """All candidates, as columns."""
        names = ("rung", "n_components", "topology", "width", "penalty", "start", "held_out")
        return {name: [getattr(candidate, name) for candidate in self.candidates] for name in names}

    # Rungs -----------------------------------------------------------------------------------------------------------

    def _ladder(self) -> Iterable[Candidate]:
        for number, spaces in enumerate(self.spaces):
            if number == 0:
                yield self._flat("mean", constant_map, spaces[0])
            self._climbed = False
            if not spaces[0].is_circle.any():
                yield self._plane(spaces[0])
            yield self._best_manifold(spaces)
            if not self._climbed:
                break

    def _flat(self, rung: str, map_of: Callable[[Array, LatentSpace], LatentMap], space: LatentSpace) -> Candidate:
        def fit(fold: int) -> tuple[LatentMap, ManifoldDensity]:
            f = map_of(self.some_rows[self._folds[fold][0]], space)
            return f, ManifoldDensity.of(self._training[fold], f)

        return self._noted(rung, space, np.nan, np.nan, "", self._in_folds(fit), map_of(self.some_rows, space))

    def _plane(self, space: LatentSpace) -> Candidate:
        """Principal components, with places that fill a box evenly or are normal: what is better for most rows."""
        box = self._flat("pca", principal_map, space)
        normal = replace(box, log_densities=self._normal_log_densities(space.n_dims))
        if _gain(normal, box)[0] > 0:
            self.candidates[-1] = normal
        return self.candidates[-1]

    def _normal_log_densities(self, n_components: int) -> Array:
        densities = [normal_density(self.some_rows[train], n_components) for train, _ in self._folds]
        return np.concatenate([density.log_density(rows) for density, rows in zip(densities, self._test, strict=True)])

    def _is_curved(self, manifold: Candidate, verdict: str) -> tuple[bool, str]:
        """Whether it is its curves that a manifold gains by; and the verdict, with what speaks against it."""
        normal = self._normal_log_densities(manifold.n_components)
        gain, error = mean_and_error(manifold.log_densities - normal)
        if gain <= _ERRORS * error:
            return False, f"{verdict[:-1]}, and {gain:+.3g} ± {error:.2g} against a plane with normal places)"
        return True, verdict

    def _best_manifold(self, spaces: Sequence[LatentSpace]) -> Candidate:
        """The best on held-out rows, of those whose circles close something; starts far behind are followed last."""
        starts = sorted((self._best_start(space) for space in spaces), key=_density, reverse=True)
        is_behind = [_is_clearly_better(starts[0], start) for start in starts]
        near, far = ([start for start, is_far in zip(starts, is_behind, strict=True) if is_far == so] for so in (0, 1))
        found = sorted(map(self._best_from, near), key=_density, reverse=True)
        return next((each for each in chain(found, map(self._best_from, far)) if self._closes(each)), found[0])

    def _closes(self, manifold: Candidate) -> bool:
        """Whether a manifold is clearly better than the best without its first circle.

        Rows around a loop lie on a torus, too: thin, and wound around the loop.
        """
        if manifold.n_components == 1 or "circle" not in manifold.topology or not self.drops_circles:
            return True
        without = self._best_from(self._best_start(LatentSpace(manifold.topology[1:])))
        return _is_clearly_better(manifold, without)

    def _best_start(self, space: LatentSpace) -> Candidate:
        """The best manifold of a space with the first width and penalties."""
        widths = self._widths(space)
        first = _FIRST_WIDTHS[_kind(space)] if self.widths is None else widths[0]
        penalties = [penalty for penalty in self.penalties if penalty in _FIRST_PENALTIES] or self.penalties[:1]
        found: list[Candidate] = []
        for name, Z in self.starts_for(space).items():
            found += self._path(space, first, penalties, name, [Z[train] for train, _ in self._folds], _FIRST)
        return max(found, key=_density)

    def _best_from(self, start: Candidate) -> Candidate:
        """The best manifold of a space, from its best start."""
        kind, widths = _kind(start.space), self._widths(start.space)
        best = self._followed(start, widths)
        light = [penalty for penalty in self.penalties if penalty in _LIGHT]
        if len(widths) == 1 or not light or best.width < _FROM[kind] or self._leaps_behind(best, light):
            return best
        wide = max(self._path(best.space, _WIDE[kind], light, best.start, best, _FOLLOWED[kind]), key=_density)
        return self._followed(wide, widths) if wide.held_out > best.held_out else best

    def _leaps_behind(self, best: Candidate, light: Sequence[float]) -> bool:
        """Whether one fold of several tells that wide kernels, lightly penalised, are clearly worse."""
        if len(self._folds) == 1:
            return False
        kind = _kind(best.space)
        basis, fold = self.basis_for(best.space, _WIDE[kind]), len(self._test[0].X)
        wide, densities = best, []
        for penalty in light:
            f, density = self._fitted(wide, basis, penalty, _FOLLOWED[kind], 0)
            wide = replace(wide, maps=[f], variances=[density.variance])
            densities.append(density.log_density(self._test[0]))
        gain, error = mean_and_error(max(densities, key=np.mean) - best.log_densities[:fold])
        return gain < -_ERRORS * error

    def _widths(self, space: LatentSpace) -> Sequence[Any]:
        return WIDTHS[_kind(space)] if self.widths is None else self.widths

    def _followed(self, best: Candidate, widths: Sequence[Any]) -> Candidate:
        """The best model on the way from another: moves to settings beside it are repeated while they are better."""
        best = self._beside(best, best.width, best.penalty)
        tried, moves = {(best.width, best.penalty)}, list(_MOVES)
        while True:
            for move in moves:
                setting = _moved(widths, best.width, move[0]), _moved(self.penalties, best.penalty, move[1])
                if None in setting or setting in tried or self._is_too_fine(best.space, setting[0]):
                    continue
                tried.add(setting)
                candidate = self._beside(best, *setting)
                if candidate.held_out > best.held_out:
                    best = candidate
                    moves = [move, *(other for other in moves if other != move)]  # the same again, first of all
                    break
            else:
                return best

    def _beside(self, best: Candidate, width: Any, penalty: float) -> Candidate:
        """Another setting, from the map of the best."""
        (candidate,) = self._path(best.space, width, [penalty], best.start, best, _FOLLOWED[_kind(best.space)])
        return candidate

    def _is_too_fine(self, space: LatentSpace, width: Any) -> bool:
        """Whether nodes of a kernel are more than the rows that it is fitted to."""
        return len(self.basis_for(space, width).nodes) > min(len(rows) for rows in self._training)

    # Fits ------------------------------------------------------------------------------------------------------------

    def _path(
        self, space: LatentSpace, width: Any, penalties: Sequence[float], name: str, start: Any, stopping: Stopping
    ) -> Iterator[Candidate]:
        """Candidates for all penalties, each started from the one before; the first from another, or coordinates."""
        basis = self.basis_for(space, width)
        for penalty in penalties:
            fit = partial(self._fitted, start, basis, penalty, stopping)
            start = self._noted("manifold", space, width, penalty, name, self._in_folds(fit))
            self._tell(start.map, penalty)
            yield start

    def _fitted(
        self, before: Any, basis: LatentBasis, penalty: float, stopping: Stopping, fold: int
    ) -> tuple[LatentMap, ManifoldDensity]:
        rows, is_map = self._training[fold], isinstance(before, Candidate)
        start = before.maps[fold] if is_map else before[fold]
        variance = before.variances[fold] if is_map else None
        if not self.soft:
            hard = fit_manifold(rows, start, basis, penalty, max_iter=_HARD.max_iter, tol=_HARD.tol)
            _check(hard.status)
            return hard.map, ManifoldDensity.of(rows, hard.map, variance)
        soft = soft_map(rows.X, start, basis, penalty, stopping, variance=variance, accelerated=is_map)
        _check(soft.status)
        return soft.map, soft.density

    def _in_folds(self, fit: Callable[[int], tuple[LatentMap, ManifoldDensity]]) -> list[Any]:
        """Maps, variances and held-out log densities of all folds; these at the same time, each on one thread."""
        results: list[Any] = [None] * len(self._folds)

        def work(fold: int) -> None:
            f, density = fit(fold)
            results[fold] = f, density.variance, density.log_density(self._test[fold])

        if len(self._folds) == 1:
            work(0)
        else:
            n_threads, numbers = allowed_threads(), cast(Any, range(len(self._folds)))
            with single_threaded_blas:
                run_threaded(lambda fold, _: work(cast(Any, fold)), numbers, lambda: None, n_threads)
        return results

    def _noted(
        self,
        rung: str,
        space: LatentSpace,
        width: Any,
        penalty: float,
        start: str,
        results: list[Any],
        f: LatentMap | None = None,
    ) -> Candidate:
        maps, variances, log_densities = (list(values) for values in zip(*results, strict=True))
        held_out = np.concatenate(log_densities)
        found = Candidate(rung, space, width, penalty, start, maps, variances, held_out, maps[0] if f is None else f)
        self.candidates.append(found)
        return found

    def _tell(self, f: LatentMap, penalty: float) -> None:
        """Show and tell that there is another fit; its projections are rough."""
        self._progress.update()
        if self.callback is None:
            return
        self._n_fits += 1
        found = project(Rows(self.X), f, **_SHOWN)
        error = float(found.costs.mean())
        fit = ManifoldFit(f, found.Z, found.costs, error, [error], 0, Status.MAX_ITER, penalty, SquaredRows())
        if self.callback(self._n_fits, fit):
            raise KeyboardInterrupt


def _density(candidate: Candidate) -> float:
    return candidate.held_out


def _kind(space: LatentSpace) -> int:
    """Where the constants for a number of coordinates stand."""
    return min(space.n_dims, len(WIDTHS)) - 1


def _check(status: str) -> None:
    if status == "interrupted":
        raise KeyboardInterrupt


def _gain(new: Candidate, old: Candidate) -> tuple[float, float]:
    """Mean gain in log density per row, and its standard error; trimmed where a plane is compared to what is flat."""
    gains = new.log_densities - old.log_densities
    return mean_and_error(gains, _TRIMMED if new.rung == "pca" and old.rung != "manifold" else 0.0)


def mean_and_error(values: Array, trimmed: float = 0.0) -> tuple[float, float]:
    """The mean without a share of the values at either end, and its standard error (Tukey & McLaughlin 1963)."""
    values, n_left_out = np.sort(values), int(trimmed * len(values))
    kept = values[n_left_out : len(values) - n_left_out]
    spread = np.clip(values, kept[0], kept[-1]).std(ddof=1) / (1.0 - 2.0 * trimmed)
    return float(kept.mean()), float(spread / np.sqrt(len(values)))


def _is_clearly_better(new: Candidate, old: Candidate) -> bool:
    gain, error = _gain(new, old)
    return gain > _ERRORS * error


def _moved(values: Sequence[Any], value: Any, step: int) -> Any:
    """The value that is a step further in a sequence, or None beyond its ends."""
    place = values.index(value) + step
    return values[place] if 0 <= place < len(values) else None
