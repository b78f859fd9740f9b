"""Maps from the eigenvectors of a graph: Laplacian eigenmaps and diffusion maps."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.graphs.affinity import rows_of
from mercer.graphs.base import GraphEstimator
from mercer.graphs.laplacian import degrees, scaled
from mercer.graphs.neighbours import NeighbourSearch
from mercer.parameters import check_count, is_number

# Walks with an eigenvalue below this say nothing of new rows; above the other one they say it without rounding.
_ALIVE, _STRONG = 1e-10, 1e-3
# Embedded rows that an inverse averages over.
_INVERSE_NEIGHBOURS = 10


class _GraphMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """What both maps share: fit part by part, transform, and go back."""

    n_components: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of X; y is ignored."""
        k = check_count(self.n_components, "n_components", type(self).__name__)
        self._check_parameters()
        X, precision = self._rows(X, reset=True)
        self._check_size(k, X.shape[0], "the graph")
        self._build(X)
        self._embed(self._parts(X), k)
        self.graph_ = self.graph_.astype(precision, copy=False)
        self.embedding_ = self._functions.astype(precision)
        self._training_rows = None if self._is_precomputed else X
        return self

    def _check_parameters(self) -> None:
        """Refuse what a subclass cannot work with."""

    def _check_size(self, k: int, n: int, what: str) -> None:
        if k >= n:
            raise ValueError(
                f"n_components of {type(self).__name__} must be less than the number of rows of {what}, {n}, got {k}; "
                "ask for fewer, or give more rows."
            )

    def _parts(self, X: Any) -> list[Array]:
        """The rows that are embedded together; a graph in several parts is reported, and joined if that is wanted."""
        n = X.shape[0]
        if self.n_parts_ == 1:
            return [np.arange(n)]
        if self.disconnected == "connect":
            self._connect(X, "take disconnected='largest' or 'each'")
            return [np.arange(n)]
        parts = [np.flatnonzero(self.part_of_ == p) for p in range(self.n_parts_)]
        if self.disconnected == "each":
            self._warn_of_parts("each was embedded on its own: rows of different parts cannot be compared")
            return parts
        self._warn_of_parts(f"only the largest, of {len(parts[0])} rows, was embedded: the others are NaN")
        return parts[:1]

    def _embed(self, parts: list[Array], k: int) -> None:
        self._check_size(k, len(parts[0]), "the largest part")
        n = self.graph_.shape[0]
        self._functions, self._lift = np.full((2, n, k), np.nan)
        self._density = self._densities()
        self._embedded_with = np.full(n, len(parts))  # rows that are not embedded are a part, too
        for number, rows in enumerate(parts):
            self._embedded_with[rows] = number
            if len(rows) == 1:  # stays where it is
                self._functions[rows] = self._lift[rows] = 0.0
                continue
            W = self.graph_ if len(rows) == n else self.graph_[rows][:, rows]
            if self._density is not None:
                W = scaled(W, 1.0 / self._density[rows], 1.0 / self._density[rows])
            spectrum = self._spectrum(W, min(k + 1 + self._n_left_out, len(rows)))
            values, psi = spectrum.values[1 : k + 1], spectrum.functions[:, 1 : k + 1]
            if number == 0:
                self.eigenvalues_, self.residuals_ = 1.0 - values, spectrum.residuals[1 : k + 1]
                self.eigen_solver_ = spectrum.method
                self._set_time(float(spectrum.values[1]), spectrum.values[k + 1 :])
            self._store(rows, W, values, psi)

    def _store(self, rows: Array, W: Any, values: Array, psi: Array) -> None:
        """Coordinates of a part, 0 beyond those that it has, and what their values at new rows are made of."""
        factors, lift_factors = self._factors(values)
        functions, lift = psi * factors, psi * lift_factors
        # What the formula for new rows gives at these: residuals are small, but the two are to be the same.
        strong = np.abs(values) > _STRONG
        functions[:, strong] = (W @ lift[:, strong]) / degrees(W)[:, None]
        missing = ((0, 0), (0, self._lift.shape[1] - len(values)))
        self._functions[rows], self._lift[rows] = np.pad(functions, missing), np.pad(lift, missing)

    @property
    def _n_left_out(self) -> int:
        """How many eigenvalues beyond those of the coordinates are wanted."""
        return 0

    def _densities(self) -> Array | None:
        """What the weights of each row are divided by."""
        return None

    def _set_time(self, first: float, left_out: Array) -> None:
        """Nothing to choose."""

    def _factors(self, values: Array) -> tuple[Array, Array]:
        """What ψ is multiplied by to be a coordinate, and to be one after another step of the walk, θ times as much."""
        return np.ones_like(values), np.divide(1.0, values, out=np.full_like(values, np.nan), where=_alive(values))

    def _weights_of(self, X: Any) -> tuple[Any, Array]:
        """Weights to the part of the graph that a new row belongs to most, and equal rows."""
        W, known = super()._weights_of(X)
        if self._density is not None:
            W = W @ sparse.diags_array(1.0 / self._density) if sparse.issparse(W) else W / self._density
        if self._embedded_with.max() == 0:
            return W, known
        W = sparse.csr_array(W)
        member = sparse.csr_array((np.ones(W.shape[1]), (np.arange(W.shape[1]), self._embedded_with)))
        most = np.asarray((W @ member).argmax(axis=1)).ravel()
        W.data[self._embedded_with[W.indices] != np.repeat(most, np.diff(W.indptr))] = 0.0
        W.eliminate_zeros()
        return W, known

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the rows of X and return their coordinates."""
        return self.fit(X).embedding_.copy()

    def transform(self, X: Any) -> Array:
        """Coordinates of new rows, by the Nyström formula ψ(x) = Σ_j P(x, x_j) ψ(x_j) / θ.

        P(x, x_j) are the weights of x to the rows of the graph, or of the part of it that x has the largest weights to,
        divided by their sum. Training rows get the coordinates that they have in `embedding_`, equal ones those of one
        of them. Nearest neighbours always have weights, so that rows far from all others come close to their nearest
        ones. Rows without weights, outside of every radius or where a kernel is 0, are NaN, as are those of parts that
        were not embedded, and coordinates with θ = 0, of which nothing is known at new rows; a warning says so.
        Coordinates of rows in single precision are rounded to it.
        """
        check_is_fitted(self, "embedding_")
        X, precision = self._rows(X, reset=False)
        return self._at_new_rows(X).astype(precision, copy=False)

    def inverse_transform(self, Z: Any) -> Array:
        """Rows for these coordinates, approximately: means of the ten nearest embedded rows, the near ones most."""
        check_is_fitted(self, "embedding_")
        Z = check_array(Z, dtype=(np.float64, np.float32), input_name="Z", estimator=self)
        if Z.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"Z of {type(self).__name__} must have {self.embedding_.shape[1]} columns, one for each coordinate, "
                f"got {Z.shape[1]}; give what transform returns."
            )
        if self._training_rows is None:
            raise TypeError(f"{type(self).__name__} was given affinities, so that there are no rows to go back to.")
        embedded = np.flatnonzero(np.isfinite(self._functions).all(axis=1))
        search = NeighbourSearch(self._functions[embedded])
        distances, nearest = search.of(Z.astype(np.float64, copy=False), min(_INVERSE_NEIGHBOURS, len(embedded)))
        length = np.median(distances, axis=1, keepdims=True)
        ratios = np.divide(distances, length, out=np.where(distances > 0, np.inf, 0.0), where=length > 0)
        weights = np.exp(-2.0 * ratios**2)
        weights /= weights.sum(axis=1, keepdims=True)
        rows = rows_of(weights, embedded[nearest], len(self._functions)) @ self._training_rows
        return (rows.toarray() if sparse.issparse(rows) else np.asarray(rows)).astype(Z.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

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
        Of each row, for "neighbors"; all other rows if there are fewer of them. If a few rows fly off, far from all
        others, they hang on the graph by few or weak edges: raise this to 15 or 20, or take width=None or "local".
    width : None, "auto", "local" or float
        Weights of neighbours: all 1; Gaussian of a width that is found, see `NeighbourAffinity`; self-tuning; or
        Gaussian of this width.
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
    n_neighbors_ : int
        For "neighbors": how many each row has.
    neighbor_method_, eigen_solver_ : str
        How neighbours were found ("tree", "brute", or "approximate", which misses some) and eigenvectors.
    width_, width_curve_
        For width="auto": the width, and the curve whose maximum it is, unless neighbours are farther away.

    Notes
    -----
    Rows in single precision are computed with in double precision; `embedding_` and `graph_` are rounded in the end.
    Cost: the search for neighbours, and a few products or one factorisation of a sparse matrix. Memory: some copies of
    the rows and of the weights, and for graphs like surfaces a factor of some 30 numbers a row; 100 MB for 50,000 rows
    of 20 columns with ten neighbours. [Belkin2003]_.

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
        Number of steps. "auto": as few as let the coordinates that are left out shrink to a tenth of the first one, or
        the first one itself shrink to a tenth.
    affinity, n_neighbors, width, radius, symmetric, neighbors, disconnected, eigen_solver, tol
        As in `LaplacianEigenmaps`.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        θ_m^t ψ_m. Distances between these, for all components, are the diffusion distances
        Σ_j (P^t_ij - P^t_kj)² / π_j, with the stationary distribution π.
    t_ : float
        Number of steps.
    eigenvalues_, residuals_, graph_, part_of_, n_parts_
        As in `LaplacianEigenmaps`; eigenvalues_ are 1 - θ_m.
    n_neighbors_, neighbor_method_, eigen_solver_, width_, width_curve_
        As in `LaplacianEigenmaps`.

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
        if not is_number(self.alpha):
            raise ValueError(f"alpha of DiffusionMap must be a number, got {self.alpha!r}; 1 removes the density.")
        automatic = isinstance(self.t, str) and self.t == "auto"
        if not automatic and not (is_number(self.t) and self.t >= 0):
            raise ValueError(f"t of DiffusionMap must be a number >= 0 or 'auto', got {self.t!r}; it counts steps.")

    @property
    def _n_left_out(self) -> int:
        return int(isinstance(self.t, str))

    def _densities(self) -> Array:
        density = degrees(self.graph_)
        # Their unit cancels out, and rows on their own have no weights to divide.
        return np.where(density > 0, density / density.max(), 1.0) ** float(self.alpha)

    def _set_time(self, first: float, left_out: Array) -> None:
        if not isinstance(self.t, str):
            self.t_ = float(self.t)
            return
        self.t_ = 1.0
        if left_out.size and left_out[0] > 0:
            most = 1.0 - np.finfo(np.float64).eps
            slowest = min(float(left_out[0]) / first, first, most)
            self.t_ = max(1.0, float(np.ceil(np.log(0.1) / np.log(slowest))))

    def _factors(self, values: Array) -> tuple[Array, Array]:
        possible = _alive(values) | (self.t_ >= 1)
        lift = np.power(np.abs(values), self.t_ - 1.0, out=np.full_like(values, np.nan), where=possible)
        return np.sign(values) * np.abs(values) ** self.t_, lift


def _alive(values: Array) -> Array:
    return np.abs(values) > _ALIVE
