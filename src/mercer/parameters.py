"""What parameters of estimators may be: checks that many of them share, and their messages."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.arrays import Array


def is_number(value: Any) -> bool:
    """Whether this is a finite number, True and False being none, and whole numbers beyond all floats neither."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def check_count(value: Any, parameter: str, owner: str, *, least: int = 1) -> int:
    """A number of things, 1 or another least one or more."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(
            f"{parameter} of {owner} must be a whole number >= {least}, got {value!r}; ask for {least} or more."
        )
    return int(value)


def check_positive(value: Any, parameter: str, owner: str, remedy: str) -> float:
    """A number > 0."""
    if not is_number(value) or not value > 0:
        raise ValueError(f"{parameter} of {owner} must be a number > 0, got {value!r}; {remedy}.")
    return float(value)


def check_callback(value: Any, owner: str, takes: str) -> None:
    """A function that is told of progress, by what it takes, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"callback of {owner} must be callable or None, got {value!r}; give a function of {takes}.")


def check_choice(
    value: Any, choices: tuple[str, ...], parameter: str, owner: str, remedy: str = "choose one of them"
) -> str:
    """One of several words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{parameter} of {owner} must be one of {choices}, got {value!r}; {remedy}.")
    return value


def check_covariance(cov: Any, function: str) -> Array:
    """A symmetric matrix without negative eigenvalues."""
    cov = check_array(cov, dtype=np.float64, input_name="cov")
    size = np.abs(cov).max()
    square = cov.shape[0] == cov.shape[1]
    if not square or not np.allclose(cov, cov.T, rtol=0.0, atol=1e-8 * size):
        raise ValueError(
            f"cov of {function} must be a symmetric matrix, got shape {cov.shape}; np.cov(X, rowvar=False) is one."
        )
    cov = (cov + cov.T) / 2
    if np.linalg.eigvalsh(cov)[0] < -1e-8 * size:
        raise ValueError(f"cov of {function} must have no negative eigenvalue, got one; no variable has it.")
    return np.asarray(cov)
