"""Vector quantization: each row is replaced by one of k points."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.losses.rows import LaplaceRows, RowLoss, as_row_loss
from mercer.parameters import check_choice, check_positive
from mercer.quantizers.base import Coded, Quantizer, in_metric, out_of_metric, row_of, spread_rows

# Distances of a block of rows from all points: few enough for the processor's cache.
_DISTANCES_AT_ONCE = 2**17
# Entries of sparse rows that are made dense at a time.
_ENTRIES_AT_ONCE = 2**22
# Share of two sums below which their difference is rounding.
_SUM_ROUNDING = 1e-14
INITS = ("k-means++", "random")


class VectorQuantizer(Quantizer[Array]):
    """Points f_1, ..., f_k that minimise the mean cost of replacing each row by the best of them.

    R[f] = 1/m Σ_i min_z c(x_i, f_z): k-means for the squared cost, k-medians for l1, and between the two, k-means that
    outliers do not move, for Huber's cost.

    Parameters
    ----------
    n_clusters : int
        k.
    cost : {"squared", "l1", "huber"}, Loss or RowLoss
        "squared": ||x - f||². "l1" or ``Laplace()``: Σ_j |x_j - f_j|. "huber" or ``Huber(sigma)``: r²/(2σ) up to
        r = ||x - f|| = σ, and r - σ/2 beyond.
    sigma : float
        σ of the word "huber", in the unit of X: the distance beyond which a row is an outlier.
    metric : array of shape (d, d), optional
        A symmetric positive definite matrix D: squared distances are (x - f)ᵀ D (x - f); not for "l1".
    init : {"k-means++", "random"}, array of shape (k, d) or callable
        Where to start: rows that lie far from each other, by k-means++ for the same cost; rows drawn at random; given
        points, of which there is one start only; or what ``init(X, n_clusters, random_state=...)`` returns.
    n_init : int
        Number of starts, of which the best is kept.
    max_iter : int
        Most iterations of each start.
    tol : float
        A fit has converged when an iteration (ten of the squared cost) lowers the error by a smaller share than this.
    warm_start : bool
        Whether to start from the points of the last fit.
    verbose : bool
        Whether to show progress bars.
    callback : callable, optional
        Called as ``callback(iteration, error)``; if it returns True, the fit ends there.
    random_state : int, RandomState or None
        For the starts.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        The points f_z.
    labels_ : array of shape (n,)
        Which point each row is replaced by.
    quantization_error_ : float
        R[f] of the training rows.
    history_ : list of float
        R[f] at the start and after each iteration, which never rises; for the squared cost after every ten.
    n_iter_, status_ : int, str
        Number of iterations (new codes of all rows, and new points for them) of the start that is kept, 1 at least;
        "optimal", "max_iter" or "interrupted".

    Notes
    -----
    The squared cost is minimised by scikit-learn's `KMeans`, "l1" by medians, "huber" by means with weights
    1 / max(σ, r). Points that no row is nearest to move to the rows that are replaced worst. Random starts do not
    depend on the order of the rows. Memory: about three times X. Sparse rows stay sparse; the points are dense.
    [Smola2001]_, examples 2, 3 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorQuantizer
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [90.0]])
    >>> VectorQuantizer(2, cost="l1", random_state=0).fit(X[:5]).cluster_centers_.ravel()
    array([ 1. , 10.5])
    >>> codes = VectorQuantizer(2, random_state=0).fit(X)
    >>> codes.inverse_transform(codes.predict([[80.0], [7.0]])).ravel()
    array([90. ,  4.8])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        cost: Any = "squared",
        sigma: float = 1.0,
        metric: Any = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.cost = cost
        self.sigma = sigma
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    _accept_sparse = "csr"

    def inverse_transform(self, codes: Any) -> Array:
        """The points that stand for codes, an array of shape (n, d).

        Parameters
        ----------
        codes : array of shape (n,) or (n, k)
            Numbers of points, as `predict` gives them; or distances from all points, as `transform` gives them, of
            which the nearest counts: ``inverse_transform(transform(X))`` replaces the rows of X by their points.
        """
        check_is_fitted(self, "cluster_centers_")
        return self.cluster_centers_[self._checked_codes(codes)]

    def _check_parameters(self, n_rows: int, n_columns: int) -> None:
        super()._check_parameters(n_rows, n_columns)
        owner = type(self).__name__
        check_positive(self.sigma, "sigma", owner, "it has the unit of X")
        if not self._loss.euclidean and self._loss != LaplaceRows():
            raise ValueError(
                f"cost of {owner} must grow with the length of residuals, or be their absolute values, got "
                f"{self.cost!r}; choose 'squared', 'l1' or 'huber'."
            )
        if not self._loss.euclidean and self.metric is not None:
            raise ValueError(
                f"metric of {owner} must be None for cost={self.cost!r}, got {self.metric!r}; the others measure "
                "distances by it."
            )
        if not callable(self.init) and (isinstance(self.init, str) or np.ndim(self.init) != 2):
            check_choice(self.init, INITS, "init", owner)

    @property
    def _loss(self) -> RowLoss:
        return as_row_loss(self.cost, self.sigma, type(self).__name__)

    @property
    def _iterations_at_once(self) -> int:  # type: ignore[override]
        # KMeans does not tell the error of each iteration, and to start it again costs one more.
        return 10 if self._is_squared else 1

    @property
    def _is_squared(self) -> bool:
        return self._loss.weights(np.ones((1, 1))) is None

    @property
    def _book(self) -> Array:
        return in_metric(self.cluster_centers_, self._factor)

    def _inward(self, centre: Array, factor: Array | None) -> Array:
        return in_metric(self.cluster_centers_ - centre, factor)

    def _outward(self, book: Array, centre: Array, factor: Array | None) -> None:
        self.cluster_centers_ = out_of_metric(book, factor) + centre

    def _starts(self, X: Any, n_init: int, rng: Any, centre: Array, factor: Array | None) -> Iterable[Array | None]:
        if isinstance(self.init, str):
            return super()._starts(X, n_init, rng, centre, factor)
        if callable(self.init):
            given = (self.init(X, int(self.n_clusters), random_state=rng) for _ in range(n_init))
        else:
            given = (points for points in [self.init])
        return (in_metric(self._checked_points(points, X.shape[1]) - centre, factor) for points in given)

    def _checked_points(self, points: Any, n_columns: int) -> Array:
        points = check_array(points, dtype=np.float64, input_name="init", estimator=self)
        shape = (int(self.n_clusters), n_columns)
        if points.shape != shape:
            raise ValueError(
                f"init of {type(self).__name__} must give points of shape {shape}, got shape {points.shape}; give one "
                "row for each of n_clusters."
            )
        return np.asarray(points)

    def _start(self, rows: Any, weight: Array, rng: Any) -> Array:
        k = int(self.n_clusters)
        if self.init == "random":
            chosen = rng.choice(rows.shape[0], k, replace=False, p=weight / weight.sum())
        else:
            chosen = spread_rows(rows, weight, k, rng, self._costs_of_one)
        return np.array([row_of(rows, row) for row in chosen])

    def _costs(self, distances: Array) -> Array:
        """Costs of rows at these distances from their points."""
        return self._loss.of_residuals(distances[:, None])

    def _costs_of_one(self, rows: Any, point: Array) -> Array:
        """Costs of replacing all rows by one point."""
        return self._costs(self._distances(rows, point[None])[:, 0])

    def _assign(self, rows: Any, book: Array) -> Coded[Array]:
        n = rows.shape[0]
        labels, nearest = np.empty(n, dtype=np.intp), np.empty(n)
        height = max(1, _DISTANCES_AT_ONCE // len(book))
        for start in range(0, n, height):
            part = slice(start, start + height)
            distances = self._distances(rows[part], book)
            labels[part], nearest[part] = distances.argmin(axis=1), distances.min(axis=1)
        return Coded(book, labels, self._costs(nearest))

    def _distances(self, rows: Any, book: Array) -> Array:
        if sparse.issparse(rows):
            return np.column_stack([_sparse_distances(rows, point, self._loss.euclidean) for point in book])
        return cdist(rows, book, "euclidean" if self._loss.euclidean else "cityblock")

    def _update(self, rows: Any, weight: Array, coded: Coded[Array]) -> tuple[Array, int]:
        if self._is_squared:
            return self._lloyd(rows, weight, coded)
        book = coded.book.copy()
        for code in np.unique(coded.labels):
            own = np.flatnonzero(coded.labels == code)
            if self._loss.euclidean:
                weights = weight[own] * np.asarray(self._loss.weights(self._distances(rows[own], book[[code]])))[:, 0]
                book[code] = weights @ rows[own] / weights.sum()
            else:
                book[code] = _medians(rows[own], weight[own])
        return book, 1

    def _lloyd(self, rows: Any, weight: Array, coded: Coded[Array]) -> tuple[Array, int]:
        most = min(self._iterations_at_once, int(self.max_iter) - coded.n_iter)
        means = KMeans(len(coded.book), init=coded.book, n_init=1, max_iter=most, tol=0.0)
        with warnings.catch_warnings():
            # Codes that are not needed are counted at the end.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means.fit(rows, sample_weight=weight)
        return np.asarray(means.cluster_centers_), int(means.n_iter_)

    def _moved(self, rows: Any, coded: Coded[Array], code: int, row: int) -> tuple[Array, Array]:
        book = coded.book.copy()
        book[code] = row_of(rows, row)
        return book, self._costs_of_one(rows, book[code])


def _sparse_distances(rows: Any, point: Array, euclidean: bool) -> Array:
    """Distances of sparse rows from a point, by changes at the entries that are not zero."""
    power = 2 if euclidean else 1
    there = np.abs(point[rows.indices]) ** power
    here = np.abs(rows.data - point[rows.indices]) ** power
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    total = np.sum(np.abs(point) ** power)
    removed, added = (np.bincount(row, values, minlength=rows.shape[0]) for values in (there, here))
    distances = total - removed + added
    # The difference of equal sums is rounding.
    distances[distances < _SUM_ROUNDING * (total + added)] = 0.0
    return np.sqrt(distances) if euclidean else distances


def _medians(rows: Any, weight: Array) -> Array:
    """Medians of the columns; sparse rows are made dense for a few columns at a time."""
    if not sparse.issparse(rows):
        return weighted_medians(rows, weight)
    columns, width = rows.tocsc(), max(1, _ENTRIES_AT_ONCE // rows.shape[0])
    parts = [columns[:, start : start + width].toarray() for start in range(0, rows.shape[1], width)]
    return np.concatenate([weighted_medians(part, weight) for part in parts])


def weighted_medians(rows: Array, weight: Array) -> Array:
    """The median of each column, which minimises Σ_i weight_i |x_i - c|: of two middle values the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.quantizers import weighted_medians
    >>> weighted_medians(np.array([[0.0], [1.0], [5.0], [9.0]]), np.array([1.0, 1.0, 1.0, 4.0]))
    array([9.])
    """
    if np.ptp(weight) == 0:
        return np.asarray(np.median(rows, axis=0))
    order = np.argsort(rows, axis=0)
    ordered = np.take_along_axis(rows, order, axis=0)
    below = np.cumsum(weight[order], axis=0)
    half = below[-1] / 2
    low = np.argmax(below >= half * (1 - 1e-12), axis=0)
    high = np.argmax(below > half * (1 + 1e-12), axis=0)
    columns = np.arange(rows.shape[1])
    return (ordered[low, columns] + ordered[high, columns]) / 2
