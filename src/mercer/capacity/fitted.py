"""What bounds and estimates need of a fitted machine: its programs, and which samples are free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.losses import Loss
from mercer.machines.base import KernelMachine
from mercer.machines.certified import FittedProgram
from mercer.problems import KernelProgram

# The relative gap of the rows that are given may be so many times that of the fit, or the tolerance.
_SLACK = 100.0
# The diagonal of the matrix of free samples is raised by this share of its mean: it may be singular.
_RAISED = 1e-10
# Rows on which the size of a kernel without a diagonal is looked at.
_N_LOOKED_AT = 64

# Where a dual variable is: at its bounds, below zero, at zero, above zero.
AT_LOW, BELOW, ZERO, ABOVE, AT_HIGH = -2, -1, 0, 1, 2


def fitted_programs(machine: Any, X: Any, y: Any, sample_weight: Any, owner: str) -> list[FittedProgram]:
    """The programs of a machine with their stored solutions; refuses other rows than those of the fit."""
    if not isinstance(machine, KernelMachine):
        raise TypeError(
            f"machine of {owner} must be a kernel machine of mercer.machines, got {type(machine).__name__}; estimators "
            "that hold several of them have one for each part."
        )
    check_is_fitted(machine, "dual_coef_")
    parts = machine.programs(X, y, sample_weight)
    _check_classes(machine, y, owner)
    gaps = np.atleast_1d(np.asarray(machine.gap_, dtype=np.float64))
    for part, gap in zip(parts, gaps, strict=True):
        allowed = _SLACK * max(abs(gap), float(machine.tol), 1e-6)
        if not abs(part.certificate.relative_gap) <= allowed:
            raise ValueError(
                f"X and y of {owner} must be the rows that {type(machine).__name__} was fitted on: on these its "
                f"relative gap is {part.certificate.relative_gap:.1e}, and it was {gap:.1e}; give what fit was given, "
                "and a machine that was not reduced."
            )
    return parts


def _check_classes(machine: Any, y: Any, owner: str) -> None:
    """Refuse classes with other names, which have the same programs but are none that the machine predicts."""
    if not hasattr(machine, "classes_"):
        return
    others = set(np.unique(y).tolist()) - set(machine.classes_.tolist())
    if others:
        raise ValueError(
            f"y of {owner} must hold the classes that {type(machine).__name__} was fitted on, "
            f"{machine.classes_.tolist()}, got {min(others)!r}; give what fit was given."
        )


@dataclass
class Signed:
    """A program and its solution in the variables A = sign B, for which residuals are r = sign (y - f).

    min over A of 1/2 Aᵀ S K S A - rᵀA + Σ_i C_i c*(A_i / C_i) subject to ΦᵀSA = target, S = diag(sign).

    Attributes
    ----------
    program : KernelProgram
        With gram K.
    columns : array of shape (n, n_columns)
        S Φ of the columns that enter: unpenalised ones, and those with a price whose coefficient is not zero.
    A, r : array of shape (n,)
        Variables and residuals.
    d : array of shape (n_columns,)
        Coefficients of the columns.
    state : array of int
        Where each variable is.
    curve : array
        Curvature c*''(A / C) / C of each variable where it is; of no meaning at bounds.
    """

    program: KernelProgram
    columns: Array
    A: Array
    r: Array
    d: Array
    state: Array
    curve: Array

    @classmethod
    def of(cls, part: FittedProgram) -> Signed:
        """The signed form of a fitted program."""
        program = part.program
        A = program.sign * part.B
        r = program.residuals(part.gram_B, part.d)
        active = (program.bounds == 0) | (np.abs(part.d) > 1e-9 * np.abs(part.d).max(initial=0.0))
        columns = program.sign[:, None] * program.columns[:, active]
        state = _states(program, A, r)
        return cls(program, columns, A, r, part.d[active], state, _curves(program, A, state))

    @property
    def free(self) -> Array:
        """Positions of the variables that are neither at zero nor at a bound."""
        return np.flatnonzero(np.abs(self.state) == ABOVE)

    @property
    def bounded(self) -> Array:
        """Positions of the variables at a bound other than zero."""
        return np.flatnonzero(np.abs(self.state) == AT_HIGH)

    def block(self, rows: Array, columns: Array) -> Array:
        """A part of S K S."""
        signs = self.program.sign
        return (signs[rows, None] * self.program.gram.block(rows, columns)) * signs[columns]

    def diagonal(self, rows: Array) -> Array:
        """Entries k(x, x) of some rows."""
        return self.program.diagonal[rows]

    @cached_property
    def size(self) -> float:
        """The size of kernel values."""
        return size_of(self.program)

    @property
    def raised(self) -> float:
        """What is added to the diagonal of a matrix of kernel values that may be singular."""
        return _RAISED * self.size

    def values(self, r: Array) -> Array:
        """Values f of the function at the rows for residuals r."""
        return np.asarray(self.program.y - self.program.sign * r)


def size_of(program: KernelProgram) -> float:
    """The size of kernel values: that of the diagonal, but for conditionally positive kernels, where it may vanish."""
    if not program.conditional:
        return float(np.mean(program.diagonal))
    some = np.unique(np.linspace(0, len(program.y) - 1, _N_LOOKED_AT).astype(np.intp))
    return float(np.mean(np.abs(program.gram.block(some, some))))


def pieces(program: KernelProgram) -> tuple[Array, Array, Array, Array]:
    """Widths of the flat zone and curvatures, each below and above zero, of losses of lines and parabolas.

    For A < 0 the residual is -below + curve_below · A, for A > 0 it is above + curve_above · A. The flat zone is
    unbounded on a side that costs nothing.
    """
    n, loss = len(program.y), program.loss
    low, high = loss.dual_interval
    below, above = (np.broadcast_to(np.asarray(w, dtype=np.float64), n) for w in loss.insensitivity)
    sides = [
        _curvature(loss, np.broadcast_to(np.abs(end), n), is_above) / C
        for end, is_above, C in ((low, False, program.C_below), (high, True, program.C_above))
    ]
    below = np.where(np.broadcast_to(low, n) == 0, np.inf, below)
    above = np.where(np.broadcast_to(high, n) == 0, np.inf, above)
    return below, above, sides[0], sides[1]


def _curvature(loss: Loss, end: Array, above: bool) -> Array:
    """The curvature of the conjugate on one side, zero where the side costs nothing."""
    inside = np.where(np.isfinite(end), 0.5 * end, 1.0)
    return np.nan_to_num(np.where(end > 0, loss.conjugate_curvature(inside, above), 0.0))


def _states(program: KernelProgram, A: Array, r: Array) -> Array:
    """Where each variable of the exact solution is, as an approximate one tells.

    A and r of a solution satisfy r ∈ c*'(A). The pair that does so and has the same r + s A, with s about the curvature
    of the objective, has the state that is looked for: an error in one of them alone does not matter much.
    """
    if not program.loss.piecewise_quadratic:
        low, high = program.box()
        inside = (low < A) & (high > A) & (A != 0)
        return np.where(inside, np.where(A > 0, ABOVE, BELOW), np.where(A == 0, ZERO, np.where(A > 0, AT_HIGH, AT_LOW)))
    below, above, curve_below, curve_above = pieces(program)
    low, high = program.box()
    scale = size_of(program) or 1.0
    v = r + scale * A
    rising, falling = (v - above) / (scale + curve_above), (v + below) / (scale + curve_below)
    upper = np.where(rising < high, ABOVE, AT_HIGH)
    lower = np.where(falling > low, BELOW, AT_LOW)
    return np.where(v > above, upper, np.where(v < -below, lower, ZERO))


def _curves(program: KernelProgram, A: Array, state: Array) -> Array:
    """Curvatures where the variables are."""
    if program.loss.piecewise_quadratic:
        _, _, curve_below, curve_above = pieces(program)
        return np.where(state > 0, curve_above, curve_below)
    above = A > 0
    C = np.where(above, program.C_above, program.C_below)
    s = np.abs(A) / C
    loss = program.loss
    return np.where(above, loss.conjugate_curvature(s, True), loss.conjugate_curvature(s, False)) / C
