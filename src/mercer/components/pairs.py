"""Rows that come in pairs, and kernel features of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mercer.arrays import Array
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram import feature_map
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.parameters import check_count


def paired_kernels(kernels: Any, owner: str) -> tuple[Kernel | None, Kernel | None]:
    """The kernels of both sides from one for both, a pair, or None."""
    if kernels is None or isinstance(kernels, Kernel):
        return kernels, kernels
    pair = tuple(kernels) if isinstance(kernels, Sequence) and not isinstance(kernels, str) else ()
    if len(pair) != 2 or not all(kernel is None or isinstance(kernel, Kernel) for kernel in pair):
        raise TypeError(
            f"kernels of {owner} must be a Kernel, a pair of Kernels or None, got {kernels!r}; wrap a function in "
            "mercer.kernels.FromFunction."
        )
    return pair[0], pair[1]


def rows_for(kernel: Kernel | None, rows: Any, name: str) -> Any:
    """Rows as a kernel takes them: tables of numbers in double precision, one column as such a table, or objects."""
    if kernel is not None and not kernel.takes_vectors:
        return indexable_rows(rows)
    rows = check_array(rows, accept_sparse="csr", dtype=np.float64, ensure_2d=False, input_name=name)
    return rows.reshape(-1, 1) if rows.ndim == 1 else rows


def n_rows(rows: Any) -> int:
    """Number of rows of a table, sparse or not, or of a sequence of objects."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def check_pairs(X: Any, Y: Any, owner: str, least: int) -> int:
    """The number of pairs; both sides must have as many rows."""
    n = n_rows(X)
    if n_rows(Y) != n:
        raise ValueError(
            f"Y of {owner} must have as many rows as X, {n}, got {n_rows(Y)}; row i of both must belong together."
        )
    if n < least:
        raise ValueError(f"X of {owner} must have {least} rows or more, got {n} sample(s); give more pairs.")
    return n


def kernel_for(kernel: Kernel | None, rows: Any) -> Kernel:
    """A copy of the kernel; None: a Gaussian whose width is the median distance of the rows."""
    if kernel is not None:
        return clone(kernel)
    # Equal rows have no distance; whatever the width, they vary with nothing.
    constant = (rows.max(axis=0) != rows.min(axis=0)).sum() == 0
    return Gaussian(1.0) if constant else Gaussian.scaled_to(rows)


def features_of_pairs(
    X: Any, Y: Any, kernels: Any, *, rank: int, owner: str, least: int, random_state: Any = 0
) -> tuple[Array, Array]:
    """Features of both sides of the pairs, see `mercer.kernels.gram.feature_map`."""
    check_count(rank, "rank", owner)
    pair = paired_kernels(kernels, owner)
    sides = [(kernel, rows_for(kernel, rows, name)) for kernel, rows, name in zip(pair, (X, Y), "XY", strict=True)]
    check_pairs(sides[0][1], sides[1][1], owner, least)
    F, G = (feature_map(kernel_for(kernel, rows), rows, rank, random_state).features(rows) for kernel, rows in sides)
    return F, G


class PairEstimator(BaseEstimator):
    """Base of estimators of pairs of rows, with a kernel for each side.

    A fit stores `kernels_`, a pair. X is validated as scikit-learn does it; Y is any rows that its kernel takes, or one
    column.
    """

    kernels: Any

    def _pairs(self, X: Any, Y: Any, *, reset: bool, least: int = 2) -> tuple[Any, Any]:
        """Validated rows of both sides; with `reset` their kernels are stored, too."""
        owner = type(self).__name__
        if Y is None:
            raise ValueError(
                f"{owner} requires y to be passed, but the target y is None; give the other side of the pairs."
            )
        kernels = paired_kernels(self.kernels, owner)
        X, Y = self._left(X, reset=reset), rows_for(kernels[1], Y, "Y")
        check_pairs(X, Y, owner, least)
        if reset:
            self.kernels_ = kernel_for(kernels[0], X), kernel_for(kernels[1], Y)
        return X, Y

    def _left(self, X: Any, *, reset: bool) -> Any:
        """Validated rows of the left side."""
        kernel = paired_kernels(self.kernels, type(self).__name__)[0]
        if kernel is not None and not kernel.takes_vectors:
            return indexable_rows(X)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        kernels = self.kernels if isinstance(self.kernels, tuple | list) else [self.kernels]
        tags.input_tags.sparse = all(kernel is None or getattr(kernel, "takes_sparse", False) for kernel in kernels[:1])
        return tags
