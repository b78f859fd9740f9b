"""Spectral clustering: clusters are where a random walk on the graph stays."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, clone
from sklearn.cluster import KMeans

from mercer.graphs.base import GraphEstimator

Array = NDArray[Any]

# Eigenvalues among which the gap is sought if the number of clusters is not given.
_N_EIGENVALUES = 20


class SpectralClustering(ClusterMixin, GraphEstimator):
    """Clusters of a graph: rows that are joined by many short paths.

    Each row is mapped to (√θ_m ψ_m) of the k leading eigenpairs of the random walk on the graph, scaled to unit length,
    and these points are clustered.

    Parameters
    ----------
    n_clusters : "auto" or int
        k; "auto": where the gap between successive eigenvalues is largest, among the first 20, see `eigengaps`.
    affinity, n_neighbors, width, radius, symmetric, neighbors, eigen_solver, tol
        As in `LaplacianEigenmaps`.
    clusterer : estimator, optional
        What clusters the points, with `fit_predict`; by default k-means with ten starts. If it has no `predict`, new
        rows go to the cluster with the nearest mean.
    random_state : int, RandomState or None
        For the default clusterer.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each row.
    n_clusters_ : int
        k.
    eigenvalues_ : array
        Leading eigenvalues θ of the random walk, decreasing; `mercer.plots.EigengapDisplay` draws them.
    embedding_ : array of shape (n, k)
        The points that were clustered.
    graph_, part_of_, n_parts_, neighbor_method_, eigen_solver_, residuals_, width_, width_curve_
        As in `LaplacianEigenmaps`. A graph in several parts is no trouble: parts are clusters.

    Notes
    -----
    [Ng2001]_, [VonLuxburg2007]_.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import SpectralClustering
    >>> X, y = make_circles(400, factor=0.4, noise=0.03, random_state=0)
    >>> labels = SpectralClustering(2).fit_predict(X)
    >>> len(set(zip(labels.tolist(), y.tolist())))
    2
    """

    disconnected = "each"

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        affinity: Any = "neighbors",
        n_neighbors: int = 10,
        width: Any = "auto",
        radius: float | None = None,
        symmetric: str = "union",
        neighbors: str = "auto",
        clusterer: Any = None,
        eigen_solver: str = "auto",
        tol: float = 1e-8,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.width = width
        self.radius = radius
        self.symmetric = symmetric
        self.neighbors = neighbors
        self.clusterer = clusterer
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X; y is ignored."""
        automatic = isinstance(self.n_clusters, str) and self.n_clusters == "auto"
        if not automatic and (not isinstance(self.n_clusters, Integral) or isinstance(self.n_clusters, bool)):
            raise ValueError(
                f"n_clusters of SpectralClustering must be 'auto' or a whole number >= 1, got {self.n_clusters!r}; "
                "'auto' looks for a gap in the spectrum."
            )
        X = self._rows(X, reset=True)
        n = X.shape[0]
        if not automatic and not 1 <= int(self.n_clusters) <= n:
            raise ValueError(
                f"n_clusters of SpectralClustering must be from 1 to {n} for {n} rows, got {self.n_clusters!r}; ask "
                "for fewer."
            )
        self._build(X)
        wanted = min(n, max(_N_EIGENVALUES + 1, self.n_parts_ + 1)) if automatic else int(self.n_clusters)
        values, functions = self._merged_spectrum(wanted)
        self.eigenvalues_ = values
        self.n_clusters_ = 1 + int(np.argmax(eigengaps(values))) if automatic and len(values) > 1 else wanted
        k = self.n_clusters_
        self._roots = np.sqrt(np.maximum(values[:k], 0.0))
        self._functions = functions[:, :k]
        self._lift = np.divide(self._functions, values[:k], out=np.zeros((n, k)), where=np.abs(values[:k]) > 1e-12)
        self.embedding_ = self._points(self._functions)
        clusterer = KMeans(k, n_init=10, random_state=self.random_state) if self.clusterer is None else self.clusterer
        self.clusterer_ = clone(clusterer)
        self.labels_ = np.asarray(self.clusterer_.fit_predict(self.embedding_))
        return self

    def predict(self, X: Any) -> Array:
        """Clusters of new rows, whose points are found as those of `LaplacianEigenmaps.transform` are."""
        points = self._points(self._at_new_rows(X))
        if not np.isfinite(points).all():
            raise ValueError(
                "X of SpectralClustering must have neighbours in the graph to be clustered, got rows without any; "
                "leave them out, or enlarge the radius."
            )
        if hasattr(self.clusterer_, "predict"):
            return np.asarray(self.clusterer_.predict(points))
        names = np.unique(self.labels_)
        means = np.stack([self.embedding_[self.labels_ == name].mean(axis=0) for name in names])
        return names[np.argmin(np.sum((points[:, None] - means) ** 2, axis=2), axis=1)]

    def _merged_spectrum(self, k: int) -> tuple[Array, Array]:
        """Leading eigenpairs of all parts together: each part has its own eigenvalue 1."""
        n = self.graph_.shape[0]
        values: list[Array] = []
        functions: list[Array] = []
        residuals: list[Array] = []
        for p in range(self.n_parts_):
            rows = np.flatnonzero(self.part_of_ == p)
            W = self.graph_ if len(rows) == n else self.graph_[rows][:, rows]
            spectrum = self._spectrum(W, min(k, len(rows))) if len(rows) > 1 else None
            found = np.ones(1) if spectrum is None else spectrum.values
            psi = np.zeros((n, len(found)))
            psi[rows] = (1.0 if spectrum is None else spectrum.functions) * np.sqrt(n / len(rows))
            values.append(found)
            functions.append(psi)
            residuals.append(np.zeros(1) if spectrum is None else spectrum.residuals)
            if p == 0:
                self.eigen_solver_ = "dense" if spectrum is None else spectrum.method
        merged = np.concatenate(values)
        order = np.argsort(-merged, kind="stable")[:k]
        self.residuals_ = np.concatenate(residuals)[order]
        return merged[order], np.hstack(functions)[:, order]

    def _points(self, functions: Array) -> Array:
        """Rows scaled by √θ and to unit length."""
        points = functions * self._roots
        length = np.linalg.norm(points, axis=1, keepdims=True)
        return points / np.where(length > 0, length, 1.0)


def eigengaps(values: Array) -> Array:
    """Ratios of successive eigenvalues 1 - θ of the Laplacian, as logarithms: the largest one is the eigengap.

    Ratios, since those of a graph with short edges are all small; eigenvalues below 1e-4 of the last one count as that
    much, so that the gap after the eigenvalue 0, which says that there is but one cluster, is no infinite one.

    Examples
    --------
    >>> from mercer.graphs import eigengaps
    >>> eigengaps([1.0, 0.9999, 0.96, 0.95, 0.93]).argmax() + 1
    np.int64(2)
    """
    lam = np.maximum(1.0 - np.asarray(values, dtype=np.float64), 0.0)
    return np.diff(np.log(np.maximum(lam, max(1e-4 * float(lam[-1]), np.finfo(np.float64).tiny))))
