"""Fits that must be complete: Ctrl-C ends all of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from mercer.running import Status, raise_if_interrupted


class Uninterrupted(BaseEstimator):
    """An estimator whose fit raises `KeyboardInterrupt` where it would end as "interrupted".

    Fits to several folds then end together, and none of them is taken for complete.

    Parameters
    ----------
    estimator : estimator
        What is fitted; of a pipeline the last step is asked for its `status_`.

    Attributes
    ----------
    estimator_ : estimator
        Fitted. Its methods and attributes are those of this one, too.
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: Any, **weights: Any) -> Self:
        """Fit a copy of the estimator."""
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)
        last = self.estimator_[-1] if isinstance(self.estimator_, Pipeline) else self.estimator_
        raise_if_interrupted(*np.ravel(getattr(last, "status_", Status.OPTIMAL)))
        return self

    def predict(self, X: Any) -> Any:
        """What the estimator predicts."""
        return self.estimator_.predict(X)

    def __getattr__(self, name: str) -> Any:
        if name == "estimator_":
            raise AttributeError(name)
        return getattr(self.estimator_, name)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)
