"""Regression: any convex loss, and the machine that finds its own tube."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.losses import EpsilonInsensitive, Laplace, Loss, optimal_nu
from mercer.machines.base import Expansion, KernelMachine
from mercer.machines.samples import rows_in_use
from mercer.solvers import Solver

Array = NDArray[Any]


class _Regressor(MultiOutputMixin, RegressorMixin, KernelMachine):
    """What the two regressors share."""

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


class SupportVectorRegressor(_Regressor):
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
        Bytes that matrices may take. Where the Gram matrix does not fit, solvers are chosen that never form it.
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
    coef_ : array of shape (n_targets, n_features)
        Slopes, if the function is linear: its values are ``X @ coef_.T + intercept_``. It exists for linear kernels and
        parametric functions that are linear in X.
    n_support_ : array of shape (n_targets,)
        Number of support vectors of each target.
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
        solver: str | Solver = "auto",
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


class NuSupportVectorRegressor(_Regressor):
    """ν-support vector regression: the tube's width is found such that at most a share ν of the samples lies outside.

    min 1/2 ||f||² + C (ν n ε + Σ_i max(0, |y_i - f(x_i)| - ε)) over f and ε >= 0.

    Parameters
    ----------
    kernel, C, regularizer, parametric, solver, tol, max_iter, low_rank_tol, memory, warm_start, verbose,
    callback
        As in `SupportVectorRegressor`; C as in scikit-learn's NuSVR.
    nu : float or str
        ν in (0, 1], or the name of a noise ("normal", "laplace", "uniform") for which the best ν is taken.

    Attributes
    ----------
    epsilon_ : float
        Width of the tube (a list of them for several targets).
    nu_ : float
        ν that was used.

    Notes
    -----
    The share of errors is at most ν and that of support vectors at least ν [Smola1998]_, eq. (2.34). Solved in one run
    of the interior point method: ε is the multiplier of Σ|B_i| <= C ν n.

    Examples
    --------
    >>> from mercer import NuSupportVectorRegressor
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> model = NuSupportVectorRegressor(nu="normal", C=10.0).fit(X, y)
    >>> round(model.nu_, 4), 0.02 < model.epsilon_ < 0.15
    (0.5405, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        nu: Any = 0.5,
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
        self.kernel = kernel
        self.nu = nu
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
        nu = optimal_nu(self.nu) if isinstance(self.nu, str) else self.nu
        if isinstance(self.C, tuple):
            raise ValueError("C of NuSupportVectorRegressor must be the same above and below, got a pair; give one C.")
        if isinstance(nu, bool) or not isinstance(nu, int | float | np.number) or not 0 < nu <= 1:
            raise ValueError(
                f"nu of NuSupportVectorRegressor must be in (0, 1] or the name of a noise, got {self.nu!r}; it is the "
                "share of samples outside the tube."
            )
        self.nu_ = float(nu)
        self.loss_ = Laplace()
        expansions = self._fit(X, y, sample_weight, self.loss_, self.nu_)
        widths = [expansion.program.tube(expansion.result.B, expansion.result.d) for expansion in expansions]
        self.epsilon_ = widths[0] if self._y_is_single else widths
        return self


def regression_targets(y: Any, X: Any) -> Array:
    """One or several columns of finite numbers, as many as there are rows."""
    if y is None:
        raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None.")
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, y)
    return y
