"""A transformer after which equal distances mean equal differences of the target."""

from __future__ import annotations

import operator
import warnings
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.metrics.candidates import Candidate
from mercer.metrics.choice import without_copies
from mercer.metrics.columns import Columns, group_numbers, text_refused
from mercer.metrics.families import NAMES, families_named
from mercer.metrics.importance import pairwise_interactions
from mercer.metrics.likelihood import Regression, left_out_residuals, regression
from mercer.metrics.search import Search
from mercer.metrics.targets import standardised_targets
from mercer.metrics.tuning import TUNING
from mercer.metrics.twins import Twins
from mercer.parameters import check_callback, check_choice, check_count, is_number
from mercer.running import Status


class Compared(NamedTuple):
    """A candidate: its log-likelihood per row, and its error on rows that it was not learned on.

    The error is a fraction of what the mean leaves: of the variance of the targets, or of the deviance (log loss after
    the best sigmoid) where each target has two values only.
    """

    family: str
    shape: str
    log_likelihood: float
    error: float


class LearnedMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn how much each column counts, by the likelihood of the targets; rows are transformed to x T.

    Parameters
    ----------
    kernel : str, optional
        "Exponential", "ProductLaplace", "Gaussian" or "Anova"; by default that with the least error.
    rotation : {"auto", "none"}
        Whether T may be more than diagonal: "auto" keeps a rotation if it lowers the error by 3 %.
    groups : list of list of int or str, optional
        Columns that share one weight, like those of the levels of a category: their places, or their names.
    rows : int
        Most rows of the comparison of candidates; others judge them.
    refine_rows : int or "auto"
        Most rows of the last steps; by default 2000, or a quarter of all rows up to 3000.
    scale : {"standard", "robust"}
        Units of the columns before weights are learned: standard deviations about the mean, or interquartile ranges
        about the median, which a few far values do not move.
    prior : float
        Strength of the prior that all weights are equal: logarithms of weights differ by 1 / √(2 prior).
    random_state : int, RandomState or None
        Draws these rows.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(iteration, objective)`` after each evaluation of the likelihood; if it returns True, the
        fit ends with the best metric so far.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel for transformed rows, of unit length.
    penalty_ : float
        Its ridge, the penalty of `KernelRidge`.
    components_ : array of shape (n_columns, n_components)
        T, of standardised columns; after those of X come the indicators of missing values.
    weights_ : array of shape (n_features_in_,)
        Weights of the columns of X before a rotation.
    noise_ : float
        Variance of the noise by the likelihood, as a fraction of that of the targets. It assumes Gaussian noise.
    importance_ : array of shape (n_features_in_,)
        Root mean square slope of the fitted function: standard deviations of y for one of the column.
    table_ : list of Compared
        All candidates with their likelihoods and errors.
    reason_ : str
        Why this one, and what was left out.
    status_, n_iter_ : str, int
        "optimal" or "interrupted", and how often the likelihood was evaluated.

    Notes
    -----
    Columns are standardised. Missing values (NaN) count as the center of their column, and an indicator of them has a
    weight of its own. Labels that are not numbers are classes: one target of ±1 for each. Several targets share one
    metric. Duplicated columns, whatever their units, share one weight, and each has the importance of all together.

    The weights maximise the profile marginal likelihood of a Gaussian process. Kernels and shapes, equal weights or one
    for each column, are compared by errors on rows that were not learned on: those outside the subsample if there are
    300, else four folds. Errors are squares, or log losses of the best sigmoids where each target has two values only.
    A Gaussian with equal weights stays unless another candidate is better by the standard error of the difference, or
    two of them for classes. Equal rows are not parted unless most rows are repeated, and copies of rows do not count.
    Sums over sets of columns (`Anova`) have a share for each column, too. Where folds judge, which have fewer rows than
    there are, a sum stands in for the choice if the likelihood of all rows, with what folds say against it, prefers it
    by 2 nats, and most rows are predicted better from the others. Rotations stretch the rows by the average outer
    product of gradients of the fitted function. With more than 200 columns, those with the largest marginal relevance
    have weights of their own, and all others none; equal weights are those of all columns.

    Cost n³ for the `refine_rows` rows, about a dozen times; memory two n x n matrices of them. Machines with
    ``metric="learned"`` find the C of their loss by `penalty_` and `noise_`.

    References
    ----------
    [Rasmussen2006]_, sections 5.1 and 5.4; [Radhakrishnan2024]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, LearnedMetric
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(150, 4))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> metric = LearnedMetric().fit(X, y)
    >>> bool(metric.importance_[:2].min() > 5 * metric.importance_[2:].max())
    True
    >>> model = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(X), y)
    """

    def __init__(
        self,
        kernel: str | None = None,
        *,
        rotation: str = "auto",
        groups: Any = None,
        rows: int = 1000,
        refine_rows: int | str = "auto",
        scale: str = "standard",
        prior: float = 1.0,
        random_state: Any = 0,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.kernel = kernel
        self.rotation = rotation
        self.groups = groups
        self.rows = rows
        self.refine_rows = refine_rows
        self.scale = scale
        self.prior = prior
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric from rows X and one or several targets y, or labels."""
        self._check_parameters()
        X = self._rows(X, reset=True)
        Y = standardised_targets(y, X)
        groups = self._checked_groups(X.shape[1])
        self._columns = Columns.fit(X, robust=self.scale == "robust")
        self._families = np.arange(X.shape[1])
        Z = self._columns.transform(X)
        kept = np.flatnonzero(self._columns.varies)
        if not Y.shape[1] or not kept.size:
            self._store_nothing(Z, Y, kept)
            return self
        numbers = group_numbers(groups, X.shape[1], self._columns.sources())[kept]
        self._twins = Twins.among(Z[:, kept], numbers)
        given = kept[kept < X.shape[1]]
        self._families[given] = kept[self._twins.leaders[: len(given)]]
        numbers = self._twins.sharing(numbers)
        used = without_copies(Z[:, kept], Y)
        Z, Y = Z[np.ix_(used, kept)], Y[used]
        search = Search(
            Z,
            Y,
            families=families_named(self.kernel),
            groups=np.unique(numbers, return_inverse=True)[1],
            prior=float(self.prior),
            rotation=self.rotation == "auto",
            rows=self.rows,
            refine_rows=self._n_refined(len(Z)),
            random_state=check_random_state(self.random_state),
            callback=self.callback,
            verbose=self.verbose,
        )
        self._store(search.run(), Z, Y, kept, search)
        return self

    def transform(self, X: Any) -> Array:
        """Rows in the metric: standardised columns times `components_`."""
        check_is_fitted(self, "components_")
        X = self._rows(X, reset=False)
        return np.asarray(self._columns.transform(X) @ self.components_)

    @property
    def leave_one_out_error_(self) -> float:
        """Mean squared error of predicting a row from the others, as a fraction of the variance of the targets.

        What the rows leave unknown is in it, and not in `noise_`. Weights have seen the row that is left out: errors of
        new rows are larger. Computed when it is read, from the rows of the last steps: n³.
        """
        check_is_fitted(self, "components_")
        if not self.table_ and not self.importance_.any():
            return self.noise_
        residuals = left_out_residuals(self._family, self._support, self._fit.coef, self.penalty_)
        return float(np.mean(residuals**2))

    def interactions(self, X: Any, *, n_columns: int = 10) -> Array:
        """How much pairs of columns act together on the fitted function: a symmetric table (d, d).

        Parameters
        ----------
        X : array_like
            Rows, of which 300 at most are used.
        n_columns : int
            How many columns to look at, by importance; pairs of others are NaN.

        Returns
        -------
        array of shape (n_features_in_, n_features_in_)
            Mean of (f(x) - f(x; j) - f(x; k) + f(x; j, k))² / 4 over rows, where column j or k or both are those of
            another row; as a fraction of the variance of the targets. Functions that are sums over columns have zeros.
            Duplicates change together, and pairs of them are NaN.
        """
        check_is_fitted(self, "components_")
        check_count(n_columns, "n_columns", "LearnedMetric.interactions")
        X = self._rows(X, reset=False)
        chosen = np.argsort(-self.importance_, kind="stable")[:n_columns]
        return pairwise_interactions(self._predict, X, chosen, self._families)

    def _predict(self, X: Array) -> Array:
        """Values of the function that the likelihood fits, of standardised targets."""
        A = self._columns.transform(X) @ self.components_
        return self._fit.offset + self.kernel_(A, self._support) @ self._fit.coef

    def _rows(self, X: Any, *, reset: bool) -> Array:
        options: dict[str, Any] = {"reset": reset, "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        with text_refused(X, type(self).__name__):
            return np.asarray(validate_data(self, X, ensure_min_samples=2 if reset else 1, **options))

    def _check_parameters(self) -> None:
        """Refuse parameters before any work."""
        owner = type(self).__name__
        if self.kernel is not None:
            check_choice(self.kernel, NAMES, "kernel", owner)
        check_choice(self.rotation, ("auto", "none"), "rotation", owner)
        check_choice(self.scale, ("standard", "robust"), "scale", owner)
        check_count(self.rows, "rows", owner, least=2)
        if self.refine_rows != "auto":
            check_count(self.refine_rows, "refine_rows", owner, least=2)
        if not is_number(self.prior) or self.prior < 0:
            raise ValueError(
                f"prior of {owner} must be a number >= 0, got {self.prior!r}; 1 is the default, more draws the weights "
                "together."
            )
        check_callback(self.callback, owner, "the iteration and the objective")

    def _n_refined(self, n: int) -> int:
        if isinstance(self.refine_rows, str):
            return int(np.clip(n // TUNING.refined_share, *TUNING.refine_rows))
        return self.refine_rows

    def _checked_groups(self, d: int) -> list[list[int]]:
        """Groups as lists of columns, each in one group at most."""
        places = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", ()))}
        try:
            groups = [
                [places.get(column, -1) if isinstance(column, str) else operator.index(column) for column in group]
                for group in self.groups or ()
            ]
        except TypeError:
            groups = [[-1]]
        columns = [column for group in groups for column in group]
        if not all(groups) or any(not 0 <= c < d for c in columns) or len(set(columns)) < len(columns):
            raise ValueError(
                f"groups of LearnedMetric must be lists of different columns from 0 to {d - 1}, or their names, "
                f"got {self.groups!r}; name each column once at most."
            )
        return groups

    def _store(self, best: Candidate, Z: Array, Y: Array, kept: Array, search: Search) -> None:
        self._describe(best, kept)
        rows = search.refined
        self._support = best.rows(Z[rows])
        self._fit = regression(best.unit, self._support, Y[rows], best.ridge)
        self.noise_ = best.ridge * float(self._fit.variance.mean())
        self.importance_ = self._importance(best, kept)
        self.status_, self.n_iter_ = search.status, search.n_iter
        self.table_ = [
            Compared(family, shape, -search.choice.mean((family, shape)).value, search.choice.error((family, shape)))
            for family, shape in search.choice.scores
        ]
        self.reason_ = self._reason(best, kept, search)
        if self.status_ == Status.INTERRUPTED:
            warnings.warn(
                "LearnedMetric was interrupted; its metric is the best so far. Fit again for a better one.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _describe(self, best: Candidate, kept: Array) -> None:
        """The public numbers of a candidate for the columns that were kept."""
        n_columns = len(self._columns.varies)
        self._family, self.penalty_ = best.unit, best.ridge
        self.kernel_ = self._family.kernel()
        components = best.components
        self.components_ = np.zeros((n_columns, max(1, components.shape[1])))
        self.components_[kept, : components.shape[1]] = components
        weights = np.zeros(n_columns)
        weights[kept] = np.exp(best.log_weights)
        self.weights_ = weights[: self.n_features_in_]

    def _importance(self, best: Candidate, kept: Array) -> Array:
        """Root mean square slopes; those of a column and its indicator count together."""
        found = best.unit.slopes(self._support, self._fit.coef) @ best.components.T
        squares = np.mean(self._twins.together(found) ** 2, axis=(0, 1))
        sources = self._columns.sources()[kept]
        return np.sqrt(np.bincount(sources, squares, minlength=self.n_features_in_))

    def _store_nothing(self, Z: Array, Y: Array, kept: Array) -> None:
        """The metric where there is nothing to learn: equal weights, and a distance of about one between rows."""
        d = max(1, len(kept))
        best = Candidate(families_named(self.kernel or "Gaussian")[-1], "isotropic", np.full(d, -0.5 * np.log(d)), 1.0)
        self._describe(replace(best, log_weights=best.log_weights[: len(kept)]), kept)
        self._support = np.zeros((1, self.components_.shape[1]))
        n_targets = max(1, Y.shape[1])
        self._fit = Regression(np.zeros((1, n_targets)), np.zeros(n_targets), np.ones(n_targets))
        self.noise_, self.importance_ = 0.0 if not Y.shape[1] else 1.0, np.zeros(self.n_features_in_)
        self.status_, self.n_iter_, self.table_ = Status.OPTIMAL, 0, []
        what = "all columns are constant" if Y.shape[1] else "the targets are constant"
        self.reason_ = f"Nothing to learn: {what}."

    def _reason(self, best: Candidate, kept: Array, search: Search) -> str:
        """Why this metric, in a few sentences."""
        choice, shapes = search.choice, {"isotropic": "equal weights", "diagonal": "a weight for each column"}
        if best.family.has_shares:
            shapes["diagonal"] = "a weight and a share for each column"
        what = f"{best.family.name} with {shapes.get(best.shape, 'weights and a rotation of the columns')}"
        if not choice.splits:
            parts = [f"{what}: the distinct rows are too few to compare metrics."]
        elif (best.family.name, best.shape) not in choice.scores:
            parts = [f"{what}."]
        else:
            error = choice.error((best.family.name, best.shape))
            where = f"{len(choice.splits)} folds" if len(choice.splits) > 1 else "rows held out"
            parts = [f"{what}: {_percent(error)} of the {choice.measure} is left on {where}"]
            if best.shape != "isotropic":
                parts[0] += f", {_percent(choice.error(choice.best(('isotropic',))))} with equal weights"
            parts[0] += "."
            if search.likelier:
                parts.append("The likelihood of all rows tells it from metrics that do as well on folds.")
            if not choice.finds_something:
                parts.append("Nothing found: no metric predicts better than the mean.")
            elif choice.best() != (best.family.name, best.shape) and best.shape == "isotropic":
                parts.append("No other metric is clearly better.")
        n_constant = int(np.count_nonzero(~self._columns.varies))
        if n_constant:
            parts.append(f"{n_constant} constant column{'s have' if n_constant > 1 else ' has'} the weight 0.")
        n_left_out = int(np.count_nonzero(~best.used))
        if n_left_out:
            parts.append(f"{n_left_out} columns that tell least of the targets by themselves have the weight 0.")
        names = getattr(self, "feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        parts += self._twins.words([names[j] for j in kept if j < len(names)])
        if search.status == Status.INTERRUPTED:
            parts.append("The search was interrupted.")
        return " ".join(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
