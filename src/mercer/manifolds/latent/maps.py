"""Maps from a latent space to the data: f(z) = Σ_j α_j k(z_j, z) + Pᵀ(z) γ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag, qr

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.manifolds.latent.cell_features import CellFeatures, DenseCellFeatures, ProductCellFeatures
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.latent.tables import Factor, Tables, factors_of, tables_of

# Eigenvalues of K below this share of the largest are rounding.
_RANK = 1e-13
# Points that a search grid is refined to.
_GRID = 4096
# What a basis is stored with, and what depends on the cells of the space.
_STATE = ("space", "kernel", "sides", "linear", "whitened", "to_alpha")
_OF_CELLS = ("space", "cell_features", "_on_other_cells")


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

    def __getstate__(self) -> dict[str, Any]:
        """What the basis was made from, and the whitening, whose signs are those of one eigensolver.

        All else is found again when it is needed, so that no file can hold a grid or tables that do not fit.
        """
        return {name: value for name, value in vars(self).items() if name in _STATE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: value for name, value in state.items() if name in _STATE})

    def with_cells(self, n_cells: int | None) -> LatentBasis:
        """The same functions, on a space of other cells."""
        if n_cells == self.space.n_cells:
            return self
        if n_cells not in self._on_other_cells:
            other = replace(self, space=replace(self.space, n_cells=n_cells))
            other.__dict__.update({name: value for name, value in self.__dict__.items() if name not in _OF_CELLS})
            self._on_other_cells[n_cells] = other
        return self._on_other_cells[n_cells]

    @cached_property
    def _on_other_cells(self) -> dict[int | None, LatentBasis]:
        """What `with_cells` has made: each takes some time."""
        return {}

    @cached_property
    def nodes(self) -> Array:
        """z_j."""
        return self.space.grid(self.sides)

    @cached_property
    def to_alpha(self) -> Array:
        """The matrix of α = to_alpha β."""
        return self._whitening() if self.whitened else np.eye(len(self.nodes))

    def _whitening(self) -> Array:
        if self.factors is not None:
            product: Array = np.ones((1, 1))
            for factor in self._whitened_factors:
                product = np.kron(product, factor)
            return product
        K = self.kernel(self.nodes)
        # Coefficients of a conditionally positive kernel are orthogonal to its polynomials.
        P = self.kernel.polynomial_part(self.nodes)
        N = qr(P)[0][:, P.shape[1] :] if P.shape[1] else np.eye(len(K))
        return np.asarray(N @ _whitened(N.T @ K @ N))

    @cached_property
    def factors(self) -> list[Factor] | None:
        """The factors of the kernel along the coordinates; None if it is no product, or there is one coordinate."""
        return self._kernel_factors if self.space.n_dims > 1 else None

    @cached_property
    def _kernel_factors(self) -> list[Factor] | None:
        return factors_of(self.kernel, self.space, self.sides)

    @cached_property
    def _whitened_factors(self) -> list[Array]:
        """Matrices for the coordinates, whose product is `to_alpha`."""
        assert self.factors is not None
        if not self.whitened:
            return [np.eye(len(factor.nodes)) for factor in self.factors]
        return [_whitened(factor(factor.nodes)) for factor in self.factors]

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
        return np.concatenate([penalised, self._polynomial_slopes(Z)], axis=2)

    def _polynomial_slopes(self, Z: Array) -> Array:
        slopes = np.zeros((*Z.shape, self.polynomials(Z[:1]).shape[1]))
        if self.linear:
            slopes[:, ~self.space.is_circle, 1:] = np.eye(slopes.shape[2] - 1)
        return slopes

    @cached_property
    def tables(self) -> Tables | None:
        """For fast evaluation, where the kernel allows it."""
        return None if self._kernel_factors is None else tables_of(self._kernel_factors)

    @cached_property
    def search_grid(self) -> tuple[tuple[int, ...], Array, Array]:
        """A grid at least twice as fine as the nodes: its sides, its points, and their neighbours in it."""
        sides = self.space.refined(self.sides)
        enough = round(_GRID ** (1 / (self.space.n_dims + 1)))
        while min(sides) < enough and np.prod(self.space.refined(sides)) <= _GRID:
            sides = self.space.refined(sides)
        return sides, self.space.grid(sides), self.space.neighbours(sides)

    @cached_property
    def _search_factors(self) -> list[Array]:
        """The factors of the kernel between the points of the search grid and the nodes, along each coordinate."""
        assert self.factors is not None
        return [factor(self.space.axis(c, self.search_grid[0][c])) for c, factor in enumerate(self.factors)]

    @cached_property
    def _search_features(self) -> Array:
        return self.features(self.search_grid[1])

    def search_images(self, f: LatentMap) -> Array:
        """Values of f at the points of the search grid."""
        if self.factors is None:
            return np.asarray(self._search_features @ f.coefficients)
        along = f.alpha.reshape(*self.sides, -1)
        for factor in self._search_factors:  # the coordinate in front goes to the end
            along = np.tensordot(along, factor, axes=(0, 1))
        return np.asarray(along.reshape(len(along), -1).T + self.polynomials(self.search_grid[1]) @ f.gamma)

    @cached_property
    def cell_features(self) -> CellFeatures:
        """Features at the cells of the space, and how much they change over a standard deviation within a cell."""
        points, side = self.space.cells
        deviation = side / np.sqrt(12.0)
        if self.factors is None:
            # To make tables takes longer than these few points, and a basis that is only tried needs none.
            features = self._functions_by_kernel(points) @ self.mixing
            return DenseCellFeatures(features, self.slopes(points) * deviation)
        axis = np.unique(points[:, 0])
        both = list(zip(self.factors, self._whitened_factors, strict=True))
        values = [factor(axis) @ whitening for factor, whitening in both]
        slopes = [factor.slope(axis) @ whitening * deviation for factor, whitening in both]
        polynomials = np.concatenate(
            [self.polynomials(points)[:, None], self._polynomial_slopes(points) * deviation], axis=1
        )
        return ProductCellFeatures(values, slopes, polynomials)

    def prepared(self, *, for_projection: bool = False) -> LatentBasis:
        """The basis, after what fits need of it was computed: where it serves several fits, once for all of them."""
        _ = self._kernel_factors, self.factors and self._whitened_factors, self.to_alpha, self.cell_features
        if for_projection:
            _ = self.tables, self._search_factors if self.factors else self._search_features
        return self

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


def _whitened(K: Array) -> Array:
    """The matrix B of BᵀKB = 1, without directions that are rounding."""
    values, U = np.linalg.eigh(K)
    kept = values > _RANK * values[-1]
    return np.asarray(U[:, kept] / np.sqrt(values[kept]))
