"""Tools of `check_kernel`: how a broken promise is reported, and rows whose numbers can be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.kernels.base import Kernel

Profile = Callable[[Array], Array]


def fail(thing: Any, promise: str, found: str) -> ValueError:
    """The error that says which promise was broken."""
    return ValueError(f"{thing} must {promise}, got {found}.")


def small(error: float, tol: float, kernel: Kernel, promise: str, found: str = "a relative difference of") -> float:
    """The error, if it is within the tolerance."""
    if not error <= tol:
        raise fail(kernel, promise, f"{found} {error:.1e}")
    return error


class Table:
    """Rows of X whose columns of numbers can be moved, in float64; a data frame stays one."""

    def __init__(self, kernel: Kernel, X: Any):
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.n_columns = int(X.shape[1]) if len(X.shape) == 2 else 1
        # A million numbers are enough: many sparse columns would be too many when dense.
        X = _safe_indexing(X, np.arange(min(X.shape[0], max(30, 10**6 // self.n_columns))), axis=0)
        self.X = X.toarray() if sparse.issparse(X) else X
        self.is_frame = hasattr(X, "isetitem") or hasattr(X, "with_columns")
        columns = [_numbers(_column(self.X, c) if self.is_frame else self.X[..., c]) for c in range(self.n_columns)]
        self.columns = [c for c, numbers in enumerate(columns) if numbers is not None]
        if len(X.shape) != 2 or not (self.columns if self.is_frame else len(self.columns) == self.n_columns):
            promise = "be called on a table of numbers if it is differentiable, stationary or translation invariant"
            raise fail(kernel, promise, f"{type(X).__name__} of shape {X.shape}")
        self.values = np.array([columns[c] for c in self.columns]).T

    def moved(self, rows: Any, values: Array) -> Any:
        """The given rows, with other numbers in them."""
        if not self.is_frame:
            return values
        frame = _safe_indexing(self.X, np.asarray(rows), axis=0)
        if hasattr(frame, "with_columns"):
            series = [frame.to_series(c) for c in self.columns]
            return frame.with_columns([type(s)(s.name, v) for s, v in zip(series, values.T, strict=True)])
        frame = frame.copy()
        for c, v in zip(self.columns, values.T, strict=True):
            frame.isetitem(c, v)
        return frame

    def pairs(self) -> Iterator[tuple[int, Array]]:
        """A few rows; each with itself, its nearest distinct neighbours, where k is not negligible, and some others."""
        for i in np.unique(np.linspace(0, len(self.values) - 1, 6).astype(int)):
            distance = cdist(self.values[[i]], self.values)[0]
            others = np.argsort(distance)[np.count_nonzero(distance == 0) :]
            yield int(i), np.r_[i, others[:3], others[3 :: max(1, len(others) // 4)]]


def _column(frame: Any, column: int) -> Any:
    return frame.iloc[:, column] if hasattr(frame, "iloc") else frame.to_series(column)


def _numbers(column: Any) -> Array | None:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if np.isfinite(values).all() else None
