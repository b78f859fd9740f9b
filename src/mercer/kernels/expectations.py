"""Expected values of Gaussian kernel functions at noisy rows, in closed form.

Noise ε ~ N(0, noise² I) on the rows turns the empirical error of f = Σ_j a_j k(c_j, .) into a quadratic form of a:
E (y - f(x + ε))² = y² - 2 y aᵀ E k(x + ε) + aᵀ E[k(x + ε) k(x + ε)ᵀ] a, with the vector k(x) of all k(c_j, x).
Denoising and noisy codes need these two expectations, and no sample of the noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.kernels.algebra import Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian


def smoothed_kernel(kernel: Kernel, noise: Any, n_dims: int) -> Scaled:
    """The kernel E k(c, x + ε) as a function of c and x: a lower and wider Gaussian.

    (w² / (w² + s²))^(d/2) exp(-||x - c||² / (2 (w² + s²))) for the width w, the noise s and d columns.

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, with one width or one for each column.
    noise : float or list of float
        Standard deviation s of the noise, one for all columns or one for each.
    n_dims : int
        Number of columns d.

    Returns
    -------
    Kernel
        With values, gradients and products as any other.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, smoothed_kernel
    >>> smoothed_kernel(Gaussian(3.0), 4.0, n_dims=2)
    0.36 * Gaussian(width=5.0)
    """
    w2, s2 = _variances(kernel, noise, n_dims, "smoothed_kernel")
    wider = np.sqrt(w2 + s2)
    same = bool(np.all(wider == wider[0]))
    return Scaled(Gaussian(float(wider[0]) if same else wider), float(np.prod((1.0 + s2 / w2) ** -0.5)))


def expected_features(kernel: Kernel, X: Any, nodes: Any, noise: Any) -> Array:
    """E k(c_j, x_i + ε) for the rows x_i of X and the nodes c_j, an array of shape (n, n_nodes).

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, with one width or one for each column.
    X, nodes : array_like
        Rows of numbers with the same columns.
    noise : float or list of float
        Standard deviation of the noise, one for all columns or one for each.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, expected_features
    >>> expected_features(Gaussian(3.0), [[0.0, 0.0]], [[0.0, 0.0], [3.0, 4.0]], noise=4.0).round(4)
    array([[0.36  , 0.2184]])
    """
    X, nodes = _rows(X, nodes)
    return np.asarray(smoothed_kernel(kernel, noise, nodes.shape[1])(X, nodes))


def product_factors(kernel: Kernel, nodes: Any, noise: Any) -> tuple[Array, Gaussian]:
    """The parts of an expected product: E k(c_j, x + ε) k(c_l, x + ε) = A_jl u(c_j, x) u(c_l, x).

    u is a Gaussian of variance v = w² + 2 s², and A_jl = (w² / v)^(d/2) exp(-||c_j - c_l||² (1 / w² - 1 / v) / 4).

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, with one width or one for each column.
    nodes : array_like
        The nodes c_j.
    noise : float or list of float
        Standard deviation of the noise, one for all columns or one for each.

    Returns
    -------
    A : array of shape (n_nodes, n_nodes)
        Factors that do not depend on x.
    u : Kernel
        The wider Gaussian.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.expectations import product_factors
    >>> A, u = product_factors(Gaussian(1.0), [[0.0], [1.0]], noise=2.0)
    >>> A.round(4), u
    (array([[0.3333, 0.2669],
           [0.2669, 0.3333]]), Gaussian(width=3.0))
    """
    nodes = _rows(nodes, nodes)[0]
    w2, s2 = _variances(kernel, noise, nodes.shape[1], "product_factors")
    v = w2 + 2.0 * s2
    # (1 / w² - 1 / v) / 4 = s² / (2 w² v): a Gaussian of the nodes in these units.
    between = Gaussian(1.0)(nodes * np.sqrt(s2 / v / w2))
    width = np.sqrt(v)
    u = Gaussian(float(width[0]) if np.all(width == width[0]) else width)
    return np.prod((v / w2) ** -0.5) * between, u


def expected_products(kernel: Kernel, X: Any, nodes: Any, noise: Any) -> Array:
    """Σ_i E k(c_j, x_i + ε) k(c_l, x_i + ε), a symmetric matrix of shape (n_nodes, n_nodes).

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, with one width or one for each column.
    X, nodes : array_like
        Rows of numbers with the same columns.
    noise : float or list of float
        Standard deviation of the noise, one for all columns or one for each.

    Notes
    -----
    Cost O(n n_nodes²), memory n · n_nodes numbers, see `product_factors`. It is a sum over rows: that of all
    rows is the sum of those of blocks.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, expected_products
    >>> expected_products(Gaussian(1.0), [[0.0], [1.0]], [[0.0], [1.0]], noise=2.0).round(4)
    array([[0.6316, 0.505 ],
           [0.505 , 0.6316]])
    """
    X, nodes = _rows(X, nodes)
    A, u = product_factors(kernel, nodes, noise)
    features = u(X, nodes)
    return np.asarray(A * (features.T @ features))


def expected_moments(kernel: Kernel, X: Any, nodes: Any, noise: Any) -> Array:
    """Σ_i E (x_i + ε) k(c_j, x_i + ε), an array of shape (d, n_nodes).

    E (x + ε) k(c, x + ε) = (w² x + s² c) / (w² + s²) E k(c, x + ε), column by column: the kernel draws x to c.

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, with one width or one for each column.
    X, nodes : array_like
        Rows of numbers with the same columns.
    noise : float or list of float
        Standard deviation of the noise, one for all columns or one for each.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, expected_moments
    >>> expected_moments(Gaussian(1.0), [[0.0]], [[0.0], [1.0]], noise=2.0).round(4)
    array([[0.    , 0.3237]])
    """
    X, nodes = _rows(X, nodes)
    w2, s2 = _variances(kernel, noise, X.shape[1], "expected_moments")
    features = smoothed_kernel(kernel, noise, X.shape[1])(X, nodes)
    drawn = s2[:, None] * nodes.T * features.sum(axis=0)
    return np.asarray((w2[:, None] * (X.T @ features) + drawn) / (w2 + s2)[:, None])


def _rows(X: Any, nodes: Any) -> tuple[Array, Array]:
    """Both in double precision."""
    X = check_array(X, dtype=np.float64, input_name="X")
    nodes = check_array(nodes, dtype=np.float64, input_name="nodes")
    if X.shape[1] != nodes.shape[1]:
        raise ValueError(
            f"nodes must have the {X.shape[1]} columns of X, got {nodes.shape[1]}; give both the same features."
        )
    return X, nodes


def _variances(kernel: Kernel, noise: Any, n_dims: int, function: str) -> tuple[Array, Array]:
    """Squares of width and noise for each column."""
    if not getattr(kernel, "_is_gaussian", False):
        raise TypeError(
            f"kernel of {function} must be a Gaussian, got {kernel!r}; other kernels have no closed form: average "
            "their values over noisy copies of the rows."
        )
    s = np.asarray(noise, dtype=np.float64)
    if s.shape not in ((), (n_dims,)) or not np.all(np.isfinite(s) & (s >= 0)):
        raise ValueError(
            f"noise of {function} must be a number >= 0, or one for each of the {n_dims} columns, got {noise!r}; give "
            "the standard deviation of the noise."
        )
    width = np.broadcast_to(np.asarray(kernel._length(n_dims), dtype=np.float64), n_dims)
    return width**2, np.broadcast_to(s, n_dims) ** 2
