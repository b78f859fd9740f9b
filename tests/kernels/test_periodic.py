import numpy as np
import pytest

from mercer.kernels import (
    BSpline,
    DampedOscillator,
    Dirichlet,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Linear,
    Multiquadric,
    PeriodicGaussian,
    Periodized,
    RadialBSpline,
)

PERIODIC = [
    PeriodicGaussian(width=0.3, period=2.0),
    PeriodicGaussian(width=2.0),
    Dirichlet(order=4),
    Dirichlet(order=4, period=2.0),
    Periodized(Gaussian(0.3), 2.0),
    Periodized(Gaussian(3.0), 2.0),
    Periodized(Exponential(2.0), 2.0),
    Periodized(DampedOscillator(0.4), 2.0),
    Periodized(BSpline(3, 0.4), 2.0),
    Periodized(RadialBSpline(3, 0.4), 2.0),
]


@pytest.mark.parametrize("kernel", PERIODIC, ids=repr)
def test_eigenvalues_equal_those_of_a_fine_discretisation(kernel):
    """A periodic kernel on N equispaced points is a circulant matrix: its eigenvalues are a Fourier transform."""
    n = 2**16
    x = np.arange(n) * kernel.period / n
    first_row = kernel(x[:, None], [[0.0]])[:, 0]
    # The trapezoidal rule aliases a kernel with a kink by h²; Richardson's extrapolation removes that.
    fine = np.fft.fft(first_row).real * kernel.period / n
    coarse = np.fft.fft(first_row[::2]).real * kernel.period / (n / 2)
    index = np.arange(12)
    discrete = (4 * fine[index] - coarse[index]) / 3
    expected = kernel.eigenvalues(index)
    np.testing.assert_allclose(discrete, expected, rtol=1e-6, atol=1e-12 * expected.max())
    np.testing.assert_array_equal(kernel.eigenvalues(-index), expected)


@pytest.mark.parametrize("kernel", PERIODIC, ids=repr)
def test_is_periodic(kernel):
    X = np.random.default_rng(0).uniform(-1, 1, size=(10, 1))
    np.testing.assert_allclose(kernel(X + 3 * kernel.period, X), kernel(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("width", [0.05, 0.5, 1.4, 1.6, 4.0])
def test_periodic_gaussian_is_its_series(width):
    x = np.linspace(-7, 7, 50)
    n = np.arange(1, 400)
    series = np.cos(np.outer(x, n)) @ np.exp(-(n**2) * width**2 / 2)
    values = PeriodicGaussian(width)(x[:, None], [[0.0]])[:, 0]
    np.testing.assert_allclose(values, series, rtol=1e-10, atol=1e-13 * abs(series).max())


def test_periodic_gaussian_in_two_dimensions_sums_over_the_lattice():
    X = np.random.default_rng(0).uniform(-3, 3, size=(6, 2))
    n = np.array([(i, j) for i in range(-20, 21) for j in range(-20, 21) if (i, j) != (0, 0)])
    difference = X[:, None] - X
    series = np.cos(difference @ n.T) @ np.exp(-0.5 * 0.36 * (n**2).sum(axis=1)) / 2
    np.testing.assert_allclose(PeriodicGaussian(0.6)(X), series, rtol=1e-10, atol=1e-12)
    expected = [0.0, (2 * np.pi) ** 2 / 2 * np.exp(-0.5 * 0.36 * 5)]
    np.testing.assert_allclose(PeriodicGaussian(0.6).eigenvalues([[0, 0], [1, 2]], n_dims=2), expected)


def test_dirichlet_closed_form_and_parameter():
    x = np.linspace(0.1, 6, 40)
    closed = np.sin(7 * x / 2) / np.sin(x / 2)
    np.testing.assert_allclose(Dirichlet(3)(x[:, None], [[0.0]])[:, 0], closed, atol=1e-12)
    kernel = Dirichlet(order=3)
    assert kernel.order == 0
    assert kernel.get_params() == {"order": 3, "period": 2 * np.pi}
    assert kernel.set_params(order=5, period=1.0).get_params() == {"order": 5, "period": 1.0}
    assert repr(kernel) == "Dirichlet(order=5, period=1.0)"
    assert np.linalg.matrix_rank(Dirichlet(3)(x[:, None])) == 7


@pytest.mark.parametrize("bad", [-1, 2.5, "many", True])
def test_dirichlet_order_must_be_whole(bad):
    with pytest.raises(ValueError, match="order of Dirichlet must be a whole number >= 0"):
        Dirichlet(bad)([[0.0]])


@pytest.mark.parametrize("inner", [Gaussian(0.5), Exponential(3.0), BSpline(3, 0.5), RadialBSpline(1, 0.6)], ids=repr)
def test_periodized_in_two_dimensions_sums_over_images(inner):
    X = np.random.default_rng(0).uniform(-3, 3, size=(5, 2))
    shifts = [np.array([i, j]) * 2.0 for i in range(-12, 13) for j in range(-12, 13)]
    total = sum(inner(X + shift, X) for shift in shifts)
    kernel = Periodized(inner, 2.0)
    np.testing.assert_allclose(kernel(X), total, rtol=1e-9, atol=1e-12)


def test_periodized_eigenvalues_in_two_dimensions():
    kernel = Periodized(Gaussian(0.5), 2.0)
    n = 64
    grid = np.arange(n) * 2.0 / n
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    transform = np.fft.fft2(kernel(points, [[0.0, 0.0]]).reshape(n, n)).real * (2.0 / n) ** 2
    np.testing.assert_allclose(kernel.eigenvalues([[1, 2], [0, 3]], n_dims=2), transform[[1, 0], [2, 3]], rtol=1e-9)
    with pytest.raises(ValueError, match="omega of Periodized must be of shape"):
        kernel.eigenvalues([1, 2, 3], n_dims=2)


def test_kernels_that_cannot_be_periodic():
    with pytest.raises(ValueError, match=r"kernel of Periodized must be translation invariant, got Linear\(\)"):
        Periodized(Linear(), 2.0)([[0.0]])
    for kernel in (InverseMultiquadric(), Multiquadric()):
        with pytest.raises(ValueError, match="must be integrable to be made periodic"):
            Periodized(kernel, 2.0)([[0.0]])
    with pytest.raises(ValueError, match="kernel of Periodized must be one whose sum over images converges soon"):
        Periodized(DampedOscillator(), 2.0)([[0.0, 0.0]])
    with pytest.raises(ValueError, match="period of Periodized must be positive, got 0"):
        Periodized(Gaussian(), 0)([[0.0]])
    with pytest.raises(ValueError, match="kernel of Periodized must be one with a spectrum"):
        Periodized(Gaussian() ** 2, 2.0).eigenvalues([0])


def test_a_kernel_without_spectrum_is_summed_over_images():
    X = np.linspace(0, 2, 7)[:, None]
    # The square of a Gaussian is a Gaussian, but its spectrum is not asked for.
    expected = Periodized(Gaussian(0.5 / np.sqrt(2)), 2.0)(X)
    np.testing.assert_allclose(Periodized(Gaussian(0.5) ** 2, 2.0)(X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("inner", "period"),
    [
        (BSpline(1, 0.5), 1.0),
        (BSpline(3, 0.5), 1.0),
        (RadialBSpline(3, 0.5), 2.0),
        (BSpline(2), 2.0),
        (Gaussian(9.0), 1.0),
    ],
    ids=repr,
)
def test_zeros_of_a_spectrum_are_not_its_end(inner, period):
    """Splines whose spectrum vanishes at every other frequency of the period."""
    x = np.linspace(0, 1, 7)[:, None]
    expected = sum(inner(x + n * period, x) for n in range(-120, 121))
    np.testing.assert_allclose(Periodized(inner, period)(x), expected, rtol=1e-10, atol=1e-13)


def test_zeros_of_a_kernel_are_not_its_end():
    class SquaredSinc(Gaussian):
        has_spectrum = False

        def _profile(self, s2, n_dims):
            return np.sinc(np.sqrt(s2)) ** 2

    with pytest.raises(ValueError, match="kernel of Periodized must be one whose sum over images converges soon"):
        Periodized(SquaredSinc(), 1.0)([[0.0], [0.5]])
