"""The sparse pass for the quartic kernel: lists of the rows within reach, kept until points have moved too far."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.graphs.searches import Tree
from mercer.manifolds.ukr.gaussian import AllPairs, Evaluation
from mercer.manifolds.ukr.targets import Targets, padded
from mercer.manifolds.ukr.tuning import PASSES, PassTuning
from mercer.threads import allowed_threads, run_threaded

# Cells are made along so many coordinates, as compiled functions expect, and there are so many of them for each point.
_CELL_DIMS, _CELLS_PER_POINT = 3, 4


class Cells:
    """Points sorted by the cells of a grid, whose sides are no shorter than a reach.

    Attributes
    ----------
    order : array of shape (N,)
        Positions of the sorted points.
    U : array of shape (N, q)
        The sorted points, with a coordinate of zeros if their number is odd.
    """

    def __init__(self, U: Array, reach: float):
        extents = np.ptp(U, axis=0)
        self._dims = np.argsort(-extents, kind="stable")[:_CELL_DIMS]
        extents = extents[self._dims]
        sides = np.maximum(np.minimum(extents / reach, len(U)).astype(np.int64), 1)
        while np.prod(sides) > _CELLS_PER_POINT * len(U):
            sides[sides.argmax()] //= 2
        self._reach, self._low = reach, U[:, self._dims].min(axis=0)
        self._lengths = np.where(extents > 0.0, extents, 1.0) / sides
        self._sides = np.ones(_CELL_DIMS, dtype=np.int64)
        self._sides[-len(sides) :] = sides
        cells = np.minimum(self._cells(U), self._sides - 1)
        numbers = (cells[:, 0] * self._sides[1] + cells[:, 1]) * self._sides[2] + cells[:, 2]
        self.order = np.argsort(numbers, kind="stable")
        self.U = padded(U[self.order], 2)
        counts = np.bincount(numbers, minlength=int(np.prod(self._sides)))
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def _cells(self, V: Array) -> Array:
        """Coordinates of the cells of points, at most two outside of the grid."""
        cells = np.zeros((len(V), _CELL_DIMS), dtype=np.int64)
        places = np.floor((V[:, self._dims] - self._low) / self._lengths)
        cells[:, -len(self._dims) :] = np.clip(places, -2.0, self._sides[-len(self._dims) :] + 1.0)
        return cells

    def neighbours(self, V: Array | None = None, most: float = math.inf) -> tuple[Array, Array]:
        """Lists of the sorted points within reach of points V, or of one another: offsets, and positions.

        If they would be longer than `most`, offsets only.
        """
        from mercer.manifolds.ukr.cells_numba import find_neighbours

        itself = np.arange(len(self.U)) if V is None else np.full(len(V), -1)
        V = self.U if V is None else padded(V, 2)
        cells, counts = self._cells(V), np.zeros(len(V), dtype=np.int64)
        parts: dict[int, Array] = {}

        def find(strip: slice) -> None:
            if sum(len(part) for part in list(parts.values())) > most:
                return
            points = self.U, V[strip], cells[strip], self._sides, self._starts, itself[strip], self._reach**2
            room = find_neighbours(*points, counts[strip], np.empty(0, dtype=np.int32))
            found = np.empty(room + 1, dtype=np.int32)
            parts[strip.start] = found[: find_neighbours(*points, counts[strip], found)].copy()

        over_strips(find, len(V))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        if offsets[-1] > most:
            parts = {}
        return offsets, np.concatenate([np.empty(0, dtype=np.int32), *(parts[start] for start in sorted(parts))])

    def sums(self, V: Array) -> Array:
        """Sums over the sorted points of (1 - ||v - u||²)², where these are nearer than 1, for a reach of 1 or more."""
        from mercer.manifolds.ukr.cells_numba import sum_values

        points, sums, (cells, sides, starts) = padded(V, 2), np.empty(len(V)), self.grid(V)
        over_strips(lambda s: sum_values(self.U, points[s], cells[s], sides, starts, sums[s]), len(V))
        return sums

    def grid(self, V: Array) -> tuple[Array, Array, Array]:
        """How compiled functions find sorted points near V: cells of V, sides of the grid, and where cells start."""
        return self._cells(V), self._sides, self._starts


class NeighbourPairs:
    """Errors of the regression with quartic weights, and their gradient, in O(d nonzeros) time.

    Rows whose neighbours are all farther than 1, or excluded, are isolated: the nearest row that may count takes all
    the weight, and the error does not depend on the latent points. Lists take 16 bytes for each pair. If they would
    hold more than 2^26 pairs of vectors, none are made, and distances are computed twice. If they would hold more than
    a quarter of all pairs, or more than 2^26 pairs of inner products, the pass goes over all pairs.

    Parameters
    ----------
    targets : Targets
        What is regressed.
    n_excluded : int
        As for `AllPairs`.
    tuning : PassTuning
        Lengths of lists.
    """

    def __init__(self, targets: Targets, *, n_excluded: int, tuning: PassTuning = PASSES):
        self._targets, self._n_excluded, self._tuning = targets, n_excluded, tuning
        self._all_pairs = AllPairs(targets, quartic=True, n_excluded=n_excluded, tuning=tuning)
        self._lists: _Lists | _CellPairs | None = None
        self.n_rebuilt = 0

    def run(self, U: Array, *, with_gradient: bool, n_threads: int | None = None) -> Evaluation:
        """Errors, and their gradient."""
        if self._lists is None or not self._lists.hold_for(U):
            self._lists = None  # two of them may be too much for the memory
            kind = _CellPairs if self._are_many(U) else _Lists
            self._lists = kind(U, self._targets, self._tuning)
            self.n_rebuilt += 1
        if self._lists.too_long:
            return self._all_pairs.run(U, with_gradient=with_gradient, n_threads=n_threads)
        errors, gradient = self._lists.run(U, self._n_excluded, with_gradient=with_gradient, n_threads=n_threads)
        isolated = np.isnan(errors)
        if isolated.any():
            errors[isolated] = self._all_pairs.run(U, with_gradient=False, rows=np.flatnonzero(isolated)).errors
        return Evaluation(errors, isolated, gradient)

    def _are_many(self, U: Array) -> bool:
        """Whether vectors have more pairs within reach than lists should hold, by the lists of some of the points."""
        tuning = self._tuning
        if len(U) ** 2 <= tuning.most_pairs or self._targets.ordered(np.empty(0, dtype=np.int64)) is None:
            return False
        some = U[:: -(-len(U) // tuning.counted)]
        offsets, _ = Cells(U, 1.0 + tuning.skin).neighbours(some)
        return bool(offsets[-1] / len(some) * len(U) > tuning.nearly * tuning.most_pairs)


class _Lists:
    """The rows within reach of each row, both ways."""

    def __init__(self, U: Array, targets: Targets, tuning: PassTuning):
        self._U, self._skin = U.copy(), tuning.skin
        cells = Cells(U, 1.0 + tuning.skin)
        self._order = cells.order
        most = min(tuning.most_share * len(U) ** 2, tuning.most_pairs)
        self._offsets, self._found = cells.neighbours(most=most)
        self.too_long = self._offsets[-1] > len(self._found)
        if not self.too_long:
            from mercer.manifolds.ukr.quartic_numba import link_mirrored

            self._mirror, self._Q = np.empty_like(self._found), np.empty(len(self._found))
            link_mirrored(self._offsets, self._found, self._mirror)
            self._pass = targets.pass_over_lists(self._order)

    def hold_for(self, U: Array) -> bool:
        """Whether no row has moved so far that the lists may lack a pair."""
        return _have_moved_little(U, self._U, self._skin)

    def run(
        self, U: Array, n_excluded: int, *, with_gradient: bool, n_threads: int | None
    ) -> tuple[Array, Array | None]:
        """Errors, NaN for isolated rows, and their gradient."""
        from mercer.manifolds.ukr.quartic_numba import gather_gradient

        n, points = len(U), padded(U[self._order], 2)
        lists, Q, values, pulls = (self._offsets, self._found), self._Q, np.empty(n), np.empty_like(points)
        rest = (points, *lists, n_excluded, with_gradient, values, Q)
        over_strips(lambda s: self._pass(s.start, s.stop, *rest), n, n_threads)
        errors, gradient = np.empty(n), np.empty_like(U)
        errors[self._order] = values
        if not with_gradient:
            return errors, None
        over_strips(lambda s: gather_gradient(s.start, s.stop, points, *lists, self._mirror, Q, pulls), n, n_threads)
        gradient[self._order] = pulls[:, : U.shape[1]]
        return errors, gradient


class _CellPairs:
    """The same where lists would be too long: rows within reach are found in cells, for errors and for gradients."""

    too_long = False

    def __init__(self, U: Array, targets: Targets, tuning: PassTuning):
        self._U, self._targets, self._skin = U.copy(), targets, tuning.skin

    def hold_for(self, U: Array) -> bool:
        """Whether there are about as many pairs as there were."""
        return _have_moved_little(U, self._U, self._skin)

    def run(
        self, U: Array, n_excluded: int, *, with_gradient: bool, n_threads: int | None
    ) -> tuple[Array, Array | None]:
        """Errors, NaN for isolated rows, and their gradient."""
        from mercer.manifolds.ukr.cell_pass_numba import cell_gradient, cell_pass

        n, cells = len(U), Cells(U, 1.0)
        features, d, step = cast(tuple[Array, int, int], self._targets.ordered(cells.order))
        places = (cells.U, *cells.grid(U[cells.order]))
        values, radii, H = np.empty(n), np.empty(n), np.empty_like(features)
        rest = (*places, n_excluded, values, radii, H)
        over_strips(lambda s: cell_pass(features, d, step, s.start, s.stop, *rest), n, n_threads)
        errors, gradient, pulls = np.empty(n), np.empty_like(U), np.empty_like(cells.U)
        errors[cells.order] = values
        if not with_gradient:
            return errors, None
        over_strips(lambda s: cell_gradient(features, s.start, s.stop, *places, radii, H, pulls), n, n_threads)
        gradient[cells.order] = pulls[:, : U.shape[1]]
        return errors, gradient


def _have_moved_little(U: Array, before: Array, skin: float) -> bool:
    """Whether the same points have moved by less than half of the skin."""
    if U.shape != before.shape:
        return False
    moved = U - before
    return bool(np.einsum("ij,ij->i", moved, moved).max() < (skin / 2.0) ** 2)


def quartic_weights(V: Array, U: Array) -> Any:
    """Weights of all rows at new points, sparse of shape (M, N); rows sum to one."""
    K = _values(V, Cells(U, 1.0))
    totals = K.sum(axis=1)
    alone = np.flatnonzero(totals == 0.0)
    nearest = Tree(U).nearest(V[alone], 1)[1][:, 0]
    totals[alone] = 1.0
    shares = sparse.csr_array(K / totals[:, None])
    return shares + sparse.csr_array((np.ones(len(alone)), (alone, nearest)), shape=K.shape)


def _values(V: Array, cells: Cells) -> Any:
    """(1 - ||v - u||²)² of new points against the points in cells, where positive: sparse of shape (M, N)."""
    offsets, found = cells.neighbours(V)
    rows = np.repeat(np.arange(len(V)), np.diff(offsets))
    values = (1.0 - np.sum((V[rows] - cells.U[found, : V.shape[1]]) ** 2, axis=1)) ** 2
    return sparse.csr_array((values, cells.order[found], offsets), shape=(len(V), len(cells.U)))


def over_strips(work: Any, n: int, n_threads: int | None = None) -> None:
    """Call work(strip) for slices of n points, which share no result, on all threads."""
    height = PASSES.points
    strips = (slice(start, min(start + height, n)) for start in range(0, n, height))
    n_threads = (n_threads or allowed_threads()) if n > PASSES.few_points else 1
    run_threaded(lambda strip, _: work(strip), strips, lambda: None, n_threads)
