"""Kernels on strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides


class WeightedDegree(Kernel):
    """Weighted degree kernel Σ_{k=1..degree} β_k Σ_l [x and y have the same k letters from position l on].

    Parameters
    ----------
    degree : int
        Length of the longest substrings that are compared; β_k = 2 (degree - k + 1) / (degree (degree + 1)).

    Notes
    -----
    For strings of equal length whose positions correspond, like DNA around a splice site [Sonnenburg2005]_. Input: a
    sequence or column of strings, or a table of whole numbers with one letter in each column. A run of r matching
    letters contributes Σ_k β_k (r - k + 1), so that a pair costs one pass over its letters whatever the degree.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(degree=2)(["ACGT", "ACTT"]).round(3)
    array([[3.667, 2.333],
           [2.333, 3.667]])
    """

    differentiable = False
    takes_vectors = False
    _takes_single_rows = False

    def __init__(self, degree: int = 3):
        self.degree = degree

    def _prepare(self, X: Any, Y: Any) -> Sides:
        self._run_weights()
        left = self._encode(X, "X")
        right = left if Y is None else self._encode(Y, "Y")
        if left.shape[1] != right.shape[1]:
            remedy = "cut or align the strings to one length"
            raise self._complain("Y", f"strings of {left.shape[1]} letters, as X", right.shape[1], remedy)
        return Sides(left, right, (len(left), len(right)), np.float64)

    def _tile(self, left: Array, right: Array) -> Array:
        from mercer.kernels.sequence_numba import weighted_degree_tile

        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        return np.asarray(weighted_degree_tile(left, right, self._run_weights()))

    def _diagonal(self, left: Array, right: Array) -> Array:
        n_letters = left.shape[1]
        weights = self._run_weights()
        runs = np.minimum(np.arange(1, n_letters + 1), len(weights) - 1)
        return np.full(len(left), weights[runs].sum())

    def _run_weights(self) -> Array:
        """What a letter adds that ends a run of 0, 1, ..., degree matching letters: β_1 + ... + β_run."""
        degree = self._whole("degree", at_least=1)
        k = np.arange(1, degree + 1)
        return np.concatenate([[0.0], np.cumsum(2.0 * (degree - k + 1) / (degree * (degree + 1)))])

    def _encode(self, strings: Any, name: str) -> Array:
        """Letters as whole numbers, one row for each string."""
        table = np.asarray(strings)
        if table.ndim == 2 and np.issubdtype(table.dtype, np.integer):
            if not table.size or table.min() < 0 or table.max() >= 2**32:
                raise self._complain(name, "a non-empty table of numbers from 0 to 2^32 - 1", f"shape {table.shape}",
                                     "number the letters from 0")  # fmt: skip
            return np.ascontiguousarray(table, dtype=np.uint32)
        column: Any = table.ravel() if table.ndim <= 1 or table.shape[1:] == (1,) else np.empty(0)
        if isinstance(strings, str) or not column.size or not all(isinstance(s, str | bytes) for s in column):
            raise self._complain(
                name, "a non-empty sequence of strings", f"{type(strings).__name__} of shape {table.shape}",
                "give one string for each row, or a table of whole numbers"
            )  # fmt: skip
        lengths = np.array([len(s) for s in column])
        if np.any(lengths != lengths[0]):
            row = int(np.argmax(lengths != lengths[0]))
            raise self._complain(
                name, "strings of equal length", f"{lengths[row]} letters in row {row} and {lengths[0]} in row 0",
                "cut or align the strings to one length"
            )  # fmt: skip
        if lengths[0] == 0:
            raise self._complain(name, "strings of one letter or more", "empty strings", "remove them")
        letters = "".join(s.decode("latin-1") if isinstance(s, bytes) else s for s in column)
        return np.frombuffer(bytearray(letters, "utf-32-le"), dtype=np.uint32).reshape(len(column), -1)
