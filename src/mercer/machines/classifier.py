"""Classification with margin losses, and probabilities of classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer.arrays import Array
from mercer.losses import Hinge, Loss
from mercer.machines.base import KernelMachine
from mercer.machines.calibration import Calibration, coupled
from mercer.machines.samples import checked_weights, is_positive
from mercer.machines.training import Training
from mercer.running import Status
from mercer.solvers import Solver

# Folds whose decision values the probabilities are fitted to, if every class has as many samples.
N_FOLDS = 5


def _has_probabilities(machine: Classifier) -> bool:
    """Whether there are probabilities, or an error that says how to get them."""
    loss = getattr(machine, "loss", None)
    if machine.probability or getattr(loss, "has_probability", False):
        return True
    raise AttributeError(
        f"Probabilities of {type(machine).__name__} need probability=True or the loss Logistic(), got probability="
        f"{machine.probability!r} and loss={loss!r}; set one of them and fit."
    )


class Classifier(ClassifierMixin, KernelMachine):
    """What the classifiers share."""

    class_weight: Any = None
    probability: bool = False
    random_state: Any = None
    loss_: Loss

    def _with_labels(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """The training set with labels ±1 for each machine."""
        X = self._rows(X, reset=True)
        self._codes = self._class_codes(X, y)
        weight = checked_weights(self, sample_weight, len(self._codes))
        used = np.flatnonzero(weight)
        codes = self._codes[used]
        if len(np.unique(codes)) < len(self.classes_):
            raise ValueError(
                f"sample_weight of {type(self).__name__} must leave samples of every class, got a class with zero "
                "weight only; leave its samples out."
            )
        self._check_probability(codes)
        self.class_weight_ = self._factors(codes, weight[used])
        below, above = self._weights(weight * self.class_weight_[self._codes], len(weight))
        targets = [np.where(codes == k, 1.0, -1.0) for k in self._positives]
        X = self._in_metric(X, used, targets)
        C = self._in_units((below[used], above[used]), self.loss_, targets)
        return Training(X, used, targets, self.loss_, C, single=len(targets) == 1)

    def _class_codes(self, X: Any, y: Any) -> Array:
        """The number of the class of each row; `classes_` are the labels."""
        if y is None:
            raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y of {type(self).__name__} must hold two classes or more, got 1 class: {self.classes_[0]!r}; "
                "give samples of another class."
            )
        return np.asarray(codes)

    @property
    def _positives(self) -> list[int]:
        """The positive class of each machine: the second of two, or each of more."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _factors(self, codes: Array, weight: Array) -> Array:
        """Factors of the weights for each class."""
        given, classes = self.class_weight, self.classes_.tolist()
        if given is None:
            return np.ones(len(classes))
        if isinstance(given, str) and given == "balanced":
            return weight.sum() / (len(classes) * np.bincount(codes, weight))
        if not isinstance(given, Mapping) or not all(is_positive(factor) for factor in given.values()):
            raise ValueError(
                f"class_weight of {type(self).__name__} must be None, 'balanced', or a dict of positive numbers by "
                f"class, got {given!r}; leave samples out instead of weighing them by zero."
            )
        unknown = [label for label in given if label not in classes]
        if unknown:
            raise ValueError(
                f"class_weight of {type(self).__name__} must name classes of y, {classes}, got {unknown}; correct the "
                "labels."
            )
        return np.array([float(given.get(label, 1.0)) for label in classes])

    def _check_probability(self, codes: Array) -> None:
        """Refuse classes that are too small for folds, before any work."""
        if not isinstance(self.probability, bool | np.bool_):
            raise ValueError(
                f"probability of {type(self).__name__} must be True or False, got {self.probability!r}; with True "
                "predict_proba exists, and a fit takes about six times as long."
            )
        n_members = np.bincount(codes)
        if self._needs_calibration and n_members.min() < 2:
            raise ValueError(
                f"y of {type(self).__name__} must hold two samples or more of every class for probabilities, got one "
                f"of {self.classes_.tolist()[np.argmin(n_members)]!r}; give more, or probability=False."
            )

    @property
    def _needs_calibration(self) -> bool:
        return bool(self.probability) and not self.loss_.has_probability

    def _calibration(self, X: Any, y: Any, sample_weight: Any, used: Array) -> Calibration | None:
        """Sigmoids of the decision values of machines that are fitted without the samples they are asked for."""
        if not self._needs_calibration:
            return None
        codes = self._codes[used]
        n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
        random_state = check_random_state(self.random_state)
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(codes, codes)
        weight = checked_weights(self, sample_weight, len(self._codes))
        rows, several = indexable(X)[0], len(self.classes_) > 2
        values = np.zeros((len(weight), len(self.classes_)) if several else len(weight))
        # A metric is learned anew without the samples, and so is its kernel: it would give their labels away.
        kernel = self.kernel_ if self.metric is None else self.kernel
        machine = clone(self).set_params(kernel=kernel, probability=False, warm_start=False)
        interrupted = _is_interrupted(self)
        for _, fold in folds:
            if interrupted:
                break
            # Samples without a weight are as good as left out, whatever kind of objects they are.
            others = weight.copy()
            others[used[fold]] = 0.0
            values[used[fold]] = machine.fit(X, y, others).decision_function(_safe_indexing(rows, used[fold]))
            interrupted = _is_interrupted(machine)
        if interrupted:
            warnings.warn(
                f"{type(self).__name__} was interrupted before its probabilities were fitted; fit again.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return None
        return Calibration.fit(values[used], codes, weight[used], n_folds)

    def decision_function(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Values of the fitted function: positive for the second class, or one column for each class.

        ``dtype=np.float32`` as in `SupportVectorRegressor.predict`.
        """
        return self._function(X, dtype)

    def predict(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Labels; ``dtype=np.float32`` is faster and may change those closer to the boundary than the error."""
        values = self.decision_function(X, dtype=dtype)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, one column for each, for the logistic loss or after ``probability=True``."""
        return np.exp(self._log_probabilities(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, which do not underflow."""
        return self._log_probabilities(X)

    def _log_probabilities(self, X: Any) -> Array:
        check_is_fitted(self, "dual_coef_")
        if self.loss_.has_probability:
            return coupled(self.loss_.log_odds(self.decision_function(X)))
        if self.calibration_ is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or if the fit was interrupted; "
                "set probability=True and fit again."
            )
        return self.calibration_.log_probabilities(self.decision_function(X))

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class."""
        check_is_fitted(self, "dual_coef_")
        return np.bincount(self._codes[self.support_], minlength=len(self.classes_))


class SupportVectorClassifier(Classifier):
    """Kernel classification with a margin loss: min 1/2 ||f||² + C Σ_i weight_i c(1 - y_i f(x_i)), y_i = ±1.

    Parameters
    ----------
    kernel, metric, C, regularizer, parametric, solver, tol, max_iter, low_rank_tol, memory, warm_start, verbose,
    callback
        As in `SupportVectorRegressor`.
    loss : Loss, optional
        Hinge() by default; SquaredHinge(), Logistic(), or any loss with `classification`.
    class_weight : dict or "balanced", optional
        Factors of the weights of samples by their class (1 for classes that a dict does not name). "balanced": such
        that all classes have the same total weight, and all samples together the weight that they had.
    probability : bool
        Whether `fit` also finds probabilities for losses that have none of their own, by five more fits (see Notes).
    random_state : int, RandomState instance or None
        How the samples are shuffled into folds for the probabilities.

    Attributes
    ----------
    classes_ : array
        The labels.
    class_weight_ : array
        The factors that were used, one for each class.
    calibration_ : Calibration or None
        The sigmoids between decision values and probabilities, and the number of folds; None if `probability` is False
        or the loss has probabilities of its own.
    n_support_ : array
        Number of support vectors of each class.
    dual_coef_, dual_point_, support_, support_vectors_, parametric_coef_, intercept_, coef_, gap_, status_, n_iter_,
    history_, kernel_, loss_, solver_, C_, C_unit_, norm_, empirical_risk_
        As in `SupportVectorRegressor`; for more than two classes one machine for each class against the rest, and one
        column or list entry for each.

    Notes
    -----
    With the logistic loss 1 / (1 + exp(-f)) is the probability of the second class, and probabilities of several
    classes are those of each class against the rest, divided by their sum. Other losses have no probabilities: with
    ``probability=True`` machines are fitted to four fifths of the samples, and sigmoids to their decision values on the
    last fifth, in turns. For several classes the sigmoids are coupled: they are fitted to all decision values at once
    (`mercer.machines.Calibration`). Every class needs two samples or more; the smallest class limits the number of
    folds. `sample_weight` counts in machines and sigmoids; `class_weight` counts in machines only, so that
    probabilities are frequencies among the samples. The most probable class is not always the one that is predicted.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = SupportVectorClassifier(C=10.0, probability=True, random_state=0).fit(X, y)
    >>> model.status_, model.score(X, y) > 0.95, model.calibration_.n_folds
    ('optimal', True, 5)
    >>> model.predict_proba([[0.0, 1.0], [1.0, -0.5]]).round(1)
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        metric: Any = None,
        loss: Loss | None = None,
        C: Any = 1.0,
        class_weight: Any = None,
        regularizer: Any = "rkhs",
        parametric: Any = "constant",
        probability: bool = False,
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        low_rank_tol: float | None = None,
        memory: int = 2**30,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
        random_state: Any = None,
    ):
        super().__init__(
            kernel, solver=solver, tol=tol, max_iter=max_iter, low_rank_tol=low_rank_tol, memory=memory,
            warm_start=warm_start, verbose=verbose, callback=callback,
        )  # fmt: skip
        self.metric = metric
        self.loss = loss
        self.C = C
        self.class_weight = class_weight
        self.regularizer = regularizer
        self.parametric = parametric
        self.probability = probability
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one machine for two classes, or one for each class against the rest; and probabilities if asked for."""
        training = self._training(X, y, sample_weight)
        self._store(training, self._solve(training))
        self.calibration_ = self._calibration(X, y, sample_weight, training.used)
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        loss = Hinge() if self.loss is None else self.loss
        if not isinstance(loss, Loss) or not loss.classification:
            raise ValueError(
                f"loss of {type(self).__name__} must be a loss for classification, got {self.loss!r}; "
                "take Hinge(), SquaredHinge() or Logistic()."
            )
        self.loss_ = loss
        return self._with_labels(X, y, sample_weight)


def _is_interrupted(machine: Classifier) -> bool:
    return any(result.status == Status.INTERRUPTED for result in machine._results)
