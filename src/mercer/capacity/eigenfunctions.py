"""Eigenvalues and eigenfunctions of a kernel for a given density of the rows on an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.spectrum import Spectrum
from mercer.kernels import Kernel
from mercer.parameters import check_choice, check_count, is_number

_NOISE = 1e-13


@dataclass(frozen=True, eq=False)
class Eigenfunctions:
    """Solutions of ∫ k(x, y) ψ_i(y) p(y) dy = λ_i ψ_i(x) with ∫ ψ_i² p = 1; `kernel_eigenfunctions` makes them.

    Attributes
    ----------
    eigenvalues : array of shape (n,)
        λ_i, descending; those below 1e-13 of the first are left out.
    nodes, weights : array of shape (n_nodes,)
        Of the quadrature, p included.
    values : array of shape (n_nodes, n)
        ψ_i at the nodes.
    kernel : Kernel
        k.
    error : float
        Largest change of a listed eigenvalue from half as many nodes to these, as a share of the first.
    """

    eigenvalues: Array
    nodes: Array
    weights: Array
    values: Array
    kernel: Kernel
    error: float

    def __call__(self, x: ArrayLike) -> Array:
        """ψ_i at any points x, one column for each i: Σ_s w_s k(x, x_s) ψ_i(x_s) / λ_i, Nyström's extension."""
        points = np.asarray(x, dtype=np.float64).ravel()
        K = self.kernel(points[:, None], self.nodes[:, None])
        return (K @ (self.weights[:, None] * self.values)) / self.eigenvalues

    def coefficients(self, function: Callable[[Array], Any]) -> Array:
        """ζ_i = ∫ ψ_i g p of a function g of arrays of points."""
        g = np.asarray(function(self.nodes), dtype=np.float64)
        if g.shape != self.nodes.shape or not np.isfinite(g).all():
            raise ValueError(
                f"function of Eigenfunctions.coefficients must give one finite number for each point, got shape "
                f"{g.shape}; take a function of arrays."
            )
        return self.values.T @ (self.weights * g)

    @property
    def bound(self) -> float:
        """The largest k(x, x) at the nodes."""
        return float(self.kernel.diag(self.nodes[:, None]).max())

    @property
    def spectrum(self) -> Spectrum:
        """The eigenvalues for `entropy_number`, with C_k = max_x sqrt(Σ λ_i ψ_i(x)² / Σ λ_i).

        That scale bounds sums of equal weight only, so that the number is an estimate and no bound.
        """
        largest = float((self.values**2 @ self.eigenvalues).max())
        return Spectrum.of(self.eigenvalues, scale=float(np.sqrt(largest / self.eigenvalues.sum())))


def kernel_eigenfunctions(
    kernel: Kernel,
    interval: tuple[float, float] = (-1.0, 1.0),
    *,
    density: Callable[[Array], Any] | None = None,
    n_functions: int = 20,
    method: str = "nystrom",
    n_nodes: int = 200,
) -> Eigenfunctions:
    """Eigenfunctions of the integral operator of a kernel with respect to a density on an interval.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, on one column.
    interval : (float, float)
        Where the rows are.
    density : callable, optional
        p at arrays of points, up to a factor; by default uniform.
    n_functions : int
        Most functions that are returned.
    method : {"nystrom", "galerkin"}
        "nystrom" solves at the nodes of a Gauss-Legendre rule. "galerkin" takes n_functions + 20 polynomials that are
        orthonormal under p: its eigenvalues are never larger than the true ones, but for errors of the quadrature.
    n_nodes : int
        Of the quadrature. Smooth kernels need few; for kernels with a kink at zero, as Exponential, the error falls
        like n_nodes^-2.

    Returns
    -------
    Eigenfunctions
        Eigenvalues, functions that can be called, and the error of the quadrature.

    Notes
    -----
    Σ λ_i = ∫ k(x, x) p, and k(x, y) = Σ λ_i ψ_i(x) ψ_i(y). [Smola1998]_, section 8.2, and [Braun2008]_, section 3.2,
    whose λ_i, ψ_i and ζ_i they are. `Periodized.eigenvalues` and `periodic_spectrum` know those of periodic kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import kernel_eigenfunctions
    >>> from mercer.kernels import Gaussian
    >>> found = kernel_eigenfunctions(Gaussian(0.5))
    >>> found.eigenvalues[:3].round(4)
    array([0.5212, 0.3025, 0.1257])
    """
    owner = "kernel_eigenfunctions"
    check_choice(method, ("nystrom", "galerkin"), "method", owner)
    n_functions = check_count(n_functions, "n_functions", owner)
    n_nodes = check_count(n_nodes, "n_nodes", owner, least=max(8, n_functions))
    if not isinstance(kernel, Kernel) or kernel.order != 0:
        raise TypeError(
            f"kernel of {owner} must be positive definite, got {kernel!r}; project the polynomials out of a "
            "conditionally positive one, or take Gaussian."
        )
    solve = _nystrom if method == "nystrom" else _galerkin
    nodes, weights = _quadrature(interval, density, n_nodes, owner)
    values, functions = solve(kernel, nodes, weights, n_functions)
    coarse = solve(kernel, *_quadrature(interval, density, max(n_nodes // 2, 4), owner), n_functions)[0]
    keep = values > _NOISE * values[0]
    n_common = min(len(coarse), int(keep.sum()))
    error = float(np.abs(values[:n_common] - coarse[:n_common]).max() / values[0])
    functions = functions[:, keep]
    # Signs: the entry of largest modulus is positive.
    functions *= np.sign(functions[np.abs(functions).argmax(axis=0), np.arange(functions.shape[1])])
    return Eigenfunctions(values[keep], nodes, weights, functions, kernel, error)


def _quadrature(interval: Any, density: Any, n_nodes: int, owner: str) -> tuple[Array, Array]:
    """Gauss-Legendre nodes of the interval, and weights that contain the normalised density."""
    ends = tuple(interval) if isinstance(interval, tuple | list) else ()
    if len(ends) != 2 or not all(is_number(end) for end in ends) or not ends[0] < ends[1]:
        raise ValueError(f"interval of {owner} must be two increasing finite numbers, got {interval!r}; try (-1, 1).")
    low, high = (float(end) for end in ends)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    nodes = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    if density is not None:
        p = np.asarray(density(nodes), dtype=np.float64)
        if p.shape != nodes.shape or not np.isfinite(p).all() or p.min() < 0 or not p.max() > 0:
            raise ValueError(
                f"density of {owner} must give one number >= 0 for each point, not all zero, got shape {p.shape}; "
                "take a function of arrays."
            )
        weights = weights * p
    return nodes, weights / weights.sum()


def _descending(matrix: Array, n_functions: int) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return values[::-1][:n_functions], vectors[:, ::-1][:, :n_functions]


def _nystrom(kernel: Kernel, nodes: Array, weights: Array, n_functions: int) -> tuple[Array, Array]:
    roots = np.sqrt(weights)
    values, vectors = _descending(roots[:, None] * kernel(nodes[:, None]) * roots, n_functions)
    with np.errstate(divide="ignore", invalid="ignore"):
        return values, np.where(roots[:, None] > 0, vectors / roots[:, None], 0.0)


def _galerkin(kernel: Kernel, nodes: Array, weights: Array, n_functions: int) -> tuple[Array, Array]:
    n_polynomials = min(n_functions + 20, len(nodes))
    centred = (2 * nodes - nodes[0] - nodes[-1]) / (nodes[-1] - nodes[0])
    powers = np.polynomial.legendre.legvander(centred, n_polynomials - 1)
    roots = np.sqrt(weights)
    Q = np.linalg.qr(roots[:, None] * powers)[0]
    values, vectors = _descending(Q.T @ (roots[:, None] * kernel(nodes[:, None]) * roots) @ Q, n_functions)
    with np.errstate(divide="ignore", invalid="ignore"):
        return values, np.where(roots[:, None] > 0, (Q @ vectors) / roots[:, None], 0.0)
