"""scikit-learn's names and signatures with Mercer's graphs inside."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.cluster._spectral import cluster_qr, discretize
from sklearn.utils.extmath import _deterministic_vector_sign_flip

from mercer import LaplacianEigenmaps
from mercer import SpectralClustering as Clustering
from mercer.graphs import laplacian, parts_of
from mercer.kernels import Gaussian

# Both of Mercer's iterative solvers are run; other names are handed over as they are.
SOLVERS = {None: "auto", "arpack": "lanczos", "lobpcg": "factor"}


def graph_connected_component(graph, node_id):
    """Which vertices are in the connected part of one."""
    part = parts_of(graph)
    return part == part[node_id]


def graph_is_connected(graph):
    """Whether there is but one part."""
    return parts_of(graph).max() == 0


def spectral_embedding(adjacency, *, n_components=8, random_state=None, norm_laplacian=True, drop_first=True):
    """Coordinates of a graph with given weights, or the eigenvectors of its Laplacian as it is, the first included."""
    if norm_laplacian and drop_first:
        return LaplacianEigenmaps(n_components, affinity="precomputed").fit_transform(adjacency)
    assert not norm_laplacian
    assert not drop_first
    return _deterministic_vector_sign_flip(eigh(laplacian(adjacency))[1].T[:n_components]).T


def spectral_clustering(affinity, *, n_clusters=8, eigen_solver=None, random_state=None):
    """Labels of a graph with given weights."""
    model = SpectralClustering(n_clusters, affinity="precomputed", eigen_solver=eigen_solver, random_state=random_state)
    return model.fit(affinity).labels_


class _Graph(BaseEstimator):
    """Affinities by name."""

    def _options(self, X):
        """Parameters of Mercer's graph."""
        options = {"eigen_solver": SOLVERS.get(self.eigen_solver, self.eigen_solver)}
        if self.affinity == "rbf":
            gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
            return options | {"affinity": Gaussian(np.sqrt(0.5 / gamma))}
        if self.affinity == "nearest_neighbors":
            # A row is one of its own neighbours there.
            n_neighbors = max(X.shape[0] // 10, 1) if self.n_neighbors is None else self.n_neighbors
            weights = {"width": None, "symmetric": "weighted"}
            return options | weights | {"affinity": "neighbors", "n_neighbors": n_neighbors - 1}
        return options | {"affinity": "precomputed"}

    def _input(self, X):
        """The rows, or the weights that a function gives."""
        return self.affinity(X) if callable(self.affinity) else X


class SpectralEmbedding(_Graph):
    """Laplacian eigenmaps."""

    def __init__(
        self,
        n_components=2,
        *,
        affinity="nearest_neighbors",
        gamma=None,
        random_state=None,
        eigen_solver=None,
        eigen_tol="auto",
        n_neighbors=None,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.random_state = random_state
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Embed the rows."""
        maps = LaplacianEigenmaps(self.n_components, **self._options(X)).fit(self._input(X))
        self.embedding_, self.affinity_matrix_ = maps.embedding_, maps.graph_
        return self

    def fit_transform(self, X, y=None):
        """Embed the rows and return their coordinates."""
        return self.fit(X).embedding_


class AssignedBy(ClusterMixin, BaseEstimator):
    """Clusters by a function of scikit-learn."""

    def __init__(self, function=cluster_qr):
        self.function = function

    def fit_predict(self, X, y=None):
        """Labels of these points."""
        return self.function(X)


class SpectralClustering(_Graph):
    """Clusters of a graph."""

    def __init__(
        self,
        n_clusters=8,
        *,
        eigen_solver=None,
        n_components=None,
        random_state=None,
        gamma=1.0,
        affinity="rbf",
        n_neighbors=10,
        assign_labels="kmeans",
    ):
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.assign_labels = assign_labels

    def fit(self, X, y=None):
        """Cluster the rows; with as many eigenvectors as are asked for."""
        clusterer = {
            "kmeans": KMeans(self.n_clusters, n_init=10, random_state=self.random_state),
            "discretize": AssignedBy(partial(discretize, random_state=self.random_state)),
            "cluster_qr": AssignedBy(cluster_qr),
        }[self.assign_labels]
        k = self.n_clusters if self.n_components is None else self.n_components
        self.labels_ = Clustering(k, clusterer=clusterer, **self._options(X)).fit(self._input(X)).labels_
        return self
