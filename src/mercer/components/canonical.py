"""Kernel canonical correlation analysis: what two sets of columns share."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.components.moments import Moments, folds_of, sum_of
from mercer.components.pairs import PairEstimator, n_rows, rows_for
from mercer.kernels import Kernel
from mercer.kernels.gram import LowRank, feature_map
from mercer.parameters import check_count, is_number

# Fractions of the trace that "auto" tries as penalties, and the number of parts of the rows by which it judges.
_PENALTIES, _FOLDS = np.logspace(0, -7, 8), 5
_N_LANDMARKS = 500
# Directions with a smaller fraction of the largest variance are rounding.
_ROUNDING = 1e-12


class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PairEstimator):
    """Functions of X and functions of Y that are correlated as much as possible.

    With the covariances C of centred features φ(x), ψ(y) it is the singular value decomposition
    (C_x + λ_x)^(-1/2) C_xy (C_y + λ_y)^(-1/2) = U diag(ρ) Vᵀ. The functions are a_j(x) = φ(x)ᵀ (C_x + λ_x)^(-1/2) u_j
    and b_j(y) = ψ(y)ᵀ (C_y + λ_y)^(-1/2) v_j.

    Parameters
    ----------
    n_components : int
        Number of pairs of functions.
    kernels : Kernel, pair of Kernels, or None
        For X and Y; None: a Gaussian whose width is the median distance.
    penalty : "auto" or float
        λ as a fraction of the trace of C, the same on both sides. "auto": the one with the largest sum of correlations
        on rows that were held out, in five folds. Without a penalty, functions of many features are always correlated.
    n_landmarks : int, optional
        Most features of each side, see `mercer.kernels.gram.feature_map`; 500 by default.
    random_state : int, RandomState or None
        Draws landmarks.

    Attributes
    ----------
    correlations_ : array of shape (n_components,)
        Correlations of a_j and b_j on the training rows: too large.
    held_out_correlations_ : array of shape (n_components,)
        Correlations on rows that had no part in the functions nor in the choice of the penalty, means over folds; NaN
        for fewer than four rows. Where nothing is shared they are about 0, with a spread of 1 / √n.
    singular_values_ : array of shape (n_components,)
        ρ_j, which the penalty makes smaller. With the best kernels and without penalty they are the spectrum of the
        density ratio: p(x, y) / (p(x) p(y)) = 1 + Σ_j ρ_j a_j(x) b_j(y).
    penalty_ : float
        The fraction of the trace that was used.
    kernels_ : pair of Kernels
        What was used.
    rows_, dual_coef_ : pairs of rows, pairs of arrays
        Landmarks of both sides, and the coefficients of their kernel functions.

    Notes
    -----
    Rows enter as sums over blocks: memory is that of X and Y, and some matrices of (2 n_landmarks)² numbers; cost
    O(n n_landmarks²) and 45 problems of n_landmarks³. Rows that are copies of each other should not be parted by the
    folds: leave out copies first. [Fukumizu2007]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, size=500)
    >>> X = np.column_stack([t, rng.normal(size=500)])
    >>> Y = np.column_stack([t**2 + 0.05 * rng.normal(size=500), rng.normal(size=500)])
    >>> cca = KernelCCA(1, random_state=0).fit(X, Y)
    >>> cca.held_out_correlations_.round(2)
    array([0.99])
    >>> x_scores, y_scores = cca.transform(X, Y)
    >>> bool(abs(np.corrcoef(x_scores[:, 0], t**2)[0, 1]) > 0.95)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernels: Any = None,
        penalty: Any = "auto",
        n_landmarks: int | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernels = kernels
        self.penalty = penalty
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find functions of the rows of X and of those of y (Y), which may be a table or one column."""
        k, rank = self._checked()
        X, Y = self._pairs(X, y, reset=True)
        rng = check_random_state(self.random_state)
        sides = [_Side.of(kernel, rows, rank, rng) for kernel, rows in zip(self.kernels_, (X, Y), strict=True)]
        n, r = n_rows(X), sides[0].low_rank.rank

        def features(positions: Array) -> Array:
            parts = zip(sides, (X, Y), strict=True)
            return np.hstack([side(_safe_indexing(rows, positions)) for side, rows in parts])

        folds = [Moments.of(features, fold) for fold in folds_of(n, max(1, min(_FOLDS, n // 2)))]
        moments = sum_of(folds)
        problem = _Whitened.of(moments.covariance, r)
        self._refuse_constants(problem)
        k = self._available(k, problem)
        tried = _PENALTIES if isinstance(self.penalty, str) else np.array([float(self.penalty)])
        table = np.array([_held_out(moments - fold, fold, r, k, tried) for fold in folds]) if len(folds) > 1 else None
        self.penalty_, self.held_out_correlations_ = _choice(tried, table, k)
        A, B, self.singular_values_ = problem.functions(self.penalty_, k)
        self.correlations_ = _correlations(moments.covariance, A, B)
        means = moments.mean[:r], moments.mean[r:]
        parts = list(zip(sides, (A, B), means, strict=True))
        self.rows_ = tuple(side.low_rank.landmark_rows for side in sides)
        self.dual_coef_ = tuple(side.low_rank.whitening @ coef for side, coef, _ in parts)
        self._offsets = tuple((side.centre + mean) @ coef for side, coef, mean in parts)
        return self

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Scores a_j(x) of the rows of X; with Y a pair: these, and the scores b_j(y) of the rows of Y."""
        check_is_fitted(self, "dual_coef_")
        left = self._scores(0, self._left(X, reset=False))
        return left if Y is None else (left, self._scores(1, rows_for(self.kernels_[1], Y, "Y")))

    def score(self, X: Any, y: Any) -> float:
        """Mean correlation of the scores of these pairs of rows."""
        left, right = self.transform(X, y)
        return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(left.T, right.T, strict=True)]))

    def _scores(self, side: int, rows: Any) -> Array:
        return np.asarray(self.kernels_[side](rows, self.rows_[side]) @ self.dual_coef_[side] - self._offsets[side])

    def _checked(self) -> tuple[int, int]:
        owner = type(self).__name__
        k = check_count(self.n_components, "n_components", owner)
        rank = _N_LANDMARKS if self.n_landmarks is None else check_count(self.n_landmarks, "n_landmarks", owner)
        automatic = isinstance(self.penalty, str) and self.penalty == "auto"
        if not automatic and not (is_number(self.penalty) and self.penalty >= 0):
            raise ValueError(
                f'penalty of {owner} must be "auto" or a number >= 0, got {self.penalty!r}; give a share of the trace.'
            )
        return k, rank

    def _refuse_constants(self, problem: _Whitened) -> None:
        for name, values in zip("XY", (problem.left, problem.right), strict=True):
            if values[-1] <= 0:
                raise ValueError(
                    f"{name} of KernelCCA must vary, got rows that all look alike to its kernel; leave it out, or "
                    "choose another kernel."
                )

    def _available(self, k: int, problem: _Whitened) -> int:
        found = min(np.sum(values > _ROUNDING * values[-1]) for values in (problem.left, problem.right))
        if found < k:
            warnings.warn(
                f"KernelCCA found {found} components above rounding, not the {k} asked for; lower n_components.",
                UserWarning,
                stacklevel=3,
            )
        return min(k, int(found))

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_[0].shape[1])


class _Side(NamedTuple):
    """Features of one side, less their mean over some rows: sums of products then lose no digits."""

    low_rank: LowRank
    centre: Array

    @classmethod
    def of(cls, kernel: Kernel, rows: Any, rank: int, random_state: Any) -> _Side:
        low_rank = feature_map(kernel, rows, rank, random_state)
        return cls(low_rank, low_rank.factor.mean(axis=0))

    def __call__(self, rows: Any) -> Array:
        return self.low_rank.features(rows) - self.centre


class _Whitened(NamedTuple):
    """The covariance of both sides in the eigenvectors of those of each side: all penalties share them."""

    left: Array
    right: Array
    left_vectors: Array
    right_vectors: Array
    cross: Array

    @classmethod
    def of(cls, C: Array, r: int) -> _Whitened:
        (left, U), (right, V) = eigh(C[:r, :r]), eigh(C[r:, r:])
        return cls(np.maximum(left, 0.0), np.maximum(right, 0.0), U, V, U.T @ C[:r, r:] @ V)

    def functions(self, penalty: float, k: int) -> tuple[Array, Array, Array]:
        """Coefficients of the k leading functions of both sides, as columns, and the singular values."""
        a, b = _inverse_roots(self.left, penalty), _inverse_roots(self.right, penalty)
        M = a[:, None] * self.cross * b
        transposed = M.shape[0] > M.shape[1]
        M = M.T if transposed else M
        size = len(M)
        values, vectors = eigh(M @ M.T, subset_by_index=[size - k, size - 1])
        singular = np.sqrt(np.maximum(values[::-1], 0.0))
        first = vectors[:, ::-1]
        second, _ = np.linalg.qr(M.T @ first)  # orthogonal up to rounding; signs are those of the columns
        second *= np.where(np.einsum("ij,ij->j", second, M.T @ first) < 0, -1.0, 1.0)
        first, second = (second, first) if transposed else (first, second)
        A, B = self.left_vectors @ (a[:, None] * first), self.right_vectors @ (b[:, None] * second)
        both = np.vstack([A, B])
        signs = np.sign(both[np.abs(both).argmax(axis=0), np.arange(k)])
        return A * signs, B * signs, singular


def _inverse_roots(values: Array, penalty: float) -> Array:
    """(λ_i + λ)^(-1/2), 0 for directions that are rounding if there is no penalty."""
    shifted = values + penalty * values.sum()
    return np.where(shifted > _ROUNDING * values[-1], np.maximum(shifted, np.finfo(float).tiny) ** -0.5, 0.0)


def _correlations(C: Array, A: Array, B: Array) -> Array:
    """Correlations of functions under a covariance of both sides; 0 where one of them does not vary."""
    r = len(A)
    both = np.einsum("ij,ij->j", A, C[:r, r:] @ B)
    left, right = np.einsum("ij,ij->j", A, C[:r, :r] @ A), np.einsum("ij,ij->j", B, C[r:, r:] @ B)
    varies = (left > 0) & (right > 0)
    return np.clip(np.divide(both, np.sqrt(np.where(varies, left * right, 1.0)), where=varies, out=0 * both), -1, 1)


def _held_out(train: Moments, fold: Moments, r: int, k: int, penalties: Array) -> Array:
    """Correlations on a fold of the functions of the other rows, for each penalty."""
    problem = _Whitened.of(train.covariance, r)
    functions = (problem.functions(float(penalty), k)[:2] for penalty in penalties)
    return np.array([_correlations(fold.covariance, A, B) for A, B in functions])


def _choice(penalties: Array, table: Array | None, k: int) -> tuple[float, Array]:
    """The penalty with the largest held-out correlations, and correlations of folds that had no part in the choice.

    `table` has the shape (n_folds, n_penalties, k). The penalty of a fold is the one that is best on the others.
    """
    if table is None:
        return float(penalties[0]), np.full(k, np.nan)
    sums = table.sum(axis=2)
    others = np.argmax(sums.sum(axis=0) - sums, axis=1)
    honest = table[np.arange(len(table)), others].mean(axis=0)
    return float(penalties[np.argmax(sums.sum(axis=0))]), honest
