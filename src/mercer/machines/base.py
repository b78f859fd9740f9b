"""What all machines share: validate, build the program, solve it, store the expansion; and predict."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from mercer.arrays import Array
from mercer.kernels import Gaussian, Kernel, distinct_rows
from mercer.kernels.gram import GramMatrix, incomplete_cholesky
from mercer.losses import Loss
from mercer.machines.attributes import DerivedAttributes
from mercer.machines.certified import Certified
from mercer.machines.hard import check_hard, is_hard, solve_hard, with_level
from mercer.machines.learned import check_metric, is_interrupted, learned_metric, unit_of_weights
from mercer.machines.matrix import TrainingMatrix
from mercer.machines.parametric import ParametricPart
from mercer.machines.prediction import Prediction
from mercer.machines.samples import checked_weights, is_positive, rows_in_use
from mercer.machines.training import Expansion, Task, Training
from mercer.metrics.columns import text_refused
from mercer.problems import KernelProgram
from mercer.regularizers import as_regularizer
from mercer.running import Status
from mercer.solvers import (
    SOLVERS,
    Solver,
    SolverResult,
    bytes_of_matrices,
    check_options,
    check_solver_name,
    choose_solver,
)
from mercer.solvers.certified import with_certificate
from mercer.solvers.selection import FEW_SAMPLES

# What regularizers of coefficients form before any solver: the matrix, a product of it, and the work of that.
_N_MATRICES = 3
# Relative gap that the interior point method is asked for on few samples, whatever tol: it takes a tenth more time.
_LAST_DIGITS = 1e-11


class KernelMachine(Prediction, Certified, DerivedAttributes, BaseEstimator):
    """Base of the machines."""

    kernel: Any
    metric: Any = None
    C: Any
    regularizer: Any
    parametric: Any
    solver: str | Solver
    tol: float
    max_iter: int | None
    low_rank_tol: float | None
    memory: int
    warm_start: bool
    _shared: list[Task]
    verbose: bool
    callback: Any = None

    def __init__(
        self, kernel: Any, *, solver: str | Solver, tol: float, max_iter: int | None, low_rank_tol: float | None,
        memory: int, warm_start: bool, verbose: bool, callback: Any,
    ):  # fmt: skip
        self.kernel = kernel
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.low_rank_tol = low_rank_tol
        self.memory = memory
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Validated rows; kernels on other objects than vectors validate them themselves."""
        kernel = self.kernel if self.kernel is not None else Gaussian()
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel of {type(self).__name__} must be a Kernel or None, got {self.kernel!r}; "
                "wrap a function in mercer.kernels.FromFunction."
            )
        check_metric(self)
        if not kernel.takes_vectors:
            return X
        # In double precision: certificates and predictions would see the rounding of products in single precision.
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "reset": reset}
        if self.metric is None:
            return validate_data(self, X, ensure_min_samples=2 if reset else 1, **options)
        options |= {"accept_sparse": False, "ensure_all_finite": "allow-nan"}
        with text_refused(X, type(self).__name__):
            return validate_data(self, X, ensure_min_samples=2 if reset else 1, **options)

    def _in_metric(self, X: Any, used: Array, targets: list[Array]) -> Any:
        """The training rows that have a weight, in the columns of a metric that is learned from their targets."""
        X = rows_in_use(X, used, self.kernel)
        self.__dict__.pop("metric_", None)  # of an earlier fit
        if self.metric is None:
            return X
        known = getattr(self, "_known_metric", None)
        self.metric_ = learned_metric(self, X, targets) if known is None else known
        return self.metric_.transform(X)

    def _in_units(self, C: tuple[Array, Array], loss: Loss, targets: list[Array]) -> tuple[Array, Array]:
        """Weights in units of those that belong to the metric."""
        known: float | None = getattr(self, "_known_unit", None)
        self.C_unit_ = unit_of_weights(self, loss, targets) if known is None else known
        return C[0] * self.C_unit_, C[1] * self.C_unit_

    def _prepare(self, X: Any) -> tuple[TrainingMatrix, Array]:
        """The Gram matrix of the kernel for these rows, not yet formed, and the parametric columns."""
        check_options(self.tol, self.max_iter, type(self).__name__, self.callback)
        if not is_positive(self.memory):
            raise ValueError(
                f"memory of {type(self).__name__} must be a number of bytes > 0, got {self.memory!r}; the default is "
                "2**30."
            )
        default = default_kernel if self.metric is None else self._kernel_of_metric
        self.kernel_ = clone(self.kernel) if self.kernel is not None else default(X)
        regularizer = as_regularizer(self.regularizer)
        if regularizer.needs_positive_kernel and self.kernel_.order is None:
            raise ValueError(
                f"kernel of {type(self).__name__} must be (conditionally) positive definite for {regularizer!r}, got "
                f"{self.kernel_!r}; choose another kernel, or the regularizer 'l1' or 'l2'."
            )
        self._part = ParametricPart(self.parametric, self.kernel_)
        columns = self._part.fit(X)
        return TrainingMatrix(self.kernel_, X, needs_positive=regularizer.needs_positive_kernel), columns

    def _kernel_of_metric(self, X: Any) -> Kernel:
        return clone(self.metric_.kernel_)

    def _weights(self, sample_weight: Any, n: int) -> tuple[Array, Array]:
        """C_i of negative and of positive residuals of each sample."""
        weight = checked_weights(self, sample_weight, n)
        sides = self.C if isinstance(self.C, tuple) else (self.C, self.C)
        numbers = all(np.asarray(side).dtype.kind in "fiu" for side in sides)
        values = [np.asarray(side, dtype=np.float64) for side in sides] if numbers else []
        if len(values) != 2 or any(v.shape not in ((), (n,)) or not np.all(v > 0) for v in values):
            raise ValueError(
                f"C of {type(self).__name__} must be positive: one number, one for each of {n} samples, or a pair "
                f"(below, above) of these, got {self.C!r}; give C > 0."
            )
        with np.errstate(invalid="ignore"):  # samples without a weight have none, however large C is
            below, above = (np.where(weight > 0, value * weight, 0.0) for value in values)
        return below, above

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """The training set, validated."""
        raise NotImplementedError

    def _solve(self, training: Training) -> list[Expansion]:
        """Build and solve the program of each target; an infinite C is replaced by one that is large enough."""
        check_solver_name(self.solver)
        self.__dict__.pop("C_", None)  # of an earlier fit
        if not is_hard(training):
            return self._solve_programs(training)
        check_hard(type(self).__name__, training)
        alone = "_shared" not in self.__dict__
        if alone:
            self._shared = []  # one matrix for all weights
        try:
            task = self._task(with_level(training, 1.0))
            diagonal = float(np.median(np.abs(task.matrix.operator.diagonal()))) or 1.0
            unit = max(float(np.abs(y).max()) for y in training.targets) / diagonal or 1.0
            expansions, self.C_ = solve_hard(type(self).__name__, training, unit, self._solve_programs)
        finally:
            if alone:
                del self._shared
        return expansions

    def _solve_programs(self, training: Training) -> list[Expansion]:
        task = self._task(training)
        shape = task.programs[0].columns.shape
        starts = self._starts(training.C, shape) if self.warm_start else []
        expansions, stopped = [], False
        for i, program in enumerate(task.programs):
            self.solver_ = choose_solver(self.solver, program, tol=self.tol, memory=self.memory)
            solver = self.solver if isinstance(self.solver, Solver) else SOLVERS[self.solver_]
            self._check_memory(solver.n_matrices(program), len(program.y), f"the solver {str(self.solver_)!r}")
            if solver.needs_matrix and not program.in_memory:
                program = replace(program, gram=task.matrix.in_memory)
            to_the_last_digits = solver.reaches_rounding and len(program.y) < FEW_SAMPLES
            result = solver.solve(
                program,
                start=starts[i] if i < len(starts) else None,
                tol=min(self.tol, _LAST_DIGITS) if to_the_last_digits else self.tol,
                max_iter=self.max_iter,
                callback=_ending_at_once if stopped else self.callback,
                verbose=self.verbose,
                memory=self.memory,
            )
            stopped = stopped or result.status == Status.INTERRUPTED
            if to_the_last_digits and result.certificate is not None:  # None after Ctrl-C
                result = with_certificate(result, result.certificate, self.tol)
            coef, parametric = task.penalty.expand(result.B, result.d)
            if task.penalty.rewrites:
                certificate = task.certificate(program, coef, parametric, result.B)
                result = with_certificate(result, certificate, self.tol)
            expansions.append(Expansion(coef, parametric, result.B, result, program))
        self._weights_of_results = training.C
        return expansions

    def _task(self, training: Training) -> Task:
        """The program of each target; if this machine is part of a path, its first machine made all but the weights."""
        C, share = training.C, training.budget_share
        budget = None if share is None else share * float(np.sum(C[0]))
        shared: list[Task] = getattr(self, "_shared", [])
        if shared:
            shared[0] = replace(shared[0], programs=[p.with_weights(C, budget) for p in shared[0].programs])
            return shared[0]
        matrix, columns = self._prepare(training.X)
        regularizer = as_regularizer(self.regularizer).restricted_to(training.used)
        if regularizer.needs_matrix:
            self._check_memory(_N_MATRICES, len(training.used), f"the regularizer {regularizer!r}")
        gram: GramMatrix = matrix.in_memory if self.kernel_.pairwise or regularizer.needs_matrix else matrix.operator
        if self.low_rank_tol is not None:
            gram = incomplete_cholesky(self.kernel_, training.X, tol=self.low_rank_tol, verbose=self.verbose)
        penalty = regularizer.penalty(gram, columns)
        priced = self._part.polynomials[penalty.bounds[self._part.polynomials] > 0] if not penalty.gram.is_zero else ()
        if len(priced):
            raise ValueError(
                f"regularizer of {type(self).__name__} must leave the polynomials of {self.kernel_!r} free, got "
                f"{regularizer!r}; give the parametric columns {np.asarray(priced).tolist()} the weight 0, or choose "
                "'rkhs'."
            )
        common: dict[str, Any] = {
            "conditional": bool(self.kernel_.order),
            "budget": budget,
            "exact_gram": None if self.low_rank_tol is None else matrix.operator,
            "kept": {},
        }
        programs = [
            self._program(KernelProgram.build(penalty, y, training.loss, C, **common)) for y in training.targets
        ]
        shared.append(Task(matrix, regularizer, penalty, programs))
        return shared[0]

    def _check_memory(self, n_matrices: int, n: int, owner: str) -> None:
        """Refuse to form matrices that do not fit."""
        needed = bytes_of_matrices(n_matrices, n)
        if needed > self.memory:
            raise ValueError(
                f"memory of {type(self).__name__} must be at least {needed:,} bytes for {owner}, which takes about "
                f"{n_matrices} matrices of {n:,} x {n:,} numbers, got {self.memory:,}; raise memory, or choose the "
                "regularizer 'rkhs' with the solver 'auto', or give low_rank_tol."
            )

    def _program(self, program: KernelProgram) -> KernelProgram:
        """The program of this machine, made of the usual one."""
        return program

    def _starts(self, C: tuple[Array, Array], shape: tuple[int, int]) -> list[SolverResult]:
        """The last solutions in units of the new weights, if they have the shape of the new ones."""
        results: list[SolverResult] = getattr(self, "_results", [])
        if not all((len(result.B), len(result.d)) == shape for result in results):
            return []
        before = getattr(self, "_weights_of_results", C)
        ratio = np.max([new / old for new, old in zip(C, before, strict=True)], axis=0) if results else 1.0
        return [replace(result, B=result.B * ratio) for result in results]

    @available_if(lambda machine: "C" in machine.get_params(deep=False))
    def regularization_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any = None) -> list[Self]:
        """Machines fitted with each of several C, in the order given; each starts from the one with the next smaller C.

        A number C of this machine is replaced by each of `Cs`. A pair, or one number for each sample, is multiplied by
        them, so that samples and sides keep their ratios. Each machine equals a single fit with its `C`.

        They share one Gram matrix and what is known of its products. After Ctrl-C the list ends early: it holds the
        machines that were fitted, of which the one with the largest C was interrupted.

        Examples
        --------
        >>> from mercer import SupportVectorRegressor
        >>> from mercer.datasets import make_sinc
        >>> X, y = make_sinc(100, noise=0.1, random_state=0)
        >>> path = SupportVectorRegressor().regularization_path(X, y, [10.0, 0.1, 1.0])
        >>> [machine.C for machine in path]
        [10.0, 0.1, 1.0]
        >>> path = SupportVectorRegressor(C=(1.0, 3.0)).regularization_path(X, y, [0.5, 10.0])
        >>> [tuple(map(float, machine.C)) for machine in path]
        [(0.5, 1.5), (10.0, 30.0)]
        """
        values = np.asarray(Cs, dtype=np.float64)
        if values.ndim != 1 or not values.size or not np.all(np.isfinite(values) & (values > 0)):
            raise ValueError(
                f"Cs of {type(self).__name__}.regularization_path must be a list of positive numbers, got {Cs!r}; give "
                "the weights to try."
            )
        path: dict[int, Self] = {}
        machine = clone(self)
        machine._shared = []
        for i in np.argsort(values):
            C = scaled_weights(self.C, float(values[i]))
            machine = copy(machine).set_params(C=C, warm_start=True).fit(X, y, sample_weight)
            path[int(i)] = machine
            machine._known_metric = getattr(machine, "metric_", None)  # one for all weights
            if any(result.status == Status.INTERRUPTED for result in machine._results):
                break
        for machine in path.values():
            machine.set_params(warm_start=self.warm_start)
            del machine._shared, machine._known_metric
        return [path[i] for i in sorted(path)]

    def _warn_unless_optimal(self, results: list[SolverResult], gaps: list[float]) -> None:
        for result, gap in zip(results, gaps, strict=True):
            if result.status == Status.INTERRUPTED:
                message = "was interrupted; set warm_start=True and call fit again to go on"
            elif result.status == Status.STALLED and self.low_rank_tol is not None:
                message = "solved a low-rank program whose gap to the exact one is too large; lower low_rank_tol"
            elif result.status != Status.OPTIMAL:
                message = f"ended as {result.status!r}; scale the columns and y, raise max_iter, or raise tol"
            else:
                continue
            warnings.warn(
                f"{type(self).__name__} {message} (relative gap {gap:.1e}, tol {self.tol:.1e}).",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store(self, training: Training, expansions: list[Expansion]) -> None:
        """Keep the rows and coefficients that matter, and the story of the fit."""
        results, single = [expansion.result for expansion in expansions], training.single
        gaps = [result.history[-1].relative_gap for result in results]
        points = np.column_stack([expansion.point for expansion in expansions])
        self.dual_point_ = points[:, 0] if single else points
        coef = np.column_stack([expansion.coef for expansion in expansions])
        parametric = np.column_stack([expansion.parametric for expansion in expansions])
        support = np.flatnonzero(np.any(coef != 0, axis=1))
        coef = coef[support]
        self.support_ = training.used[support]
        self.support_vectors_ = _safe_indexing(training.X, support)
        constant = self._part.constant
        intercept = np.zeros(len(results)) if constant is None else parametric[constant]
        if is_interrupted(self):  # what is solved is the program in the metric so far
            self._results = [replace(result, status=Status.INTERRUPTED) for result in results]
        else:
            self._results = results
        story: dict[str, list[Any]] = {
            "gap_": gaps,
            "status_": [result.status for result in self._results],
            "n_iter_": [result.n_iter for result in results],
            "history_": [result.history for result in results],
            "empirical_risk_": [expansion.risk for expansion in expansions],
        }
        self.dual_coef_ = coef[:, 0] if single else coef
        self.parametric_coef_ = parametric[:, 0] if single else parametric
        self.intercept_ = float(intercept[0]) if single else intercept
        for name, values in story.items():
            setattr(self, name, values[0] if single else values)
        self._warn_unless_optimal(results, gaps)  # the metric has warned of its own end

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        tags.input_tags.pairwise = bool(getattr(kernel, "pairwise", False))
        takes_sparse = kernel is None or bool(getattr(kernel, "takes_sparse", False))
        tags.input_tags.sparse = takes_sparse and self.metric is None
        tags.input_tags.allow_nan = self.metric is not None
        tags.input_tags.positive_only = not getattr(kernel, "takes_negative", True)
        return tags


def default_kernel(X: Any) -> Gaussian:
    """A Gaussian scaled to the distinct rows, so that repeating a row is the same as weighing it."""
    return Gaussian.scaled_to(X[distinct_rows(X)[0]] if sparse.issparse(X) else np.unique(X, axis=0))


def scaled_weights(C: Any, factor: float) -> Any:
    """A multiple of a C that differs by side or by sample; the factor itself in place of a single number."""
    if isinstance(C, tuple):
        return tuple(factor * np.asarray(side, dtype=np.float64) for side in C)
    return factor * np.asarray(C, dtype=np.float64) if np.ndim(C) else factor


def _ending_at_once(iteration: int, values: Any) -> bool:
    """A callback for what is left after Ctrl-C."""
    return True
