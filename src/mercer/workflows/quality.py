"""How good a map is: figures that do not need labels, and one that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from mercer.arrays import Array
from mercer.workflows.map_models import filled_of, images_of
from mercer.workflows.methods import MapMethod
from mercer.workflows.nearest_rows import nearest_rows

# Rows that neighbourhoods are compared on (the work grows with their square), and their neighbours.
_MOST_ROWS, _NEIGHBOURS = 1500, 10
# Rows whose ranks are counted at once, so that their distances stay in the cache.
_BLOCK = 64
# Rows whose neighbours among all rows are compared.
_MOST_QUERIES = 500
# Fraction of the rows that is held out, at most how many of them, and fraction of their columns that is hidden.
_HELD_OUT, _MOST_HELD_OUT, _HIDDEN = 0.2, 400, 0.25
# A gain of one map upon another counts if it is more than so many standard errors.
CLEAR_GAIN = 2.0
# Most rows that a held-out fit is made with.
_MOST_TRAINING = 2000


@dataclass(frozen=True)
class MapQuality:
    """Figures of one map.

    Attributes
    ----------
    trustworthiness, continuity : float
        1 if all neighbours on the map are neighbours in the table, and the other way round; 0.5 by chance. False
        neighbours cost the less the nearer they are.
    reconstruction : float
        Mean squared error of held-out rows that went to the map and back, as a fraction of their variance.
    hidden_entries : float
        Mean squared error of guesses of hidden entries of held-out rows, as a fraction of that of guessing the mean;
        NaN for fewer than four columns.
    column_errors : array of shape (n_columns,)
        As `reconstruction`, for each column of numbers.
    hidden_errors, log_densities : array
        Of each held-out row, to compare maps in pairs; log densities are NaN where the map implies none.
    shared_neighbours : float
        Fraction of the nearest rows on the map that are among the nearest rows in the table.
    """

    trustworthiness: float
    continuity: float
    reconstruction: float
    hidden_entries: float
    column_errors: Array
    hidden_errors: Array
    log_densities: Array
    shared_neighbours: float = np.nan


@dataclass(frozen=True)
class HeldOut:
    """A split of the rows, and entries of the held-out ones that are hidden: the same for all maps.

    Attributes
    ----------
    training, test : array of int
        Rows.
    hidden : array of bool
        Entries of the test rows.
    """

    training: Array
    test: Array
    hidden: Array

    @classmethod
    def split(cls, X: Array, groups: Sequence[Sequence[int]], seed: int) -> HeldOut:
        """Draw rows to hold out and, of each, a quarter of the columns of the table to hide."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        n_test = min(max(1, round(_HELD_OUT * len(X))), _MOST_HELD_OUT)
        test, training = np.sort(order[:n_test]), np.sort(order[n_test:][:_MOST_TRAINING])
        hidden = np.zeros((n_test, X.shape[1]), dtype=bool)
        n_hidden = max(1, round(_HIDDEN * len(groups)))
        for row in hidden:
            for group in rng.choice(len(groups), n_hidden, replace=False):
                row[list(groups[group])] = True
        return cls(training, test, hidden)

    def has_all(self, n_rows: int) -> bool:
        """Whether all rows that are not held out are for training: of very many only some are."""
        return len(self.training) + len(self.test) == n_rows


def measure(method: MapMethod, estimator: Any, X: Array, held_out: HeldOut, *, hides: bool) -> MapQuality:
    """All figures of a fitted map of the rows X; `hides` says whether there are columns enough to hide some."""
    filled = np.where(np.isnan(X), 0.0, X)
    Z = places_of(estimator, embedding_of(estimator, filled))
    trust, continuity = neighbourhoods(filled, Z)
    training = X if method.takes_missing else filled
    part = method.settled(estimator, held_out.training).fit(training[held_out.training])
    test = X[held_out.test]
    squares = np.nanmean(test**2, axis=0)
    errors = np.nanmean((test - images_of(part, test, method.takes_missing)) ** 2, axis=0)
    hidden_errors, of_means = np.full((2, len(test)), np.nan)
    if hides:
        hidden_errors, of_means = _hidden_errors(part, test, held_out.hidden, method)
    densities = _log_densities(part, test if method.takes_missing else filled[held_out.test])
    return MapQuality(
        trust, continuity, _share(errors, squares), _share(hidden_errors, of_means),
        np.divide(errors, squares, out=np.full_like(errors, np.nan), where=squares > 0), hidden_errors, densities,
        shared_neighbours(filled, Z),
    )  # fmt: skip


def n_neighbours(n_rows: int) -> int:
    """How many nearest rows are compared: fewer than half of the others."""
    return min(_NEIGHBOURS, (n_rows - 1) // 2)


def neighbourhoods(X: Array, Z: Array) -> tuple[float, float]:
    """Trustworthiness and continuity: the second is the first with the roles exchanged."""
    some = np.flatnonzero(np.isfinite(Z).all(axis=1))
    if len(some) > _MOST_ROWS:
        some = np.sort(np.random.default_rng(0).choice(some, _MOST_ROWS, replace=False))
    k = n_neighbours(len(some))
    if k < 1:
        return np.nan, np.nan
    in_table, on_map = (_squared_distances(values[some]) for values in (X, Z))
    return _trust(in_table, on_map, k), _trust(on_map, in_table, k)


def _trust(D: Array, D_map: Array, k: int) -> float:
    """Trustworthiness from squared distances: what the ranks of the k nearest rows on the map exceed k by in D.

    As scikit-learn has it, 1 - 2 / (n k (2n - 3k - 1)) Σ_i Σ_j max(0, rank_D(i, j) - k).
    """
    n = len(D)
    nearest = np.argpartition(D_map, k - 1, axis=1)[:, :k]
    excess = 0
    for start in range(0, n, _BLOCK):
        block, columns = D[start : start + _BLOCK], nearest[start : start + _BLOCK]
        for c in range(k):
            farther = np.take_along_axis(block, columns[:, c : c + 1], axis=1)
            excess += int(np.maximum(np.count_nonzero(block < farther, axis=1) + 1 - k, 0).sum())
    return 1.0 - 2.0 * excess / (n * k * (2 * n - 3 * k - 1))


def _squared_distances(X: Array) -> Array:
    """Of all pairs; a row is infinitely far from itself."""
    D = euclidean_distances(X, squared=True)
    np.fill_diagonal(D, np.inf)
    return np.asarray(D)


def shared_neighbours(X: Array, Z: Array) -> float:
    """Fraction of the nearest rows on the map that are among the equally many nearest rows in the table.

    With as many on either side, it is also the fraction of the nearest rows in the table that are among the nearest on
    the map. Chance gives the number of neighbours over that of the other rows.
    """
    return float(np.mean(shares_of_neighbours(X, Z)))


def shares_of_neighbours(X: Array, Z: Array) -> Array:
    """The same share for each of some rows; NaN if there are too few."""
    known = np.flatnonzero(np.isfinite(Z).all(axis=1))
    n_neighbors = n_neighbours(len(known))
    if n_neighbors < 1:
        return np.array([np.nan])
    asked = np.sort(np.random.default_rng(0).permutation(len(known))[:_MOST_QUERIES])
    in_table, on_map = (_nearest(values[known], asked, n_neighbors) for values in (X, Z))
    return np.asarray((in_table[:, :, None] == on_map[:, None, :]).any(axis=2).mean(axis=1))


def _nearest(values: Array, asked: Array, n_neighbors: int) -> Array:
    """The nearest other rows of those that are asked for."""
    _, found = nearest_rows(values, values[asked], n_neighbors + 1)
    # A row with equals need not be its own nearest row: then the last of the others is left out.
    others = found != asked[:, None]
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(asked), n_neighbors)


def label_agreement(Z: Array, labels: Array, *, classes: bool) -> float:
    """How well neighbours on the map tell the label.

    For classes, the fraction of rows whose nearest other row has the same one; for numbers, the fraction of the
    variance that neighbours explain.
    """
    known = np.isfinite(Z).all(axis=1)
    if not classes:
        known &= np.isfinite(labels)
    Z, labels = Z[known], labels[known]
    if len(Z) < 10 or len(np.unique(labels)) < 2:
        return np.nan
    if classes:
        return float(np.mean(labels[_nearest(Z, np.arange(len(Z)), 1)[:, 0]] == labels))
    labels = labels / np.abs(labels).max()  # so that huge numbers can be summed
    folds = np.array_split(np.random.default_rng(0).permutation(len(Z)), 10)
    splits = [(np.setdiff1d(np.arange(len(Z)), fold), fold) for fold in folds]
    guesses = cross_val_predict(KNeighborsRegressor(n_neighbours(len(Z))), Z, labels, cv=splits)
    return float(1.0 - np.mean((guesses - labels) ** 2) / np.var(labels))


def paired_gain(better: Array, worse: Array) -> tuple[float, float]:
    """Mean of better - worse over rows that both know, and its standard error."""
    gains = better - worse
    gains = gains[np.isfinite(gains)]
    if len(gains) < 2:
        return 0.0, np.inf
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def embedding_of(estimator: Any, X: Array) -> Array:
    """Coordinates of the training rows: those that were fitted, where an estimator keeps them."""
    embedding = getattr(estimator, "embedding_", None)
    return np.asarray(estimator.transform(X) if embedding is None else embedding, dtype=np.float64)


def places_of(estimator: Any, Z: Array) -> Array:
    """Coordinates whose distances are those on the map: circles, of period 2, are drawn as circles."""
    circles = np.array(getattr(estimator, "topology_", ("interval",) * Z.shape[1])) == "circle"
    angles = np.pi * Z[:, circles]
    return np.hstack([Z[:, ~circles], np.cos(angles) / np.pi, np.sin(angles) / np.pi])


def _hidden_errors(estimator: Any, test: Array, hidden: Array, method: MapMethod) -> tuple[Array, Array]:
    """Mean squared error of each row in its hidden entries: of the map, and of the means, which are 0."""
    seen = np.where(hidden, np.nan, test)
    seen[np.isnan(seen).all(axis=1)] = 0.0  # a row of which nothing is seen is taken for the mean
    filled, _ = filled_of(estimator, seen, method.takes_missing)
    known = hidden & ~np.isnan(test)
    rows, n_known = np.nan_to_num(test), known.sum(axis=1, dtype=np.float64)
    n_known[n_known == 0] = np.nan
    return (known * (rows - filled) ** 2).sum(axis=1) / n_known, (known * rows**2).sum(axis=1) / n_known


def _log_densities(estimator: Any, X: Array) -> Array:
    if hasattr(estimator, "log_likelihood"):
        return np.asarray(estimator.log_likelihood(X), dtype=np.float64)
    if hasattr(estimator, "explained_variance_") and hasattr(estimator, "noise_variance_"):
        return _normal_log_densities(estimator, X)
    return np.full(len(X), np.nan)


def _normal_log_densities(pca: Any, X: Array) -> Array:
    """Those of `PCA.score_samples`, without a matrix of all columns; NaN where a component has no variance."""
    (k, d), variances, noise = pca.components_.shape, pca.explained_variance_, float(pca.noise_variance_)
    if k == d:
        noise = float(variances.max())  # of no column
    if min(noise, variances.min()) <= np.finfo(np.float64).eps * variances.max():
        return np.full(len(X), np.nan)
    Y, R = pca.transform(X), X - pca.mean_
    rest = np.maximum((R**2).sum(axis=1) - (Y**2).sum(axis=1), 0.0) if k < d else np.zeros(len(X))
    squares = (Y**2 / variances).sum(axis=1) + rest / noise
    log_det = np.log(variances).sum() + (d - k) * np.log(noise)
    return np.asarray(-0.5 * (squares + log_det + d * np.log(2.0 * np.pi)))


def _share(errors: Array, squares: Array) -> float:
    known = np.isfinite(errors) & np.isfinite(squares)
    return float(errors[known].sum() / squares[known].sum()) if squares[known].sum() > 0 else np.nan
