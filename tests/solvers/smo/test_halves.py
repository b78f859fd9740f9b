"""Blocks that are optimised half by half, against steps on the whole block and the interior point method."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Expectile, Hinge, Huber, Laplace, SquaredHinge
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers import SMO, InteriorPoint
from mercer.solvers.smo import halves
from mercer.solvers.smo.block_numba import descend
from mercer.solvers.smo.box import Box, price_of
from mercer.solvers.smo.halves import descend_by_halves, descend_on_parts
from mercer.solvers.smo.tuning import Tuning
from mercer.threads import single_threaded_numpy
from tests.contracts.all_problems import labels, rows, smooth_targets
from tests.solvers.smo.slow_box import violation_of

LOSSES = [EpsilonInsensitive(0.1), Laplace(), Huber(0.2), Expectile(0.3), Hinge(), SquaredHinge()]


def block(loss, n, *, paired=True, C=10.0, kernel=None, ordered=True):
    """A program, its box, and a start; near samples are near in the order, unless they are not to be."""
    X = rows(n)
    X = X[np.argsort(X[:, 0])] if ordered else X
    y = labels(X) if loss.classification else smooth_targets(X)
    penalty = RKHSNorm().penalty((kernel or Gaussian(0.8))(X), np.ones((n, int(paired))))
    problem = KernelProgram.build(penalty, y, loss, C)
    return problem, Box(problem), np.zeros(n), -problem.y.copy()


def value(problem, box, B):
    """The dual objective, to be minimised."""
    return 0.5 * B @ problem.gram.formed @ B - problem.y @ B + price_of(box.rows, B)


# Small blocks are divided too, after few steps and before a Newton step is tried.
DIVIDED = Tuning(patience=(8, 16, 128), least_divided=8, on_block=1)


class Divided(SMO):
    tuning = DIVIDED


@pytest.fixture
def divided(monkeypatch):
    """Counts how often blocks are divided."""
    cuts_seen, on_parts = [], halves.descend_on_parts

    def spy(K, g, B, box, cuts, **keywords):
        cuts_seen.append(cuts)
        return on_parts(K, g, B, box, cuts, **keywords)

    monkeypatch.setattr(halves, "descend_on_parts", spy)
    return cuts_seen


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("paired", [True, False])
def test_halves_lead_to_the_interior_points_minimum(loss, paired, divided):
    problem, box, B, g = block(loss, 121, paired=paired)
    options = {"target": 1e-7, "max_steps": 10**6, "tuning": DIVIDED}
    violation = descend_by_halves(problem.gram.formed, g, B, box.rows, n_sums=int(paired), **options)
    assert len(divided) > 1
    assert divided[:2] == [(0, 60, 121), (0, 30, 90, 121)]
    assert violation <= 1e-7
    np.testing.assert_allclose(violation_of(box, B, g, paired=paired), violation, atol=1e-9)
    np.testing.assert_allclose(g, problem.gram @ B - problem.y, atol=1e-8)
    assert np.all((box.low <= B) & (box.high >= B))
    assert not paired or abs(B.sum()) < 1e-9
    exact = InteriorPoint().solve(problem, tol=1e-9)
    np.testing.assert_allclose(value(problem, box, B), -exact.dual, rtol=1e-6)


@pytest.mark.parametrize("loss", [EpsilonInsensitive, Huber], ids=lambda loss: loss.__name__)
def test_smo_with_divided_blocks_weights_and_tubes_for_each_sample(loss, divided):
    rng = np.random.default_rng(3)
    tubes = (rng.uniform(0.0, 0.1, 300), rng.uniform(0.0, 0.1, 300))
    C = (rng.uniform(1.0, 50.0, 300), rng.uniform(1.0, 50.0, 300))
    problem, _, _, _ = block(loss(epsilon=tubes), 300, C=C, kernel=Gaussian(0.4), ordered=False)
    result = Divided(block=100).solve(problem, tol=1e-7)
    assert divided
    assert result.status == "optimal"
    assert problem.certificate(result).holds(1e-7)
    exact = InteriorPoint().solve(problem, tol=1e-8)
    np.testing.assert_allclose([result.primal, result.dual], exact.primal, rtol=0, atol=1.2e-7 * (exact.primal + 1))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_never_raise_the_objective(paired, dtype):
    # A wide kernel and samples in any order: both halves make up for the same error.
    problem, box, B, g = block(EpsilonInsensitive(0.01), 80, paired=paired, kernel=Gaussian(3.0), C=0.5, ordered=False)
    K, g = problem.gram.formed.astype(dtype), g.astype(dtype)
    last = start = value(problem, box, B)
    for _ in range(5):
        descend_on_parts(K, g, B, box.rows, (0, 40, 80), n_sums=int(paired), target=1e-6, steps=16)
        now = value(problem, box, B)
        assert now < last + 1e-6 * abs(last)
        np.testing.assert_allclose(g, problem.gram @ B - problem.y, atol=1e-4 if dtype == np.float32 else 1e-10)
        last = now
    assert last < start


def test_halves_that_do_the_same_are_joined_by_half_the_step():
    K, B = np.ones((80, 80)) + 1e-3 * np.eye(80), np.zeros(80)
    _, box, _, _ = block(EpsilonInsensitive(0.0), 80, paired=False, C=1e3)
    g = np.full(80, -1.0)
    descend_on_parts(K, g, B, box.rows, (0, 40, 80), n_sums=0, target=1e-9, steps=16)
    np.testing.assert_allclose(B.sum(), 1.0, rtol=1e-3)  # each half alone would sum to one
    np.testing.assert_allclose(g, K @ B - 1.0, atol=1e-12)


def test_parts_that_are_at_their_minimum_stay():
    problem, box, B, g = block(EpsilonInsensitive(0.1), 60)
    descend(problem.gram.formed, 0, g, B, box.rows, 1, 1e-9, 10**6)
    before = B.copy(), g.copy()
    assert descend_on_parts(problem.gram.formed, g, B, box.rows, (0, 30, 60), n_sums=1, target=1e-6, steps=16) == 0
    np.testing.assert_array_equal((B, g), before)


def test_one_thread_and_two_do_the_same_to_the_last_digit():
    answers = []
    for limit in (None, 1):
        problem, box, B, g = block(EpsilonInsensitive(0.01), 700, C=100.0, kernel=Gaussian(0.3))
        with single_threaded_numpy, threadpool_limits(limit):  # as solvers do: products may depend on it
            descend_by_halves(problem.gram.formed, g, B, box.rows, n_sums=1, target=1e-4, max_steps=200_000)
        answers.append(B)
    np.testing.assert_array_equal(*answers)


def test_steps_end_when_they_are_used_up(divided):
    problem, box, B, g = block(EpsilonInsensitive(0.01), 100, C=100.0)
    violation = descend_by_halves(
        problem.gram.formed, g, B, box.rows, n_sums=1, target=1e-12, max_steps=150, tuning=DIVIDED
    )
    assert len(divided) == 1
    np.testing.assert_allclose(violation_of(box, B, g, paired=True), violation, rtol=1e-6)


def test_small_blocks_are_not_divided(monkeypatch):
    monkeypatch.delattr(halves, "descend_on_parts")
    problem, box, B, g = block(EpsilonInsensitive(0.01), 100, C=100.0)
    assert descend_by_halves(problem.gram.formed, g, B, box.rows, n_sums=1, target=1e-6, max_steps=10**6) <= 1e-6


def test_descend_on_some_rows_of_a_larger_matrix():
    problem, box, B, g = block(EpsilonInsensitive(0.1), 60)
    part = slice(20, 45)
    K = problem.gram.formed
    own_box, own = np.ascontiguousarray(box.rows[:, part]), np.ascontiguousarray(K[part, part])
    alone, inside = [(g[part].copy(), B[part].copy()) for _ in range(2)]
    assert descend(own, 0, *alone, own_box, 1, 0.0, 50) == descend(
        problem.gram.formed, 20, *inside, own_box, 1, 0.0, 50
    )
    np.testing.assert_array_equal(alone, inside)
