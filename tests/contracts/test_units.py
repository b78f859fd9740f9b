"""Units: y, the lengths of the loss and C in other units give the same function in these units, in as many steps."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Huber,
    Laplace,
    PiecewisePolynomial,
    PolynomialLoss,
    Quantile,
    Squared,
)
from mercer.problems import KernelProgram
from mercer.regularizers import L1Coefficients, L2Coefficients, RKHSNorm
from mercer.solvers import SOLVERS
from tests.contracts.all_problems import rows, smooth_targets

UNITS = [1e-8, 1e-5, 1e-3, 1e3, 1e8]
N = 60

# A loss in the unit u, and the power p with which it grows there: c_u(u r) = u^p c(r).
LOSSES = {
    "epsilon": (lambda u: EpsilonInsensitive(0.1 * u), 1.0),
    "each epsilon": (lambda u: EpsilonInsensitive((0.1 * u, u * np.linspace(0.0, 0.4, N))), 1.0),
    "laplace": (lambda u: Laplace(), 1.0),
    "quantile": (lambda u: Quantile(0.8, epsilon=0.05 * u), 1.0),
    "huber": (lambda u: Huber(0.2 * u), 1.0),
    "piecewise": (lambda u: PiecewisePolynomial(1.5, 0.3 * u), 1.0),
    "squared": (lambda u: Squared(), 2.0),
    "squared tube": (lambda u: Squared(epsilon=0.1 * u), 2.0),
    "expectile": (lambda u: Expectile(0.8), 2.0),
    "power 1.5": (lambda u: PolynomialLoss(1.5), 1.5),
    "power 3": (lambda u: PolynomialLoss(3.0, epsilon=0.1 * u), 3.0),
}


def in_units(name, regularizer, unit, budget=None):
    """The program of a loss in other units: its values are those in the unit 1 times unit^2, or unit for l1."""
    make, power = LOSSES[name]
    X = rows(N)
    y = unit * (smooth_targets(X) + 1.0)
    of_penalty = 1.0 if isinstance(regularizer, L1Coefficients) else 2.0
    penalty = regularizer.penalty(Gaussian(0.8)(X), np.ones((N, 1)))
    C = 2.0 * unit ** (of_penalty - power)
    budget = None if budget is None else budget * C * N
    return KernelProgram.build(penalty, y, make(unit), C, budget=budget), unit**of_penalty


def assert_same(name, solver, regularizer, tol, budget=None):
    reference, _ = in_units(name, regularizer, 1.0, budget)
    if solver.refusal(reference) is not None:
        pytest.skip(f"{solver.name} does not take it")
    expected = solver.solve(reference, tol=tol)
    assert expected.status == "optimal"
    f = reference.fitted(expected.B, expected.d)
    apart = 2 * np.sqrt(2 * tol * expected.primal)  # the norm of the difference of two solutions is no larger
    for unit in UNITS:
        program, value = in_units(name, regularizer, unit, budget)
        result = solver.solve(program, tol=tol)
        assert result.status == "optimal", unit
        assert result.n_iter == expected.n_iter, unit
        np.testing.assert_allclose(result.primal / value, expected.primal, rtol=1e-6)
        np.testing.assert_allclose(program.fitted(result.B, result.d) / unit, f, atol=apart)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=lambda solver: solver.name)
@pytest.mark.parametrize("name", LOSSES)
def test_norm_of_the_feature_space(name, solver):
    assert_same(name, solver, RKHSNorm(), 1e-6)


@pytest.mark.parametrize("regularizer", [L1Coefficients(), L2Coefficients()], ids=repr)
@pytest.mark.parametrize("name", LOSSES)
def test_norms_of_coefficients(name, regularizer):
    for solver in (SOLVERS["interior_point"], SOLVERS["linear_program"]):
        program, _ = in_units(name, regularizer, 1.0)
        if solver.refusal(program) is None:
            assert_same(name, solver, regularizer, 1e-6)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=lambda solver: solver.name)
def test_budget(solver):
    assert_same("laplace", solver, RKHSNorm(), 1e-6, budget=0.3)
