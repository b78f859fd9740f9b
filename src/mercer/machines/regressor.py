"""Regression with any convex loss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.losses import EpsilonInsensitive, Loss
from mercer.machines.base import Expansion, KernelMachine
from mercer.machines.samples import rows_in_use

Array = NDArray[Any]


class Regressor(MultiOutputMixin, RegressorMixin, KernelMachine):
    """What the regressors share."""

    def predict(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Values of the fitted function, evaluated in blocks: memory grows with the rows, not with their square.

        With ``dtype=np.float32`` a Gaussian kernel is evaluated in single precision, twice as fast; the result has that
        precision, and `prediction_error_bound` tells the error.
        """
        return self._function(X, dtype)

    def _fit(self, X: Any, y: Any, sample_weight: Any, loss: Loss, budget_share: float | None) -> list[Expansion]:
        X = self._rows(X, reset=True)
        y = regression_targets(y, X)
        self._y_is_single = y.ndim == 1
        C = self._weights(sample_weight, len(y))
        used = np.flatnonzero(C[0])
        if len(used) < len(y):
            loss = loss.restricted_to(used)
        X, y = rows_in_use(X, used, self.kernel), y[used]
        targets = list(y.reshape(len(y), -1).T)
        expansions = self._solve(X, targets, loss, (C[0][used], C[1][used]), used, budget_share)
        self._store(X, used, expansions, single=self._y_is_single)
        return expansions


class SupportVectorRegressor(Regressor):
    """Kernel regression with any convex loss: min 1/2 ||f||² + C Σ_i weight_i c(y_i - f(x_i)).

    Parameters
    ----------
    kernel : Kernel, optional
        By default a Gaussian whose width is the median distance of the data. Conditionally positive kernels bring their
        polynomials as an unpenalised part.
    loss : Loss, optional
        c; by default EpsilonInsensitive(0.1).
    C : float, array or tuple
        Weight of the errors: one number, one for each sample, or a pair (below, above) of these.
    regularizer : {"rkhs", "l1", "l2", "mixed"} or Regularizer
        What a complex function costs.
    parametric : None, "constant", "linear" or list
        Unpenalised functions: a list replaces the constant, its items are "constant", "linear" or callables that take X
        and return one column.
    solver : {"auto", "interior_point", "smo", "working_set", "linear_program", "least_squares", "conjugate_gradients"}
        "auto" chooses by loss, number of samples and memory; `solver_` says which, and `solver_.reason` why.
    tol : float
        Relative gap (primal - dual) / (|primal| + 1) to reach.
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
        and `gap`; if it returns True, the fit ends there as "interrupted". Each target is a run from iteration 0.

    Attributes
    ----------
    dual_coef_, support_, support_vectors_ : array
        Coefficients of the kernel functions that enter the fit, and positions and values of their training rows.
    parametric_coef_ : array
        Coefficients of the parametric columns.
    intercept_ : float
        That of the constant; 0 if there is none.
    gap_, status_, n_iter_, history_
        Relative gap, "optimal" or why not, number of iterations, and values of both programs in each. Lists for several
        targets.
    kernel_, loss_, solver_
        What was used.

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
        """Fit the machine to rows X and one or several targets y."""
        loss = EpsilonInsensitive(0.1) if self.loss is None else self.loss
        if not isinstance(loss, Loss) or loss.classification:
            raise ValueError(
                f"loss of {type(self).__name__} must be a loss for regression, got {self.loss!r}; "
                "take one of mercer.losses."
            )
        self.loss_ = loss
        self._fit(X, y, sample_weight, loss, None)
        return self


def regression_targets(y: Any, X: Any) -> Array:
    """One or several columns of finite numbers, as many as there are rows."""
    if y is None:
        raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None.")
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, y)
    return y
