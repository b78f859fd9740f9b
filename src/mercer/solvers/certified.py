"""The status that a result deserves: that of its certificate, which trusts nothing the solver says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mercer.problems import Certificate, Iterate, KernelProgram
from mercer.running import Status
from mercer.solvers.balance import balanced

if TYPE_CHECKING:
    from mercer.solvers.result import SolverResult


def certified(problem: KernelProgram, result: SolverResult, tol: float) -> SolverResult:
    """The result with the values of its certificate, "optimal" if and only if that holds.

    Where it does not, although the solver has converged, the columns are fitted to B as it is: rounding of B that the
    constraints of the columns should have made harmless may be multiplied by a large matrix.
    """
    certificate = problem.certificate(result)
    if result.status in (Status.OPTIMAL, Status.STALLED) and not certificate.holds(tol):
        mended = _with_fitted_columns(problem, result)
        of_mended = problem.certificate(mended)
        if abs(of_mended.relative_gap) < abs(certificate.relative_gap):
            result, certificate = mended, of_mended
    return with_certificate(result, certificate, tol)


def with_certificate(result: SolverResult, certificate: Certificate, tol: float) -> SolverResult:
    """The result with the values and the status that a certificate gives it; an interruption stays one."""
    status = result.status
    if certificate.holds(tol):
        status = Status.OPTIMAL if status != Status.INTERRUPTED else status
    elif status == Status.OPTIMAL:
        status = Status.STALLED
    values = Iterate(certificate.primal, certificate.dual, certificate.floor)
    history = [*result.history[:-1], values]
    return replace(
        result,
        status=status,
        primal=values.primal,
        dual=values.dual,
        history=history,
        certificate=certificate,
    )


def _with_fitted_columns(problem: KernelProgram, result: SolverResult) -> SolverResult:
    """B balanced, and the d for which free variables have the residuals that their slopes ask for, r = c*'(A / C)."""
    B, d = balanced(problem, result.B), result.d.copy()
    low, high = problem.box()
    A, unpriced = problem.sign * B, problem.bounds == 0
    free = (low < A) & (high > A) & (A != 0)
    if not free.any() or not unpriced.any() or problem.budget is not None:
        return replace(result, B=B)
    missing = problem.residuals(problem.times_gram(B), d) - problem.residuals_at(A)
    Phi = problem.columns[np.ix_(free, unpriced)]
    d[unpriced] += np.linalg.lstsq(Phi, (problem.sign * missing)[free], rcond=None)[0]
    return replace(result, B=B, d=d)
