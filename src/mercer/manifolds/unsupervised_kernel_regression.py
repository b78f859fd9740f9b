"""Unsupervised kernel regression: a surface through the data with no basis and no penalty to choose."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.components import fixed_point_preimages
from mercer.graphs import NeighbourSearch
from mercer.hosts import ArrayRows, column_means, largest_deviation
from mercer.kernels import Kernel
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.manifolds.latent.known_rows import check_known_rows
from mercer.manifolds.latent.starts import filled
from mercer.manifolds.ukr.domain import count_pieces, density_threshold
from mercer.manifolds.ukr.fitting import LatentFit
from mercer.manifolds.ukr.projection import RowProjection, SurfaceProjection, SurfaceProjector
from mercer.manifolds.ukr.rows import DataRows, FeatureRows, count_of, some_of
from mercer.manifolds.ukr.settings import OWNER, settings_of
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.training import Training, train
from mercer.manifolds.ukr.tuning import TUNING, Tuning
from mercer.manifolds.ukr.units import LatentUnits
from mercer.running import Status, raise_if_interrupted, unless_interrupted

Array = NDArray[Any]

_FEWEST_ROWS = 4
# Columns of the table of starts that are values of the objective.
_ERRORS = {"objective", "leave_one_out_error", "descended"}


class UnsupervisedKernelRegression(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A surface f(z) = Σ_i K(z - z_i) x_i / Σ_j K(z - z_j) through data, with the latent points z_i of its rows.

    Minimises the mean of ||x_i - f_(-i)(z_i)||² over all latent points, where f_(-i) is the kernel regression without
    row i (and without its nearest latent neighbours). There is nothing else to choose: the scale of the latent points
    decides how smooth the surface is.

    Parameters
    ----------
    n_components : int
        Number of latent coordinates.
    density_kernel : {"gaussian", "quartic"} or DensityKernel
        K: exp(-||z||²/2), or (1 - ||z||²)² within distance 1, which is sparse: for many rows.
    feature_kernel : Kernel, optional
        Surface in the feature space of a kernel, positive definite or conditionally so of order 1: `L1` for absolute
        differences, `WeightedDegree` for strings, `Precomputed` for a given matrix. It takes O(N²) memory.
    objective : {"auto", "leave_one_out", "leave_neighbours_out"}
        "leave_one_out": eq. (10) of [Meinicke2005]_. "leave_neighbours_out": f_(-i) is without the `n_excluded` nearest
        latent neighbours, too; this is what "auto" stands for, see Notes.
    n_excluded : int or "auto"
        "auto": one in 40 rows on a curve, one in 160 on a surface, and so on, from 5 to 20; fewer where the rows do not
        lie near a surface, see Notes. Of N > 3000 rows what it is for 3000, times (N / 3000)^(4 / (n_components + 4)),
        as which the number of rows within reach grows; with a warm start what it was. A number is that of all N rows;
        a sample of 3000 leaves out the same share of those within reach, (3000 / N)^(4 / (n_components + 4)) of it.
    init : "auto", str or array of shape (N, n_components)
        Start. "pca" (kernel PCA in feature space), "isomap", "eigenmaps" and "lle" are tried with several numbers of
        neighbours, "lle-12" with one, and "auto" tries all of them; or coordinates. All are brought to the best scale
        by the objective. Of several, all descend for 10 iterations, the better half of them for 20 and the better half
        of these for 60; the one with the least objective is taken. More than 3000 rows are started from a sample of so
        many, see Notes. "manifold" is a soft principal manifold with settings by rule. For surfaces of 500 rows of
        numbers and more, with the Gaussian kernel and neighbours left out, "auto" has but three starts, "pca",
        "manifold" and "isomap-12", on 2000 rows at most; if the objective of the manifold is less than 0.9 times those
        of the others before any descent it is taken at once, and is then the only one in the table.
    optimizer : {"auto", "rprop", "lbfgs", "rprop+lbfgs"}
        "auto": "rprop" if neighbours are left out, else both.
    homotopy : bool or sequence of float
        Whether to unfold a start step by step, among points whose density is above falling thresholds (given as shares
        of K(0)): step 4 of the paper. The start is shrunk first, a warm start, too: take False to go on from where the
        last fit ended. On oil flow, from "pca", it led to a leave-one-out error of 0.0364 instead of 0.0367, in three
        times the time.
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
        of several, with their number and the rows that are looked at; ends the fit if it returns True, as Ctrl-C does.
        Then `status_` is "interrupted", the points are the best so far, and what was not compared is not in the table.
    random_state : int, RandomState or None
        Chooses the sample of many rows.

    Attributes
    ----------
    embedding_ : array of shape (N, n_components)
        Latent points, in single precision if the rows were. Lines are in widths of the kernel, with mean zero: the
        domain is no box that could be scaled to [-1, 1], but where points are dense, and a width is the distance within
        which they are averaged. Circles have period 2.
    objective_, history_ : float, list of float
        What was minimised, in the end, and at the start and after each iteration on all rows: it never rises, and
        begins with what `candidates_` tells of the start, if this was of all rows. With a homotopy it begins with the
        start that was shrunk, and iterations of the homotopy come first. If pieces were brought together in the end,
        the objective may be a little above the last of them, by 5 % at most. Fits with three starts, or from
        "manifold", descend by lists of latent neighbours, in single precision, which counts as one iteration; up to
        3000 rows ten by all pairs follow. Of more rows objectives and `leave_one_out_error_` are by such lists, too.
    leave_one_out_error_ : float
        Eq. (10) in the end, whatever was minimised.
    n_iter_, status_ : int, str
        Number of iterations, with those of a homotopy; "optimal", "max_iter" or "interrupted".
    init_, candidates_ : str, dict of lists
        The start, and the table of all, on the sample if there was one: name ("start"), "objective" and
        "leave_one_out_error", each at its best scale and with pieces brought together, and the objective after a short
        descent ("descended", NaN without one) of so many "iterations". Scales are found on a grid around that of the
        likelihood, which is extended while the best lies on its edge, and from there by a direct search.
    n_excluded_, periods_ : int, array of shape (n_components,)
        What was used; periods in widths, infinite for lines.
    density_threshold_ : float
        The least density of the domain, in the units of `density`.
    n_pieces_ : int
        Number of pieces that the domain has: surfaces may have holes, and gaps. How far apart pieces are means nothing,
        once the kernel does not reach across: they are moved until gaps are of 6 widths (quartic: 2), without circles.

    Notes
    -----
    Leave-one-out is not honest here, since z_i was fitted to x_i: the longer it is minimised, the more the surface
    follows the noise. Medians of three draws whose truth is known, leave-one-out (500 iterations) / neighbours left
    out, of the mean squared distance of the surface from the true one, the length of curves as a share of the true one,
    and the correlation with the true place (of ranks, around the circle; R² of the sheet):

    =====================  ===============  ===========  =============
    data                   distance         length       correlation
    =====================  ===============  ===========  =============
    spiral, 300 x 0.05     0.0024 / 0.0004  1.59 / 0.98  1.000 / 1.000
    arc, 100 x 0.1         0.0101 / 0.0018  2.30 / 1.03  0.993 / 0.993
    arc, 300 x 0.1         0.0096 / 0.0009  3.85 / 1.03  0.995 / 0.995
    arc, 300 x 0.2         0.0344 / 0.0202  6.85 / 2.37  0.983 / 0.984
    circle, 300 x 0.1      0.0051 / 0.0007  1.51 / 1.01  0.984 / 0.994
    S-sheet, 300 x 0.1     0.0085 / 0.0025               0.943 / 0.976
    S-sheet, 1000 x 0.05   0.0019 / 0.0006               0.975 / 0.989
    =====================  ===============  ===========  =============

    (300 x 0.05: 300 rows with noise of deviation 0.05.) Where noise is as large as on the fourth line, more neighbours
    should be left out: 20 of 300 give 0.0035 and 1.07 there, but on the spiral 0.0009. The number grows with the rows,
    since more are within reach: in one draw, 0 / 7 / 20 left out of 300 rows of the spiral give distances of 0.0022 /
    0.0002 / 0.0004, and out of 1000 rows 0.0023 / 0.0002 / 0.0001 (`benchmarks/ukr_defaults.py neighbours`).

    Rows that do not lie near a surface of so few dimensions are another matter: what it leaves of them is structure,
    which is blurred if many neighbours are left out. So "auto" asks, after 60 iterations from the best start, which
    share ρ of its residual in half of the columns a row has in common with the row nearest to it in the other half: of
    noise that is independent in each column none. The mean of (1 - ρ) / ρ such residuals is as much structure as noise;
    if this is less than the number above, so many are left out, and starts compared again. In feature space, and with
    2 n_components + 1 columns or fewer, it is the number above. On sheets in 12 columns with noise it stays, on classes
    of four dimensions, 1000 rows, it falls from 6 to 2, and errors of nearest neighbours of new rows from 6.9 to 4.2 %,
    leave-one-out 1.6 % (`benchmarks/ukr_defaults.py structure --small`). On 2000 images of USPS these errors are
    9.2 % (3 of 12 left out), leave-one-out 8.1 %, of 1000 digits of scikit-learn 4.5 and 4.1 %, of oil flow 0.5 and
    0.8 % (`benchmarks/ukr.py peers`): take "leave_one_out" where the map is for neighbours and not for the surface.

    The objective jumps where neighbours that are left out change places, and the fit may end at such a place. To go on
    from there with shorter steps lowers it by up to a tenth, and takes the surface from the truth: in one draw from
    0.0129 to 0.0152 on the arc (300 x 0.2), and from 0.0027 to 0.0029 on the S-sheet (300 x 0.1).

    Rows may have missing entries, NaN: each column is averaged over the rows where it is known, and `impute` fills
    them. Lists need complete rows: missing entries are then those of the surface, but for the last iterations. Rows are
    centred, and divided by one number, before anything else. The objective is not
    convex: its minimum depends on the start. Time of an iteration is O(N² d) for the Gaussian kernel, and O(d) for each
    pair of rows within reach for the quartic one; memory is a few copies of the data.

    More than 3000 rows (2000 with three starts) are fitted by way of a sample of so many: the others are projected
    on its surface, as new ones are, and few iterations on all follow, with a kernel that is narrower by (N /
    3000)^(1 / (n_components + 4)). With three starts, an iteration takes time that is linear in the rows, and of
    more than 20,000 rows 10,000 make the surface, which the others are projected on. Given coordinates, rows of a
    feature kernel and a warm start are fitted at once. An iteration with the quartic kernel then takes O(N^(5/3))
    time for two coordinates. Fewer rows within reach take less, and follow the noise: 20,000 rows of the spiral
    make a curve of 1.06 times its true length with 390 in reach and 91 of these left out, of 3.3 times with 105 and
    20. `benchmarks/ukr.py large` has times and errors of the quartic kernel.

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

    # Fit -------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit latent points to the rows of X; y is ignored."""
        X, dtype = self._rows(X, reset=True)
        settings = settings_of(self, count_of(X), self._tuning)
        self._check_components(settings.space.n_dims, X)
        settings, some, part = replace(settings, callback=self._told()), None, X
        if settings.n_rows < count_of(X):
            some, part = ArrayRows(X).sample(settings.n_rows, self.random_state)
        kernel = self.feature_kernel
        rows: Any = DataRows(part) if kernel is None else FeatureRows(clone(kernel), X, OWNER)
        self._store(train(settings, rows, self._previous(count_of(X), some, settings.space)), rows, dtype)
        if some is not None:
            self._place_others(X, some, dtype)
        if self.status_ == Status.MAX_ITER:
            remedy = "raise max_iter or tol, or fit again with warm_start=True."
            if not self.n_excluded_:
                remedy += " With leave-one-out, more iterations also follow the noise more closely."
            warnings.warn(
                f"{OWNER} did not converge in {settings.max_iter} iterations; {remedy}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _told(self) -> Callable[[int, LatentFit], Any] | None:
        """The callback, told of values in the unit of the rows."""
        if self.callback is None:
            return None
        callback, square = self.callback, self._unit**2
        return lambda n_iter, fit: callback(
            n_iter,
            replace(fit, objective=square * fit.objective, history=[square * value for value in fit.history]),
        )

    def _rows(self, X: Any, *, reset: bool) -> tuple[Any, Any]:
        """Validated rows in double precision, and the precision that they had.

        They are less the means of the columns, and divided by one number: squares must be numbers in single precision,
        and digits are not to be lost where rows are far from zero. Kernels validate other objects than vectors, and
        take them as they are.
        """
        kernel, dtype = self.feature_kernel, np.dtype(np.float64)
        if kernel is not None and not isinstance(kernel, Kernel):
            raise TypeError(
                f"feature_kernel of {OWNER} must be a Kernel or None, got {kernel!r}; wrap a function in "
                "mercer.kernels.FromFunction."
            )
        if kernel is not None and not kernel.takes_vectors:
            X = indexable_rows(X)
        else:
            finite: Any = "allow-nan" if kernel is None else True
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=finite, reset=reset)
            X, dtype = X.astype(np.float64, copy=False), X.dtype
        if reset and count_of(X) < _FEWEST_ROWS:
            raise ValueError(
                f"X of {OWNER} must have {_FEWEST_ROWS} rows or more, got {count_of(X)} sample(s); there is nothing to "
                "leave out."
            )
        if kernel is not None:
            self._unit = 1.0
            return X, dtype
        check_known_rows(X, OWNER, "surface", training=reset)
        if reset:
            rows = ArrayRows(X)
            self._origin = column_means(rows)
            # The power of two next above the largest deviation.
            self._unit = float(np.ldexp(1.0, int(np.frexp(largest_deviation(rows, self._origin))[1])))
        return (X - self._origin) / self._unit, dtype

    def _check_components(self, q: int, X: Any) -> None:
        most = X.shape[1] if self.feature_kernel is None else count_of(X) - 1
        if q > most:
            what = "columns, n_features" if self.feature_kernel is None else "rows less one, n_samples - 1"
            raise ValueError(
                f"n_components of {OWNER} must be at most the number of {what}={most}, got {q!r}; ask for fewer "
                "coordinates."
            )

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
        fit, self._units = training.fit, training.units
        self._density = training.problem.density
        lines = ~self._units.is_circle
        Z = fit.Z - np.where(lines, fit.Z.mean(axis=0), 0.0)
        Z = self._units.outside(Z)
        self.embedding_, self._Z = Z.astype(dtype), self._units.inside(Z)
        square = self._unit**2
        self.objective_, self.history_ = square * fit.objective, [square * value for value in fit.history]
        self.n_iter_, self.status_ = fit.n_iter, fit.status
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
        Z, others = np.empty((len(X), self.embedding_.shape[1])), np.setdiff1d(np.arange(len(X)), some)
        Z[some] = self.embedding_

        def found() -> Array:
            raise_if_interrupted(self.status_)
            return self._units.outside(self._projector(X[others]).Z)

        def nearest() -> Array:
            self.status_ = Status.INTERRUPTED
            return Z[some[NeighbourSearch(filled(X[some])).of(np.nan_to_num(X[others]), 1)[1][:, 0]]]

        Z[others] = unless_interrupted(found, nearest)
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

    # Use -------------------------------------------------------------------------------------------------------------

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
        kernel = self.feature_kernel
        if kernel is None:
            return self._images(Z).astype(dtype, copy=False)
        if kernel.pairwise or not kernel.takes_vectors:
            raise TypeError(f"{kernel!r} was not given vectors, so that there are no rows to go back to.")
        weights = self._density.weights(Z, self._Z).T
        weights = weights.toarray() if sparse.issparse(weights) else weights
        means = np.asarray(weights @ self._training.objects)
        if kernel.stationary and kernel.order == 0:
            means = fixed_point_preimages(kernel, self._training.objects, weights, means)
        return means.astype(dtype, copy=False)

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
                f"Z of {OWNER} must have {self.embedding_.shape[1]} columns, one for each coordinate, got "
                f"{Z.shape[1]}; give what transform returns."
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
