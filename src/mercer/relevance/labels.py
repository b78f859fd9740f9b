"""Labels as columns of numbers: values, ±1 for two classes, or ±1 for each class against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer.arrays import Array

TASKS = ("auto", "regression", "classification")
# Whole numbers with more distinct values than this are taken for measurements, not for the names of classes.
_MOST_CLASSES = 20
# Beyond these the squares of numbers are no numbers any more.
_SMALLEST, _LARGEST = 1e-140, 1e140


@dataclass(frozen=True)
class Labels:
    """The targets of a learning problem.

    Attributes
    ----------
    y : array of shape (n,) or (n, n_targets)
        Numbers, or the number of the class of each sample.
    columns : array of shape (n, n_targets)
        What is projected: y, of several targets each in units of its deviation; or ±1.
    classes : array, optional
        The names of the classes.
    variance : float
        Of numbers: the unit of their errors, which parts of the labels share.
    """

    y: Array
    columns: Array
    classes: Array | None = None
    variance: float = 1.0

    @classmethod
    def numbers(cls, owner: str, y: Any) -> Labels:
        """Labels of a regression problem."""
        y = column_or_1d(_given(y), warn=True)
        if y.dtype.kind not in "fiubO":
            raise _complain(owner, "finite numbers", y, "encode them as numbers, or as classes")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if np.ptp(y) <= 1e-14 * np.abs(y).max():
            raise _complain(owner, "not constant", y, "there is nothing to learn from equal labels")
        if not _SMALLEST < np.ptp(y) <= 2 * np.abs(y).max() < _LARGEST:
            raise _complain(owner, f"of a size between {_SMALLEST} and {_LARGEST}", y, "choose another unit")
        return cls(y, y[:, None], variance=float(np.var(y)))

    @classmethod
    def tables(cls, owner: str, y: Any) -> Labels:
        """Labels of several regression problems on the same rows, one for each column."""
        Y = check_array(y, dtype=None, input_name="y")
        Y = np.column_stack([cls.numbers(owner, column).y for column in Y.T])
        return cls(Y, Y / np.std(Y, axis=0))

    @classmethod
    def names(cls, owner: str, y: Any) -> Labels:
        """Labels of a classification problem."""
        y = column_or_1d(_given(y), warn=True)
        assert_all_finite(y, input_name="y")
        try:
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
        except TypeError:
            raise _complain(owner, "names of one kind", y, "turn them all into text, or all into numbers") from None
        if len(classes) < 2:
            raise ValueError(
                f"y of {owner} must hold two classes or more, got one class: {classes[0]!r}; constant labels teach "
                "nothing."
            )
        positives = [1] if len(classes) == 2 else range(len(classes))
        return cls(codes, np.column_stack([np.where(codes == k, 1.0, -1.0) for k in positives]), classes)

    @classmethod
    def read(cls, owner: str, y: Any, task: str) -> Labels:
        """Numbers or classes, as the task or the labels themselves say."""
        if task not in TASKS:
            raise ValueError(f"task of {owner} must be one of {TASKS}, got {task!r}; 'auto' asks the labels.")
        if task == "auto":
            task = "classification" if _looks_like_classes(owner, _given(y)) else "regression"
        return cls.names(owner, y) if task == "classification" else cls.numbers(owner, y)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Array) -> Labels:
        """The labels of some rows."""
        return Labels(self.y[rows], self.columns[rows], self.classes, self.variance)

    def decided(self, G: Array) -> Array:
        """What estimates G of the columns say: numbers, or the number of a class."""
        if self.classes is None:
            return G[:, 0]
        return (G[:, 0] > 0).astype(int) if G.shape[1] == 1 else np.argmax(G, axis=1)

    def losses(self, G: Array) -> Array:
        """For each row: whether its class is wrong, or its squared error over that of the best constant."""
        if self.classes is not None:
            return np.asarray(self.decided(G) != self.y, dtype=np.float64)
        return np.asarray(np.mean((self.columns - G) ** 2, axis=1) / self.variance)

    def error(self, G: Array) -> float:
        """Fraction of wrong classes, or squared error over that of the best constant."""
        return float(np.mean(self.losses(G)))

    @property
    def guess_error(self) -> float:
        """The error of the best constant."""
        return 1.0 if self.classes is None else float(1.0 - np.bincount(self.y).max() / len(self.y))


def _given(y: Any) -> Any:
    if y is None:
        raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None.")
    return y


def _looks_like_classes(owner: str, y: Any) -> bool:
    y = np.asarray(column_or_1d(y))
    if y.dtype.kind in "SUb" or (y.dtype.kind == "O" and all(isinstance(label, str) for label in y)):
        return True
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError):
        values = None
    if values is None or y.dtype.kind not in "fiuO":
        raise _complain(owner, "numbers or names of classes", y, "give one number or one name for each row")
    distinct = np.unique(values)
    return bool(np.all(distinct == np.round(distinct)) and len(distinct) <= min(_MOST_CLASSES, len(y) / 2))


def _complain(owner: str, constraint: str, y: Array, remedy: str) -> ValueError:
    return ValueError(f"y of {owner} must be {constraint}, got {y[:3].tolist()} ...; {remedy}.")
