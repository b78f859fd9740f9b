"""What a fit is made of, from the validated training set to the expansions that solve its programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.losses import Loss
from mercer.machines.matrix import TrainingMatrix
from mercer.problems import Certificate, KernelProgram
from mercer.regularizers import Penalty, Regularizer
from mercer.solvers import SolverResult


@dataclass(frozen=True)
class Training:
    """A validated training set.

    Attributes
    ----------
    X : object
        The rows that have a weight.
    used : array
        Their positions in the training set.
    targets : list of array
        The targets of each program.
    loss : Loss
        That of the rows in use.
    C : tuple of array
        Weights of negative and of positive residuals of each row.
    single : bool
        Whether fitted attributes have no axis for the programs.
    budget_share : float, optional
        The ν of programs with a budget.
    """

    X: Any
    used: Array
    targets: list[Array]
    loss: Loss
    C: tuple[Array, Array]
    single: bool
    budget_share: float | None = None


@dataclass
class Task:
    """The programs of a fit, and what they are made of."""

    matrix: TrainingMatrix
    regularizer: Regularizer
    penalty: Penalty
    programs: list[KernelProgram]

    def certificate(
        self, program: KernelProgram, coef: Array, parametric: Array, B: Array, values: Array | None = None
    ) -> Certificate:
        """The certificate of the function with these coefficients, with B as a point of the dual program.

        `values` are those of its kernel part at the rows, if they are known.
        """
        if program.gram.is_zero:  # the kernel functions are columns with a price
            nothing = np.zeros(len(B))
            return program.certificate_of(nothing, 0.0, B, np.concatenate([coef, parametric]), nothing)
        K = self.matrix.operator
        h = K @ coef if values is None else values
        if self.penalty.rewrites:
            price = self.regularizer.value(K, coef, np.zeros(len(parametric)))
            return program.certificate_of(h, price, B, parametric)
        # The dual variables are coefficients.
        same = np.array_equal(coef, B) and program.exact_gram is None
        return program.certificate_of(h, 0.5 * float(coef @ h), B, parametric, h if same else None)


@dataclass
class Expansion:
    """A fitted function Σ_i coef_i k(x_i, .) + Σ_j parametric_j φ_j, a point of the dual, and how they were found."""

    coef: Array
    parametric: Array
    point: Array
    result: SolverResult
    program: KernelProgram

    @property
    def risk(self) -> float:
        """Mean loss over the training rows."""
        result, program = self.result, self.program
        if result.certificate is not None:
            return result.certificate.risk
        return program.risk(program.times_gram(result.B), result.d)  # after Ctrl-C
