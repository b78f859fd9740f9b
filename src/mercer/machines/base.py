"""What all machines share: validate, build the program, solve it, store the expansion; and predict."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram import Gram, incomplete_cholesky
from mercer.losses import Loss
from mercer.machines.parametric import ParametricPart
from mercer.problems import KernelProgram
from mercer.regularizers import as_regularizer
from mercer.solvers import SolverResult, check_options, check_solver_name, choose_solver

Array = NDArray[Any]


@dataclass
class Expansion:
    """A fitted function Σ_i coef_i k(x_i, .) + Σ_j parametric_j φ_j, and how it was found."""

    coef: Array
    parametric: Array
    result: SolverResult
    program: KernelProgram


class KernelMachine(BaseEstimator):
    """Base of the machines."""

    kernel: Any
    C: Any
    regularizer: Any
    parametric: Any
    solver: str
    tol: float
    max_iter: int | None
    warm_start: bool
    verbose: bool

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Validated rows; kernels on other objects than vectors validate them themselves."""
        kernel = self.kernel if self.kernel is not None else Gaussian()
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel of {type(self).__name__} must be a Kernel or None, got {self.kernel!r}; "
                "wrap a function in mercer.kernels.FromFunction."
            )
        if not kernel.takes_vectors:
            return X
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": reset}
        return validate_data(self, X, ensure_min_samples=2 if reset else 1, **options)

    def _prepare(self, X: Any) -> tuple[Any, Array]:
        """The kernel for these rows, its Gram matrix or a low-rank factor of it, and the parametric columns."""
        check_solver_name(getattr(self, "solver", "auto"))
        check_options(getattr(self, "tol", 1e-3), getattr(self, "max_iter", None), type(self).__name__)
        self.kernel_ = self.kernel if self.kernel is not None else _default_kernel(X)
        regularizer = as_regularizer(self.regularizer)
        if regularizer.needs_positive_kernel and self.kernel_.order is None:
            raise ValueError(
                f"kernel of {type(self).__name__} must be (conditionally) positive definite for {regularizer!r}, got "
                f"{self.kernel_!r}; choose another kernel, or the regularizer 'l1' or 'l2'."
            )
        self._part = ParametricPart(self.parametric, self.kernel_)
        columns = self._part.fit(X)
        tolerance = getattr(self, "low_rank_tol", None)
        if tolerance is not None:
            return incomplete_cholesky(self.kernel_, X, tol=tolerance, verbose=self.verbose), columns
        K = np.asarray(self.kernel_(X), dtype=np.float64)
        _warn_if_degenerate(self.kernel_, K)
        if regularizer.needs_positive_kernel and self.kernel_.pairwise:
            _refuse_indefinite(K)
        return K, columns

    def _weights(self, sample_weight: Any, n: int) -> tuple[Array, Array]:
        """C_i of negative and of positive residuals of each sample."""
        weight = checked_weights(self, sample_weight, n)
        sides = self.C if isinstance(self.C, tuple) else (self.C, self.C)
        values = [np.asarray(side, dtype=np.float64) for side in sides]
        if len(values) != 2 or any(v.shape not in ((), (n,)) or not np.all(np.isfinite(v) & (v > 0)) for v in values):
            raise ValueError(
                f"C of {type(self).__name__} must be positive: one number, one for each of {n} samples, or a pair "
                f"(below, above) of these, got {self.C!r}; give C > 0."
            )
        return values[0] * weight, values[1] * weight

    def _solve(
        self,
        X: Any,
        targets: list[Array],
        loss: Loss,
        C: tuple[Array, Array],
        used: Array,
        budget_share: float | None = None,
    ) -> list[Expansion]:
        """Build and solve the program of each target on the rows at the positions `used`, which all have a weight."""
        gram, columns = self._prepare(X)
        penalty = as_regularizer(self.regularizer).restricted_to(used).penalty(gram, columns)
        starts = getattr(self, "_results", []) if self.warm_start else []
        expansions = []
        for i, y in enumerate(targets):
            program = KernelProgram.build(
                penalty,
                y,
                loss,
                C,
                conditional=bool(self.kernel_.order),
                budget=None if budget_share is None else budget_share * float(np.sum(C[0])),
                exact_gram=Gram(self.kernel_, X) if getattr(self, "low_rank_tol", None) is not None else None,
            )
            solver = choose_solver(self.solver, program)
            start = starts[i] if i < len(starts) and _fits(starts[i], program) else None
            result = solver.solve(program, start=start, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
            self.solver_ = solver.name
            coef, parametric = penalty.expand(result.B, result.d)
            expansions.append(Expansion(_without_rounding(coef), parametric, result, program))
        return expansions

    def _warn_unless_optimal(self, results: list[SolverResult], gaps: list[float]) -> None:
        for result, gap in zip(results, gaps, strict=True):
            if result.status == "interrupted":
                message = "was interrupted; set warm_start=True and call fit again to go on"
            elif result.status != "optimal":
                message = f"ended as {result.status!r}; scale the columns and y, raise max_iter, or raise tol"
            elif gap > self.tol:
                message = "solved a low-rank program whose gap to the exact one is too large; lower low_rank_tol"
            else:
                continue
            warnings.warn(
                f"{type(self).__name__} {message} (relative gap {gap:.1e}, tol {self.tol:.1e}).",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store(self, X: Any, used: Array, expansions: list[Expansion], *, single: bool) -> None:
        """Keep the rows and coefficients that matter, and the story of the fit.

        X holds the rows at the positions `used` of the training set.
        """
        results = [expansion.result for expansion in expansions]
        gaps = [expansion.program.certificate(expansion.result).relative_gap for expansion in expansions]
        coef = np.column_stack([expansion.coef for expansion in expansions])
        parametric = np.column_stack([expansion.parametric for expansion in expansions])
        support = np.flatnonzero(np.any(coef != 0, axis=1))
        coef = coef[support]
        self.support_ = used[support]
        self.support_vectors_ = _safe_indexing(X, support)
        constant = self._part.constant
        intercept = np.zeros(len(results)) if constant is None else parametric[constant]
        story: dict[str, list[Any]] = {
            "gap_": gaps,
            "status_": [result.status for result in results],
            "n_iter_": [result.n_iter for result in results],
            "history_": [result.history for result in results],
        }
        self.dual_coef_ = coef[:, 0] if single else coef
        self.parametric_coef_ = parametric[:, 0] if single else parametric
        self.intercept_ = float(intercept[0]) if single else intercept
        for name, values in story.items():
            setattr(self, name, values[0] if single else values)
        self._results = results
        self._warn_unless_optimal(results, gaps)

    def _function(self, X: Any) -> Array:
        """Values of the fitted function at new rows, in blocks."""
        check_is_fitted(self, "dual_coef_")
        X = self._rows(X, reset=False)
        parametric = self._part.columns(X) @ self.parametric_coef_
        if not len(self.support_):
            return parametric
        if self.kernel_.pairwise:
            return np.asarray(np.asarray(X)[:, self.support_] @ self.dual_coef_) + parametric
        return np.asarray(Gram(self.kernel_, X, self.support_vectors_) @ self.dual_coef_) + parametric

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        tags.input_tags.pairwise = bool(getattr(kernel, "pairwise", False))
        tags.input_tags.sparse = kernel is None or bool(getattr(kernel, "_accepts_sparse", False))
        return tags


def rows_in_use(X: Any, used: Array, kernel: Kernel | None) -> Any:
    """The rows of a training set that have a weight (and the columns, if they are objects too)."""
    if len(used) == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    X = _safe_indexing(X, used)
    return X[:, used] if kernel is not None and kernel.pairwise else X


def checked_weights(machine: BaseEstimator, sample_weight: Any, n: int) -> Array:
    """One weight for each of n samples."""
    weight = np.ones(n) if sample_weight is None else _check_sample_weight(sample_weight, np.empty((n, 1)))
    if np.any(weight < 0) or not np.any(weight > 0):
        raise ValueError(
            f"sample_weight of {type(machine).__name__} must be non-negative and not all zero, got {sample_weight!r}; "
            "leave samples out instead."
        )
    return weight


def distinct_rows(X: Any) -> tuple[Array, Array]:
    """Positions where each distinct row is first seen, and for each row which of these it is.

    All objects but vectors count as distinct.
    """
    if sparse.issparse(X):
        used = sparse.csr_array(X)
        used.sum_duplicates()
        used.eliminate_zeros()
        spans = list(pairwise(used.indptr))
        keys: Any = [used.indices[i:j].tobytes() + used.data[i:j].tobytes() for i, j in spans]
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        keys = [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]  # -0 is 0
    else:
        keys = range(len(X))
    first: dict[Any, int] = {}
    group = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.intp)
    return np.unique(group, return_index=True)[1], group


def _default_kernel(X: Any) -> Gaussian:
    """A Gaussian scaled to the distinct rows, so that repeating a row is the same as weighing it."""
    return Gaussian.scaled_to(X[distinct_rows(X)[0]] if sparse.issparse(X) else np.unique(X, axis=0))


def _fits(start: SolverResult, program: KernelProgram) -> bool:
    """Whether an earlier solution has the shape of this program's."""
    return len(start.B) == len(program.y) and len(start.d) == program.columns.shape[1]


def _without_rounding(coef: Array) -> Array:
    """Coefficients that differ from zero only because an interior point method never reaches the boundary are zero."""
    return np.where(np.abs(coef) > 1e-9 * np.max(np.abs(coef), initial=0.0), coef, 0.0)


def _warn_if_degenerate(kernel: Kernel, K: Array) -> None:
    """A Gram matrix that knows nothing of the data: all rows equal, or all different."""
    n = len(K)
    scale = np.sqrt(np.outer(np.diagonal(K), np.diagonal(K))) if np.all(np.diagonal(K) > 0) else None
    if scale is None or n < 3:
        return
    off_diagonal = (K / scale)[~np.eye(n, dtype=bool)]
    if off_diagonal.max() < 1e-6 and off_diagonal.min() > -1e-6:
        message = "the identity: all rows look different; widen the kernel or scale the columns"
    elif np.ptp(K) <= 1e-9 * np.abs(K).max():
        message = "constant: all rows look alike; narrow the kernel or scale the columns"
    else:
        return
    warnings.warn(f"The Gram matrix of {kernel!r} is numerically {message}.", UserWarning, stacklevel=4)


def _refuse_indefinite(K: Array) -> None:
    smallest, largest = np.linalg.eigvalsh(K)[[0, -1]]
    if smallest < -1e-8 * max(largest, -smallest):
        raise ValueError(
            f"A precomputed Gram matrix must be positive semi-definite for this regularizer, got an eigenvalue of "
            f"{smallest:.3g}; mend the matrix, or choose the regularizer 'l1' or 'l2'."
        )
