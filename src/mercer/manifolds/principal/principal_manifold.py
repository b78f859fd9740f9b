"""Principal manifolds: curves, surfaces and maps through the middle of data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.hosts import ArrayRows, column_means
from mercer.manifolds.latent.known_rows import check_known_rows
from mercer.manifolds.latent.points import latent_points
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.principal.result import ManifoldFit
from mercer.manifolds.principal.rotated import project_rotated, refine_rotated
from mercer.manifolds.principal.settings import OWNER, Settings, complaint, whole
from mercer.manifolds.principal.training import Training, train
from mercer.running import Status

# Points of a curve between which its length is that of straight lines.
_LENGTH_STEPS = 4000


class PrincipalManifold(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A smooth curve or surface f(z) through the middle of data, with the latent coordinates z of its rows.

    Minimises 1/m Σ_i min_z c(x_i, f(z)) + penalty/2 ||f||², with f(z) = f0 + Σ_j α_j k(z_j, z) and nodes z_j on a grid
    in a latent space that is a product of intervals [-1, 1] and circles of period 2.

    Parameters
    ----------
    n_components : int or "auto"
        Number of latent coordinates; "auto" chooses up to 3.
    kernel : Kernel, optional
        On the latent space, of period 2 in coordinates that are circles. By default a Gaussian, made periodic there.
    width : float, list of float or "auto"
        Of the default kernel, for all coordinates or for each. "auto" chooses; the rule where there is no choice (see
        Notes) is 0.2 for curves, 0.5 for surfaces, then 0.8.
    n_nodes : int, tuple of int or "auto"
        Number of nodes, in all or along each coordinate. "auto": no farther apart than 0.7 widths, and no more than
        rows; more change next to nothing.
    penalty : float or "auto"
        λ. "auto" chooses; the rule is 3e-4 for the squared cost, the same in other units for the others.
    cost : {"squared", "l1", "huber"}, Loss or RowLoss
        c: ||r||²; "l1" or ``Laplace()``: Σ|r_c|; "huber" or ``Huber(sigma)``: ||r||² / (2 sigma) up to the length sigma
        and ||r|| - sigma/2 beyond; or a `RowLoss` of one's own.
    regularizer : {"rkhs", "l1", "group_l1", "l2", "length"}, Regularizer or MapPenalty
        ||f||²: the norm of the kernel, αᵀKα; l2: Σ||α_j||² (that of the generative topographic map); length: ∫||f'||²,
        for open curves. "l1" and "group_l1" take penalty Σ|α_jc| and penalty Σ_j ||α_j|| instead: few nodes remain.
    topology : "interval", "circle", tuple of these or "auto"
        Of all coordinates, or of each: ("interval", "circle") is a cylinder, ("circle", "circle") a torus. "auto"
        chooses the number of circles by held-out likelihood, as it does the width; circles come first. One
        must gain two standard errors upon the manifold without this coordinate: a loop on a map of two is no torus.
        Where there is no choice (see Notes) it stands for intervals.
    linear_part : bool
        Whether f has a linear part without a penalty: from principal components, for a large penalty, to a manifold.
    n_rotated : int, None or "auto"
        Number of leading principal components that the manifold is fitted to; f maps to all columns, in the span of
        these. "auto": where there are more than 40 columns as many as hold 80 % of the variance, from 40 to 100;
        all columns if the cost is not squared, or entries are missing in a hard fit. None: all columns as they are.
    init : "auto", {"pca", "isomap", "eigenmaps"} or array of shape (m, n_components)
        Start. "auto": each of the three for ten iterations, and then the best; where a model is chosen, principal
        components and Isomap with 8 neighbours, for curves also with 5 and 12. More than 3000 rows are started from a
        sample of so many, and where settings are given then fitted in samples of m/16 and m/4, so that few iterations
        need all rows.
    assignment : {"auto", "soft", "both", "hard"}
        "hard" projects rows, and minimises the objective above. "soft" goes on from there by EM, or starts by it from
        coordinates that are given: rows are shared among cells of the latent space by their posterior, see `soft_map`.
        "both" ends that by four hard iterations, see `hard_end`. "soft" and "both" need the squared cost and a
        quadratic regularizer. "auto" is hard if settings are given. If a model is chosen, it is both for curves that
        the end moves by no more than a tenth of the standard deviation of the noise, and else soft.
    sigma : float or "auto"
        Of the word "huber" as cost. "auto": the median distance of rows from the mean of their ten nearest neighbours.
    annealing : int
        Number of larger penalties, each ten times the next, that are gone through first; history_ is that of the last.
    max_iter : int
        Most iterations.
    tol : float
        The fit ends when three iterations in a row gain less than this share of the objective; a soft one when a step
        gains less than ten times this in log density per entry, or thirty times for surfaces.
    warm_start : bool
        Start from the last fit, if there is one with as many coordinates; what it chose and is "auto" remains.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(n_iter, fit) with a `ManifoldFit` after each iteration, and while a model is chosen after
        each candidate, with their number and the rows that are looked at; ends the fit if it returns True.
    random_state : int, RandomState or None
        Chooses samples, and the rows that are held out.

    Attributes
    ----------
    embedding_ : array of shape (m, n_components)
        Latent coordinates of the training rows.
    objective_, history_ : float, list of float
        The regularized quantization error in the end, and at the start and after each iteration: it never rises. If
        the assignment is soft, or both, the history is that of minus the penalised log-likelihood per row in EM; the
        hard iterations after that are not in it, nor in n_iter_.
    n_iter_, status_ : int, str
        Number of iterations; "optimal", "max_iter" or "interrupted".
    nodes_, dual_coef_ : array of shape (n_nodes, n_components), array of shape (n_nodes, d)
        z_j and α_j.
    intercept_, linear_coef_ : array of shape (d,), array of shape (n_linear, d)
        f0, and the coefficients of the coordinates in the linear part.
    kind_ : {"manifold", "pca", "mean"}
        What was fitted: a manifold, or where held-out rows want none an affine or a constant map.
    kernel_, penalty_, init_, assignment_ : Kernel, float, str, str
        What was used. Where `kind_` is no manifold, `penalty_` is NaN and `init_` repeats the kind.
    chosen_, candidates_ : str, dict of lists
        Which model was chosen and why, in words, and the table of all: what it is, its settings, and the mean held-out
        log density per row, of the leading components where rows were rotated.
    topology_ : tuple of {"interval", "circle"}
        Of the coordinates.
    n_rotated_, rotation_error_ : int, float
        Number of components that it was fitted to (that of the columns, if they were left as they are), and the share
        of the variance of the training rows that is orthogonal to these. Distances, costs and objectives count it.
    density_, noise_variance_ : ManifoldDensity, float
        The density of `log_likelihood`, and the variance of its noise, which is the same in all columns also where the
        fit was to some components: then it is the mean of what the fit and the components have left over. If the
        assignment is both, these are of the soft fit, since rows lie around it and not beyond its ends.
    fit_ : ManifoldFit
        All of it, also as a start of `fit_manifold`; like density_, of the rows less the means of their columns.

    Notes
    -----
    Choice of a model (`n_components`, `topology`, `width` and `penalty` that are "auto"): by the held-out likelihood of
    the density that it implies, of 1500 rows at most; see `ModelChoice`. A fifth of them is held out, of fewer than
    800 rows in several folds. The mean or principal components are kept unless a manifold is better by more than two
    standard errors: then f is constant, or affine on the latent box, and `chosen_` says so. What was chosen is then
    fitted to all m rows, with 1500/m times the penalty and for surfaces (1500/m)^(1/6) times the width, since more rows
    show finer structure. With fewer than 50 rows, a cost that is not squared or a sparse regularizer there is no
    choice: rules give the settings, and one coordinate.

    Soft assignment is for noise: a soft fit aims at the curve that rows lie around, a hard one at the curve that is
    nearest to them. The hard curve goes on beyond the ends of the other, lies outward of its bends, and with a small
    penalty winds through the noise in the end. Four hard iterations after the soft ones go most of the way, and change
    little where noise is small. ``docs/maps.md`` has the figures.

    Rows may have missing entries, NaN: they are projected by the others, and ``inverse_transform(transform(X))`` or,
    with a smaller error, `impute` fills them. A model is chosen on the complete rows if these are the half of all, or
    on rows that are filled by means over near rows. EM then goes on with rows that are filled by the manifold, twice,
    and the noise is that of the known entries alone. The objective is not convex: its minimum depends on the start.
    Time is linear in the number of rows; memory is about that of two copies of the data and n_components / 2 more, and
    20 MB for the starts. [Smola2001]_, [Smola1998]_, section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrincipalManifold
    >>> from mercer.datasets import make_arc
    >>> X, _ = make_arc(300, noise=0.1, random_state=0)
    >>> curve = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-3).fit(X)
    >>> radius = np.linalg.norm(curve.inverse_transform(np.linspace(-1, 1, 100)[:, None]), axis=1)
    >>> bool(np.abs(radius.mean() - 1) < 0.02)
    True
    """

    def __init__(
        self,
        n_components: Any = 2,
        *,
        kernel: Any = None,
        width: Any = "auto",
        n_nodes: Any = "auto",
        penalty: Any = "auto",
        cost: Any = "squared",
        regularizer: Any = "rkhs",
        topology: Any = "interval",
        linear_part: bool = False,
        n_rotated: Any = "auto",
        init: Any = "auto",
        assignment: str = "auto",
        sigma: Any = "auto",
        annealing: int = 0,
        max_iter: int = 200,
        tol: float = 1e-5,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Callable[[int, ManifoldFit], Any] | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.width = width
        self.n_nodes = n_nodes
        self.penalty = penalty
        self.cost = cost
        self.regularizer = regularizer
        self.topology = topology
        self.linear_part = linear_part
        self.n_rotated = n_rotated
        self.init = init
        self.assignment = assignment
        self.sigma = sigma
        self.annealing = annealing
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    # Fit -------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the manifold to the rows of X; y is ignored."""
        settings = Settings.of(self)
        X = self._centred(self._validated(X, reset=True))
        previous = getattr(self, "fit_", None) if self.warm_start else None
        self._store(train(settings, X, previous))
        return self

    def _validated(self, X: Any, *, reset: bool) -> Array:
        options = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan", "reset": reset}
        X = validate_data(self, X, ensure_min_samples=2 if reset else 1, **options)
        check_known_rows(X, OWNER, "manifold", training=reset)
        if reset:
            self._origin = column_means(ArrayRows(X))
        return np.asarray(X)

    def _centred(self, X: Array) -> Array:
        return np.asarray(X - self._origin)  # in double precision, as the origin is

    def _new_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "fit_")
        return Rows(self._centred(self._validated(X, reset=False)))

    def _store(self, training: Training) -> None:
        fit = self.fit_ = training.fit
        basis = fit.map.basis
        self.density_, self.noise_variance_ = training.density, training.density.variance
        self.kind_, self.init_, self.assignment_ = fit.kind, training.init, training.assignment
        self.chosen_, self.candidates_ = training.chosen, training.candidates
        self._rotation, self.rotation_error_ = training.rotation, training.rotation.error
        directions = training.rotation.components
        self.n_rotated_ = self.n_features_in_ if directions is None else len(directions)
        self.embedding_, self.objective_, self.history_ = fit.Z, fit.objective, fit.history
        self.n_iter_, self.status_, self.penalty_ = fit.n_iter, fit.status, fit.penalty
        self.nodes_, self.kernel_, self.topology_ = basis.nodes, basis.kernel, basis.space.topology
        self.dual_coef_, self.linear_coef_ = fit.map.alpha, fit.map.gamma[1:]
        self.intercept_ = self._origin + fit.map.gamma[0]
        if fit.status == Status.MAX_ITER:
            warnings.warn(
                f"{OWNER} did not converge in {self.max_iter} iterations; raise max_iter or tol, or fit again with "
                "warm_start=True.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # Use -------------------------------------------------------------------------------------------------------------

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit the manifold and return the coordinates of the training rows."""
        return self.fit(X).embedding_.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def transform(self, X: Any) -> Array:
        """Latent coordinates of rows: of the nearest point in the sense of the cost, by the entries that are known."""
        check_is_fitted(self, "fit_")
        X = self._validated(X, reset=False)
        Z = project_rotated(self._rotation, Rows(self._centred(X)), self.fit_.map, self.fit_.cost).Z
        return Z.astype(X.dtype, copy=False)

    def refine(self, X: Any, Z: Any, *, n_steps: int = 3) -> Array:
        """Coordinates after a few steps of the projection from Z; only rows that are still far are searched anew."""
        rows, Z = self._new_rows(X), self._latent(Z)
        return refine_rotated(self._rotation, rows, self.fit_, Z, whole("n_steps", n_steps, least=0))

    def inverse_transform(self, Z: Any) -> Array:
        """Points f(z) of the manifold; coordinates go around circles, and must lie in [-1, 1] in intervals."""
        check_is_fitted(self, "fit_")
        Z = latent_points(self, Z, self.fit_.map.basis.space)
        return (self._origin + self.fit_.map(Z.astype(np.float64, copy=False))).astype(Z.dtype, copy=False)

    def _latent(self, Z: Any) -> Array:
        check_is_fitted(self, "fit_")
        return latent_points(self, Z, self.fit_.map.basis.space).astype(np.float64, copy=False)

    def distance_to_manifold(self, X: Any) -> Array:
        """Euclidean distance of each row from the manifold, in the entries that are known."""
        return np.sqrt(project_rotated(self._rotation, self._new_rows(X), self.fit_.map).costs)

    def quantization_error(self, X: Any) -> float:
        """Mean cost of the rows: what is lost if they are replaced by their projections."""
        rows = self._new_rows(X)
        return float(project_rotated(self._rotation, rows, self.fit_.map, self.fit_.cost).costs.mean())

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the quantization error. It keeps rising for ever more winding manifolds: do not choose by it."""
        return -self.quantization_error(X)

    def log_likelihood(self, X: Any) -> Array:
        """The log density log p(x) that the manifold implies for each row, of those of its entries that are known.

        A latent point that is uniform in its space, its image, and noise of variance `noise_variance_` in all columns:
        see `ManifoldDensity`. Unlike `score`, its mean over new rows may be used to choose by.
        """
        return self.density_.log_density(self._new_rows(X))

    def impute(self, X: Any, *, return_std: bool = False, n_draws: int | None = None, random_state: Any = None) -> Any:
        """Rows whose missing entries, NaN, are filled by what the density of `log_likelihood` expects of them.

        ``inverse_transform(transform(X))`` gives the nearest point of the manifold instead. Where the entries that are
        known suit several places of the manifold that is one of them; the expectation lies between them, and has the
        smaller error.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        return_std : bool
            Whether to return standard deviations as well: given the entries that are known, of those that are not.
        n_draws : int, optional
            Multiple imputation: so many tables, whose missing entries are drawn from the density instead, given the
            others. What is computed from each of them differs by as much as what is missing leaves open.
        random_state : int, RandomState or None
            Of the draws.

        Returns
        -------
        filled : array of shape (n, d), or (n_draws, n, d)
            The rows.
        std : array of shape (n, d)
            Only with `return_std`; 0 for entries that are known.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import PrincipalManifold
        >>> from mercer.datasets import make_arc
        >>> X, _ = make_arc(300, noise=0.1, random_state=0)
        >>> circle = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-3).fit(X)
        >>> filled, std = circle.impute([[1.0, np.nan], [0.0, np.nan]], return_std=True)
        >>> bool(std[1, 1] > 2 * std[0, 1])  # above or below
        True
        >>> circle.impute([[0.0, np.nan]], n_draws=5, random_state=0).shape
        (5, 1, 2)
        """
        check_is_fitted(self, "fit_")
        if n_draws is not None and return_std:
            raise complaint("return_std", "False if there are draws", return_std, "take the deviations of these")
        X = self._validated(X, reset=False)
        rows = Rows(self._centred(X))
        if n_draws is not None:
            rng = check_random_state(random_state)
            draws = [self.density_.drawn(rows, rng) for _ in range(whole("n_draws", n_draws, least=1))]
            return (self._origin + np.stack(draws)).astype(X.dtype, copy=False)
        filled = (self._origin + self.density_.filled(rows)).astype(X.dtype, copy=False)
        return (filled, self.density_.deviations(rows).astype(X.dtype, copy=False)) if return_std else filled

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Rows drawn from the density of `log_likelihood`."""
        check_is_fitted(self, "fit_")
        n_samples = whole("n_samples", n_samples, least=1)
        return self._origin + self.density_.sample(n_samples, check_random_state(random_state))

    def tangent(self, Z: Any) -> Array:
        """Tangent vectors ∂f/∂z_a, an array of shape (n, n_components, d)."""
        Z = self._latent(Z)
        return self.fit_.map.with_tangents(Z)[1]

    def metric(self, Z: Any) -> Array:
        """Metric tensors ∂f/∂z_a · ∂f/∂z_b, an array of shape (n, n_components, n_components).

        The roots of their determinants are the areas (lengths, volumes) that a unit of the latent space is mapped to.
        """
        T = self.tangent(Z)
        return np.asarray(T @ T.transpose(0, 2, 1))

    def arc_length(self, Z: Any) -> Array:
        """Length of a curve from z = -1 to each z."""
        Z = self._latent(Z)
        if Z.shape[1] != 1:
            raise ValueError(f"n_components of {OWNER} must be 1 for a length, got {Z.shape[1]}; take the metric.")
        grid = np.linspace(-1.0, 1.0, _LENGTH_STEPS + 1)
        F = self.fit_.map(grid[:, None])
        lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(F, axis=0), axis=1))])
        return np.interp(Z[:, 0], grid, lengths)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
