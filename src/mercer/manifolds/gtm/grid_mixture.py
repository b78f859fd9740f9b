"""Mixtures of equal Gaussians on the images of a latent grid, and their maximum posterior by EM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Array
from mercer.manifolds.latent.responsibilities import responsibilities
from mercer.manifolds.latent.rows import Rows
from mercer.running import Run, Stopping, descend
from mercer.threads import run_threaded, threads_for

Result = TypeVar("Result")

# Added to the normal equations, as a share of their trace: kernel functions may be nearly dependent.
_JITTER = 1e-15
# Blocks of rows are so many times smaller than those of projections: all passes over one stay in the cache.
_NARROWER = 8


@dataclass(frozen=True)
class Sums:
    """What the rows tell the M step: sums over rows i of responsibilities r_ig of the grid points g.

    Attributes
    ----------
    counts : array of shape (G, 1) or (G, d)
        Σ_i r_ig, for each column over the rows in which it is known, if any entry is missing.
    totals : array of shape (G, d)
        Σ_i r_ig x_i.
    log_likelihood : float
        Σ_i log p(x_i).
    """

    counts: Array
    totals: Array
    log_likelihood: float


@dataclass(frozen=True)
class MixtureState:
    """Coefficients W of the features, the variance s² of the noise, and what the rows say of them."""

    W: Array
    variance: float
    sums: Sums


class GridMixture:
    """p(x) = 1/G Σ_g N(x; W φ(z_g), s² I), with a Gaussian prior of precision `precisions` on the rows of W.

    Parameters
    ----------
    features : array of shape (G, r)
        φ(z_g).
    precisions : array of shape (r,)
        Prior precision of the coefficients of each feature; 0 for those without a prior.
    least_variance : float
        Bound below which s² may not fall.
    """

    def __init__(self, features: Array, precisions: Array, least_variance: float):
        self.features, self.precisions, self.least_variance = features, precisions, least_variance

    def posterior(
        self, rows: Rows, W: Array, variance: float, work: Callable[[slice, Array, Array], Result]
    ) -> list[Result]:
        """Give blocks of rows, their responsibilities r_ig = p(z_g | x_i) and log p(x_i) to `work`, in threads.

        Returns what `work` returns, in the order of the rows.
        """
        F = self.features @ W
        return over_blocks(
            rows, len(F), lambda block: work(block, *responsibilities(_log_densities(rows, block, F, variance)))
        )

    def e_step(self, rows: Rows, W: Array, variance: float) -> MixtureState:
        """Responsibilities, summed over all rows in blocks."""

        def sums(block: slice, R: Array, log_p: Array) -> tuple[Array, Array, float]:
            counts = R.sum(axis=0)[:, None] if rows.seen is None else R.T @ rows.seen[block]
            return counts, R.T @ rows.X[block], float(log_p.sum())

        counts, totals, log_likelihoods = zip(*self.posterior(rows, W, variance, sums), strict=True)
        return MixtureState(W, variance, Sums(sum(counts), sum(totals), sum(log_likelihoods)))

    def m_step(self, state: MixtureState, squared_norm: float, n_known: float) -> tuple[Array, float]:
        """The best W for this s², then the best s² for this W."""
        W, (counts, totals) = state.W.copy(), (state.sums.counts, state.sums.totals)
        # A correction to the last W: what rounding spoils of it becomes as small as the correction does.
        slope = self.features.T @ (totals - counts * (self.features @ W))
        slope -= state.variance * self.precisions[:, None] * W
        for c in range(counts.shape[1]):
            columns = slice(None) if counts.shape[1] == 1 else slice(c, c + 1)
            A = self.features.T @ (counts[:, c, None] * self.features)
            A[np.diag_indices_from(A)] += state.variance * self.precisions + _JITTER * np.trace(A)
            W[:, columns] += cho_solve(cho_factor(A), slope[:, columns])
        F = self.features @ W
        squares = squared_norm - 2.0 * np.sum(totals * F) + np.sum(counts * F**2)
        return W, max(float(squares) / n_known, self.least_variance)

    def log_posterior(self, state: MixtureState) -> float:
        """Σ log p(x_i) and the logarithm of the prior, but for a constant."""
        return state.sums.log_likelihood - 0.5 * float(self.precisions @ np.sum(state.W**2, axis=1))

    def fit(self, rows: Rows, W: Array, variance: float, stopping: Stopping) -> Run[MixtureState]:
        """EM from a start; the value of the descent is minus the log posterior per row, which never rises."""
        squared_norm, n = float(np.sum(rows.X**2)), len(rows)
        n_known = float(rows.X.size if rows.seen is None else rows.seen.sum())

        def step(state: MixtureState) -> tuple[MixtureState, float]:
            after = self.e_step(rows, *self.m_step(state, squared_norm, n_known))
            return after, -self.log_posterior(after) / n

        first = self.e_step(rows, W, max(variance, self.least_variance))
        value = -self.log_posterior(first) / n
        return descend(first, value, step, stopping, name="GenerativeTopographicMap", scale=1.0)


def over_blocks(rows: Rows, n_cells: int, work: Callable[[slice], Result]) -> list[Result]:
    """Results of blocks of rows, in their order; so short that a number for each of the cells stays in the cache."""
    results: dict[int, Result] = {}

    def run(block: Any, _: None) -> None:
        results[block.start] = work(block)

    blocks: Any = rows.blocks(_NARROWER * n_cells)
    run_threaded(run, blocks, lambda: None, threads_for(len(rows) * n_cells))
    return [results[start] for start in sorted(results)]


def _log_densities(rows: Rows, block: slice, F: Array, variance: float) -> Array:
    """Values log N(x; f_g, s² I) of the entries that are known, for a block of rows, of shape (block, G)."""
    X = rows.X[block]
    D = X @ F.T
    D *= -2.0
    D += np.einsum("ij,ij->i", X, X)[:, None]
    n_known: Any = X.shape[1]
    if rows.seen is None:
        D += np.einsum("ij,ij->i", F, F)
    else:
        D += rows.seen[block] @ (F**2).T
        n_known = rows.seen[block].sum(axis=1)[:, None]
    np.maximum(D, 0.0, out=D)
    D *= -0.5 / variance
    D -= 0.5 * n_known * np.log(2 * np.pi * variance)
    return D
