"""Principal curves: each point is the mean of the rows that project on it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.manifolds.curve.polyline import Polyline
from mercer.manifolds.curve.smoothers import LocalLinear, SmoothingSpline, repeated
from mercer.manifolds.latent.points import latent_points
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.latent.starts import STARTS, start_coordinates
from mercer.quantizers import Stopping, check_magnitude, descend, leading_directions

_SMOOTHERS: dict[str, Any] = {"spline": SmoothingSpline(), "local_linear": LocalLinear()}


class Projected(NamedTuple):
    """A curve, and the arc length and squared distance of each row on it."""

    curve: Polyline
    arc: Array
    squares: Array


class PrincipalCurve(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A smooth curve f through the middle of the rows: f(s) = E[X | the projection of X is s].

    Two steps in turn: the columns of X are smoothed against the arc length s of the rows' projections, and the rows are
    projected on the new curve.

    Parameters
    ----------
    smoother : {"spline", "local_linear"}, estimator or callable
        "spline": `SmoothingSpline`; "local_linear": `LocalLinear`; a regressor of many columns on one, such as these
        with other settings; or a function ``smoother(s, X, places)`` that returns the smooth X at some places, s and
        places being shares of the length. A wide smoother pulls curves to the inside of their bends, see the notes.
    closed : bool
        Whether the curve ends where it begins. A smoother with a parameter `period` has it set to 1; others get the
        rows repeated half a period before and after.
    init : {"pca", "isomap", "eigenmaps"}, array of shape (n,) or estimator
        The order of the rows to start from: along the first principal component (around the mean in the plane of the
        first two, if closed), which folds curves that turn back; along the first coordinate of a neighbour graph, see
        `start_coordinates`; given numbers; or the column that ``fit_transform(X)`` of an estimator gives.
    n_vertices : int
        Number of vertices of the polygon that the curve is drawn with.
    max_iter : int
        Most repetitions.
    tol : float
        The fit has converged when a repetition lowers the mean squared distance by a smaller share than this.
    warm_start : bool
        Whether to start from the curve of the last fit.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(iteration, error)``; if it returns True, the fit ends there.

    Attributes
    ----------
    vertices_ : array of shape (n_vertices, d)
        The curve.
    length_ : float
        Its length.
    arc_length_ : array of shape (n,)
        Where the training rows project to, as arc length from the start of the curve.
    embedding_ : array of shape (n, 1)
        The same on [-1, 1]; on a closed curve these numbers have period 2.
    quantization_error_ : float
        Mean squared distance of the training rows from the curve.
    history_ : list of float
        That error at the start and after each repetition. Nothing forces the two steps to lower it, so a step that
        raises it is the last, and is not taken: the history never rises.
    n_iter_, status_ : int, str
        Number of repetitions; "optimal", "max_iter" or "interrupted".

    Notes
    -----
    [Hastie1989]_. Where a curve bends, the mean over a stretch of it lies inside of the bend: on a circle of radius 1
    with noise .1, local lines over 30% of the rows give a closed curve of radius .94. Take more degrees of freedom, or
    a smaller span, for curves that bend strongly; `PrincipalManifold` chooses such things itself.

    Each repetition takes time O(n · n_vertices · d); memory about four times X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrincipalCurve
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1.5, 1.5, 300)
    >>> X = np.column_stack([np.sin(t), np.cos(t)]) + 0.05 * rng.normal(size=(300, 2))
    >>> curve = PrincipalCurve().fit(X)
    >>> abs(np.corrcoef(curve.embedding_[:, 0], t)[0, 1]).round(2), round(curve.length_, 1)
    (np.float64(1.0), 3.2)
    >>> bool(np.linalg.norm(curve.inverse_transform(curve.transform([[0.0, 2.0]])) - [[0.0, 1.0]]) < 0.05)
    True
    """

    vertices_: Array
    embedding_: Array
    length_: float

    def __init__(
        self,
        smoother: Any = "spline",
        *,
        closed: bool = False,
        init: Any = "pca",
        n_vertices: int = 200,
        max_iter: int = 50,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.smoother = smoother
        self.closed = closed
        self.init = init
        self.n_vertices = n_vertices
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the curve of the rows of X; y is ignored."""
        stopping = Stopping.of(self)
        self._check_parameters()
        smoother = self._checked_smoother()
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=4).astype(np.float64, copy=False)
        check_magnitude(X, type(self).__name__)
        if not np.ptp(X, axis=0).any():
            raise ValueError("X of PrincipalCurve must hold rows that differ, got rows that are all equal; add some.")
        going_on = self.warm_start and getattr(self, "vertices_", X[:, :0]).shape[1:] == X.shape[1:]
        first = _projected(Polyline(self.vertices_, self.closed) if going_on else self._start(X, smoother), X)

        def step(before: Projected) -> tuple[Projected, float]:
            # A smoother may shrink a closed curve to a point.
            curve = self._smoothed(X, before.arc / (before.curve.length or 1.0), smoother)
            after = _projected(curve, X)
            return after, float(after.squares.mean())

        run = descend(first, float(first.squares.mean()), step, stopping, name="PrincipalCurve")
        curve, self.arc_length_, _ = run.state
        self.vertices_, self.length_ = curve.vertices, curve.length
        self.embedding_ = self._latent(self.arc_length_)
        self.history_, self.status_, self.n_iter_ = run.history, run.status, max(1, run.n_iter)
        self.quantization_error_ = run.value
        run.warn_unless_converged("PrincipalCurve")
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the curve, and return where the rows of X project to."""
        self.fit(X)
        return self.embedding_.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64, copy=False)

    def transform(self, X: Any) -> Array:
        """Where new rows project to, numbers from -1 to 1 in an array of shape (n, 1)."""
        X = self._new_rows(X)
        return self._latent(self._curve.project(X.astype(np.float64, copy=False))[0]).astype(X.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> Array:
        """Points of the curve, an array of shape (n, d).

        Numbers go around a closed curve, and must lie in [-1, 1] on an open one.
        """
        check_is_fitted(self, "vertices_")
        Z = latent_points(self, Z, self._space)
        return self._curve.at((Z[:, 0] + 1.0) / 2.0 * self.length_).astype(Z.dtype, copy=False)

    def quantization_error(self, X: Any) -> float:
        """The mean squared distance of the rows of X from the curve."""
        X = self._new_rows(X)
        return float(self._curve.project(X.astype(np.float64, copy=False))[1].mean())

    def score(self, X: Any, y: Any = None) -> float:
        """The mean squared distance with a minus sign: larger is better."""
        return -self.quantization_error(X)

    # Steps -----------------------------------------------------------------------------------------------------------

    def _start(self, X: Array, smoother: Any) -> Polyline:
        """The first principal component, or a curve smoothed along the order to start from."""
        if isinstance(self.init, str) and self.init == "pca" and not self.closed:
            mean = X.mean(axis=0)
            direction = leading_directions(X - mean, 1)
            scores = (X - mean) @ direction[0]
            return Polyline(mean + np.array([[scores.min()], [scores.max()]]) * direction)
        if isinstance(self.init, str):
            return self._smoothed(X, (start_coordinates(X, self._space, self.init)[:, 0] + 1.0) / 2.0, smoother)
        order = self._given_order(X)
        order = (order - order.min()) / (np.ptp(order) or 1.0)
        # The last row of a closed curve is not the first.
        return self._smoothed(X, order * (1.0 - 1.0 / len(X)) if self.closed else order, smoother)

    def _given_order(self, X: Array) -> Array:
        given = self.init.fit_transform(X) if hasattr(self.init, "fit_transform") else self.init
        order = check_array(given, ensure_2d=False, dtype=np.float64, input_name="init", estimator=self)
        if order.size != len(X):
            raise ValueError(
                f"init of PrincipalCurve must have one number for each of the {len(X)} rows, got shape {order.shape}; "
                "give one column."
            )
        return order.ravel()

    def _smoothed(self, X: Array, share: Array, smoother: Any) -> Polyline:
        """The curve of smooth columns at equal steps of the share of the length."""
        places = np.linspace(0.0, 1.0, int(self.n_vertices), endpoint=not self.closed)
        if self.closed and not _has_period(smoother):
            share, X = repeated(share, X, 1.0)
        if not hasattr(smoother, "fit"):
            return Polyline(self._checked_curve(smoother(share, X, places), X), self.closed)
        fitted = clone(smoother)
        if self.closed and _has_period(fitted):
            fitted.set_params(period=1.0)
        values = fitted.fit(share[:, None], X).predict(places[:, None])
        return Polyline(self._checked_curve(values, X), self.closed)

    def _checked_curve(self, values: Any, X: Array) -> Array:
        values = np.asarray(values, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 and X.shape[1] == 1 else values
        if values.shape != (int(self.n_vertices), X.shape[1]) or not np.isfinite(values).all():
            raise ValueError(
                f"smoother of PrincipalCurve must return finite values of shape {(self.n_vertices, X.shape[1])}, got "
                f"shape {values.shape}; it must take all columns at once."
            )
        return values

    @property
    def _space(self) -> LatentSpace:
        return LatentSpace(("circle" if self.closed else "interval",))

    @property
    def _curve(self) -> Polyline:
        return Polyline(self.vertices_, self.closed)

    def _latent(self, arc: Array) -> Array:
        return self._space.inside(2.0 * arc[:, None] / (self.length_ or 1.0) - 1.0)

    # Checks ----------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if not isinstance(self.n_vertices, Integral) or isinstance(self.n_vertices, bool) or int(self.n_vertices) < 4:
            raise ValueError(
                f"n_vertices of PrincipalCurve must be a whole number >= 4, got {self.n_vertices!r}; 200 are usual."
            )
        if isinstance(self.init, str) and self.init not in STARTS:
            raise ValueError(
                f"init of PrincipalCurve must be one of {STARTS}, one number for each row or an estimator, got "
                f"{self.init!r}; 'pca' is the usual start."
            )

    def _checked_smoother(self) -> Any:
        smoother = _SMOOTHERS.get(self.smoother) if isinstance(self.smoother, str) else self.smoother
        if not callable(smoother) and not (hasattr(smoother, "fit") and hasattr(smoother, "predict")):
            raise TypeError(
                f"smoother of PrincipalCurve must be one of {tuple(_SMOOTHERS)}, an estimator with fit and predict or "
                f"a callable, got {self.smoother!r}; 'spline' is the usual one."
            )
        return smoother

    def _new_rows(self, X: Any) -> Array:
        check_is_fitted(self, "vertices_")
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    @property
    def _n_features_out(self) -> int:
        return 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _projected(curve: Polyline, X: Array) -> Projected:
    return Projected(curve, *curve.project(X))


def _has_period(smoother: Any) -> bool:
    return hasattr(smoother, "get_params") and "period" in smoother.get_params()
