"""The scale of latent points, in widths of the density kernel: likelihood, then a grid, then a direct search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.spatial.distance import pdist, squareform

from mercer.arrays import Array
from mercer.manifolds.ukr.density_kernels import DensityKernel
from mercer.manifolds.ukr.tuning import SCALES


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
    differ = (squares > SCALES.equal**2 * np.sum(np.ptp(some, axis=0) ** 2)) & np.isfinite(squares)
    if not differ.any():
        return 1.0
    length2 = float(np.median(np.where(differ, squares, np.inf).min(axis=1)))
    relative = np.subtract(squares, nearest[:, None], out=squares)  # the largest exponential of each row is then 1

    def loss(log_h: float) -> float:
        factor = -0.5 / (length2 * np.exp(2 * log_h))
        return float(q * log_h - np.mean(np.log(np.exp(factor * relative).sum(axis=1)) + factor * nearest))

    bounds = (np.log(SCALES.narrowest), np.log(SCALES.widest))
    coarse = np.linspace(*bounds, 15)
    best = coarse[np.argmin([loss(x) for x in coarse])]
    step = coarse[1] - coarse[0]
    near = (max(bounds[0], best - step), min(bounds[1], best + step))
    log_h = minimize_scalar(loss, bounds=near, method="bounded", options={"xatol": 1e-3}).x
    return float(np.sqrt(length2) * np.exp(log_h) * (len(some) / N) ** (1.0 / (q + 4)))


def first_scale(box: Array, kernel: DensityKernel) -> Array:
    """Scales of the coordinates of a start at which a Gaussian of the same variance as the kernel is most likely."""
    deviations = box.std(axis=0)
    standard = box / np.where(deviations > 0, deviations, 1.0)
    width = likelihood_width(standard, n_rows=SCALES.sample) * kernel.widening(box.shape[1])
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
    tiny, grid = np.finfo(np.float64).tiny, SCALES.grid
    step = grid[1] / grid[0]
    errors = [error_of(factor * first) for factor in grid]
    while not np.isfinite(errors).any() and first.max() > tiny:
        first = first * grid[0]
        errors = [error_of(factor * first) for factor in grid]
    scales = [factor * first for factor in grid]
    while True:
        best = int(np.argmin(errors))
        if best not in (0, len(errors) - 1):
            break
        inner = errors[1] if best == 0 else errors[-2]
        farther = scales[best] * (1.0 / step if best == 0 else step)
        if not errors[best] < (1.0 - SCALES.gain) * inner or not tiny < farther.max() < np.inf:
            break
        position = 0 if best == 0 else len(errors)
        scales.insert(position, farther)
        errors.insert(position, error_of(farther))
    return ScaledStart(scales[best], float(errors[best]))


def factor_scale(error_of: Callable[[Array], float], first: Array) -> ScaledStart:
    """The best of seven scales around that of the likelihood, and then of four more for each coordinate by itself."""
    best = ScaledStart(first, np.inf)
    tried = [factor * first for factor in SCALES.factors]
    for c in range(-1, len(first)):
        if c >= 0:
            tried = [np.where(np.arange(len(first)) == c, ratio, 1.0) * best.scales for ratio in SCALES.ratios]
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
            "maxfev": SCALES.evaluations * q,
            "xatol": SCALES.precision,
            "fatol": SCALES.gain * start.error,
        },
    )
    if not found.fun < start.error:
        return start
    return ScaledStart(start.scales * np.exp(found.x), float(found.fun))
