"""Plane quantization: each row is replaced by its projection on one of k planes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.quantizers.base import Coded, Quantizer, in_metric, out_of_metric, spread_rows


class Planes(NamedTuple):
    """Points on k planes, of shape (k, d), and orthonormal directions in them, of shape (k, q, d)."""

    points: Array
    directions: Array


class PlaneQuantizer(Quantizer[Planes]):
    """Planes that minimise the mean squared distance of each row to the nearest: k-planes, or local PCA.

    R[f] = 1/m Σ_i min_z min_t ||x_i - μ_z - tᵀ V_z||². Rows go to the nearest plane, and each plane becomes the
    principal components of its rows; a single plane is PCA.

    Parameters
    ----------
    n_clusters : int
        k, the number of planes.
    n_components : int
        q, the dimension of the planes.
    metric : array of shape (d, d), optional
        A symmetric positive definite matrix D: squared distances are (x - f)ᵀ D (x - f).
    n_init, max_iter, tol, warm_start, verbose, callback, random_state
        As in `VectorQuantizer`.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        μ_z, the mean of the rows of each plane.
    components_ : array of shape (k, q, d)
        V_z: directions in the planes, orthonormal in the metric, by decreasing variance of the rows.
    labels_, quantization_error_, history_, n_iter_, status_
        As in `VectorQuantizer`.

    Notes
    -----
    Memory: about four times X. [Smola2001]_, example 5 and after; [Bradley2000]_, [Kambhatla1997]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PlaneQuantizer
    >>> t = np.linspace(-1, 1, 20)[:, None]
    >>> X = np.vstack([t * [1.0, 0.5], t * [0.5, -1.0] + [0.1, 0.0]])
    >>> planes = PlaneQuantizer(2, random_state=0).fit(X)
    >>> bool(planes.quantization_error(X) < 1e-20)
    True
    >>> rows = planes.inverse_transform(planes.predict(X), planes.coordinates(X))
    >>> bool(np.allclose(rows, X))
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        n_components: int = 1,
        *,
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
        self.n_components = n_components
        self.metric = metric
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def coordinates(self, X: Any) -> Array:
        """Coordinates of the rows of X in their planes (those of `predict`), an array of shape (n, q)."""
        X = self._new_rows(X)
        rows, book = in_metric(X, self._factor), self._book
        labels = self._assign(rows, book).labels
        return np.einsum("ij,iqj->iq", rows - book.points[labels], book.directions[labels]).astype(X.dtype, copy=False)

    def inverse_transform(self, codes: Any, coordinates: Any = None) -> Array:
        """Points on planes, an array of shape (n, d).

        Parameters
        ----------
        codes : array of shape (n,) or (n, k)
            Numbers of planes, as `predict` gives them; or distances from all planes, as `transform` gives them, of
            which the nearest counts.
        coordinates : array of shape (n, q), optional
            Coordinates in the planes: ``inverse_transform(transform(X), coordinates(X))`` replaces the rows of X by
            their projections. Without them, since distances do not tell them, the points are the means of the planes.
        """
        check_is_fitted(self, "cluster_centers_")
        codes = self._checked_codes(codes)
        if coordinates is None:
            return self.cluster_centers_[codes]
        T = check_array(coordinates, dtype=np.float64, input_name="coordinates", estimator=self)
        shape = (len(codes), self.components_.shape[1])
        if T.shape != shape:
            raise ValueError(
                f"coordinates of {type(self).__name__} must have shape {shape}, one row for each code, got {T.shape}; "
                "give what coordinates returns."
            )
        return self.cluster_centers_[codes] + np.einsum("iq,iqj->ij", T, self.components_[codes])

    def _check_parameters(self, n_rows: int, n_columns: int) -> None:
        super()._check_parameters(n_rows, n_columns)
        if self._count("n_components") > n_columns:
            raise ValueError(
                f"n_components of {type(self).__name__} must be at most the number of columns, n_features="
                f"{n_columns}, got {self.n_components!r}; ask for fewer."
            )

    def _has_book(self, n_columns: int) -> bool:
        shape = (int(self.n_clusters), int(self.n_components), n_columns)
        return super()._has_book(n_columns) and self.components_.shape == shape

    @property
    def _book(self) -> Planes:
        return Planes(in_metric(self.cluster_centers_, self._factor), in_metric(self.components_, self._factor))

    def _inward(self, centre: Array, factor: Array | None) -> Planes:
        directions = np.linalg.qr(in_metric(self.components_, factor).transpose(0, 2, 1))[0].transpose(0, 2, 1)
        return Planes(in_metric(self.cluster_centers_ - centre, factor), directions)

    def _outward(self, book: Planes, centre: Array, factor: Array | None) -> None:
        k, q, d = book.directions.shape
        self.cluster_centers_ = out_of_metric(book.points, factor) + centre
        self.components_ = out_of_metric(book.directions.reshape(k * q, d), factor).reshape(k, q, d)

    def _start(self, rows: Array, weight: Array, rng: Any) -> Planes:
        k, q, d = int(self.n_clusters), int(self.n_components), rows.shape[1]
        none = np.zeros((0, d))
        points = rows[spread_rows(rows, weight, k, rng, lambda rows, point: _squared_from(rows, point, none))]
        return self._update(rows, weight, self._assign(rows, Planes(points, np.zeros((k, q, d)))))[0]

    def _assign(self, rows: Array, book: Planes) -> Coded[Planes]:
        labels, costs = np.zeros(len(rows), dtype=np.intp), np.full(len(rows), np.inf)
        for code, plane in enumerate(zip(*book, strict=True)):
            squared = _squared_from(rows, *plane)
            nearer = squared < costs
            labels[nearer], costs[nearer] = code, squared[nearer]
        return Coded(book, labels, costs)

    def _distances(self, rows: Array, book: Planes) -> Array:
        return np.sqrt(np.column_stack([_squared_from(rows, *plane) for plane in zip(*book, strict=True)]))

    def _update(self, rows: Array, weight: Array, coded: Coded[Planes]) -> tuple[Planes, int]:
        points, directions = coded.book.points.copy(), coded.book.directions.copy()
        for code in range(len(points)):
            own = np.flatnonzero(coded.labels == code)
            if len(own):
                points[code] = np.average(rows[own], axis=0, weights=weight[own])
            if np.any(rows[own] != rows[own[:1]]):
                roots = np.sqrt(weight[own])[:, None]
                directions[code] = leading_directions(roots * (rows[own] - points[code]), int(self.n_components))
            else:  # without rows that differ directions are of no account, but there must be some
                directions[code] = np.eye(int(self.n_components), rows.shape[1])
        return Planes(points, directions), 1

    def _moved(self, rows: Array, coded: Coded[Planes], code: int, row: int) -> tuple[Planes, Array]:
        points, directions = coded.book.points.copy(), coded.book.directions.copy()
        points[code], directions[code] = rows[row], directions[coded.labels[row]]
        return Planes(points, directions), _squared_from(rows, points[code], directions[code])


def leading_directions(rows: Array, q: int) -> Array:
    """Orthonormal directions of largest variance about zero, q of them, each with its largest entry positive."""
    n, d = rows.shape
    if n > d:
        _, vectors = eigh(rows.T @ rows, subset_by_index=[d - q, d - 1])
        directions = vectors.T[::-1]
    else:
        # Rows of zeros let q directions come out of fewer rows.
        directions = np.linalg.svd(np.vstack([rows, np.zeros((max(q - n, 0), d))]), full_matrices=False)[2][:q]
    largest = np.abs(directions).argmax(axis=1)
    return np.asarray(directions * np.sign(directions[np.arange(q), largest])[:, None])


def _squared_from(rows: Array, point: Array, directions: Array) -> Array:
    """Squared distances of rows from a plane."""
    difference = rows - point
    difference -= (difference @ directions.T) @ directions
    return np.einsum("ij,ij->i", difference, difference)
