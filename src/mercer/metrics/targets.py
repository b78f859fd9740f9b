"""Targets as standardised columns of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.arrays import Array
from mercer.metrics.columns import Columns


def standardised_targets(y: Any, X: Array) -> Array:
    """Targets with mean 0 and variance 1, without those that are constant.

    Labels that are not numbers give one column of ±1 for each class.
    """
    if y is None:
        raise ValueError("y must be given: LearnedMetric requires y to be passed, but the target y is None.")
    values = np.asarray(y)
    labels = _labels(values)
    if labels is not None:
        values = _class_columns(np.unique(labels, return_inverse=True)[1])
    Y = check_array(values, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, Y)
    Y = Y.reshape(len(Y), -1)
    columns = Columns.fit(Y)
    return columns.transform(Y)[:, columns.varies]


def _labels(values: Array) -> Array | None:
    """Labels that are not numbers, or None for numbers."""
    if values.dtype.kind not in "OUSb":
        return None
    if values.dtype.kind == "O":
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            _refuse_missing(values)
        else:
            return None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"y of LearnedMetric must be one column if it holds labels, got shape {values.shape}; learn one metric for "
            "each, or give columns of numbers."
        )
    return values.astype(str)


def _refuse_missing(values: Array) -> None:
    missing = [i for i, v in enumerate(values.ravel()) if v is None or is_scalar_nan(v) or is_pandas_na(v)]
    if missing:
        raise ValueError(
            f"y of LearnedMetric must hold a label for each row, got {len(missing)} missing, the first at position "
            f"{missing[0]}; leave these rows out."
        )


def _class_columns(codes: Array) -> Array:
    """Columns of ±1 for numbered classes: one for two classes, else one for each."""
    classes = np.unique(codes)
    return np.where(codes[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0)
