"""Prediction bands from two quantile machines that do not cross."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.losses import Quantile
from mercer.machines.regressor import SupportVectorRegressor, regression_targets

Array = NDArray[Any]


class QuantileBand(BaseEstimator):
    """A band that holds a share `coverage` of the targets: two quantile machines, rearranged so that they never cross.

    Parameters
    ----------
    kernel, C, regularizer, parametric, tol
        As in `SupportVectorRegressor`.
    coverage : float
        Share of the targets between the two curves; as many lie below as above.

    Attributes
    ----------
    lower_, upper_ : SupportVectorRegressor
        The two machines.
    n_crossings_ : int
        Training rows at which the machines themselves cross. If they are many, C is too large or the kernel too narrow.

    Notes
    -----
    Where the two functions cross they are exchanged. Such a rearrangement never moves a curve away from the true
    quantile [Chernozhukov2010]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_sinc
    >>> from mercer.machines import QuantileBand
    >>> X, y = make_sinc(200, noise=0.1, random_state=0)
    >>> lower, upper = QuantileBand(coverage=0.8).fit(X, y).predict_interval(X).T
    >>> bool(np.all(lower <= upper)), bool(0.7 < np.mean((lower < y) & (y < upper)) < 0.9)
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        coverage: float = 0.9,
        C: Any = 1.0,
        regularizer: Any = "rkhs",
        parametric: Any = "constant",
        tol: float = 1e-3,
    ):
        self.kernel = kernel
        self.coverage = coverage
        self.C = C
        self.regularizer = regularizer
        self.parametric = parametric
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit both machines."""
        if not isinstance(self.coverage, Real) or not 0 < float(self.coverage) < 1:
            raise ValueError(
                f"coverage of QuantileBand must be between 0 and 1, got {self.coverage!r}; it is the share of targets "
                "inside the band."
            )
        if regression_targets(y, X).ndim > 1:
            raise ValueError(f"y of QuantileBand must be one column, got {np.shape(y)}; fit one band for each target.")
        tail = (1 - float(self.coverage)) / 2
        shared = self.get_params(deep=False)
        del shared["coverage"]
        self.lower_: SupportVectorRegressor = SupportVectorRegressor(loss=Quantile(tail), **shared)
        self.upper_: SupportVectorRegressor = SupportVectorRegressor(loss=Quantile(1 - tail), **shared)
        for machine in (self.lower_, self.upper_):
            machine.fit(X, y, sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.lower_, name):
                setattr(self, name, getattr(self.lower_, name))
        self.n_crossings_ = int(np.sum(self.lower_.predict(X) > self.upper_.predict(X)))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = SupportVectorRegressor(self.kernel).__sklearn_tags__().input_tags
        return tags

    def predict_interval(self, X: Any) -> Array:
        """Lower and upper end of the band, an array of shape (n, 2)."""
        check_is_fitted(self, "lower_")
        return np.sort(np.column_stack([self.lower_.predict(X), self.upper_.predict(X)]), axis=1)
