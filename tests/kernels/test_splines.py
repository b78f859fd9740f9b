import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import BSpline as Reference
from scipy.special import gamma

from mercer.kernels import BSpline, Gaussian, RadialBSpline, check_kernel


@pytest.mark.parametrize("degree", range(16))
def test_bspline_equals_scipys_basis_element(degree):
    x = np.linspace(-9, 9, 401) + 1e-3
    basis = Reference.basis_element(np.arange(degree + 2) - (degree + 1) / 2, extrapolate=False)
    expected = np.nan_to_num(basis(x / 0.8))
    np.testing.assert_allclose(BSpline(degree, 0.8)(x[:, None], [[0.0]])[:, 0], expected, atol=3e-13)


def test_bspline_is_a_product_over_columns():
    X = np.random.default_rng(0).normal(size=(20, 2))
    product = BSpline(3, 0.5)(X[:, :1]) * BSpline(3, 2.0)(X[:, 1:])
    np.testing.assert_allclose(BSpline(3, [0.5, 2.0])(X), product, rtol=1e-13)
    omega = np.array([[0.5, 1.0], [3.0, 0.2]])
    factors = BSpline(3, 0.5).spectrum(omega[:, 0]) * BSpline(3, 2.0).spectrum(omega[:, 1])
    np.testing.assert_allclose(BSpline(3, [0.5, 2.0]).spectrum(omega, n_dims=2), factors, rtol=1e-13)
    with pytest.raises(ValueError, match="omega of BSpline must be of shape"):
        BSpline(3).spectrum([1.0, 2.0, 3.0], n_dims=2)


@pytest.mark.parametrize("degree", [0, 2, 4])
def test_even_degrees_are_not_positive_definite(degree):
    kernel = BSpline(degree)
    assert kernel.order is None
    X = np.random.default_rng(0).uniform(-5, 5, size=(100, 1))
    assert np.linalg.eigvalsh(kernel(X))[0] < -1e-3
    with pytest.raises(ValueError, match=r"must be positive definite or conditionally so, got order None"):
        check_kernel(kernel, X)


def test_slope_of_degree_zero_is_zero():
    assert np.all(BSpline(0).gradient([[0.1]], [[0.0]]) == 0)


@pytest.mark.parametrize("bad", [-1, 1.5, "3", None, True])
def test_degree_must_be_whole(bad):
    with pytest.raises(ValueError, match="degree of BSpline must be a whole number"):
        BSpline(bad)([[0.0]])
    with pytest.raises(ValueError, match="degree of RadialBSpline must be a whole number"):
        RadialBSpline(bad)([[0.0]])


def test_degree_is_bounded():
    with pytest.raises(ValueError, match="degree of BSpline must be at most 15, got 16; use Gaussian"):
        BSpline(16)([[0.0]])


def test_radial_spline_in_one_dimension_is_the_bspline():
    x = np.linspace(-5, 5, 101)[:, None]
    for degree in (1, 3, 5):
        # Balls of radius 1 are intervals of length 2.
        np.testing.assert_allclose(
            RadialBSpline(degree)(x, [[0.0]]), 2.0**degree * BSpline(degree, 2.0)(x, [[0.0]]), atol=1e-13
        )


def test_radial_spline_of_degree_one_is_the_overlap_of_two_balls():
    r = np.linspace(0, 2.5, 50)
    inside = np.minimum(r, 2)
    spheres = np.pi / 12 * (4 + inside) * (2 - inside) ** 2
    np.testing.assert_allclose(RadialBSpline(1).of_squared_distance(r**2, 3), spheres, atol=1e-13)
    discs = 2 * np.arccos(inside / 2) - inside / 2 * np.sqrt(4 - inside**2)
    np.testing.assert_allclose(RadialBSpline(1).of_squared_distance(r**2, 2), discs, atol=1e-13)


@pytest.mark.parametrize("n_dims", [2, 3, 4, 6])
def test_tabulated_radial_spline_has_its_spectrum(n_dims):
    kernel = RadialBSpline(3, width=0.7)
    report = check_kernel(kernel, np.random.default_rng(0).normal(size=(40, n_dims)), n_dims=n_dims)
    assert report.errors["spectrum"] < 1e-6


def test_tabulated_radial_spline_is_a_convolution():
    """B_3 = B_1 * B_1 in the plane, by brute-force quadrature at distance 1."""
    grid = (np.arange(800) + 0.5) / 200 - 2
    x, y = np.meshgrid(grid, grid)
    one = RadialBSpline(1)
    product = one.of_squared_distance(x**2 + y**2, 2) * one.of_squared_distance((x - 1) ** 2 + y**2, 2)
    np.testing.assert_allclose(RadialBSpline(3).of_squared_distance(1.0, 2), product.sum() / 200**2, rtol=1e-5)


def test_radial_spline_beyond_its_support_is_zero():
    assert RadialBSpline(3, width=0.5).of_squared_distance(2.0**2, 3) == 0


def test_dimension_of_radial_splines():
    with pytest.raises(ValueError, match="degree of RadialBSpline must be odd, got 2; even degrees"):
        RadialBSpline(2)([[0.0]])
    with pytest.raises(ValueError, match="n_dims of RadialBSpline must be at least the 3 columns of X, got 2"):
        RadialBSpline(1, n_dims=2)(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="n_dims of RadialBSpline must be given to evaluate by distance alone"):
        RadialBSpline(1).of_squared_distance([1.0])
    lower = RadialBSpline(1, n_dims=5)(np.random.default_rng(0).normal(size=(30, 2)))
    assert np.linalg.eigvalsh(lower)[0] > 0


def test_high_degrees_approach_a_gaussian():
    x = np.linspace(0, 3, 30)[:, None]
    width = np.sqrt(16 / 12)
    density = Gaussian(width)(x, [[0.0]]) / (np.sqrt(2 * np.pi) * width)
    np.testing.assert_allclose(BSpline(15)(x, [[0.0]]), density, atol=0.004)


@pytest.mark.parametrize("n_dims", [2, 3, 5, 8, 12, 20])
@pytest.mark.parametrize("degree", [3, 5])
def test_tabulated_radial_spline_at_zero_and_at_its_end(degree, n_dims):
    """k(0) is the integral of the square of the spline of half the order; all values lie between 0 and k(0)."""
    half = RadialBSpline((degree - 1) // 2, n_dims=n_dims) if (degree - 1) // 2 % 2 else None
    kernel = RadialBSpline(degree, n_dims=n_dims)
    r = np.linspace(0, degree + 1, 200)
    values = kernel.of_squared_distance(r**2)
    assert values.min() > -1e-9 * values[0]
    assert np.all(np.diff(values) < 1e-9 * values[0])
    if half is not None:
        sphere = 2 * np.pi ** (n_dims / 2) / gamma(n_dims / 2)
        squared, _ = quad(lambda x: sphere * x ** (n_dims - 1) * float(half.of_squared_distance(x * x)) ** 2, 0, 2)
        np.testing.assert_allclose(values[0], squared, rtol=1e-8)


def test_degree_of_radial_splines_is_bounded():
    with pytest.raises(ValueError, match="degree of RadialBSpline must be at most 15, got 17"):
        RadialBSpline(17)([[0.0, 1.0]])
