"""Maps from the eigenvectors of a graph: Laplacian eigenmaps and diffusion maps."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer.graphs.base import GraphEstimator
from mercer.graphs.laplacian import degrees, scaled
from mercer.graphs.neighbours import NeighbourSearch

Array = NDArray[Any]

# Embedded rows that an inverse averages over.
_INVERSE_NEIGHBOURS = 10


class _GraphMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """What both maps share: fit part by part, transform, and go back."""

    n_components: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of X; y is ignored."""
        k = self._count("n_components")
        self._check_parameters()
        X = self._rows(X, reset=True)
        self._build(X)
        self._join(X)
        whole = self.n_parts_ == 1 or self.disconnected == "connect"
        parts = [np.arange(X.shape[0])] if whole else [np.flatnonzero(self.part_of_ == p) for p in range(self.n_parts_)]
        if self.disconnected == "largest":
            parts = parts[:1]
        self._embed(parts, k)
        self._training_rows = None if self.affinity == "precomputed" else X.copy()
        self.__dict__.pop("_inverse", None)  # of an earlier fit
        return self

    def _check_parameters(self) -> None:
        """Refuse what a subclass cannot work with."""

    def _embed(self, parts: list[Array], k: int) -> None:
        n = self.graph_.shape[0]
        functions, lift = np.full((2, n, k), np.nan)
        self._weight = self._density_weights()
        W = self._walk_weights()
        for number, rows in enumerate(parts):
            found = min(k + 1, len(rows)) if number else k + 1
            spectrum = self._spectrum(W if len(rows) == n else W[rows][:, rows], found)
            values, psi = spectrum.values[1:], spectrum.functions[:, 1:]
            values, psi = np.pad(values, (0, k - len(values))), np.pad(psi, ((0, 0), (0, k - psi.shape[1])))
            if number == 0:
                self.eigenvalues_ = 1.0 - values
                self.eigen_solver_, self.residuals_ = spectrum.method, spectrum.residuals[1:]
                self._walk_values = values
                self._set_time(spectrum.values)
            functions[rows] = psi
            lift[rows] = np.divide(psi, values, out=np.zeros_like(psi), where=np.abs(values) > 1e-12)
        self._functions, self._lift = functions, lift
        self.embedding_ = self._scaled(functions)

    def _density_weights(self) -> Array | None:
        return None

    def _walk_weights(self) -> Any:
        return self.graph_

    def _set_time(self, values: Array) -> None:
        """Nothing to choose."""

    def _scaled(self, functions: Array) -> Array:
        return functions

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the rows of X and return their coordinates."""
        return self.fit(X).embedding_.copy()

    def transform(self, X: Any) -> Array:
        """Coordinates of new rows, by the Nyström formula ψ(x) = Σ_j P(x, x_j) ψ(x_j) / θ.

        P(x, x_j) are the weights of x to the rows of the graph, divided by their sum. Training rows get the coordinates
        that they have in `embedding_`.
        """
        return self._scaled(self._at_new_rows(X, self._weight if hasattr(self, "_weight") else None))

    def inverse_transform(self, Z: Any) -> Array:
        """Rows for these coordinates, approximately: means of the ten nearest embedded rows, the near ones most."""
        check_is_fitted(self, "embedding_")
        Z = check_array(Z, dtype=np.float64, input_name="Z", estimator=self)
        if Z.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"Z of {type(self).__name__} must have {self.embedding_.shape[1]} columns, one for each coordinate, "
                f"got {Z.shape[1]}; give what transform returns."
            )
        if self._training_rows is None:
            raise TypeError(f"{type(self).__name__} was given affinities, so that there are no rows to go back to.")
        embedded = np.flatnonzero(np.isfinite(self.embedding_).all(axis=1))
        if not hasattr(self, "_inverse"):
            self._inverse = NeighbourSearch(self.embedding_[embedded])
        distances, nearest = self._inverse.of(Z, min(_INVERSE_NEIGHBOURS, len(embedded)))
        length = np.maximum(np.median(distances, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        weights = np.exp(-0.5 * (2.0 * distances / length) ** 2)
        weights /= weights.sum(axis=1, keepdims=True)
        rows = self._training_rows
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return np.einsum("ij,ijk->ik", weights, rows[embedded[nearest]])

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


class LaplacianEigenmaps(_GraphMap):
    """Coordinates that change as little as they can along the edges of a graph.

    min Σ_ij W_ij (y_i - y_j)² over coordinates of unit variance: the generalised eigenvectors L y = λ D y of the graph
    Laplacian L = D - W, but for the constant.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    affinity : "neighbors", "radius", "precomputed" or Kernel
        The graph: nearest neighbours; all rows within `radius`; given weights; or k(x, y) between all rows, which takes
        n² numbers of memory.
    n_neighbors : int
        Of each row, for "neighbors".
    width : None, "auto", "local" or float
        Weights of neighbours: all 1; Gaussian with the width of `auto_width`; self-tuning; or Gaussian of this width.
    radius : float, optional
        For "radius".
    symmetric : {"union", "mutual", "weighted"}
        Whether neighbours in one direction count, do not, or count half.
    neighbors : {"auto", "tree", "brute", "approximate"}
        How neighbours are searched, see `NeighbourSearch`.
    disconnected : {"connect", "largest", "each"}
        What to do, with a warning, if the graph has several connected parts: join them by the shortest links, embed the
        largest, or embed each on its own.
    eigen_solver : {"auto", "dense", "factor", "lanczos"}
        See `mercer.solvers.leading_eigenpairs`.
    tol : float
        Largest residual of an eigenvector.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Coordinates, each of mean zero and mean square one in the stationary distribution of the random walk on the
        graph.
    eigenvalues_ : array of shape (n_components,)
        λ, increasing, of the largest part or the whole.
    residuals_ : array of shape (n_components,)
        Residuals of the eigenvectors.
    graph_ : array or sparse array of shape (n, n)
        The weights.
    part_of_, n_parts_ : array of shape (n,), int
        The connected part of each row, 0 being the largest, before any were joined; and their number.
    neighbor_method_, eigen_solver_ : str
        How neighbours and eigenvectors were found.
    width_, width_curve_
        For width="auto": the width, and the curve that it is the maximum of.

    Notes
    -----
    Cost: the search for neighbours, and a few products or one factorisation of a sparse matrix. [Belkin2003]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianEigenmaps
    >>> t = np.linspace(0, 1, 200)
    >>> X = np.column_stack([np.cos(5 * t), np.sin(5 * t), t])
    >>> Z = LaplacianEigenmaps(1).fit_transform(X)[:, 0]
    >>> bool(np.all(np.diff(Z) > 0) or np.all(np.diff(Z) < 0))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "neighbors",
        n_neighbors: int = 10,
        width: Any = "auto",
        radius: float | None = None,
        symmetric: str = "union",
        neighbors: str = "auto",
        disconnected: str = "connect",
        eigen_solver: str = "auto",
        tol: float = 1e-8,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.width = width
        self.radius = radius
        self.symmetric = symmetric
        self.neighbors = neighbors
        self.disconnected = disconnected
        self.eigen_solver = eigen_solver
        self.tol = tol


class DiffusionMap(_GraphMap):
    """Coordinates whose distances are those of random walks: how differently two rows are reached in t steps.

    Weights are divided by powers of the density, W_ij / (q_i q_j)^α with q the degrees; the coordinates are θ_m^t ψ_m,
    with the eigenvalues θ_m and the right eigenvectors ψ_m of the random walk on the graph.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    alpha : float
        0: the graph as it is, 1: the geometry of the rows, whatever their density, 1/2: in between.
    t : int, float or "auto"
        Number of steps. "auto": as few as let the coordinates that are left out shrink to a tenth of the first one.
    affinity, n_neighbors, width, radius, symmetric, neighbors, disconnected, eigen_solver, tol
        As in `LaplacianEigenmaps`.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        θ_m^t ψ_m. Distances between these, for all components, are the diffusion distances
        Σ_j (P^t_ij - P^t_kj)² / π_j, with the stationary distribution π.
    t_ : float
        Number of steps.
    eigenvalues_, residuals_, graph_, part_of_, n_parts_, neighbor_method_, eigen_solver_, width_, width_curve_
        As in `LaplacianEigenmaps`; eigenvalues_ are 1 - θ_m.

    Notes
    -----
    [Coifman2006]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import DiffusionMap
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> DiffusionMap(2).fit_transform(X).shape
    (200, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "neighbors",
        n_neighbors: int = 10,
        width: Any = "auto",
        alpha: float = 1.0,
        t: Any = 1,
        radius: float | None = None,
        symmetric: str = "union",
        neighbors: str = "auto",
        disconnected: str = "connect",
        eigen_solver: str = "auto",
        tol: float = 1e-8,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.width = width
        self.alpha = alpha
        self.t = t
        self.radius = radius
        self.symmetric = symmetric
        self.neighbors = neighbors
        self.disconnected = disconnected
        self.eigen_solver = eigen_solver
        self.tol = tol

    def _check_parameters(self) -> None:
        if not isinstance(self.alpha, Real) or isinstance(self.alpha, bool) or not np.isfinite(float(self.alpha)):
            raise ValueError(f"alpha of DiffusionMap must be a number, got {self.alpha!r}; 1 removes the density.")
        automatic = isinstance(self.t, str) and self.t == "auto"
        number = (
            isinstance(self.t, Real) and not isinstance(self.t, bool) and np.isfinite(float(self.t)) and self.t >= 0
        )
        if not automatic and not number:
            raise ValueError(f"t of DiffusionMap must be a number >= 0 or 'auto', got {self.t!r}; it counts steps.")

    def _density_weights(self) -> Array:
        return np.asarray(degrees(self.graph_) ** float(self.alpha))

    def _walk_weights(self) -> Any:
        return scaled(self.graph_, 1.0 / self._density_weights(), 1.0 / self._density_weights())

    def _set_time(self, values: Array) -> None:
        if isinstance(self.t, str):
            first, last = max(float(values[1]), 0.0), max(float(values[-1]), 0.0)
            shrinks = 0 < last < first
            self.t_ = float(max(1, np.ceil(np.log(0.1) / np.log(last / first)))) if shrinks else 1.0
        else:
            self.t_ = float(self.t)

    def _scaled(self, functions: Array) -> Array:
        return (
            functions * np.maximum(self._walk_values, 0.0) ** self.t_ if self.t_ != 1 else functions * self._walk_values
        )
