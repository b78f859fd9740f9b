"""What complex functions cost, and how that enters a program."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import Gaussian
from mercer.kernels.gram import incomplete_cholesky
from mercer.regularizers import L1Coefficients, L2Coefficients, Mixed, Regularizer, RKHSNorm, as_regularizer
from tests.contracts.all_problems import indefinite_matrix, positive_matrix, rows

N = 25
EVERY = [RKHSNorm(), L1Coefficients(), L2Coefficients(), L2Coefficients(positive_matrix(N)), Mixed(0.7)]
every_regularizer = pytest.mark.parametrize("regularizer", EVERY, ids=lambda regularizer: type(regularizer).__name__)


@pytest.fixture
def K():
    return Gaussian(0.5)(rows(N))


@pytest.fixture
def Phi():
    return np.column_stack([np.ones(N), rows(N)])


@every_regularizer
def test_penalty_is_the_price(regularizer, K, Phi):
    """The cost of h + columns d in normal form is the value of the function with the expanded coefficients."""
    rng = np.random.default_rng(0)
    penalty = regularizer.penalty(K, Phi)
    B, d = rng.normal(size=N), rng.normal(size=penalty.columns.shape[1])
    a, b = penalty.expand(B, d)
    h = penalty.gram @ B
    np.testing.assert_allclose(h + penalty.columns @ d, K @ a + Phi @ b, rtol=1e-9, atol=1e-9)
    price = penalty.bounds @ np.abs(d) + 0.5 * B @ h
    np.testing.assert_allclose(price, regularizer.value(K, a, b), rtol=1e-9)


@every_regularizer
def test_value_is_convex_zero_at_zero_and_not_negative(regularizer, K):
    rng = np.random.default_rng(1)
    assert regularizer.value(K, np.zeros(N), np.zeros(3)) == 0.0
    for _ in range(20):
        (a, b), (p, q) = ((rng.normal(size=N), rng.normal(size=3)) for _ in range(2))
        middle = regularizer.value(K, (a + p) / 2, (b + q) / 2)
        ends = regularizer.value(K, a, b), regularizer.value(K, p, q)
        assert 0 <= middle <= sum(ends) / 2 + 1e-12


@every_regularizer
def test_clone_and_parameters(regularizer):
    copy = clone(regularizer)
    assert type(copy) is type(regularizer)
    assert copy.get_params().keys() == regularizer.get_params().keys()


def test_by_name():
    assert {name: type(as_regularizer(name)) for name in ("rkhs", "l1", "l2", "mixed")} == {
        "rkhs": RKHSNorm,
        "l1": L1Coefficients,
        "l2": L2Coefficients,
        "mixed": Mixed,
    }
    mixed = Mixed(3.0)
    assert as_regularizer(mixed) is mixed
    with pytest.raises(
        ValueError, match=r"regularizer must be a Regularizer or one of \['l1', .*, got 'lasso'; choose"
    ):
        as_regularizer("lasso")


def test_say_whether_they_need_a_positive_kernel():
    assert [r.needs_positive_kernel for r in EVERY] == [True, False, False, False, True]


def test_weight_decay_of_an_indefinite_kernel_is_positive(Phi):
    for M in (None, positive_matrix(N)):
        gram = L2Coefficients(M).penalty(indefinite_matrix(N), Phi).gram.formed
        assert np.linalg.eigvalsh((gram + gram.T) / 2)[0] > -1e-10
        np.testing.assert_allclose(gram, gram.T, atol=1e-10)


def test_mixed_without_weight_is_the_norm(K, Phi):
    np.testing.assert_array_equal(Mixed(0.0).penalty(K, Phi).bounds, RKHSNorm().penalty(K, Phi).bounds)
    np.testing.assert_array_equal(Mixed([0.0, 1.0, 2.0]).penalty(K, Phi).bounds, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("weight", [-1.0, [1.0], [1.0, np.nan, 1.0], np.ones((3, 1))], ids=str)
def test_bad_weights(weight, K, Phi):
    for use in (lambda r: r.penalty(K, Phi), lambda r: r.value(K, np.zeros(N), np.zeros(3))):
        with pytest.raises(ValueError, match="weight of Mixed must be non-negative, one number or 3, got"):
            use(Mixed(weight))


def test_bad_matrices(K, Phi):
    with pytest.raises(
        ValueError, match=r"matrix of L2Coefficients must be symmetric of shape \(25, 25\), got shape \(2, 2\)"
    ):
        L2Coefficients(np.eye(2)).penalty(K, Phi)
    with pytest.raises(ValueError, match="matrix of L2Coefficients must be positive definite, got one that is not"):
        L2Coefficients(np.diag(np.arange(N) - 3.0)).penalty(K, Phi)


@pytest.mark.parametrize("regularizer", [RKHSNorm(), Mixed(0.7)], ids=repr)
def test_low_rank_factors(regularizer, Phi):
    X = rows(N)
    factor = incomplete_cholesky(Gaussian(2.0), X, tol=1e-3)
    penalty = regularizer.penalty(factor, Phi)
    rng = np.random.default_rng(0)
    B, d = rng.normal(size=N), rng.normal(size=3)
    a, b = penalty.expand(B, d)
    assert np.count_nonzero(a) == factor.rank < N
    np.testing.assert_allclose(Gaussian(2.0)(X) @ a + Phi @ b, penalty.gram @ B + penalty.columns @ d, atol=1e-3)
    np.testing.assert_allclose(a @ Gaussian(2.0)(X) @ a, B @ (factor @ B), rtol=1e-6)


@pytest.mark.parametrize("regularizer", [L1Coefficients(), L2Coefficients()], ids=repr)
def test_norms_of_coefficients_need_the_whole_matrix(regularizer, Phi):
    factor = incomplete_cholesky(Gaussian(2.0), rows(N), tol=1e-3)
    with pytest.raises(
        ValueError, match="needs the whole Gram matrix, got a low-rank factor; choose 'rkhs' or 'mixed'"
    ):
        regularizer.penalty(factor, Phi)


def test_a_regularizer_of_ones_own(K, Phi):
    """One class is all it takes."""
    from mercer.losses import Huber
    from mercer.problems import KernelProgram
    from mercer.regularizers import Penalty
    from mercer.solvers import InteriorPoint

    class Halved(Regularizer):
        def penalty(self, gram, parametric):
            return Penalty(2 * gram, parametric, np.zeros(parametric.shape[1]), lambda B, d: (2 * B, d))

        def value(self, gram, coefficients, parametric_coefficients):
            return 0.25 * coefficients @ gram @ coefficients

    y = np.sin(3 * rows(N)[:, 0])
    program = KernelProgram.build(as_regularizer(Halved()).penalty(K, Phi), y, Huber(0.2), 1.0)
    twice = KernelProgram.build(RKHSNorm().penalty(K, Phi), y, Huber(0.2), 2.0)
    values = [InteriorPoint().solve(p, tol=1e-10).primal for p in (program, twice)]
    np.testing.assert_allclose(2 * values[0], values[1], rtol=1e-7)
