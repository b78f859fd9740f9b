"""Residuals of a surface: noise, or structure that needs more dimensions than the surface has."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.graphs import NeighbourSearch
from mercer.hosts import ArrayRows
from mercer.kernels import distinct_rows
from mercer.manifolds.latent.starts import filled
from mercer.manifolds.ukr.density_kernels import LatentDensity
from mercer.manifolds.ukr.tuning import PASSES


def common_share(Y: Array, Z: Array, density: LatentDensity) -> float:
    """Share of what a surface leaves of rows that each has in common with the row most like it.

    ρ = Σ_i r_i·r_n(i) / Σ_i ||r_i||², with the leave-one-out residuals r_i = y_i - f_(-i)(z_i) in one half of the
    columns, and the row n(i) that is nearest to row i in the other half; summed over both halves. The noise of columns
    is taken as independent, so that neighbours in some share none in others, and ρ is 0 or, since residuals of latent
    neighbours are taken from their mean, less. In the same columns they would: rows near each other in space, on the
    same side of a surface, have like noise.

    Parameters
    ----------
    Y : array of shape (N, d)
        Rows; NaN where an entry is missing.
    Z : array of shape (N, q)
        Latent points.
    density : LatentDensity
        Whose weights the surface has.

    Returns
    -------
    float
        ρ, and 0 where halves have no more columns than the surface has coordinates, which then do not tell the place
        of a row on it. Of equal rows one counts, and entries that are missing do not.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.density_kernels import GaussianDensity, LatentDensity
    >>> from mercer.manifolds.ukr.structure import common_share
    >>> rng = np.random.default_rng(0)
    >>> t, u = rng.uniform(-1, 1, size=(2, 200, 1))
    >>> noise = 0.1 * rng.normal(size=(200, 8))
    >>> for Y in (t + noise, t + u * np.tile([1, -1], 4) + noise):  # a line, and a plane
    ...     print(f"{common_share(Y, 20 * t, LatentDensity(GaussianDensity())):.2f}")
    -0.04
    0.91
    """
    Y = Y[:, np.fmax.reduce(Y, axis=0) > np.fmin.reduce(Y, axis=0)]
    if not halves_tell(Y, Z.shape[1]):
        return 0.0
    some = distinct_rows(Y)[0]
    known, Y = ~np.isnan(Y[some]), filled(Y)
    R = np.where(known, Y[some] - _left_out(Y, Z, some, density), 0.0)
    columns = np.random.default_rng(0).permutation(Y.shape[1])  # those next to each other may be alike
    half = len(columns) // 2
    products = 0.0
    for near, far in ((columns[:half], columns[half:]), (columns[half:], columns[:half])):
        nearest = NeighbourSearch(Y[np.ix_(some, near)]).of_rows(1)[1][:, 0]
        products += float(np.sum(R[:, far] * R[np.ix_(nearest, far)]))
    total = float(np.sum(R**2))
    return products / total if total > 0 else 0.0


def halves_tell(Y: Array, n_components: int) -> bool:
    """Whether half of the columns are more than the coordinates of a surface."""
    return Y.shape[1] // 2 > n_components


def n_excluded_for(share: float, most: int) -> int:
    """The number of rows whose mean is as much structure as noise, from 1 to some.

    Where rows near each other have the share ρ of a residual in common, the mean of K residuals has the variance
    ρ + (1 - ρ) / K of one. What is not in common is the smaller part of it if K > (1 - ρ) / ρ, and a surface that turns
    only where so many rows agree follows the structure.

    Examples
    --------
    >>> from mercer.manifolds.ukr.structure import n_excluded_for
    >>> [n_excluded_for(share, 20) for share in (-0.1, 0.01, 0.1, 0.25, 0.9)]
    [20, 20, 9, 3, 1]
    """
    return most if share * (most + 1) <= 1 else max(1, round((1 - share) / share))


def _left_out(Y: Array, Z: Array, some: Array, density: LatentDensity) -> Array:
    """f_(-i)(z_i) of some rows i; the rows themselves where no other is within reach."""

    def estimates(rows: Array, own: Array) -> Array:
        W = density.weights(Z[rows], Z).T
        W = W.toarray() if sparse.issparse(W) else np.array(W)
        W[np.arange(len(rows)), rows] = 0.0
        totals = W.sum(axis=1)
        reached = totals > np.finfo(np.float64).tiny
        F = own.copy()
        F[reached] = (W[reached] @ Y) / totals[reached, None]
        return F

    return np.asarray(ArrayRows(some, Y[some], height=PASSES.residuals).map(estimates))
