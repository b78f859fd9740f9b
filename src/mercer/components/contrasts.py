"""What makes a direction in feature space interesting: functions of the values that the data take along it.

All but callables are homogeneous of degree two, i.e. in units of the variance, so that a direction along which the data
hardly vary is not interesting, whatever its shape; the length of a direction is fixed by the constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array

Contrast = Callable[[Array], Array]

# E log cosh of a standard Gaussian variable.
_GAUSSIAN_LOG_COSH = 0.37456720749143806


def variance(F: Array) -> Array:
    """Mean square of each column; the columns have mean zero."""
    return np.einsum("ij,ij->j", F, F) / len(F)


def kurtosis(F: Array) -> Array:
    """Root of the fourth cumulant |E f⁴ - 3 (E f²)²|: the variance times the root of the excess kurtosis."""
    squared = F**2
    return np.sqrt(np.abs(np.mean(squared**2, axis=0) - 3 * np.mean(squared, axis=0) ** 2))


def negentropy(F: Array) -> Array:
    """Variance times |E log cosh g - its value for a Gaussian|, with g = f of unit variance [Hyvarinen1999]_."""
    power = variance(F)
    G = np.abs(F / np.sqrt(np.where(power > 0, power, 1.0)))
    # log cosh g = |g| + log(1 + exp(-2|g|)) - log 2 does not overflow.
    return power * np.abs(np.mean(G + np.log1p(np.exp(-2 * G)), axis=0) - np.log(2) - _GAUSSIAN_LOG_COSH)


CONTRASTS: dict[str, Contrast] = {"variance": variance, "kurtosis": kurtosis, "negentropy": negentropy}


def as_contrast(owner: str, contrast: Any) -> Contrast:
    """A contrast from its name or from a function of the user, whose values are checked."""
    if isinstance(contrast, str) and contrast in CONTRASTS:
        return CONTRASTS[contrast]
    if not callable(contrast):
        raise ValueError(
            f"contrast of {owner} must be one of {tuple(CONTRASTS)} or a function, got {contrast!r}; a function takes "
            "values of shape (n, m) and returns m numbers, larger ones being better."
        )

    def checked(F: Array) -> Array:
        values = np.asarray(contrast(F), dtype=np.float64)
        if values.shape != (F.shape[1],):
            raise ValueError(
                f"contrast of {owner} must return one number for each of {F.shape[1]} columns, got shape "
                f"{values.shape}; reduce the first axis only."
            )
        bad = values[~np.isfinite(values)]
        if bad.size:
            raise ValueError(
                f"contrast of {owner} must return finite numbers, got {bad[0]}; mind logarithms, roots and divisions, "
                "some columns may be zero."
            )
        return values

    return checked
