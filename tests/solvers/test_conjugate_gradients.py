"""Conjugate gradients beside dense solves, and what they claim beside certificates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from sklearn import kernel_ridge

from mercer.kernels import Exponential, Gaussian, Linear, Multiquadric, Polynomial, Precomputed, ThinPlate
from mercer.kernels.gram import Gram, incomplete_cholesky
from mercer.losses import Huber, Squared
from mercer.problems import KernelProgram
from mercer.regularizers import L1Coefficients, L2Coefficients, Mixed, RKHSNorm
from mercer.solvers import ConjugateGradients, LeastSquares
from tests.contracts.all_problems import PROBLEMS, constants, make, name_of, rows, smooth_targets

N = 300
SQUARED = [problem for problem in PROBLEMS if ConjugateGradients().refusal(problem.program) is None]
COLUMNS = {
    "none": np.empty((N, 0)),
    "constant": constants(N),
    "linear": np.column_stack([np.ones(N), rows(N)]),
    "three": np.column_stack([np.ones(N), rows(N)[:, 0], np.sin(3 * rows(N)[:, 1])]),
}
WEIGHTS = {"1e-6": 1e-6, "1": 1.0, "1e6": 1e6, "each": np.geomspace(1e-3, 1e3, N)}
X_OF = {"distinct": rows(N), "repeated": np.repeat(rows(N // 3), 3, axis=0)}


def program(kernel, X=None, *, C=2.0, columns=None, y=None, gram=None):
    X = X_OF["distinct"] if X is None else X
    columns = constants(len(X)) if columns is None else columns
    if kernel.order:
        columns = np.column_stack([kernel.polynomial_part(X), columns])
    penalty = RKHSNorm().penalty(Gram(kernel, X) if gram is None else gram, columns)
    return KernelProgram.build(
        penalty, smooth_targets(X) if y is None else y, Squared(), C, conditional=kernel.order > 0
    )


def reference(problem, kernel, X):
    """B and the fitted values, by a dense solve of the saddle-point system in units of 1 / √C."""
    root = np.sqrt(problem.C_above)[:, None]
    Phi = root * problem.columns
    complement = np.linalg.svd(Phi)[0][:, np.linalg.matrix_rank(Phi) :]
    M = complement.T @ (root * kernel(X) * root.T + np.eye(len(X))) @ complement
    b = complement @ np.linalg.solve(M, complement.T @ (root[:, 0] * problem.y))
    return root[:, 0] * b, problem.y - b / root[:, 0]


@pytest.mark.parametrize("data", X_OF)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Exponential(2.0), Multiquadric(0.5), ThinPlate()], ids=repr)
def test_equals_a_dense_solve(kernel, columns, weights, data):
    X, C = X_OF[data], WEIGHTS[weights]
    for gram in (None, kernel(X)):
        problem = program(kernel, X, C=C, columns=COLUMNS[columns], gram=gram)
        result = ConjugateGradients().solve(problem, tol=1e-12)
        assert result.status == "optimal"
        assert problem.certificate(result).holds(1e-11)
        B, fitted = reference(problem, kernel, X)
        # The squared distance of the functions is bounded by the gap, whatever C is.
        distance = np.sqrt(2e-12 * (abs(result.primal) + 1) / problem.C_above.min())
        np.testing.assert_allclose(problem.fitted(result.B, result.d), fitted, atol=distance + 1e-9)
        np.testing.assert_allclose(result.B / problem.C_above, B / problem.C_above, atol=distance + 1e-9)


@pytest.mark.parametrize("rank", [0, 3, 30, N, 10 * N])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), ThinPlate()], ids=repr)
def test_any_rank_will_do(kernel, rank):
    problem = program(kernel, C=np.geomspace(0.1, 10.0, N))
    result = ConjugateGradients(rank).solve(problem, tol=1e-10)
    assert result.status == "optimal"
    np.testing.assert_allclose(
        problem.fitted(result.B, result.d), reference(problem, kernel, X_OF["distinct"])[1], atol=1e-4
    )


def test_a_preconditioner_saves_iterations():
    problem = program(Gaussian(0.8), C=100.0)
    needed = [ConjugateGradients(rank).solve(problem).n_iter for rank in (0, 20, 60, N)]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 3 * needed[2]
    assert needed[3] <= 2


@pytest.mark.parametrize("problem", SQUARED, ids=name_of)
@pytest.mark.parametrize("rank", [None, 10])
def test_named_problems(problem, rank):
    result = ConjugateGradients(rank).solve(problem.program, tol=problem.tol / 2)
    certificate = problem.program.certificate(result)
    assert result.status == "optimal"
    assert certificate.holds(problem.tol)
    assert certificate.infeasibility <= 1e-9
    assert len(result.history) == result.n_iter + 1
    direct = LeastSquares().solve(problem.program)
    np.testing.assert_allclose(result.primal, direct.primal, rtol=problem.tol, atol=problem.tol)


def test_equals_scikit_learn():
    X, y = X_OF["distinct"], smooth_targets(X_OF["distinct"])
    theirs = kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X, y)
    result = ConjugateGradients().solve(program(Gaussian(1.0), columns=COLUMNS["none"], C=10.0), tol=1e-14)
    np.testing.assert_allclose(result.B, theirs.dual_coef_, atol=1e-5)


def test_equals_scipys_thin_plates():
    X, y = X_OF["distinct"], smooth_targets(X_OF["distinct"])
    expected = RBFInterpolator(X, y, kernel="thin_plate_spline", smoothing=0.5)(X)
    problem = program(ThinPlate(), columns=COLUMNS["none"], C=2.0)
    result = ConjugateGradients().solve(problem, tol=1e-14)
    np.testing.assert_allclose(problem.fitted(result.B, result.d), expected, atol=1e-6)


def test_weight_decay_is_a_matrix_like_others():
    problem = make(Squared(), 2.0, regularizer=L2Coefficients())
    result = ConjugateGradients().solve(problem)
    np.testing.assert_allclose(result.primal, LeastSquares().solve(problem).primal, rtol=1e-8)


# What is claimed -----------------------------------------------------------------------------------------------------


def random_problem(seed):
    """A small problem that may be anything, with units from 1e-4 to 1e4 and weights from 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    n, n_columns = int(rng.integers(2, 80)), int(rng.integers(1, 4))
    X = 10 ** rng.uniform(-1, 2) * rng.normal(size=(n, n_columns)) + rng.choice([0.0, 100.0])
    X = X[rng.integers(0, n, size=n)] if rng.random() < 0.3 else X
    kernels = [
        Gaussian(10 ** rng.uniform(-1.5, 2)),
        Multiquadric(),
        ThinPlate(),
        Linear(),
        Exponential(),
        Polynomial(2),
    ]
    kernel = kernels[rng.integers(len(kernels))]
    columns = [np.empty((n, 0)), constants(n), np.column_stack([np.ones(n), np.ones(n), X])][rng.integers(3)]
    C = 10 ** rng.uniform(-6, 6, size=n if rng.random() < 0.5 else None)
    y = 10 ** rng.uniform(-4, 4) * rng.normal(size=n) + rng.choice([0.0, 1e3])
    gram = kernel(X) if rng.random() < 0.5 else None
    rank = [None, 0, 5, 30][rng.integers(4)]
    return program(kernel, X, C=C, columns=columns, y=y, gram=gram), rank, 10.0 ** rng.integers(-10, -2)


@pytest.mark.parametrize("block", range(10))
def test_optimal_is_never_claimed_in_vain(block):
    statuses = []
    for seed in range(20 * block, 20 * (block + 1)):
        problem, rank, tol = random_problem(seed)
        result = ConjugateGradients(rank).solve(problem, tol=tol)
        certificate = problem.certificate(result)
        statuses.append(result.status)
        # Products with an operator differ in the last digits from call to call.
        assert (result.status == "optimal") <= certificate.holds(tol * (1 + 1e-6) + 1e-14), (seed, certificate)
        np.testing.assert_allclose(result.primal, certificate.primal, rtol=1e-6)
        rounding = 16 * np.finfo(float).eps * np.sum(np.abs(problem.y * result.B))
        if result.status != "optimal" and abs(certificate.gap) > rounding:
            dense = replace(problem, gram=problem.gram if problem.in_memory else problem.gram.toarray())
            assert LeastSquares().solve(dense, tol=tol).status == "stalled", "what Cholesky can, the iteration must"
    # Targets a thousand times as far from zero as they vary leave no digits for a gap of 1e-10 of the value.
    assert statuses.count("optimal") >= 13


def test_weights_beyond_rounding():
    """1/C is lost beside K: either the gap is small, or the status says that it is not."""
    for C in (1e8, 1e12, 1e16, 1e20):
        problem = make(Squared(), C)
        result = ConjugateGradients().solve(problem)
        assert (result.status == "optimal") == (abs(problem.certificate(result).relative_gap) <= 1e-8), C


def test_indefinite_matrix_stalls():
    problem = replace(make(Squared(), 2.0), gram=-np.eye(40))
    result = ConjugateGradients().solve(problem)
    assert result.status == "stalled"
    assert not problem.certificate(result).holds(1e-3)


def test_matrix_that_is_not_finite_stalls():
    K = Gaussian(0.8)(rows(40))
    K[3, 5] = K[5, 3] = np.nan
    with np.errstate(invalid="ignore"):
        result = ConjugateGradients().solve(replace(make(Squared(), 2.0), gram=K))
    assert result.status == "stalled"
    assert np.isfinite(result.B).all()


# Products ------------------------------------------------------------------------------------------------------------


class CountingGram(Gram):
    """Counts products, and must not be formed."""

    n_products = 0

    def _matmat(self, V):
        self.n_products += 1
        return super()._matmat(V)

    def toarray(self):
        raise AssertionError("formed")


def counting_problem(n=1500, C=50.0):
    X = rows(n, 3)
    return program(Gaussian(1.0), X, C=C, gram=CountingGram(Gaussian(1.0), X))


def test_one_product_in_each_iteration_one_to_be_sure_and_one_for_the_certificate():
    problem = counting_problem()
    result = ConjugateGradients(50).solve(problem, tol=1e-6)
    assert result.status == "optimal"
    assert result.n_iter > 5
    assert problem.gram.n_products == result.n_iter + 2


def test_several_targets_share_their_products():
    problem = counting_problem()
    others = [replace(problem, y=y) for y in (np.cos(problem.y), np.full(1500, 3.0), 1e3 * problem.y)]
    solver = ConjugateGradients(50)
    preconditioner = solver.preconditioner(problem)
    together = solver.solve_all([problem, *others], preconditioner, tol=1e-10)
    assert problem.gram.n_products <= max(result.n_iter for result in together) + 3
    for one, result in zip([problem, *others], together, strict=True):
        alone = solver.solve(one, tol=1e-10)
        assert result.status == alone.status == "optimal"
        assert abs(result.n_iter - alone.n_iter) <= 0.1 * alone.n_iter, "but for rounding the iterations are the same"
        assert len(result.history) == result.n_iter + 1
        np.testing.assert_allclose(result.B, alone.B, atol=1e-4 * np.abs(one.y).max())
    assert together[2].n_iter == 0


def test_one_preconditioner_for_all_weights_that_are_proportional():
    problem = program(Gaussian(0.8), C=np.linspace(1.0, 2.0, N))
    solver = ConjugateGradients()
    preconditioner = solver.preconditioner(problem, weights=np.linspace(10.0, 20.0, N))
    (result,) = solver.solve_all([problem], preconditioner)
    assert (result.status, result.n_iter) == ("optimal", 1)
    np.testing.assert_allclose(result.primal, solver.solve(problem).primal, rtol=1e-9)


def test_memory_limits_the_rank():
    problem = program(Exponential(3.0))
    assert len(ConjugateGradients().preconditioner(problem).values) == 200
    assert len(ConjugateGradients().preconditioner(problem, memory=2 * 8 * N * 20).values) == 20
    assert ConjugateGradients().solve(problem, memory=0).status == "optimal"


def test_precomputed():
    X = X_OF["distinct"]
    problem = program(Precomputed(), X, gram=Gram(Precomputed(), Gaussian(0.8)(X)))
    expected = ConjugateGradients().solve(program(Gaussian(0.8)))
    np.testing.assert_allclose(ConjugateGradients().solve(problem).primal, expected.primal, rtol=1e-8)


# The course of the iteration -----------------------------------------------------------------------------------------

TYPICAL = program(Gaussian(0.8), C=50.0)
SLOW = ConjugateGradients(10)


def test_history_holds_the_values_of_the_programs():
    whole = SLOW.solve(TYPICAL)
    assert whole.n_iter > 10
    for n_iter in (0, 1, 4, 9):
        part = SLOW.solve(TYPICAL, max_iter=n_iter)
        assert (part.status, part.n_iter) == ("max_iter", n_iter)
        certificate = TYPICAL.certificate(part)
        np.testing.assert_allclose([part.primal, part.dual], [certificate.primal, certificate.dual], rtol=1e-10)
        seen = whole.history[n_iter]
        # At zero the dual value is zero but for what the certificate takes off for rounding.
        atol = 1e-15 * certificate.primal
        np.testing.assert_allclose(
            [seen.primal, seen.dual], [certificate.primal, certificate.dual], rtol=1e-7, atol=atol
        )
    duals = [iterate.dual for iterate in whole.history]
    assert np.all(np.diff(duals) > -1e-9)
    assert (whole.history[-1].primal, whole.history[-1].dual) == (whole.primal, whole.dual)


def test_callback_sees_the_history():
    seen = []
    result = SLOW.solve(TYPICAL, callback=lambda i, iterate: seen.append((i, iterate)))
    assert [i for i, _ in seen] == list(range(result.n_iter))
    assert [iterate for _, iterate in seen] == result.history[:-1]


@pytest.mark.parametrize("at", [0, 1, 4])
def test_callback_stops(at):
    result = SLOW.solve(TYPICAL, callback=lambda i, iterate: i == at)
    assert (result.status, result.n_iter) == ("interrupted", at)


@pytest.mark.parametrize("at", [0, 1, 6])
def test_interruption_leaves_a_warm_start(at):
    def interrupt(i, iterate):
        if i == at:
            raise KeyboardInterrupt

    result = SLOW.solve(TYPICAL, callback=interrupt)
    assert (result.status, result.n_iter) == ("interrupted", at)
    certificate = TYPICAL.certificate(result)
    np.testing.assert_allclose([result.primal, result.dual], [certificate.primal, certificate.dual], rtol=1e-10)
    again = SLOW.solve(TYPICAL, start=result)
    assert again.status == "optimal"
    np.testing.assert_allclose(again.history[0].gap, result.gap, rtol=1e-6)


def test_interruption_in_the_middle_of_a_product():
    class Impatient(CountingGram):
        def _matmat(self, V):
            if self.n_products == 3:
                self.n_products += 1
                raise KeyboardInterrupt
            return super()._matmat(V)

    problem = program(Gaussian(0.8), C=50.0, gram=Impatient(Gaussian(0.8), X_OF["distinct"]))
    result = SLOW.solve(problem)
    assert (result.status, result.n_iter) == ("interrupted", 3)
    np.testing.assert_allclose(result.primal, problem.certificate(result).primal, rtol=1e-10)


def test_other_errors_of_a_callback_come_through():
    def fail(iteration, iterate):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        SLOW.solve(TYPICAL, callback=fail)


def test_start_at_the_solution():
    solution = SLOW.solve(TYPICAL, tol=1e-10)
    again = SLOW.solve(TYPICAL, start=solution, tol=1e-9)
    assert (again.status, again.n_iter) == ("optimal", 0)


def test_start_near_the_solution():
    solution = SLOW.solve(TYPICAL, tol=1e-10)
    near = replace(TYPICAL, y=TYPICAL.y + 1e-3 * np.cos(np.arange(N)))
    assert SLOW.solve(near, start=solution).n_iter < SLOW.solve(near).n_iter


@pytest.mark.parametrize("value", [1e9, np.nan, np.inf])
def test_a_start_that_is_worse_than_none_is_forgotten(value):
    cold = SLOW.solve(TYPICAL)
    start = replace(cold, B=np.where(np.arange(N) % 2, value, cold.B))
    with np.errstate(invalid="ignore"):
        warm = SLOW.solve(TYPICAL, start=start)
    assert (warm.status, warm.n_iter) == ("optimal", cold.n_iter)


def test_targets_that_the_columns_explain():
    problem = program(ThinPlate(), y=3.0 - 2.0 * rows(N)[:, 0])
    result = ConjugateGradients().solve(problem)
    assert (result.status, result.n_iter) == ("optimal", 0)
    np.testing.assert_allclose(problem.fitted(result.B, result.d), problem.y, atol=1e-10)


def test_progress_bar(capsys):
    SLOW.solve(TYPICAL, verbose=True)
    assert "Conjugate gradients" in capsys.readouterr().err
    SLOW.solve(TYPICAL)
    assert capsys.readouterr().err == ""


# Refusals ------------------------------------------------------------------------------------------------------------


def low_rank():
    penalty = RKHSNorm().penalty(incomplete_cholesky(Gaussian(0.8), rows(40)), constants(40))
    return KernelProgram.build(penalty, smooth_targets(rows(40)), Squared(), 1.0)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (make(Huber()), "'conjugate_gradients' cannot solve this problem: Huber.* is not the squared loss; choose"),
        (make(Squared(epsilon=0.1)), "is not the squared loss; choose the solver 'working_set'"),
        (make(Squared(), regularizer=L1Coefficients()), "it has an l1 penalty; choose"),
        (make(Squared(), regularizer=Mixed()), "it has an l1 penalty; choose"),
        (low_rank(), "its matrix is a low-rank factor; choose the solver 'least_squares'"),
        (make(Squared(), (1.0, 2.0)), "C differs above and below; choose"),
        (make(Squared(), budget=1.0), "it has a budget; choose"),
        (replace(make(Squared()), target=np.ones(1)), "its target is not zero; choose"),
    ],
)
def test_refusals(problem, reason):
    with pytest.raises(ValueError, match=reason):
        ConjugateGradients().solve(problem)


@pytest.mark.parametrize("rank", [-1, 2.5, "all", True])
def test_rank(rank):
    with pytest.raises(ValueError, match="rank of ConjugateGradients must be a whole number >= 0, got .*; or None for"):
        ConjugateGradients(rank).solve(TYPICAL)


def test_options_of_several_problems():
    with pytest.raises(ValueError, match="tol of solver 'conjugate_gradients' must be a number > 0"):
        SLOW.solve_all([TYPICAL], SLOW.preconditioner(TYPICAL), tol=-1.0)
