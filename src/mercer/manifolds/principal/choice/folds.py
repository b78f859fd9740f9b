"""Fits to the rows of folds, and the log densities of the rows that are held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.principal.affine_maps import constant_map, normal_density, principal_map
from mercer.manifolds.principal.choice.candidates import Candidate, Setting, gain_of
from mercer.manifolds.principal.choice.tuning import TUNING
from mercer.manifolds.principal.density import ManifoldDensity
from mercer.manifolds.principal.fitting import fit_manifold
from mercer.manifolds.principal.soft import soft_map
from mercer.running import raise_if_interrupted
from mercer.threads import allowed_threads, run_threaded


@dataclass(frozen=True)
class Folds:
    """Rows to fit to and rows to judge by, for each fold.

    Attributes
    ----------
    training, test : list of Rows
        Of the folds.
    positions : list of arrays
        Of the rows to fit to.
    complete : array of shape (m, d)
        All rows, without missing entries.
    basis_for : callable
        basis_for(space, width) gives a `LatentBasis`.
    soft : bool
        Whether fits are soft.
    """

    training: list[Rows]
    test: list[Rows]
    positions: list[Array]
    complete: Array
    basis_for: Callable[[LatentSpace, Any], LatentBasis]
    soft: bool

    @classmethod
    def of(cls, X: Array, complete: Array, basis_for: Any, soft: bool, random_state: Any) -> Folds:
        """As many folds as it takes to hold out enough rows."""
        n_folds = min(TUNING.n_folds, -(-TUNING.n_held_out * TUNING.n_folds // len(X)))
        folds = list(KFold(TUNING.n_folds, shuffle=True, random_state=random_state).split(X))[:n_folds]
        # EM needs complete rows; what is held out is judged by the entries that are known.
        learned = complete if soft else X
        training, test = [Rows(learned[train]) for train, _ in folds], [Rows(X[test]) for _, test in folds]
        return cls(training, test, [train for train, _ in folds], complete, basis_for, soft)

    @property
    def fewest_rows(self) -> int:
        """Of those that are fitted to."""
        return min(map(len, self.training))

    def mean(self, space: LatentSpace) -> Candidate:
        """The mean of the rows."""
        return self._flat("mean", constant_map, space)

    def plane(self, space: LatentSpace) -> Candidate:
        """Principal components, with places that fill a box evenly or are normal: what is better for most rows."""
        box = self._flat("pca", principal_map, space)
        normal = Candidate(**{**vars(box), "log_densities": self.normal_log_densities(space.n_dims)})
        return normal if gain_of(normal, box)[0] > 0 else box

    def normal_log_densities(self, n_components: int) -> Array:
        """Of the rows that are held out, by planes with normal places."""
        densities = [normal_density(self.complete[train], n_components) for train in self.positions]
        return np.concatenate([density.log_density(rows) for density, rows in zip(densities, self.test, strict=True)])

    def manifold(self, setting: Setting) -> Candidate:
        """The manifold of a setting: its maps, and the densities of the rows that are held out."""
        basis = self.basis_for(setting.space, setting.width)
        n_folds = 1 if setting.is_probe else len(self.training)
        results = self._in_each(partial(self._fitted, setting, basis), n_folds)
        maps, variances, densities = (list(values) for values in zip(*results, strict=True))
        return Candidate(
            "manifold", setting.space, setting.width, setting.penalty, setting.start, maps, variances,
            np.concatenate(densities), maps[0],
        )  # fmt: skip

    def _flat(self, rung: str, map_of: Callable[[Array, LatentSpace], LatentMap], space: LatentSpace) -> Candidate:
        def fit(results: list[Any], fold: int, _: None) -> None:
            f = map_of(self.complete[self.positions[fold]], space)
            density = ManifoldDensity.of(self.training[fold], f)
            results[fold] = f, density.variance, density.log_density(self.test[fold])

        maps, variances, densities = (
            list(values) for values in zip(*self._in_each(fit, len(self.training)), strict=True)
        )
        everything = map_of(self.complete, space)
        return Candidate(
            rung, space, np.nan, np.nan, "", maps, variances, np.concatenate(densities), everything
        )  # fmt: skip

    def _fitted(self, setting: Setting, basis: LatentBasis, results: list[Any], fold: int, _: None) -> None:
        rows, before, is_map = self.training[fold], setting.before, isinstance(setting.before, Candidate)
        start = before.maps[fold] if is_map else before[fold]
        variance = before.variances[fold] if is_map else None
        density: ManifoldDensity
        if self.soft:
            soft = soft_map(
                rows.X, start, basis, setting.penalty, setting.stopping, variance=variance, accelerated=is_map
            )
            raise_if_interrupted(soft.status)
            f, density = soft.map, soft.density
        else:
            end = TUNING.hard
            hard = fit_manifold(rows, start, basis, setting.penalty, max_iter=end.max_iter, tol=end.tol)
            raise_if_interrupted(hard.status)
            f, density = hard.map, ManifoldDensity.of(rows, hard.map, variance)
        results[fold] = f, density.variance, density.log_density(self.test[fold])

    def _in_each(self, fit: Callable[[list[Any], int, None], None], n_folds: int) -> list[Any]:
        """Results of folds; several at the same time, each on one thread."""
        results: list[Any] = [None] * n_folds
        run_threaded(partial(fit, results), range(n_folds), lambda: None, 1 if n_folds == 1 else allowed_threads())
        return results
