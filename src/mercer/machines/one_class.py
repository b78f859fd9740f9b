"""One class: where samples like those of the training set lie."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import OutlierMixin

from mercer.arrays import Array
from mercer.losses import Hinge
from mercer.machines.base import KernelMachine
from mercer.machines.samples import is_share, rows_in_use
from mercer.machines.training import Training
from mercer.problems import KernelProgram
from mercer.solvers import Solver


class OneClassMachine(OutlierMixin, KernelMachine):
    """One-class support vector machine: a region that holds all but a share ν of the samples.

    min 1/2 ||f||² - ν n ρ + Σ_i weight_i max(0, ρ - f(x_i)) over f and ρ; the region is where f(x) >= ρ.

    Parameters
    ----------
    kernel : Kernel, optional
        Positive definite; by default a Gaussian whose width is the median distance of the data.
    nu : float
        ν in (0, 1].
    solver, tol, max_iter, low_rank_tol, memory, warm_start, verbose, callback
        As in `SupportVectorRegressor`.

    Attributes
    ----------
    offset_ : float
        ρ: ``decision_function`` is ``score_samples - offset_``.
    dual_coef_, dual_point_, support_, support_vectors_, intercept_, gap_, status_, n_iter_, history_,
    kernel_, solver_, norm_, empirical_risk_
        As in `SupportVectorRegressor`; the intercept is -ρ. The coefficients add up to ν n, and none exceeds 1.

    Notes
    -----
    The fraction of samples outside is at most ν and that of support vectors at least ν [Scholkopf2001]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassMachine
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassMachine(nu=0.1).fit(X)
    >>> model.status_, bool((model.decision_function(X) < -1e-2).mean() <= 0.1 <= len(model.support_) / 200)
    ('optimal', True)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    C = 1.0
    regularizer = "rkhs"
    parametric = "constant"

    def __init__(
        self,
        kernel: Any = None,
        *,
        nu: float = 0.5,
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
        self.nu = nu

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X; y is ignored."""
        training = self._training(X, y, sample_weight)
        self._store(training, self._solve(training))
        self.offset_ = -self.intercept_
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        if not is_share(self.nu):
            raise ValueError(
                f"nu of OneClassMachine must be in (0, 1], got {self.nu!r}; it is the share of samples outside."
            )
        X = self._rows(X, reset=True)
        if self.kernel is not None and self.kernel.order != 0:
            raise ValueError(
                f"kernel of OneClassMachine must be positive definite, got {self.kernel!r}; choose another kernel."
            )
        C = self._weights(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
        used = np.flatnonzero(C[0])
        X, C = rows_in_use(X, used, self.kernel), (C[0][used], C[1][used])
        # The margin residual of the hinge loss, with zero in place of 1 and the label 1: ρ - f.
        return Training(X, used, [np.ones(len(used))], Hinge(), C, single=True)

    def _program(self, program: KernelProgram) -> KernelProgram:
        """The targets are zero, and -ρ is the coefficient of the constant: ΣB = ν Σ weight."""
        return replace(program, y=np.zeros(len(program.y)), target=np.array([self.nu * float(program.C_above.sum())]))

    def score_samples(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """f(x) of each row: large where training samples are near. `dtype` as in `SupportVectorRegressor.predict`."""
        return self.decision_function(X, dtype=dtype) + self.offset_

    def decision_function(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """f(x) - ρ of each row: positive inside the region, negative outside."""
        return self._function(X, dtype)

    def predict(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """1 for rows inside the region, -1 for those outside."""
        return np.where(self.decision_function(X, dtype=dtype) >= 0, 1, -1)
