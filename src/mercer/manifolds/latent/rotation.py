"""Rows of many columns, rotated to their leading principal components before a manifold is fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.extmath import randomized_svd

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentMap
from mercer.threads import single_threaded_blas

# The fewest and most components of more columns, and the share of the variance that they are to hold. Where the fewest
# hold it more change maps little, or make isotropic noise too small for the leading ones; the rest is less than what a
# map of few coordinates leaves of such rows.
_FEW, _MOST, _SHARE = 40, 100, 0.8
# Rows and columns up to which components are found by an eigenproblem.
_DENSE = 2000


@dataclass(frozen=True)
class Rotation:
    """x = Σ_j y_j v_j and what is orthogonal to the v_j, for centred rows x.

    Attributes
    ----------
    components : array of shape (k, d) or None
        The principal directions v_j; None if rows are left as they are.
    error : float
        The share of the variance of the training rows that is orthogonal to them.
    """

    components: Array | None = None
    error: float = 0.0

    def leading(self, X: Array) -> Array:
        """Coordinates y of rows."""
        return X if self.components is None else np.asarray(X @ self.components.T)

    def left_out(self, X: Array) -> Array:
        """Squared lengths of what is orthogonal to the components."""
        if self.components is None:
            return np.zeros(len(X))
        rest = X - self.leading(X) @ self.components
        return np.asarray(np.einsum("ij,ij->i", rest, rest))

    def lowered(self, f: LatentMap) -> LatentMap:
        """A map to all columns as one to the components."""
        return f if self.components is None else f.basis.map_of(f.coefficients @ self.components.T)

    def lifted(self, f: LatentMap) -> LatentMap:
        """A map to the components as one to all columns."""
        return f if self.components is None else f.basis.map_of(f.coefficients @ self.components)


def rotation_of(X: Array, n_components: int | None, random_state: Any = None) -> Rotation:
    """The leading principal components of centred rows, no more than these have; None leaves rows as they are."""
    if n_components is None:
        return Rotation()
    with single_threaded_blas:
        components = _principal_directions(X, min(n_components, len(X) - 1, X.shape[1]), random_state)
    rotation = Rotation(components)
    return replace(rotation, error=float(rotation.left_out(X).sum() / np.einsum("ij,ij->", X, X)))


def automatic_n_rotated(X: Array) -> int | None:
    """As many as hold 80 % of the variance, from 40 to 100; None if there are no more than 40 columns, or holes."""
    m, d = X.shape
    if d <= _FEW or np.isnan(X).any():
        return None
    with single_threaded_blas:
        held = np.sum((X @ _principal_directions(X, min(_MOST, m - 1, d), 0).T) ** 2, axis=0)
    enough = np.searchsorted(np.cumsum(held), _SHARE * np.einsum("ij,ij->", X, X)) + 1
    return max(_FEW, min(int(enough), _MOST))


def _principal_directions(X: Array, k: int, rng: Any) -> Array:
    m, d = X.shape
    if min(m, d) > _DENSE:
        return np.asarray(randomized_svd(X, k, random_state=rng)[2])
    few = min(m, d)
    vectors = eigh(X.T @ X if d <= m else X @ X.T, subset_by_index=[few - k, few - 1])[1][:, ::-1]
    if d > m:
        vectors = np.linalg.qr(X.T @ vectors)[0]
    # The largest entry of each direction is positive.
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(k)])
    return np.ascontiguousarray((vectors * signs).T)
