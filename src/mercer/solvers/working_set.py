"""Large programs block by block: some hundred variables at a time, each block by the interior point method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays import Array
from mercer.kernels.gram import FormedMatrix, columns_of
from mercer.problems import Iterate, KernelProgram
from mercer.rounding import HOLDS
from mercer.running import Status, raise_if_interrupted
from mercer.solvers.decomposition import Decomposition, checked_block
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.needs import ABSOLUTE_LOSS_OF_BUDGET, NO_TARGET, QUADRATIC_PENALTY, WHOLE_MATRIX, unmet
from mercer.solvers.result import Options, SolverResult

# Sweeps over all samples: some tens are needed; many more mean that something is wrong. Those without a gain.
_MAX_SWEEPS, _PATIENCE = 1000, 2
# Gap at which a block is left, as a share of what it was, or of the gap of all other samples if that is less; a block
# that did not raise the dual value must be solved with more care. Relative gaps below the last number are rounding.
_SHARE, _MORE_CARE, _MOST_CARE, _REACHABLE = 0.1, 1e-2, 1e-8, 1e-13
# The gap may shrink by this factor until errors of products in single precision matter.
_TRUSTED = 1e-4


class WorkingSet(Decomposition):
    """Block coordinate ascent on the dual program, for matrices that are too large to be factored, or even formed.

    Half of a block are the samples with the largest shares in the gap, as many that want a larger B as want a smaller
    one; the other half were new in the last block, so that samples which move each other are solved for together. All
    other B are held fixed: what they add to the function is taken off the targets, what they add to ΦᵀB = 0 becomes the
    target of the block, and what they leave of a budget is its own. Any convex loss and any unpenalised columns will
    do.

    Parameters
    ----------
    block : int
        Number of samples in a block. Twice as many need a third to a half of the iterations, each two to five times as
        long.

    Notes
    -----
    An iteration costs `block` columns of the matrix and about five factorisations of a block. The products KB are kept
    up to date in single precision. They are computed again in double precision whenever the gap has shrunk a lot, and
    before success is claimed, after which errors are proportional to the smaller steps that follow: any gap can be
    reached. [Joachims1999]_, here for any loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram
    >>> from mercer.losses import Logistic
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers.working_set import WorkingSet
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> penalty = RKHSNorm().penalty(Gram(Gaussian(), X), np.column_stack([np.ones(300), X]))
    >>> problem = KernelProgram.build(penalty, np.sign(X[:, 0] - X[:, 1] ** 2), Logistic(), C=10.0)
    >>> result = WorkingSet(block=100).solve(problem, tol=1e-6)
    >>> result.status, problem.certificate(result).holds(1e-6)
    ('optimal', True)
    """

    name = "working_set"

    def __init__(self, block: int = 1000):
        self.block = checked_block(self, block)

    def refusal(self, problem: KernelProgram) -> str | None:
        """Constraints on all samples but those of unpenalised columns, low-rank matrices, blocks that cannot move."""
        reason = unmet(problem, QUADRATIC_PENALTY, ABSOLUTE_LOSS_OF_BUDGET, NO_TARGET, WHOLE_MATRIX)
        if reason is not None:
            return reason
        n, n_columns = problem.columns.shape
        needed = min(n, 4 * n_columns)
        if self.block < needed:
            return f"{n_columns} columns need blocks of {needed} samples, not of {self.block}; choose a larger block"
        return None

    def _start(self, problem: KernelProgram, options: Options) -> _State:
        return _State(problem, options, self.block)

    def _limits(self, problem: KernelProgram) -> tuple[int, int]:
        n_blocks = -(-len(problem.y) // self.block)
        return _MAX_SWEEPS * n_blocks, _PATIENCE if n_blocks == 1 else 10 + _PATIENCE * n_blocks


class _State:
    """The variables B and d with h = KB, and the share of each sample in the gap; ΦᵀB = 0 always holds."""

    iterate: Iterate

    def __init__(self, problem: KernelProgram, options: Options, size: int):
        self._problem = problem
        self._columns = columns_of(problem.gram, options.memory)
        self._size, self._tol = size, options.tol
        self._scale = np.max(np.abs(problem.columns), axis=0, initial=0.0)
        self._scale[self._scale == 0] = 1.0
        self._new = np.empty(0, dtype=np.intp)
        self._care = 1.0
        self._in_vain = np.zeros(len(problem.y), dtype=bool)  # in blocks since the last one that moved
        self.B, self.d = _starting_point(problem, options.start)
        self.refine()

    @property
    def doubtful(self) -> bool:
        """Whether errors of products in single precision may matter."""
        return self.iterate.gap <= self._trusted_gap

    def refine(self) -> None:
        """Products in double precision."""
        h = self._problem.times_gram(self.B)
        self._stand_at(self.B, h, self.d, self._problem.iterate(self.B, self.d, h))
        self._trusted_gap = _TRUSTED * self.iterate.gap
        self.exact = True

    def go_back(self, B: Array, d: Array) -> None:
        """Take an earlier solution."""
        self.B, self.d = B.copy(), d.copy()
        self.refine()

    def improve(self) -> None:
        """Choose a block, solve it with all other B fixed, update the products."""
        chosen = self._next_block()
        program, change_of_d = self._program_of(chosen)
        B, d = self.B[chosen], np.zeros(program.columns.shape[1])
        before = program.iterate(B, d)
        start = SolverResult(Status.MAX_ITER, B, d, before.primal, before.dual, 0)
        result = InteriorPoint().solve(program, start=start, tol=self._accuracy(chosen, before))
        raise_if_interrupted(result.status)
        rises = result.dual > start.dual - 1e-15 * abs(start.primal)
        if len(chosen) == len(self.B):
            # The gap is that of the whole program. With large C it can fall while rounding hides that the dual rises.
            rises = rises or abs(result.gap) < _SHARE * abs(start.gap)
        if rises and program.column_violation(result.B) <= HOLDS:
            moved = self.B.copy()
            moved[chosen] = result.B
            h = self._h + self._columns.times(chosen, result.B - B)
            if self._move(moved, h, self.d + change_of_d @ result.d):
                self._care = min(1.0, self._care / _SHARE)
                self._in_vain[:] = False
                return
        self._care = max(_MORE_CARE * self._care, _MOST_CARE)
        self._in_vain[chosen] = True

    def _move(self, B: Array, h: Array, d: Array) -> bool:
        """Go to another point, unless rounding has spoilt it: no dual value is far above a primal one, or falls far."""
        reached = self._problem.iterate(B, d, h)
        slack = abs(self.iterate.gap) + abs(self.iterate.primal)
        if not self.iterate.dual - slack <= reached.dual <= self.iterate.primal + slack:
            return False
        self._stand_at(B, h, d, reached)
        return True

    def _stand_at(self, B: Array, h: Array, d: Array, iterate: Iterate) -> None:
        self.B, self._h, self.d, self.iterate, self.exact = B, h, d, iterate, False
        self._shares = self._problem.gap_shares(B, d, h)

    def _next_block(self) -> Array:
        """Samples that were new in the last block, then those with the largest shares that rise, and that fall."""
        if len(self._in_vain) - np.count_nonzero(self._in_vain) < self._size:
            self._in_vain[:] = False
        kept = self._new[~self._in_vain[self._new]][: self._size // 2]
        order = np.argsort(np.where(self._in_vain, np.inf, -self._shares), kind="stable")
        order = order[~np.isin(order, kept)]
        rises = self._problem.wanted(self.d, self._h)[order] > self.B[order]
        wanted = self._size - len(kept)
        n_rising = min(int(rises.sum()), max(wanted // 2, wanted - int((~rises).sum())))
        joins = np.concatenate([np.flatnonzero(rises)[:n_rising], np.flatnonzero(~rises)[: wanted - n_rising]])
        self._new = order[np.sort(joins)]
        return np.concatenate([kept, self._new])

    def _accuracy(self, chosen: Array, block: Iterate) -> float:
        """Relative gap to which a block is to be solved."""
        outside = self._shares.copy()
        outside[chosen] = 0.0
        needed = 0.2 * self._tol * abs(self.iterate.primal) * len(chosen) / len(outside)
        gap = max(_SHARE * min(float(self._shares[chosen].sum()), float(outside.sum())), needed)
        return max(self._care * gap / max(abs(block.primal), block.floor, np.finfo(np.float64).tiny), _REACHABLE)

    def _program_of(self, chosen: Array) -> tuple[KernelProgram, Array]:
        """The program of a block in the change of d, and the map from its coefficients to that change.

        Its columns are an orthonormal basis of the block's rows of Φ, which need not have full rank.
        """
        problem, B = self._problem, self.B[chosen]
        Phi = problem.columns[chosen] / self._scale
        basis, size, mixing = np.linalg.svd(Phi, full_matrices=False)
        full = size > HOLDS * np.sqrt(len(chosen))
        basis, change_of_d = basis[:, full], (mixing[full].T / size[full]) / self._scale[:, None]
        K = problem.gram.block(chosen, chosen).astype(np.float64, copy=False)
        program = replace(
            problem,
            gram=FormedMatrix(K),
            columns=basis,
            bounds=np.zeros(basis.shape[1]),
            y=problem.y[chosen] - self._h[chosen] - problem.columns[chosen] @ self.d + K @ B,
            sign=problem.sign[chosen],
            loss=problem.loss.restricted_to(chosen),
            C_below=problem.C_below[chosen],
            C_above=problem.C_above[chosen],
            target=basis.T @ B - change_of_d.T @ problem.balance(self.B),
            scale=max(abs(self.iterate.primal), self.iterate.floor),
            budget=None if problem.budget is None else problem.budget - np.abs(self.B).sum() + np.abs(B).sum(),
        )
        return program, change_of_d


def _starting_point(problem: KernelProgram, start: SolverResult | None) -> tuple[Array, Array]:
    """A given B, scaled into the box, or zero if it does not satisfy ΦᵀB = 0; a given d, or the linear fit."""
    zero = np.zeros(len(problem.y))
    if start is None:
        return zero, np.linalg.lstsq(problem.columns, problem.y, rcond=None)[0]
    low, high = problem.box()
    A = problem.sign * start.B
    nearest = np.clip(A, low, high)
    outside = np.abs(A - nearest) > HOLDS * np.maximum(problem.C_below, problem.C_above)
    A = A * np.min(nearest[outside] / A[outside], initial=1.0)
    if problem.budget is not None:
        A *= min(1.0, problem.budget / max(float(np.abs(A).sum()), problem.budget))
    B = problem.sign * np.clip(A, low, high)
    return (B if problem.column_violation(B) <= HOLDS else zero), start.d.copy()
