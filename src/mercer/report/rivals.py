"""What another method has on the same rows, so that nobody needs to trust the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer.report.machine_models import probability_column
from mercer.tables.targets import Target

Array = NDArray[Any]


def boosted_trees_values(X: Array, y: Array, new_rows: Array, target: Target, seed: int) -> Array:
    """What scikit-learn's boosted trees, with their defaults, say of other rows: numbers like y, or classes."""
    return _predicted(X, y, new_rows, target, seed)[0]


def boosted_trees(X: Array, y: Array, new_rows: Array, target: Target, seed: int) -> pl.DataFrame:
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
    """
    values, probabilities = _predicted(X, y, new_rows, target, seed)
    if target.classes is None:
        return pl.DataFrame({target.name: values * target.scale + target.center})
    columns: dict[str, Any] = {target.name: [str(name) for name in values]}
    return pl.DataFrame(columns | {probability_column(name): column for name, column in probabilities.items()})


def _predicted(X: Array, y: Array, new_rows: Array, target: Target, seed: int) -> tuple[Array, dict[str, Array]]:
    """Values of other rows, and the probabilities of each class."""
    kind = HistGradientBoostingRegressor if target.classes is None else HistGradientBoostingClassifier
    with threadpool_limits(1, "openmp"):  # threads that wait for a busy core take twenty times as long
        trees = kind(random_state=seed).fit(X, y)
        values = np.asarray(trees.predict(new_rows))
        if target.classes is None:
            return values, {}
        P = trees.predict_proba(new_rows)
    return values, {str(name): P[:, k] for k, name in enumerate(trees.classes_)}
