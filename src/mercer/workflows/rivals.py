"""What another method has on the same rows, so that nobody needs to trust the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer.arrays import Array
from mercer.running import Status, raise_if_interrupted
from mercer.tables.targets import Target
from mercer.workflows.machine_models import probability_column

# Default number of trees, and of those that are fitted between two reports of progress.
_N_TREES, _STEP = 100, 10


def boosted_trees_values(X: Array, y: Array, new_rows: Array, target: Target, seed: int) -> Array:
    """What scikit-learn's boosted trees, with their defaults, say of other rows: numbers like y, or classes."""
    return np.asarray(_fitted(X, y, target, seed).predict(new_rows))


def boosted_trees(
    X: Array, y: Array, new_rows: Array, target: Target, seed: int, ended: Callable[[float], bool] | None = None
) -> pl.DataFrame:
    """Predictions of scikit-learn's boosted trees, with their defaults, and the probabilities of classes.

    Parameters
    ----------
    X, y : arrays
        Rows and standardised numbers, or names of classes.
    new_rows : array
        Other rows.
    target : Target
        What y means; predictions are in its units.
    seed : int
        Of the trees.
    ended : callable, optional
        Called with the fraction of the trees that are fitted; if it returns True, `KeyboardInterrupt` is raised.
    """
    trees = _fitted(X, y, target, seed, ended)
    values = trees.predict(new_rows)
    if target.classes is None:
        return pl.DataFrame({target.name: target.in_units(values)})
    P = trees.predict_proba(new_rows)
    columns: dict[str, Any] = {target.name: [str(name) for name in values]}
    return pl.DataFrame(columns | {probability_column(str(name)): P[:, k] for k, name in enumerate(trees.classes_)})


def _fitted(X: Array, y: Array, target: Target, seed: int, ended: Callable[[float], bool] | None = None) -> Any:
    kind = HistGradientBoostingRegressor if target.classes is None else HistGradientBoostingClassifier
    trees = kind(random_state=seed, warm_start=True)
    with threadpool_limits(1, "openmp"):  # threads that wait for a busy core take twenty times as long
        for n_trees in range(_STEP, _N_TREES + 1, _STEP):
            trees.set_params(max_iter=n_trees).fit(X, y)
            if ended is not None and ended(n_trees / _N_TREES):
                raise_if_interrupted(Status.INTERRUPTED)
            if trees.n_iter_ < n_trees:  # they stop by themselves
                break
    return trees
