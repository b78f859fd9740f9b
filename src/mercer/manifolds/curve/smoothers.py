"""Scatterplot smoothers: the mean of many columns as a smooth function of one number."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.linalg import cho_factor, cho_solve, cholesky, eigvalsh, solve_triangular
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array

# Most pieces of a spline: a curve that turns more often needs another model.
_MOST_PIECES = 100
# Shares of the penalty and of the identity that are added to the Gram matrix of the splines.
_LITTLE, _JITTER = 1e-9, 1e-14
# The penalty, in units of its least effective size, that leaves nothing but lines.
_STIFF = 1e8
# Least spread of the rows around their mean, as a share of the distance to the mean, both squared.
_STEADY = 0.01


class SmoothingSpline(RegressorMixin, BaseEstimator):
    """Cubic spline f that minimises Σ_i ||y_i - f(t_i)||² + λ ∫||f''||², with λ from the degrees of freedom.

    A spline on equidistant knots, fewer than rows, with the exact penalty on its second derivative; straight lines cost
    nothing, and two degrees of freedom are linear regression.

    Parameters
    ----------
    df : float
        Degrees of freedom, the trace of the smoother matrix, from 2 on.
    period : float, optional
        If given, f has this period.

    Attributes
    ----------
    spline_ : scipy.interpolate.BSpline
        f.
    df_ : float
        Degrees of freedom that were reached: fewer than asked for if t has few different values.

    Notes
    -----
    [Eilers1996]_. Time O(n), memory about 12 n numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds import SmoothingSpline
    >>> t = np.linspace(0, 1, 50)
    >>> line = SmoothingSpline(df=2).fit(t[:, None], 3 * t + 1)
    >>> bool(np.allclose(line.predict([[0.5], [1.0]]), [2.5, 4.0]))
    True
    """

    spline_: Any

    def __init__(self, df: float = 8.0, *, period: float | None = None):
        self.df = df
        self.period = period

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to one column X and the columns y."""
        if not isinstance(self.df, Real) or isinstance(self.df, bool) or not 2 <= float(self.df) < np.inf:
            raise ValueError(
                f"df of SmoothingSpline must be a number >= 2, got {self.df!r}; 2 degrees of freedom are a line."
            )
        t, y = _one_column(self, X, y)
        low, width = (0.0, float(self.period)) if self.period else (t.min(), np.ptp(t) or 1.0)
        # With fewer than four pieces a cubic spline comes around to itself.
        fewest = 4 if self.period else 1
        n_pieces = int(np.clip(len(np.unique(t)) - 3, fewest, min(_MOST_PIECES, 4 * float(self.df) + 8)))
        knots = np.arange(-3, n_pieces + 4) / n_pieces
        # A periodic spline has the same coefficients again where it begins again.
        period = n_pieces if self.period else n_pieces + 3
        fold = sparse.csr_array(np.eye(period)[np.arange(n_pieces + 3) % period])
        B = sparse.csr_array(BSpline.design_matrix(np.clip((t - low) / width, 0.0, 1.0), knots, 3)) @ fold
        A, P = (B.T @ B).toarray(), fold.T @ _bending(n_pieces) @ fold
        # In the basis that diagonalises both, the smoother shrinks each function by a / (a + λ p). Functions that see
        # no row have a = 0: A alone has no inverse, but with a little of P it has.
        share = _LITTLE * np.trace(A) / np.trace(P)
        jitter = _JITTER * np.trace(A) * np.eye(len(A))
        inverse = solve_triangular(cholesky(A + share * P + jitter), np.eye(len(A)))
        p = eigvalsh(inverse.T @ P @ inverse)
        p[: 1 if self.period else 2] = 0.0  # constants, and lines, do not bend
        p = np.clip(p, 0.0, 1.0 / share)
        a = 1.0 - share * p
        lam = max(_penalty_for(a, p, float(self.df)), share)
        self.df_ = float(np.sum(a / (a + lam * p)))
        coefficients = cho_solve(cho_factor(A + lam * P + jitter), B.T @ y)
        self.spline_ = BSpline(low + width * knots, fold @ coefficients, 3)
        return self

    def predict(self, X: Any) -> Array:
        """The spline at new places; beyond the ends, straight on."""
        t = _new_column(self, X, self.period)
        ends = self.spline_.t[[3, -4]]
        inside = np.clip(t, *ends)
        values, beyond = self.spline_(inside), t - inside
        if beyond.any():
            values += (beyond * self.spline_(inside, 1).T).T
        return np.asarray(values)


class LocalLinear(RegressorMixin, BaseEstimator):
    """Weighted straight lines through the nearest rows: locally weighted regression, without its robust repetitions.

    Parameters
    ----------
    span : float
        Share of the rows, between 0 and 1, that a line is fitted to; they are weighted by (1 - (r / r_max)³)³.
    period : float, optional
        If given, rows come again after this.

    Notes
    -----
    [Cleveland1979]_. Each place takes time O(span n).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds import LocalLinear
    >>> t = np.linspace(0, 1, 50)
    >>> line = LocalLinear(span=0.3).fit(t[:, None], 3 * t + 1)
    >>> bool(np.allclose(line.predict([[0.5], [1.0]]), [2.5, 4.0]))
    True
    """

    t_: Array
    y_: Array
    size_: int

    def __init__(self, span: float = 0.3, *, period: float | None = None):
        self.span = span
        self.period = period

    def fit(self, X: Any, y: Any) -> Self:
        """Keep one column X and the columns y."""
        if not isinstance(self.span, Real) or isinstance(self.span, bool) or not 0 < float(self.span) <= 1:
            raise ValueError(
                f"span of LocalLinear must be a share of the rows, > 0 and <= 1, got {self.span!r}; 0.3 is usual."
            )
        t, y = _one_column(self, X, y)
        self.size_ = min(len(t), max(3, round(float(self.span) * len(t))))
        if self.period:
            t, y = repeated(t, y, float(self.period))
        order = np.argsort(t, kind="stable")
        self.t_, self.y_ = t[order], y[order]
        return self

    def predict(self, X: Any) -> Array:
        """The lines at new places."""
        places, t, size = _new_column(self, X, self.period), self.t_, self.size_
        values = np.empty((len(places), *self.y_.shape[1:]))
        for i, place in enumerate(places):
            start = _nearest_window(t, place, size)
            near, y = t[start : start + size] - place, self.y_[start : start + size]
            farthest = (np.abs(near).max() or 1.0) * (1 + 1e-9)
            weight = (1 - (np.abs(near) / farthest) ** 3) ** 3
            weight /= weight.sum()
            mean = weight @ near
            slopes = weight * (near - mean)
            variance = slopes @ (near - mean)
            # A line through rows that all lie far to one side would be an extrapolation: take their mean.
            steady = variance > _STEADY * mean**2
            values[i] = weight @ y - (mean / variance * (slopes @ y) if steady else 0.0)
        return values


def repeated(t: Array, y: Array, period: float) -> tuple[Array, Array]:
    """Rows at places modulo a period, and again half a period before and after."""
    t = t % period
    late = t >= period / 2
    return np.r_[t[late] - period, t, t[~late] + period], np.concatenate([y[late], y, y[~late]])


def _nearest_window(t: Array, place: float, size: int) -> int:
    """Where the `size` values of sorted t that are nearest to a place begin."""
    low, high = 0, len(t) - size
    while low < high:
        middle = (low + high) // 2
        if place - t[middle] > t[middle + size] - place:
            low = middle + 1
        else:
            high = middle
    return low


def _one_column(estimator: Any, X: Any, y: Any) -> tuple[Array, Array]:
    period = estimator.period
    if period is not None and (
        not isinstance(period, Real) or isinstance(period, bool) or not 0 < float(period) < np.inf
    ):
        raise ValueError(
            f"period of {type(estimator).__name__} must be a number > 0 or None, got {period!r}; None is not periodic."
        )
    X, y = validate_data(estimator, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
    if X.shape[1] != 1:
        raise ValueError(
            f"X of {type(estimator).__name__} must have one column, got n_features={X.shape[1]}; it smooths along one."
        )
    return X[:, 0] % period if period else X[:, 0], y.astype(np.float64, copy=False)


def _new_column(estimator: Any, X: Any, period: float | None) -> Array:
    check_is_fitted(estimator)
    t = np.asarray(validate_data(estimator, X, dtype=np.float64, reset=False))[:, 0]
    return t % period if period else t


def _bending(n_pieces: int) -> Array:
    """∫ b_i'' b_j'' over [0, 1] of the cubic B-splines with n equal pieces there; b'' is linear in each piece."""
    h = 1.0 / n_pieces
    B = np.zeros((n_pieces + 3, n_pieces + 3))
    left, right = np.array([1.0, -2.0, 1.0, 0.0]) / h**2, np.array([0.0, 1.0, -2.0, 1.0]) / h**2
    both = np.outer(left, right)
    piece = h / 3 * (np.outer(left, left) + np.outer(right, right) + (both + both.T) / 2)
    for start in range(n_pieces):
        B[start : start + 4, start : start + 4] += piece
    return B


def _penalty_for(a: Array, p: Array, df: float) -> float:
    """λ with Σ a / (a + λ p) = df; 0 if there are no more functions than that."""
    bent = p > 0
    if df >= np.count_nonzero(a):
        return 0.0
    scale = float(p[bent].min())
    if df <= np.count_nonzero(~bent):
        return _STIFF / scale

    def excess(log_lam: float) -> float:
        return float(np.sum(a / (a + np.exp(log_lam) / scale * p)) - df)

    low, high = -50.0, float(np.log(_STIFF))
    return float(np.exp(brentq(excess, low, high) if excess(low) > 0 else low) / scale)
