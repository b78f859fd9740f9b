"""SMO against the interior point method, and what must not change its answer."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mercer.kernels import Exponential, Gaussian, Linear, Multiquadric
from mercer.kernels.gram import Gram, incomplete_cholesky
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
    SquaredHinge,
)
from mercer.problems import KernelProgram
from mercer.regularizers import L1Coefficients, Mixed, RKHSNorm
from mercer.solvers import SMO, InteriorPoint
from mercer.solvers.smo.active_set import solve_by_active_set
from mercer.solvers.smo.block_numba import descend
from mercer.solvers.smo.box import Box
from mercer.solvers.smo.free_system import FreeSystem
from mercer.solvers.smo.tuning import Tuning
from mercer.solvers.smo.working_set import choose_working_set
from tests.contracts.all_problems import labels, rows, smooth_targets
from tests.solvers.smo import slow_box

N = 300
REGRESSION = [EpsilonInsensitive(0.1), Laplace(), Quantile(0.8), Huber(0.2), Expectile(0.3), Squared(epsilon=0.05)]
LOSSES = [*REGRESSION, Hinge(), SquaredHinge()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def program(loss, C=3.0, *, n=N, kernel=None, X=None, columns=1, formed=False):
    """A program whose Gram matrix is an operator, unless it is to be formed."""
    kernel = kernel or Gaussian(0.8)
    X = rows(n) if X is None else X
    y = labels(X) if loss.classification else smooth_targets(X)
    gram = kernel(X) if formed else Gram(kernel, X)
    penalty = RKHSNorm().penalty(gram, np.ones((len(X), columns)))
    return KernelProgram.build(penalty, y, loss, C, conditional=bool(kernel.order))


def formed(problem):
    return replace(problem, gram=problem.gram.toarray())


def assert_solved(problem, result, tol):
    assert result.status == "optimal"
    assert problem.certificate(result).holds(tol)


def assert_same_value(problem, result, tol):
    """The interior point's value, to the gap."""
    exact = InteriorPoint().solve(formed(problem), tol=tol / 10)
    assert exact.status == "optimal"
    size = abs(exact.primal) + 1
    np.testing.assert_allclose([result.primal, result.dual], exact.primal, rtol=0, atol=1.2 * tol * size)


@pytest.mark.parametrize("block", [8, 16])
def test_small_blocks_arrive_in_the_end(block):
    problem = program(EpsilonInsensitive(0.01), C=1000.0, n=80, kernel=Gaussian(0.3))
    assert_same_value(problem, SMO(block).solve(problem, tol=1e-6), 1e-6)


def test_crowded_blocks_grow():
    problem = program(EpsilonInsensitive(0.01), C=100.0, n=120, kernel=Gaussian(0.3))

    class Small(SMO):
        tuning = Tuning(smallest_block=16, largest_block=16, grown_block=64)

    grown, as_given = Small().solve(problem, tol=1e-6), SMO(16).solve(problem, tol=1e-6)
    assert_same_value(problem, grown, 1e-6)
    assert_same_value(problem, as_given, 1e-6)
    assert grown.n_iter < 0.5 * as_given.n_iter


@every_loss
@pytest.mark.parametrize("columns", [0, 1])
def test_small_blocks_equal_the_interior_point(loss, columns):
    problem = program(loss, columns=columns)
    result = SMO(block=40).solve(problem, tol=1e-7)
    assert_solved(problem, result, 1e-7)
    assert_same_value(problem, result, 1e-7)
    assert result.n_iter > 2


@pytest.mark.parametrize("loss", [EpsilonInsensitive, Huber], ids=lambda loss: loss.__name__)
def test_weights_and_tubes_for_each_sample_and_side(loss):
    rng = np.random.default_rng(3)
    tubes = (rng.uniform(0.0, 0.3, N), rng.uniform(0.0, 0.3, N))
    problem = program(loss(epsilon=tubes), C=(rng.uniform(0.1, 5.0, N), rng.uniform(0.1, 5.0, N)))
    result = SMO(block=64).solve(problem, tol=1e-7)
    assert_solved(problem, result, 1e-7)
    assert_same_value(problem, result, 1e-7)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Gaussian(1e-3), Exponential(1.0), Multiquadric()], ids=repr)
def test_kernels_with_and_without_fast_columns(kernel):
    problem = program(EpsilonInsensitive(0.1), kernel=kernel)
    assert_solved(problem, SMO(block=50).solve(problem, tol=1e-6), 1e-6)


@pytest.mark.parametrize("width", [8.0, 1.5])  # in single precision; and too narrow for that
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Hinge(), Huber(0.2)], ids=repr)
def test_wide_rows(loss, width):
    X = np.random.default_rng(0).normal(size=(600, 120))
    problem = program(loss, C=10.0, X=X, kernel=Gaussian(width))
    result = SMO().solve(problem, tol=1e-8)
    assert_solved(problem, result, 1e-8)
    assert_same_value(problem, result, 1e-8)


@pytest.mark.parametrize("is_formed", [False, True])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Hinge(), Huber(0.2)], ids=repr)
@pytest.mark.parametrize(
    ("kernel", "offset", "C"),
    [(Gaussian(100.0), 0.0, 1e6), (Gaussian(300.0), 0.0, 1e6), (Gaussian(300.0), 0.0, 1e2), (Linear(), 100.0, 1e2)],
    ids=str,
)
def test_matrices_that_hardly_vary(kernel, offset, C, loss, is_formed):
    """In single precision nothing is left of their differences, which large weights make matter."""
    problem = program(loss, C=C, X=rows(600) + offset, kernel=kernel, formed=is_formed)
    result = SMO().solve(problem, tol=1e-4)
    assert_solved(problem, result, 1e-4)
    exact = InteriorPoint().solve(problem if is_formed else formed(problem), tol=1e-5)
    assert exact.status == "optimal"
    np.testing.assert_allclose([result.primal, result.dual], exact.primal, rtol=1.2e-4, atol=1.2e-4)


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1e2, 1e4])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Hinge(), Huber(0.2)], ids=repr)
def test_extreme_weights(loss, C):
    problem = program(loss, C, n=100)
    result = SMO().solve(problem, tol=1e-5)
    assert_solved(problem, result, 1e-5)


def test_all_points_at_their_bounds():
    X = rows(60)
    y = np.tile([10.0, -10.0], 30)  # residuals that no small C can reach
    problem = KernelProgram.build(RKHSNorm().penalty(Gram(Gaussian(), X), np.ones((60, 1))), y, Laplace(), 1e-3)
    result = SMO().solve(problem, tol=1e-8)
    assert_solved(problem, result, 1e-8)
    np.testing.assert_array_equal(np.abs(result.B), 1e-3)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Hinge()], ids=repr)
def test_two_samples(loss):
    problem = program(loss, n=2)
    assert_solved(problem, SMO().solve(problem, tol=1e-8), 1e-8)


@every_loss
def test_repeated_rows(loss):
    X = np.repeat(rows(30), 5, axis=0)
    problem = program(loss, X=X)
    assert_solved(problem, SMO(block=32).solve(problem, tol=1e-6), 1e-6)


# What must not change the answer --------------------------------------------------------------------------------------


def test_memory_does_not_change_the_answer():
    problem = program(EpsilonInsensitive(0.1), kernel=Exponential(1.0))
    two_rows, all_rows = (SMO(block=40).solve(problem, tol=1e-7, memory=memory) for memory in (2 * 4 * N, 2**30))
    assert_solved(problem, two_rows, 1e-7)
    np.testing.assert_allclose(two_rows.primal, all_rows.primal, rtol=2e-7)


def test_threads_do_not_change_the_answer():
    problem = program(EpsilonInsensitive(0.1), n=1500)
    two = SMO(block=256).solve(problem, tol=1e-6)
    with threadpool_limits(1):
        one = SMO(block=256).solve(problem, tol=1e-6)
    assert_solved(problem, one, 1e-6)
    np.testing.assert_allclose(one.primal, two.primal, rtol=2e-6)


@pytest.mark.parametrize("at", [0, 1, 3, 7])
def test_an_interrupted_run_goes_on(at):
    problem = program(EpsilonInsensitive(0.1))
    first = SMO(block=40).solve(problem, tol=1e-7, callback=lambda iteration, iterate: iteration == at)
    assert first.status == "interrupted"
    assert problem.certificate(first).infeasibility <= 1e-9
    whole = SMO(block=40).solve(problem, tol=1e-7)
    rest = SMO(block=40).solve(problem, tol=1e-7, start=first)
    assert_solved(problem, rest, 1e-7)
    np.testing.assert_allclose(rest.primal, whole.primal, rtol=2e-7)


def test_ctrl_c_leaves_a_feasible_point(monkeypatch):
    problem = program(EpsilonInsensitive(0.1))
    n_calls = 0
    choose = choose_working_set

    def interrupt(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 4:
            raise KeyboardInterrupt
        return choose(*arguments)

    monkeypatch.setattr("mercer.solvers.smo.state.choose_working_set", interrupt)
    result = SMO(block=40).solve(problem, tol=1e-7)
    assert result.status == "interrupted"
    certificate = problem.certificate(result)
    assert certificate.infeasibility <= 1e-9
    np.testing.assert_allclose([result.primal, result.dual], [certificate.primal, certificate.dual], rtol=1e-12)


def test_start_from_another_weight_saves_rounds():
    loose, tight = program(EpsilonInsensitive(0.1), C=1.0), program(EpsilonInsensitive(0.1), C=1.2)
    start = SMO(block=40).solve(loose, tol=1e-6)
    start = replace(start, B=1.2 * start.B)
    cold, warm = (SMO(block=40).solve(tight, tol=1e-6, start=s) for s in (None, start))
    assert_solved(tight, warm, 1e-6)
    assert warm.n_iter < cold.n_iter


def test_start_outside_the_box_is_brought_back():
    problem = program(EpsilonInsensitive(0.1), C=0.1)
    start = SMO().solve(program(EpsilonInsensitive(0.1), C=10.0), tol=1e-4)
    assert np.abs(start.B).max() > 0.1
    result = SMO().solve(problem, tol=1e-7, start=start)
    assert_solved(problem, result, 1e-7)


@pytest.mark.parametrize("n_trials", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_problems_are_never_claimed_to_be_solved_when_they_are_not(n_trials):
    rng = np.random.default_rng(0)
    n_optimal = 0
    for trial in range(n_trials):
        n = int(rng.integers(2, 25))
        X = rng.normal(size=(n, 1 + trial % 3)) * 10 ** rng.uniform(-2, 2)
        X[n // 2 :] = X[: n - n // 2] if trial % 5 == 0 else X[n // 2 :]
        loss = LOSSES[trial % len(LOSSES)]
        y = labels(X, seed=trial) if loss.classification else rng.normal(size=n) * 10 ** rng.uniform(-3, 3)
        gram = Gram(Gaussian(10 ** rng.uniform(-1, 1)), X)
        columns = np.ones((n, trial % 2))
        C = 10 ** rng.uniform(-4, 4)
        problem = KernelProgram.build(RKHSNorm().penalty(gram, columns), y, loss, C)
        result = SMO(block=int(rng.integers(2, 10))).solve(problem, tol=1e-5, max_iter=200)
        n_optimal += result.status == "optimal"
        assert result.status != "optimal" or problem.certificate(result).holds(1e-5), trial
    assert n_optimal >= 0.95 * n_trials, n_optimal


# Parts ----------------------------------------------------------------------------------------------------------------


def test_descend_equals_its_plain_twin():
    problem = program(EpsilonInsensitive(0.1), n=40, formed=True)
    box = Box(problem)
    B, g = np.zeros(40), -problem.y.copy()
    n_steps, violation = descend(problem.gram.formed, 0, g, B, box.rows, 1, 0.0, 25)
    twin, gradient = np.zeros(40), -problem.y.copy()
    for _ in range(25):
        _plain_step(problem.gram.formed, gradient, twin, box)
    assert n_steps == 25
    np.testing.assert_allclose(violation, slow_box.violation_of(box, twin, gradient), rtol=1e-10)
    np.testing.assert_allclose(B, twin, atol=1e-12)
    np.testing.assert_allclose(g, gradient, atol=1e-12)


def _plain_step(K, g, B, box):
    """One step on a pair, its length found by trying all points where the function may have its minimum."""
    rising, falling = slow_box.rising(box, B, g), slow_box.falling(box, B, g)
    i = int(np.argmin(rising))
    curvature = K[i, i] + np.diag(K) - 2 * K[i]
    gain = np.where(falling > rising[i], (falling - rising[i]) ** 2 / np.maximum(curvature, 1e-12), -1.0)
    gain[i] = -1.0
    j = int(np.argmax(gain))
    limit = min(box.high[i] - B[i], B[j] - box.low[j])
    slopes = [s * e for s in (1.0, -1.0) for e in (box.up[i], 0.0)]
    candidates = {0.0, limit, -B[i], B[j]} | {-(g[i] - g[j] + s - t) / curvature[j] for s in slopes for t in slopes}
    steps = np.array([t for t in candidates if 0 <= t <= limit])
    values = (g[i] - g[j]) * steps + curvature[j] * steps**2 / 2
    values += box.up[i] * np.abs(B[i] + steps) + box.up[j] * np.abs(B[j] - steps)
    step = steps[np.argmin(values)]
    B[i] += step
    B[j] -= step
    g += step * (K[:, i] - K[:, j])


@every_loss
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("precision", [1e-7, 2e-16])
def test_active_set_finds_the_optimum_that_pairs_come_near(loss, paired, precision):
    problem = program(loss, C=10.0, n=60, columns=int(paired), formed=True)
    box, B, g = Box(problem), np.zeros(60), -problem.y.copy()
    descend(problem.gram.formed, 0, g, B, box.rows, int(paired), 1e-3, 100_000)
    system = FreeSystem(precision)
    assert solve_by_active_set(problem.gram.formed, g, B, box.rows, n_sums=int(paired), slack=1e-5, system=system)
    assert abs(B.sum()) < 1e-9 or not paired
    assert np.all(box.low <= B)
    assert np.all(box.high >= B)
    np.testing.assert_allclose(g, problem.gram @ B - problem.y, atol=1e-9)
    # What is left is what makes the matrix positive in single precision, times the steps.
    assert slow_box.violation_of(box, B, g, paired=paired) < 5e-5


def test_active_set_that_is_far_from_the_optimum_changes_nothing():
    problem = program(EpsilonInsensitive(0.1), C=10.0, n=60, formed=True)
    box = Box(problem)
    B = np.where(problem.y > 0, 5.0, -5.0)
    g = problem.gram @ B - problem.y
    before = B.copy(), g.copy()
    system = FreeSystem(1e-7)
    assert not solve_by_active_set(problem.gram.formed, g, B, box.rows, n_sums=1, slack=0.0, system=system)
    np.testing.assert_array_equal((B, g), before)


def test_active_set_gives_up_where_it_cannot_solve():
    problem = program(EpsilonInsensitive(0.1), C=10.0, n=60, formed=True)
    box, B, g = Box(problem), np.zeros(60), -problem.y.copy()
    system = FreeSystem(1e-7)  # no variable is free
    assert not solve_by_active_set(problem.gram.formed, g, B, box.rows, n_sums=1, slack=0.0, system=system)
    B[:2] = 1.0, -1.0
    indefinite = np.ones((60, 60)) - 2 * np.eye(60)
    assert not solve_by_active_set(indefinite, g, B, box.rows, n_sums=1, slack=0.0, system=system)
    assert B.tolist()[:3] == [1.0, -1.0, 0.0]


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (program(Logistic()), "is not made of lines and parabolas; choose the solver 'working_set'"),
        (program(PolynomialLoss(1.5)), "is not made of lines and parabolas"),
        (
            program(Laplace(), columns=2),
            "its unpenalised part is more than a constant; choose the solver 'working_set'",
        ),
        (replace(program(Laplace(), columns=0), budget=1.0), "it has a budget, but no constant; choose the solver"),
        (replace(program(Huber()), budget=1.0), "a budget is for the absolute loss, not for Huber"),
        (replace(program(Hinge()), target=1e6), "its target is beyond the bounds of all variables together"),
        (replace(program(SquaredHinge()), target=1.0), "has no bounds, and its target is not zero"),
        (
            replace(program(Laplace()), gram=incomplete_cholesky(Gaussian(), rows(N))),
            "its matrix is a low-rank factor; choose the solver 'interior_point'",
        ),
        (
            KernelProgram.build(L1Coefficients().penalty(np.eye(3), np.ones((3, 1))), np.arange(3.0), Laplace(), 1.0),
            "it has an l1 penalty; choose the solver 'interior_point'",
        ),
        (
            KernelProgram.build(Mixed().penalty(np.eye(3), np.ones((3, 1))), np.arange(3.0), Laplace(), 1.0),
            "it has an l1 penalty",
        ),
    ],
)
def test_refusals(problem, reason):
    with pytest.raises(ValueError, match=f"solver 'smo' cannot solve this problem: .*{reason}"):
        SMO().solve(problem)


@pytest.mark.parametrize("block", [0, 1, -3, 2.5, True, "many"])
def test_block_that_is_none(block):
    with pytest.raises(
        ValueError, match=r"block of SMO must be a whole number > 1, got .*; it is the number of samples"
    ):
        SMO(block=block)
