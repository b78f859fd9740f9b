import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel

from mercer.kernels import (
    L1,
    BSpline,
    DampedOscillator,
    Exponential,
    FromFunction,
    Gaussian,
    Kernel,
    Linear,
    Multiquadric,
    PeriodicGaussian,
    Polynomial,
    PowerSeries,
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


def test_a_users_stationary_kernel_with_a_numerical_spectrum(X):
    class Bump(Stationary):
        def _profile(self, s2, n_dims):
            return np.exp(-s2)

        def _profile_derivative(self, s2, n_dims):
            return -np.exp(-s2)

    assert "spectrum" in check_kernel(Bump(), X).errors


def rows(n, n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_columns))


def cheating(kernel_class, **attributes):
    return type("Cheating", (kernel_class,), attributes)


# What must be rejected -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0 + 1e-6, 2.0])
def test_rejects_a_wrong_function_of_the_distance(X, factor):
    class Wrong(Gaussian):
        def of_squared_distance(self, r2, n_dims=None):
            return super().of_squared_distance(factor * np.asarray(r2), n_dims)

    with pytest.raises(ValueError, match="must give its values by of_squared_distance, got a relative difference"):
        check_kernel(Wrong(), X)


def test_rejects_wrong_shapes(X):
    one_value = cheating(Gaussian, diag=lambda self, X: np.ones(1))
    with pytest.raises(ValueError, match=r"must give diag\(X\) of shape \(50,\), got shape \(1,\)"):
        check_kernel(one_value(), X)
    one_column = cheating(Linear, __call__=lambda self, X, Y=None: np.ones((len(X), len(X) if Y is None else 1)))
    with pytest.raises(ValueError, match=r"must give k\(X, X\) of shape \(50, 50\), got shape \(50, 1\)"):
        check_kernel(one_column(), X)
    flat = cheating(Gaussian, of_squared_distance=lambda self, r2, n_dims=None: np.ones(3))
    with pytest.raises(ValueError, match=r"must give k by of_squared_distance of shape \(50, 50\)"):
        check_kernel(flat(), X)
    no_columns = cheating(Gaussian, _gradient=lambda self, X, Y: np.zeros((len(X), len(Y))))
    with pytest.raises(ValueError, match="must give gradient of shape"):
        check_kernel(no_columns(), X)


def test_rejects_values_that_are_not_finite(X):
    with pytest.raises(ValueError, match=r"must give a finite k\(X\), got nan"):
        check_kernel(cheating(Linear, __call__=lambda self, X, Y=None: np.full((len(X), len(X)), np.nan))(), X)
    with pytest.raises(ValueError, match="must give a finite gradient, got nan"):
        check_kernel(cheating(Linear, _gradient=lambda self, X, Y: np.full((len(X), len(Y), 2), np.nan))(), X)


@pytest.mark.parametrize(
    "spectrum",
    [lambda omega: np.exp(-(omega**2)), lambda omega: 1.01 * np.exp(-0.5 * omega**2)],
    ids=["width", "factor"],
)
def test_rejects_a_wrong_spectrum_with_a_width_for_each_column(spectrum):
    Wrong = cheating(Gaussian, _profile_spectrum=lambda self, omega, n_dims: spectrum(omega))
    for n_dims in (2, 3, 5):
        if n_dims == 5 and spectrum(0.0) > 1:
            continue  # sampling in five dimensions does not see one percent
        with pytest.raises(ValueError, match="must have a spectrum whose mean is that of k"):
            check_kernel(Wrong(0.5 + np.arange(n_dims)), rows(40, n_dims))
    with pytest.raises(ValueError, match="must have the spectrum that quadrature gives"):
        check_kernel(Wrong([2.0]), rows(40, 1))


@pytest.mark.parametrize("n_dims", [None, 3])
def test_rejects_a_logarithm_of_another_spectrum(X, n_dims):
    assert check_kernel(Gaussian(), X, n_dims=n_dims).errors["log spectrum"] < 1e-12
    Wrong = cheating(Gaussian, log_spectrum=lambda self, omega, n_dims=1: -np.asarray(omega))
    with pytest.raises(ValueError, match="must have a log_spectrum that is the logarithm of its spectrum"):
        check_kernel(Wrong(), X, n_dims=n_dims)


def test_rejects_a_spectrum_that_is_wrong_in_several_dimensions_only(X):
    class Wrong(BSpline):
        def spectrum(self, omega, n_dims=1):
            return n_dims * super().spectrum(omega, n_dims)

    check_kernel(Wrong(), X[:, :1])
    with pytest.raises(ValueError, match="must have a spectrum whose mean is that of k"):
        check_kernel(Wrong(), X)


@pytest.mark.parametrize("kernel_class", [Linear, L1])
def test_rejects_false_translation_invariance(X, kernel_class):
    with pytest.raises(
        ValueError, match="must be translation invariant, got values that a translation of X changes by"
    ):
        check_kernel(cheating(kernel_class, translation_invariant=True)(), X)


def test_rejects_a_kernel_that_depends_a_little_on_the_origin(X):
    class Wavy(Kernel):
        translation_invariant = True
        differentiable = False

        def _tile(self, left, right):
            return Gaussian()(left, right) * (1 + 1e-4 * np.outer(np.tanh(left[:, 0]), np.tanh(right[:, 0])))

        def _diagonal(self, left, right):
            return 1 + 1e-4 * np.tanh(left[:, 0]) ** 2

    with pytest.raises(ValueError, match="must be translation invariant"):
        check_kernel(Wavy(), X)


@pytest.mark.parametrize(("value", "found"), [(0.0, "only zeros"), (np.nan, "nan")], ids=["zero", "nan"])
def test_says_plainly_that_a_spectrum_is_zero_or_nan(X, value, found):
    Empty = cheating(Gaussian, _profile_spectrum=lambda self, omega, n_dims: np.full(omega.shape, value))
    for kernel in (Empty(), Empty([1.0, 2.0])):
        with pytest.raises(
            ValueError, match=f"must have a spectrum that is finite .* and not zero everywhere, got {found}"
        ):
            check_kernel(kernel, X)


def test_says_plainly_that_a_spectrum_has_a_wrong_shape(X):
    with pytest.raises(
        ValueError, match=r"must give 11 values of its spectrum for as many frequencies, got shape \(\)"
    ):
        check_kernel(cheating(Gaussian, spectrum=lambda self, omega, n_dims=1: 1.0)(), X)


def test_says_plainly_that_a_method_is_missing(X):
    with pytest.raises(ValueError, match="must have a method spectrum, since it says has_spectrum, got none"):
        check_kernel(cheating(Linear, has_spectrum=True)(), X)
    with pytest.raises(ValueError, match="must have a method of_squared_distance, since it says stationary, got none"):
        check_kernel(cheating(Linear, stationary=True)(), X)


@pytest.mark.parametrize("n_dims", [0, -1, 2.5, True, "2"])
def test_rejects_dimensions_that_are_not_whole_numbers(X, n_dims):
    with pytest.raises(ValueError, match="n_dims of check_kernel must be a whole number >= 1, got"):
        check_kernel(Gaussian(), X, n_dims=n_dims)


def test_rejects_objects_that_cannot_be_differentiated():
    with pytest.raises(ValueError, match="must be called on a table of numbers if it is differentiable"):
        check_kernel(cheating(WeightedDegree, differentiable=True)(2), ["ACGT", "AAAA"])


@pytest.mark.parametrize("factor", [0.0, 1.01])
@pytest.mark.parametrize("width", [1e-3, 1.0, 1e3], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e3], ids=str)
def test_rejects_a_wrong_gradient_of_any_width(X, width, offset, factor):
    class Wrong(Gaussian):
        def _gradient(self, X, Y):
            return factor * super()._gradient(X, Y)

    with pytest.raises(ValueError, match="must have the gradient that finite differences give"):
        check_kernel(Wrong(width), X + offset)


def test_rejects_a_gradient_that_is_wrong_in_one_of_many_columns():
    class Wrong(Gaussian):
        def _gradient(self, X, Y):
            gradient = super()._gradient(X, Y)
            gradient[..., 17] *= 1.01
            return gradient

    with pytest.raises(ValueError, match="must have the gradient that finite differences give"):
        check_kernel(Wrong(5.0), rows(40, 30))


@pytest.mark.parametrize("kernel_class", [BSpline, L1, Exponential])
def test_kinks_excuse_no_wrong_gradient(kernel_class):
    class Wrong(kernel_class):
        def _gradient(self, X, Y):
            return 1.01 * super()._gradient(X, Y)

    with pytest.raises(ValueError, match="must have the gradient that finite differences give"):
        check_kernel(Wrong(), 0.5 * np.arange(20.0)[:, None] - 3)


# What must be accepted -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(), Exponential([1.0, 2.0]), Linear(), ThinPlate()], ids=repr)
def test_sparse_rows(X, kernel):
    X = X * (np.random.default_rng(1).random(X.shape) < 0.6)
    dense, thin = check_kernel(kernel, X), check_kernel(kernel, sparse.csr_array(X))
    assert set(dense.errors) == set(thin.errors)


def test_many_sparse_columns():
    X = sparse.random_array((50, 10_000), density=1e-3, format="csr", rng=0)
    assert "gradient" in check_kernel(Gaussian(), X).errors


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_keep_their_names(X, frame):
    class Wrong(Gaussian):
        def _gradient(self, X, Y):
            return 1.01 * super()._gradient(X, Y)

    numbers = {"a": X[:, 0], "b": np.arange(50), "c": X[:, 1].astype(np.float32)}
    for table in (frame(numbers), frame({"word": ["x", "y"] * 25, **numbers})):
        for kernel in (
            Gaussian().on("a"),
            Gaussian(3.0).on(["b"]) + Linear().on(["a", "c"]),
        ):
            assert "gradient" in check_kernel(kernel, table).errors
        with pytest.raises(ValueError, match="must have the gradient that finite differences give"):
            check_kernel(Wrong().on("c"), table)
    assert "spectrum" in check_kernel(Gaussian(), frame(numbers)).errors


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(degree=3), Gaussian(), Exponential(), ThinPlate(), PeriodicGaussian()], ids=repr
)
def test_single_precision(X, kernel):
    check_kernel(kernel, X.astype(np.float32))


@pytest.mark.parametrize("kernel", [Gaussian([2.0]), Exponential([0.5]), BSpline(3, [2.0])], ids=repr)
def test_a_list_of_one_width(X, kernel):
    assert check_kernel(kernel, X[:, :1]).errors["spectrum"] < 1e-8


def test_a_width_for_each_column_in_many_columns():
    report = check_kernel(Gaussian(np.arange(1.0, 8.0)), rows(30, 7))
    assert not {"spectrum", "spectral mean"} & set(report.errors)


def test_periods_much_shorter_than_the_data():
    check_kernel(PeriodicGaussian(1.0, 24.0), np.arange(0.0, 8760.0)[:, None])


@pytest.mark.parametrize("kernel", [Gaussian(), Exponential(), BSpline(3), Multiquadric(), Linear(), L1()], ids=repr)
def test_outliers_and_data_far_from_zero(X, kernel):
    check_kernel(kernel, X + 1e6)
    X[7] = 1e5
    check_kernel(kernel, X)


@pytest.mark.parametrize(
    "kernel",
    [
        Exponential(1e3),
        Gaussian(1e-4),
        Gaussian(1e3),
        Gaussian([1e3, 1e-3]),
        BSpline(3, 10.0),
        BSpline(1, 0.01),
        RadialBSpline(1, 10.0),
        Multiquadric(1e3),
        DampedOscillator(1e-3),
        Gaussian() + Gaussian(1e3),
        1e-30 * Gaussian(),
        0 * Gaussian(),
    ],
    ids=repr,
)
def test_kernels_much_wider_or_narrower_than_the_data(X, kernel):
    check_kernel(kernel, X)


@pytest.mark.parametrize("kernel", [BSpline(1), RadialBSpline(1), Exponential(), L1(), Multiquadric(0.0)], ids=repr)
def test_kinks_on_a_lattice(kernel):
    check_kernel(kernel, np.arange(20.0)[:, None])
    check_kernel(kernel, np.indices((5, 5)).reshape(2, -1).T)


def test_kernels_with_a_bounded_domain():
    X = rows(30, 2)
    check_kernel(PowerSeries(Linear(), "log"), 0.9 * X / np.linalg.norm(X, axis=1).max())


@pytest.mark.parametrize("n_columns", [4, 12, 30])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), DampedOscillator(), RadialBSpline(1, 3.0), ThinPlate()], ids=repr)
def test_spectrum_in_as_many_dimensions_as_columns(kernel, n_columns):
    """Where the quadrature fails to converge it must not blame the kernel."""
    report = check_kernel(kernel, rows(40, n_columns))
    assert report.errors.get("spectrum", 0.0) <= 1e-6
    if isinstance(kernel, Gaussian | RadialBSpline):
        assert report.errors["spectrum"] < 1e-8


def test_spectrum_is_that_of_the_dimension_of_the_data():
    class Wrong(RadialBSpline):
        def _profile_spectrum(self, omega, n_dims):
            return super()._profile_spectrum(omega, n_dims) * (1.0 if n_dims <= 3 else 1.1)

    with pytest.raises(ValueError, match="must have the spectrum that quadrature gives"):
        check_kernel(Wrong(1, 3.0), rows(40, 5))
    check_kernel(Wrong(1, 3.0), rows(40, 5), n_dims=3)


def test_more_dimensions_than_quadrature_can_do_are_left_out():
    assert "spectrum" not in check_kernel(Gaussian(5.0), rows(40, 100)).errors


def test_functions_of_tables_and_lists_of_rows(X):
    first_column = lambda A, B: np.outer(A[:, 0], B[:, 0])  # noqa: E731
    product = lambda A, B: A.dot(B.T)  # noqa: E731
    for function in (first_column, product, rbf_kernel, lambda x, y: float(np.dot(x, y))):
        check_kernel(function, X)
        check_kernel(function, X.tolist())
    check_kernel(rbf_kernel, pd.DataFrame(X))
    check_kernel(lambda x, y: float(len(x) * len(y)), [[1, 2], [3], [4, 5, 6]])


def test_a_long_gram_matrix_as_lists_or_frame():
    K = Gaussian()(rows(310, 2))
    check_kernel(Precomputed(), K.tolist())
    check_kernel(Precomputed(), pd.DataFrame(K))
