"""Unsupervised kernel regression: a surface through the data with no basis and no penalty to choose."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.hosts import ArrayRows
from mercer.manifolds.ukr.domain import count_pieces, density_threshold
from mercer.manifolds.ukr.fitting import LatentFit
from mercer.manifolds.ukr.projection import RowProjection, SurfaceProjection, SurfaceProjector
from mercer.manifolds.ukr.rows import DataRows, FeatureRows, count_of, some_of
from mercer.manifolds.ukr.samples import projected_others
from mercer.manifolds.ukr.settings import OWNER, settings_of
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.training import Training, train
from mercer.manifolds.ukr.tuning import TUNING, Tuning
from mercer.manifolds.ukr.units import LatentUnits
from mercer.manifolds.ukr.validation import check_n_components, origin_and_unit, validated_rows
from mercer.running import Status, raise_if_interrupted

# Columns of the table of starts that are values of the objective.
_ERRORS = {"objective", "leave_one_out_error", "descended"}


class UnsupervisedKernelRegression(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A surface f(z) = Σ_i K(z - z_i) x_i / Σ_j K(z - z_j) through data, with the latent points z_i of its rows.

    Minimises the mean of ||x_i - f_(-i)(z_i)||² over all latent points, where f_(-i) is the kernel regression without
    row i (and without its nearest latent neighbours). The scale of the latent points decides how smooth the surface is.

    Parameters
    ----------
    n_components : int
        Number of latent coordinates.
    density_kernel : {"gaussian", "quartic"} or DensityKernel
        K: exp(-||z||²/2), or (1 - ||z||²)² within distance 1, which is sparse.
    feature_kernel : Kernel, optional
        Surface in the feature space of a kernel, positive definite or conditionally so of order 1: `L1` for absolute
        differences, `WeightedDegree` for strings, `Precomputed` for a given matrix. It takes O(N²) memory.
    objective : {"auto", "leave_one_out", "leave_neighbours_out"}
        "leave_one_out": eq. (10) of [Meinicke2005]_. "leave_neighbours_out", which "auto" stands for: f_(-i) is without
        the `n_excluded` nearest latent neighbours, too; see Notes.
    n_excluded : int or "auto"
        "auto": one in 40 rows on a curve, one in 160 on a surface, and so on, from 5 to 20; fewer if the rows do not
        lie near a surface. Of N > 3000 rows what it is for 3000, times (N / 3000)^(4 / (n_components + 4)), as which
        the number of rows within reach grows. A warm start goes on with what it was. A number is that of all rows.
    init : "auto", str or array of shape (N, n_components)
        Start. "pca" (kernel PCA in feature space), "isomap", "eigenmaps" and "lle" are tried with several numbers of
        neighbours, "lle-12" with one, and "auto" tries all of them. "manifold" is a soft principal manifold with
        settings by rule. Or coordinates. All are brought to the best scale by the objective. Several are compared by
        short descents. For surfaces of 500 rows of numbers and more, with the Gaussian kernel and neighbours left out,
        "auto" has but three starts, "pca", "manifold" and "isomap-12".
    optimizer : {"auto", "rprop", "lbfgs", "rprop+lbfgs"}
        "auto": "rprop" if neighbours are left out, else both.
    homotopy : bool or sequence of float
        Whether to unfold a start step by step, among points whose density is above falling thresholds, shares of K(0):
        step 4 of the paper. The start is shrunk first, a warm start, too.
    topology : "interval", "circle" or tuple of these
        Of all coordinates, or of each. The periods of circles are found with the scale, and kept from then on.
    density_threshold : "minimum" or float
        The domain of the surface is where the latent density is at least that of the least dense training row, or of
        this quantile of them: 0.05 or 0.1 cuts off what few rows have drawn.
    max_iter : int, optional
        Most iterations after the homotopy. None: 500; if a sample had them, 20 on all rows. A number is for both.
    tol : float
        The fit ends when twenty iterations gain less than this share of the objective. If `max_iter` ends it, there is
        a `ConvergenceWarning`: of a fit by way of a sample, unless `max_iter` is given, if it ended that of the sample.
    warm_start : bool
        Start from the last fit, if there is one with as many rows and coordinates.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(n_iter, fit) with a `LatentFit` after each iteration, and in the search of a start after each
        of several, with their number and the rows that are compared; ends the fit if it returns True, as Ctrl-C does.
        Then `status_` is "interrupted", the points are the best so far, and what was not compared is not in the table.
    random_state : int, RandomState or None
        Chooses the sample of many rows.

    Attributes
    ----------
    embedding_ : array of shape (N, n_components)
        Latent points, in single precision if the rows were. Lines are in widths of the kernel, with mean zero; circles
        have period 2.
    objective_, history_ : float, list of float
        What was minimised, in the end, and at the start and after each iteration on all rows, those of a homotopy
        first: it never rises. If pieces were brought together in the end, the objective may be a little above the last
        value, by 5 % at most. Descents by lists of neighbours count as one iteration; of more than 3000 rows values,
        and `leave_one_out_error_`, are then by such lists, too.
    leave_one_out_error_ : float
        Eq. (10) in the end, whatever was minimised.
    n_iter_, status_ : int, Status
        Number of iterations, with those of a homotopy; "optimal", "max_iter" or "interrupted".
    init_, candidates_ : str, dict of lists
        The start, and the table of all, on the sample if there was one: name ("start"), "objective" and
        "leave_one_out_error", each at its best scale and with pieces brought together, and the objective after a short
        descent ("descended", NaN without one) of so many "iterations".
    n_excluded_, periods_ : int, array of shape (n_components,)
        What was used; periods in widths, infinite for lines.
    density_threshold_ : float
        The least density of the domain, in the units of `density`.
    n_pieces_ : int
        Number of pieces that the domain has. Distances between pieces mean nothing: pieces are moved until gaps are of
        6 widths (quartic: 2), without circles.

    Notes
    -----
    Leave-one-out follows the noise the longer it is minimised, since z_i was fitted to x_i. With neighbours left out
    the surface stays near the truth, but blurs structure of more dimensions, of which "auto" therefore looks for signs
    in the residuals. Take "leave_one_out" for neighbours on the map; `docs/maps.md` has figures.

    Rows may have missing entries, NaN: each column is averaged over the rows where it is known, and `impute` fills
    them. The objective is not convex: its minimum depends on the start. Where neighbours that are left out change
    places it jumps, and the fit may end there.

    Time of an iteration is O(N² d) for the Gaussian kernel, and O(d) for each pair of rows within reach for the quartic
    one; memory is a few copies of the data. More than 3000 rows (2000 with three starts) are fitted by way of a sample
    of so many: the others are projected on its surface, as new ones are, and few iterations on all follow. With three
    starts, an iteration takes time that is linear in the rows, and of more than 20,000 rows 10,000 make the surface,
    which the others are projected on. Given coordinates, rows of a feature kernel and a warm start are fitted at once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import UnsupervisedKernelRegression
    >>> from mercer.datasets import make_arc
    >>> X, t = make_arc(100, angle=4.0, noise=0.05, random_state=0)
    >>> curve = UnsupervisedKernelRegression(1, init="isomap").fit(X)
    >>> bool(abs(np.corrcoef(curve.embedding_[:, 0], t)[0, 1]) > 0.99), curve.n_pieces_
    (True, 1)
    >>> radius = np.linalg.norm(curve.inverse_transform(curve.transform([[0.0, 1.5]])))
    >>> bool(abs(radius - 1) < 0.05)
    True
    """

    # Subclasses may go another way.
    _tuning: Tuning = TUNING

    def __init__(
        self,
        n_components: int = 2,
        *,
        density_kernel: Any = "gaussian",
        feature_kernel: Any = None,
        objective: str = "auto",
        n_excluded: Any = "auto",
        init: Any = "auto",
        optimizer: str = "auto",
        homotopy: Any = False,
        topology: Any = "interval",
        density_threshold: Any = "minimum",
        max_iter: int | None = None,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Callable[[int, LatentFit], Any] | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.density_kernel = density_kernel
        self.feature_kernel = feature_kernel
        self.objective = objective
        self.n_excluded = n_excluded
        self.init = init
        self.optimizer = optimizer
        self.homotopy = homotopy
        self.topology = topology
        self.density_threshold = density_threshold
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit latent points to the rows of X; y is ignored."""
        (X, dtype), kernel = self._rows(X, reset=True), self.feature_kernel
        settings = settings_of(self, count_of(X), self._tuning)
        check_n_components(settings.space.n_dims, X, kernel)
        settings, some, part = replace(settings, callback=self._told()), None, X
        if settings.n_rows < count_of(X):
            some, part = ArrayRows(X).sample(settings.n_rows, self.random_state)
        rows: Any = DataRows(part) if kernel is None else FeatureRows(clone(kernel), X, OWNER)
        self._store(train(settings, rows, self._previous(count_of(X), some, settings.space)), rows, dtype)
        if some is not None:
            self._place_others(X, some, dtype)
        if self.status_ == Status.MAX_ITER:
            remedy = "raise max_iter or tol, or fit again with warm_start=True."
            if not self.n_excluded_:
                remedy += " With leave-one-out, more iterations also follow the noise more closely."
            message = f"{OWNER} did not converge in {settings.max_iter} iterations; {remedy}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _told(self) -> Callable[[int, LatentFit], Any] | None:
        """The callback, with values in the unit of the rows."""
        if self.callback is None:
            return None
        callback, square = self.callback, self._unit**2
        return lambda n_iter, fit: callback(n_iter, fit.times(square))

    def _rows(self, X: Any, *, reset: bool) -> tuple[Any, Any]:
        """Checked rows, in the unit of the surface if they are numbers, and the precision that they had."""
        X, dtype = validated_rows(self, X, reset=reset)
        if reset:
            self._origin, self._unit = origin_and_unit(X, self.feature_kernel)
        return (X - self._origin) / self._unit if self.feature_kernel is None else X, dtype

    def _previous(self, n_rows: int, some: Array | None, space: Any) -> tuple[Array, LatentUnits, int] | None:
        """Latent points to go on from, if they are wanted, and suit the rows and the space."""
        if not self.warm_start or not hasattr(self, "embedding_"):
            return None
        if len(self.embedding_) != n_rows or not np.array_equal(self._units.is_circle, space.is_circle):
            return None
        Z = self._Z if some is None else self._units.inside(self.embedding_[some].astype(np.float64))
        return Z, self._units, self.n_excluded_

    def _store(self, training: Training, rows: Any, dtype: Any) -> None:
        self._training = rows
        square, self._units = self._unit**2, training.units
        fit = training.fit.times(square)
        self._density = training.problem.density
        lines = ~self._units.is_circle
        Z = fit.Z - np.where(lines, fit.Z.mean(axis=0), 0.0)
        Z = self._units.outside(Z)
        self.embedding_, self._Z = Z.astype(dtype), self._units.inside(Z)
        self.objective_, self.history_, self.n_iter_, self.status_ = fit.objective, fit.history, fit.n_iter, fit.status
        self.n_excluded_, self.periods_ = training.problem.n_excluded, self._units.periods
        self.init_, self.candidates_ = training.init, dict(training.candidates)
        for name in _ERRORS & set(self.candidates_):
            self.candidates_[name] = [square * value if value == value else value for value in self.candidates_[name]]
        self.leave_one_out_error_ = square * float(training.errors.mean())
        self._farthest = square * float(training.errors.max())
        densities = self._density(self._Z, self._Z)
        self.density_threshold_ = density_threshold(densities, self.density_threshold)
        self.n_pieces_ = count_pieces(self._density, self._units, self._Z, densities, self.density_threshold_)
        self._surface = Surface(self._density, self._Z, self._training.points)
        self._projector = SurfaceProjector.within(self._surface, densities, self.density_threshold_)

    def _place_others(self, X: Array, some: Array, dtype: Any) -> None:
        """Points of all rows, where the surface is of some: the others are projected on it, as new ones are."""

        def project(rows: Array) -> Array:
            raise_if_interrupted(self.status_)
            return self._units.outside(self._projector(rows).Z)

        Z, finished = projected_others(X, some, self.embedding_, project)
        if not finished:
            self.status_ = Status.INTERRUPTED
        self.embedding_ = Z.astype(dtype)
        self._training = DataRows(X)

    @cached_property
    def _projector(self) -> SurfaceProjector:
        """Made by a fit, and again by the first use of a model that was stored."""
        return SurfaceProjector(self._surface, float(self._surface.log_share(self.density_threshold_)))

    def __getstate__(self) -> dict[str, Any]:
        """All but the projector and its lists of neighbours, which follow from the surface."""
        return {name: value for name, value in super().__getstate__().items() if name != "_projector"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        renamed = {"_objective": "_density"}  # in older files
        super().__setstate__({renamed.get(name, name): value for name, value in state.items() if name != "_projector"})

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit latent points and return them."""
        return self.fit(X).embedding_.copy()

    def transform(self, X: Any) -> Array:
        """Latent points of rows: of the nearest point of the surface within its domain, eq. (19).

        Training rows get their points in `embedding_`, equal ones those of one of them.
        """
        return self.project(X).Z

    def project(self, X: Any) -> RowProjection:
        """Latent points of rows as `transform` gives them, squared distances from the surface, and who is outside.

        Returns
        -------
        Z : array of shape (M, n_components)
            Latent points.
        squares : array of shape (M,)
            Squared distances from the images of the points, in the entries that are known or in feature space; if the
            kernel does not know k(x, x) of new objects, in the part of it that training rows span.
        outside : array of bool of shape (M,)
            Which rows are farther from the surface than every training row is from its own leave-one-out estimate.

        Examples
        --------
        >>> from mercer import UnsupervisedKernelRegression
        >>> from mercer.datasets import make_arc
        >>> X, _ = make_arc(100, angle=4.0, noise=0.05, random_state=0)
        >>> curve = UnsupervisedKernelRegression(1, init="isomap").fit(X)
        >>> curve.project([[0.0, 1.0], [5.0, 5.0]]).outside
        array([False,  True])
        """
        check_is_fitted(self, "embedding_")
        X, dtype = self._rows(X, reset=False)
        known = self._training.known(X)
        old, new = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
        Z, squares = self.embedding_[known].astype(dtype), np.empty(len(known))
        if old.size:
            images = self._surface.images(self._units.inside(self.embedding_[known[old]].astype(np.float64)))
            squares[old] = np.nansum((self._training.points[known[old]] - images) ** 2, axis=1) * self._unit**2
        if new.size:
            found, squares[new] = self._project(X if new.size == len(Z) else some_of(X, new))
            Z[new] = self._units.outside(found)
        return RowProjection(Z, squares, (known < 0) & (squares > self._farthest))

    def _project(self, X: Any) -> SurfaceProjection:
        points, beyond = self._training.new(X)
        Z, squares = self._projector(points)
        return SurfaceProjection(Z, self._unit**2 * squares + beyond)

    def inverse_transform(self, Z: Any) -> Array:
        """Points f(z) of the surface; with a feature kernel their approximate pre-images.

        For a positive definite function of the distance these are the rows whose images are nearest to f(z), from the
        weighted means of rows; for other kernels on vectors they are the weighted means.
        """
        Z, dtype = self._latent(Z)
        if self.feature_kernel is None:
            return self._images(Z).astype(dtype, copy=False)
        return self._training.preimages(self._density.weights(Z, self._Z).T).astype(dtype, copy=False)

    def impute(self, X: Any) -> Array:
        """Rows whose missing entries, NaN, are those of the nearest point of the surface, without a feature kernel."""
        if self.feature_kernel is not None:
            raise TypeError(f"{OWNER} has no entries to fill in the feature space of {self.feature_kernel!r}.")
        images = self.inverse_transform(self.transform(X))
        X, dtype = self._rows(X, reset=False)
        return np.where(np.isnan(X), images, self._origin + self._unit * X).astype(dtype, copy=False)

    def _images(self, Z: Array) -> Array:
        """f(z) in the unit of the rows, without a feature kernel."""
        return np.asarray(self._origin + self._unit * self._surface.images(Z))

    def inner_products(self, X: Any, Z: Any) -> Array:
        """Inner products ⟨Φ(x), f(z)⟩ of rows and points of the surface in feature space, eq. (16): (len(X), len(Z)).

        Without a feature kernel those of the rows and points themselves.
        """
        Z, _ = self._latent(Z)
        X, _ = self._rows(X, reset=False)
        if self.feature_kernel is None:
            return np.asarray((self._origin + self._unit * X) @ self._images(Z).T)
        return np.asarray(self._training.against(X) @ self._density.weights(Z, self._Z))

    def density(self, Z: Any) -> Array:
        """The density p(z) = 1/N Σ_i K(z - z_i) of the latent points, in units of the kernel width."""
        return self._density(self._latent(Z)[0], self._Z)

    def reconstruction_error(self, X: Any) -> Array:
        """Squared distances of rows from the surface, in the entries that are known or in feature space."""
        check_is_fitted(self, "embedding_")
        if getattr(self.feature_kernel, "pairwise", False):
            raise TypeError(f"{self.feature_kernel!r} does not know k(x, x) of new objects, which the error needs.")
        return self._project(self._rows(X, reset=False)[0]).squares

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared distance of rows from the surface. Do not choose by it: it rises with more turns."""
        return -float(self.reconstruction_error(X).mean())

    def _latent(self, Z: Any) -> tuple[Array, Any]:
        """Checked latent points in widths of the kernel and double precision, and the precision that they had."""
        check_is_fitted(self, "embedding_")
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z", estimator=self)
        if Z.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"Z of {OWNER} must have {self.embedding_.shape[1]} columns, one for each coordinate, "
                f"got {Z.shape[1]}; give what transform returns."
            )
        return self._units.inside(Z), Z.dtype

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.feature_kernel is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = bool(getattr(self.feature_kernel, "pairwise", False))
        return tags
