"""What all quantizers share: rows in the metric, several starts, codes and errors."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.parameters import check_count
from mercer.running import Run, Status, Stopping, best_of, descend

Book = TypeVar("Book")

# Share of the largest entry by which a metric may fail to be symmetric: what rounding leaves.
_ASYMMETRY = 1e-10


class Coded(NamedTuple, Generic[Book]):
    """A code book, the code of each row, what the error of each row costs, and the iterations that it took."""

    book: Book
    labels: Array
    costs: Array
    n_iter: int = 0


class Quantizer(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator, ABC, Generic[Book]):
    """Base of estimators that replace each row by the best of `n_clusters` codes and minimise the mean cost.

    R[f] = 1/m Σ_i min_z c(x_i, f(z)) falls in both halves of a step: the choice of codes, and the change of the code
    book f. What a concrete quantizer provides works on rows that were multiplied by a factor of the metric.
    """

    n_clusters: Any
    metric: Any
    n_init: Any
    max_iter: Any
    tol: Any
    warm_start: Any
    random_state: Any

    # Most iterations that one value of `history_` stands for.
    _iterations_at_once = 1
    _accept_sparse: str | bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the codes of the rows of X, each with a weight; y is ignored."""
        stopping = Stopping.of(self)
        n_init = self._count("n_init")
        X = self._validated(X, reset=True)
        check_magnitude(X, type(self).__name__)
        weight = self._checked_weights(sample_weight, X)
        used = np.flatnonzero(weight)
        self._check_parameters(len(used), X.shape[1])
        rows, weight = X[used], weight[used] / weight[used].mean()
        factor = self._metric_factor(rows)
        # Sums of squares lose no digits on centred rows, but sparse ones must not be centred.
        sparse_rows = sparse.issparse(X)
        centre = np.zeros(X.shape[1]) if sparse_rows else np.average(rows, axis=0, weights=weight)
        rng = check_random_state(self.random_state)
        if self.warm_start and self._has_book(X.shape[1]):
            starts: Iterable[Book | None] = [self._inward(centre, factor)]
        else:
            starts = self._starts(rows, n_init, rng, centre, factor)
        rows = rows.astype(np.float64) if sparse_rows else in_metric(rows - centre, factor)
        # Rows that are ordered by their values let random starts depend neither on the order that is given, nor on
        # whether a row is repeated or has a weight.
        order = np.argsort(rows @ np.random.default_rng(0).uniform(1.0, 2.0, X.shape[1]), kind="stable")
        runs = self._runs(rows[order], weight[order], starts, stopping, rng)
        best = best_of(runs)
        self._outward(best.state.book, centre, factor)
        self.history_ = best.history
        self.status_ = Status.INTERRUPTED if runs[-1].status == Status.INTERRUPTED else best.status
        self.n_iter_ = max(1, best.state.n_iter)
        self.quantization_error_ = best.value
        self.labels_ = self._coded(X).labels
        best.warn_unless_converged(type(self).__name__, self.n_iter_)
        n_used = len(np.unique(self.labels_))
        if n_used < int(self.n_clusters):
            warnings.warn(
                f"{type(self).__name__} needs {n_used} of its {self.n_clusters} codes; the rows hold no more that "
                "differ, so lower n_clusters.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Find the codes of the rows of X and return which one each row has."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> Array:
        """The number of the code that each row of X is best replaced by."""
        return self._coded(self._new_rows(X)).labels

    def transform(self, X: Any) -> Array:
        """Distances of the rows of X from what each code stands for, an array of shape (n, n_clusters)."""
        X = self._new_rows(X)
        return self._distances(in_metric(X, self._factor), self._book).astype(X.dtype, copy=False)

    def quantization_error(self, X: Any, sample_weight: Any = None) -> float:
        """The mean cost of replacing the rows of X by their codes, R[f] of [Smola2001]_, equation (3)."""
        X = self._new_rows(X)
        return _mean(self._coded(X).costs, self._checked_weights(sample_weight, X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean cost with a minus sign: larger is better."""
        return -self.quantization_error(X, sample_weight)

    # What a concrete quantizer provides ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _book(self) -> Book:
        """The fitted code book, in the metric."""

    @abstractmethod
    def _inward(self, centre: Array, factor: Array | None) -> Book:
        """The fitted code book, for rows (x - centre) factor."""

    @abstractmethod
    def _outward(self, book: Book, centre: Array, factor: Array | None) -> None:
        """Store a code book that was found for rows (x - centre) factor."""

    def _starts(self, X: Array, n_init: int, rng: Any, centre: Array, factor: Array | None) -> Iterable[Book | None]:
        """Code books to start from, for rows (x - centre) factor; None for a random one."""
        return [None] * n_init

    @abstractmethod
    def _start(self, rows: Array, weight: Array, rng: Any) -> Book:
        """A random code book."""

    @abstractmethod
    def _assign(self, rows: Array, book: Book) -> Coded[Book]:
        """The best code of each row."""

    @abstractmethod
    def _distances(self, rows: Array, book: Book) -> Array:
        """Distances of all rows from all codes."""

    @abstractmethod
    def _update(self, rows: Array, weight: Array, coded: Coded[Book]) -> tuple[Book, int]:
        """The best code book, or a better one, for these codes of the rows, and how many iterations that took."""

    @abstractmethod
    def _moved(self, rows: Array, coded: Coded[Book], code: int, row: int) -> tuple[Book, Array]:
        """A book in which one code stands for a row exactly, and the costs of all rows with that code."""

    # Steps -----------------------------------------------------------------------------------------------------------

    def _runs(
        self, rows: Array, weight: Array, starts: Iterable[Book | None], stopping: Stopping, rng: Any
    ) -> list[Run[Coded[Book]]]:
        """Descents from given code books, or from random ones, until one is interrupted."""
        stopping = replace(stopping, max_iter=-(-stopping.max_iter // self._iterations_at_once))
        runs: list[Run[Coded[Book]]] = []
        for given in starts:
            book = self._start(rows, weight, rng) if given is None else given
            coded = self._refilled(rows, weight, self._assign(rows, book))
            value = _mean(coded.costs, weight)
            step = partial(self._step, rows, weight)
            runs.append(descend(coded, value, step, stopping, name=type(self).__name__))
            if runs[-1].status == Status.INTERRUPTED:
                break
        return runs

    def _step(self, rows: Array, weight: Array, coded: Coded[Book]) -> tuple[Coded[Book], float]:
        book, n_iter = self._update(rows, weight, coded)
        n_iter += coded.n_iter
        coded = self._refilled(rows, weight, self._assign(rows, book))._replace(n_iter=n_iter)
        return coded, _mean(coded.costs, weight)

    def _refilled(self, rows: Array, weight: Array, coded: Coded[Book]) -> Coded[Book]:
        """Move codes that no row has to the rows that are replaced worst, which lowers the error."""
        for code in np.flatnonzero(np.bincount(coded.labels, minlength=int(self.n_clusters)) == 0):
            worst = int(np.argmax(weight * coded.costs))
            if coded.costs[worst] == 0:
                break
            book, costs = self._moved(rows, coded, int(code), worst)
            better = costs < coded.costs
            coded = Coded(book, np.where(better, code, coded.labels), np.where(better, costs, coded.costs))
        return coded

    def _coded(self, X: Array) -> Coded[Book]:
        return self._assign(in_metric(X, self._factor), self._book)

    def _has_book(self, n_columns: int) -> bool:
        centers = getattr(self, "cluster_centers_", None)
        return centers is not None and centers.shape == (int(self.n_clusters), n_columns)

    def _checked_codes(self, codes: Any) -> Array:
        """Codes as `predict` gives them; of distances as `transform` gives them, the nearest."""
        codes, k = np.asarray(codes), len(self.cluster_centers_)
        if codes.ndim == 2 and codes.shape[1] == k and codes.dtype.kind == "f":
            assert_all_finite(codes, input_name="codes", estimator_name=type(self).__name__)
            return np.argmin(codes, axis=1)
        if codes.ndim != 1 or codes.dtype.kind not in "iu" or not np.all((codes >= 0) & (codes < k)):
            raise ValueError(
                f"codes of {type(self).__name__} must be a list of whole numbers from 0 to {k - 1}, got {codes!r}; "
                "give what predict or transform returns."
            )
        return codes

    # Checks ----------------------------------------------------------------------------------------------------------

    def _check_parameters(self, n_rows: int, n_columns: int) -> None:
        k = self._count("n_clusters")
        if k > n_rows:
            raise ValueError(
                f"n_clusters of {type(self).__name__} must be at most the number of rows with weight, n_samples="
                f"{n_rows}, got {k}; ask for fewer."
            )

    def _count(self, parameter: str) -> int:
        return check_count(getattr(self, parameter), parameter, type(self).__name__)

    def _metric_factor(self, X: Array) -> Array | None:
        """L with D = L Lᵀ, so that (x - f)ᵀ D (x - f) = ||(x - f) L||²; kept for new rows. None stands for D = I."""
        owner, n_columns = type(self).__name__, X.shape[1]
        self._factor: Array | None = None
        if self.metric is None:
            return None
        if sparse.issparse(X):
            raise ValueError(
                f"metric of {owner} must be None for sparse rows, got {self.metric!r}; multiply the rows by a factor "
                "of it, or make them dense."
            )
        D = check_array(self.metric, dtype=np.float64, input_name="metric", estimator=self)
        if D.shape != (n_columns, n_columns) or np.abs(D - D.T).max() > _ASYMMETRY * np.abs(D).max():
            raise ValueError(
                f"metric of {owner} must be a symmetric matrix of shape {(n_columns, n_columns)}, got {self.metric!r}; "
                "give (D + D.T) / 2."
            )
        try:
            self._factor = cholesky(D, lower=True)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"metric of {owner} must be positive definite, got {self.metric!r}; add a multiple of the identity."
            ) from error
        return self._factor

    def _checked_weights(self, sample_weight: Any, X: Array) -> Array:
        weight = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
        if np.any(weight < 0) or not np.any(weight > 0):
            raise ValueError(
                f"sample_weight of {type(self).__name__} must be non-negative and not all zero, got {sample_weight!r}; "
                "leave rows out instead."
            )
        # Only ratios matter, and sums of huge weights would overflow.
        return weight / weight.max()

    def _new_rows(self, X: Any) -> Array:
        check_is_fitted(self, "cluster_centers_")
        return self._validated(X, reset=False)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        options = {"accept_sparse": self._accept_sparse, "dtype": [np.float64, np.float32], "reset": reset}
        X = validate_data(self, X, **options)
        return sparse.csr_array(X) if sparse.issparse(X) else X

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = bool(self._accept_sparse)
        return tags


def check_magnitude(X: Array, owner: str, limit: float = 1e150) -> None:
    """Refuse rows whose squared distances are no numbers of double precision, or rounding alone; NaN does not count."""
    if sparse.issparse(X):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    largest = float(np.fmax.reduce(np.maximum(high, -low)))
    if largest > limit:
        raise ValueError(f"X of {owner} must be at most {limit:g}, got {largest:g}; take another unit.")
    spread = float(np.fmax.reduce(high - low))
    if 0 < spread < 1 / limit:
        raise ValueError(
            f"X of {owner} must have rows that differ by {1 / limit:g} or more, or not at all, got {spread:g}; "
            "take another unit."
        )


def in_metric(rows: Array, factor: Array | None) -> Array:
    """Rows multiplied by a factor of the metric."""
    return rows if factor is None else np.asarray(rows @ factor)


def out_of_metric(rows: Array, factor: Array | None) -> Array:
    """The inverse of `in_metric`."""
    return rows if factor is None else np.asarray(solve_triangular(factor, rows.T, lower=True, trans="T").T)


def _mean(costs: Array, weight: Array) -> float:
    return float(np.average(costs, weights=weight))


def spread_rows(rows: Array, weight: Array, k: int, rng: Any, cost: Any) -> Array:
    """Positions of k rows that lie far from each other: k-means++ for any cost [Arthur2007]_.

    Each row is drawn with a probability proportional to its cost so far, and of some draws the one is kept that lowers
    the sum of costs most. Ties of cost zero are drawn by weight.

    Parameters
    ----------
    rows : array or sparse array of shape (n, d)
        The rows.
    weight : array of shape (n,)
        Their weights.
    k : int
        How many to draw.
    rng : RandomState
        Source of random numbers.
    cost : callable
        ``cost(rows, row)``: what it costs to replace each row by another one.
    """
    n_draws = 2 + int(np.log(k))
    chosen = [_draw(weight, 1, rng)[0]]
    costs = cost(rows, row_of(rows, chosen[0]))
    while len(chosen) < k:
        chances = weight * costs
        draws = _draw(chances if chances.any() else weight, n_draws, rng)
        candidates = [np.minimum(costs, cost(rows, row_of(rows, row))) for row in draws]
        best = int(np.argmin([weight @ candidate for candidate in candidates]))
        chosen.append(draws[best])
        costs = candidates[best]
    return np.array(chosen)


def row_of(rows: Any, position: int) -> Array:
    """One row of a table, which may be sparse."""
    return np.asarray(rows[[position]].toarray()[0] if sparse.issparse(rows) else rows[position])


def _draw(chances: Array, size: int, rng: Any) -> Array:
    total = np.cumsum(chances)
    return np.minimum(np.searchsorted(total, rng.uniform(size=size) * total[-1], side="right"), len(chances) - 1)
