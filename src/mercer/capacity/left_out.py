"""The leave-one-out error of a fitted kernel machine, without fitting it again for each row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.capacity.fitted import Signed, fitted_programs
from mercer.capacity.path import SolutionPath
from mercer.capacity.span import span_residuals
from mercer.machines.certified import FittedProgram
from mercer.machines.samples import checked_weights
from mercer.parameters import check_choice
from mercer.problems import KernelProgram

# Gap of the refits, and variables below this share of the largest, which do not matter.
_TOL, _NOTHING = 1e-13, 1e-9


@dataclass(frozen=True)
class LeaveOneOut:
    """What a machine says of each training row if that row is left out.

    Attributes
    ----------
    predictions : array of shape (n,) or (n, n_targets)
        Predictions, or decision values of a classifier: one column for each class if there are more than two.
    error : float
        Share of the rows that are told wrong, ties included; for numbers the root mean square error. Rows count by
        their weight.
    wrong : array of shape (n,), or None
        Which rows are told wrong; None for numbers.
    exact : bool
        Whether these are the predictions of refits: of an estimate this is not known, but for the squared loss.
    changed : array of shape (n,), or None
        Whether leaving a row out frees or binds other rows; the span is exact for those where it does not. None for
        methods that do not tell.
    """

    predictions: Array
    error: float
    wrong: Array | None
    exact: bool
    changed: Array | None = None


def leave_one_out(
    machine: Any, X: Any, y: Any = None, sample_weight: Any = None, *, method: str = "span"
) -> LeaveOneOut:
    """Predict each training row by the machine that is fitted without it.

    Parameters
    ----------
    machine : kernel machine
        A fitted machine with the regularizer "rkhs" (any, for refits).
    X, y, sample_weight : array
        What it was fitted on; other rows are refused. A `OneClassMachine` has no y: rows outside its region are wrong.
    method : {"span", "path", "refit"}
        "span": one Newton step for each row, y_i - f^-i(x_i) ≈ r_i + B_i S_i², where S_i is the distance of the row
        from the span of the other free samples in the feature space. An estimate for the time of one factorisation;
        exact for the squared loss. "path": follows the solution as the coefficient of the row goes to zero: exact for
        losses of lines and parabolas, also of machines that find a margin. "refit": fits a machine for each row with a
        coefficient.

    Returns
    -------
    LeaveOneOut
        Predictions and their error.

    Notes
    -----
    What was chosen with a look at all rows stays: the kernel and its width, a metric, the weights of classes. The error
    is therefore a little too small if they were chosen by it. Equal rows are left out one by one, unlike in
    `KernelRidge.leave_one_out_error_`, where they are left out together.

    The span needs F² numbers and O(F³ + F² · n_support) operations for F free samples, those that are not at a bound.
    It over-counts errors where few rows have large coefficients, since leaving one out then frees others: the path
    knows. [VapnikChapelle2000]_; [Smola1998]_, eq. (7.6): the mean of the leave-one-out error over samples is the risk
    of a machine that is fitted on one row less.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> from mercer.capacity import leave_one_out
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> machine = SupportVectorClassifier().fit(X, y)
    >>> estimate = leave_one_out(machine, X, y)
    >>> exact = leave_one_out(machine, X, y, method="path")
    >>> bool(abs(estimate.error - exact.error) <= 0.02), exact.exact
    (True, True)
    """
    owner = "leave_one_out"
    check_choice(method, ("span", "path", "refit"), "method", owner)
    parts = fitted_programs(machine, X, y, sample_weight, owner)
    changed: Array | None = None
    if method == "refit":
        predictions, exact = _refitted(machine, X, y, sample_weight, parts), True
    else:
        _refuse_other_programs(machine, parts, method)
        exact = all(_is_linear(part.program) for part in parts)
        n_columns = len(machine.parametric_coef_)
        found = [_one_program(part, "span" if exact else method, n_columns) for part in parts]
        columns = [values for values, _, _ in found]
        predictions = _with_unused_rows(machine, X, parts[0], np.column_stack(columns))
        missing = np.unique(np.concatenate([rows for _, _, rows in found]))
        if method == "path":
            exact = True
            changed = np.zeros(len(predictions), dtype=bool)
            changed[parts[0].rows] = np.any([moved for _, moved, _ in found], axis=0)
        if len(missing):  # rounding ended their paths
            rows = parts[0].rows[missing]
            predictions[rows] = _refits(machine, X, y, sample_weight, rows)
    return _result(machine, y, sample_weight, predictions, exact, changed)


def _one_program(part: FittedProgram, method: str, n_columns: int) -> tuple[Array, Array, Array]:
    """Values without each row, whether its removal moved others, and rows for which the path was lost.

    A column beyond those of the machine is that of a margin ρ, with the coefficient -ρ; values are divided by it.
    """
    signed = Signed.of(part)
    if method == "span":
        nothing = np.zeros(len(signed.A), dtype=bool)
        return signed.values(span_residuals(signed)), nothing, np.flatnonzero(nothing)
    residuals, coefficients, moved, lost = SolutionPath(signed).without_each()
    values = signed.values(residuals)
    if part.program.columns.shape[1] > n_columns:
        rho = -coefficients[:, -1]
        values = (values + rho * part.program.sign) / np.where(rho > 0, rho, 1.0)
    return values, moved, lost


def _is_linear(program: KernelProgram) -> bool:
    """Whether the solution is linear in the targets, so that the span is exact."""
    return bool(program.loss.quadratic and np.all(program.C_below == program.C_above) and not np.any(program.bounds))


def _refuse_other_programs(machine: Any, parts: list[FittedProgram], method: str) -> None:
    """Refuse programs whose dual variables are not coefficients, or that have variables of their own."""
    program, name = parts[0].program, type(machine).__name__
    if program.gram.is_zero or not _has_own_gram(machine):
        raise ValueError(
            f"regularizer of {name} must be 'rkhs' or 'mixed' for the method {method!r}, got "
            f"{machine.regularizer!r}: a row that is left out takes its kernel function with it; take method='refit'."
        )
    if program.budget is not None:
        raise ValueError(
            f"{name} must not find a width for the method {method!r}: it changes with each row that is left out; take "
            "method='refit'."
        )
    if method == "span" and np.any(program.target):
        raise ValueError(
            f"{name} must not find a margin for the method 'span': it changes with each row that is left out; take "
            "method='path'."
        )
    if method == "path" and np.any(program.bounds):
        raise ValueError(
            f"regularizer of {name} must be 'rkhs' for the method 'path', got {machine.regularizer!r}; take "
            "method='span' or 'refit'."
        )
    if method == "path" and not program.loss.piecewise_quadratic:
        raise ValueError(
            f"loss of {name} must consist of lines and parabolas for the method 'path', got {program.loss!r}; take "
            "method='span' or 'refit'."
        )


def _has_own_gram(machine: Any) -> bool:
    """Whether the dual variables are the coefficients of kernel functions."""
    return not isinstance(machine.regularizer, str) or machine.regularizer in ("rkhs", "mixed")


def _with_unused_rows(machine: Any, X: Any, part: FittedProgram, values: Array) -> Array:
    """Predictions for all rows: rows without a weight are left out already."""
    n = _n_rows(X)
    predictions = np.empty((n, values.shape[1]))
    predictions[part.rows] = values
    unused = np.setdiff1d(np.arange(n), part.rows)
    if len(unused):
        predictions[unused] = _decision(machine, _safe_indexing(X, unused)).reshape(len(unused), -1)
    return predictions


def _refitted(machine: Any, X: Any, y: Any, sample_weight: Any, parts: list[FittedProgram]) -> Array:
    """Predictions of refits; rows whose removal changes nothing are not removed."""
    twin = _exact_twin(machine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin.fit(X, y, sample_weight)
    B = twin.dual_point_.reshape(len(twin.dual_point_), -1)
    matters = np.any(np.abs(B) > _NOTHING * np.abs(B).max(initial=0.0), axis=1)
    program = parts[0].program
    if program.budget is not None or np.any(program.target) or program.gram.is_zero:
        matters[:] = True
    predictions = _decision(twin, X).reshape(_n_rows(X), -1).copy()
    rows = parts[0].rows[matters]
    if len(rows):
        predictions[rows] = _refits(machine, X, y, sample_weight, rows)
    return predictions


def _refits(machine: Any, X: Any, y: Any, sample_weight: Any, rows: Array) -> Array:
    """Predictions of each row by a machine that is fitted with no weight on it."""
    twin, weight = _exact_twin(machine), checked_weights(machine, sample_weight, _n_rows(X))
    predictions = []
    for row in rows:
        others = weight.copy()
        others[row] = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predictions.append(np.ravel(_decision(twin.fit(X, y, others), _safe_indexing(X, [row]))))
    return np.array(predictions)


def _exact_twin(machine: Any) -> Any:
    """A machine that is not fitted, with the kernel, metric, penalty and factors of this one, to the last digits."""
    twin = machine._twin()
    own = twin.get_params(deep=False)
    fixed: dict[str, Any] = {"tol": min(float(machine.tol), _TOL), "callback": None, "verbose": False}
    if "probability" in own:
        fixed["probability"] = False
    if "class_weight" in own:
        fixed["class_weight"] = dict(zip(machine.classes_.tolist(), machine.class_weight_.tolist(), strict=True))
    if "penalties" in own:
        fixed["penalties"] = machine.penalty_
    return twin.set_params(**fixed)


def _decision(machine: Any, X: Any) -> Array:
    """Decision values of a classifier, or predictions."""
    function = machine.decision_function if hasattr(machine, "decision_function") else machine.predict
    return np.asarray(function(X), dtype=np.float64)


def _result(
    machine: Any, y: Any, sample_weight: Any, predictions: Array, exact: bool, changed: Array | None
) -> LeaveOneOut:
    """Predictions in the shape of the machine's own, with their error."""
    weight = checked_weights(machine, sample_weight, len(predictions))
    wrong: Array | None = None
    if hasattr(machine, "classes_"):
        wrong = told_wrong(predictions, np.searchsorted(machine.classes_, np.asarray(y)))
        error = float(np.average(wrong, weights=weight))
    elif y is None:  # one class
        wrong = predictions[:, 0] < 0
        error = float(np.average(wrong, weights=weight))
    else:
        targets = np.asarray(y, dtype=np.float64).reshape(predictions.shape)
        error = float(np.sqrt(np.average(np.mean((targets - predictions) ** 2, axis=1), weights=weight)))
    shape = machine.dual_coef_.shape[1:]
    return LeaveOneOut(predictions.reshape(len(predictions), *shape), error, wrong, exact, changed)


def told_wrong(values: Array, codes: Array) -> Array:
    """Rows whose decision values name another class, or none: ties are errors."""
    return margins_of(values, codes) <= 0


def margins_of(values: Array, codes: Array) -> Array:
    """How far the value of the own class is above that of the best other one; y f(x) for two classes."""
    values = values.reshape(len(codes), -1)
    if values.shape[1] == 1:
        return np.where(codes == 1, values[:, 0], -values[:, 0])
    own = np.take_along_axis(values, codes[:, None], axis=1)[:, 0]
    others = values.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    return own - others.max(axis=1)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
