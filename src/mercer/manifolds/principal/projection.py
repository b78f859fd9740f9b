"""Projection: the latent point whose image is nearest to each row, for all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.losses.rows import RowLoss, SquaredRows
from mercer.manifolds.latent.maps import LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.threads import run_threaded, single_threaded_blas


@dataclass(frozen=True)
class Projection:
    """Latent points, and what the residuals of the rows at them cost."""

    Z: Array
    costs: Array


@dataclass(frozen=True)
class DampingTuning:
    """The damping of Gauss-Newton steps, set by `benchmarks/manifolds.py`: at first, at the least and at the most."""

    first: float = 1e-3
    least: float = 1e-9
    most: float = 1e12


_TUNING = DampingTuning()


def project(
    rows: Rows,
    f: LatentMap,
    *,
    cost: RowLoss | None = None,
    start: Array | None = None,
    n_starts: int = 8,
    max_steps: int = 100,
    tol: float = 1e-12,
) -> Projection:
    """Find argmin_z c(x, f(z)) for each row x.

    Starts are the local minima of the distance on a grid twice as fine as the nodes, the best `n_starts` of those that
    can lead to the least distance, and the given points. From there damped Gauss-Newton steps inside the box and around
    the circles, which never raise the cost; rows go on until a step promises less than `tol` of their cost.

    Parameters
    ----------
    rows : Rows
        The data, which may have missing entries: then the distance is that in the others.
    f : LatentMap
        The map.
    cost : RowLoss
        By default squared.
    start : array of shape (m, q), optional
        Points to start from, too: no row ends with a larger cost than at its own.
    n_starts : int
        Starts to follow. 1: only the best of all. 0: only the given points, without any search.
    max_steps : int
        Most steps.
    tol : float
        Relative to the cost.

    Returns
    -------
    Projection
        Points and costs. Memory beyond these: a few MiB for each thread.
    """
    cost = SquaredRows() if cost is None else cost
    search = _Search(f) if n_starts else None
    Z, costs = np.empty((len(rows), f.basis.space.n_dims)), np.empty(len(rows))

    def work(block: Any, _: None) -> None:
        found = [] if search is None else [search.starts(rows, block, n_starts)]
        if start is not None:
            found.append((np.arange(block.start, block.stop), start[block]))
        index, points = (np.concatenate(parts) for parts in zip(*found, strict=True))
        descent = _Descent(rows, f, cost, index, points)
        if n_starts == 1 and start is not None:
            descent = descent.only(_best_of_each(index, descent.costs))
        descent.run(max_steps, tol)
        best = _best_of_each(descent.index, descent.costs)
        Z[block], costs[block] = descent.Z[best], descent.costs[best]

    searched = 0 if search is None else len(search.F)
    blocks: Any = rows.blocks(max(searched, len(f.basis.nodes) * (1 + f.basis.space.n_dims), rows.X.shape[1]))
    with single_threaded_blas:
        run_threaded(work, blocks, lambda: None, rows.n_threads)
    return Projection(Z, costs)


def residuals_at(rows: Rows, f: LatentMap, Z: Array) -> Array:
    """X - f(z) of all rows."""
    R = np.empty_like(rows.X)
    for block in rows.blocks(len(f.basis.nodes)):
        R[block] = rows.residuals(block, f(Z[block]))
    return R


class _Search:
    """The images of a grid in the latent space."""

    def __init__(self, f: LatentMap):
        _, self.points, self.neighbours = f.basis.search_grid
        self.F = f.basis.search_images(f)
        self._is_rough = f.basis.tables is None
        # From a grid point to the middle of its cell f moves about half as far as to its neighbours.
        steps = [np.linalg.norm(self.F - self.F[other], axis=1) * (other >= 0) for other in self.neighbours.T]
        self.reach = np.sum([np.maximum(a, b) for a, b in zip(steps[::2], steps[1::2], strict=True)], axis=0) / 2

    def starts(self, rows: Rows, block: slice, n_starts: int) -> tuple[Array, Array]:
        """Positions of rows, and points that they may start from."""
        from mercer.manifolds.principal.projection_numba import best_local_minima

        X = rows.X[block]
        squares = -2.0 * (X @ self.F.T)
        squares += np.sum(X**2, axis=1, keepdims=True)
        squares += np.sum(self.F**2, axis=1) if rows.seen is None else rows.seen[block] @ (self.F**2).T
        np.maximum(squares, 0.0, out=squares)
        found = np.full((len(X), n_starts), -1)
        best_local_minima(np.sqrt(squares, out=squares), self.reach, self.neighbours, found)
        if self._is_rough and n_starts > 1:
            # At a node f may have a kink, and its slope there say nothing of either side.
            found = np.hstack([found, self.neighbours[found[:, 0]]])
        which, place = np.nonzero(found >= 0)
        return which + block.start, self.points[found[which, place]]


class _Descent:
    """Damped Gauss-Newton for many pairs of a row and a point at once."""

    def __init__(self, rows: Rows, f: LatentMap, cost: RowLoss, index: Array, Z: Array):
        self._rows, self._f, self._cost = rows, f, cost
        self.index, self.Z = index, Z
        F, self._T = f.with_tangents(Z)
        self._R = rows.residuals(index, F)
        self.costs = cost.of_residuals(self._R)

    def only(self, kept: Array) -> _Descent:
        """Some of the pairs."""
        self.index, self.Z, self.costs = self.index[kept], self.Z[kept], self.costs[kept]
        self._R, self._T = self._R[kept], self._T[kept]
        return self

    def run(self, max_steps: int, tol: float) -> None:
        """Move until no step promises anything."""
        from mercer.manifolds.principal.projection_numba import accept_steps, propose_steps

        space = self._f.basis.space
        active = np.arange(len(self.index))
        damping = np.full(len(active), _TUNING.first)
        Z, R, T = self.Z, self._R, self._T
        S = np.zeros((len(active), space.n_dims, space.n_dims))
        for _ in range(max_steps):
            W = self._weights(active, R)
            steps, gains = np.empty_like(Z), np.empty(len(Z))
            propose_steps(T, R, W, Z, S, damping, space.is_circle, steps, gains)
            going = (gains > tol * self.costs[active]) & (damping < _TUNING.most)
            if not going.all():
                active, damping, steps = active[going], damping[going], steps[going]
                Z, R, T, S = Z[going], R[going], T[going], S[going]
                W = W[going] if len(W) > 1 else W
            if not len(active):
                return
            moved = space.inside(Z + steps)
            F, T_moved = self._f.with_tangents(moved)
            R_moved = self._rows.residuals(self.index[active], F)
            costs = self._cost.of_residuals(R_moved)
            better = costs < self.costs[active]
            accept_steps(better, steps, R_moved, T_moved, W, R, T, S)
            Z = np.where(better[:, None], moved, Z)
            self.Z[active], self.costs[active] = Z, np.where(better, costs, self.costs[active])
            damping = np.where(better, np.maximum(damping * 0.1, _TUNING.least), damping * 10.0)

    def _weights(self, active: Array, R: Array) -> Array:
        """Weights of the entries: all equal, so that one row serves, unless the cost or missing entries say otherwise.

        Missing entries have residual 0, but their tangents must not count either.
        """
        W = np.ones((1, R.shape[1])) if self._cost.euclidean else np.asarray(self._cost.weights(R))
        return W if self._rows.seen is None else W * self._rows.seen[self.index[active]]


def _best_of_each(index: Array, costs: Array) -> Array:
    """Positions of the pair of the least cost of each row, rows in order."""
    order = np.lexsort((costs, index))
    first = np.ones(len(order), dtype=bool)
    first[1:] = index[order[1:]] != index[order[:-1]]
    return order[first]
