"""Classification with margin losses."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mercer.losses import Hinge, Loss
from mercer.machines.base import KernelMachine
from mercer.machines.samples import rows_in_use

Array = NDArray[Any]


class Classifier(ClassifierMixin, KernelMachine):
    """What the classifiers share."""

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, list[Array], tuple[Array, Array], Array]:
        """Rows with a weight, labels ±1 for each machine, weights below and above, and the positions of the rows."""
        X = self._rows(X, reset=True)
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
        C = self._weights(sample_weight, len(y))
        used = np.flatnonzero(C[0])
        if len(np.unique(codes[used])) < len(self.classes_):
            raise ValueError(
                f"sample_weight of {type(self).__name__} must leave samples of every class, got a class with zero "
                "weight only; leave its samples out."
            )
        X, codes = rows_in_use(X, used, self.kernel), codes[used]
        targets = [np.where(codes == k, 1.0, -1.0) for k in self._positives]
        return X, targets, (C[0][used], C[1][used]), used

    @property
    def _positives(self) -> list[int]:
        """The class that each machine tells from the rest: the second of two, or each of more."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def decision_function(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Values of the fitted function: positive for the second class, or one column for each class.

        ``dtype=np.float32`` as in `SupportVectorRegressor.predict`.
        """
        return self._function(X, dtype)

    def predict(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Labels; ``dtype=np.float32`` is faster and may change those closer to the boundary than the error."""
        values = self.decision_function(X, dtype=dtype)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)]


class SupportVectorClassifier(Classifier):
    """Kernel classification with a margin loss: min 1/2 ||f||² + C Σ_i weight_i c(1 - y_i f(x_i)), y_i = ±1.

    Parameters
    ----------
    kernel, C, regularizer, parametric, solver, tol, max_iter, low_rank_tol, memory, warm_start, verbose,
    callback
        As in `SupportVectorRegressor`.
    loss : Loss, optional
        Hinge() by default; SquaredHinge(), Logistic(), or any loss with `classification`.

    Attributes
    ----------
    classes_ : array
        The labels.
    dual_coef_, support_, support_vectors_, parametric_coef_, intercept_, gap_, status_, n_iter_, history_, kernel_,
    loss_, solver_
        As in `SupportVectorRegressor`; for more than two classes one machine for each class against the rest, and one
        column or list entry for each.

    Notes
    -----
    `sklearn.calibration.CalibratedClassifierCV` gives probabilities, and scikit-learn's OneVsOneClassifier another way
    to combine two-class machines. With the logistic loss 1 / (1 + exp(-decision_function)) estimates a probability.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = SupportVectorClassifier(C=10.0).fit(X, y)
    >>> model.status_, model.score(X, y) > 0.95
    ('optimal', True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        loss: Loss | None = None,
        C: Any = 1.0,
        regularizer: Any = "rkhs",
        parametric: Any = "constant",
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        low_rank_tol: float | None = None,
        memory: int = 2**30,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.C = C
        self.regularizer = regularizer
        self.parametric = parametric
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.low_rank_tol = low_rank_tol
        self.memory = memory
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one machine for two classes, or one for each class against the rest."""
        loss = Hinge() if self.loss is None else self.loss
        if not isinstance(loss, Loss) or not loss.classification:
            raise ValueError(
                f"loss of {type(self).__name__} must be a loss for classification, got {self.loss!r}; "
                "take Hinge(), SquaredHinge() or Logistic()."
            )
        self.loss_ = loss
        X, targets, C, used = self._training_set(X, y, sample_weight)
        expansions = self._solve(X, targets, loss, C, used)
        self._store(X, used, expansions, single=len(targets) == 1)
        return self
