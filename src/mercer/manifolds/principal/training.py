"""The fit of `PrincipalManifold` from its parameters: rules or model choice, starts, then projection or EM."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rotation import Rotation, rotation_of
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import PERIOD, LatentSpace, latent_space
from mercer.manifolds.latent.starts import STARTS, filled, start_coordinates
from mercer.manifolds.principal.affine_maps import unchanged_fit
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.fitting import fit_manifold, fit_path
from mercer.manifolds.principal.model_choice import PENALTIES, Candidate, ModelChoice
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.result import ManifoldFit
from mercer.manifolds.principal.rotated import lifted_density, lifted_fit, lifting
from mercer.manifolds.principal.settings import (
    OWNER,
    complaint,
    is_auto,
    is_squared,
    n_rotated_of,
    positive,
    settings_of,
    whole,
)
from mercer.manifolds.principal.soft import hard_end, share_moved, soft_fit
from mercer.manifolds.principal.starts import best_start
from mercer.regularizers.maps import as_map_penalty
from mercer.running import Status, Stopping

Array = NDArray[Any]

ASSIGNMENTS = ("auto", "soft", "both", "hard")
# Rows that starts are found and compared on, and models chosen on; fewer if entries are missing, which takes longer.
_START_ROWS, _CHOICE_ROWS, _CHOICE_ROWS_MISSING = 3000, 1500, 250
# The projections that missing entries are filled by.
_ROUGHLY: Any = {"n_starts": 1, "max_steps": 20, "tol": 1e-6}
# With fewer rows, folds say nothing.
_FEWEST_ROWS = 50
# EM ends when a step gains so many times `tol` in log density per entry: of curves, and of surfaces, which take longer.
_SOFT_TOL = (10.0, 30.0)
# Cells of surfaces for each width of the kernel in the fit to all rows, and the fewest and most along a coordinate.
_CELLS_PER_WIDTH, _CELLS = 2.0, (22, 36)
# A soft curve is ended by hard iterations if these move it by no more than this share of the noise.
_SHARE_MOVED = 0.1
# Most coordinates that are tried, and neighbours and landmarks of the graphs of Isomap that curves, surfaces and
# manifolds of more coordinates are started from.
_MOST_COMPONENTS, _NEIGHBOURS, _LANDMARKS = 3, ((5, 8, 12), (8,), (8,)), 150


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


def train(parameters: dict[str, Any], X: Array, previous: ManifoldFit | None) -> Training:
    """Fit a manifold to checked rows, of many columns to their leading components.

    Parameters
    ----------
    parameters : dict
        Of the estimator, by name.
    X : array of shape (m, d)
        Centred rows, with NaN where entries are missing.
    previous : ManifoldFit, optional
        To go on from, if it suits the parameters.
    """
    complete = _completed(X, parameters)
    rotation = rotation_of(complete, n_rotated_of(parameters, complete), parameters["random_state"])
    rest = rotation.left_out(complete)
    parameters = {**parameters, "callback": lifting(rotation, parameters["callback"], rest)}
    if previous is not None:
        suits = previous.map.alpha.shape[1] == X.shape[1]
        previous = replace(previous, map=rotation.lowered(previous.map)) if suits else None
    trainer = _Trainer(parameters, rotation.leading(complete), X, rotation)
    training = trainer.trained(previous)
    if complete is not X:
        return replace(training, fit=trainer.by_known_entries(training.fit), rotation=rotation)
    fit, density = lifted_fit(rotation, training.fit, rest), lifted_density(rotation, training.density, rest)
    return replace(training, fit=fit, density=density, rotation=rotation)


def _completed(X: Array, parameters: dict[str, Any]) -> Array:
    """Rows whose missing entries are filled, if EM may go on with them: X itself if none is, or it may not."""
    chooses = len(X) >= _FEWEST_ROWS and bool(_left_open(parameters))
    wanted = parameters["assignment"] in ("soft", "both") or (parameters["assignment"] == "auto" and chooses)
    if not (wanted and _is_quadratic(parameters) and np.isnan(X).any()):
        return X
    some = check_random_state(parameters["random_state"]).permutation(len(X))[:_CHOICE_ROWS]
    return filled(X, some)


def _is_quadratic(parameters: dict[str, Any]) -> bool:
    return is_squared(parameters) and as_map_penalty(parameters["regularizer"], OWNER).quadratic


def _left_open(parameters: dict[str, Any]) -> list[str]:
    """Parameters that are left to be chosen."""
    fixed = parameters["kernel"] is not None or as_map_penalty(parameters["regularizer"], OWNER).of_length
    names = ("n_components", "topology", "penalty") if fixed else ("n_components", "topology", "penalty", "width")
    return [name for name in names if is_auto(parameters[name])]


class _Trainer:
    """Fits the leading components X of rows, of which some entries were filled if only the others are `known`."""

    def __init__(self, parameters: dict[str, Any], X: Array, known: Array, rotation: Rotation):
        self._parameters, self._X, self._known, self._rotation = parameters, X, known, rotation
        # Rows whose missing entries were filled.
        self._holes = np.flatnonzero(np.isnan(known).any(axis=1) & ~np.isnan(X).any(axis=1))
        for name, least in (("max_iter", 1), ("annealing", 0)):
            whole(name, parameters[name], least=least)
        positive("tol", parameters["tol"])
        if isinstance(parameters["init"], str) and parameters["init"] not in ("auto", *STARTS):
            raise complaint(
                "init", f"'auto', one of {STARTS} or coordinates of the rows", parameters["init"], "choose one of them"
            )
        self._complete = not np.isnan(X).any()
        self._rng = check_random_state(parameters["random_state"])
        self._some = self._sampled(_START_ROWS)
        self._some_rows = filled(X[self._some])
        self._settings = settings_of(parameters, len(X), self._some_rows)
        self._quadratic = _is_quadratic(parameters)
        self._chooses = self._quadratic and len(X) >= _FEWEST_ROWS and bool(self._choices())
        self._soft = self._is_soft()

    def _choices(self) -> list[str]:
        return _left_open(self._parameters)

    def _is_soft(self) -> bool:
        assignment = self._parameters["assignment"]
        if assignment not in ASSIGNMENTS:
            raise complaint("assignment", f"one of {ASSIGNMENTS}", assignment, "choose one of them")
        possible = self._quadratic and self._complete
        if assignment in ("soft", "both") and not possible:
            raise complaint(
                "assignment", "'hard' for other costs than 'squared' and sparse regularizers",
                assignment, "or take 'auto'",
            )  # fmt: skip
        return bool(possible and (assignment in ("soft", "both") or (assignment == "auto" and self._chooses)))

    def _sampled(self, most: int) -> Array:
        m = len(self._X)
        return np.arange(m) if m <= most else np.sort(self._rng.choice(m, most, replace=False))

    def trained(self, previous: ManifoldFit | None) -> Training:
        """The whole of it."""
        if previous is not None and self._suits(previous):
            return self._described(self._resumed(previous.map, previous.map.basis, previous.penalty), "warm_start")
        if self._chooses:
            return self._chosen()
        init, start = self._start()
        if isinstance(start, ManifoldFit) and start.status == "interrupted":
            return self._described(
                unchanged_fit(self._X, start.map, start.penalty, Status.INTERRUPTED, start.cost), init
            )
        if self._soft and init == "given":
            return self._described(self._softened(start), init)
        fit = self._fitted(start, self._settings.basis, self._settings.penalty, self._parameters["annealing"])
        if self._soft and fit.status != "interrupted":
            fit = self._resumed(fit.map, fit.map.basis, fit.penalty)
        return self._described(fit, init)

    def _suits(self, previous: ManifoldFit) -> bool:
        old, new, left = previous.map.basis.space, self._settings.basis.space, self._choices()
        same_number = old.n_dims == new.n_dims or "n_components" in left
        same_kind = old.topology == new.topology or "topology" in left or "n_components" in left
        return same_number and same_kind and previous.penalty > 0

    def _described(self, fit: ManifoldFit, init: str, **more: Any) -> Training:
        going_on = self._soft and fit.status != "interrupted" and fit.penalty > 0
        if len(self._holes):
            fit, density = self._refilled(fit, again=going_on)
        else:
            some = self._sampled(_CHOICE_ROWS if self._complete else _CHOICE_ROWS_MISSING)
            density = ManifoldDensity.of(Rows(self._X[some]), fit.map)
        assignment = "soft" if self._soft else "hard"
        if self._soft and fit.status != "interrupted" and fit.penalty > 0:
            fit, assignment = self._ended(fit, density.variance)
        return Training(fit, density, init, assignment, **more)

    def _fill(self, f: LatentMap) -> None:
        """Give rows the entries of the nearest points of a map where they have none of their own.

        Expectations would lie off the map, and bring it there, where known entries suit several of its places.
        """
        holes, lifted = self._holes, self._rotation.lifted(f)
        if len(holes):
            known = self._known[holes]
            images = lifted(project(Rows(known), lifted, **_ROUGHLY).Z)
            self._X[holes] = self._rotation.leading(np.where(np.isnan(known), images, known))

    def _refilled(self, fit: ManifoldFit, *, again: bool) -> tuple[ManifoldFit, ManifoldDensity]:
        """EM once more with filled rows; and the density of all columns, with the noise of entries that are known."""
        some = self._sampled(_CHOICE_ROWS_MISSING)
        density = ManifoldDensity.of(Rows(self._known[some]), self._rotation.lifted(fit.map))
        if again:
            self._fill(fit.map)
            fit = self._resumed(fit.map, fit.map.basis, fit.penalty, density.variance)
            density = ManifoldDensity.of(Rows(self._known[some]), self._rotation.lifted(fit.map), density.variance)
        return fit, density

    def by_known_entries(self, fit: ManifoldFit) -> ManifoldFit:
        """A fit to filled components as one to all columns, with places and costs by the entries that are known."""
        f = self._rotation.lifted(fit.map)
        rows = Rows(self._known)
        holes, whole = rows.divided()
        Z, costs = fit.Z.copy(), fit.costs.copy()
        costs[whole] += self._rotation.left_out(self._known[whole])
        found = project(rows.part(holes), f, start=fit.Z[holes], n_starts=1)
        Z[holes], costs[holes] = found.Z, found.costs
        objective = fit.objective - float(fit.costs.mean()) + float(costs.mean())
        history = [objective] if fit.history[-1] == fit.objective else fit.history
        return replace(fit, map=f, Z=Z, costs=costs, objective=objective, history=history)

    def _ended(self, soft: ManifoldFit, variance: float) -> tuple[ManifoldFit, str]:
        """A soft fit with hard iterations at its end, if these are wanted; and what it is called."""
        wanted = self._parameters["assignment"]
        if wanted == "soft" or (wanted == "auto" and soft.Z.shape[1] > 1):
            return soft, "soft"
        # By the entries that are known, unless they would have to be those of components.
        X = self._X if self._rotation.components is not None else self._known
        end = hard_end(X, soft, self._parameters["callback"])
        if wanted == "auto" and share_moved(soft.map, end.map, variance) > _SHARE_MOVED:
            return replace(soft, status=end.status), "soft"
        return end, "both"

    # Given parameters ------------------------------------------------------------------------------------------------

    def _fitted(self, start: Any, basis: LatentBasis, penalty: float, annealing: int = 0) -> ManifoldFit:
        """The hard fit."""
        options = {name: self._parameters[name] for name in ("max_iter", "tol", "verbose", "callback")}
        options |= {"cost": self._settings.cost, "regularizer": self._settings.regularizer}
        return fit_path(self._X, start, basis, _falling(penalty, annealing), **options)[-1]

    def _softened(self, Z: Array) -> ManifoldFit:
        """The soft fit from coordinates: EM needs no hard fit before it where it is told where rows are."""
        start: Any = Z
        for penalty in _falling(self._settings.penalty, self._parameters["annealing"]):
            fit = self._resumed(start, self._settings.basis, penalty)
            if fit.status == "interrupted":
                break
            start = fit.map
        return fit

    def _resumed(self, f: Any, basis: LatentBasis, penalty: float, variance: float | None = None) -> ManifoldFit:
        """Go on from a map, with another basis or its own, and from its noise if that is known; or from coordinates."""
        if not self._soft:
            return self._fitted(f, basis, penalty)
        tol, max_iter, verbose = (self._parameters[name] for name in ("tol", "max_iter", "verbose"))
        gain = _SOFT_TOL[basis.space.n_dims > 1] * tol * self._X.shape[1]
        stopping = Stopping(gain, max_iter, verbose=verbose)
        return soft_fit(self._X, f, basis, penalty, stopping, self._parameters["callback"], variance)

    def _start(self) -> tuple[str, Any]:
        """Coordinates, or a fit to some rows; and its name."""
        init, settings, X = self._parameters["init"], self._settings, self._X
        if not isinstance(init, str):
            return "given", self._given(settings.basis.space)
        options = {"cost": settings.cost, "regularizer": settings.regularizer, "tol": self._parameters["tol"]}
        start: Any
        if init == "auto":
            penalty = settings.penalty * 10.0 ** self._parameters["annealing"]
            init, start = best_start(X[self._some], self._some_rows, settings.basis, penalty, **options)
        else:
            start = start_coordinates(self._some_rows, settings.basis.space, init)
        options["max_iter"] = self._parameters["max_iter"]
        for rows in self._samples():
            if isinstance(start, ManifoldFit) and start.status == "interrupted":
                break
            start = fit_manifold(X[rows], start, settings.basis, settings.penalty, **options)
        return init, start

    def _samples(self) -> list[Array]:
        """Rows to fit before all: those that starts were compared on, then ..., m/16 and m/4, where these are more.

        Many iterations on few rows find the shape; all rows then need few, and no more of them the more rows there are.
        """
        m = len(self._X)
        if m == len(self._some):
            return []
        sizes = itertools.takewhile(lambda size: size > 2 * _START_ROWS, (m // 4**k for k in itertools.count(1)))
        return [self._some, *(self._sampled(size) for size in reversed(list(sizes)))]

    def _given(self, space: LatentSpace) -> Array:
        shape = (len(self._X), space.n_dims)
        Z = check_array(self._parameters["init"], dtype=np.float64, input_name="init")
        if Z.shape != shape:
            raise complaint("init", f"of shape {shape}, coordinates of the rows", Z.shape, f"or name one of {STARTS}")
        outside = space.outside(Z)
        if outside.any():
            raise complaint(
                "init", "within [-1, 1] in coordinates that are intervals", Z[outside][0].tolist(),
                "the manifold ends there (circles go on)",
            )  # fmt: skip
        return space.inside(Z)

    # Model choice ----------------------------------------------------------------------------------------------------

    def _chosen(self) -> Training:
        """Choose on some of the rows, then fit all of them."""
        parameters, X = self._parameters, self._X
        some = self._sampled(_CHOICE_ROWS if self._complete else _CHOICE_ROWS_MISSING)
        whole = np.setdiff1d(some, self._holes)
        if 2 * len(whole) >= len(some) and len(whole) >= _FEWEST_ROWS:
            some = whole
        some_rows = filled(X[some])
        left = self._choices()
        dimensions = range(1, min(_MOST_COMPONENTS, X.shape[1]) + 1)
        # Rows that are held out have the entries that are known, but for those whose components are looked at.
        held_out = X if self._rotation.components is not None else self._known
        choice = ModelChoice(
            held_out[some],
            some_rows,
            cache(lambda space, width: self._basis_for(space, width, some_rows)),
            lambda space: self._starts(space, some, some_rows),
            [self._spaces(q) for q in (dimensions if "n_components" in left else [int(parameters["n_components"])])],
            None if "width" in left else [_hashable(parameters["width"])],
            PENALTIES if "penalty" in left else [self._settings.penalty],
            soft=self._soft,
            drops_circles=isinstance(parameters["init"], str) and {"width", "topology"} <= set(left),
            verbose=parameters["verbose"],
            callback=parameters["callback"],
            random_state=self._rng,
        )
        best, words = choice.choose()
        if best.rung == "manifold" and not choice.interrupted:
            fit = self._of_all(best, len(some), some_rows)
        else:
            fit = unchanged_fit(X, best.map, best.penalty, Status.INTERRUPTED if choice.interrupted else Status.OPTIMAL)
        return self._described(fit, best.start or best.rung, chosen=words, candidates=choice.table())

    def _spaces(self, q: int) -> list[LatentSpace]:
        """Latent spaces to choose from; coordinates of a product may change places."""
        topology = self._parameters["topology"]
        if not is_auto(topology):
            return [latent_space(topology, q, OWNER)]
        return [LatentSpace(("circle",) * n + ("interval",) * (q - n)) for n in range(q + 1)]

    def _basis_for(self, space: LatentSpace, width: Any, some_rows: Array) -> LatentBasis:
        given = {"n_components": space.n_dims, "topology": space.topology, "width": width}
        return settings_of({**self._parameters, **given}, len(self._X), some_rows).basis

    def _of_all(self, best: Candidate, n_chosen: int, some_rows: Array) -> ManifoldFit:
        """The fit to all rows of what was chosen on some."""
        share, q, basis = n_chosen / len(self._X), best.n_components, best.map.basis
        width = best.width
        if "width" in self._choices() and q > 1:
            # More rows show finer structure; curves are smooth, and a smaller penalty is all that they need.
            width = best.width * share ** (1.0 / (q + 4))
            basis = self._basis_for(best.space, width, some_rows)
        if q == 2 and not isinstance(width, str):
            most = int(np.clip(np.ceil(_CELLS_PER_WIDTH * PERIOD / np.min(width)), *_CELLS))
            basis = basis.with_cells(most)
        self._fill(best.map)
        # The same prior for all rows as for some: a penalty on the sum of the costs, not on their mean.
        return self._resumed(best.map, basis, best.penalty * share, best.variances[0])

    def _starts(self, space: LatentSpace, some: Array, some_rows: Array) -> dict[str, Array]:
        init = self._parameters["init"]
        if not isinstance(init, str):
            return {"given": self._given(space)[some]}
        if init != "auto":
            return {init: start_coordinates(some_rows, space, init)}
        starts = {
            f"isomap-{n}": start_coordinates(some_rows, space, "isomap", n_neighbors=n, n_landmarks=_LANDMARKS)
            for n in _NEIGHBOURS[min(space.n_dims, len(_NEIGHBOURS)) - 1]
        }
        return {**starts, "pca": start_coordinates(some_rows, space, "pca")}


def _falling(penalty: float, annealing: int) -> list[float]:
    """Penalties that are gone through, each ten times the next."""
    return [penalty * 10.0**power for power in range(annealing, -1, -1)]


def _hashable(width: Any) -> Any:
    return tuple(width) if isinstance(width, list | np.ndarray) else width
