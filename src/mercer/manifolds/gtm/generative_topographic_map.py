"""The generative topographic map: a manifold as a mixture of Gaussians on the image of a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.hosts import ArrayRows, column_means
from mercer.manifolds.gtm.grid_mixture import GridMixture
from mercer.manifolds.latent.kernels import check_latent_kernel, default_kernel
from mercer.manifolds.latent.known_rows import check_known_rows
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.points import latent_points
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace, latent_space
from mercer.manifolds.latent.starts import STARTS, filled, given_coordinates, start_coordinates
from mercer.parameters import check_choice, check_count, check_positive
from mercer.running import Status, Stopping

_PRIORS = ("rkhs", "l2")
_POSTERIORS = ("mean", "mode")


@dataclass(frozen=True)
class GridTuning:
    """Numbers of the topographic map, set by `benchmarks/manifolds.py`.

    Attributes
    ----------
    sides, fewest_sides : tuple of int, int
        Grid points along each coordinate of one, two and three, and of more.
    spacing : float
        Nodes are no further apart than this fraction of the width of the default kernel.
    start_rows, tried, short : int, tuple of str, Stopping
        Rows that a start is found from, starts that are tried, and how far.
    first_variance, least_variance : float
        The noise, as fractions of the mean variance of the columns: where it starts, and where it ends at the least.
    """

    sides: tuple[int, ...] = (150, 24, 10)
    fewest_sides: int = 6
    spacing: float = 0.7
    start_rows: int = 5000
    tried: tuple[str, ...] = ("pca", "isomap")
    short: Stopping = field(default=Stopping(tol=1e-3, max_iter=10))
    first_variance: float = 0.1
    least_variance: float = 1e-6

    def sides_for(self, n_dims: int) -> int:
        """Grid points along each of so many coordinates."""
        return self.sides[n_dims - 1] if n_dims <= len(self.sides) else self.fewest_sides


_TUNING = GridTuning()


class GenerativeTopographicMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A smooth map f of a latent grid z_1, ..., z_G, with noise: p(x) = 1/G Σ_g N(x; f(z_g), s² I).

    f(z) = f0 + Σ_j α_j k(z_j, z) and s² are those of the largest posterior, found by EM; rows are not projected, but
    shared among the grid points by their posterior probabilities.

    Parameters
    ----------
    n_components : int
        Number of latent coordinates.
    kernel : Kernel, optional
        k, on the latent space; by default a Gaussian of `width`, periodic on circles.
    width : float
        Of the default kernel; the latent space is [-1, 1] along each coordinate.
    n_nodes : "auto" or int
        Number of nodes z_j along each coordinate; "auto": no further apart than .7 widths, and no more than rows.
    n_grid : "auto" or int
        Number of grid points along each coordinate; "auto": 150, 24 or 10 for 1, 2 or 3 coordinates.
    prior : {"rkhs", "l2"}
        log p(f) = -penalty / (2v) · ||f||² + constant, where ||f||² is the norm of the kernel, a Gaussian process
        prior, whose results hardly depend on the number of nodes; or Σ_j ||α_j||², that of the original.
    penalty : float
        The precision of the prior in units of 1/v, v being the mean variance of the columns of X.
    topology : {"interval", "circle"} or tuple of them
        What each coordinate is.
    init : "auto", {"pca", "isomap", "eigenmaps"} or array of shape (n, n_components)
        Latent coordinates to start from, see `start_coordinates`; of more than 5000 rows only some are looked at.
        "auto": the first two of them for ten steps, and then the better one. Principal components alone fold curves
        that turn back.
    posterior : {"mean", "mode"}
        Which point of the posterior `transform` returns (on circles the direction of the mean).
    max_iter : int
        Most EM steps.
    tol : float
        The fit has converged when a step raises the log posterior per row by less.
    warm_start : bool
        Whether to start from the last fit, if features and columns are as many.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(iteration, value)`` with minus the log posterior per row; if it returns True, the fit ends.

    Attributes
    ----------
    grid_ : array of shape (G, n_components)
        z_g.
    nodes_, dual_coef_, intercept_ : arrays of shape (M, n_components), (M, d) and (d,)
        z_j, α_j and f0.
    noise_variance_ : float
        s².
    embedding_ : array of shape (n, n_components)
        Where the training rows are, see `posterior`.
    log_likelihood_ : float
        Mean of log p(x) over the training rows.
    history_ : list of float
        Log posterior per row, but for a constant, at the start and after each step; it never falls.
    kernel_, init_, n_iter_, status_ : Kernel, str, int, str
        What was used; number of steps; "optimal", "max_iter" or "interrupted".

    Notes
    -----
    [Bishop1998]_, and section 6.1 of [Smola2001]_. A step takes time O(n G d) and memory for blocks of rows only. Rows
    may have missing entries, NaN: they count with what they have, and ``inverse_transform(transform(X))`` fills the
    gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GenerativeTopographicMap
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 300)
    >>> X = np.column_stack([t, t**2]) + 0.05 * rng.normal(size=(300, 2))
    >>> gtm = GenerativeTopographicMap(1).fit(X)
    >>> round(abs(np.corrcoef(gtm.embedding_[:, 0], t)[0, 1]), 2), round(gtm.noise_variance_**0.5, 2)
    (np.float64(1.0), 0.05)
    >>> gtm.inverse_transform(gtm.transform([[0.5, np.nan]])).round(1)
    array([[0.5, 0.3]])
    """

    noise_variance_: float
    init_: str
    _offset: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = None,
        width: float = 0.5,
        n_nodes: Any = "auto",
        n_grid: Any = "auto",
        prior: str = "rkhs",
        penalty: float = 1.0,
        topology: Any = "interval",
        init: Any = "auto",
        posterior: str = "mean",
        max_iter: int = 500,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.width = width
        self.n_nodes = n_nodes
        self.n_grid = n_grid
        self.prior = prior
        self.penalty = penalty
        self.topology = topology
        self.init = init
        self.posterior = posterior
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the map of the rows of X; y is ignored."""
        stopping = Stopping.of(self)
        self._space = self._checked_space()
        X = self._rows(X, reset=True)
        scale = self._checked_scale(X)
        basis = self._basis(len(X))
        grid = self._space.grid(self._sides("n_grid", _TUNING.sides_for(self._space.n_dims)))
        features = basis.features(grid)
        precisions = np.zeros(features.shape[1])
        precisions[: basis.n_features] = float(self.penalty) / scale
        mixture = GridMixture(features, precisions, _TUNING.least_variance * scale)
        offset = column_means(ArrayRows(X))
        previous = getattr(self, "_coefficients", None)
        if self.warm_start and previous is not None and previous.shape == (features.shape[1], X.shape[1]):
            W, variance, self.init_ = previous.copy(), self.noise_variance_, "warm_start"
            W[basis.n_features] += self._offset - offset
        else:
            W, variance, status = self._start(X - offset, basis, mixture, _TUNING.first_variance * scale)
            if status == Status.INTERRUPTED:
                stopping = replace(stopping, callback=lambda *_: True)
        run = mixture.fit(Rows(X - offset), W, variance, stopping)
        self._mixture, self._coefficients, self._offset = mixture, run.state.W, offset
        self._map = basis.map_of(run.state.W)
        self.kernel_, self.grid_, self.nodes_ = basis.kernel, grid, basis.nodes
        self.dual_coef_, self.intercept_ = self._map.alpha, self._map.gamma[0] + offset
        self.noise_variance_ = run.state.variance
        self.log_likelihood_ = run.state.sums.log_likelihood / len(X)
        self.history_ = [-value for value in run.history]
        self.status_, self.n_iter_ = run.status, max(1, run.n_iter)
        self.embedding_ = self._located(X)
        run.warn_unless_converged("GenerativeTopographicMap")
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the map, and return where the rows of X are on it."""
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return self.fit(X).embedding_.astype(dtype, copy=False)

    def transform(self, X: Any) -> Array:
        """Where the rows of X are in the latent space: mean or mode of their posterior, of shape (n, n_components)."""
        check_is_fitted(self, "grid_")
        X = self._rows(X, reset=False)
        return self._located(X).astype(X.dtype, copy=False)

    def responsibilities(self, X: Any) -> Array:
        """Posterior probabilities p(z_g | x) of the grid points, an array of shape (n, G)."""
        return np.concatenate(self._posterior(X, lambda block, R, log_p: R))

    def score_samples(self, X: Any) -> Array:
        """The log-density log p(x) of each row, of those of its entries that are known."""
        return np.concatenate(self._posterior(X, lambda block, R, log_p: log_p))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-density of the rows of X: larger is better."""
        return float(self.score_samples(X).mean())

    def inverse_transform(self, Z: Any) -> Array:
        """Images f(z) of latent points, of shape (n, d); points go around circles, and lie in [-1, 1] in intervals."""
        check_is_fitted(self, "grid_")
        Z = latent_points(self, Z, self._space)
        return (self._map(Z) + self._offset).astype(Z.dtype, copy=False)

    def metric(self, Z: Any) -> Array:
        """The metric JᵀJ that the space of the data induces at latent points, an array of shape (n, q, q).

        The root of its determinant is the magnification: what area the map gives to a unit of latent area.
        """
        check_is_fitted(self, "grid_")
        T = self._map.with_tangents(latent_points(self, Z, self._space).astype(np.float64, copy=False))[1]
        return np.einsum("iac,ibc->iab", T, T)

    def quantization_error(self, X: Any) -> float:
        """The mean squared distance of the rows of X, in the entries that are known, from the nearest f(z_g)."""
        check_is_fitted(self, "grid_")
        rows = Rows(self._rows(X, reset=False) - self._offset)
        F = self._mixture.features @ self._coefficients
        squares = np.empty(len(rows))

        def work(block: slice, R: Array, log_p: Array) -> None:
            squares[block] = np.sum(rows.residuals(block, F[np.argmax(R, axis=1)]) ** 2, axis=1)

        self._mixture.posterior(rows, self._coefficients, self.noise_variance_, work)
        return float(squares.mean())

    # Steps -----------------------------------------------------------------------------------------------------------

    def _basis(self, n_rows: int) -> LatentBasis:
        widths = np.full(self._space.n_dims, float(self.width))
        if self.kernel is None:
            kernel = default_kernel(self._space, widths)
        else:
            kernel = clone(check_latent_kernel(self.kernel, self._space, "GenerativeTopographicMap"))
        automatic = isinstance(self.n_nodes, str) and self.n_nodes == "auto"
        sides = self._space.sides_for(_TUNING.spacing * widths, most=n_rows) if automatic else self._sides("n_nodes")
        if not automatic and np.prod(sides) > n_rows:
            raise ValueError(
                f"n_nodes of GenerativeTopographicMap must be at most {int(n_rows ** (1 / len(sides)))} along each "
                f"coordinate, as there are {n_rows} rows, got {self.n_nodes!r}; take fewer nodes, or 'auto'."
            )
        return LatentBasis(self._space, kernel, sides, whitened=self.prior == "rkhs")

    def _start(self, X: Array, basis: LatentBasis, mixture: GridMixture, variance: float) -> tuple[Array, float, str]:
        """Coefficients of the map that the starting coordinates of the rows suggest, its noise, and how it ended."""
        some = slice(None, None, -(-len(X) // _TUNING.start_rows))
        if not isinstance(self.init, str):
            self.init_ = "given"
            Z = given_coordinates(self.init, (len(X), self._space.n_dims), "GenerativeTopographicMap")
            return *_suggested(filled(X[some]), self._space.inside(Z[some]), basis, mixture, variance), ""
        rows, complete = Rows(X[some]), filled(X[some])
        runs = {}
        for method in _TUNING.tried if self.init == "auto" else (self.init,):
            start = _suggested(complete, start_coordinates(complete, self._space, method), basis, mixture, variance)
            if self.init != "auto":
                self.init_ = self.init
                return *start, ""
            runs[method] = mixture.fit(rows, *start, _TUNING.short)
            if runs[method].status == Status.INTERRUPTED:
                break
        self.init_ = min(runs, key=lambda method: runs[method].value)
        best = runs[self.init_].state
        return best.W, best.variance, runs[method].status

    def _posterior(self, X: Any, work: Callable[[slice, Array, Array], Array]) -> list[Array]:
        check_is_fitted(self, "grid_")
        rows = Rows(self._rows(X, reset=False) - self._offset)
        return self._mixture.posterior(rows, self._coefficients, self.noise_variance_, work)

    def _located(self, X: Array) -> Array:
        circle = self._space.is_circle
        directions = np.exp(1j * np.pi * self.grid_[:, circle])

        def work(block: slice, R: Array, log_p: Array) -> Array:
            if self.posterior == "mode":
                return self.grid_[np.argmax(R, axis=1)]
            Z = R @ self.grid_
            Z[:, circle] = np.angle(R @ directions) / np.pi
            return self._space.inside(Z)

        rows = Rows(X - self._offset)
        return np.concatenate(self._mixture.posterior(rows, self._coefficients, self.noise_variance_, work))

    # Checks ----------------------------------------------------------------------------------------------------------

    def _checked_space(self) -> LatentSpace:
        owner = type(self).__name__
        q = check_count(self.n_components, "n_components", owner)
        check_positive(self.width, "width", owner, "0.5 is usual")
        check_positive(self.penalty, "penalty", owner, "1 is usual")
        check_choice(self.prior, _PRIORS, "prior", owner)
        check_choice(self.posterior, _POSTERIORS, "posterior", owner)
        if isinstance(self.init, str):
            check_choice(self.init, ("auto", *STARTS), "init", owner)
        return latent_space(self.topology, q, owner)

    def _sides(self, parameter: str, automatic: int = 0) -> tuple[int, ...]:
        value = getattr(self, parameter)
        if automatic and isinstance(value, str) and value == "auto":
            return (automatic,) * self._space.n_dims
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 2:
            raise ValueError(
                f"{parameter} of {type(self).__name__} must be 'auto' or a whole number >= 2, got {value!r}; it counts "
                "points along each coordinate."
            )
        return (int(value),) * self._space.n_dims

    def _checked_scale(self, X: Array) -> float:
        """The mean variance of the columns."""
        owner = type(self).__name__
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components of {owner} must be at most the number of columns, n_features={X.shape[1]}, got "
                f"{self.n_components!r}; ask for fewer."
            )
        return float(np.nanvar(X, axis=0).mean())

    def _rows(self, X: Any, *, reset: bool) -> Array:
        options = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan", "reset": reset}
        X = validate_data(self, X, ensure_min_samples=2 if reset else 1, **options)
        check_known_rows(X, type(self).__name__, "map", training=reset)
        return X.astype(np.float64) if reset else X

    @property
    def _n_features_out(self) -> int:
        return int(self.grid_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _suggested(X: Array, Z: Array, basis: LatentBasis, mixture: GridMixture, variance: float) -> tuple[Array, float]:
    """Coefficients of the map of rows at some latent points, given the noise, and its mean squared error."""
    features = basis.features(Z)
    roots = np.diag(np.sqrt(variance * mixture.precisions))
    target = np.vstack([X, np.zeros((len(roots), X.shape[1]))])
    W = np.linalg.lstsq(np.vstack([features, roots]), target, rcond=None)[0]
    return W, float(np.mean((X - features @ W) ** 2))
