"""What holds for every solver, on every named problem that it does not refuse."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.kernels.gram import Gram
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Laplace, Logistic, PolynomialLoss, Squared
from mercer.regularizers import L1Coefficients, L2Coefficients, Mixed, RKHSNorm
from mercer.solvers import SOLVERS, InteriorPoint, LeastSquares, LinearProgram, SolverResult, choose_solver
from tests.contracts.all_problems import PROBLEMS, make, name_of, rows, with_matrix

every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=name_of)
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=lambda solver: solver.name)

# One that each solver takes, with work for more than one iteration where it iterates.
TYPICAL = {
    "least_squares": make(Squared(), 2.0),
    "linear_program": make(EpsilonInsensitive(0.1), 2.0, regularizer=L1Coefficients()),
    "interior_point": make(EpsilonInsensitive(0.1), 2.0),
    "smo": make(EpsilonInsensitive(0.1), 2.0),
    "working_set": make(EpsilonInsensitive(0.1), 2.0),
    "conjugate_gradients": make(Squared(), 2.0),
}


def solvers_for(program):
    return [solver for solver in SOLVERS.values() if solver.refusal(program) is None]


@cache
def solution(solver_name, problem_name):
    """The solution of a named problem, found once for all tests."""
    (problem,) = (problem for problem in PROBLEMS if problem.name == problem_name)
    max_iter = 50 if solver_name == "interior_point" else None  # steps of the simplex method are another matter
    return SOLVERS[solver_name].solve(problem.program, tol=problem.tol / 2, max_iter=max_iter)


def solutions(problem):
    return {solver.name: solution(solver.name, problem.name) for solver in solvers_for(problem.program)}


@every_problem
def test_certificate_holds(problem):
    for name, result in solutions(problem).items():
        assert result.status == "optimal", name
        certificate = problem.program.certificate(result)
        assert certificate.holds(problem.tol), (name, certificate)
        assert certificate.relative_gap >= -problem.tol
        if problem.optimum is not None:
            size = 1 + abs(problem.optimum)
            np.testing.assert_allclose(certificate.primal, problem.optimum, atol=problem.tol * size, err_msg=name)


@every_problem
def test_solvers_agree(problem):
    results = list(solutions(problem).values())
    for result in results[1:]:
        np.testing.assert_allclose(result.primal, results[0].primal, rtol=problem.tol, atol=problem.tol)
        if problem.program.loss.quadratic:
            # Strongly convex: the function is unique, and C/2 times its squared distance is bounded by the gap.
            fitted = [problem.program.fitted(r.B, r.d) for r in (results[0], result)]
            gap = problem.tol * (abs(result.primal) + 1)
            distance = np.sqrt(2 * gap / problem.program.C_above.min())
            np.testing.assert_allclose(fitted[1], fitted[0], atol=2 * distance + 1e-12)


@every_problem
def test_auto_takes_a_direct_solver_for_few_samples(problem):
    name = choose_solver("auto", problem.program)
    assert name == solvers_for(problem.program)[0].name
    assert name.reason


@every_problem
def test_result_says_what_the_certificate_says(problem):
    for result in solutions(problem).values():
        certificate = problem.program.certificate(result)
        scale = abs(certificate.primal) + 1
        np.testing.assert_allclose(
            [result.primal, result.dual], [certificate.primal, certificate.dual], atol=1e-9 * scale
        )
        last = result.history[-1]
        np.testing.assert_allclose([last.primal, last.dual], [result.primal, result.dual], atol=1e-9 * scale)
        assert last.gap == last.primal - last.dual
        assert result.gap == result.primal - result.dual


@every_problem
def test_loose_tolerances_are_kept(problem):
    tol = 1e-4
    for solver in solvers_for(problem.program):
        result = solver.solve(problem.program, tol=tol)
        certificate = problem.program.certificate(result)
        assert result.status == "optimal"
        assert certificate.holds(tol)
        assert abs(certificate.relative_gap) <= tol
        assert certificate.infeasibility <= 1e-8, "a loose gap is no licence for constraints that do not hold"


@every_problem
def test_history_of_the_interior_point_method(problem):
    result = solution("interior_point", problem.name)
    assert len(result.history) == result.n_iter + 1
    primal = [iterate.primal for iterate in result.history]
    assert np.isfinite(primal).all()
    # Until columnsᵀB = 0 holds, the dual value is no bound; at the end it must be one.
    assert result.history[-1].gap >= -problem.tol * (abs(result.primal) + 1)


@every_problem
def test_warm_start_from_the_solution_does_no_harm(problem):
    solver = InteriorPoint()
    cold = solution("interior_point", problem.name)
    warm = solver.solve(problem.program, tol=problem.tol / 2, start=cold)
    assert warm.status == "optimal"
    assert problem.program.certificate(warm).holds(problem.tol)
    assert warm.n_iter <= 2 * cold.n_iter + 2


def test_warm_starts_save_iterations():
    solver = InteriorPoint()
    saved = 0
    for loss in (EpsilonInsensitive(0.1), Huber(0.2), PolynomialLoss(1.5), Hinge(), Logistic()):
        program = make(loss, 2.0)
        cold = solver.solve(program)
        warm = solver.solve(program, start=cold)
        assert warm.n_iter < cold.n_iter, loss
        harder = make(loss, 2.2)
        saved += solver.solve(harder).n_iter - solver.solve(harder, start=cold).n_iter
    assert saved > 0


@pytest.mark.parametrize("C", [1.0, 2e3])
@pytest.mark.parametrize("width", [0.1, 0.8, 3.0])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Huber(0.2), Hinge(), Logistic()], ids=repr)
def test_warm_start_from_a_neighbour_reaches_the_tolerance(loss, width, C):
    """As in a path over C: what a cold start can, a warm start must."""
    solver = InteriorPoint()
    for regularizer in (RKHSNorm(), L2Coefficients()):
        programs = [make(loss, factor * C, kernel=Gaussian(width), regularizer=regularizer) for factor in (1.0, 1.3)]
        cold = solver.solve(programs[1], tol=1e-6)
        assert cold.status == "optimal"
        warm = solver.solve(programs[1], tol=1e-6, start=solver.solve(programs[0], tol=1e-6))
        assert warm.status == "optimal", regularizer
        assert programs[1].certificate(warm).holds(1e-6)


@every_problem
def test_one_iteration_is_not_enough_and_says_so(problem):
    needed = solution("interior_point", problem.name).n_iter
    result = InteriorPoint().solve(problem.program, tol=problem.tol / 2, max_iter=1)
    if needed > 1:
        assert result.status == "max_iter"
        assert result.n_iter == 1
        assert len(result.history) == 2
    assert np.isfinite(result.B).all()
    assert np.isfinite(result.primal)


def test_no_iteration_at_all():
    result = InteriorPoint().solve(TYPICAL["interior_point"], max_iter=0)
    assert (result.status, result.n_iter, len(result.history)) == ("max_iter", 0, 1)


def test_linear_program_keeps_max_iter():
    result = LinearProgram().solve(TYPICAL["linear_program"], max_iter=1)
    assert result.status == "max_iter"
    assert result.n_iter <= 1


# Callbacks and interruption ------------------------------------------------------------------------------------------


@every_solver
def test_callback_is_called(solver):
    seen = []
    result = solver.solve(TYPICAL[solver.name], callback=lambda iteration, iterate: seen.append((iteration, iterate)))
    assert seen
    assert seen[0][0] == 0
    assert result.status == "optimal"


def test_callback_sees_the_history():
    seen = []
    result = InteriorPoint().solve(TYPICAL["interior_point"], callback=lambda i, iterate: seen.append((i, iterate)))
    assert [i for i, _ in seen] == list(range(result.n_iter))
    assert [iterate for _, iterate in seen] == result.history[:-1]


def test_callback_stops():
    program = TYPICAL["interior_point"]
    result = InteriorPoint().solve(program, callback=lambda i, iterate: i == 3)
    assert (result.status, result.n_iter) == ("interrupted", 3)
    again = InteriorPoint().solve(program, start=result)
    assert again.status == "optimal"
    assert program.certificate(again).holds(1e-8)


@pytest.mark.parametrize("at", [0, 1, 4])
@pytest.mark.parametrize("name", ["EpsilonInsensitive(epsilon=0.1)", "order 2, Logistic()", "budget of 0.5"])
def test_interruption_leaves_a_warm_start(at, name):
    (program,) = (problem.program for problem in PROBLEMS if problem.name == name)

    def interrupt(iteration, iterate):
        if iteration == at:
            raise KeyboardInterrupt

    result = InteriorPoint().solve(program, callback=interrupt)
    assert result.status == "interrupted"
    assert result.n_iter == at
    certificate = program.certificate(result)
    assert np.isfinite(certificate.primal)
    assert not certificate.holds(1e-8)
    again = InteriorPoint().solve(program, start=result)
    assert again.status == "optimal"
    assert program.certificate(again).holds(1e-8)


def test_other_errors_of_a_callback_come_through():
    def fail(iteration, iterate):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        InteriorPoint().solve(TYPICAL["interior_point"], callback=fail)


def test_progress_bar(capsys):
    InteriorPoint().solve(TYPICAL["interior_point"], verbose=True)
    assert "Interior point" in capsys.readouterr().err
    InteriorPoint().solve(TYPICAL["interior_point"])
    assert capsys.readouterr().err == ""


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "program", "reason"),
    [
        (LeastSquares(), make(Huber()), "'least_squares' cannot solve this problem: Huber.* is not the squared loss"),
        (LeastSquares(), make(Squared(epsilon=0.1)), "is not the squared loss; choose the solver 'interior_point'"),
        (LeastSquares(), make(Squared(), regularizer=L1Coefficients()), "it has an l1 penalty; choose"),
        (LeastSquares(), make(Squared(), regularizer=Mixed()), "it has an l1 penalty; choose"),
        (LeastSquares(), make(Squared(), (1.0, 2.0)), "C differs above and below; choose"),
        (LeastSquares(), make(Squared(), budget=1.0), "it has a budget; choose"),
        (
            LinearProgram(),
            make(Laplace()),
            "'linear_program' cannot solve this problem: it has a quadratic part; choose",
        ),
        (LinearProgram(), make(Squared(), regularizer=L1Coefficients()), "Squared.* is not piecewise linear; choose"),
        (LinearProgram(), make(Laplace(), regularizer=L1Coefficients(), budget=1.0), "it has a budget; choose"),
        (LeastSquares(), replace(make(Squared()), target=np.ones(1)), "its target is not zero; choose"),
        (
            LinearProgram(),
            replace(make(Laplace(), regularizer=L1Coefficients()), target=np.ones(41)),
            "its target is not zero; choose the solver 'interior_point'",
        ),
    ],
)
def test_refusals(solver, program, reason):
    with pytest.raises(ValueError, match=reason):
        solver.solve(program)


@pytest.mark.parametrize("solver", [InteriorPoint(), LeastSquares(), LinearProgram()], ids=lambda solver: solver.name)
def test_operators_are_refused_by_solvers_that_need_the_matrix(solver):
    program = replace(make(Squared()), gram=Gram(Gaussian(0.8), rows(40)))
    with pytest.raises(
        ValueError, match="is an operator that is never formed; choose the solver 'smo' or 'working_set'"
    ):
        solver.solve(program)


def test_unknown_solver():
    with pytest.raises(
        ValueError, match="solver must be 'auto' or one of .*'interior_point'.*, got 'magic'; choose one"
    ):
        choose_solver("magic", TYPICAL["interior_point"])


@pytest.mark.parametrize("loss", [Squared(), Huber(0.2), EpsilonInsensitive(0.1), Hinge()], ids=repr)
def test_budget_with_another_loss_is_refused_or_solved(loss):
    """The tube that is best for the absolute loss is not best for others, so the gap would never close."""
    program = make(loss, 2.0, budget=24.0)
    if InteriorPoint().refusal(program) is None:
        result = InteriorPoint().solve(program)
        assert result.status == "optimal"
        assert program.certificate(result).holds(1e-8)


def test_conditional_kernel_with_priced_polynomials_is_refused():
    """K is not positive semi-definite on |columnsᵀB| <= bounds: the program is not convex."""
    from mercer.kernels import ThinPlate

    program = make(EpsilonInsensitive(0.1), 2.0, kernel=ThinPlate(), regularizer=Mixed(1.0))
    with pytest.raises(ValueError, match=r"(?i)conditional"):
        InteriorPoint().solve(program)


# Matrices that are not what they should be ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [InteriorPoint(), LeastSquares()], ids=lambda solver: solver.name)
def test_indefinite_matrix_stalls(solver):
    program = replace(make(Squared(), 2.0), gram=-np.eye(40))
    result = solver.solve(program)
    assert result.status == "stalled"
    assert result.n_iter >= 0
    assert result.history
    assert not program.certificate(result).holds(1e-3)


def test_column_of_zeros_does_not_crash():
    program = make(EpsilonInsensitive(0.1), 2.0, columns=np.zeros((40, 1)))
    result = InteriorPoint().solve(program)
    assert result.status in ("optimal", "stalled")
    assert program.certificate(result).holds(1e-8) == (result.status == "optimal")


def test_low_rank_factor_that_is_not_finite_stalls():
    (problem,) = (problem for problem in PROBLEMS if problem.name == "low rank, EpsilonInsensitive(epsilon=0.1)")
    factor = problem.program.gram.factor.copy()
    factor[3, 0] = np.nan
    program = replace(problem.program, gram=replace(problem.program.gram, factor=factor))
    result = InteriorPoint().solve(program)
    assert result.status == "stalled"
    assert not program.certificate(result).holds(1e-3)


def test_interruption_before_the_first_point(monkeypatch):
    from mercer.solvers.interior_point import method

    def interrupt(*args):
        raise KeyboardInterrupt

    program = TYPICAL["interior_point"]
    with monkeypatch.context() as patch:
        patch.setattr(method, "starting_point", interrupt)
        result = InteriorPoint().solve(program)
    assert (result.status, result.n_iter) == ("interrupted", 0)
    assert InteriorPoint().solve(program, start=result).status == "optimal"


def test_columns_that_depend_on_each_other_do_not_crash():
    columns = np.column_stack([np.ones(40), np.ones(40), rows(40)[:, 0]])
    program = make(EpsilonInsensitive(0.1), 2.0, columns=columns)
    result = InteriorPoint().solve(program)
    assert result.status == "optimal"
    assert program.certificate(result).holds(1e-8)


def test_least_squares_does_not_claim_what_the_certificate_denies():
    """C so large that 1/C is lost beside K: either the gap is small, or the status says that it is not."""
    for C in (1e8, 1e12, 1e16, 1e20):
        program = make(Squared(), C)
        result = LeastSquares().solve(program)
        assert (result.status == "optimal") == (program.certificate(result).relative_gap <= 1e-8), C


def test_low_rank_equals_the_matrix():
    low = [problem for problem in PROBLEMS if problem.name.startswith("low rank")]
    for problem in low:
        for solver in solvers_for(problem.program):
            thin = solver.solve(problem.program, tol=1e-10)
            full = solver.solve(with_matrix(problem.program), tol=1e-10)
            np.testing.assert_allclose(thin.primal, full.primal, rtol=1e-9)
            fitted = problem.program.fitted(thin.B, thin.d)
            np.testing.assert_allclose(fitted, problem.program.fitted(full.B, full.d), atol=1e-3)


def test_linear_program_that_fails_is_an_error(monkeypatch):
    from types import SimpleNamespace

    from mercer.solvers import linear_program

    monkeypatch.setattr(linear_program, "linprog", lambda *a, **k: SimpleNamespace(status=4, message="no luck"))
    with pytest.raises(ArithmeticError, match="HiGHS failed on a program that has a solution: no luck"):
        LinearProgram().solve(TYPICAL["linear_program"])


# The certificate -----------------------------------------------------------------------------------------------------


CHECKED = [
    "EpsilonInsensitive(epsilon=0.1)",
    "Squared(epsilon=0.0)",
    "Huber(sigma=0.2, epsilon=0.0)",
    "Logistic()",
    "order 2, EpsilonInsensitive(epsilon=0.1)",
    "L1Coefficients, EpsilonInsensitive(epsilon=0.1)",
    "Mixed, Hinge()",
    "budget of 0.5",
    "C below and above of each sample, EpsilonInsensitive(epsilon=0.1)",
]


@pytest.fixture(params=CHECKED)
def solved(request):
    (problem,) = (problem for problem in PROBLEMS if problem.name == request.param)
    return problem.program, InteriorPoint().solve(problem.program, tol=1e-10)


def claim(result, B, d):
    """A result that claims to be optimal."""
    return SolverResult("optimal", B, d, result.primal, result.primal, 1, result.history)


def test_certificate_is_not_fooled_by_perturbations(solved):
    program, result = solved
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-1, 10.0):
        B = result.B + size * np.abs(result.B).max() * rng.normal(size=len(result.B))
        assert not program.certificate(claim(result, B, result.d)).holds(1e-7)
        d = result.d + size * (np.abs(result.d).max() + 1) * rng.normal(size=len(result.d))
        assert not program.certificate(claim(result, result.B, d)).holds(1e-7)


def test_certificate_is_not_fooled_by_scaling_or_signs(solved):
    program, result = solved
    for factor in (0.0, 0.9, -1.0, 1.1, 1e6):
        assert not program.certificate(claim(result, factor * result.B, result.d)).holds(1e-6)


def test_certificate_is_not_fooled_by_numbers_that_are_none(solved):
    program, result = solved
    for bad in (np.nan, np.inf):
        B = result.B.copy()
        B[3] = bad
        with np.errstate(invalid="ignore"):
            assert not program.certificate(claim(result, B, result.d)).holds(1e-3)


def test_certificate_sees_a_box_that_is_left():
    program = make(EpsilonInsensitive(0.1), 2.0, columns=np.empty((40, 0)))
    result = InteriorPoint().solve(program, tol=1e-10)
    B = result.B.copy()
    i = int(np.argmax(B))
    B[i] = 2.0 + 1e-3
    certificate = program.certificate(claim(result, B, result.d))
    np.testing.assert_allclose(certificate.infeasibility, 0.5e-3, rtol=1e-6)
    assert not certificate.holds(1e-4)


def test_certificate_sees_columns_that_are_not_orthogonal():
    """A B with a better dual value than the optimum, since it ignores the constraint."""
    free, tied = make(Huber(0.2), 2.0, columns=np.empty((40, 0))), make(Huber(0.2), 2.0)
    result, optimum = InteriorPoint().solve(free, tol=1e-10), InteriorPoint().solve(tied, tol=1e-10)
    certificate = tied.certificate(claim(optimum, result.B, optimum.d))
    assert tied.dual(result.B) > optimum.primal
    assert certificate.dual < optimum.primal, "what the violated constraint may be worth is taken off"
    assert certificate.relative_gap < 0 or certificate.infeasibility > 1e-3
    assert not certificate.holds(1e-4)


def test_certificate_sees_a_budget_that_is_overdrawn():
    tight, wide = make(Laplace(), 2.0, budget=8.0), make(Laplace(), 2.0, budget=80.0)
    result = InteriorPoint().solve(wide, tol=1e-10)
    certificate = tight.certificate(result)
    assert certificate.infeasibility > 0.1
    assert not certificate.holds(1e-3)


@pytest.mark.parametrize("C", [0.1, 0.3, 0.7, 1.1, 3.3, 4.9])
def test_the_edge_of_the_box_is_in_the_box(C):
    """C q / C may be more than q by rounding: the dual value there is finite all the same."""
    from mercer.losses import Quantile

    for q in (0.1, 0.2, 0.7, 0.8, 0.9):
        program = make(Quantile(q), C)
        low, high = program.box()
        for B in (low, high):
            assert np.isfinite(program.dual(B)), q
            certificate = program.certificate(claim_of(B))
            assert np.isfinite(certificate.dual), q


def claim_of(B):
    return SolverResult("optimal", B, np.zeros(1), 0.0, 0.0, 0)


@pytest.mark.parametrize("p", [1.02, 1.05, 1.1, 1.15, 1.2])
@pytest.mark.parametrize("C", [1e-3, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("regularizer", [RKHSNorm(), L1Coefficients(), L2Coefficients(), Mixed(1.0)], ids=repr)
def test_powers_near_one(p, C, regularizer):
    """The conjugate s^q / q with q = p / (p - 1) up to 51 is a wall: bounds that any solution keeps stand before it."""
    program = make(PolynomialLoss(p), C, regularizer=regularizer)
    result = InteriorPoint().solve(program, tol=1e-8)
    certificate = program.certificate(result)
    if (p, C) == (1.02, 1e4) and isinstance(regularizer, L1Coefficients):
        # The last digits of s^51 are lost: how near it comes to the tolerance is luck, and the status must tell.
        assert (result.status == "optimal") == certificate.holds(1e-8)
        assert certificate.holds(1e-6)
        return
    assert result.status == "optimal"
    assert certificate.holds(1e-8)
    assert result.n_iter <= 40
