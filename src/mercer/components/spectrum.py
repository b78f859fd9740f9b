"""Spectra of Gram matrices with some functions projected out, by three solvers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.components.removal import RemovedFunctions
from mercer.kernels.gram import Gram
from mercer.kernels.gram.low_rank import nystroem_of
from mercer.solvers.eigen import Eigenpairs, dense_eigenpairs, lanczos_eigenpairs, sample_columns
from mercer.threads import threads_of_eigenproblem

# Up to so many rows the dense solver takes a second or two, and gives all digits.
DENSE_ROWS = 2000
# Columns that are sampled to start the Lanczos method, and bytes that they may take.
_SAMPLE, _SAMPLE_MEMORY = 500, 2**28


@dataclass(frozen=True)
class Spectrum:
    """Eigenpairs of K̃ = (I - QQᵀ) K (I - QQᵀ), and what their functions are made of.

    Attributes
    ----------
    pairs : Eigenpairs
        Those above rounding.
    total : float
        Sum of all |λ|, or a bound of it; NaN if neither is known.
    positions : array of int
        Rows whose kernel functions are used.
    coef : array of shape (len(positions), k)
        Coefficients of the components.
    offset : array of shape (p, k)
        What the removed functions explain of Σ_i coef_i k(x_i, .).
    removed_coef, removed_gram : arrays of shape (len(positions), p) and (p, p)
        Coefficients of the functions Qᵀk(X, .), and QᵀKQ.
    mean_coef : array of shape (len(positions),)
        Coefficients of the point that scores of zero stand for.
    """

    pairs: Eigenpairs
    total: float
    positions: Array
    coef: Array
    offset: Array
    removed_coef: Array
    removed_gram: Array
    mean_coef: Array


def dense_spectrum(gram: Gram, removed: RemovedFunctions, k: int | None, *, definite: bool) -> Spectrum:
    """The k largest eigenpairs, or all, of the matrix in memory."""
    Q, K = removed.Q, gram.toarray().astype(np.float64, copy=False)
    trace, KQ = float(np.trace(K)), K @ Q
    half = KQ - 0.5 * Q @ (Q.T @ KQ)
    for start in range(0, len(K), 512):
        rows = slice(start, start + 512)
        K[rows] -= Q[rows] @ half.T + half[rows] @ Q.T
    pairs = dense_eigenpairs(K, k, definite=definite)
    total = trace - float(np.sum(Q * KQ)) if definite else pairs.total
    return _exact(pairs, KQ, total, removed, gram)


class LanczosSpectrum:
    """Leading eigenpairs by products with a matrix that is not formed.

    Parameters
    ----------
    gram : Gram
        The matrix.
    removed : RemovedFunctions
        What is projected out.
    block : array of shape (n, b), optional
        Vectors of an earlier fit to start from.
    definite : bool
        Whether no eigenvalue is negative, so that their sum is the trace.
    random_state
        Chooses the columns to start from.
    """

    def __init__(
        self, gram: Gram, removed: RemovedFunctions, block: Array | None, *, definite: bool, random_state: Any
    ):
        self._gram = gram
        self._removed = removed
        self._definite = definite
        self._rng = check_random_state(random_state)
        self._KQ = np.empty((gram.shape[0], 0))
        self.block = block if block is not None and len(block) == gram.shape[0] else self._KQ

    def leading(self, k: int, *, tol: float, max_iter: int) -> Spectrum:
        """The k largest eigenpairs; a later call starts from the vectors of the earlier ones."""
        pairs = lanczos_eigenpairs(
            self._product, self._start(2 * k + 16), k, tol=tol, max_iter=max_iter, orthogonal_to=self._removed.Q
        )
        self.block = pairs.block
        trace = float(self._gram.diagonal().sum() - np.sum(self._removed.Q * self._KQ))
        return _exact(pairs, self._KQ, trace if self._definite else np.nan, self._removed, self._gram)

    def _product(self, V: Array) -> Array:
        """K̃ V; the first product brings K Q along, which would cost another evaluation of K."""
        missing = self._removed.Q[:, self._KQ.shape[1] :]
        W = self._gram @ np.hstack([missing, V])
        self._KQ = np.hstack([self._KQ, W[:, : missing.shape[1]]])
        return self._removed.project_out(W[:, missing.shape[1] :])

    def _start(self, b: int) -> Array:
        """The vectors known so far, filled up from a sample of columns of K̃."""
        n = self._gram.shape[0]
        b = max(1, b - self.block.shape[1])
        m = min(n, max(min(_SAMPLE, _SAMPLE_MEMORY // (8 * n)), 2 * b))
        sample = np.sort(self._rng.choice(n, m, replace=False))
        columns = self._removed.project_out(self._gram.block(slice(None), sample))
        columns -= self.block @ (self.block.T @ columns)
        # A random vector has a part in every direction, should the sample miss one.
        return np.hstack([self.block, sample_columns(columns, b), self._rng.normal(size=(n, 1))])


def nystroem_spectrum(
    gram: Gram, X: Any, removed: RemovedFunctions, k: int | None, n_landmarks: int, random_state: Any
) -> Spectrum:
    """The k largest eigenpairs, or all, of the approximation L Lᵀ of K from landmarks."""
    low_rank = nystroem_of(gram, X, n_landmarks, method="random", random_state=random_state)
    L, Q, W = low_rank.factor, removed.Q, low_rank.whitening
    QL = Q.T @ L
    C = L.T @ L - QL.T @ QL
    total = float(np.trace(C)) + low_rank.trace_error
    with threads_of_eigenproblem(len(C)):
        small = dense_eigenpairs(C, k, definite=True)
    rounding = _rounding(small.values, L @ QL.T, gram)
    kept = small.values > rounding
    values, directions = small.values[kept], small.vectors[:, kept]
    vectors = (L @ directions - Q @ (QL @ directions)) / np.sqrt(values)
    errors = np.full(len(values), max(low_rank.trace_error, rounding))
    pairs = Eigenpairs(values, vectors, vectors * values, errors, vectors).with_signs()
    directions = directions * np.sign(np.einsum("ij,ij->j", vectors, pairs.vectors))
    mean = W @ L.mean(axis=0) if Q.shape[1] else np.zeros(len(W))
    landmarks = low_rank.landmarks
    return Spectrum(pairs, total, landmarks, W @ directions, QL @ directions, W @ QL.T, QL @ QL.T, mean)


def _exact(pairs: Eigenpairs, KQ: Array, total: float, removed: RemovedFunctions, gram: Gram) -> Spectrum:
    rounding = _rounding(pairs.values, KQ, gram)
    pairs = replace(pairs, errors=np.maximum(pairs.errors, rounding)).where(np.abs(pairs.values) > rounding)
    # Eigenvectors of tiny eigenvalues mix with Q, whose eigenvalue is zero; divided by √λ that would be seen.
    pairs = replace(pairs, vectors=removed.project_out(pairs.vectors))
    n, p = KQ.shape
    coef = pairs.vectors * np.sign(pairs.values) / np.sqrt(np.abs(pairs.values))
    mean = np.full(n, 1.0 / n if p else 0.0)
    return Spectrum(pairs, total, np.arange(n), coef, KQ.T @ coef, removed.Q, removed.Q.T @ KQ, mean)


def _rounding(values: Array, KQ: Array, gram: Gram) -> float:
    """How far rounding errors of the matrix, before anything was projected out, may move eigenvalues."""
    norm = max(np.abs(values).max(initial=0.0), np.linalg.norm(KQ, axis=0).max(initial=0.0))
    return float(len(KQ) * np.finfo(gram.dtype).eps * norm)
