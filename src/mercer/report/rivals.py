"""What another method has on the same rows, so that nobody needs to trust the report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer.tables.targets import Target

Array = NDArray[Any]


def boosted_trees_values(X: Array, y: Array, new_rows: Array, target: Target, seed: int) -> Array:
    """What scikit-learn's boosted trees, with their defaults, say of other rows: numbers like y, or classes."""
    kind = HistGradientBoostingRegressor if target.classes is None else HistGradientBoostingClassifier
    with threadpool_limits(1, "openmp"):  # threads that wait for a busy core take twenty times as long
        return np.asarray(kind(random_state=seed).fit(X, y).predict(new_rows))


def boosted_trees_error(X: Array, y: Array, new_rows: Array, truth: Array, target: Target, seed: int) -> float:
    """Error of scikit-learn's boosted trees, with its defaults, on rows that they were not fitted to.

    Parameters
    ----------
    X, y : arrays
        Rows and standardised numbers, or names of classes.
    new_rows, truth : arrays
        Other rows, and their numbers in the units of the table, or names of classes.
    target : Target
        What y means.
    seed : int
        Of the trees.
    """
    guess = boosted_trees_values(X, y, new_rows, target, seed)
    if target.classes is not None:
        return float(np.mean(guess != truth))
    return float(np.sqrt(np.mean((guess * target.scale + target.center - truth) ** 2)))
