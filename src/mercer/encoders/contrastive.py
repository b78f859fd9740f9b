"""Contrastive features: coordinates in which views of the same row are near, from an eigenproblem."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.components.moments import folds_of, sum_of
from mercer.components.pairs import kernel_for, n_rows, rows_for
from mercer.encoders.augmentations import Jitter, Mask
from mercer.encoders.views import DrawnViews, ExactJitter, GivenViews, Source, ViewMoments
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram import LowRank, feature_map
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.parameters import check_count, is_number

# Shares of the trace that "auto" tries as penalties, and the number of parts of the rows by which it judges.
_PENALTIES, _FOLDS = np.logspace(0, -7, 8), 5
# Widths that are tried without a kernel, as shares of the median distance.
_SHARES = (1.0, 0.7, 0.5)
# Share of the trace that features leave out: sums of expected products lose the digits of smaller ones.
_LEFT_OUT = 1e-8
_ROUNDING = 1e-12


class ContrastiveFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates that hardly differ between views of the same row, and differ between rows.

    With the covariance C of centred features φ of all views, and their covariance C₊ between two views of the same row,
    the coordinates √γ_j v_jᵀφ(x) solve C₊ v = γ (C + λ) v, vᵀ(C + λ)v = 1. They minimise the spectral contrastive loss
    -2 E₊ f(x)ᵀf(x⁺) + E (f(x)ᵀf(x'))²; the least value is -Σ γ_j². It is solved at once, without a training loop.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    augment : "jitter", "mask", "pairs", Augmentation, callable or list
        What makes a view. "jitter", "mask": `Jitter()`, `Mask()`; an object such as `Shift((16, 16))`; a function
        ``augment(X, rng)`` that returns changed rows; a list of tables, each with one view of each row, which are then
        all views that there are. "pairs": X and Y of ``fit(X, Y)`` are two views; Y is ignored otherwise.
    kernel : Kernel, optional
        By default a Gaussian whose width is 1, 0.7 or 0.5 times the median distance: the one with the least loss on
        rows that were held out. Gaussian kernels need no sample of `Jitter`: expected values are exact.
    penalty : "auto" or float
        λ as a share of the trace of C. "auto": the one with the least loss on rows that were held out, in five folds.
    n_landmarks : int
        Most features, see `mercer.kernels.gram.feature_map`.
    n_views : int
        Views of each row that are drawn, where there is no end of them.
    random_state : int, RandomState or None
        Draws landmarks and views.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        γ_j, between 0 and 1: how much of a coordinate views of the same row share.
    loss_ : float
        -Σ γ_j².
    penalty_ : float
        The share of the trace that was used.
    kernel_, rows_, dual_coef_
        The kernel, its landmarks, and the coefficients of their kernel functions.

    Notes
    -----
    It is the spectral embedding of the graph whose edges join views of the same row: γ is 1 minus an eigenvalue of its
    Laplacian. Cost O(n n_views n_landmarks²); memory is that of X and a few matrices of n_landmarks² numbers.
    [HaoChen2021]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ContrastiveFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + [8, 0]])
    >>> features = ContrastiveFeatures(1, random_state=0).fit(X)
    >>> bool(features.eigenvalues_[0] > 0.9)
    True
    >>> Z = features.transform(X)[:, 0]
    >>> bool(max(Z[:100]) < min(Z[100:]) or min(Z[:100]) > max(Z[100:]))
    True
    """

    def __init__(
        self,
        n_components: int = 16,
        *,
        augment: Any = "jitter",
        kernel: Any = None,
        penalty: Any = "auto",
        n_landmarks: int = 500,
        n_views: int = 8,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.augment = augment
        self.kernel = kernel
        self.penalty = penalty
        self.n_landmarks = n_landmarks
        self.n_views = n_views
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find coordinates of the rows X; with ``augment="pairs"`` y (Y) holds another view of each of them."""
        self._check_parameters()
        X = self._rows(X, reset=True)
        n = n_rows(X)
        rng = check_random_state(self.random_state)
        kernels = [kernel_for(self.kernel, X)]
        if self.kernel is None and n >= 4:
            kernels = [Gaussian(share * kernels[0].width) for share in _SHARES]
        candidates = [self._candidate(kernel, X, y, rng) for kernel in kernels]
        best = min(candidates, key=lambda candidate: candidate.losses.min())
        self.kernel_, low_rank, total = best.kernel, best.low_rank, best.total
        self.penalty_ = float(self._penalties[np.argmin(best.losses)])
        problem = _Whitened.of(total)
        k = self._available(problem, warn=True)
        V, self.eigenvalues_ = problem.functions(self.penalty_, k)
        self.loss_ = -float(np.sum(self.eigenvalues_**2))
        coef = V * np.sqrt(self.eigenvalues_)
        self.rows_ = low_rank.landmark_rows
        self.dual_coef_ = low_rank.whitening @ coef
        self._offset = total.views.mean @ coef
        return self

    def transform(self, X: Any) -> Array:
        """Coordinates of the rows of X."""
        check_is_fitted(self, "dual_coef_")
        X = self._rows(X, reset=False)
        return np.asarray(self.kernel_(X, self.rows_) @ self.dual_coef_ - self._offset)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        if self.kernel is not None and not self.kernel.takes_vectors:
            return indexable_rows(X)
        return validate_data(self, X, dtype=np.float64, reset=reset, ensure_min_samples=2 if reset else 1)

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        for parameter in ("n_components", "n_landmarks"):
            check_count(getattr(self, parameter), parameter, owner)
        check_count(self.n_views, "n_views", owner, least=2)
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel of {owner} must be a Kernel or None, got {self.kernel!r}; wrap a function in "
                "mercer.kernels.FromFunction."
            )
        automatic = isinstance(self.penalty, str) and self.penalty == "auto"
        if not automatic and not (is_number(self.penalty) and self.penalty >= 0):
            raise ValueError(
                f'penalty of {owner} must be "auto" or a number >= 0, got {self.penalty!r}; give a share of the trace.'
            )

    def _source(self, kernel: Kernel, X: Any, Y: Any, rng: np.random.RandomState) -> Source:
        """Where views come from."""
        augment = self.augment
        if isinstance(augment, str) and augment == "pairs":
            if Y is None:
                raise ValueError(
                    'y of ContrastiveFeatures must be given with augment="pairs", got None; call fit(X, Y).'
                )
            return GivenViews([X, self._as_view(kernel, Y, X)], complete=False)
        if isinstance(augment, list | tuple):
            return GivenViews([self._as_view(kernel, view, X) for view in augment], complete=True)
        if isinstance(augment, str):
            made = {"jitter": Jitter(), "mask": Mask()}.get(augment)
            if made is None:
                raise ValueError(
                    f'augment of ContrastiveFeatures must be "jitter", "mask", "pairs", an object with views, a '
                    f"function or a list of tables, got {augment!r}; choose one of them."
                )
            augment = made
        if hasattr(augment, "views"):
            if not kernel.takes_vectors:
                raise TypeError(
                    f"augment of ContrastiveFeatures must be a function, a list or 'pairs' for a kernel that takes no "
                    f"vectors, got {self.augment!r}; only columns of numbers have noise."
                )
            augment = clone(augment).prepare(X)
            if isinstance(augment, Jitter) and kernel._is_gaussian:
                return ExactJitter(X, kernel, augment.scales_)
            return DrawnViews(X, augment.views, self.n_views, rng, complete=augment.complete)
        if not callable(augment):
            raise TypeError(
                f"augment of ContrastiveFeatures must be a word, an object with views, a function or a list of tables, "
                f"got {augment!r}; a function takes rows and a source of chance."
            )

        def views(rows: Any, n_views: int, rng: np.random.RandomState) -> Iterator[Any]:
            return (self._as_view(kernel, augment(rows, rng), rows) for _ in range(n_views))

        return DrawnViews(X, views, self.n_views, rng, complete=False)

    def _as_view(self, kernel: Kernel, view: Any, X: Any) -> Any:
        """Rows that are another view of X, one for each."""
        view = rows_for(kernel, view, "views")
        same = view.shape == X.shape if kernel.takes_vectors else n_rows(view) == n_rows(X)
        if not same:
            raise ValueError(
                f"Views of ContrastiveFeatures must have the rows and columns of X, {np.shape(X)}, got "
                f"{np.shape(view)}; a view is a changed copy of each row."
            )
        return view

    def _available(self, problem: _Whitened, *, warn: bool = False) -> int:
        found = int(np.sum(problem.values > _ROUNDING * max(problem.values[-1], 0.0)))
        if not found:
            raise ValueError(
                "X of ContrastiveFeatures must vary, got rows that all look alike to the kernel; scale the columns, or "
                "choose another kernel."
            )
        if warn and found < self.n_components:
            warnings.warn(
                f"ContrastiveFeatures found {found} components above rounding, not the {self.n_components} asked for; "
                "lower n_components.",
                UserWarning,
                stacklevel=3,
            )
        return min(int(self.n_components), found)

    def _candidate(self, kernel: Kernel, X: Any, Y: Any, rng: np.random.RandomState) -> _Candidate:
        """Moments of the views under a kernel, and the losses of all penalties on rows that were held out."""
        source = self._source(kernel, X, Y, rng)
        low_rank = feature_map(kernel, X, self.n_landmarks, rng, tol=_LEFT_OUT)
        n = n_rows(X)
        folds = [source.moments(low_rank, fold) for fold in folds_of(n, max(1, min(_FOLDS, n // 2)))]
        total = sum_of(folds)
        k = self._available(_Whitened.of(total))
        losses = np.zeros(len(self._penalties))
        for fold in folds[: len(folds) if len(folds) > 1 else 0]:
            problem = _Whitened.of(total - fold)
            for i, penalty in enumerate(self._penalties):
                V, gamma = problem.functions(float(penalty), k)
                losses[i] += fold.loss(V * np.sqrt(gamma))
        return _Candidate(kernel, low_rank, total, losses)

    @property
    def _penalties(self) -> Array:
        return _PENALTIES if isinstance(self.penalty, str) else np.array([float(self.penalty)])

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])


class _Candidate(NamedTuple):
    """A kernel, its features, and how well they do."""

    kernel: Kernel
    low_rank: LowRank
    total: ViewMoments
    losses: Array


class _Whitened(NamedTuple):
    """C₊ in the eigenvectors of C: all penalties share them."""

    values: Array
    vectors: Array
    positive: Array

    @classmethod
    def of(cls, moments: ViewMoments) -> _Whitened:
        values, vectors = eigh(moments.views.covariance)
        return cls(np.maximum(values, 0.0), vectors, vectors.T @ moments.pairs.covariance @ vectors)

    def functions(self, penalty: float, k: int) -> tuple[Array, Array]:
        """Coefficients v_j of the k leading functions, as columns, and γ_j; what is negative by chance is 0."""
        shifted = self.values + penalty * self.values.sum()
        roots = np.where(shifted > _ROUNDING * shifted[-1], np.maximum(shifted, np.finfo(float).tiny) ** -0.5, 0.0)
        size = len(roots)
        gamma, vectors = eigh(roots[:, None] * self.positive * roots, subset_by_index=[size - k, size - 1])
        V = self.vectors @ (roots[:, None] * vectors[:, ::-1])
        signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(k)])
        return V * signs, np.maximum(gamma[::-1], 0.0)
