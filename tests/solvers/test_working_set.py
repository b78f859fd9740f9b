"""The working-set solver against the interior point method, and what must not change its answer."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import Exponential, Gaussian, Multiquadric, ThinPlate
from mercer.kernels.gram import Gram, incomplete_cholesky
from mercer.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PolynomialLoss,
    Squared,
    SquaredHinge,
)
from mercer.problems import KernelProgram
from mercer.regularizers import L1Coefficients, Mixed, RKHSNorm
from mercer.solvers import InteriorPoint, SolverResult
from mercer.solvers import working_set as module
from mercer.solvers.working_set import WorkingSet
from tests.contracts.all_losses import PER_SAMPLE_LOSSES, UNIFORM_LOSSES, name_of
from tests.contracts.all_problems import labels, make, rows, smooth_targets

N = 150
SOLVER = WorkingSet(block=40)
SOME_LOSSES = [EpsilonInsensitive(0.1), Huber(0.2), PolynomialLoss(1.5), Hinge(), Logistic()]
some_losses = pytest.mark.parametrize("loss", SOME_LOSSES, ids=name_of)


def spread(loss, n=N):
    """The same loss for n samples, whose insensitivities repeat."""

    def repeated(part):
        return np.resize(np.asarray(part, dtype=float), n) if np.ndim(part) else part

    epsilon = loss.epsilon
    parts = tuple(map(repeated, epsilon)) if isinstance(epsilon, tuple) else repeated(epsilon)
    return clone(loss).set_params(epsilon=parts)


def program(loss, C=3.0, *, n=N, kernel=None, X=None, y=None, columns=None):
    """A program whose Gram matrix is an operator."""
    kernel = kernel or Gaussian(0.8)
    X = rows(n) if X is None else X
    if y is None:
        y = labels(X) if loss.classification else smooth_targets(X)
    if columns is None:
        columns = kernel.polynomial_part(X) if kernel.order else np.ones((len(X), 1))
    penalty = RKHSNorm().penalty(Gram(kernel, X), columns)
    return KernelProgram.build(penalty, y, loss, C, conditional=bool(kernel.order))


def formed(problem):
    return replace(problem, gram=np.asarray(problem.gram.toarray(), dtype=np.float64))


def assert_solved(problem, result, tol):
    """Optimal, as the certificate says too, with the value that the interior point method finds."""
    assert result.status == "optimal"
    certificate = problem.certificate(result)
    assert certificate.holds(tol)
    assert certificate.infeasibility <= 1e-9
    scale = abs(certificate.primal) + 1
    np.testing.assert_allclose([result.primal, result.dual], [certificate.primal, certificate.dual], atol=1e-12 * scale)
    exact = InteriorPoint().solve(formed(problem), tol=tol / 10)
    assert exact.status == "optimal"
    np.testing.assert_allclose([result.primal, result.dual], exact.primal, rtol=0, atol=1.2 * tol * scale)


# Every loss, kernel and set of columns -------------------------------------------------------------------------------


# All but |r|^1.01, for which the interior point method itself stalls and takes its time.
EVERY_LOSS = [loss for loss in UNIFORM_LOSSES if getattr(loss, "p", None) != 1.01] + list(
    map(spread, PER_SAMPLE_LOSSES)
)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=name_of)
def test_every_loss(loss):
    problem = program(loss, np.linspace(0.1, 5.0, N))
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)


@pytest.mark.parametrize("loss", [Laplace(), Squared(), Huber(0.2, epsilon=0.05)], ids=name_of)
def test_weights_below_and_above(loss):
    problem = program(loss, (np.linspace(0.1, 5.0, N), 2.0))
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)


@some_losses
@pytest.mark.parametrize("kernel", [Multiquadric(0.5), ThinPlate()], ids=repr)
def test_conditionally_positive_kernels(kernel, loss):
    problem = program(loss, kernel=kernel)
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)
    X = rows(N)
    further = np.column_stack([kernel.polynomial_part(X), np.sin(3 * X[:, 0])])
    problem = program(loss, kernel=kernel, columns=further)
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)


@some_losses
def test_several_columns(loss):
    X = rows(N)
    columns = np.column_stack([np.ones(N), 1e4 * X, np.sin(3 * X[:, 0]), 1e-4 * X[:, 1] ** 2])
    problem = program(loss, columns=columns, kernel=Exponential(1.0))
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)


@some_losses
def test_columns_that_say_little(loss):
    """None at all, zeros, the same one twice, and some that are zero in most blocks."""
    first, third = (np.arange(N) < 3).astype(float), (np.arange(N) % 3 == 0).astype(float)
    for columns in (
        np.empty((N, 0)),
        np.zeros((N, 1)),
        np.ones((N, 2)),
        np.column_stack([np.ones(N), np.zeros(N), first, third, 1 - third]),
    ):
        problem = program(loss, columns=columns)
        result = SOLVER.solve(problem, tol=1e-6)
        assert result.status == "optimal"
        assert problem.certificate(result).holds(1e-6)


@some_losses
def test_duplicates(loss):
    problem = program(loss, X=np.repeat(rows(N // 3), 3, axis=0))
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=name_of)
@pytest.mark.parametrize("n_positive", [3, 75, 147])
def test_classes_in_order(loss, n_positive):
    """Blocks of one class alone could not move, since ΣB = 0."""
    order = np.argsort(rows(N)[:, 0])[::-1]
    problem = program(loss, X=rows(N)[order], y=np.where(np.arange(N) < n_positive, 1.0, -1.0))
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6), 1e-6)


@some_losses
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Exponential(1.0)], ids=repr)
def test_single_precision_does_not_limit_the_gap(kernel, loss):
    """Neither the columns of Gaussian kernels nor those of others, of which few are kept."""
    problem = program(loss, kernel=kernel)
    assert_solved(problem, SOLVER.solve(problem, tol=1e-8, memory=100 * 4 * N), 1e-8)


def test_rows_in_single_precision():
    problem = program(Logistic(), X=rows(N).astype(np.float32))
    result = SOLVER.solve(problem, tol=1e-6)
    assert result.status == "optimal"
    assert problem.certificate(result).holds(1e-6)


@some_losses
def test_matrix_in_memory(loss):
    problem = program(loss)
    result = SOLVER.solve(formed(problem), tol=1e-8)
    assert_solved(problem, result, 1e-8)


@some_losses
def test_one_block_of_all_is_one_iteration(loss):
    problem = program(loss)
    result = WorkingSet().solve(problem, tol=1e-8)
    assert result.n_iter == 1
    assert_solved(problem, result, 1e-8)


@pytest.mark.parametrize("y", [np.zeros(N), np.full(N, 3.0)], ids=["zero", "constant"])
def test_targets_that_the_columns_explain(y):
    problem = program(Huber(0.2), y=y)
    result = SOLVER.solve(problem)
    assert (result.status, result.n_iter) == ("optimal", 0)
    np.testing.assert_array_equal(result.B, 0.0)


@pytest.mark.slow
def test_some_thousand_rows():
    X = rows(3000, n_columns=5)
    for loss in (Huber(0.2), Logistic()):
        problem = program(loss, 10.0, X=X, kernel=Gaussian(1.5))
        assert_solved(problem, WorkingSet(block=500).solve(problem, tol=1e-5), 1e-5)


# Starts --------------------------------------------------------------------------------------------------------------


@some_losses
def test_warm_start_from_the_solution_needs_no_iteration(loss):
    problem = program(loss)
    cold = SOLVER.solve(problem, tol=1e-6)
    warm = SOLVER.solve(problem, tol=1e-6, start=cold)
    assert (warm.status, warm.n_iter) == ("optimal", 0)
    np.testing.assert_array_equal(warm.B, cold.B)
    exact = InteriorPoint().solve(formed(problem), tol=1e-8)
    assert SOLVER.solve(problem, tol=1e-6, start=exact).n_iter == 0


@some_losses
@pytest.mark.parametrize("factor", [0.5, 1.3])
def test_warm_start_from_a_neighbour(loss, factor):
    neighbour, problem = program(loss, 3.0), program(loss, 3.0 * factor)
    start = SOLVER.solve(neighbour, tol=1e-4)
    warm, cold = (SOLVER.solve(problem, tol=1e-4, start=s) for s in (start, None))
    assert_solved(problem, warm, 1e-4)
    assert warm.history[0].gap < cold.history[0].gap


@some_losses
def test_starts_that_are_not_feasible(loss):
    """ΣB is not zero; the box is left by far; a sign is wrong."""
    problem = program(loss)
    rng = np.random.default_rng(0)
    tied = rng.normal(size=N)
    for B in (np.abs(rng.normal(size=N)), 100 * (tied - tied.mean()), -SOLVER.solve(problem, tol=1e-2).B):
        start = SolverResult("optimal", B, np.zeros(1), 0.0, 0.0, 0)
        first = SOLVER.solve(problem, tol=1e-6, start=start, max_iter=0)
        assert problem.certificate(first).infeasibility <= 1e-9
        assert np.isfinite(first.dual)
        assert_solved(problem, SOLVER.solve(problem, tol=1e-6, start=start), 1e-6)


# Interruption --------------------------------------------------------------------------------------------------------


def assert_usable(problem, result):
    assert result.status == "interrupted"
    certificate = problem.certificate(result)
    assert certificate.infeasibility <= 1e-9
    assert np.isfinite(certificate.primal)
    scale = abs(certificate.primal) + 1
    np.testing.assert_allclose([result.primal, result.dual], [certificate.primal, certificate.dual], atol=1e-12 * scale)
    assert len(result.history) == result.n_iter + 1
    assert (result.history[-1].primal, result.history[-1].dual) == (result.primal, result.dual)


@some_losses
@pytest.mark.parametrize("at", [0, 3])
def test_callback_stops_and_the_fit_resumes(loss, at):
    problem = program(loss, np.linspace(0.1, 5.0, N))
    result = SOLVER.solve(problem, callback=lambda iteration, iterate: iteration == at)
    assert_usable(problem, result)
    assert result.n_iter == at
    resumed = SOLVER.solve(problem, tol=1e-6, start=result)
    if at:
        np.testing.assert_allclose(resumed.history[0].gap, result.gap, rtol=1e-9)
    assert_solved(problem, resumed, 1e-6)


def interrupting(function, at):
    """A function that is interrupted when it is called for the `at`-th time."""
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return interrupted


@pytest.mark.parametrize("at", [2, 4])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (KernelProgram, "times_gram"),
        (KernelProgram, "gap_shares"),
        (module._State, "_program_of"),
        (module.np.linalg, "svd"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_interruption_leaves_a_warm_start(monkeypatch, owner, name, at):
    problem = program(Logistic())
    start = SOLVER.solve(problem, max_iter=2)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupting(getattr(owner, name), at))
        result = SOLVER.solve(problem, tol=1e-8, start=start)
    assert_usable(problem, result)
    assert_solved(problem, SOLVER.solve(problem, tol=1e-6, start=result), 1e-6)


def test_interruption_inside_a_block(monkeypatch):
    """The interior point method swallows it and gives back what it has."""
    from mercer.solvers.interior_point import method

    problem = program(Logistic())
    with monkeypatch.context() as patch:
        patch.setattr(method, "_iterate", interrupting(method._iterate, 12))
        result = SOLVER.solve(problem, tol=1e-6)
    assert_usable(problem, result)
    assert result.n_iter >= 1


def test_history_and_callback():
    seen = []
    result = SOLVER.solve(program(Huber(0.2)), callback=lambda i, iterate: seen.append((i, iterate)))
    assert [i for i, _ in seen] == list(range(result.n_iter))
    assert [iterate for _, iterate in seen] == result.history[:-1]
    dual = [iterate.dual for iterate in result.history]
    assert np.all(np.diff(dual) >= -1e-9 * np.abs(dual[-1])), "each block raises the dual value"


def test_max_iter():
    for max_iter in (0, 2):
        result = SOLVER.solve(program(Huber(0.2)), max_iter=max_iter)
        assert (result.status, result.n_iter, len(result.history)) == ("max_iter", max_iter, max_iter + 1)


def test_progress_bar(capsys):
    SOLVER.solve(program(Huber(0.2)), tol=1e-3, verbose=True)
    assert "working_set" in capsys.readouterr().err
    SOLVER.solve(program(Huber(0.2)), tol=1e-3)
    assert capsys.readouterr().err == ""


def test_indefinite_matrix_stalls():
    problem = replace(formed(program(Squared())), gram=-np.eye(N))
    result = SOLVER.solve(problem)
    assert result.status == "stalled"
    assert not problem.certificate(result).holds(1e-3)
    assert problem.column_violation(result.B) <= 1e-9


# Refusals ------------------------------------------------------------------------------------------------------------


def _low_rank():
    X = rows(N)
    penalty = RKHSNorm().penalty(incomplete_cholesky(Gaussian(0.8), X, tol=1e-6), np.ones((N, 1)))
    return KernelProgram.build(penalty, smooth_targets(X), Huber(0.2), 1.0)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (make(Huber(), regularizer=L1Coefficients()), "it has an l1 penalty; choose the solver 'interior_point'"),
        (make(Huber(), regularizer=Mixed(1.0)), "it has an l1 penalty; choose"),
        (make(Huber(), budget=1.0), "a budget is for the absolute loss, not for Huber"),
        (_low_rank(), "its matrix is a low-rank factor; choose"),
        (replace(make(Huber()), target=np.array([0.1])), "its target is not zero; choose"),
        (
            program(Huber(), columns=rows(N, n_columns=11)),
            "11 columns need blocks of 44 samples, not of 40; choose a larger block",
        ),
    ],
)
def test_refusals(problem, reason):
    with pytest.raises(ValueError, match=f"'working_set' cannot solve this problem: {reason}"):
        SOLVER.solve(problem)


@pytest.mark.parametrize("block", [0, 1, 2.5, True, None])
def test_bad_block(block):
    with pytest.raises(ValueError, match="block of WorkingSet must be a whole number > 1, got .*; it is the number"):
        WorkingSet(block=block)
