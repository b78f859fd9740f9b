"""Every program equals an independent convex solver, which is given the primal program and its definition only."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Gaussian, Multiquadric, ThinPlate
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PolynomialLoss,
    Quantile,
    Squared,
)
from mercer.regularizers import L1Coefficients, L2Coefficients, Mixed
from mercer.solvers import InteriorPoint
from tests.contracts.all_losses import name_of
from tests.contracts.all_problems import EVERY_LOSS, labels, make, positive_matrix, rows, smooth_targets
from tests.solvers import reference

N = 40
SOME_LOSSES = [EpsilonInsensitive(0.1), Squared(), Huber(0.2), PolynomialLoss(1.5), Expectile(0.8), Hinge(), Logistic()]
every_loss = pytest.mark.parametrize("loss", EVERY_LOSS, ids=name_of)
some_losses = pytest.mark.parametrize("loss", SOME_LOSSES, ids=name_of)


@pytest.fixture
def X():
    return rows(N)


def targets(loss, X):
    return labels(X) if loss.classification else smooth_targets(X)


def compare(program, loss, C, terms, price, *, fitted=True, budget=None):
    value, f = reference.minimum(loss, C, program.y, terms, price, budget=budget)
    result = InteriorPoint().solve(program, tol=1e-9)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.primal, value, rtol=1e-6, atol=1e-7)
    if fitted:
        scale = np.abs(f).max()
        np.testing.assert_allclose(program.fitted(result.B, result.d), f, atol=2e-4 * scale)


@every_loss
def test_every_loss(loss, X):
    K, Phi = Gaussian(0.8)(X), np.ones((N, 1))
    compare(make(loss, 2.0), loss, 2.0, *reference.rkhs(K, Phi))


@pytest.mark.parametrize("loss", SOME_LOSSES[:-1], ids=name_of)
def test_weights_of_samples_and_sides(loss, X):
    K, Phi = Gaussian(0.8)(X), np.ones((N, 1))
    C = (np.linspace(0.1, 5.0, N), np.linspace(4.0, 0.5, N))
    if isinstance(loss, Logistic):  # another weight on either side would tear it apart at r = 0
        with pytest.raises(ValueError, match="C must be the same below and above for Logistic"):
            make(loss, C)
        return
    compare(make(loss, C), loss, C, *reference.rkhs(K, Phi))


@some_losses
def test_semiparametric(loss, X):
    Phi = np.column_stack([np.ones(N), np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    compare(make(loss, 2.0, columns=Phi), loss, 2.0, *reference.rkhs(Gaussian(0.8)(X), Phi))


@some_losses
def test_no_parametric_part(loss, X):
    Phi = np.empty((N, 0))
    compare(make(loss, 2.0, columns=Phi), loss, 2.0, *reference.rkhs(Gaussian(0.8)(X), Phi))


@some_losses
def test_mixed(loss, X):
    Phi = np.column_stack([np.ones(N), np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    weight = np.array([0.0, 0.5, 3.0])
    program = make(loss, 2.0, columns=Phi, regularizer=Mixed(list(weight)))
    compare(program, loss, 2.0, *reference.rkhs(Gaussian(0.8)(X), Phi, weight=weight))


@some_losses
def test_linear_programming_machine(loss, X):
    K, Phi = Gaussian(0.8)(X), np.ones((N, 1))
    program = make(loss, 2.0, regularizer=L1Coefficients())
    # Piecewise linear losses and prices: the minimum is unique, where it is taken need not be.
    compare(program, loss, 2.0, *reference.l1(K, Phi), fitted=not loss.piecewise_linear)


@some_losses
def test_weight_decay_with_a_matrix(loss, X):
    K, Phi, M = Gaussian(0.8)(X), np.ones((N, 1)), positive_matrix(N)
    compare(make(loss, 2.0, regularizer=L2Coefficients(M)), loss, 2.0, *reference.l2(K, Phi, M))


@some_losses
@pytest.mark.parametrize("kernel", [Multiquadric(0.5), ThinPlate()], ids=repr)
def test_conditionally_positive_kernels(kernel, loss, X):
    Phi = kernel.polynomial_part(X)
    compare(make(loss, 2.0, kernel=kernel), loss, 2.0, *reference.rkhs(kernel(X), Phi, order_columns=Phi))


@some_losses
def test_conditionally_positive_kernel_with_further_columns(loss, X):
    kernel = ThinPlate()
    polynomials = kernel.polynomial_part(X)
    Phi = np.column_stack([polynomials, np.sin(3 * X[:, 0])])
    program = make(loss, 2.0, kernel=kernel, columns=Phi)
    compare(program, loss, 2.0, *reference.rkhs(kernel(X), Phi, order_columns=Phi))


@some_losses
@pytest.mark.parametrize("kernel", [Multiquadric(0.5), ThinPlate()], ids=repr)
def test_conditionally_positive_kernel_with_priced_columns(kernel, loss, X):
    """The kernel's polynomials are free, and further columns have a price."""
    polynomials = kernel.polynomial_part(X)
    Phi = np.column_stack([polynomials, np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    weight = np.array([*np.zeros(polynomials.shape[1]), 0.5, 3.0])
    program = make(loss, 2.0, kernel=kernel, columns=Phi, regularizer=Mixed(list(weight)))
    terms = reference.rkhs(kernel(X), Phi, weight=weight, order_columns=polynomials)
    compare(program, loss, 2.0, *terms)


@every_loss
def test_target(loss, X):
    """columnsᵀB = target, where d costs targetᵀd; feasible, since it is that of a B inside the box."""
    K, Phi = Gaussian(0.8)(X), np.column_stack([np.ones(N), X[:, 0]])
    program = make(loss, 2.0, columns=Phi)
    low, high = program.box()
    B = program.sign * np.clip(np.linspace(-0.5, 1.0, N), low, high)
    (h, parametric), price = reference.rkhs(K, Phi)
    compare(replace(program, target=Phi.T @ B), loss, 2.0, [h, parametric], price + B @ parametric)


@some_losses
def test_target_of_priced_columns(loss, X):
    K, Phi, weight = Gaussian(0.8)(X), np.column_stack([np.ones(N), X[:, 0]]), np.array([0.0, 0.5])
    program = make(loss, 2.0, columns=Phi, regularizer=Mixed(list(weight)))
    low, high = program.box()
    B = program.sign * np.clip(np.linspace(-0.5, 1.0, N), low, high)
    (h, parametric), price = reference.rkhs(K, Phi, weight=weight)
    compare(replace(program, target=Phi.T @ B), loss, 2.0, [h, parametric], price + B @ parametric)


@every_loss
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Multiquadric(0.5), ThinPlate()], ids=repr)
def test_block_of_a_solution_solves_its_own_program(kernel, loss, X):
    """With the other variables fixed, their part of the function is taken off y and their columnsᵀB is the target."""
    columns = np.column_stack([np.ones(N), X, np.sin(3 * X[:, 0])])
    program = make(loss, 2.0, kernel=kernel, columns=columns)
    whole = InteriorPoint().solve(program, tol=1e-9)
    block, rest = np.arange(0, N, 2), np.arange(1, N, 2)
    of_block = replace(
        program,
        gram=program.gram.block(block, block),
        columns=columns[block],
        y=program.y[block] - program.gram.block(block, rest) @ whole.B[rest],
        sign=program.sign[block],
        loss=loss.restricted_to(block),
        C_below=program.C_below[block],
        C_above=program.C_above[block],
        target=-columns[rest].T @ whole.B[rest],
    )
    result = InteriorPoint().solve(of_block, tol=1e-9)
    assert result.status == "optimal"
    assert of_block.certificate(result).holds(1e-9)
    B = whole.B.copy()
    B[block] = result.B
    np.testing.assert_allclose(program.dual(B), whole.dual, rtol=0, atol=1e-8 * (abs(whole.dual) + 1))
    assert program.column_violation(B) <= 1e-9


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_budget(share, X):
    K, Phi, budget = Gaussian(0.8)(X), np.ones((N, 1)), share * 2.0 * N
    compare(make(Laplace(), 2.0, budget=budget), Laplace(), 2.0, *reference.rkhs(K, Phi), budget=budget)


def test_budget_with_l1(X):
    K, Phi, budget = Gaussian(0.8)(X), np.ones((N, 1)), 24.0
    program = make(Laplace(), 2.0, budget=budget, regularizer=L1Coefficients())
    compare(program, Laplace(), 2.0, *reference.l1(K, Phi), budget=budget, fitted=False)


def test_linear_program_solver_equals_cvxpy(X):
    from mercer.solvers import LinearProgram

    K, Phi = Gaussian(0.8)(X), np.ones((N, 1))
    for loss in (EpsilonInsensitive(0.1), Quantile(0.8, epsilon=0.05), Hinge()):
        program = make(loss, 2.0, regularizer=L1Coefficients())
        value, _ = reference.minimum(loss, 2.0, program.y, *reference.l1(K, Phi))
        np.testing.assert_allclose(LinearProgram().solve(program).primal, value, rtol=1e-7)
