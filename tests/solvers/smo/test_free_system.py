"""Newton steps by one factor for several sets of variables, against a solution of each system by itself."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.tuning import Tuning
from tests.contracts.all_problems import rows

N = 90


def sets_of_variables(rng):
    """Some that are near to each other, and one that is not."""
    first = np.sort(rng.permutation(N)[:60])
    others = np.setdiff1d(np.arange(N), first)
    yield first
    yield np.setdiff1d(first, first[[0, 7]])
    yield np.sort(np.r_[np.setdiff1d(first, first[[7, 30]]), others[:3]])
    yield first
    yield np.arange(N)
    yield np.arange(2, N - 1)


def slow_step(K, free, curve, slope, groups, totals):
    """The bordered system of one set."""
    E = groups[:, free]
    matrix = np.block([[K[np.ix_(free, free)] + np.diag(curve[free]), -E.T], [E, np.zeros((len(E), len(E)))]])
    solution = np.linalg.solve(matrix, np.concatenate([-slope[free], totals]))
    return solution[: len(free)], solution[len(free) :]


def sums(n_sums):
    """No sum, that of all variables, or those of two groups; and their values."""
    third = np.arange(N) % 3 == 0
    groups = [third, ~third] if n_sums == 2 else [np.ones(N)] * n_sums
    return np.array(groups, dtype=float).reshape(n_sums, N), np.array([0.3, -0.7])[:n_sums]


@pytest.fixture
def factored(monkeypatch):
    """Sizes of the systems that are factored."""
    sizes, factorise = [], FreeSystem._factorise
    monkeypatch.setattr(
        FreeSystem, "_factorise", lambda self, free, curve: (sizes.append(len(free)), factorise(self, free, curve))[1]
    )
    return sizes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_sums", [1, 2])
def test_a_constant_that_was_taken_from_the_matrix_belongs_to_it(dtype, n_sums):
    rng = np.random.default_rng(0)
    K, slope, curve = 10.0 + Gaussian(0.1)(rows(N)) + np.eye(N), rng.normal(size=N), np.ones(N)
    without = K - 10.0
    system = FreeSystem(float(np.finfo(dtype).eps), shift=10.0)
    system.enter(without.astype(dtype))
    groups, totals = sums(n_sums)
    for free in sets_of_variables(rng):
        step, offsets = system.step(free, curve, slope, groups, totals)
        # Steps with a given sum are the same with both matrices; the offsets are those of the one that was entered.
        expected = slow_step(without, free, curve, slope, groups, totals)
        of_K = slow_step(K, free, curve, slope, groups, totals)[0]
        np.testing.assert_allclose(step, of_K, atol=3e4 * np.finfo(dtype).eps)
        np.testing.assert_allclose(step, expected[0], rtol=0, atol=3e4 * np.finfo(dtype).eps)
        np.testing.assert_allclose(offsets, expected[1], rtol=0, atol=3e4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_sums", [0, 1, 2])
def test_steps_are_those_of_each_system(dtype, n_sums, factored):
    rng = np.random.default_rng(0)
    K = Gaussian(0.1)(rows(N)) + np.eye(N)
    system = FreeSystem(float(np.finfo(dtype).eps))
    system.enter(K.astype(dtype))
    for free in sets_of_variables(rng):
        slope, curve = rng.normal(size=N), np.ones(N)
        curve[::7] = 2.0
        if len(free) == 58:
            curve[free[:4]] = 3.0  # variables that went to the other piece of their price
        expected = slow_step(K, free, curve, slope, *sums(n_sums))
        step, offsets = system.step(free, curve, slope, *sums(n_sums))
        np.testing.assert_allclose(step, expected[0], rtol=0, atol=3e3 * np.finfo(dtype).eps)
        np.testing.assert_allclose(offsets, expected[1], rtol=0, atol=3e3 * np.finfo(dtype).eps)
    assert factored == [60, 90]


def test_sets_that_differ_much_are_factored(factored):
    rng = np.random.default_rng(0)
    system = FreeSystem(1e-16, tuning=Tuning(few_corrected=0, corrected=0.0))
    system.enter(Gaussian(0.1)(rows(N)) + np.eye(N))
    for free in sets_of_variables(rng):
        system.step(free, np.zeros(N), rng.normal(size=N), *sums(1))
    assert factored == [60, 58, 61, 60, 90, 87]


def test_there_is_no_step_where_the_matrix_is_not_positive():
    system, none = FreeSystem(1e-16), (np.empty((0, 20)), np.empty(0))
    system.enter(np.ones((20, 20)) - 2 * np.eye(20))
    assert system.step(np.arange(3), np.zeros(20), np.ones(20), *none) is None
    system.enter(np.zeros((20, 20)))
    assert system.step(np.arange(4), np.ones(20), np.ones(20), *none) is not None
    assert system.step(np.arange(5), np.r_[np.ones(4), np.zeros(16)], np.ones(20), *none) is None  # 0 on the diagonal
    system.enter(np.eye(20))
    assert system.step(np.arange(3), np.zeros(20), np.full(20, np.inf), *none) is None
    of_two = np.r_[np.ones(3), np.zeros(17)], np.r_[np.zeros(3), np.ones(17)]
    assert system.step(np.arange(3), np.zeros(20), np.ones(20), np.array(of_two), np.zeros(2)) is None  # an empty group
