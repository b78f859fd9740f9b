import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel

from mercer.kernels import (
    BSpline,
    FromFunction,
    Gaussian,
    Kernel,
    Linear,
    Precomputed,
    RadialBSpline,
    Stationary,
    ThinPlate,
    WeightedDegree,
    check_kernel,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(50, 2))


def test_report_reads_well(X):
    report = check_kernel(Gaussian(), X)
    assert str(report).startswith("Gaussian(width=1.0) passes:\nsymmetry")
    assert report.errors["spectrum"] < 1e-10


@pytest.mark.parametrize("function", [sigmoid_kernel, lambda x, y: np.tanh(x @ y - 1)], ids=["table", "pair"])
def test_rejects_a_sigmoid(function, X):
    with pytest.raises(ValueError, match="must be positive definite on X, got an eigenvalue of -"):
        check_kernel(function, 2 * X)


def test_accepts_functions_that_are_kernels(X):
    check_kernel(rbf_kernel, X)
    check_kernel(lambda x, y: float(np.exp(-np.sum((x - y) ** 2))), X)
    check_kernel(lambda x, y: float(len(x & y)), [{1, 2}, {2}, {3, 4}])


def test_rejects_an_even_bspline(X):
    with pytest.raises(ValueError, match="got order None, and an eigenvalue of -"):
        check_kernel(BSpline(degree=2), X)


def test_rejects_an_even_bspline_that_claims_to_be_positive_definite():
    class Boastful(BSpline):
        order = 0

    with pytest.raises(ValueError, match="must be positive definite on X"):
        check_kernel(Boastful(degree=2), np.linspace(0, 5, 40)[:, None])
    far_apart = 10.0 * np.arange(5)[:, None]
    with pytest.raises(ValueError, match="must have a non-negative spectrum"):
        check_kernel(Boastful(degree=2, width=3.0), far_apart)


def test_rejects_a_thin_plate_without_its_polynomials(X):
    class Careless(ThinPlate):
        order = 0

    class HalfCareless(ThinPlate):
        order = 1

    with pytest.raises(ValueError, match="must be positive definite on X, got an eigenvalue of -"):
        check_kernel(Careless(), X)
    with pytest.raises(ValueError, match="must be conditionally positive definite of order 1 on X"):
        check_kernel(HalfCareless(), X)


def test_rejects_asymmetry(X):
    class Skew(Linear):
        def _tile(self, left, right):
            return left @ right.T + 0.1 * left[:, [0]]

    with pytest.raises(ValueError, match="must be symmetric, got values"):
        check_kernel(Skew(), X)
    with pytest.raises(ValueError, match="function of FromFunction must be symmetric"):
        check_kernel(lambda x, y: float(x[0] + 2 * y[0]), X)


def test_rejects_a_matrix_that_depends_on_how_it_is_asked_for(X):
    class Moody(Kernel):
        def __call__(self, X, Y=None):
            return Linear()(X, Y) * (1.0 if Y is None else 1.1)

        _tile = _diagonal = None

    with pytest.raises(ValueError, match=r"must give k\(X, X\) when called on X alone"):
        check_kernel(Moody(), X)


def test_rejects_a_wrong_diagonal(X):
    class Wrong(Linear):
        def diag(self, X):
            return super().diag(X) + 0.1

    with pytest.raises(ValueError, match=r"must give the diagonal of its Gram matrix by diag\(X\)"):
        check_kernel(Wrong(), X)


def test_rejects_a_wrong_gradient(X):
    class Wrong(Linear):
        def _gradient(self, X, Y):
            return 1.01 * super()._gradient(X, Y)

    with pytest.raises(ValueError, match="must have the gradient that finite differences give"):
        check_kernel(Wrong(), X)


def test_rejects_a_wrong_spectrum(X):
    class Wrong(Gaussian):
        def _profile_spectrum(self, omega, n_dims):
            return np.exp(-(omega**2))

    with pytest.raises(ValueError, match="must have the spectrum that quadrature gives"):
        check_kernel(Wrong(), X)


def test_rejects_a_kernel_that_clone_cannot_copy(X):
    class Forgetful(Gaussian):
        def __init__(self, width=1.0):
            super().__init__(width)

        def get_params(self, deep=True):
            return {"width": 1.0}

    with pytest.raises(ValueError, match=r"must be copied by sklearn.base.clone"):
        check_kernel(Forgetful(width=2.0), X)


def test_many_rows_are_thinned_out():
    X = np.random.default_rng(0).normal(size=(2000, 1))
    check_kernel(Gaussian(), X)
    check_kernel(Precomputed(), Gaussian()(X))


def test_odd_inputs():
    check_kernel(WeightedDegree(2), ["ACGT", "AAAA", "ACTT"])
    check_kernel(Gaussian(), [[1.0, 2.0]])
    check_kernel(Linear(), np.zeros((3, 2)))
    check_kernel(RadialBSpline(1, n_dims=3), np.random.default_rng(0).normal(size=(20, 2)))
    check_kernel(FromFunction(lambda x, y: 0.0), [1, 2, 3])


def test_spectrum_of_one_width_for_each_column_is_left_out(X):
    assert "spectrum" not in check_kernel(Gaussian([1.0, 2.0]), X).errors


def test_a_users_stationary_kernel_with_a_numerical_spectrum(X):
    class Bump(Stationary):
        def _profile(self, s2, n_dims):
            return np.exp(-s2)

        def _profile_derivative(self, s2, n_dims):
            return -np.exp(-s2)

    assert "spectrum" in check_kernel(Bump(), X).errors
