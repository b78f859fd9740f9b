"""Kernel ridge regression: its whole leave-one-out path from one eigendecomposition, or a search for many samples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import eigh
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.arrays import Array
from mercer.kernels.gram import FormedMatrix, Gram
from mercer.losses import Squared
from mercer.machines.base import KernelMachine
from mercer.machines.penalty_search import PenaltySearch, Samples
from mercer.machines.regressor import regression_targets
from mercer.machines.samples import checked_weights, rows_in_use
from mercer.machines.training import Expansion, Task, Training
from mercer.problems import KernelProgram
from mercer.running import Status
from mercer.solvers import ConjugateGradients, Solver, SolverName, SolverResult
from mercer.solvers.certified import certified, with_certificate

# The least penalty that is tried by default, in units of the rounding of K: eigenvalues below it are hardly known.
_ABOVE_ROUNDING = 4.0


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelMachine):
    """Squared loss, min penalty/2 ||f||² + 1/2 Σ weight_i (y_i - f(x_i))², with the penalty that predicts best.

    Parameters
    ----------
    kernel : Kernel, optional
        By default a Gaussian whose width is the median distance of the data.
    penalties : float or array, optional
        Penalties to choose from; by default from 1e-10 to 1e2 times the mean eigenvalue of K, 60 of them, or 25 for
        conjugate gradients, but for those below the rounding of a precomputed K. One number fixes it. A learned metric
        brings its own penalty, if the kernel is its own, too.
    metric : None, "learned" or LearnedMetric
        As in `SupportVectorRegressor`.
    parametric : None, "constant", "linear" or list
        Unpenalised functions, as in `SupportVectorRegressor`.
    solver : {"auto", "eigen", "conjugate_gradients"} or ConjugateGradients
        "eigen" decomposes the n x n matrix and knows the leave-one-out error of every penalty; "conjugate_gradients"
        solves for a few penalties, and forms the matrix only if it fits into half of `memory` and products without it
        are slow. "auto" takes "eigen" up to 2000 distinct rows, if seven n x n matrices fit into `memory`; `solver_`
        says which it was, and `solver_.reason` why.
    tol : float
        Relative gap (primal - dual) / primal to reach, of the function that is stored.
    max_iter : int, optional
        Largest number of iterations of conjugate gradients for one penalty; by default 1000 for the first penalty and
        100 for all others.
    memory : int
        Bytes that matrices may take.
    warm_start : bool
        Whether conjugate gradients go on from the last solution, if the number of samples is the same.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(iteration, values)`` in every iteration of conjugate gradients, each penalty a run from
        iteration 0, and before that by the search for a metric; `values` as in `SupportVectorRegressor`. If it returns
        True, the fit ends there as "interrupted".

    Attributes
    ----------
    penalty_ : float
        The penalty with the least error.
    penalties_, leave_one_out_error_ : array
        The path: root mean square error of predicting each row from all others, for every penalty. Only for "eigen".
    validation_error_ : array
        Root mean square error of predicting rows that were held out, for every penalty; NaN for those that the search
        did not come to. Only for "conjugate_gradients" and several penalties.
    gap_, status_, n_iter_, history_
        Relative gap, "optimal" or why not, number of iterations, and values of both programs in each, for the chosen
        penalty. Lists for several targets.
    dual_coef_, dual_point_, support_, n_support_, parametric_coef_, intercept_, coef_, kernel_, solver_,
    norm_, empirical_risk_
        As in `SupportVectorRegressor`.

    Notes
    -----
    Equal rows are left out together, since one would give the other away; weighing a row is then the same as repeating
    it.

    With the parametric columns Φ projected out, the residual of sample i when it is left out is B_i / (S⁻¹)_ii, where
    S B = (K̃ + penalty) B = y on the complement of Φ. After one eigendecomposition, O(n³), each penalty costs O(n²).

    Conjugate gradients solve for one penalty at a time, with some ten products with K each where the penalty is of the
    order of the largest eigenvalue that their preconditioner leaves, and more below. If there are several penalties, a
    random tenth of the rows (300 at least) is held out, and the others predict it. The search begins with the penalty
    that has the least leave-one-out error if a low-rank factor replaces K, which is most often one that is too large,
    and goes to smaller ones, or else to larger ones, as long as the error falls. All rows are fitted with the best.
    Memory: n · 5 √n numbers for the preconditioner, some vectors, and the matrix if it is formed.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> model = KernelRidge().fit(X, y)
    >>> bool(0.09 < model.leave_one_out_error_.min() < 0.12)
    True
    >>> large = KernelRidge(penalties=model.penalty_, solver="conjugate_gradients").fit(X, y)
    >>> large.status_, bool(large.gap_ <= 1e-6), bool(abs(large.predict(X) - model.predict(X)).max() < 1e-3)
    ('optimal', True, True)
    """

    regularizer = "rkhs"
    low_rank_tol = None

    # Up to this number of distinct rows an eigendecomposition takes seconds, a search a tenth of that: `ridge` of
    # `benchmarks/machines_scale.py`.
    _many_rows: ClassVar[int] = 2000

    def __init__(
        self,
        kernel: Any = None,
        *,
        metric: Any = None,
        penalties: Any = None,
        parametric: Any = "constant",
        solver: str | ConjugateGradients = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        memory: int = 2**30,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.kernel = kernel
        self.metric = metric
        self.penalties = penalties
        self.parametric = parametric
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and one or several targets y, which share the penalty."""
        self._check_choices()
        training = self._training(X, y, sample_weight)
        rows, group, samples = Samples.merged(training.X, np.column_stack(training.targets), training.C[0])
        X = rows_in_use(training.X, rows, self.kernel)
        matrix, Phi = self._prepare(X)
        self.solver_ = self._choose(len(rows))
        for error in ("leave_one_out_error_", "validation_error_"):
            self.__dict__.pop(error, None)  # of an earlier fit by another solver
        if self.solver_ == "eigen":
            fits = self._by_eigen(matrix.in_memory.formed, Phi, samples)
        else:
            fits = self._by_conjugate_gradients(X, matrix.operator, matrix.rounding, Phi, samples)
        if len(rows) < len(training.used):
            self._take_apart(training, samples, group, fits)
        self._store(training, fits)
        return self

    def _take_apart(self, training: Training, samples: Samples, group: Array, fits: list[Expansion]) -> None:
        """Coefficients for all rows, of which some are equal, and the certificate of the function that they make."""
        task: Task = self._twin()._task(self._weighed(training))
        for fit, y, program in zip(fits, training.targets, task.programs, strict=True):
            fit.coef = fit.point = samples.apart(fit.result.B, group, y, training.C[0], self.penalty_)
            certificate = task.certificate(program, fit.coef, fit.parametric, fit.point)
            fit.result = with_certificate(fit.result, certificate, self.tol)

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        X = self._rows(X, reset=True)
        y = regression_targets(y, X)
        weight = checked_weights(self, sample_weight, len(y))
        used = np.flatnonzero(weight)
        targets = list(y[used].reshape(len(used), -1).T)
        X = self._in_metric(X, used, targets)
        return Training(X, used, targets, Squared(), (weight[used], weight[used]), y.ndim == 1)

    def _weighed(self, training: Training) -> Training:
        weight = training.C[0] / self.penalty_
        return replace(training, C=(weight, weight))

    def predict(self, X: Any, *, dtype: DTypeLike = np.float64) -> Array:
        """Values of the fitted function; ``dtype=np.float32`` as in `SupportVectorRegressor.predict`."""
        return self._function(X, dtype)

    def _by_eigen(self, K: Array, Phi: Array, samples: Samples) -> list[Expansion]:
        """All penalties from one eigendecomposition."""
        root, targets = samples.root, samples.targets
        # An orthonormal basis Q of the complement of Φ turns the saddle-point system into (QᵀKQ + penalty) b = Qᵀy.
        Q = np.linalg.qr(root * Phi, mode="complete")[0][:, Phi.shape[1] :]
        values, vectors = eigh(Q.T @ (root * K * root.T) @ Q)
        basis = Q @ vectors
        z = basis.T @ (root * targets)
        rounding = -float(values.min(initial=0.0))  # a positive matrix has no negative eigenvalues
        self.penalties_ = self._grid(float(values.mean()) if values.size else 0.0, rounding)
        squared = basis**2
        errors = []
        for penalty in self.penalties_:
            inverse = 1.0 / _raised(values, penalty)
            left_out = basis @ (inverse[:, None] * z)
            left_out /= np.maximum(squared @ inverse, np.finfo(np.float64).tiny)[:, None]
            errors.append(samples.error(left_out / root))
        self.leave_one_out_error_ = np.array(errors)
        self.penalty_ = float(self.penalties_[np.argmin(self.leave_one_out_error_)])
        B = root * (basis @ (z / _raised(values, self.penalty_)[:, None]))
        d = np.linalg.lstsq(root * Phi, root * (targets - K @ B) - self.penalty_ * B / root, rcond=None)[0]
        programs = samples.programs(self.kernel_, FormedMatrix(K), Phi, self.penalty_)
        return [_direct(*solution, self.tol) for solution in zip(programs, B.T, d.T, strict=True)]

    def _by_conjugate_gradients(
        self, X: Any, gram: Gram, rounding: float, Phi: Array, samples: Samples
    ) -> list[Expansion]:
        """One solution for each penalty that is tried."""
        starts, max_iter, interrupted = None, self.max_iter, False
        if self._wanted_penalties is not None and len(self._wanted_penalties) == 1:
            self.penalties_, best = self._grid(1.0), 0
        else:
            search = PenaltySearch(self.kernel_, X, Phi, samples, self.memory)
            grid = partial(self._grid, rounding=rounding)
            found = search.run(grid, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose, callback=self.callback)
            self.penalties_, best, self.validation_error_ = found.penalties, found.best, found.errors
            starts, interrupted = found.starts, found.interrupted
            max_iter = 0 if interrupted else max_iter
            del search  # and its preconditioner
        self.penalty_ = float(self.penalties_[best])
        programs = samples.programs(self.kernel_, gram.for_products(self.memory // 2), Phi, self.penalty_)
        C = (programs[0].C_below, programs[0].C_above)
        if self.warm_start and not interrupted:
            before = self._starts(C, Phi.shape)
            starts = before if len(before) == len(programs) else starts
        solver = self.solver if isinstance(self.solver, ConjugateGradients) else ConjugateGradients()
        preconditioner = solver.preconditioner(programs[0], memory=self.memory)
        results = solver.solve_all(
            programs,
            preconditioner,
            starts=starts,
            tol=self.tol,
            max_iter=max_iter,
            verbose=self.verbose,
            callback=self.callback,
        )
        if interrupted:
            results = [replace(result, status=Status.INTERRUPTED) for result in results]
        self._weights_of_results = C
        return [
            Expansion(result.B, result.d, result.B, result, program)
            for result, program in zip(results, programs, strict=True)
        ]

    def _choose(self, n: int) -> SolverName:
        if isinstance(self.solver, Solver):
            return SolverName(self.solver.name, "as asked")
        if self.solver != "auto":
            return SolverName(self.solver, "as asked")
        if n > self._many_rows:
            return SolverName("conjugate_gradients", f"{n:,} distinct rows: no matrix is factored")
        if 7 * 8 * n**2 > self.memory:
            return SolverName("conjugate_gradients", f"{n:,} distinct rows: their matrices do not fit into memory")
        return SolverName("eigen", f"{n:,} distinct rows")

    def _check_choices(self) -> None:
        """Refuse penalties and solvers before any work."""
        if not isinstance(self.solver, ConjugateGradients) and (
            not isinstance(self.solver, str) or self.solver not in ("auto", "eigen", "conjugate_gradients")
        ):
            raise ValueError(
                f"solver of KernelRidge must be 'auto', 'eigen' or 'conjugate_gradients', got {self.solver!r}; "
                "choose one of them, or give a ConjugateGradients()."
            )
        if self.penalties is None:
            return
        penalties = np.atleast_1d(np.asarray(self.penalties, dtype=np.float64))
        if penalties.ndim != 1 or not penalties.size or not np.all(np.isfinite(penalties) & (penalties > 0)):
            raise ValueError(
                f"penalties of KernelRidge must be positive numbers, got {self.penalties!r}; give one or a list."
            )

    @property
    def _wanted_penalties(self) -> Array | None:
        """Penalties that were given, or that of a learned metric whose kernel is used; else None."""
        if self.penalties is not None:
            return np.atleast_1d(np.asarray(self.penalties, dtype=np.float64))
        return None if self.metric is None or self.kernel is not None else np.array([self.metric_.penalty_])

    def _grid(self, mean_eigenvalue: float, rounding: float = 0.0) -> Array:
        """Penalties to choose from; by default none that leaves K + penalty to rounding."""
        if self._wanted_penalties is not None:
            return self._wanted_penalties
        scale = mean_eigenvalue if mean_eigenvalue > 0 else 1.0
        penalties = scale * np.geomspace(1e-10, 1e2, 60 if self.solver_ == "eigen" else 25)
        return penalties[min(np.searchsorted(penalties, _ABOVE_ROUNDING * rounding), len(penalties) - 1) :]


def _raised(values: Array, penalty: float) -> Array:
    """Eigenvalues plus a penalty; where it is too small for that to be positive, negative ones count as zero."""
    return (values if penalty > -2 * values.min(initial=0.0) else np.maximum(values, 0.0)) + penalty


def _direct(program: KernelProgram, B: Array, d: Array, tol: float) -> Expansion:
    """What a direct method found; "stalled" if rounding spoilt it."""
    iterate = program.iterate(B, d)
    found = SolverResult(Status.OPTIMAL, B, d, iterate.primal, iterate.dual, 1, [iterate])
    result = certified(program, found, tol)
    return Expansion(result.B, result.d, result.B, result, program)
