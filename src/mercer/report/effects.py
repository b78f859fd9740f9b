"""What each column does to the prediction: its mean over rows while the column is set to one value after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.workflows.machine_models import MachineModel, probability_column

# Rows that are averaged over, places along a column of numbers, and categories that are shown.
_ROWS, _PLACES, _MOST_LEVELS = 100, 21, 12
# Range of a curve: beyond these quantiles it rests on few rows.
_ENDS = (0.02, 0.98)
# Curves of more classes cannot be distinguished.
_MOST_CLASSES = 5
# Larger numbers cannot be drawn: the length of an axis would overflow.
_LARGEST = 1e300


@dataclass(frozen=True)
class Effect:
    """The mean prediction along a column.

    Attributes
    ----------
    column : str
        The column of the table.
    places : list
        Its values, as they are in the table: numbers, dates or categories.
    means : dict of str to array
        Mean predictions, by the target, or mean probabilities, by the class; those of the second class alone if there
        are two.
    """

    column: str
    places: list[Any]
    means: dict[str, Array]


def effects(model: MachineModel, X: Array, columns: list[str], seed: int = 0) -> list[Effect]:
    """Effects of some columns of the table, over a sample of the rows.

    Parameters
    ----------
    model : MachineModel
        A machine of numbers, or of at most five classes with probabilities; there are no effects of others.
    X : array
        Rows of numbers, NaN where entries are missing.
    columns : list of str
        Names of columns of the table.
    seed : int
        Draws the rows.
    """
    classes = model.target.classes
    if classes is not None and (not model.has_probabilities or len(classes) > _MOST_CLASSES):
        return []
    shown = {model.target.name: model.target.name}
    if classes is not None:
        shown = {name: probability_column(name) for name in classes[-1 if len(classes) == 2 else 0 :]}
    model = replace(model, band=None)
    some = X[np.random.default_rng(seed).permutation(len(X))[:_ROWS]]
    found = []
    for column in columns:
        group = model.schema.groups[column]
        places = _places(X[:, group][~np.isnan(X[:, group]).any(axis=1)])
        rows = np.tile(some, (len(places), 1))
        rows[:, group] = np.repeat(places, len(some), axis=0)
        predicted = model.predict(rows)
        means = {name: predicted[key].to_numpy().reshape(len(places), -1).mean(axis=1) for name, key in shown.items()}
        names = model.schema.frame(rows[:: len(some)])[column].to_list()
        if not any(isinstance(name, float) and abs(name) > _LARGEST for name in names):
            found.append(Effect(column, names, means))
    return found


def _places(values: Array) -> Array:
    """Values along a column of numbers, or the most frequent of a few values or categories."""
    levels, counts = np.unique(values, axis=0, return_counts=True)
    if values.shape[1] > 1 or len(levels) <= _MOST_LEVELS:
        return levels[np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])]
    low, high = np.quantile(values, _ENDS, axis=0)
    return np.linspace(low, high, _PLACES)
