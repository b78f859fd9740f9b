"""How well a kernel expansion is approximated by few of its terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.checks import check_gram, check_scale
from mercer.kernels import Kernel
from mercer.parameters import check_count

_STEPS = 30


def sparse_approximation_bound(K: ArrayLike, coef: ArrayLike, n_functions: int) -> float:
    """Bound on ‖f - f_n‖ for some f_n with at most n of the terms of f = Σ α_i k(x_i, .).

    sqrt(2/n) S ρ with S = Σ abs(α_i), where ρ² is the mean squared distance of the points sign(α_i) Φ(x_i) to the means
    of ⌊n/2⌋ cells.

    Parameters
    ----------
    K : array_like of shape (m, m)
        Gram matrix of the points x_i.
    coef : array_like of shape (m,)
        Coefficients α_i; zeros do not count.
    n_functions : int
        n ≥ 2.

    Returns
    -------
    float
        A bound on the norm of the difference in feature space; values differ by at most sqrt(k(x, x)) times this.

    Notes
    -----
    Draw ⌈c n/2⌉ points at random, by abs(α_i), in each cell that holds a share c of S: there are at most n draws, and
    the mean of ‖f - f_n‖² is at most 2 S² ρ²/n. Replaces [Smola1998]_, theorem 9.1. The cells are those of farthest
    points, improved by the k-means of the feature space.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import sparse_approximation_bound
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> round(sparse_approximation_bound(Gaussian(1.0)(X), np.full(200, 1 / 200), 8), 3)
    0.072
    """
    owner = "sparse_approximation_bound"
    matrix = check_gram(K, owner)
    alpha = np.asarray(coef, dtype=np.float64).ravel()
    if len(alpha) != len(matrix) or not np.isfinite(alpha).all():
        raise ValueError(
            f"coef of {owner} must be {len(matrix)} finite numbers, got shape {alpha.shape}; give one for each row "
            "of K."
        )
    n_cells = _even_share(n_functions, owner)
    used = np.flatnonzero(alpha)
    if len(used) <= n_functions:
        return 0.0
    signs, size = np.sign(alpha[used]), float(np.abs(alpha).sum())
    signed = matrix[np.ix_(used, used)] * signs[:, None] * signs
    variance = float(_cell_variances(signed, np.abs(alpha[used]) / size, n_cells).min())
    return size * float(np.sqrt(2 / n_functions * variance))


def interval_sparse_approximation_bound(
    kernel: Kernel, length: float, n_functions: int, *, coefficient_norm: float = 1.0, signed: bool = False
) -> float:
    """`sparse_approximation_bound` for points anywhere in an interval of length D.

    Equal cells have ρ_k = sqrt(2k(0) - 2k(D/2k)); with coefficients of both signs half of the cells serve each sign.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel.
    length : float
        D.
    n_functions : int
        n ≥ 2, or 4 with both signs.
    coefficient_norm : float
        S = Σ abs(α_i).
    signed : bool
        Whether coefficients may have both signs.

    Examples
    --------
    >>> from mercer.capacity import interval_sparse_approximation_bound
    >>> from mercer.kernels import Gaussian
    >>> round(interval_sparse_approximation_bound(Gaussian(1.0), 2.0, 8), 6)
    0.12403
    """
    owner = "interval_sparse_approximation_bound"
    if not isinstance(kernel, Kernel) or not kernel.stationary or kernel.order != 0:
        raise TypeError(f"kernel of {owner} must be stationary and positive definite, got {kernel!r}; try Gaussian.")
    n_cells = _even_share(n_functions, owner)
    n_cells = n_cells // 2 if signed else n_cells
    if n_cells < 1:
        raise ValueError(f"n_functions of {owner} must be 4 or more with both signs, got {n_functions!r}; ask for 4.")
    half = check_scale(length, owner, "length") / (2 * n_cells)
    at_zero, at_half = kernel.of_squared_distance(np.array([0.0, half**2]), 1)
    radius = float(np.sqrt(max(2 * at_zero - 2 * at_half, 0.0)))
    return float(np.sqrt(2 / n_functions)) * check_scale(coefficient_norm, owner, "coefficient_norm") * radius


def _even_share(n_functions: int, owner: str) -> int:
    return check_count(n_functions, "n_functions", owner, least=2) // 2


def _cell_variances(K: Array, weights: Array, n_cells: int) -> Array:
    """Weighted mean squared distances to the means of their cells, along the steps of k-means."""
    total = float(weights @ K.diagonal())
    cells = _nearest_of_farthest(K, n_cells)
    variances = []
    for _ in range(_STEPS):
        members = np.zeros((len(K), n_cells))
        members[np.arange(len(K)), cells] = weights
        mass = members.sum(axis=0)
        means = members[:, mass > 0] / mass[mass > 0]
        products = K @ means
        squares = np.sum(means * products, axis=0)
        variances.append(max(total - float(mass[mass > 0] @ squares), 0.0))
        n_cells = len(squares)
        closer = np.argmin(squares - 2 * products, axis=1)
        if np.array_equal(closer, cells):
            break
        cells = closer
    return np.array(variances)


def _nearest_of_farthest(K: Array, n_cells: int) -> Array:
    """For each point, which of the points that a farthest-point traversal takes is the nearest."""
    diagonal, squared = K.diagonal(), np.full(len(K), np.inf)
    cells, centre = np.zeros(len(K), dtype=int), 0
    for cell in range(n_cells):
        to_centre = diagonal + diagonal[centre] - 2 * K[centre]
        cells[to_centre < squared] = cell
        np.minimum(squared, to_centre, out=squared)
        centre = int(np.argmax(squared))
    return cells
