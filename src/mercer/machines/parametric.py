"""The unpenalised part of a machine: constants, linear functions, and functions of the user."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.kernels import Kernel


class ParametricPart:
    """Columns φ_j(x) that enter a machine linearly, those that the kernel brings included.

    Parameters
    ----------
    parametric : None, "constant", "linear", or a list
        What the user asked for; "linear" includes the constant. Items of a list are "constant", "linear" (the columns
        of X alone) or callables that take X and return one column.
    kernel : Kernel
        A kernel of order 1 or 2 adds its own polynomials.
    """

    def __init__(self, parametric: Any, kernel: Kernel):
        self._items = _items(parametric)
        self._kernel = kernel

    def fit(self, X: Any) -> Array:
        """Columns at the training rows; those that occur twice are kept once."""
        parts = self._parts(X)
        self._starts = np.cumsum([0, *(part.shape[1] for part in parts)])
        columns = np.hstack(parts)
        keys = [column.tobytes() for column in (columns + 0.0).T]  # -0 is 0
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        self._kept = np.array([keys.index(key) for key in place], dtype=np.intp)
        self._place = np.array([place[key] for key in keys], dtype=np.intp)
        columns = columns[:, self._kept]
        constant = np.flatnonzero(np.all(columns == 1.0, axis=0)) if len(columns) else np.empty(0)
        self.constant: int | None = int(constant[0]) if constant.size else None
        if np.linalg.matrix_rank(columns) < columns.shape[1]:
            raise ValueError(
                f"parametric columns must be linearly independent, got {columns.shape[1]} of rank "
                f"{np.linalg.matrix_rank(columns)}; drop constant or repeated columns of X, or functions that depend "
                "on each other."
            )
        return columns

    def columns(self, X: Any) -> Array:
        """The same columns at new rows."""
        return np.hstack(self._parts(X))[:, self._kept]

    @property
    def polynomials(self) -> Array:
        """Positions of the kernel's polynomials among the columns that were kept."""
        return self._place[self._starts[len(self._items)] :]

    def slopes(self, coef: Array, n_features: int) -> Array | None:
        """The columns other than the constant as coefficients of the columns of X; None if they are not linear in X."""
        result = np.zeros((n_features, *coef.shape[1:]))
        for place, column in enumerate(self._kept):
            item = int(np.searchsorted(self._starts, column, side="right")) - 1
            if place == self.constant:
                continue
            if item == len(self._items) or self._items[item] != "linear":
                return None
            result[column - self._starts[item]] = coef[place]
        return result

    def of_polynomials(self, coef: Array) -> Array:
        """Coefficients of the kernel's polynomials as coefficients of the columns that were kept."""
        result = np.zeros((len(self._kept), *coef.shape[1:]))
        result[self._place[len(self._place) - len(coef) :]] = coef
        return result

    def _parts(self, X: Any) -> list[Array]:
        """The columns of each item, and last the kernel's polynomials."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        polynomials = self._kernel.polynomial_part(X) if self._kernel.order else np.empty((n, 0))
        return [*(self._item(item, X, n) for item in self._items), polynomials]

    def _item(self, item: Any, X: Any, n: int) -> Array:
        if isinstance(item, str) and item == "constant":
            return np.ones((n, 1))
        if isinstance(item, str):
            return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        column = np.asarray(item(X), dtype=np.float64)
        if column.shape != (n,) or not np.isfinite(column).all():
            name = getattr(item, "__name__", repr(item))
            raise ValueError(
                f"parametric function {name} must return one finite column of shape ({n},), got shape {column.shape}; "
                "return one number for each row."
            )
        return column[:, None]


def _items(parametric: Any) -> list[Any]:
    if parametric is None:
        return []
    if isinstance(parametric, str) and parametric == "constant":
        return ["constant"]
    if isinstance(parametric, str) and parametric == "linear":
        return ["constant", "linear"]
    if isinstance(parametric, list | tuple) and all(
        callable(item) or (isinstance(item, str) and item in ("constant", "linear")) for item in parametric
    ):
        return list(parametric)
    raise ValueError(
        f"parametric must be None, 'constant', 'linear' or a list of these and of functions, got {parametric!r}; "
        "a function takes X and returns one column."
    )
