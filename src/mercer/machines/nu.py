"""Machines with a given fraction ν of the samples, which find the width of the tube or the margin."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.losses import Hinge, Laplace, optimal_nu
from mercer.machines.classifier import Classifier
from mercer.machines.hard import is_hard
from mercer.machines.regressor import Regressor
from mercer.machines.samples import is_share
from mercer.machines.training import Expansion, Training
from mercer.problems import KernelProgram
from mercer.rounding import EQUAL
from mercer.running import Status
from mercer.solvers import Solver


class NuSupportVectorRegressor(Regressor):
    """ν-support vector regression: the tube's width is found such that at most a share ν of the samples lies outside.

    min 1/2 ||f||² + C (ν n ε + Σ_i max(0, |y_i - f(x_i)| - ε)) over f and ε >= 0.

    Parameters
    ----------
    kernel, metric, C, regularizer, parametric, solver, tol, max_iter, low_rank_tol, memory, warm_start, verbose,
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
    The fraction of errors is at most ν and that of support vectors at least ν [Smola1998]_, eq. (2.34). ε is the
    multiplier of Σ|B_i| <= C ν n: it is found in one run. With a constant as the parametric part and more than some
    hundred samples this is SMO, which never forms the Gram matrix.

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
        metric: Any = None,
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
        super().__init__(
            kernel, solver=solver, tol=tol, max_iter=max_iter, low_rank_tol=low_rank_tol, memory=memory,
            warm_start=warm_start, verbose=verbose, callback=callback,
        )  # fmt: skip
        self.metric = metric
        self.nu = nu
        self.C = C
        self.regularizer = regularizer
        self.parametric = parametric

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to rows X and one or several targets y."""
        training = self._training(X, y, sample_weight)
        self.nu_, self.loss_ = float(training.budget_share or 0.0), training.loss
        expansions = self._solve(training)
        self._store(training, expansions)
        widths = [expansion.program.tube(expansion.result.B, expansion.result.d) for expansion in expansions]
        self.epsilon_ = widths[0] if training.single else widths
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        nu = optimal_nu(self.nu) if isinstance(self.nu, str) else self.nu
        if isinstance(self.C, tuple):
            raise ValueError(
                f"C of NuSupportVectorRegressor must be the same above and below, got a pair, {self.C!r}; give one C."
            )
        if not is_share(nu):
            raise ValueError(
                f"nu of NuSupportVectorRegressor must be in (0, 1] or the name of a noise, got {self.nu!r}; it is the "
                "share of samples outside the tube."
            )
        training = self._with_targets(X, y, sample_weight, Laplace(), float(nu))
        if is_hard(training):
            raise ValueError(
                f"C of NuSupportVectorRegressor must be finite, got {self.C!r}; its tube grows until errors have a "
                "price: give a finite C, or take SupportVectorRegressor."
            )
        return training


class NuSupportVectorClassifier(Classifier):
    """ν-support vector classification: at most a share ν of the samples lies within the margin.

    min 1/2 ||f||² - ν n ρ + Σ_i weight_i max(0, ρ - y_i f(x_i)) over f and ρ, y_i = ±1; f is then divided by ρ, so that
    the margin is at ±1, as in `SupportVectorClassifier`.

    Parameters
    ----------
    kernel : Kernel, optional
        As in `SupportVectorRegressor`, but with no other polynomials than a constant: of order 0 or 1.
    metric, solver, tol, max_iter, low_rank_tol, memory, warm_start, verbose, callback
        As in `SupportVectorRegressor`.
    probability, random_state
        As in `SupportVectorClassifier`.
    nu : float
        ν in (0, 1]. The B of each class add up to ν n / 2 and none exceeds 1, so that ν is at most 2 min(n₊, n₋) / n.

    Attributes
    ----------
    classes_ : array
        The labels.
    calibration_, n_support_
        As in `SupportVectorClassifier`.
    rho_ : float
        ρ, by which the function was divided: ``rho_ * dual_coef_`` solves the program. 1 if there is no margin: if the
        fit ended early, or if samples of both classes with a total weight of ν n / 2 each cannot be distinguished.
    dual_coef_, dual_point_, support_, support_vectors_, parametric_coef_, intercept_, gap_, status_, n_iter_, history_,
    kernel_, loss_, solver_, norm_, empirical_risk_
        As in `SupportVectorClassifier`; for more than two classes one machine for each class against the rest, with the
        same ν, and one column or list entry for each. ν is then bounded by the smallest class.

    Notes
    -----
    The fraction of margin errors is at most ν and that of support vectors at least ν [Scholkopf2000]_. Each f is also
    that of a `SupportVectorClassifier` with C = 1 / ρ.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import NuSupportVectorClassifier
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = NuSupportVectorClassifier(nu=0.2).fit(X, y)
    >>> margins = model.decision_function(X) * (2 * y - 1)
    >>> model.status_, bool((margins < 0.99).mean() <= 0.2 <= len(model.support_) / 100)
    ('optimal', True)
    """

    C = 1.0
    regularizer = "rkhs"
    parametric = "constant"

    def __init__(
        self,
        kernel: Any = None,
        *,
        metric: Any = None,
        nu: float = 0.5,
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
        self.nu = nu
        self.probability = probability
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one machine for two classes, or one for each class against the rest."""
        training = self._training(X, y, sample_weight)
        expansions = self._solve(training)
        margins = [self._margin(expansion) for expansion in expansions]
        for expansion, rho in zip(expansions, margins, strict=True):
            expansion.coef, expansion.parametric = expansion.coef / rho, expansion.parametric[:-1] / rho
        self.rho_ = margins[0] if training.single else margins
        self._store(training, expansions)
        risks = np.array([expansion.risk for expansion in expansions]) / margins
        self.empirical_risk_ = float(risks[0]) if training.single else risks.tolist()
        self.calibration_ = self._calibration(X, y, sample_weight, training.used)
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        if not is_share(self.nu):
            raise ValueError(
                f"nu of NuSupportVectorClassifier must be in (0, 1], got {self.nu!r}; it is the share of samples "
                "within the margin."
            )
        self.loss_ = Hinge()
        training = self._with_labels(X, y, sample_weight)
        if self.kernel is not None and (self.kernel.order or 0) > 1:
            raise ValueError(
                "kernel of NuSupportVectorClassifier must be positive definite, or conditionally of order 1, got "
                f"{self.kernel!r}; its polynomials would separate classes at no cost: choose another kernel."
            )
        for k, labels in zip(self._positives, training.targets, strict=True):
            self._check_nu(k, labels, training.C[0])
        return training

    def _solution(self, n_programs: int) -> tuple[Array, Array]:
        coef, parametric = super()._solution(n_programs)
        rho = np.atleast_1d(self.rho_)
        return coef * rho, np.vstack([parametric * rho, -rho])

    def _margin(self, expansion: Expansion) -> float:
        """The ρ of a solution, or 1 if its function is no better than zero."""
        rho = float(-expansion.parametric[-1])
        if rho > 0 and expansion.result.primal < 0:
            return rho
        if expansion.result.status in (Status.OPTIMAL, Status.STALLED):
            warnings.warn(
                f"NuSupportVectorClassifier found no margin: with nu = {self.nu!r} no function is better than zero; "
                "raise nu, or narrow the kernel.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return 1.0

    def _check_nu(self, k: int, labels: Array, weights: Array) -> None:
        """The sum of each class must be within reach."""
        smaller = min(float(weights[labels > 0].sum()), float(weights[labels < 0].sum()))
        largest = 2.0 * smaller / float(weights.sum())
        if self.nu > largest * (1.0 + EQUAL):
            raise ValueError(
                f"nu of NuSupportVectorClassifier must be at most {largest:.4g}, twice the share of the smaller side "
                f"where class {self.classes_[k]} is separated from the rest, got {self.nu!r}; lower nu."
            )

    def _program(self, program: KernelProgram) -> KernelProgram:
        """The targets are zero, and -ρ is the coefficient of one more column, the labels: Σ|B| = ν Σ weight."""
        return replace(
            program,
            y=np.zeros(len(program.y)),
            columns=np.column_stack([program.columns, program.sign]),
            bounds=np.zeros(2),
            target=np.array([0.0, self.nu * float(program.C_above.sum())]),
        )
