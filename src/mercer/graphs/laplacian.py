"""The Laplacian of a graph in its three forms, and the spectrum of the random walk on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from mercer.arrays import Array
from mercer.solvers.eigen import Eigenpairs
from mercer.solvers.sparse_eigen import leading_eigenpairs

LAPLACIANS = ("unnormalised", "symmetric", "random_walk")


def degrees(W: Any) -> Array:
    """Sums of the weights of each vertex."""
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def laplacian(W: Any, kind: str = "unnormalised") -> Any:
    """The graph Laplacian D - W, or one of its normalised forms.

    Parameters
    ----------
    W : array or sparse array of shape (n, n)
        Symmetric weights >= 0.
    kind : {"unnormalised", "symmetric", "random_walk"}
        D - W, I - D^(-1/2) W D^(-1/2), or I - D⁻¹W, with D = diag(Σ_j W_ij).

    Notes
    -----
    fᵀ(D - W)f = 1/2 Σ_ij W_ij (f_i - f_j)²; the multiplicity of the eigenvalue 0, in all three forms, is the number of
    connected parts of the graph [VonLuxburg2007]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import laplacian
    >>> laplacian(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if kind not in LAPLACIANS:
        raise ValueError(f"kind of laplacian must be one of {LAPLACIANS}, got {kind!r}; choose one of them.")
    d = degrees(W)
    if kind == "unnormalised":
        return _diagonal(d, W) - W
    _check_degrees(d, "laplacian", "leave them out, or take kind='unnormalised'")
    if kind == "symmetric":
        return _diagonal(np.ones_like(d), W) - scaled(W, d**-0.5, d**-0.5)
    return _diagonal(np.ones_like(d), W) - scaled(W, 1.0 / d, np.ones_like(d))


@dataclass(frozen=True)
class WalkSpectrum:
    """Leading eigenpairs of the random walk D⁻¹W.

    Attributes
    ----------
    values : array of shape (k,)
        θ_m, decreasing, the first being 1; those of the random-walk Laplacian are 1 - θ_m.
    functions : array of shape (n, k)
        Right eigenvectors ψ_m, with mean square 1 in the stationary distribution of the walk: Σ_i d_i ψ_mi² = Σ_i d_i.
        The first is the constant 1, unless the graph has more than k parts.
    residuals : array of shape (k,)
        ||S v - θ v|| for the eigenvectors v = D^(1/2) ψ, of unit length, of S = D^(-1/2) W D^(-1/2).
    method, status : str
        How they were found, and whether all residuals are as small as asked ("optimal").
    """

    values: Array
    functions: Array
    residuals: Array
    method: str
    status: str


def walk_spectrum(W: Any, k: int, *, method: str = "auto", tol: float = 1e-9, max_iter: int = 3000) -> WalkSpectrum:
    """The k leading eigenpairs of the random walk on a graph; see `mercer.solvers.leading_eigenpairs` for the options.

    D⁻¹W is not symmetric: eigenvectors of D^(-1/2) W D^(-1/2) are found, and scaled by D^(-1/2).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.graphs import walk_spectrum
    >>> walk_spectrum(np.ones((3, 3)) - np.eye(3), 2).values.round(3)
    array([ 1. , -0.5])
    """
    d = degrees(W)
    _check_degrees(d, "walk_spectrum", "leave them out")
    root = np.sqrt(d)
    S = scaled(W, 1.0 / root, 1.0 / root)
    pairs, method = leading_eigenpairs(S, k, method=method, tol=tol, max_iter=max_iter)
    pairs = _constant_first(pairs, root / np.linalg.norm(root))
    functions = pairs.vectors * (np.linalg.norm(root) / root[:, None])
    return WalkSpectrum(pairs.values, functions, pairs.errors, method, pairs.status)


def _constant_first(pairs: Eigenpairs, first: Array) -> Eigenpairs:
    """The same pairs, but those of eigenvalues that are 1 up to rounding turned such that a known vector comes first.

    The other vectors of a graph that is barely connected would else be mixed with the constant.
    """
    shares = pairs.vectors.T @ first
    if abs(np.linalg.norm(shares) - 1.0) > 1e-6:  # not found
        return pairs
    # The reflection that exchanges the first axis and the shares.
    axis = shares / np.linalg.norm(shares)
    axis[0] -= 1.0
    length = float(axis @ axis)
    turn = np.eye(len(axis)) - (2.0 / length * np.outer(axis, axis) if length > 0 else 0.0)
    others, products = pairs.vectors @ turn[:, 1:], pairs.products @ turn[:, 1:]
    values, rotation = eigh(others.T @ products) if len(axis) > 1 else (np.empty(0), np.empty((0, 0)))
    values, rotation = np.append(1.0, values[::-1]), rotation[:, ::-1]
    # The known vector is its own product.
    vectors, products = (np.column_stack([first, part @ rotation]) for part in (others, products))
    errors = np.linalg.norm(products - vectors * values, axis=0)
    return replace(pairs, values=values, vectors=vectors, products=products, errors=errors).with_signs()


def _check_degrees(d: Array, owner: str, remedy: str) -> None:
    if np.any(d <= 0):
        raise ValueError(
            f"W of {owner} must have weights at every vertex to be normalised, got {int(np.sum(d <= 0))} isolated "
            f"vertices; {remedy}."
        )


def scaled(W: Any, left: Array, right: Array) -> Any:
    """Weights left_i W_ij right_j."""
    if sparse.issparse(W):
        W = sparse.csr_array(W, dtype=np.float64, copy=True)
        W.data *= right[W.indices]
        W.data *= np.repeat(left, np.diff(W.indptr))
        return W
    return left[:, None] * W * right


def _diagonal(values: Array, W: Any) -> Any:
    return sparse.csr_array(sparse.diags_array(values)) if sparse.issparse(W) else np.diag(values)
