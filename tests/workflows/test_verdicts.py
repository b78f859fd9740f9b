"""What errors on held-out rows say, for errors that are made up and for tables with a known truth."""

import numpy as np
import polars as pl
import pytest

from mercer.metrics import LearnedMetric
from mercer.metrics.choice import Split
from mercer.relevance.labels import Labels
from mercer.report import LearningProblem, diagnose_problem, diagnosis_files, table_from_frame
from mercer.report.diagnosis_pages import diagnosis_summary
from mercer.workflows.held_out import HeldOut, Unsolved, _solved, held_out_losses, ridge_values, splits
from mercer.workflows.verdicts import judge

_ROWS = 400


def problem_of(X, y):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return LearningProblem.read(table_from_frame(pl.DataFrame({**columns, "y": y})), "y")


def errors_of(kernel, trees, trees_of_all=None, guess=1.0):
    """Errors with these means, the kernel's for several numbers of rows; rows differ alike for all methods."""
    of_row = np.random.default_rng(0).chisquare(1, size=_ROWS)
    of_row /= of_row.mean()
    sizes = np.array([200, 400, 800])
    of_all = (trees if trees_of_all is None else trees_of_all) * of_row
    return HeldOut(
        1000, sizes, np.outer(kernel, of_row), trees * of_row, of_all,
        guess * of_row, 1.0, np.arange(_ROWS), np.zeros((_ROWS, 1)),
    )  # fmt: skip


def test_trees_that_are_better_make_the_kernel_wrong():
    judged = judge(errors_of([0.5, 0.45, 0.4], 0.2), 0.1)
    assert judged.kind == "kernel wrong"
    assert "boosted trees leave 20.0 % where the best kernel leaves 40.0 %" in judged.text
    assert judge(errors_of([0.4, 0.4, 0.4], 0.39), 0.1).kind == "noisy"


def test_what_is_unexplained_is_the_error_of_the_kernel():
    judged = judge(errors_of([0.5, 0.45, 0.4], 0.6), 0.1)
    assert judged.unexplained == pytest.approx(0.4)
    assert judged.unexplained_error == pytest.approx(0.4 * np.sqrt(2 / _ROWS), rel=0.2)


def test_noise_is_at_most_the_least_error_and_its_low_end_that_of_the_likelihood():
    judged = judge(errors_of([0.4, 0.4, 0.4], 0.5, 0.3), 0.2)
    assert judged.noise_high == pytest.approx(0.3)
    assert judged.noise_low == pytest.approx(0.8 * 0.2)
    # The likelihood may take for noise what others predict.
    assert judge(errors_of([0.4, 0.4, 0.4], 0.5, 0.3), 0.9).noise_low == pytest.approx(0.3)
    assert judge(errors_of([0.4, 0.4, 0.4], 0.5), 0.9).noise_low == pytest.approx(0.4)


def test_trees_stand_in_the_evidence():
    judged = judge(errors_of([0.4, 0.4, 0.4], 0.5, 0.45), 0.1)
    assert (judged.trees, judged.kind) == (pytest.approx(0.45), "noisy")
    assert any("boosted trees leave 45.0 %" in line for line in judged.evidence("the variance"))


def test_a_small_gain_that_is_not_chance_is_something():
    """Errors of rows differ by far more than those of methods on one row."""
    assert judge(errors_of([0.98, 0.98, 0.98], 1.1), 0.9).kind == "noisy"
    assert judge(errors_of([1.0, 1.0, 1.0], 1.1), 0.9).kind == "nothing found"


def test_more_data_helps_where_errors_fall():
    judged = judge(errors_of([0.4, 0.2, 0.1], 0.5), 0.0)
    assert judged.kind == "more data helps"
    assert judged.later[0] == pytest.approx(0.04, rel=1e-6)  # a power law, with 2.5 times the rows


def test_columns_that_the_metric_drops():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 210))
    result = diagnose_problem(problem_of(X, X[:, 0] + 0.1 * rng.normal(size=60)))
    assert not result.partial
    assert result.columns[0][0] == "x0"


@pytest.mark.parametrize("n", [12, 30])
def test_few_rows_tell_nothing(n):
    rng = np.random.default_rng(0)
    result = diagnose_problem(problem_of(rng.normal(size=(n, 4)), rng.normal(size=n)))
    assert result.verdict.startswith(f"with {n} rows it is unclear whether there is anything to learn")
    assert (result.evidence, result.learning_curve) == ([], None)
    assert diagnosis_summary(result, "mercer diagnose")["noise_level"] is None
    assert b"without its noise" not in diagnosis_files(result, "mercer diagnose")["report.html"]


@pytest.fixture(scope="module")
def sine():
    X = np.random.default_rng(0).uniform(-2, 2, size=(120, 2))
    return diagnose_problem(problem_of(X, np.sin(2 * X[:, 0])))


def test_held_out_rows_were_not_learned(sine):
    problem, metric = sine.problem, sine.metric
    labels = Labels.numbers("test", problem.y)
    parts = splits(problem.X, 0)
    assert sorted(np.concatenate([part.held_out for part in parts])) == list(range(120))
    found = held_out_losses(problem, labels, parts, iter([metric] * len(parts)), 0)
    part = parts[0]
    rows = metric.transform(problem.X[part.learned[:90]])
    values = ridge_values(
        metric, rows, problem.y[part.learned[:90]][:, None], metric.transform(problem.X[part.held_out])
    )
    expected = (values[:, 0] - problem.y[part.held_out]) ** 2
    np.testing.assert_allclose(found.kernel[-1][: len(part.held_out)], expected, atol=1e-9)
    guess = (problem.y[part.learned].mean() - problem.y[part.held_out]) ** 2
    np.testing.assert_allclose(found.guess[: len(part.held_out)], guess)


def test_ridge_values_solve_the_equations(sine):
    metric, problem = sine.metric, sine.problem
    A, Y = metric.transform(problem.X[:50]), problem.y[:50, None]
    K = metric.kernel_(A) + metric.penalty_ * np.eye(50)
    system = np.block([[K, np.ones((50, 1))], [np.ones((1, 50)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([Y, [[0.0]]]))
    new_rows = metric.transform(problem.X[50:])
    expected = metric.kernel_(new_rows, A) @ solution[:50] + solution[50]
    np.testing.assert_allclose(ridge_values(metric, A, Y, new_rows), expected, atol=1e-8)


def test_guesses_of_classes_are_the_largest_class():
    X = np.random.default_rng(0).normal(size=(80, 2))
    problem = problem_of(X, np.where(X[:, 0] > 0.5, "a", "b"))
    result = diagnose_problem(problem)
    rows = result.held_out.rows
    np.testing.assert_array_equal(result.held_out.guess, problem.y[rows] == "a")
    assert result.held_out.guess.mean() == pytest.approx(result.held_out.guess_error)


def test_many_rows_are_solved_by_conjugate_gradients(sine, monkeypatch):
    metric, problem = sine.metric, sine.problem
    A, Y = metric.transform(problem.X), problem.y[:, None]
    direct = ridge_values(metric, A, Y, A)
    monkeypatch.setattr("mercer.workflows.held_out._MANY_FITTED", 50)
    found = ridge_values(metric, A, Y, A)
    assert not np.array_equal(found, direct)
    np.testing.assert_allclose(found, direct, atol=0.02)


def test_equations_that_take_too_long_are_factored_or_given_up(sine, monkeypatch):
    metric, problem = sine.metric, sine.problem
    A, Y = metric.transform(problem.X), problem.y[:, None]
    direct = ridge_values(metric, A, Y, A)
    monkeypatch.setattr("mercer.workflows.held_out._MANY_FITTED", 50)
    monkeypatch.setattr("mercer.workflows.held_out._solved", lambda *words: None)
    np.testing.assert_array_equal(ridge_values(metric, A, Y, A), direct)
    monkeypatch.setattr("mercer.workflows.held_out.MOST_FACTORED", 100)
    with pytest.raises(Unsolved):
        ridge_values(metric, A, Y, A)


@pytest.mark.parametrize(("status", "machine"), [("optimal", True), ("stalled", False), ("interrupted", None)])
def test_what_becomes_of_conjugate_gradients(sine, monkeypatch, status, machine):
    monkeypatch.setattr("mercer.machines.KernelRidge.fit", lambda self, A, Y: setattr(self, "status_", [status]))
    if machine is None:
        with pytest.raises(KeyboardInterrupt):
            _solved(sine.metric, np.zeros((3, 2)), np.zeros((3, 1)))
    else:
        assert (_solved(sine.metric, np.zeros((3, 2)), np.zeros((3, 1))) is not None) == machine


@pytest.mark.parametrize(("solves", "sizes"), [(True, [37, 75, 150]), (False, [15, 30, 60])])
def test_the_curve_goes_as_far_as_equations_are_solved(monkeypatch, solves, sizes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(200, 1))
    problem = problem_of(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200))
    metric = LearnedMetric(kernel="Gaussian", rotation="none").fit(problem.X, problem.y)
    monkeypatch.setattr("mercer.workflows.held_out._MANY_FITTED", 20)
    monkeypatch.setattr("mercer.workflows.held_out.MOST_FACTORED", 60)
    if not solves:
        monkeypatch.setattr("mercer.workflows.held_out._solved", lambda *words: None)
    part = Split(np.arange(150), np.arange(150, 200))
    found = held_out_losses(problem, Labels.numbers("test", problem.y), [part], iter([metric]), 0)
    assert found.sizes.tolist() == sizes
    assert found.kernel.shape == (3, 50)
