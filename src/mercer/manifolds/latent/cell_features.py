"""Features of a map at the cells of its latent space, and the normal equations that sums over the cells make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mercer.arrays import Array


class CellFeatures(Protocol):
    """Features φ_g0 at the centres of cells g, and φ_ga: how much they change over a standard deviation of place a.

    Within a cell, f(z_g + e) = Σ_a e_a φ_gaᵀ W with e_0 = 1.
    """

    def images(self, W: Array) -> tuple[Array, Array]:
        """Values of f at the centres, of shape (G, d), and its changes, of shape (G, q, d), for coefficients W."""
        ...

    def gram(self, moments: Array) -> Array:
        """Σ_g Σ_ab moments_gab φ_ga φ_gbᵀ, for symmetric moments of shape (G, 1 + q, 1 + q)."""
        ...

    def sums(self, totals: Array) -> Array:
        """Σ_g Σ_a φ_ga totals_gaᵀ, for totals of shape (G, 1 + q, d)."""
        ...


class DenseCellFeatures:
    """All features at all cells.

    Parameters
    ----------
    features : array of shape (G, r)
        At the centres.
    slopes : array of shape (G, q, r)
        Their changes.
    """

    def __init__(self, features: Array, slopes: Array):
        self._features = np.concatenate([features[:, None], slopes], axis=1)

    def images(self, W: Array) -> tuple[Array, Array]:
        """Values of f at the centres, and its changes."""
        images = self._features @ W
        return images[:, 0], images[:, 1:]

    def gram(self, moments: Array) -> Array:
        """The matrix of the normal equations."""
        flat = self._features.reshape(-1, self._features.shape[2])
        return flat.T @ (moments @ self._features).reshape(flat.shape)

    def sums(self, totals: Array) -> Array:
        """Their right-hand side."""
        return self._features.reshape(-1, self._features.shape[2]).T @ totals.reshape(-1, totals.shape[2])


class ProductCellFeatures:
    """Features that are products of features of single coordinates, on a grid of cells, and few polynomials.

    φ_g = ⊗_c φ_c(z_gc) and, along coordinate a, the same with the slope of the factor a. All sums over cells are done
    one coordinate after the other, and φ_ga φ_gbᵀ = ⊗_c (φ_ca φ_cbᵀ): of n cells and r features along each of q
    coordinates, the normal equations take O(n r^(2q)) operations instead of O(n^q r^(2q)).

    Parameters
    ----------
    values, slopes : sequence of arrays of shape (n_c, r_c)
        For each coordinate, features at the centres of the cells, and their changes over a standard deviation.
    polynomials : array of shape (G, 1 + q, p)
        Features that are no products, at the centres, and their changes; they come last.
    """

    def __init__(self, values: Sequence[Array], slopes: Sequence[Array], polynomials: Array):
        self._factors = [(value, slope) for value, slope in zip(values, slopes, strict=True)]
        self._polynomials = polynomials
        self._cells = tuple(len(value) for value in values)
        self._ranks = tuple(value.shape[1] for value in values)
        self._rank = int(np.prod(self._ranks))
        # φ_ca φ_cbᵀ of each coordinate, by whether a and b are the slope of this coordinate.
        self._pairs = [
            {(a, b): _outer(both[a], both[b]) for a in (0, 1) for b in (0, 1)} for both in self._factors
        ]  # fmt: skip

    def images(self, W: Array) -> tuple[Array, Array]:
        """Values of f at the centres, and its changes."""
        q, d = len(self._cells), W.shape[1]
        core = W[: self._rank].reshape(*self._ranks, d)
        images = self._polynomials @ W[self._rank :]
        for a in range(1 + q):
            along = core
            for c in range(q):  # the coordinate in front goes to the end
                along = np.tensordot(along, self._factor(c, a), axes=(0, 1))
            images[:, a] += along.reshape(d, -1).T
        return images[:, 0], images[:, 1:]

    def gram(self, moments: Array) -> Array:
        """The matrix of the normal equations."""
        q = len(self._cells)
        # By what is paired along the last coordinate, whose sums are the largest: these are done once.
        partial: dict[tuple[int, int], Array] = {}
        for a in range(1 + q):
            for b in range(a, 1 + q):
                along = moments[:, a, b].reshape(self._cells) * (0.5 if a == b else 1.0)
                for c in range(q - 1):
                    along = np.tensordot(along, self._pairs[c][self._kind(c, a, b)], axes=(0, 0))
                kind = self._kind(q - 1, a, b)
                partial[kind] = partial[kind] + along if kind in partial else along
        left = np.concatenate([along.reshape(self._cells[-1], -1) for along in partial.values()])
        right = np.concatenate([self._pairs[-1][kind] for kind in partial])
        half = (left.T @ right).reshape([rank for rank in self._ranks for _ in (0, 1)])
        half = half.transpose([*range(0, 2 * q, 2), *range(1, 2 * q, 2)]).reshape(self._rank, self._rank)
        polynomials = moments @ self._polynomials
        A = np.empty((self._rank + polynomials.shape[2],) * 2)
        np.add(half, half.T, out=A[: self._rank, : self._rank])
        A[self._rank :] = self.sums(polynomials).T
        A[:, self._rank :] = A[self._rank :].T
        return A

    def sums(self, totals: Array) -> Array:
        """Their right-hand side."""
        d, q = totals.shape[2], len(self._cells)
        products = np.zeros((d, self._rank))
        for a in range(1 + q):
            along = totals[:, a].reshape(*self._cells, d)
            for c in range(q):
                along = np.tensordot(along, self._factor(c, a), axes=(0, 0))
            products += along.reshape(d, -1)
        p = self._polynomials.shape[2]
        return np.concatenate([products.T, self._polynomials.reshape(-1, p).T @ totals.reshape(-1, d)])

    def _factor(self, c: int, a: int) -> Array:
        """The factor of coordinate c in φ_ga."""
        return self._factors[c][int(a == 1 + c)]

    def _kind(self, c: int, a: int, b: int) -> tuple[int, int]:
        return int(a == 1 + c), int(b == 1 + c)


def _outer(left: Array, right: Array) -> Array:
    """The products of all pairs of features, of shape (n, r²)."""
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))
