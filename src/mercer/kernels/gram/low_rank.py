"""Low-rank factors K ≈ L Lᵀ of Gram matrices, with the error that was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, solve_triangular
from sklearn.utils import _safe_indexing
from tqdm import tqdm

from mercer.kernels.base import Kernel
from mercer.kernels.gram.landmarks import choose_landmarks
from mercer.kernels.gram.operator import Gram

Array = NDArray[Any]


@dataclass(frozen=True)
class LowRank:
    """A factor L of a positive definite Gram matrix: K ≈ L Lᵀ, and K - L Lᵀ is positive semi-definite.

    Attributes
    ----------
    factor : array of shape (n, rank)
        L.
    landmarks : array of int
        Rows of X whose kernel functions span the approximation, in the order in which they were chosen.
    trace : float
        Trace of K.
    trace_error : float
        Trace of K - L Lᵀ, which bounds every eigenvalue and every entry of the error.
    """

    factor: Array
    landmarks: Array
    trace: float
    trace_error: float
    kernel: Kernel
    landmark_rows: Any
    whitening: Array

    @property
    def rank(self) -> int:
        """Number of columns of L."""
        return int(self.factor.shape[1])

    @property
    def relative_error(self) -> float:
        """Trace error as a share of the trace of K."""
        return self.trace_error / self.trace if self.trace else 0.0

    def __matmul__(self, V: ArrayLike) -> Array:
        """(L Lᵀ) V."""
        return np.asarray(self.factor @ (self.factor.T @ np.asarray(V)))

    def features(self, X: Any) -> Array:
        """Rows of the factor for new objects: features(X) @ factor.T approximates kernel(X, training rows)."""
        if not self.rank:
            return np.empty((len(self.kernel.diag(X)), 0))
        return np.asarray(self.kernel(X, self.landmark_rows) @ self.whitening)


def incomplete_cholesky(
    kernel: Kernel,
    X: Any,
    *,
    rank: int | None = None,
    tol: float = 1e-6,
    verbose: bool = False,
    callback: Callable[[int, float], object] | None = None,
) -> LowRank:
    """Pivoted incomplete Cholesky factor of the Gram matrix of X.

    Greedy: each step takes the row with the largest remaining diagonal entry. Stops when the trace of the remainder is
    at most `tol` times that of K, or at `rank`.

    Parameters
    ----------
    kernel : Kernel
        A positive definite kernel (order 0).
    X : array_like
        The rows.
    rank : int, optional
        Largest rank; by default only `tol` (and the number of rows) limits it.
    tol : float
        Relative trace error to reach.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(step, relative_trace_error)`` after every step; if it returns True, the factor is left as
        it is then. Ctrl-C does the same.

    Returns
    -------
    LowRank
        With `trace_error` computed from the diagonal of K and the factor.

    Notes
    -----
    Cost O(n rank²) and n · rank evaluations of the kernel; memory n · rank numbers. The n x n matrix is never formed.
    [Fine2001]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import incomplete_cholesky
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> low_rank = incomplete_cholesky(Gaussian(), X, tol=1e-4)
    >>> low_rank.rank < 80 and low_rank.relative_error <= 1e-4
    True
    """
    _need_positive_definite(kernel, "incomplete_cholesky")
    if rank is not None and rank < 1:
        raise ValueError(f"rank of incomplete_cholesky must be >= 1, got {rank!r}; give None for no limit.")
    if not 0 <= tol < 1:
        raise ValueError(f"tol of incomplete_cholesky must be in [0, 1), got {tol!r}; give a share of the trace.")
    gram = Gram(kernel, X)
    n = gram.shape[0]
    diagonal = gram.diagonal().astype(np.float64)
    if diagonal.min() < 0:
        raise ValueError(f"{kernel!r} must have a non-negative diagonal to be factorised, got {diagonal.min():.3g}.")
    trace = float(diagonal.sum())
    limit = n if rank is None else min(rank, n)
    columns = _GrowingRows(n, limit)
    remainder = diagonal.copy()
    pivots: list[int] = []
    # Below this a remaining diagonal entry is rounding noise, and so would be its column.
    floor = n * np.finfo(np.float64).eps * diagonal.max(initial=0.0)
    progress = tqdm(total=limit, desc="Incomplete Cholesky", disable=not verbose)
    try:
        while len(pivots) < limit and remainder.sum() > tol * trace:
            pivot = int(np.argmax(remainder))
            if remainder[pivot] <= floor:
                break
            column = gram.block(slice(None), np.array([pivot]))[:, 0].astype(np.float64)
            found = columns.filled(len(pivots))
            column -= found[:, pivot] @ found
            column /= np.sqrt(remainder[pivot])
            column[pivots] = 0.0
            columns.append(column)
            pivots.append(pivot)
            remainder -= column**2
            np.maximum(remainder, 0.0, out=remainder)
            remainder[pivots] = 0.0
            progress.update()
            if callback is not None and callback(len(pivots), remainder.sum() / trace):
                break
    except KeyboardInterrupt:
        if len(columns) < len(pivots) or not pivots:
            raise
    finally:
        progress.close()
    return _from_cholesky(kernel, X, columns.filled(len(pivots)), np.array(pivots, dtype=np.intp), diagonal)


class _GrowingRows:
    """Rows of a matrix whose final number is not known: memory grows by doubling."""

    def __init__(self, n_columns: int, limit: int):
        self._limit = limit
        self._rows = np.empty((min(limit, 64), n_columns))
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def append(self, row: Array) -> None:
        if self._n == len(self._rows):
            grown = np.empty((min(self._limit, 2 * self._n), self._rows.shape[1]))
            grown[: self._n] = self._rows
            self._rows = grown
        self._rows[self._n] = row
        self._n += 1

    def filled(self, n: int) -> Array:
        return self._rows[:n]


def _from_cholesky(kernel: Kernel, X: Any, rows: Array, pivots: Array, diagonal: Array) -> LowRank:
    corner = rows[:, pivots].T  # lower triangular, in the order of the pivots
    whitening = solve_triangular(corner, np.eye(len(pivots)), lower=True).T if len(pivots) else np.empty((0, 0))
    error = float(np.sum(np.maximum(diagonal - np.einsum("ij,ij->j", rows, rows), 0.0)))
    return LowRank(rows.T, pivots, float(diagonal.sum()), error, kernel, _rows_of(X, pivots), whitening)


def nystroem(
    kernel: Kernel,
    X: Any,
    landmarks: int | ArrayLike = 100,
    *,
    method: str = "leverage",
    random_state: Any = None,
) -> LowRank:
    """Nyström approximation K ≈ K_nm K_mm⁺ K_mn of the Gram matrix of X from m landmarks.

    Parameters
    ----------
    kernel : Kernel
        A positive definite kernel (order 0).
    X : array_like
        The rows.
    landmarks : int or array of int
        How many to choose, or which rows to take.
    method : {"random", "kmeans++", "leverage"}
        How to choose them, see `choose_landmarks`.
    random_state : int, Generator, RandomState or None
        Source of chance.

    Returns
    -------
    LowRank
        Directions of K_mm below 1e-12 of its largest eigenvalue are left out: its rank may be less than m.

    Notes
    -----
    Cost O(n m²) and n · m evaluations of the kernel; memory 2 n · m numbers. [Williams2001]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import nystroem
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> nystroem(Gaussian(), X, 50, random_state=0).relative_error < 1e-2
    True
    """
    _need_positive_definite(kernel, "nystroem")
    chosen = (
        choose_landmarks(kernel, X, int(landmarks), method=method, random_state=random_state)  # type: ignore[arg-type]
        if np.ndim(landmarks) == 0
        else np.asarray(landmarks, dtype=np.intp)
    )
    gram = Gram(kernel, X)
    to_landmarks = gram.block(slice(None), chosen).astype(np.float64, copy=False)
    values, vectors = eigh(to_landmarks[chosen])
    kept = values > 1e-12 * values[-1]
    whitening = vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])
    factor = to_landmarks @ whitening
    diagonal = gram.diagonal().astype(np.float64)
    error = float(np.sum(np.maximum(diagonal - np.einsum("ij,ij->i", factor, factor), 0.0)))
    return LowRank(factor, chosen, float(diagonal.sum()), error, kernel, _rows_of(X, chosen), whitening)


def _need_positive_definite(kernel: Kernel, function: str) -> None:
    if kernel.order != 0:
        raise ValueError(
            f"kernel of {function} must be positive definite (order 0), got {kernel!r} of order {kernel.order}; "
            "project its polynomial part out first, or choose another kernel."
        )


def _rows_of(X: Any, positions: Array) -> Any:
    """Some rows of the input, in the form in which the kernel takes them."""
    return _safe_indexing(X, positions, axis=0)
