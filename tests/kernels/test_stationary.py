import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from scipy.special import gamma
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import (
    DampedOscillator,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Linear,
    Matern,
    Multiquadric,
    RadialBSpline,
    RationalQuadratic,
    Stationary,
    ThinPlate,
    check_kernel,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture
def Y():
    return np.random.default_rng(1).normal(size=(30, 3))


def test_values_against_scipy_and_scikit_learn(X, Y):
    r = cdist(X, Y)
    np.testing.assert_allclose(Gaussian(0.6)(X, Y), rbf_kernel(X, Y, gamma=0.5 / 0.36), rtol=1e-12)
    np.testing.assert_allclose(Exponential(1.3)(X, Y), np.exp(-1.3 * r), rtol=1e-12)
    np.testing.assert_allclose(DampedOscillator(0.4)(X, Y), 1 / (0.16 + r**2), rtol=1e-12)
    np.testing.assert_allclose(InverseMultiquadric(0.4)(X, Y), 1 / np.sqrt(0.16 + r**2), rtol=1e-12)
    np.testing.assert_allclose(Multiquadric(0.4)(X, Y), -np.sqrt(0.16 + r**2), rtol=1e-12)
    np.testing.assert_allclose(ThinPlate()(X, Y), r**2 * np.log(r), rtol=1e-11, atol=1e-14)


def test_one_width_for_each_column(X, Y):
    width = [1.0, 2.0, 0.5]
    np.testing.assert_allclose(Gaussian(width)(X, Y), Gaussian(1.0)(X / width, Y / width), rtol=1e-12)
    np.testing.assert_allclose(
        Exponential(width)(X, Y), Exponential(1.0)(X * np.array(width), Y * np.array(width)), rtol=1e-12
    )
    assert Gaussian(1.0).stationary
    assert not Gaussian(width).stationary
    with pytest.raises(ValueError, match="must be one number to evaluate by distance"):
        Gaussian(width).of_squared_distance(np.ones(3))


def test_widths_that_do_not_fit_the_columns(X):
    with pytest.raises(ValueError, match=r"width of Gaussian must be of length 3, got \[1.0, 2.0\]"):
        Gaussian([1.0, 2.0])(X)


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, "wide", [1.0, -2.0, 1.0], [], True, None, [[1.0]]])
@pytest.mark.parametrize("make", [Gaussian, Exponential])
def test_widths_must_be_positive(make, bad, X):
    with pytest.raises(ValueError, match=f"(width|rate) of {make.__name__} must be positive|must be a positive"):
        make(bad)(X)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(DampedOscillator(0), "scale"), (InverseMultiquadric(-1), "offset"), (Multiquadric(-1), "offset")],
)
def test_other_parameters_must_be_positive(kernel, name, X):
    with pytest.raises(ValueError, match=f"{name} of {type(kernel).__name__} must be"):
        kernel(X)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_huge_and_tiny_scales(scale, X):
    np.testing.assert_allclose(Gaussian(0.7 * scale)(scale * X), Gaussian(0.7)(X), rtol=1e-9)


def test_values_too_large_for_their_squares(X):
    with pytest.raises(ValueError, match="small enough for their squares to be finite; rescale"):
        Gaussian(1.0)(1e200 * X)


def test_data_far_from_the_origin(X):
    np.testing.assert_allclose(Exponential(1.0)(X + 1e6), Exponential(1.0)(X), atol=1e-8)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("rate", [0.3, 3.0, 40.0])
def test_rough_kernels_of_near_rows_have_all_digits(rate, n_columns):
    """The root of an expanded square would lose half of them, and a certificate with large weights would be wrong."""
    X = np.random.default_rng(0).normal(size=(400, n_columns))
    square = sum((x[:, None] - x) ** 2 for x in X.T.astype(np.longdouble))
    exact = np.exp(-np.longdouble(rate) * np.sqrt(square))
    assert float(np.abs(Exponential(rate)(X) - exact).max()) < 2e-14


def test_rough_kernels_see_coinciding_points_exactly(X):
    K = Exponential(5.0)(100 * X, 100 * X)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    assert np.all(np.diagonal(Multiquadric(0.0)(100 * X, 100 * X)) == 0)


@pytest.mark.parametrize("omega", [0.3, 1.0, 2.7])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.8),
        Exponential(1.2),
        DampedOscillator(0.7),
        InverseMultiquadric(0.9),
        Matern(1.5, 0.8),
        Matern(2.5, 0.8),
        RationalQuadratic(0.8, alpha=2.5),
        RationalQuadratic(0.8, alpha=40.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_dims", [1, 3])
def test_spectra_against_quadpack(kernel, omega, n_dims):
    """QUADPACK's Fourier integrals, which know nothing of Bessel functions."""

    def profile(r):
        return float(kernel.of_squared_distance(r**2))

    if n_dims == 1:
        value, _ = quad(profile, 0, np.inf, weight="cos", wvar=omega, limlst=200)
        expected = np.sqrt(2 / np.pi) * value
    elif isinstance(kernel, InverseMultiquadric):
        # r k(r) does not fall: integrate by parts once, ∫ r k sin = (1/ω) ∫ (r k)' cos.
        value, _ = quad(lambda r: 0.81 * (r * r + 0.81) ** -1.5, 0, np.inf, weight="cos", wvar=omega, limlst=200)
        expected = np.sqrt(2 / np.pi) * value / omega**2
    else:
        value, _ = quad(lambda r: r * profile(r), 0, np.inf, weight="sin", wvar=omega, limlst=200)
        expected = np.sqrt(2 / np.pi) * value / omega
    np.testing.assert_allclose(kernel.spectrum(omega, n_dims), expected, rtol=1e-6)


@pytest.mark.parametrize("n_dims", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(("kernel", "power"), [(DampedOscillator(0.7), 1.0), (InverseMultiquadric(0.7), 0.5)])
def test_spectra_as_mixtures_of_gaussians(kernel, power, n_dims):
    """(r² + a²)^-p = 1/Γ(p) ∫ s^(p-1) exp(-s (r² + a²)) ds, and the transform of a Gaussian is known."""
    omega = 1.3

    def transformed(s):
        return s ** (power - 1) * np.exp(-s * 0.49) * (2 * s) ** (-n_dims / 2) * np.exp(-(omega**2) / (4 * s))

    value, _ = quad(transformed, 0, np.inf, epsabs=0, epsrel=1e-10)
    np.testing.assert_allclose(kernel.spectrum(omega, n_dims), value / gamma(power), rtol=1e-7)


@pytest.mark.parametrize("n_dims", [1, 2, 3])
@pytest.mark.parametrize("kernel", [Multiquadric(0.6), Multiquadric(0.0), ThinPlate()], ids=repr)
def test_generalised_spectra_by_quadrature(kernel, n_dims):
    report = check_kernel(kernel, np.random.default_rng(0).normal(size=(30, n_dims)))
    assert report.errors["spectrum"] < 1e-6


def test_matern_and_rational_quadratic_end_as_gaussians_of_their_width():
    r2 = np.linspace(0, 4, 9)
    gaussian = Gaussian(0.7).of_squared_distance(r2)
    np.testing.assert_allclose(RationalQuadratic(0.7, alpha=1e8).of_squared_distance(r2), gaussian, atol=1e-7)
    # A width is the same for all: the curvatures at zero are those of the Gaussian, or more for rough kernels.
    for nu, factor in ((1.5, 3.0), (2.5, 5.0 / 3.0)):
        curvature = (1.0 - Matern(nu, 0.7).of_squared_distance(1e-8)) / 1e-8
        np.testing.assert_allclose(curvature, factor * 0.5 / 0.49, rtol=1e-3)


def test_matern_knows_two_smoothnesses():
    with pytest.raises(
        ValueError, match=r"nu of Matern must be one of \(1.5, 2.5\), got 0.5; take Exponential for 0.5"
    ):
        Matern(nu=0.5)([[0.0]])
    with pytest.raises(ValueError, match=r"got inf; take Exponential for 0.5, or Gaussian for very large ones"):
        Matern(nu=np.inf)([[0.0]])
    with pytest.raises(ValueError, match="alpha of RationalQuadratic must be positive, got 0"):
        RationalQuadratic(alpha=0)([[0.0]])


def test_spectrum_at_zero():
    np.testing.assert_allclose(RationalQuadratic(alpha=3.0).spectrum(0.0, 2), 1.5)
    np.testing.assert_allclose(RationalQuadratic(alpha=3.0).spectrum(1e-4, 2), 1.5, rtol=1e-6)
    assert RationalQuadratic(alpha=0.5).spectrum(0.0, 1) == np.inf
    assert Gaussian(0.5).spectrum(0.0, 2) == 0.25
    np.testing.assert_allclose(DampedOscillator(0.5).spectrum(0.0, 1), np.sqrt(np.pi / 2) / 0.5, rtol=1e-12)
    assert DampedOscillator(0.5).spectrum(0.0, 2) == np.inf
    assert InverseMultiquadric(0.5).spectrum(0.0, 1) == np.inf
    assert ThinPlate().spectrum(0.0, 2) == np.inf
    assert Multiquadric(0.0).spectrum(0.0, 2) == np.inf


def test_anisotropic_spectrum_is_that_of_the_stretched_kernel():
    omega = np.array([[0.3, 1.0], [2.0, 0.1]])
    expected = np.prod([Gaussian(w).spectrum(omega[:, i]) for i, w in enumerate([0.5, 2.0])], axis=0)
    np.testing.assert_allclose(Gaussian([0.5, 2.0]).spectrum(omega, n_dims=2), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"omega of Gaussian must be of shape \(..., 2\)"):
        Gaussian([0.5, 2.0]).spectrum([1.0, 2.0, 3.0], n_dims=2)


@pytest.mark.parametrize(("kernel", "n_negative"), [(Multiquadric(0.5), 1), (ThinPlate(), 3)], ids=repr)
def test_number_of_negative_eigenvalues(kernel, n_negative):
    K = kernel(np.random.default_rng(0).normal(size=(50, 2)))
    assert int((np.linalg.eigvalsh(K) < 0).sum()) == n_negative


@pytest.mark.parametrize(
    ("kernel", "name", "degree"), [(Multiquadric(1.0), "multiquadric", 0), (ThinPlate(), "thin_plate_spline", 1)]
)
def test_smoothing_with_the_polynomial_part_equals_scipy(kernel, name, degree):
    rng = np.random.default_rng(0)
    X, y, new = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=(10, 2))
    P = kernel.polynomial_part(X)
    system = np.block([[kernel(X) + 0.1 * np.eye(40), P], [P.T, np.zeros((P.shape[1], P.shape[1]))]])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros(P.shape[1])]))
    prediction = np.hstack([kernel(new, X), kernel.polynomial_part(new)]) @ solution
    reference = RBFInterpolator(X, y, smoothing=0.1, kernel=name, epsilon=1.0, degree=degree)(new)
    np.testing.assert_allclose(prediction, reference, rtol=1e-9, atol=1e-10)


def test_scaled_to_data():
    X = np.array([[0.0], [1.0], [3.0], [3.0]])
    assert Gaussian.scaled_to(X).width == 2.0
    assert Exponential.scaled_to(X).rate == 0.5
    assert DampedOscillator.scaled_to(X).scale == 2.0
    many = np.random.default_rng(0).normal(size=(5000, 2))
    assert Gaussian.scaled_to(many).width == Gaussian.scaled_to(many).width
    assert abs(Gaussian.scaled_to(many).width / Gaussian.scaled_to(many[:900]).width - 1) < 0.1
    with pytest.raises(ValueError, match="two distinct rows or more"):
        Gaussian.scaled_to(np.ones((5, 2)))
    with pytest.raises(TypeError, match="ThinPlate has no length"):
        ThinPlate.scaled_to(X)


def test_a_users_kernel_needs_only_its_profile():
    class Cauchy(Stationary):
        def _profile(self, s2, n_dims):
            return 1 / (1 + s2)

        def _profile_derivative(self, s2, n_dims):
            return -1 / (1 + s2) ** 2

    X = np.random.default_rng(0).normal(size=(30, 2))
    np.testing.assert_allclose(Cauchy()(X), DampedOscillator(1.0)(X), rtol=1e-14)
    np.testing.assert_allclose(Cauchy().spectrum([0.5, 1.0], 2), DampedOscillator(1.0).spectrum([0.5, 1.0], 2))
    check_kernel(Cauchy(), X)


def test_kernels_without_gradient_say_so():
    class Bare(Linear):
        def _gradient(self, X, Y):
            return super(Linear, self)._gradient(X, Y)

    with pytest.raises(TypeError, match="Bare says that it is differentiable but defines no _gradient"):
        Bare().gradient([[1.0]])


def test_an_outlier_does_not_change_the_others():
    Z = np.array([[0.0, 0.0], [0.0, 1.0], [1e-3, 0.0], [1e8, 0.0]])
    np.testing.assert_allclose(Gaussian()(Z)[:3, :3], Gaussian()(Z[:3]), rtol=1e-12)
    np.testing.assert_allclose(Gaussian()(sparse.csr_array(Z))[:3, :3], Gaussian()(Z[:3]), rtol=1e-12)


def test_a_year_of_seconds():
    seconds = np.random.default_rng(0).uniform(0, 365 * 86400, size=(300, 1))
    exact = np.exp(-((seconds - seconds.T) ** 2) / (2 * 60.0**2))
    np.testing.assert_allclose(Gaussian(60.0)(seconds), exact, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("kernel", [DampedOscillator(1e-7), InverseMultiquadric(1e-7), Multiquadric(1e-7)], ids=repr)
def test_sharp_peaks_on_duplicates(kernel):
    X = np.random.default_rng(0).normal(size=(50, 5))
    np.testing.assert_allclose(kernel(np.vstack([X, X]))[:50, 50:], kernel(X), rtol=1e-9)


def test_spectra_refuse_odd_dimensions():
    for bad in (0, -1, 1.5, None):
        with pytest.raises(ValueError, match="n_dims must be a whole number >= 1"):
            Gaussian().spectrum([1.0], bad)
    assert np.isnan(DampedOscillator().spectrum(np.nan))
    assert np.isfinite(Exponential().spectrum([0.5], 300)).all()
    assert Gaussian([2.0]).spectrum([[0.1], [0.2]], 1).shape == (2, 1)


def test_parameters_whose_squares_are_not_numbers(X):
    with pytest.raises(ValueError, match="scale of DampedOscillator must be between 1e-150 and 1e150"):
        DampedOscillator(1e200)(X)
    np.testing.assert_array_equal(Gaussian(np.array(2.0))(X), Gaussian(2.0)(X))
    assert Gaussian(2.0).of_squared_distance(-1e-18) == 1


def test_other_parameters_are_kept_when_scaled():
    X = np.array([[0.0], [1.0], [3.0]])
    kernel = RadialBSpline.scaled_to(X, degree=3, n_dims=5)
    assert (kernel.degree, kernel.n_dims, kernel.width) == (3, 5, 2.0)
