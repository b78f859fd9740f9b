"""Sums of the variables above and below zero: what a program asks for, starts that have them, steps that keep them."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Laplace
from mercer.solvers import SMO, InteriorPoint, SolverResult
from mercer.solvers.smo.active_set import solve_by_active_set
from mercer.solvers.smo.block_numba import descend
from mercer.solvers.smo.box import Box
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.sums import Sums, cut_step
from tests.contracts.all_problems import make, rows, with_margin

pytestmark = pytest.mark.uncompiled  # also run without compilation

N = 40
WEIGHTS = np.linspace(0.1, 5.0, N)


def sums(B):
    return np.array([np.maximum(B, 0.0).sum(), np.minimum(B, 0.0).sum()])


def test_what_a_program_asks_for():
    for problem, n, totals in (
        (make(Laplace(), columns=np.empty((N, 0))), 0, [0.0, 0.0]),
        (make(Laplace()), 1, [0.0, 0.0]),
        (make(Laplace(), budget=6.0), 2, [3.0, -3.0]),
        (with_margin(0.3), 2, [6.0, -6.0]),
        (with_margin(0.3, one_class=True), 1, [12.0, 0.0]),
        (replace(make(Laplace()), target=np.array([-2.0]), columns=np.full((N, 1), 4.0)), 1, [0.0, -0.5]),
    ):
        assert Sums(problem).n == n
        np.testing.assert_allclose(Sums(problem).totals, totals, atol=1e-12)
        assert Sums(problem).at_most == (problem.budget is not None)


@pytest.mark.parametrize("problem", [with_margin(0.3, C=WEIGHTS), with_margin(0.7, C=WEIGHTS, one_class=True)])
@pytest.mark.parametrize("size", [0.0, 0.2, 3.0])
def test_starts_are_feasible(problem, size):
    box, of = Box(problem), Sums(problem)
    given = size * np.random.default_rng(0).normal(size=N)
    for B in (of.start(box, of.totals), of.near(given, box, of.totals)):
        assert np.all((box.low <= B) & (box.high >= B))
        np.testing.assert_allclose(sums(B), of.totals, rtol=1e-12)


@pytest.mark.parametrize("size", [0.0, 0.1, 3.0])
def test_starts_within_a_budget(size):
    problem = make(Laplace(), WEIGHTS, budget=9.0)
    box, of = Box(problem), Sums(problem)
    B = of.near(size * np.random.default_rng(0).normal(size=N), box, of.totals)
    assert np.all((box.low <= B) & (box.high >= B))
    assert abs(B.sum()) < 1e-12
    assert np.abs(B).sum() <= 9.0 * (1 + 1e-12)
    assert not of.start(box, of.totals).any()


def test_cut_step_ends_where_the_budget_does():
    start, end = np.array([1.0, -1.0, 0.0]), np.array([-1.0, 0.0, 5.0])
    length = cut_step(start, end, 2.5)
    np.testing.assert_allclose(np.abs(start + length * (end - start)).sum(), 2.5, rtol=1e-12)
    assert cut_step(start, end, 1.9) == 0.0


def test_steps_keep_both_sums():
    problem = make(Laplace(), 3.0)
    box, rng = Box(problem), np.random.default_rng(1)
    B = np.clip(rng.normal(size=N), -3.0, 3.0)
    B[::4] = 0.0
    before, g = sums(B), problem.gram @ B - problem.y
    values = []
    for _ in range(40):
        descend(problem.gram.formed, 0, g, B, box.rows, 2, 0.0, 5)
        np.testing.assert_allclose(sums(B), before, rtol=1e-12)
        np.testing.assert_allclose(g, problem.gram @ B - problem.y, atol=1e-12)
        values.append(0.5 * B @ problem.gram.formed @ B - problem.y @ B)
    assert np.all(np.diff(values) <= 1e-12)


@pytest.mark.parametrize("precision", [1e-7, 2e-16])
def test_pairs_and_guesses_find_the_minimum_with_both_sums(precision):
    problem = make(Laplace(), 3.0, budget=24.0)
    exact = InteriorPoint().solve(problem, tol=1e-10)
    box, B = Box(problem), Sums(problem).near(1e3 * exact.B, Box(problem), Sums(problem).totals)
    g = problem.gram @ B - problem.y
    descend(problem.gram.formed, 0, g, B, box.rows, 2, 1e-2, 100_000)
    assert solve_by_active_set(problem.gram.formed, g, B, box.rows, n_sums=2, slack=1e-6, system=FreeSystem(precision))
    np.testing.assert_allclose(sums(B), [12.0, -12.0], rtol=1e-9)
    np.testing.assert_allclose(problem.dual(B), exact.dual, rtol=1e-5)


@pytest.mark.parametrize("block", [2, 5, 12])
@pytest.mark.parametrize("nu", [0.03, 0.4, 1.0])
def test_small_blocks(block, nu):
    problem = make(Laplace(), WEIGHTS, budget=nu * WEIGHTS.sum())
    result = SMO(block=block).solve(problem, tol=1e-5)
    assert result.status == "optimal"
    assert problem.certificate(result).holds(1e-5)


def test_blocks_keep_the_sums():
    X = rows(400)
    for problem in (make(Laplace(), 1.0, X=X, budget=80.0), make(EpsilonInsensitive(0.1), 1.0, X=X)):
        result = SMO(block=50).solve(problem, tol=1e-6)
        assert problem.certificate(result).holds(1e-6)


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.99])
def test_warm_starts_from_another_program(nu):
    problem = make(Laplace(), 2.0, budget=nu * 80.0, kernel=Gaussian(0.5))
    other = InteriorPoint().solve(make(Laplace(), 5.0), tol=1e-3)
    for start in (other, SolverResult("optimal", 100.0 * other.B, other.d, 0.0, 0.0, 0)):
        result = SMO().solve(problem, start=start, tol=1e-7)
        assert result.status == "optimal"
        assert problem.certificate(result).holds(1e-7)
