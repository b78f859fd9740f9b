"""The scale of latent points, in widths of the density kernel: likelihood, then a grid, then a direct search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.spatial.distance import pdist, squareform

Array = NDArray[Any]

# Rows that the likelihood of starts is computed on.
_SAMPLE = 400
# Scales around that of the likelihood that are tried first, the ratio of one to the next, and those of a fast start.
_GRID = np.geomspace(0.2, 5.0, 6)
_STEP = _GRID[1] / _GRID[0]
_FACTORS, _RATIOS = np.geomspace(0.4, 2.5, 7), (0.4, 0.65, 1.5, 2.5)
# The direct search: most evaluations for each coordinate, and the precision of logarithms and, as a share, of errors.
_EVALUATIONS, _PRECISION, _GAIN = 20, 0.05, 1e-3
# Distances that are rounding of equal points, as a share of the extent of all.
_EQUAL = 1e-9
# The widest and the narrowest kernel whose likelihood is looked at, in distances of nearest neighbours.
_WIDEST, _NARROWEST = 1e3, 1.0


@dataclass(frozen=True)
class ScaledStart:
    """A start in units of the kernel width.

    Attributes
    ----------
    scales : array of shape (q,)
        What the coordinates in the box were multiplied by.
    error : float
        The objective there.
    """

    scales: Array
    error: float


def likelihood_width(Z: Array, *, n_rows: int = 1000) -> float:
    """The width of a Gaussian kernel at which rows are most likely by the density of the others.

    argmax_h Σ_i log Σ_{j≠i} exp(-||z_i - z_j||² / (2h²)) - q log h, which grows beyond all bounds as h → 0 if rows are
    equal: h is at least the median distance of nearest neighbours that are not equal but for rounding.

    Parameters
    ----------
    Z : array of shape (N, q)
        Rows.
    n_rows : int
        About so many of them at most tell the width of all, as it falls with N^(-1/(q+4)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.scaling import likelihood_width
    >>> width = likelihood_width(np.random.default_rng(0).normal(size=(500, 2)))
    >>> bool(0.2 < width < 0.5)
    True
    """
    N, q = Z.shape
    some = Z[:: max(1, N // n_rows)]
    squares = squareform(pdist(some, "sqeuclidean"))
    np.fill_diagonal(squares, np.inf)
    nearest = squares.min(axis=1)
    differ = (squares > _EQUAL**2 * np.sum(np.ptp(some, axis=0) ** 2)) & np.isfinite(squares)
    if not differ.any():
        return 1.0
    length2 = float(np.median(np.where(differ, squares, np.inf).min(axis=1)))
    relative = np.subtract(squares, nearest[:, None], out=squares)  # the largest exponential of each row is then 1

    def loss(log_h: float) -> float:
        factor = -0.5 / (length2 * np.exp(2 * log_h))
        return float(q * log_h - np.mean(np.log(np.exp(factor * relative).sum(axis=1)) + factor * nearest))

    bounds = (np.log(_NARROWEST), np.log(_WIDEST))
    coarse = np.linspace(*bounds, 15)
    best = coarse[np.argmin([loss(x) for x in coarse])]
    step = coarse[1] - coarse[0]
    near = (max(bounds[0], best - step), min(bounds[1], best + step))
    log_h = minimize_scalar(loss, bounds=near, method="bounded", options={"xatol": 1e-3}).x
    return float(np.sqrt(length2) * np.exp(log_h) * (len(some) / N) ** (1.0 / (q + 4)))


def first_scale(box: Array, density_kernel: str) -> Array:
    """Scales of the coordinates of a start that make them as dense as the likelihood wants them.

    The quartic kernel has variance 1 / (q + 6) in each coordinate, where the Gaussian kernel has 1.
    """
    deviations = box.std(axis=0)
    standard = box / np.where(deviations > 0, deviations, 1.0)
    width = likelihood_width(standard, n_rows=_SAMPLE)
    if density_kernel == "quartic":
        width *= np.sqrt(box.shape[1] + 6.0)
    return np.asarray(1.0 / (np.where(deviations > 0, deviations, 1.0) * width))


def grid_scale(error_of: Callable[[Array], float], first: Array) -> ScaledStart:
    """The best of some scales around the first, the same factor for all coordinates.

    The grid is extended as long as the best scale lies on its edge and the last step there gained more than 0.1 %.
    Where the error is infinite, points are isolated; if so on the whole grid, smaller scales are tried.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.scaling import grid_scale
    >>> far = grid_scale(lambda scales: 1.0 + np.log(scales[0] / 400.0) ** 2, np.ones(1))
    >>> bool(200.0 < far.scales[0] < 800.0)
    True
    """
    tiny = np.finfo(np.float64).tiny
    errors = [error_of(factor * first) for factor in _GRID]
    while not np.isfinite(errors).any() and first.max() > tiny:
        first = first * _GRID[0]
        errors = [error_of(factor * first) for factor in _GRID]
    scales = [factor * first for factor in _GRID]
    while True:
        best = int(np.argmin(errors))
        if best not in (0, len(errors) - 1):
            break
        inner = errors[1] if best == 0 else errors[-2]
        farther = scales[best] * (1.0 / _STEP if best == 0 else _STEP)
        if not errors[best] < (1.0 - _GAIN) * inner or not tiny < farther.max() < np.inf:
            break
        position = 0 if best == 0 else len(errors)
        scales.insert(position, farther)
        errors.insert(position, error_of(farther))
    return ScaledStart(scales[best], float(errors[best]))


def factor_scale(error_of: Callable[[Array], float], first: Array) -> ScaledStart:
    """The best of seven scales around that of the likelihood, and then of four more for each coordinate by itself."""
    best = ScaledStart(first, np.inf)
    tried = [factor * first for factor in _FACTORS]
    for c in range(-1, len(first)):
        if c >= 0:
            tried = [np.where(np.arange(len(first)) == c, ratio, 1.0) * best.scales for ratio in _RATIOS]
        for scales in tried:
            error = error_of(scales)
            best = ScaledStart(scales, float(error)) if error < best.error else best
    return best


def searched_scale(error_of: Callable[[Array], float], start: ScaledStart) -> ScaledStart:
    """Scales of the coordinates by a direct search (Nelder and Mead's) from some, each coordinate by itself."""
    q = len(start.scales)
    if not np.isfinite(start.error):
        return start
    found = minimize(
        lambda logs: error_of(start.scales * np.exp(logs)),
        np.zeros(q),
        method="Nelder-Mead",
        options={
            "initial_simplex": 0.3 * np.vstack([np.zeros(q), np.eye(q)]),
            "maxfev": _EVALUATIONS * q,
            "xatol": _PRECISION,
            "fatol": _GAIN * start.error,
        },
    )
    if not found.fun < start.error:
        return start
    return ScaledStart(start.scales * np.exp(found.x), float(found.fun))
