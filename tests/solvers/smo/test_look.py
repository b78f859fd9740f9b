"""Sweeps over all variables against the definitions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Expectile, Hinge, Huber, Laplace, Quantile, Squared, SquaredHinge
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers.smo.box import Box
from mercer.solvers.smo.look_numba import best_multiplier, best_multipliers, derivatives, values
from tests.contracts.all_problems import labels, rows, smooth_targets
from tests.solvers.smo import slow_box

pytestmark = pytest.mark.uncompiled  # also run without compilation

N = 257  # not a multiple of what a processor takes at once
LOSSES = [EpsilonInsensitive((0.1, 0.3)), Laplace(), Quantile(0.8), Huber(0.2), Expectile(0.3), Squared(epsilon=0.05),
          Hinge(), SquaredHinge()]  # fmt: skip
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def somewhere(loss):
    """A program with weights of each sample, its box, and variables at zero, at bounds and between them; g = KB - y."""
    X, rng = rows(N), np.random.default_rng(0)
    y = labels(X) if loss.classification else smooth_targets(X)
    C = rng.uniform(0.5, 3.0, size=N)
    problem = KernelProgram.build(RKHSNorm().penalty(Gaussian(0.8)(X), np.ones((N, 1))), y, loss, C)
    box = Box(problem)
    B = np.clip(rng.normal(scale=2.0, size=N), box.low, box.high)
    B[::5] = 0.0
    return problem, box, B, problem.gram @ B - y


@every_loss
def test_derivatives_are_those_of_the_dual_objective(loss):
    _, box, B, g = somewhere(loss)
    rising, falling = np.empty(N), np.empty(N)
    extremes = derivatives(B, g, box.rows, rising, falling)
    np.testing.assert_allclose(rising, slow_box.rising(box, B, g), rtol=1e-14)
    np.testing.assert_allclose(falling, slow_box.falling(box, B, g), rtol=1e-14)
    assert extremes[:2] == (rising[B >= 0].min(), falling[B > 0].max())
    assert extremes[2:] == (rising[B < 0].min(initial=np.inf), falling[B <= 0].max())


@every_loss
def test_values_are_those_of_the_program(loss):
    problem, box, B, g = somewhere(loss)
    for multiplier in (-1.7, 0.0, 0.4):
        expected = problem.primal(B, np.array([-multiplier]), g + problem.y), problem.dual(B, g + problem.y)
        found = values(B, g, problem.y, box.rows, np.array([3.0, -3.0]), np.full(2, multiplier))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_values_with_a_budget_are_those_of_the_program():
    problem, box, B, g = somewhere(Laplace())
    budget = 0.4 * float(problem.C_above.sum())
    totals = np.array([0.5, -0.5]) * budget
    ends = np.sort(g)[[0, -1]]
    multipliers = np.array(best_multipliers(g, box.rows, totals, np.full(2, ends[0]), np.full(2, ends[1])))
    d, width = np.array([-multipliers.mean()]), 0.5 * (multipliers[1] - multipliers[0])
    with_budget = replace(problem, budget=budget)
    np.testing.assert_allclose(with_budget.tube(B, d), width, atol=2e-3 * np.ptp(ends))
    # The program knows the best width for its offset, and nearly the same value.
    primal, dual = values(B, g, problem.y, box.rows, totals, multipliers)
    expected = with_budget.primal(B, d, g + problem.y), with_budget.dual(B, g + problem.y)
    np.testing.assert_allclose(dual, expected[1], rtol=1e-12)
    assert expected[0] <= primal <= expected[0] * (1 + 1e-5)
    for step in 0.01 * np.ptp(ends) * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert values(B, g, problem.y, box.rows, totals, multipliers + step)[0] > primal


@every_loss
def test_multiplier_makes_the_primal_value_least(loss):
    problem, box, B, g = somewhere(loss)
    lowest, highest = slow_box.rising(box, B, g).min(), slow_box.falling(box, B, g).max()

    def primal(multiplier):
        return problem.primal(B, np.array([-multiplier]), g + problem.y)

    found = best_multiplier(g, box.rows, 0.0, lowest, highest)
    best = minimize_scalar(primal, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-9})
    step = (highest - lowest) / 2**12
    assert lowest <= found <= highest
    # Convex, and not farther than the last interval from where it is least.
    assert primal(found) - best.fun <= max(primal(found + s) - primal(found) for s in (-step, step))
    assert abs(found - best.x) <= 2 * step or primal(found) == pytest.approx(best.fun, rel=1e-6)
