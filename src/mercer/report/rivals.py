"""What another method has on the same rows, so that nobody needs to trust the report."""

from __future__ import annotations

from typing import Any

import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer.report.machine_models import probability_column
from mercer.tables.targets import Target

Array = NDArray[Any]


def boosted_trees(X: Array, y: Array, new_rows: Array, target: Target, seed: int) -> pl.DataFrame:
    """Predictions of scikit-learn's boosted trees, with its defaults, and the probabilities of classes.

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
    kind = HistGradientBoostingRegressor if target.classes is None else HistGradientBoostingClassifier
    with threadpool_limits(1, "openmp"):  # threads that wait for a busy core take twenty times as long
        trees = kind(random_state=seed).fit(X, y)
        predicted = trees.predict(new_rows)
        if target.classes is None:
            return pl.DataFrame({target.name: predicted * target.scale + target.center})
        P = trees.predict_proba(new_rows)
    columns: dict[str, Any] = {target.name: [str(name) for name in predicted]}
    return pl.DataFrame(columns | {probability_column(str(name)): P[:, k] for k, name in enumerate(trees.classes_)})
