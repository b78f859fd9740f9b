"""Vector quantization: each row is replaced by one of k points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.parameters import check_choice, check_positive
from mercer.quantizers.base import Coded, Quantizer, spread_rows
from mercer.quantizers.costs import COSTS, HuberCost, cost_of

Array = NDArray[Any]

# Distances of a block of rows from all points: few enough for the processor's cache.
_BLOCK = 2**17


class VectorQuantizer(Quantizer[Array]):
    """Points f_1, ..., f_k that minimise the mean cost of replacing each row by the best of them.

    R[f] = 1/m Σ_i min_z c(x_i, f_z): k-means for the squared cost, k-medians for l1, and between the two, k-means that
    outliers do not move, for Huber's cost.

    Parameters
    ----------
    n_clusters : int
        k.
    cost : {"squared", "l1", "huber"}
        "squared": ||x - f||². "l1": Σ_j |x_j - f_j|. "huber": r²/(2σ) up to r = ||x - f|| = σ, and r - σ/2 beyond.
    sigma : float
        σ of "huber", in the unit of X: the distance beyond which a row is an outlier.
    metric : array of shape (d, d), optional
        A symmetric positive definite matrix D: squared distances are (x - f)ᵀ D (x - f); not for "l1".
    n_init : int
        Number of random starts by k-means++ for the same cost, of which the best is kept.
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
        Number of iterations; "optimal", "max_iter" or "interrupted".

    Notes
    -----
    The squared cost is minimised by scikit-learn's `KMeans`, "l1" by medians, "huber" by means with weights
    1 / max(σ, r). Points that no row is nearest to move to the rows that are replaced worst. Memory: about three times
    X. [Smola2001]_, examples 2, 3 and 5.

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
        cost: str = "squared",
        sigma: float = 1.0,
        metric: Any = None,
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
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def inverse_transform(self, codes: Any) -> Array:
        """The points that stand for codes, as `predict` gives them: an array of shape (n, d)."""
        check_is_fitted(self, "cluster_centers_")
        return self.cluster_centers_[self._checked_codes(codes)]

    def _check_parameters(self, n_rows: int, n_columns: int) -> None:
        super()._check_parameters(n_rows, n_columns)
        owner = type(self).__name__
        check_choice(self.cost, COSTS, "cost", owner)
        check_positive(self.sigma, "sigma", owner, "it has the unit of X")
        if self.metric is not None and self.cost == "l1":
            raise ValueError(
                f"metric of {type(self).__name__} must be None for cost='l1', got {self.metric!r}; the others measure "
                "distances by it."
            )

    @property
    def _iterations_at_once(self) -> int:  # type: ignore[override]
        # KMeans does not tell the error of each iteration, and to start it again costs one more.
        return 10 if self.cost == "squared" else 1

    @property
    def _book(self) -> Array:
        return np.asarray(self.cluster_centers_ @ self._factor)

    def _inward(self, centre: Array, factor: Array) -> Array:
        return np.asarray((self.cluster_centers_ - centre) @ factor)

    def _outward(self, book: Array, centre: Array, factor: Array) -> None:
        self.cluster_centers_ = solve_triangular(factor, book.T, lower=True, trans="T").T + centre

    def _start(self, rows: Array, weight: Array, rng: Any) -> Array:
        return rows[spread_rows(rows, weight, int(self.n_clusters), rng, self._costs_of_one)]

    def _costs_of_one(self, rows: Array, points: Array) -> Array:
        """Costs of replacing rows by one point, or by one each."""
        return cost_of(self.cost, self.sigma).of_residuals(rows - points)

    def _assign(self, rows: Array, book: Array) -> Coded[Array]:
        height = max(1, _BLOCK // len(book))
        blocks = [rows[start : start + height] for start in range(0, len(rows), height)]
        labels = np.concatenate([self._distances(block, book).argmin(axis=1) for block in blocks])
        return Coded(book, labels, self._costs_of_one(rows, book[labels]))

    def _distances(self, rows: Array, book: Array) -> Array:
        return cdist(rows, book, "cityblock" if self.cost == "l1" else "euclidean")

    def _update(self, rows: Array, weight: Array, coded: Coded[Array]) -> Array:
        if self.cost == "squared":
            return self._lloyd(rows, weight, coded.book)
        book = coded.book.copy()
        for code in np.unique(coded.labels):
            own = np.flatnonzero(coded.labels == code)
            if self.cost == "l1":
                book[code] = weighted_medians(rows[own], weight[own])
            else:
                weights = HuberCost(float(self.sigma)).weights(rows[own] - book[code])[:, 0]
                book[code] = np.average(rows[own], axis=0, weights=weight[own] * weights)
        return book

    def _lloyd(self, rows: Array, weight: Array, book: Array) -> Array:
        means = KMeans(len(book), init=book, n_init=1, max_iter=self._iterations_at_once, tol=0.0)
        with warnings.catch_warnings():
            # Codes that are not needed are counted at the end.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(means.fit(rows, sample_weight=weight).cluster_centers_)

    def _moved(self, rows: Array, coded: Coded[Array], code: int, row: int) -> tuple[Array, Array]:
        book = coded.book.copy()
        book[code] = rows[row]
        return book, self._costs_of_one(rows, rows[row])


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
