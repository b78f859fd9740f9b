"""Kernel principal component regression: least squares on the relevant subspace."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer.arrays import Array
from mercer.relevance.analysis import analyse, best_of, check_intercept, check_method, rank_for, take_rows
from mercer.relevance.diagnosis import ALIKE, DIFFERENT
from mercer.relevance.family import checked_rows, family_of, kernel_tags
from mercer.relevance.labels import Labels
from mercer.running import with_progress


class _KernelPC(BaseEstimator):
    """What both estimators share: choose the subspace, store the expansion, evaluate it."""

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_components: Any = "auto",
        widths: Any = "auto",
        method: str = "two_component",
        rank: Any = "auto",
        intercept: Any = "auto",
        verbose: bool = False,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.widths = widths
        self.method = method
        self.rank = rank
        self.intercept = intercept
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels) -> None:
        owner = type(self).__name__
        check_method(owner, self.method)
        check_consistent_length(X, labels.y)
        dimension = self._given_dimension(len(labels))
        constant = (False, True) if self._intercept_is_open() else (self.intercept,)
        rank = rank_for(owner, self.rank, len(labels))
        kernels = family_of(owner, self.kernel, self.widths, X)
        options: dict[str, Any] = {"method": self.method, "rank": rank, "dimension": dimension, "constant": constant}
        n_analyses = len(kernels) * len(constant)
        family = list(
            with_progress(analyse(kernels, X, labels, **options), owner, total=n_analyses, shown=self.verbose)
        )
        found = family[best_of(family, self.method)]
        if found.is_rank_one or found.is_flat:
            reason = ALIKE if found.is_rank_one else DIFFERENT
            warnings.warn(f"{owner} has learned nothing: to {found.kernel!r} {reason}.", UserWarning, stacklevel=3)
        if labels.classes is None and labels.y.ndim == 2:
            unit = np.std(labels.y, axis=0)
            found = replace(found, coef=found.coef * unit, intercept=found.intercept * unit)
        self._found = found
        single = labels.y.ndim == 1 and labels.columns.shape[1] == 1
        self.kernel_ = found.kernel
        self.n_components_ = found.dimension
        self.noise_level_ = found.noise_level
        self.support_ = found.support
        self.support_vectors_ = take_rows(X, found.support, found.kernel)
        self.dual_coef_ = found.coef[:, 0] if single else found.coef
        self.intercept_ = float(found.intercept[0]) if single else found.intercept

    def _intercept_is_open(self) -> bool:
        if isinstance(self.intercept, str) and self.intercept == "auto":
            return True
        check_intercept(type(self).__name__, self.intercept, "True, False or 'auto'")
        return False

    def _given_dimension(self, n: int) -> int | None:
        d = self.n_components
        if isinstance(d, str) and d == "auto":
            return None
        if not isinstance(d, Integral) or isinstance(d, bool) or not 1 <= int(d) < n:
            raise ValueError(
                f"n_components of {type(self).__name__} must be 'auto' or a whole number from 1 to {n - 1} for {n} "
                f"rows, got {d!r}; 'auto' takes the relevant dimension."
            )
        return int(d)

    def _function(self, X: Any) -> Array:
        check_is_fitted(self, "dual_coef_")
        values = self._found.predict(checked_rows(self, X, reset=False), self.support_vectors_)
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(super().__sklearn_tags__(), self.kernel)


class KernelPCRegressor(RegressorMixin, _KernelPC):
    """Least squares on the leading kernel principal components: ŷ(x) = Σ_{m<=d} z_m Σ_i u_mi k(x_i, x) / μ_m.

    Parameters
    ----------
    kernel : Kernel, list of Kernel or None
        One kernel, or a family of which the best is chosen; None for Gaussians of the given `widths`.
    n_components : "auto" or int
        d; by default the relevant dimension, see `RelevantDimensions`. Never more than there are eigenvalues above
        rounding.
    widths, method, rank
        As in `RelevantDimensions`.
    intercept : {"auto", True, False}
        Whether there is an unpenalised constant besides the components, which are then those of the centred kernel. By
        default what has the higher likelihood (or the lesser leave-one-out error): a function that is the same wherever
        there is no data needs a constant, or else many components.
    verbose : bool
        Whether to show a progress bar over the kernels.

    Attributes
    ----------
    n_components_ : int
        d.
    kernel_ : Kernel
        The kernel, or the best of the family.
    noise_level_ : float
        Squared error of the fit on the training labels, relative to that of their mean; of several targets the mean.
    dual_coef_, intercept_, support_, support_vectors_
        The function Σ_i dual_coef_i k(x_i, .) + intercept: over all rows, or over the landmarks of a low-rank factor.
        Of several targets `dual_coef_` has a column and `intercept_` an entry for each.

    Notes
    -----
    [Braun2008]_, lemma 1 (whose coefficients lack a factor 1/n, and which has no intercept). No regularization but the
    choice of d; rounding enters with the factor μ_1 / μ_d.

    Several targets are fitted in one common subspace: the kernel, d and the intercept are those with the best mean of
    the targets' likelihoods (or of their leave-one-out errors, each relative to the variance of its target). Where
    their dimensions differ much, fit one model for each target.

    Examples
    --------
    >>> from mercer import KernelPCRegressor
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(200, noise=0.1, random_state=0)
    >>> bool(KernelPCRegressor().fit(X, y).score(X, y) > 0.85)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows X and numbers y, of shape (n,) or (n, n_targets)."""
        X = checked_rows(self, X, reset=True)
        read = Labels.tables if np.asarray(y).ndim == 2 else Labels.numbers
        self._fit(X, read(type(self).__name__, y))
        return self

    def predict(self, X: Any) -> Array:
        """Values of the fitted function, of the shape of y."""
        return self._function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class KernelPCClassifier(ClassifierMixin, _KernelPC):
    """Least squares on labels ±1 in the leading kernel principal components, and the sign of it.

    More than two classes: one function for each against the rest, in one common subspace.

    Parameters
    ----------
    kernel, n_components, widths, method, rank, intercept, verbose
        As in `KernelPCRegressor`.

    Attributes
    ----------
    classes_ : array
        The labels.
    n_components_, kernel_, noise_level_, dual_coef_, intercept_, support_, support_vectors_
        As in `KernelPCRegressor`; the noise level is the fraction of training labels that the fit contradicts.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import KernelPCClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> bool(KernelPCClassifier().fit(X, y).score(X, y) > 0.95)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows X and classes y."""
        X = checked_rows(self, X, reset=True)
        labels = Labels.names(type(self).__name__, y)
        self.classes_: Any = labels.classes
        self._fit(X, labels)
        return self

    def decision_function(self, X: Any) -> Array:
        """Values of the fitted function: positive for the second class, or one column for each class."""
        return self._function(X)

    def predict(self, X: Any) -> Array:
        """Labels."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)]
