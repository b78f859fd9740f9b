"""Maps from a latent space to the data: f(z) = Σ_j α_j k(z_j, z) + Pᵀ(z) γ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, qr

from mercer.kernels import Kernel
from mercer.manifolds.latent_space import LatentSpace
from mercer.manifolds.tables import Tables, tables_of

Array = NDArray[Any]

# Eigenvalues of K below this share of the largest are rounding.
_RANK = 1e-13
# Points that a search grid is refined to.
_GRID = 4096


@dataclass(frozen=True)
class LatentBasis:
    """The functions that a map is made of: kernel functions at a grid of nodes, and polynomials without a penalty.

    Parameters
    ----------
    space : LatentSpace
        Where they live.
    kernel : Kernel
        On that space.
    sides : tuple of int
        Number of nodes along each coordinate.
    linear : bool
        Whether the coordinates of the intervals are among the polynomials, beside the constant.
    whitened : bool
        Whether features are orthonormal in the norm of the kernel, so that ||f||² = Σ β²; else they are the kernel
        functions themselves and β = α.

    Attributes
    ----------
    nodes : array of shape (M, q)
        z_j.
    to_alpha : array of shape (M, r)
        α = to_alpha β. K has condition numbers to 6e11: directions that are rounding are left out.
    """

    space: LatentSpace
    kernel: Kernel
    sides: tuple[int, ...]
    linear: bool = False
    whitened: bool = True

    @cached_property
    def nodes(self) -> Array:
        """z_j."""
        return self.space.grid(self.sides)

    @cached_property
    def to_alpha(self) -> Array:
        """The matrix of α = to_alpha β."""
        return self._whitening() if self.whitened else np.eye(len(self.nodes))

    def _whitening(self) -> Array:
        K = self.kernel(self.nodes)
        # Coefficients of a conditionally positive kernel are orthogonal to its polynomials.
        P = self.kernel.polynomial_part(self.nodes)
        N = qr(P)[0][:, P.shape[1] :] if P.shape[1] else np.eye(len(K))
        values, U = np.linalg.eigh(N.T @ K @ N)
        kept = values > _RANK * values[-1]
        return np.asarray((N @ U[:, kept]) / np.sqrt(values[kept]))

    @property
    def n_features(self) -> int:
        """Number of penalised features."""
        return int(self.to_alpha.shape[1])

    def polynomials(self, Z: Array) -> Array:
        """The functions without a penalty: the constant, and coordinates if they are wanted."""
        columns = [np.ones((len(Z), 1))]
        if self.linear:
            columns.append(Z[:, ~self.space.is_circle])
        return np.hstack(columns)

    def functions(self, Z: Array) -> Array:
        """Kernel functions, then polynomials."""
        if self.tables is None:
            return self._functions_by_kernel(Z)
        polynomials = self.polynomials(Z)
        functions = np.empty((len(Z), len(self.nodes) + polynomials.shape[1]))
        self.tables.fill(Z, functions)
        functions[:, len(self.nodes) :] = polynomials
        return functions

    def _functions_by_kernel(self, Z: Array) -> Array:
        return np.hstack([self.kernel(Z, self.nodes), self.polynomials(Z)])

    @cached_property
    def mixing(self) -> Array:
        """The matrix of features = functions · mixing: `to_alpha`, and ones for the polynomials."""
        return block_diag(self.to_alpha, np.eye(self.polynomials(self.nodes[:1]).shape[1]))

    def features(self, Z: Array) -> Array:
        """Penalised features, then polynomials."""
        return np.asarray(self.functions(Z) @ self.mixing)

    def slopes(self, Z: Array) -> Array:
        """Derivatives of the features by the coordinates, of shape (n, q, n_features + n_polynomials)."""
        penalised = self.kernel.gradient(Z, self.nodes).transpose(0, 2, 1) @ self.to_alpha
        polynomial = np.zeros((*Z.shape, self.polynomials(Z[:1]).shape[1]))
        if self.linear:
            polynomial[:, ~self.space.is_circle, 1:] = np.eye(polynomial.shape[2] - 1)
        return np.concatenate([penalised, polynomial], axis=2)

    @cached_property
    def tables(self) -> Tables | None:
        """For fast evaluation, where the kernel allows it."""
        return tables_of(self.kernel, self.space, self.sides)

    @cached_property
    def search_grid(self) -> tuple[Array, Array, Array]:
        """A grid at least twice as fine as the nodes: its points, their neighbours in it, and the features there."""
        sides = self.space.refined(self.sides)
        enough = round(_GRID ** (1 / (self.space.n_dims + 1)))
        while min(sides) < enough and np.prod(self.space.refined(sides)) <= _GRID:
            sides = self.space.refined(sides)
        points = self.space.grid(sides)
        return points, self.space.neighbours(sides), self.features(points)

    @cached_property
    def cell_features(self) -> tuple[Array, Array]:
        """Features at the cells of the space, and how much they change over a standard deviation within a cell."""
        points, side = self.space.cells
        # To make tables takes longer than these few points, and a basis that is only tried needs none.
        features = self._functions_by_kernel(points) @ self.mixing
        return features, self.slopes(points) * (side / np.sqrt(12.0))

    def map_of(self, coefficients: Array) -> LatentMap:
        """The map with these coefficients of the features."""
        r = self.n_features
        return LatentMap(self, coefficients, self.to_alpha @ coefficients[:r], coefficients[r:])


@dataclass(frozen=True)
class LatentMap:
    """A smooth map f from a latent space to the space of the data.

    Attributes
    ----------
    basis : LatentBasis
        The functions it is made of.
    coefficients : array of shape (n_features + n_polynomials, d)
        β and γ.
    alpha : array of shape (M, d)
        Coefficients of the kernel functions at the nodes.
    gamma : array of shape (n_polynomials, d)
        Of the constant, f0, and of the coordinates if they are among the polynomials.
    """

    basis: LatentBasis
    coefficients: Array
    alpha: Array
    gamma: Array

    def __call__(self, Z: Array) -> Array:
        """f(z) for the rows of Z."""
        return self.basis.kernel(Z, self.basis.nodes) @ self.alpha + self.basis.polynomials(Z) @ self.gamma

    def with_tangents(self, Z: Array) -> tuple[Array, Array]:
        """f(z) and ∂f/∂z_a for the rows of Z, arrays of shape (n, d) and (n, q, d)."""
        (n, q), d = Z.shape, self.alpha.shape[1]
        F = self.basis.polynomials(Z) @ self.gamma
        T = np.zeros((n, q, d))
        if self.basis.linear:
            T[:, ~self.basis.space.is_circle] = self.gamma[1:]
        if self.basis.tables is not None:
            self.basis.tables.evaluate(self.alpha, Z, F, T)
            return F, T
        F += self.basis.kernel(Z, self.basis.nodes) @ self.alpha
        slopes = self.basis.kernel.gradient(Z, self.basis.nodes)
        T += (slopes.transpose(0, 2, 1).reshape(n * q, -1) @ self.alpha).reshape(n, q, d)
        return F, T
