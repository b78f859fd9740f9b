"""Rejection ("punting"): only samples that a classifier is sure of are classified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from mercer.arrays import Array
from mercer.machines.classifier import SupportVectorClassifier
from mercer.machines.samples import is_positive
from mercer.machines.uninterrupted import Uninterrupted
from mercer.rounding import EQUAL


@dataclass(frozen=True)
class Rejection:
    """A threshold, and what it gives: samples whose confidence is below are rejected.

    Attributes
    ----------
    threshold : float
        The least confidence that is accepted.
    efficiency : float
        Fraction of the wanted samples that are accepted: those of the positive class, or those that are classified
        right.
    purity : float
        Fraction of the accepted samples that are wanted.
    coverage : float
        Fraction of all samples that are accepted.
    """

    threshold: float
    efficiency: float
    purity: float
    coverage: float


@dataclass(frozen=True)
class RejectionCurve:
    """What every threshold on the confidence of a classifier gives.

    Attributes
    ----------
    thresholds : array
        All confidences that occur, in descending order: a sample is accepted if its confidence is not below.
    efficiency, purity, coverage : array
        As in `Rejection`, for each threshold.
    positive : object
        The class whose samples are wanted; None if all that are classified right are.

    Notes
    -----
    With classes i, j, priors p and a class i that is wanted, purity = p_i efficiency_i / Σ_j p_j efficiency_j, where
    efficiency_j is the fraction of class j that is accepted [Smola1998]_, eq. (6.1) and (6.2). Chances of a sample to
    be observed at all, which depend on its class, belong to the priors.

    Examples
    --------
    >>> from mercer.machines import RejectionCurve
    >>> scores, y = [2.0, 1.5, 1.0, 0.5, -1.0, -2.0], ["c", "c", "b", "c", "b", "b"]
    >>> RejectionCurve.of_class(scores, y, "c").for_efficiency(0.6)
    Rejection(threshold=1.5, efficiency=0.666..., purity=1.0, coverage=0.333...)
    >>> rare = RejectionCurve.of_class(scores, y, "c", priors={"b": 0.9, "c": 0.1})
    >>> round(rare.for_efficiency(1.0).purity, 3)
    0.25
    """

    thresholds: Array
    efficiency: Array
    purity: Array
    coverage: Array
    positive: Any = None

    @classmethod
    def of_class(
        cls,
        scores: ArrayLike,
        y: ArrayLike,
        positive: Any,
        *,
        priors: Mapping[Any, float] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """One class against the rest: high scores are accepted as `positive`, all others are rejected.

        Parameters
        ----------
        scores : array of shape (n,)
            Decision values for the class, of samples that the classifier has not seen.
        y : array of shape (n,)
            Their labels, of two classes or more.
        positive : label
            The class.
        priors : dict, optional
            Relative frequency of each class in the field, if it differs from that among the samples.
        sample_weight : array of shape (n,), optional
            Weights.
        """
        values, labels, weight = _checked(scores, y, priors, sample_weight)
        if values.ndim != 1:
            raise ValueError(
                f"scores of RejectionCurve must be one column for one class, got shape {values.shape}; give the column "
                "of the class."
            )
        wanted = np.asarray(labels == positive)
        if not np.any(weight[wanted] > 0):
            raise ValueError(
                f"positive of RejectionCurve must be one of the classes {np.unique(labels).tolist()}, got "
                f"{positive!r}; choose one that has samples."
            )
        return cls(*_curve(values, wanted, weight), positive)

    @classmethod
    def of_decisions(
        cls,
        scores: ArrayLike,
        y: ArrayLike,
        *,
        priors: Mapping[Any, float] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """All classes: a sample is classified if one score is far enough from the others, else rejected.

        Its confidence is the modulus of the decision value for two classes, and else the distance between its two
        largest scores.

        Parameters
        ----------
        scores : array of shape (n,) or (n, n_classes)
            Decision values, positive for the second class, or one column for each class in sorted order.
        y, priors, sample_weight
            As in `of_class`. The purity is then the accuracy among the accepted samples.
        """
        values, labels, weight = _checked(scores, y, priors, sample_weight)
        classes = np.unique(labels)
        if len(classes) != (2 if values.ndim == 1 else values.shape[1]):
            raise ValueError(
                f"scores of RejectionCurve must be one column for two classes or one for each, got shape "
                f"{values.shape} for {len(classes)} classes; give the decision values of all classes in y."
            )
        confidence, code = _decided(values)
        return cls(*_curve(confidence, classes[code] == labels, weight))

    def for_efficiency(self, efficiency: float) -> Rejection:
        """The highest threshold with at least this efficiency."""
        return self._first(self.efficiency, efficiency, "efficiency")

    def for_coverage(self, coverage: float) -> Rejection:
        """The highest threshold that accepts at least this fraction of the samples."""
        return self._first(self.coverage, coverage, "coverage")

    def _first(self, shares: Array, least: Any, name: str) -> Rejection:
        wanted = _checked_share(least, name, "RejectionCurve")
        i = min(int(np.searchsorted(shares, wanted * (1 - EQUAL))), len(shares) - 1)
        parts = (self.thresholds, self.efficiency, self.purity, self.coverage)
        return Rejection(*(float(part[i]) for part in parts))


class RejectingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that may say "don't know": predictions it is not sure of are replaced by a label of their own.

    Either the least sure of all samples are rejected (`coverage`), or all that are not surely of one class (`positive`
    and `efficiency`). The threshold is found on cross-validated scores; then the classifier is fitted to all samples.

    Parameters
    ----------
    estimator : classifier, optional
        With `decision_function` or `predict_proba`; by default `SupportVectorClassifier()`. A classifier that is fitted
        already can be wrapped in scikit-learn's FrozenEstimator: all samples then serve to find the threshold.
    coverage : float
        Fraction of the samples to classify. With 1.0 nothing is rejected.
    positive : label, optional
        A class: samples are then either accepted as this class or rejected, and `coverage` plays no role.
    efficiency : float, optional
        Fraction of the samples of that class to accept.
    priors : dict, optional
        Relative frequency of each class in the field, if it differs from that among the samples.
    reject_label : label, optional
        By default "rejected" among strings, and one less than the smallest label among numbers.
    cv : int or splitter
        How to split the samples for the scores, as in scikit-learn.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all samples.
    rejection_ : Rejection
        The threshold, and the efficiency, purity (or accuracy) and coverage to be expected.
    curve_ : RejectionCurve
        The same for all other thresholds.
    classes_, reject_label_
        The labels.

    Notes
    -----
    `score` counts rejected samples as errors. After Ctrl-C fit raises `KeyboardInterrupt`, also where the classifier
    itself ends as "interrupted": a threshold on scores of unfinished classifiers would be false.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.machines import RejectingClassifier
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> model = RejectingClassifier(coverage=0.7).fit(X, y)
    >>> sure = model.accepts(X)
    >>> model.reject_label_, bool(0.6 < sure.mean() < 0.8), model.rejection_.purity > 0.95
    (-1, True, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        coverage: float = 1.0,
        positive: Any = None,
        efficiency: float | None = None,
        priors: Mapping[Any, float] | None = None,
        reject_label: Any = None,
        cv: Any = 5,
    ):
        self.estimator = estimator
        self.coverage = coverage
        self.positive = positive
        self.efficiency = efficiency
        self.priors = priors
        self.reject_label = reject_label
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the threshold, and fit the classifier."""
        estimator, name = self._estimator(), type(self).__name__
        _checked_share(self.coverage, "coverage", name)
        if (self.positive is None) != (self.efficiency is None):
            raise ValueError(
                f"positive and efficiency of {name} must be given together, got {self.positive!r} and "
                f"{self.efficiency!r}; say which share of which class to accept."
            )
        if self.efficiency is not None:
            _checked_share(self.efficiency, "efficiency", name)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.__dict__.pop("rejection_", None)  # of an earlier fit: an interrupted one must not pass for fitted
        self.estimator_ = Uninterrupted(estimator).fit(X, y, **weights).estimator_
        self.classes_ = self.estimator_.classes_
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, attribute):
                setattr(self, attribute, getattr(self.estimator_, attribute))
        self.reject_label_, y = self._label(), column_or_1d(y)
        method, folds = _method(self.estimator_), Uninterrupted(estimator)
        scores = cross_val_predict(folds, X, y, cv=self.cv, method=method, params=weights)
        shared = {"priors": self.priors, "sample_weight": sample_weight}
        if self.positive is None:
            self.curve_ = RejectionCurve.of_decisions(scores, y, **shared)
            rejection = self.curve_.for_coverage(self.coverage)
            self.rejection_ = replace(rejection, threshold=-np.inf) if self.coverage == 1 else rejection
        else:
            self.curve_ = RejectionCurve.of_class(self._of_positive(scores), y, self.positive, **shared)
            self.rejection_ = self.curve_.for_efficiency(self.efficiency)  # type: ignore[arg-type]
        return self

    def accepts(self, X: Any) -> Array:
        """Which rows are classified."""
        return self._decide(X)[0]

    def predict(self, X: Any) -> Array:
        """Labels, and `reject_label_` where the classifier is not sure."""
        accepted, labels = self._decide(X)
        return np.where(accepted, labels, np.full(len(labels), self.reject_label_))

    @available_if(lambda self: self._estimator_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Decision values of the classifier, whether it is sure of them or not."""
        check_is_fitted(self, "rejection_")
        return np.asarray(self.estimator_.decision_function(X))

    @available_if(lambda self: self._estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes by the classifier, whether it is sure of them or not."""
        check_is_fitted(self, "rejection_")
        return np.asarray(self.estimator_.predict_proba(X))

    def _estimator_has(self, method: str) -> bool:
        return hasattr(getattr(self, "estimator_", self._estimator()), method)

    def _decide(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self, "rejection_")
        scores = np.asarray(getattr(self.estimator_, _method(self.estimator_))(X))
        if self.positive is None:
            confidence, code = _decided(scores)
        else:
            confidence = self._of_positive(scores)
            code = np.full(len(scores), int(np.flatnonzero(self.classes_ == self.positive)[0]))
        return confidence >= self.rejection_.threshold, self.classes_[code]

    def _of_positive(self, scores: Array) -> Array:
        """The scores of the positive class alone."""
        if self.positive not in self.classes_:
            raise ValueError(
                f"positive of {type(self).__name__} must be one of the classes {self.classes_.tolist()}, got "
                f"{self.positive!r}; choose one of these."
            )
        if scores.ndim == 1:
            return scores if self.positive == self.classes_[1] else -scores
        return scores[:, self.classes_ == self.positive][:, 0]

    def _estimator(self) -> Any:
        return SupportVectorClassifier() if self.estimator is None else self.estimator

    def _label(self) -> Any:
        """The label of rejected samples."""
        label = self.reject_label
        if label is None:
            label = self.classes_.min().item() - 1 if self.classes_.dtype.kind in "biuf" else "rejected"
        if label in self.classes_:
            raise ValueError(
                f"reject_label of {type(self).__name__} must differ from all classes, {self.classes_.tolist()}, got "
                f"{label!r}; choose another."
            )
        return label

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags


def _method(estimator: Any) -> str:
    """Where a classifier's scores come from."""
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"estimator of RejectingClassifier must be a classifier with decision_function or predict_proba, got "
        f"{estimator!r}; choose one that says how sure it is."
    )


def _decided(scores: Array) -> tuple[Array, Array]:
    """How sure decisions are, and the number of the class that is decided for."""
    if scores.ndim == 1:
        return np.abs(scores), (scores > 0).astype(np.intp)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T
    return first - second, np.argmax(scores, axis=1)


def _curve(confidence: Array, wanted: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """Thresholds, efficiency, purity and coverage: samples of equal confidence are accepted together."""
    order = np.argsort(-confidence, kind="stable")
    accepted, good = np.cumsum(weight[order]), np.cumsum((weight * wanted)[order])
    ends = np.append(np.flatnonzero(np.diff(confidence[order])), len(order) - 1)
    ends = ends[accepted[ends] > 0]
    efficiency = good[ends] / good[-1] if good[-1] > 0 else np.zeros(len(ends))
    return confidence[order][ends], efficiency, good[ends] / accepted[ends], accepted[ends] / accepted[-1]


def _checked(scores: Any, y: Any, priors: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
    """Scores, labels, and weights in which every class has the total weight of its prior."""
    values = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    labels = column_or_1d(y)
    check_consistent_length(values, labels)
    weight = _check_sample_weight(sample_weight, values.reshape(len(values), -1), ensure_non_negative=True)
    if priors is None:
        return values, labels, weight
    known = np.unique(labels[weight > 0]).tolist()
    if not isinstance(priors, Mapping) or set(priors) != set(known) or not all(is_positive(p) for p in priors.values()):
        raise ValueError(
            f"priors of RejectionCurve must be a dict of one positive number for each of the classes {known}, got "
            f"{priors!r}; relative frequencies will do."
        )
    factors = {label: float(priors[label]) / weight[labels == label].sum() for label in known}
    return values, labels, weight * np.array([factors.get(label, 0.0) for label in labels.tolist()])


def _checked_share(share: Any, name: str, owner: str) -> float:
    if not is_positive(share) or share > 1:
        raise ValueError(f"{name} of {owner} must be in (0, 1], got {share!r}; give a share of the samples.")
    return float(share)
