"""Spectral clustering: clusters are where a random walk on the graph stays."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.graphs.base import GraphEstimator
from mercer.graphs.laplacian import WalkSpectrum
from mercer.running import Status

# Eigenvalues among which the gap is sought if the number of clusters is not given.
_N_EIGENVALUES = 20
# Growth p of the eigenvalues of a curve, and of what has ten dimensions: beyond that it is hard to tell.
_STEEPEST, _FLATTEST = 2.0, 0.2
# The place m on the curve of eigenvalues below which they count as 0, and the fraction of the last one below which too.
_FIRST, _LEAST = 0.0625, 5e-4
# Functions with an eigenvalue below this say nothing of new rows.
_ALIVE = 1e-10


class SpectralClustering(ClusterMixin, GraphEstimator):
    """Clusters of a graph: rows that are joined by many short paths.

    Each row is mapped to (√θ_m ψ_m) of the k leading eigenpairs of the random walk on the graph, scaled to unit length,
    and these points are clustered.

    Parameters
    ----------
    n_clusters : "auto" or int
        k; "auto": where the gap between successive eigenvalues is largest, among the first 20, see `eigengaps`. Take
        width="local" where clusters differ in density or some rows lie apart: else these may count as clusters.
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
        λ = 1 - θ of the random-walk Laplacian, increasing, the first being 0: k + 1 of them, or 21 for "auto", or one
        more than the graph has parts. `mercer.plots.EigengapDisplay` draws them.
    embedding_ : array of shape (n, k)
        The points that were clustered.
    graph_, part_of_, n_parts_, n_neighbors_, neighbor_method_, eigen_solver_, residuals_, width_, width_curve_
        As in `LaplacianEigenmaps`. A graph in several parts is no trouble: parts are clusters. If there are more parts
        than clusters, they are joined by the shortest links, with a warning.

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
        automatic = self._check_parameters()
        X = self._rows(X, reset=True)[0]
        n = X.shape[0]
        if not automatic and not 1 <= int(self.n_clusters) <= n:
            raise ValueError(
                f"n_clusters of SpectralClustering must be from 1 to {n} for {n} rows, got {self.n_clusters!r}; ask "
                "for fewer."
            )
        self._build(X)
        part_of = self.part_of_
        if automatic and self.n_parts_ == n:
            raise ValueError(
                "n_clusters of SpectralClustering must be a number for a graph without edges between rows, got 'auto'; "
                "give one, or larger weights."
            )
        if not automatic and int(self.n_clusters) < self.n_parts_:
            self._connect(X, f"ask for {self.n_parts_} clusters or more")
            part_of = np.zeros(n, dtype=np.intp)
        most = max(_N_EIGENVALUES, self.n_parts_) if automatic else int(self.n_clusters)
        values, functions = self._merged_spectrum(part_of, min(n, most + 1))
        self.eigenvalues_ = 1.0 - values
        self.n_clusters_ = k = 1 + int(np.argmax(eigengaps(self.eigenvalues_))) if automatic else most
        self._functions = functions[:, :k]
        self._lift = np.divide(self._functions, values[:k], out=np.zeros((n, k)), where=np.abs(values[:k]) > _ALIVE)
        self._roots = np.sqrt(np.maximum(values[:k], 0.0))
        self.embedding_ = self._points(self._functions)
        clusterer = KMeans(k, n_init=10, random_state=self.random_state) if self.clusterer is None else self.clusterer
        self.clusterer_ = clone(clusterer)
        self.labels_ = np.asarray(self.clusterer_.fit_predict(self.embedding_))
        return self

    def _check_parameters(self) -> bool:
        """Whether the number of clusters is to be found."""
        automatic = isinstance(self.n_clusters, str) and self.n_clusters == "auto"
        if not automatic and (not isinstance(self.n_clusters, Integral) or isinstance(self.n_clusters, bool)):
            raise ValueError(
                f"n_clusters of SpectralClustering must be 'auto' or a whole number >= 1, got {self.n_clusters!r}; "
                "'auto' looks for a gap in the spectrum."
            )
        if self.clusterer is not None and not hasattr(self.clusterer, "fit_predict"):
            raise TypeError(
                f"clusterer of SpectralClustering must be an estimator with fit_predict, or None, got "
                f"{self.clusterer!r}; None is k-means."
            )
        return automatic

    def predict(self, X: Any) -> Array:
        """Clusters of new rows, whose points are found as those of `LaplacianEigenmaps.transform` are.

        Rows without any weight to the graph are refused; nearest neighbours always have one.
        """
        check_is_fitted(self, "embedding_")
        points = self._points(self._at_new_rows(self._rows(X, reset=False)[0]))
        if not np.isfinite(points).all():
            raise ValueError(
                "X of SpectralClustering must have neighbours in the graph to be clustered, got rows without any; "
                "leave them out, or enlarge the radius."
            )
        if hasattr(self.clusterer_, "predict"):
            return np.asarray(self.clusterer_.predict(points))
        names = np.unique(self.labels_)
        names = names[names >= 0] if names[-1] >= 0 else names  # -1 is noise
        means = np.stack([self.embedding_[self.labels_ == name].mean(axis=0) for name in names])
        return names[np.argmin(np.sum((points[:, None] - means) ** 2, axis=2), axis=1)]

    def _merged_spectrum(self, part_of: Array, k: int) -> tuple[Array, Array]:
        """Leading eigenpairs of all parts together: each part has its own eigenvalue 1."""
        n, parts = len(part_of), [np.flatnonzero(part_of == p) for p in range(int(part_of.max()) + 1)]
        spectra = [self._part_spectrum(rows, k) for rows in parts]
        self.eigen_solver_ = spectra[0].method
        values = np.concatenate([spectrum.values for spectrum in spectra])
        order = np.argsort(-values, kind="stable")[:k]
        owner = np.repeat(np.arange(len(parts)), [len(spectrum.values) for spectrum in spectra])
        number = np.concatenate([np.arange(len(spectrum.values)) for spectrum in spectra])
        functions = np.zeros((n, len(order)))
        for column, (p, m) in enumerate(zip(owner[order], number[order], strict=True)):
            functions[parts[p], column] = spectra[p].functions[:, m] * np.sqrt(n / len(parts[p]))
        self.residuals_ = np.concatenate([spectrum.residuals for spectrum in spectra])[order]
        return values[order], functions

    def _part_spectrum(self, rows: Array, k: int) -> WalkSpectrum:
        if len(rows) == 1:  # whatever its weight to itself, a walk stays there
            return WalkSpectrum(np.ones(1), np.ones((1, 1)), np.zeros(1), "dense", Status.OPTIMAL)
        W = self.graph_ if len(rows) == self.graph_.shape[0] else self.graph_[rows][:, rows]
        return self._spectrum(W, min(k, len(rows)))

    def _points(self, functions: Array) -> Array:
        """Rows scaled by √θ and to unit length."""
        points = functions * self._roots
        length = np.linalg.norm(points, axis=1, keepdims=True)
        return points / np.where(length > 0, length, 1.0)


def eigengaps(lam: Array) -> Array:
    """Ratios of successive eigenvalues λ of the Laplacian, as logarithms: the largest one is the eigengap.

    Ratios, since those of a graph with short edges are all small. The gap after the eigenvalue 0, which says that there
    is but one cluster, is no infinite one: eigenvalues of one cluster in d dimensions grow as λ_m ~ m^p, p = 2 / d, and
    what is below λ_m at m = 1/16 of such a curve through the upper half of the eigenvalues, or below 1/2000 of the last
    of them, counts as that much.

    Of 15 kinds of generated rows (moons, circles, blobs that touch or not, of unequal sizes and densities, with
    background noise, and single lines, planes and balls) this counted 84 % right with width="auto" and 81 % with
    "local" (``benchmarks/graphs.py --clusters``). A floor at 1/1000 of the last eigenvalue alone did better on noisy
    moons, but took lines for two clusters: 76 % and 75 %.

    Examples
    --------
    >>> from mercer.graphs import eigengaps
    >>> eigengaps([0.0, 0.0001, 0.04, 0.05, 0.07]).argmax() + 1
    np.int64(2)
    """
    lam = np.asarray(lam, dtype=np.float64)
    if lam.ndim != 1 or len(lam) < 2 or not np.isfinite(lam).all():
        raise ValueError(
            f"lam of eigengaps must be two finite numbers or more, got {lam}; give eigenvalues, increasing."
        )
    lam = np.maximum(lam, 0.0)
    m = np.arange(len(lam))
    upper = (m > len(lam) // 2) & (lam > 0)
    growth = _STEEPEST
    if np.count_nonzero(upper) > 1:
        growth = float(np.clip(np.polyfit(np.log(m[upper]), np.log(lam[upper]), 1)[0], _FLATTEST, _STEEPEST))
    least = float(lam[-1]) * max((_FIRST / (len(lam) - 1)) ** growth, _LEAST)
    return np.diff(np.log(np.maximum(lam, max(least, np.finfo(np.float64).tiny))))
