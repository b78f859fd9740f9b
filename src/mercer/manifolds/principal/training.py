"""The fit of `PrincipalManifold` from its settings: rules or model choice, starts, then projection or EM."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.manifolds.latent.kernels import Length
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.rotation import Rotation, rotation_of
from mercer.manifolds.latent.starts import filled, start_coordinates
from mercer.manifolds.principal.affine_maps import unchanged_fit
from mercer.manifolds.principal.choosing import choice_of, setting_for_all
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.fitting import fit_manifold, fit_path
from mercer.manifolds.principal.missing import PartlyKnown
from mercer.manifolds.principal.result import ManifoldFit
from mercer.manifolds.principal.rotated import lifted_density, lifted_fit, lifting
from mercer.manifolds.principal.settings import Settings, complaint
from mercer.manifolds.principal.soft import hard_end, share_moved, soft_fit
from mercer.manifolds.principal.starts import best_start
from mercer.running import Status, Stopping


@dataclass(frozen=True)
class TrainingTuning:
    """Numbers of the fit, set by `benchmarks/manifold_defaults.py`.

    Attributes
    ----------
    start_rows, choice_rows, choice_rows_missing : int
        Rows that starts are found and compared on, and that models are chosen on; fewer if entries are missing, which
        takes longer.
    fewest_rows : int
        With fewer of them, folds say nothing.
    soft_tol : tuple of float
        EM ends when a step gains so many times `tol` in log density per entry: of curves, and of surfaces, which take
        longer.
    fraction_moved : float
        A soft curve is ended by hard iterations if these move it by no more than this fraction of the noise.
    """

    start_rows: int = 3000
    choice_rows: int = 1500
    choice_rows_missing: int = 250
    fewest_rows: int = 50
    soft_tol: tuple[float, float] = (10.0, 30.0)
    fraction_moved: float = 0.1


TUNING = TrainingTuning()


@dataclass(frozen=True)
class Training:
    """What `PrincipalManifold` learns.

    Attributes
    ----------
    fit : ManifoldFit
        The manifold.
    density : ManifoldDensity
        With the noise of the training rows; that of the soft fit, if hard iterations ended it.
    init, assignment : str
        The start, and "soft", "both" or "hard".
    chosen : str
        Why this model, in words.
    candidates : dict of lists
        What it was chosen from.
    rotation : Rotation
        To the components that it was fitted to.
    """

    fit: ManifoldFit
    density: ManifoldDensity
    init: str
    assignment: str
    chosen: str = "as given, or by rule"
    candidates: dict[str, list[Any]] = field(default_factory=dict)
    rotation: Rotation = field(default_factory=Rotation)


def train(settings: Settings, X: Array, previous: ManifoldFit | None) -> Training:
    """Fit a manifold to checked rows, of many columns to their leading components.

    Parameters
    ----------
    settings : Settings
        Of the estimator.
    X : array of shape (m, d)
        Centred rows, with NaN where entries are missing.
    previous : ManifoldFit, optional
        To go on from, if it suits the settings.
    """
    complete = _completed(X, settings)
    rotation = rotation_of(complete, settings.n_rotated_for(complete), settings.random_state)
    rest = rotation.left_out(complete)
    settings = replace(settings, callback=lifting(rotation, settings.callback, rest))
    if previous is not None:
        suits = previous.map.alpha.shape[1] == X.shape[1]
        previous = replace(previous, map=rotation.lowered(previous.map)) if suits else None
    trainer = _Trainer(settings, PartlyKnown(rotation.leading(complete), X, rotation))
    training = trainer.trained(previous)
    if complete is not X:
        return replace(training, fit=trainer.rows.by_known_entries(training.fit), rotation=rotation)
    fit, density = lifted_fit(rotation, training.fit, rest), lifted_density(rotation, training.density, rest)
    return replace(training, fit=fit, density=density, rotation=rotation)


def _completed(X: Array, settings: Settings) -> Array:
    """Rows whose missing entries are filled, if EM may go on with them: X itself if none is, or it may not."""
    chooses = len(X) >= TUNING.fewest_rows and bool(settings.left_open)
    wanted = settings.assignment in ("soft", "both") or (settings.assignment == "auto" and chooses)
    if not (wanted and settings.is_quadratic and np.isnan(X).any()):
        return X
    some = check_random_state(settings.random_state).permutation(len(X))[: TUNING.choice_rows]
    return filled(X, some)


class _Trainer:
    """Fits the leading components of rows, by rules or by model choice."""

    def __init__(self, settings: Settings, rows: PartlyKnown):
        self._settings, self.rows = settings, rows
        X = rows.X
        self._rng = check_random_state(settings.random_state)
        self._some = self._sampled(TUNING.start_rows)
        self._some_rows = filled(X[self._some])
        space = settings.space_for(X.shape[1])
        self._basis = settings.basis_for(space, len(X))
        self._cost, self._penalty = settings.cost_for(self._some_rows), settings.penalty_for(self._some_rows)
        self._chooses = settings.is_quadratic and len(X) >= TUNING.fewest_rows and bool(settings.left_open)
        possible, wanted = settings.is_quadratic and rows.is_complete, settings.assignment
        if wanted in ("soft", "both") and not possible:
            raise complaint(
                "assignment", "'hard' for other costs than 'squared' and sparse regularizers", wanted, "or take 'auto'"
            )
        self._soft = possible and (wanted in ("soft", "both") or (wanted == "auto" and self._chooses))

    def _sampled(self, most: int) -> Array:
        """Positions of all rows, or of so many of them."""
        m = len(self.rows.X)
        return np.arange(m) if m <= most else np.sort(self._rng.choice(m, most, replace=False))

    def _sampled_to_choose(self) -> Array:
        """Positions of the rows that a model is chosen on."""
        return self._sampled(TUNING.choice_rows if self.rows.is_complete else TUNING.choice_rows_missing)

    def trained(self, previous: ManifoldFit | None) -> Training:
        """The whole of it."""
        if previous is not None and self._suits(previous):
            # Where a model was chosen, its penalty is that for all rows.
            penalty = previous.penalty if self._chooses or self._settings.penalty is None else self._penalty
            return self._described(self._resumed(previous.map, self._basis_after(previous), penalty), "warm_start")
        if self._chooses:
            return self._chosen()
        init, start = self._start()
        if isinstance(start, ManifoldFit) and start.status == Status.INTERRUPTED:
            left = unchanged_fit(self.rows.X, start.map, start.penalty, start.status, start.cost)
            return self._described(left, init)
        if self._soft and init == "given":
            return self._described(self._softened(start), init)
        fit = self._fitted(start, self._basis, self._penalty, self._settings.annealing)
        if self._soft and fit.status != Status.INTERRUPTED:
            fit = self._resumed(fit.map, fit.map.basis, fit.penalty)
        return self._described(fit, init)

    def _basis_after(self, previous: ManifoldFit) -> LatentBasis:
        """What the settings give; the functions that were chosen before where these leave them open."""
        old = previous.map.basis
        is_open = {"n_components", "topology", "width"} & set(self._settings.left_open)
        return old if is_open or _functions(old) == _functions(self._basis) else self._basis

    def _suits(self, previous: ManifoldFit) -> bool:
        old, new, left = previous.map.basis.space, self._basis.space, self._settings.left_open
        same_number = old.n_dims == new.n_dims or "n_components" in left
        same_kind = old.topology == new.topology or "topology" in left or "n_components" in left
        basis = self._basis_after(previous)
        same_norm = basis.whitened == self._basis.whitened and _is_of_length(basis) == _is_of_length(self._basis)
        return same_number and same_kind and same_norm and previous.kind == "manifold"

    def _described(self, fit: ManifoldFit, init: str, **more: Any) -> Training:
        """A fit with its density, after EM with rows that are filled again and the hard iterations at its end."""
        going_on = self._soft and fit.status != Status.INTERRUPTED and fit.kind == "manifold"
        if len(self.rows.holes):
            some = self._sampled(TUNING.choice_rows_missing)
            density = self.rows.density(fit.map, some)
            if going_on:
                self.rows.fill(fit.map)
                fit = self._resumed(fit.map, fit.map.basis, fit.penalty, density.variance)
                density = self.rows.density(fit.map, some, density.variance)
                going_on = fit.status != Status.INTERRUPTED
        else:
            density = self.rows.part(self._sampled_to_choose(), fit.map)
        assignment = "soft" if self._soft else "hard"
        if going_on:
            fit, assignment = self._ended(fit, density.variance)
        return Training(fit, density, init, assignment, **more)

    def _ended(self, soft: ManifoldFit, variance: float) -> tuple[ManifoldFit, str]:
        """A soft fit with hard iterations at its end, if these are wanted; and what it is called."""
        wanted = self._settings.assignment
        if wanted == "soft" or (wanted == "auto" and soft.Z.shape[1] > 1):
            return soft, "soft"
        end = hard_end(self.rows.judged, soft, self._settings.callback)
        if wanted == "auto" and share_moved(soft.map, end.map, variance) > TUNING.fraction_moved:
            return replace(soft, status=end.status), "soft"
        return end, "both"

    def _chosen(self) -> Training:
        """Choose on some of the rows, then fit all of them."""
        some = self._sampled_to_choose()
        whole = np.setdiff1d(some, self.rows.holes)
        if 2 * len(whole) >= len(some) and len(whole) >= TUNING.fewest_rows:
            some = whole
        choice = choice_of(self._settings, self.rows, some, self._penalty, self._soft, self._rng)
        best, words = choice.choose()
        if best.rung == "manifold" and not choice.interrupted:
            basis, penalty = setting_for_all(self._settings, len(self.rows.X), best, len(some))
            best.map.basis.with_cells(basis.space.n_cells).prepared()
            self.rows.fill(best.map)
            fit = self._resumed(best.map, basis.prepared(for_projection=True), penalty, best.variances[0])
        else:
            status = Status.INTERRUPTED if choice.interrupted else Status.OPTIMAL
            best.map.basis.prepared(for_projection=True)
            fit = unchanged_fit(self.rows.X, best.map, best.penalty, status, kind=best.rung)
        return self._described(fit, best.start or best.rung, chosen=words, candidates=choice.table())

    # Given settings --------------------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {"cost": self._cost, "regularizer": self._settings.regularizer, "tol": self._settings.tol}

    def _fitted(self, start: Any, basis: LatentBasis, penalty: float, annealing: int = 0) -> ManifoldFit:
        """The hard fit."""
        settings, penalties = self._settings, _falling(penalty, annealing)
        options = {"max_iter": settings.max_iter, "verbose": settings.verbose, "callback": settings.callback}
        return fit_path(self.rows.X, start, basis, penalties, **options, **self._options())[-1]

    def _softened(self, Z: Array) -> ManifoldFit:
        """The soft fit from coordinates: EM needs no hard fit before it where it is told where rows are."""
        start: Any = Z
        for penalty in _falling(self._penalty, self._settings.annealing):
            fit = self._resumed(start, self._basis, penalty)
            if fit.status == Status.INTERRUPTED:
                break
            start = fit.map
        return fit

    def _resumed(self, f: Any, basis: LatentBasis, penalty: float, variance: float | None = None) -> ManifoldFit:
        """Go on from a map, with another basis or its own, and from its noise if that is known; or from coordinates."""
        settings, X = self._settings, self.rows.X
        if not self._soft:
            return self._fitted(f, basis, penalty)
        gain = TUNING.soft_tol[basis.space.n_dims > 1] * settings.tol * X.shape[1]
        stopping = Stopping(gain, settings.max_iter, verbose=settings.verbose)
        return soft_fit(X, f, basis, penalty, stopping, settings.callback, variance)

    def _start(self) -> tuple[str, Any]:
        """Coordinates, or a fit to some rows; and its name."""
        init, X = self._settings.init, self.rows.X
        if not isinstance(init, str):
            return "given", self._settings.given_start(self._basis.space, len(X))
        options = self._options()
        start: Any
        if init == "auto":
            penalty = self._penalty * 10.0**self._settings.annealing
            init, start = best_start(X[self._some], self._some_rows, self._basis, penalty, **options)
        else:
            start = start_coordinates(self._some_rows, self._basis.space, init)
        options["max_iter"] = self._settings.max_iter
        for rows in self._samples():
            if isinstance(start, ManifoldFit) and start.status == Status.INTERRUPTED:
                break
            start = fit_manifold(X[rows], start, self._basis, self._penalty, **options)
        return init, start

    def _samples(self) -> list[Array]:
        """Rows to fit before all: those that starts were compared on, then ..., m/16 and m/4, where these are more.

        Many iterations on few rows find the shape; all rows then need few, and no more of them the more rows there are.
        """
        m = len(self.rows.X)
        if m == len(self._some):
            return []
        sizes = itertools.takewhile(lambda size: size > 2 * TUNING.start_rows, (m // 4**k for k in itertools.count(1)))
        return [self._some, *(self._sampled(size) for size in reversed(list(sizes)))]


def _functions(basis: LatentBasis) -> tuple[Any, ...]:
    """What makes functions equal: kernels are objects, and compared by their parameters."""
    return basis.space, basis.sides, basis.linear, basis.whitened, repr(basis.kernel)


def _is_of_length(basis: LatentBasis) -> bool:
    return isinstance(basis.kernel, Length)


def _falling(penalty: float, annealing: int) -> list[float]:
    """Penalties that are gone through, each ten times the next."""
    return [penalty * 10.0**power for power in range(annealing, -1, -1)]
