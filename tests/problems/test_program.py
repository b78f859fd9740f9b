"""Programs as data: values, box, tube, and the bound of a low-rank certificate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.kernels.gram import Gram, incomplete_cholesky
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Laplace, Logistic, Quantile
from mercer.problems import Certificate, Iterate, KernelProgram
from mercer.regularizers import L1Coefficients, Mixed, RKHSNorm
from mercer.solvers import InteriorPoint, SolverResult
from mercer.threads import single_threaded_numpy
from tests.contracts.all_losses import name_of
from tests.contracts.all_problems import EVERY_LOSS, labels, make, rows, smooth_targets

N = 40


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=name_of)
def test_values_follow_from_their_definition(loss):
    below, above = (2.0, 2.0) if isinstance(loss, Logistic) else (0.5, 2.0)
    program = make(loss, (below, above), regularizer=Mixed(0.3))
    rng = np.random.default_rng(0)
    K, y = Gaussian(0.8)(rows(N)), program.y
    low, high = program.box()
    A = np.clip(0.3 * rng.uniform(-1, 1, size=N), low, high)
    B, d = program.sign * A, rng.normal(size=1)
    f = K @ B + d[0]
    r = 1 - y * f if loss.classification else y - f
    C = np.where(r >= 0, above, below)
    primal = 0.5 * B @ K @ B + 0.3 * abs(d[0]) + np.sum(C * loss.value(r))
    np.testing.assert_allclose(program.primal(B, d), primal, rtol=1e-12)
    C = np.where(A >= 0, above, below)
    dual = y @ B - 0.5 * B @ K @ B - np.sum(C * loss.conjugate(A / C))
    np.testing.assert_allclose(program.dual(B), dual, rtol=1e-12)
    np.testing.assert_allclose(program.fitted(B, d), f)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=name_of)
def test_no_dual_value_is_above_a_primal_value(loss):
    """Weak duality, for B in the box with ΦᵀB = 0 and any function at all."""
    program = make(loss, 2.0)
    rng = np.random.default_rng(1)
    low, high = program.box()
    for size in (0.01, 0.1, 1.0):
        if loss.classification:
            # Equal sums of both classes, so that yᵀA = 0.
            A = size * rng.uniform(0, 1, size=N)
            for sign in (1, -1):
                A[program.y == sign] /= A[program.y == sign].sum() / size
        else:
            A = size * rng.uniform(-0.1, 0.1, size=N)
            A -= A.mean()
        np.testing.assert_array_equal(np.clip(A, low, high), A)
        other = rng.normal(size=N)
        assert program.dual(program.sign * A) <= program.primal(size * other, rng.normal(size=1)) + 1e-12


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=name_of)
def test_target_in_both_programs(loss):
    """The columns of the dual must sum to it, and d pays for it in the primal: no dual value is above a primal one."""
    rng = np.random.default_rng(2)
    columns = np.column_stack([np.ones(N), rows(N)])
    program = make(loss, 2.0, columns=columns)
    plain = program
    low, high = program.box()
    A = np.clip(0.1 * rng.uniform(-1, 1, size=N), low, high)
    B, other, d = program.sign * A, rng.normal(size=N), rng.normal(size=3)
    program = replace(program, target=columns.T @ B)
    np.testing.assert_allclose(program.primal(other, d), plain.primal(other, d) + columns.T @ B @ d, rtol=1e-12)
    assert program.dual(B) == plain.dual(B)
    assert program.column_violation(B) < 1e-15
    assert plain.column_violation(B) > 1e-3
    assert program.dual(B) <= program.primal(other, d)
    assert program.certificate(SolverResult("optimal", B, d, 0.0, 0.0, 0)).infeasibility < 1e-15
    assert program.certificate(SolverResult("optimal", 0.5 * B, d, 0.0, 0.0, 0)).infeasibility > 1e-3


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=name_of)
def test_shares_in_the_gap(loss):
    """They add up to the gap where columnsᵀB is the target, are not negative, and vanish where B is as wanted."""
    below, above = (2.0, 2.0) if isinstance(loss, Logistic) else (0.5, 2.0)
    program = make(loss, (below, above))
    rng = np.random.default_rng(3)
    low, high = program.box()
    B, d = program.sign * np.clip(0.3 * rng.uniform(-1, 1, size=N), low, high), rng.normal(size=1)
    program = replace(program, target=program.columns.T @ B)
    gram_B = program.times_gram(B)
    shares = program.gap_shares(B, d, gram_B)
    assert shares.min() >= -1e-14
    np.testing.assert_allclose(shares.sum(), program.iterate(B, d).gap, rtol=1e-12)
    wanted = program.wanted(d, gram_B)
    # The same function with other dual variables: A = C c'(r), where Fenchel-Young holds with equality.
    np.testing.assert_allclose(program.gap_shares(wanted, d, gram_B), 0.0, atol=1e-12)


def test_matrices_in_memory():
    X = rows(N)
    program = make(Huber(0.2))
    assert program.in_memory
    assert replace(program, gram=incomplete_cholesky(Gaussian(0.8), X, tol=1e-6)).in_memory
    assert make(Huber(0.2), regularizer=L1Coefficients()).in_memory
    assert not replace(program, gram=Gram(Gaussian(0.8), X)).in_memory


def test_other_weights():
    program = make(Huber(0.2), 2.0)
    tenfold = program.with_weights((10 * program.C_below, 10 * program.C_above))
    np.testing.assert_array_equal(tenfold.C_above, 20.0)
    uneven = program.with_weights((program.C_below * np.arange(1, N + 1), program.C_above), budget=3.0)
    assert uneven.budget == 3.0
    assert uneven.kept is tenfold.kept is program.kept


def test_certificate_leaves_no_threads_of_numpy_at_work(monkeypatch):
    program, inside = make(Huber(0.2), 2.0), []

    def watched(self, *args):
        inside.append(single_threaded_numpy._users)
        return Certificate(1.0, 1.0, 0.0, 0.0)

    monkeypatch.setattr(KernelProgram, "certificate_of", watched)
    assert program.certificate(SimpleNamespace(B=np.zeros(N), d=np.zeros(1))).gap == 0.0
    assert inside == [1]


@pytest.mark.parametrize("formed", [False, True])
def test_reach_of_one_sample(formed):
    X, y = rows(5), np.array([0.5, -4.0, 1.0, 0.0, 2.0])
    gram = 3.0 * Gaussian()
    penalty = RKHSNorm().penalty(gram(X) if formed else Gram(gram, X), np.ones((5, 1)))
    assert KernelProgram.build(penalty, y, Laplace(), 2.0).reach == pytest.approx(2.0 * 3.0 / 4.0)
    sides = (np.full(5, 2.0), np.array([1.0, 9.0, 6.0, 5.0, 1.0]))
    assert KernelProgram.build(penalty, y, Laplace(), sides).reach == pytest.approx(5.0 * 3.0 / 4.0)
    assert KernelProgram.build(penalty, 0.0 * y, Laplace(), 2.0).reach == 0.0


def test_c_in_all_its_forms():
    y, penalty = smooth_targets(rows(N)), RKHSNorm().penalty(Gaussian(0.8)(rows(N)), np.ones((N, 1)))
    for C, below, above in [
        (2, 2.0, 2.0),
        (np.arange(1.0, N + 1), np.arange(1.0, N + 1), np.arange(1.0, N + 1)),
        ((1.0, 3.0), 1.0, 3.0),
        ((1.0, np.arange(1.0, N + 1)), 1.0, np.arange(1.0, N + 1)),
    ]:
        program = KernelProgram.build(penalty, y, Laplace(), C)
        np.testing.assert_array_equal(program.C_below, np.broadcast_to(below, N))
        np.testing.assert_array_equal(program.C_above, np.broadcast_to(above, N))
        np.testing.assert_array_equal(program.box(), (-program.C_below, program.C_above))


def test_sides_meet_where_the_loss_is_zero():
    """Two weights would tear a loss apart that is not zero at r = 0: the program would not be convex."""
    with pytest.raises(
        ValueError, match=r"C must be the same below and above for Logistic\(\), which is not zero at r = 0"
    ):
        make(Logistic(), (0.5, 2.0))


def test_box_of_one_sided_losses():
    low, high = make(Hinge(), 2.0).box()
    np.testing.assert_array_equal(low, 0.0)
    np.testing.assert_array_equal(high, 2.0)
    low, high = make(Quantile(0.8), 2.0).box()
    np.testing.assert_allclose(low, -0.4)
    np.testing.assert_allclose(high, 1.6)


@pytest.mark.parametrize("budget", [0.5, 3.0, 10.0, 39.9, 40.0, 100.0])
def test_tube_is_the_cheapest(budget):
    """Against all candidates: the widths at which a residual is on the edge, and zero."""
    rng = np.random.default_rng(0)
    program = make(Laplace(), rng.uniform(0.5, 1.5, size=N), budget=budget)
    B, d = np.zeros(N), rng.normal(size=1)
    r = np.abs(program.y - d[0])

    def price(width):
        return budget * width + np.sum(program.C_above * np.maximum(r - width, 0.0))

    best = min(price(width) for width in [0.0, *r])
    np.testing.assert_allclose(price(program.tube(B, d)), best, rtol=1e-12)
    np.testing.assert_allclose(program.primal(B, d), best, rtol=1e-12)


def test_certificate_of_numbers():
    certificate = Certificate(primal=4.0, dual=3.0, floor=0.0, infeasibility=0.0)
    assert certificate.gap == 1.0
    assert certificate.relative_gap == 0.25
    assert certificate.holds(0.25)
    assert not certificate.holds(0.2)
    assert not Certificate(3.0, 3.0, 0.0, 1e-3).holds(1e-4)
    assert Certificate(3.0, 3.0, 0.0, 1e-10).holds(1e-12), "constraints hold to rounding, not to zero"
    assert not Certificate(np.nan, 3.0, 0.0, 0.0).holds(1.0)
    assert not Certificate(3.0, -np.inf, 0.0, 0.0).holds(1.0)
    assert not Certificate(3.0, 4.0, 0.0, 0.0).holds(0.1), "a dual value above the primal one proves nothing"


def test_relative_gap_has_no_unit():
    for unit in (1e-300, 1e-8, 1.0, 1e300):
        np.testing.assert_allclose(Iterate(4.0 * unit, 3.0 * unit, 0.0).relative_gap, 0.25)
    assert Iterate(2.0**-100, 0.0, 2.0**-70).relative_gap == 2.0**-30, "values below the floor are rounding"
    assert Iterate(0.0, 0.0, 0.0).relative_gap == 0.0
    assert Iterate(0.0, -1e-300, 0.0).relative_gap == np.inf


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Huber(0.2), Hinge()], ids=repr)
def test_low_rank_certificate_bounds_the_exact_program(loss, tol):
    X = rows(60, n_columns=1)
    y = labels(X) if loss.classification else smooth_targets(X)
    kernel = Gaussian(0.5)
    factor, ones = incomplete_cholesky(kernel, X, tol=tol), np.ones((60, 1))
    exact = KernelProgram.build(RKHSNorm().penalty(kernel(X), ones), y, loss, 2.0)
    optimum = InteriorPoint().solve(exact, tol=1e-10).primal
    gaps = []
    for exact_gram in (kernel(X), None):
        program = KernelProgram.build(RKHSNorm().penalty(factor, ones), y, loss, 2.0, exact_gram=exact_gram)
        result = InteriorPoint().solve(program, tol=1e-9)
        certificate = program.certificate(result)
        assert certificate.dual <= optimum + 1e-7 <= certificate.primal + 2e-7
        gaps.append(certificate.gap)
        # The function that is expanded at the landmarks has the primal value that is claimed.
        a, b = RKHSNorm().penalty(factor, ones).expand(result.B, result.d)
        f = kernel(X) @ a + b[0]
        r = 1 - y * f if loss.classification else y - f
        price = 0.5 * a @ kernel(X) @ a + 2.0 * np.sum(loss.value(r))
        np.testing.assert_allclose(certificate.primal, price, rtol=1e-6)
    assert gaps[0] <= gaps[1] * (1 + 1e-6), "one product with the matrix is sharper than the bound by the trace"


def test_programs_without_a_quadratic_part():
    program = make(EpsilonInsensitive(0.1), 2.0, regularizer=L1Coefficients())
    assert program.gram.is_zero
    d = np.zeros(N + 1)
    d[-1] = 0.5
    np.testing.assert_array_equal(program.fitted(np.ones(N), d), 0.5)
    np.testing.assert_allclose(program.primal(np.ones(N), d), 2.0 * np.sum(program.loss.value(program.y - 0.5)))
