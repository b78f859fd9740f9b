"""Weights that differ by orders of magnitude."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Laplace, Logistic
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers import SMO, InteriorPoint
from mercer.solvers.interior_point.implied_bounds import with_balanced_bounds
from mercer.solvers.interior_point.variables import Sides
from tests.contracts.all_problems import labels, rows, smooth_targets

N = 40
X = rows(N)


def program(loss, C, columns=None):
    penalty = RKHSNorm().penalty(Gaussian(0.8)(X), np.ones((N, 1)) if columns is None else columns)
    return KernelProgram.build(penalty, labels(X) if loss.classification else smooth_targets(X), loss, C)


@pytest.mark.parametrize("ratio", [1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=repr)
def test_classes_of_very_different_weight(loss, ratio):
    problem = program(loss, np.where(labels(X) > 0, ratio, 1.0) / min(ratio, 1.0))
    result = InteriorPoint().solve(problem, tol=1e-10)
    assert result.status == "optimal"
    assert problem.certificate(result).holds(1e-10)
    if loss.piecewise_quadratic:
        other = SMO().solve(problem, tol=1e-8)
        np.testing.assert_allclose(result.primal, other.primal, rtol=1e-7)


@pytest.mark.parametrize("light", [1e-4, 1.0])
@pytest.mark.parametrize("ratio", [1e4, 1e7])
@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=repr)
def test_a_heavy_class_among_the_rest(loss, ratio, light):
    """One class against a heavy one and another light one."""
    heavy = (labels(X) < 0) & (np.arange(N) % 2 == 0)
    problem = program(loss, light * np.where(heavy, ratio, 1.0))
    result = InteriorPoint().solve(problem, tol=1e-10)
    assert result.status == "optimal"
    assert problem.certificate(result).holds(1e-10)


@pytest.mark.parametrize("loss", [Laplace(), EpsilonInsensitive(0.1), Huber(0.2)], ids=repr)
def test_sides_of_very_different_weight(loss):
    problem = program(loss, (1e-6, 1e3))
    result = InteriorPoint().solve(problem, tol=1e-10)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.primal, SMO().solve(problem, tol=1e-8).primal, rtol=1e-6)


def test_bounds_are_twice_what_the_other_sign_can_balance():
    problem = program(Hinge(), np.where(labels(X) > 0, 1e-3, 5.0))
    sides = with_balanced_bounds(problem, Sides(problem))
    n_up = int(np.sum(labels(X) > 0))
    np.testing.assert_allclose(sides.upper[0, labels(X) < 0], 2e-3 * n_up)
    np.testing.assert_allclose(sides.upper[0, labels(X) > 0], 1e-3)


def test_bounds_stay_without_a_constant():
    problem = program(Hinge(), np.where(labels(X) > 0, 1e-3, 5.0), columns=X[:, :1])
    sides = Sides(problem)
    assert with_balanced_bounds(problem, sides) is sides
    even = program(Hinge(), 1.0)
    sides = Sides(even)
    assert with_balanced_bounds(even, sides) is sides
