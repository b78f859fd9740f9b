"""What another method has on the same rows, so that nobody needs to trust the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer.tables.targets import Target

Array = NDArray[Any]


# Trees by default, and those that are fitted before it is asked again whether to go on.
_N_TREES, _STEP = 100, 10


def boosted_trees_values(
    X: Array, y: Array, new_rows: Array, target: Target, seed: int, ended: Callable[[float], bool] = lambda share: False
) -> Array:
    """What scikit-learn's boosted trees, with their defaults, say of other rows: numbers like y, or classes.

    Raises `KeyboardInterrupt` once `ended`, which is told the share of the trees that are there, returns True.
    """
    kind = HistGradientBoostingRegressor if target.classes is None else HistGradientBoostingClassifier
    trees = kind(random_state=seed, warm_start=True)
    with threadpool_limits(1, "openmp"):  # threads that wait for a busy core take twenty times as long
        for n_trees in range(_STEP, _N_TREES + 1, _STEP):
            trees.set_params(max_iter=n_trees).fit(X, y)
            if ended(n_trees / _N_TREES):
                raise KeyboardInterrupt
            if trees.n_iter_ < n_trees:  # they stop by themselves
                break
        return np.asarray(trees.predict(new_rows))


def boosted_trees_error(
    X: Array, y: Array, new_rows: Array, truth: Array, target: Target, seed: int,
    ended: Callable[[float], bool] = lambda share: False,
) -> float:  # fmt: skip
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
    ended : callable
        Is told the share of the trees that are there; if it returns True, `KeyboardInterrupt` is raised.
    """
    guess = boosted_trees_values(X, y, new_rows, target, seed, ended)
    if target.classes is not None:
        return float(np.mean(guess != truth))
    return float(np.sqrt(np.mean((guess * target.scale + target.center - truth) ** 2)))
