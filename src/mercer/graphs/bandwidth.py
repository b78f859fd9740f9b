"""The width of Gaussian weights: how the sum of all weights grows with it, and how far away neighbours are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from mercer.arrays import Array
from mercer.rounding import EQUAL

# Rows that are examined; widths that are tried.
_SAMPLE, _N_WIDTHS = 1000, 60
# Weights with larger exponents are less than rounding.
_VANISHED = 50.0


class WidthCurve(NamedTuple):
    """Slopes d log ΣK / d log h at some widths h; the largest one is about the dimension of the data."""

    widths: Array
    slopes: Array


def auto_width(X: Any) -> tuple[float, WidthCurve]:
    """The width h at which log Σ_ij exp(-r_ij² / (2 h²)) grows fastest with log h, and the whole curve.

    Where h is far below the distances of neighbours the sum counts rows, and where it is far above all distances it
    counts pairs; in between it grows as h to the power of the dimension [Coifman2008]_. 1000 rows are examined.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import auto_width
    >>> width, curve = auto_width(np.random.default_rng(0).uniform(size=(500, 2)))
    >>> bool(0.02 < width < 0.3), bool(1.5 < curve.slopes.max() < 2.2)
    (True, True)
    """
    n = X.shape[0]
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    sample = X[np.sort(np.random.default_rng(0).choice(n, min(n, _SAMPLE), replace=False))]
    half_squares, unit = _half_squared_distances(sample)
    if half_squares[-1] == 0:
        raise ValueError("X of auto_width must have two distinct rows or more, got equal rows; give a width.")
    smallest, largest = half_squares[np.searchsorted(half_squares, 0.0, side="right")], half_squares[-1]
    widths = np.geomspace(0.1 * np.sqrt(2.0 * smallest), 10.0 * np.sqrt(2.0 * largest), _N_WIDTHS)
    slopes = np.empty(len(widths))
    for i, h in enumerate(widths):
        exponents = half_squares[: np.searchsorted(half_squares, _VANISHED * h**2)] / h**2
        weights = np.exp(-exponents)
        # The derivative, exactly; each pair counts twice, and each row with itself.
        slopes[i] = 4.0 * float(weights @ exponents) / (2.0 * float(weights.sum()) + sample.shape[0])
    return unit * float(widths[np.argmax(slopes)]), WidthCurve(unit * widths, slopes)


def root_mean_square(distances: Array) -> float:
    """√(Σ r² / n), whatever the unit."""
    largest = float(distances.max())
    return largest * float(np.sqrt(np.mean((distances / largest) ** 2))) if largest > 0 else 0.0


def _half_squared_distances(X: Any) -> tuple[Array, float]:
    """r_ij² / 2 of all pairs, sorted, in a unit that has squares, and that unit; 0 where it is but rounding."""
    unit = 1.0
    for centred in (False, True):  # the largest number may be in a column that is constant
        X = X - X.mean(axis=0) if centred and not sparse.issparse(X) else X
        largest = float(abs(X).max())
        X, unit = (X / largest, unit * largest) if largest > 0 else (X, unit)
    half_squares = 0.5 * pairwise_distances(X, metric="euclidean") ** 2
    norms = 0.5 * np.asarray((abs(X) ** 2).sum(axis=1)).ravel()
    half_squares[half_squares <= EQUAL * (norms[:, None] + norms)] = 0.0
    return np.sort(half_squares[np.triu_indices(len(norms), 1)]), unit
