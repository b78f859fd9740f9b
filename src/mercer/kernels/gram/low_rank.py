"""Low-rank factors K ≈ L Lᵀ of Gram matrices, with the error that was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, solve_triangular
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.gram.landmarks import indexable_rows, landmarks_of
from mercer.kernels.gram.matrix import GramMatrix
from mercer.kernels.gram.operator import Gram
from mercer.kernels.positions import positions
from mercer.running import Iterates, Status, Step, Stopping, raise_if_interrupted, run
from mercer.threads import threads_of_eigenproblem


@dataclass(frozen=True)
class LowRank(GramMatrix):
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
    kernel, landmark_rows, whitening
        What `features` needs.
    precision : float
        Relative rounding of the entries of K.
    status : Status
        "interrupted" if Ctrl-C or the callback ended it early, else "optimal".
    """

    factor: Array = field()  # the base class has None
    landmarks: Array
    trace: float
    trace_error: float
    kernel: Kernel
    landmark_rows: Any
    whitening: Array
    precision: float = float(np.finfo(np.float64).eps)
    status: Status = Status.OPTIMAL

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """That of K."""
        return len(self.factor), len(self.factor)

    @property
    def dtype(self) -> Any:
        """That of L."""
        return self.factor.dtype

    @property
    def error(self) -> float:  # type: ignore[override]
        """The trace error."""
        return self.trace_error

    @property
    def rank(self) -> int:
        """Number of columns of L."""
        return int(self.factor.shape[1])

    @property
    def relative_error(self) -> float:
        """Trace error as a fraction of the trace of K."""
        return self.trace_error / self.trace if self.trace else 0.0

    def __matmul__(self, V: ArrayLike) -> Array:
        """(L Lᵀ) V."""
        return np.asarray(self.factor @ (self.factor.T @ np.asarray(V)))

    def diagonal(self) -> Array:
        """Diagonal of L Lᵀ."""
        return np.asarray(np.sum(self.factor**2, axis=1))

    def block(self, rows: Any, columns: Any = slice(None)) -> Array:
        """Entries of L Lᵀ."""
        return np.asarray(self.factor[rows] @ self.factor[columns].T)

    def coefficients(self, B: Array) -> Array:
        """Coefficients a, zero but at the landmarks, of the function Σ a_i k(x_i, .) with the values L LᵀB at the rows.

        Its squared norm is Bᵀ L Lᵀ B: of all functions with these values at the landmarks it is the smallest.
        """
        coefficients = np.zeros(len(self.factor))
        np.add.at(coefficients, self.landmarks, self.whitening @ (self.factor.T @ B))
        return coefficients

    def features(self, X: Any) -> Array:
        """Rows of the factor for new objects: features(X) @ factor.T approximates kernel(X, training rows)."""
        if self.kernel.pairwise:
            X = np.asarray(X)[:, self.landmarks]
        if not self.rank:
            return np.empty((np.shape(X)[0], 0))
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
    if rank is not None and (not isinstance(rank, Integral) or rank < 1):
        raise ValueError(
            f"rank of incomplete_cholesky must be a whole number >= 1, got {rank!r}; or None for no limit."
        )
    if not 0 <= tol < 1:
        raise ValueError(f"tol of incomplete_cholesky must be in [0, 1), got {tol!r}; give a share of the trace.")
    X = indexable_rows(X)
    gram = Gram(kernel, X)
    n = gram.shape[0]
    diagonal = gram.diagonal().astype(np.float64)
    trace, largest = float(diagonal.sum()), float(diagonal.max())
    limit = n if rank is None else min(int(rank), n)
    columns = GrowingRows(n, limit)
    remainder = diagonal.copy()
    pivots: list[int] = []
    # Below this a remaining diagonal entry is rounding noise, and so would be its column.
    precision = float(np.finfo(gram.dtype).eps)
    floor = n * precision * largest

    def iterates() -> Iterates[int]:
        while True:
            left = float(remainder.sum())
            done = len(pivots) == limit or left <= tol * trace
            yield Step(len(pivots), left / trace if trace else 0.0, Status.OPTIMAL if done else None)
            pivot = int(np.argmax(remainder))
            if remainder[pivot] <= floor:
                return Status.OPTIMAL
            column = gram.block(slice(None), [pivot])[:, 0].astype(np.float64)
            column -= columns.filled[:, pivot] @ columns.filled
            column /= np.sqrt(remainder[pivot])
            column[pivots] = 0.0
            columns.append(column)
            pivots.append(pivot)
            np.subtract(remainder, column**2, out=remainder)
            remainder[pivots] = 0.0
            _refuse_negative(kernel, remainder, largest, gram.dtype)
            np.maximum(remainder, 0.0, out=remainder)

    stopping = Stopping(max_iter=limit, verbose=verbose, callback=callback)
    status = run(iterates(), stopping, "Incomplete Cholesky", shows="error").status
    if not pivots:
        raise_if_interrupted(status)
    rows, chosen = columns.filled[: len(pivots)], np.array(pivots, dtype=np.intp)
    corner = rows[:, chosen].T  # lower triangular, in the order of the pivots
    whitening = solve_triangular(corner, np.eye(len(pivots)), lower=True).T if pivots else np.empty((0, 0))
    found = _low_rank(kernel, X, rows.T, chosen, diagonal, whitening)
    return replace(found, precision=precision, status=status)


class GrowingRows:
    """Rows of a matrix whose final number is not known: memory grows by doubling."""

    def __init__(self, n_columns: int, limit: int):
        self._limit = limit
        self._rows = np.empty((min(limit, 64), n_columns))
        self._n = 0

    def append(self, row: Array) -> None:
        """Add a row."""
        if self._n == len(self._rows):
            grown = np.empty((min(self._limit, 2 * self._n), self._rows.shape[1]))
            grown[: self._n] = self._rows
            self._rows = grown
        self._rows[self._n] = row
        self._n += 1

    @property
    def filled(self) -> Array:
        """The rows so far."""
        return self._rows[: self._n]


def _low_rank(kernel: Kernel, X: Any, L: Array, landmarks: Array, diagonal: Array, whitening: Array) -> LowRank:
    error = float(np.sum(np.maximum(diagonal - np.einsum("ij,ij->i", L, L), 0.0)))
    return LowRank(L, landmarks, float(diagonal.sum()), error, kernel, _safe_indexing(X, landmarks), whitening)


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
        Directions of K_mm that are rounding noise are left out: its rank may be less than m.

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
    X = indexable_rows(X)
    return nystroem_of(Gram(kernel, X), X, landmarks, method=method, random_state=random_state)


def nystroem_of(gram: Gram, X: Any, landmarks: Any, *, method: str, random_state: Any) -> LowRank:
    """`nystroem` for rows X that are prepared."""
    kernel = gram.kernel
    _need_positive_definite(kernel, "nystroem")
    if isinstance(landmarks, Integral) and not isinstance(landmarks, bool):
        chosen = landmarks_of(gram, int(landmarks), method=method, random_state=random_state)
    else:
        chosen = _given_landmarks(landmarks, gram.shape[0])
    diagonal = gram.diagonal().astype(np.float64)
    to_landmarks = gram.block(slice(None), chosen).astype(np.float64, copy=False)
    with threads_of_eigenproblem(len(chosen)):
        values, vectors = eigh(to_landmarks[chosen])
    precision = float(np.finfo(gram.dtype).eps)
    _refuse_negative(kernel, values, float(diagonal.max()), gram.dtype)
    kept = values > 1e4 * precision * values[-1]
    whitening = vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])
    return _low_rank(kernel, X, to_landmarks @ whitening, chosen, diagonal, whitening)


def _given_landmarks(landmarks: Any, n: int) -> Array:
    chosen = positions(landmarks, n, "landmarks")
    if not chosen.size:
        raise ValueError("landmarks of nystroem must be one row or more, got none; give a number or positions.")
    return chosen


def _need_positive_definite(kernel: Kernel, function: str) -> None:
    if kernel.order != 0:
        raise ValueError(
            f"kernel of {function} must be positive definite (order 0), got {kernel!r} of order {kernel.order}; "
            "project its polynomial part out first, or choose another kernel."
        )


def _refuse_negative(kernel: Kernel, values: Array, largest: float, dtype: Any) -> None:
    """Remaining diagonal entries and eigenvalues of a positive definite matrix are negative only by rounding."""
    if values.min() < -len(values) * np.sqrt(np.finfo(dtype).eps) * largest:
        raise ValueError(
            f"{kernel!r} must be positive definite on X to be factorised, got {values.min():.1e} where nothing may be "
            "negative; check_kernel tells more."
        )
