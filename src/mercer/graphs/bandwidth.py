"""The width of Gaussian weights, from how the sum of all weights grows with it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

Array = NDArray[Any]

# Rows that are looked at; widths that are tried.
_SAMPLE, _N_WIDTHS = 2000, 60


class WidthCurve(NamedTuple):
    """Slopes d log ΣK / d log h at some widths h; the largest one is about the dimension of the data."""

    widths: Array
    slopes: Array


def auto_width(X: Any) -> tuple[float, WidthCurve]:
    """The width h at which log Σ_ij exp(-r_ij² / (2 h²)) grows fastest with log h, and the whole curve.

    Where h is far below the distances of neighbours the sum counts rows, and where it is far above all distances it
    counts pairs; in between it grows as h to the power of the dimension [Coifman2008]_. 2000 rows are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import auto_width
    >>> width, curve = auto_width(np.random.default_rng(0).uniform(size=(500, 2)))
    >>> bool(0.02 < width < 0.3), bool(1.5 < curve.slopes.max() < 2.2)
    (True, True)
    """
    n = X.shape[0]
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, _SAMPLE), replace=False))
    sample = X[rows]
    r2 = pairwise_distances(sample, metric="sqeuclidean" if not sparse.issparse(X) else "euclidean")
    if sparse.issparse(X):
        r2 = r2**2
    positive = r2[r2 > 0]
    if not positive.size:
        raise ValueError("X must have two distinct rows or more for width='auto', got equal rows; give a width.")
    widths = np.geomspace(0.1 * np.sqrt(positive.min()), 10.0 * np.sqrt(positive.max()), _N_WIDTHS)
    slopes = np.empty(len(widths))
    for i, h in enumerate(widths):
        exponents = r2 / (2 * h * h)
        weights = np.exp(-exponents)
        slopes[i] = 2.0 * np.sum(weights * exponents) / np.sum(weights)  # the derivative, exactly
    return float(widths[np.argmax(slopes)]), WidthCurve(widths, slopes)
