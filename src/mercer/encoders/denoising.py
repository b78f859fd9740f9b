"""A denoiser of rows in closed form: expected features of noisy rows instead of noisy copies."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.components.moments import Moments, folds_of, sum_of
from mercer.components.pairs import kernel_for
from mercer.kernels import Gaussian, Kernel, expected_features, expected_moments, expected_products
from mercer.kernels.gram import LowRank, feature_map
from mercer.parameters import check_count, is_number

# Widths that are tried without a kernel, as shares of the median distance, and penalties that "auto" tries.
_SHARES, _PENALTIES, _FOLDS = (2.0, 1.0, 0.7, 0.5, 0.35), np.logspace(1, -7, 9), 5
# Share of the trace that features leave out: sums of expected products lose the digits of smaller ones.
_LEFT_OUT = 1e-8
_ROUNDING = 1e-12
_BLOCK = 1024
# Share of the variance from which on rows are told from their mean no more.
_NOTHING_LEFT = 0.99


class KernelDenoiser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Clean rows from rows with Gaussian noise: an affine map plus kernel functions, without a sample of the noise.

    r(y) = b + B y + Σ_j a_j k(c_j, y) has the least mean of E ||x_i - r(x_i + ε)||² over the training rows, plus a
    penalty on the norm of the kernel part. The noise ε is independent in all columns; for Gaussian kernels the
    expectation has a closed form, so no noisy copies are drawn. The affine part alone is Σ (Σ + s²)⁻¹ about the mean.

    Parameters
    ----------
    noise : float or list of float
        Standard deviation s > 0 of the noise of the rows to be cleaned, one for all columns or one for each.
    kernel : Kernel, optional
        A Gaussian. By default its width, of .35 to 2 times the median distance, has the least expected error on rows
        that were held out.
    penalty : "auto" or float
        Of the squared norm of the kernel part, as a share of the variance of its features that no affine map gives.
        "auto": the one with the least expected error on rows that were held out, in five folds.
    n_landmarks : int
        Most kernel functions.

    Attributes
    ----------
    error_ : float
        Expected squared error of a cleaned row, the sum over its columns: of rows that were held out, with the chosen
        width and penalty (with fewer than five rows of the training rows).
    intercept_, linear_coef_, rows_, dual_coef_
        b, the transpose of B, the c_j and the a_j.
    kernel_, penalty_
        What was used.

    Notes
    -----
    Fit it to rows that are clean, or nearly so. The best function of y is y + s² ∇log p(y), with the density p of noisy
    rows; it is affine for Gaussian rows. Cost O(n (n_landmarks + d)²), beyond O((n_landmarks + d)³); memory a few
    matrices of (n_landmarks + 2 d)² numbers. Noise that exceeds the rows leaves their mean, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDenoiser
    >>> from mercer.datasets import make_arc
    >>> X, _ = make_arc(300, random_state=0)
    >>> noisy = X + 0.2 * np.random.default_rng(0).normal(size=X.shape)
    >>> cleaned = KernelDenoiser(0.2).fit(X).transform(noisy)
    >>> bool(np.mean((cleaned - X) ** 2) < 0.7 * np.mean((noisy - X) ** 2))
    True
    """

    def __init__(self, noise: Any, *, kernel: Any = None, penalty: Any = "auto", n_landmarks: int = 500):
        self.noise = noise
        self.kernel = kernel
        self.penalty = penalty
        self.n_landmarks = n_landmarks

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn to clean rows that are as the rows X, once there is noise on them; y is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        noise = self._noise_of(X.shape[1])
        origin = X.mean(axis=0)
        centred = X - origin
        kernels = [kernel_for(self.kernel, X)]
        if self.kernel is None:
            kernels = [Gaussian(share * kernels[0].width) for share in _SHARES]
        errors = np.array([self._errors(kernel, centred, noise) for kernel in kernels])
        k, p = np.unravel_index(np.argmin(errors), errors.shape)
        self.kernel_, self.penalty_, self.error_ = kernels[k], float(self._penalties[p]), float(errors[k, p])
        d = X.shape[1]
        low_rank = self._features(self.kernel_, centred)
        moments = _moments(low_rank, centred, noise)
        coef = _Denoising.of(moments, d).coef(self.penalty_)
        mean = moments.mean
        self.linear_coef_ = coef[:d]
        self.dual_coef_ = low_rank.whitening @ coef[d:]
        self.rows_ = origin + low_rank.landmark_rows
        self.intercept_ = origin + mean[:d] - mean[d:] @ coef - origin @ self.linear_coef_
        if self.error_ >= _NOTHING_LEFT * np.mean(np.sum(centred**2, axis=1)) and np.ptp(X, axis=0).any():
            warnings.warn(
                "Noise of KernelDenoiser exceeds the variance of the rows so far that cleaned rows are hardly more "
                "than their mean; check the units of noise.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> Array:
        """Cleaned rows r(X)."""
        check_is_fitted(self, "dual_coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.intercept_ + X @ self.linear_coef_ + self.kernel_(X, self.rows_) @ self.dual_coef_)

    def _features(self, kernel: Kernel, X: Array) -> LowRank:
        return feature_map(kernel, X, self.n_landmarks, 0, tol=_LEFT_OUT)

    def _errors(self, kernel: Kernel, X: Array, noise: Array) -> Array:
        """Expected errors of all penalties on rows that were held out, of which none is a landmark."""
        errors = np.zeros(len(self._penalties))
        every = np.arange(len(X))
        for part in folds_of(len(X), _FOLDS) if len(X) >= _FOLDS else [every]:
            others = np.setdiff1d(every, part) if len(part) < len(X) else every
            low_rank = self._features(kernel, X[others])
            known, held_out = (_moments(low_rank, X[rows], noise) for rows in (others, part))
            problem = _Denoising.of(known, X.shape[1])
            errors += [_error(held_out, known.mean, problem.coef(float(penalty))) for penalty in self._penalties]
        return errors / len(X)

    @property
    def _penalties(self) -> Array:
        return _PENALTIES if isinstance(self.penalty, str) else np.array([float(self.penalty)])

    def _noise_of(self, d: int) -> Array:
        noise = np.asarray(self.noise)
        numbers = noise.dtype.kind in "iuf" and noise.shape in ((), (d,))
        if not numbers or not np.all(np.isfinite(noise) & (noise > 0)):
            raise ValueError(
                f"noise of KernelDenoiser must be a number > 0, or one for each of the {d} columns, got {self.noise!r}"
                "; give the standard deviation of the noise."
            )
        return np.broadcast_to(noise.astype(np.float64), d)

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_count(self.n_landmarks, "n_landmarks", owner)
        if self.kernel is not None and not getattr(self.kernel, "_is_gaussian", False):
            raise TypeError(
                f"kernel of {owner} must be a Gaussian or None, got {self.kernel!r}; others have no closed form of "
                "their values at noisy rows."
            )
        automatic = isinstance(self.penalty, str) and self.penalty == "auto"
        if not automatic and not (is_number(self.penalty) and self.penalty >= 0):
            raise ValueError(
                f'penalty of {owner} must be "auto" or a number >= 0, got {self.penalty!r}; give a share of the '
                "variance of the features."
            )


class _Denoising(NamedTuple):
    """The regression of x on (y, φ(y)), y = x + ε, with the affine part eliminated: all penalties share it."""

    on_linear: Array  # of φ on y
    linear: Array  # of x on y
    values: Array  # of the covariance of φ that is left
    vectors: Array
    target: Array  # covariance of φ and x that is left, in the eigenvectors

    @classmethod
    def of(cls, moments: Moments, d: int) -> _Denoising:
        cov = moments.covariance
        solved = np.linalg.solve(cov[d : 2 * d, d : 2 * d], np.hstack([cov[d : 2 * d, :d], cov[d : 2 * d, 2 * d :]]))
        linear, on_linear = solved[:, :d], solved[:, d:]
        features = cov[2 * d :, d : 2 * d]
        left = cov[2 * d :, 2 * d :] - features @ on_linear
        values, vectors = eigh((left + left.T) / 2)
        target = vectors.T @ (cov[2 * d :, :d] - features @ linear)
        return cls(on_linear, linear, np.maximum(values, 0.0), vectors, target)

    def coef(self, penalty: float) -> Array:
        """Coefficients of (y, φ(y)), one column for each of x."""
        shifted = self.values + penalty * self.values.sum()
        kept = shifted > _ROUNDING * shifted[-1]
        inverse = np.where(kept, 1.0 / np.where(kept, shifted, 1.0), 0.0)
        A = self.vectors @ (inverse[:, None] * self.target)
        return np.vstack([self.linear - self.on_linear @ A, A])


def _moments(low_rank: LowRank, X: Array, noise: Array) -> Moments:
    """Sums of (x, y, φ(y)) and of its products over rows x, expected values over y = x + ε."""
    return sum_of([_block_moments(low_rank, X[at : at + _BLOCK], noise) for at in range(0, len(X), _BLOCK)])


def _block_moments(low_rank: LowRank, X: Array, noise: Array) -> Moments:
    rows = low_rank.kernel, X, low_rank.landmark_rows, noise
    W = low_rank.whitening
    features = expected_features(*rows) @ W
    xx, xf = X.T @ X, X.T @ features
    yf = expected_moments(*rows) @ W
    products = [
        [xx, xx, xf],
        [xx, xx + len(X) * np.diag(noise**2), yf],
        [xf.T, yf.T, W.T @ expected_products(*rows) @ W],
    ]
    sums = X.sum(axis=0)
    return Moments(len(X), np.concatenate([sums, sums, features.sum(axis=0)]), np.block(products))


def _error(moments: Moments, mean: Array, coef: Array) -> float:
    """Sum of squared errors of x - mean_x - coefᵀ((y, φ) - mean), with the means of other rows."""
    d = coef.shape[1]
    centred = moments.products - np.outer(moments.total, mean) - np.outer(mean, moments.total)
    centred += moments.n * np.outer(mean, mean)
    both = np.vstack([np.eye(d), -coef])
    return float(np.sum(both * (centred @ both)))
