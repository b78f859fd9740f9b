from dataclasses import replace

import numpy as np
import pytest

from mercer.manifolds import Alternation, ExpectationMaximisation, ManifoldProblem, Rows, fit_manifold
from mercer.running import Status, Stopping
from tests.contracts.all_manifolds import COSTS, PENALTY, PROBLEMS, basis_of, rows_of, value


def problem_of(cost, regularizer, space, *, holes=False):
    X, Z = rows_of(space, holes=holes)
    return ManifoldProblem.of(X, basis_of(regularizer, space), PENALTY, COSTS[cost], regularizer), X, Z


@pytest.mark.parametrize(("cost", "regularizer", "space"), PROBLEMS)
def test_values_and_checks_of_problems(cost, regularizer, space):
    problem, X, Z = problem_of(cost, regularizer, space)
    fit = Alternation().solve(problem, Z, Stopping(1e-6, 30))
    assert problem.value(fit.map, fit.Z) == pytest.approx(value(cost, regularizer, X, fit.map, fit.Z), rel=1e-9)
    check = problem.check(fit)
    assert check.error < 1e-6
    assert check.projected <= check.value * (1 + 1e-6)
    if cost != "l1":  # its kinks
        assert check.adapted <= check.value * (1 + 1e-6)


def test_a_check_sees_what_is_stated_wrongly_and_what_is_not_done():
    problem, _, Z = problem_of("squared", "rkhs", "curve")
    fit = Alternation().solve(problem, Z, Stopping(1e-9, 100))
    done = problem.check(fit)
    assert done.gain < 1e-4
    assert problem.check(replace(fit, objective=0.9 * fit.objective)).error == pytest.approx(0.1, rel=1e-3)
    moved = problem.check(replace(fit, Z=problem.basis.space.inside(fit.Z + 0.1)))
    assert moved.gain > 0.05
    assert moved.value > done.value
    other = fit.map.basis.map_of(1.1 * fit.map.coefficients)
    assert problem.check(replace(fit, map=other)).gain > 1e-3


def test_the_basis_must_suit_the_penalty():
    with pytest.raises(ValueError, match="basis of ManifoldProblem must have whitened=False for MapL1"):
        ManifoldProblem.of(np.ones((3, 3)), basis_of("rkhs", "curve"), 1.0, "squared", "l1")


def test_em_refuses_what_it_is_not_for():
    for case, reason in {
        ("l1", "rkhs", False): "normal noise; choose the cost 'squared'",
        ("squared", "l1", False): "its regularizer is not quadratic; choose 'rkhs'",
        ("squared", "rkhs", True): "its rows have missing entries; fill them first",
    }.items():
        problem, _, Z = problem_of(*case[:2], "curve", holes=case[2])
        assert Alternation().refusal(problem) is None
        with pytest.raises(
            ValueError, match=f"solver 'expectation_maximisation' cannot solve this problem: .*{reason}"
        ):
            ExpectationMaximisation().solve(problem, Z, Stopping(1e-3, 3))


@pytest.mark.parametrize("solver", [Alternation(), ExpectationMaximisation()], ids=lambda solver: solver.name)
def test_solvers_end_by_time_and_by_request(solver):
    problem, _, Z = problem_of("squared", "rkhs", "curve")
    assert solver.solve(problem, Z, Stopping(1e-12, 500, time_limit=0.0)).status is Status.TIME_LIMIT
    stopped = solver.solve(problem, Z, Stopping(1e-12, 500), lambda n_iter, fit: n_iter == 2)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.n_iter == 2


def test_callbacks_are_told_of_the_last_iteration_too():
    problem, X, Z = problem_of("squared", "rkhs", "curve")
    told = []
    fit = fit_manifold(Rows(X), Z, problem.basis, PENALTY, tol=1e-3, callback=lambda n_iter, _: told.append(n_iter))
    assert fit.status == "optimal"
    assert told == list(range(1, fit.n_iter + 1))
