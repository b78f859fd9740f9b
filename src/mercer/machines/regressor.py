"""Regression with any convex loss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.arrays import Array
from mercer.losses import EpsilonInsensitive, Loss
from mercer.machines.base import KernelMachine
from mercer.machines.training import Training
from mercer.solvers import Solver


class Regressor(MultiOutputMixin, RegressorMixin, KernelMachine):
    """What the regressors share."""

    def predict(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Values of the fitted function, evaluated in blocks: memory grows with the rows, not with their square.

        With ``dtype=np.float32`` a Gaussian kernel is evaluated in single precision, twice as fast; the result has that
        precision, and `prediction_error_bound` tells the error.
        """
        return self._function(X, dtype)

    def _with_targets(
        self, X: Any, y: Any, sample_weight: Any, loss: Loss, budget_share: float | None = None
    ) -> Training:
        """The training set with a loss."""
        X = self._rows(X, reset=True)
        y = regression_targets(y, X)
        C = self._weights(sample_weight, len(y))
        used = np.flatnonzero(C[0])
        if len(used) < len(y):
            loss = loss.restricted_to(used)
        targets = list(y[used].reshape(len(used), -1).T)
        X = self._in_metric(X, used, targets)
        C = self._in_units((C[0][used], C[1][used]), loss, targets)
        return Training(X, used, targets, loss, C, y.ndim == 1, budget_share)


class SupportVectorRegressor(Regressor):
    """Kernel regression with any convex loss: min 1/2 ||f||² + C Σ_i weight_i c(y_i - f(x_i)).

    Parameters
    ----------
    kernel : Kernel, optional
        By default a Gaussian whose width is the median distance of the data. Conditionally positive kernels bring their
        polynomials as an unpenalised part.
    loss : Loss, optional
        c; by default EpsilonInsensitive(0.1).
    metric : None, "learned" or LearnedMetric
        Whether the rows are seen through a metric that `LearnedMetric` learns first, from the rows that have a weight
        (weights themselves do not count there). The kernel is that of the metric by default, else it is applied to
        transformed rows, and `support_vectors_` and parametric functions are in the columns of the metric. Missing
        values (NaN) are allowed then, sparse rows are not. After Ctrl-C the machine is fitted in the metric so far, and
        `status_` is "interrupted".
    C : float, array or tuple
        Weight of the errors: one number, one for each sample, or a pair (below, above) of these. inf: no error is
        allowed, for losses of straight lines; `C_` is then the weight that turned out to be large enough. With a
        learned metric and its kernel C is counted in `C_unit_`: 1 is what belongs to the metric.
    regularizer : {"rkhs", "l1", "l2", "mixed"} or Regularizer
        What a complex function costs.
    parametric : None, "constant", "linear" or list
        Unpenalised functions: a list replaces the constant, its items are "constant", "linear" or callables that take X
        and return one column.
    solver : str or Solver
        "auto" chooses by loss, number of samples and memory; `solver_` says which, and `solver_.reason` why. Or one of
        "interior_point", "smo", "working_set", "linear_program", "least_squares", "conjugate_gradients", or an object
        with parameters of its own: ``mercer.solvers.SMO(block=2000)``.
    tol : float
        Relative gap (primal - dual) / primal to reach, of the function that is stored. The interior point method goes
        on to the last digits for fewer than 500 samples, since they cost little.
    max_iter : int, optional
        Largest number of iterations; by default 200, which is never needed.
    low_rank_tol : float, optional
        If given, the Gram matrix is replaced by a low-rank factor with this relative trace error, and never formed:
        O(n r²) instead of O(n³). The gap that is reported is that of the exact program.
    memory : int
        Bytes that matrices may take. Where the Gram matrix does not fit, solvers are chosen that never form it; where
        there is none (l1, l2 or mixed penalties), the fit is refused before the matrices are formed.
    warm_start : bool
        Whether fit goes on from the last solution, if the number of samples is the same: after Ctrl-C, or with another
        C, for which the solution is rescaled.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(iteration, values)`` in every iteration, where `values` has the attributes `primal`, `dual`
        and `gap`; if it returns True, the fit ends there as "interrupted". Each target is a run from iteration 0,
        and so is the search for a metric, whose objective is `primal` and whose gap is infinite.

    Attributes
    ----------
    dual_coef_, support_, support_vectors_ : array
        Coefficients of the kernel functions that enter the fit, and positions and values of their training rows.
    parametric_coef_ : array
        Coefficients of the parametric columns.
    intercept_ : float
        That of the constant; 0 if there is none.
    coef_ : array of shape (n_targets, n_features)
        Slopes, if the function is linear: its values are ``X @ coef_.T + intercept_``. It exists for linear kernels and
        parametric functions that are linear in X.
    n_support_ : array of shape (n_targets,)
        Number of support vectors of each target.
    dual_point_ : array
        A point of the dual program, for the rows that have a weight, which bounds the optimum from below: see
        `certificate`.
    C_unit_ : float
        What C is counted in: 1, or with a learned metric and its kernel noise / (penalty · slope), where `slope` is the
        steepest of the loss for residuals of the size of the noise (beyond a tube). Such residuals then pull as hard as
        in kernel ridge regression with the penalty of the metric: for squares it is 1 / penalty.
    C_ : float
        The weight that stands for an infinite C; only if there was one.
    gap_, status_, n_iter_, history_
        Relative gap of the stored function, "optimal" or why not, number of iterations, and values of both programs in
        each. Lists for several targets.
    norm_, empirical_risk_
        Norm of the kernel part in the feature space, and mean loss over the training rows with the weights of the fit.
        One for each target.
    kernel_, loss_, solver_
        What was used.
    metric_ : LearnedMetric
        The fitted metric, if there is one.

    Notes
    -----
    Up to some hundred samples the interior point method forms two n x n matrices and factors one about ten times. With
    more samples most losses are left to solvers that never form the matrix: memory grows with n, and time with the
    number of kernel values between support vectors and samples. [Smola1998]_, chapters 1 to 4.

    Examples
    --------
    >>> from mercer import SupportVectorRegressor
    >>> from mercer.datasets import make_sinc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Huber
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> model = SupportVectorRegressor(Gaussian(0.7), loss=Huber(0.1), C=10.0).fit(X, y)
    >>> model.status_, bool(model.gap_ <= 1e-3), model.score(X, y) > 0.8
    ('optimal', True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        metric: Any = None,
        loss: Loss | None = None,
        C: Any = 1.0,
        regularizer: Any = "rkhs",
        parametric: Any = "constant",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        low_rank_tol: float | None = None,
        memory: int = 2**30,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
    ):
        super().__init__(
            kernel, solver=solver, tol=tol, max_iter=max_iter, low_rank_tol=low_rank_tol, memory=memory,
            warm_start=warm_start, verbose=verbose, callback=callback,
        )  # fmt: skip
        self.metric = metric
        self.loss = loss
        self.C = C
        self.regularizer = regularizer
        self.parametric = parametric

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X and one or several targets y."""
        training = self._training(X, y, sample_weight)
        self.loss_ = EpsilonInsensitive(0.1) if self.loss is None else self.loss
        self._store(training, self._solve(training))
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        loss = EpsilonInsensitive(0.1) if self.loss is None else self.loss
        if not isinstance(loss, Loss) or loss.classification:
            raise ValueError(
                f"loss of {type(self).__name__} must be a loss for regression, got {self.loss!r}; "
                "take one of mercer.losses."
            )
        return self._with_targets(X, y, sample_weight, loss)


def regression_targets(y: Any, X: Any) -> Array:
    """One or several columns of finite numbers, as many as there are rows."""
    if y is None:
        raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None.")
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, y)
    return y
