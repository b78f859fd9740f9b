import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.kernels.spectra import radial_fourier, unit_ball_fourier


@pytest.mark.parametrize("n_dims", [1, 2, 3, 7])
def test_indicator_of_the_unit_ball(n_dims):
    omega = np.array([0.0, 0.01, 1.0, 5.0])
    transform = radial_fourier(lambda r2: (r2 < 1).astype(float), omega, n_dims)
    np.testing.assert_allclose(transform, unit_ball_fourier(omega, n_dims), rtol=1e-8, atol=1e-12)


def test_shapes_and_zero_frequency():
    omega = np.array([[0.0, 0.5], [1.0, 2.0]])
    transform = radial_fourier(Gaussian(1.0).of_squared_distance, omega, 3)
    np.testing.assert_allclose(transform, np.exp(-(omega**2) / 2), rtol=1e-12)
    assert radial_fourier(lambda r2: 1 / np.sqrt(1 + r2), 0.0, 1) == np.inf


def test_negative_frequencies():
    with pytest.raises(ValueError, match="omega of radial_fourier must be >= 0"):
        radial_fourier(np.exp, [-1.0], 1)


def test_zero_frequency_of_functions_with_heavy_tails():
    np.testing.assert_allclose(radial_fourier(lambda r2: 1 / (1 + r2), 0.0, 1), np.sqrt(np.pi / 2), rtol=1e-9)
    np.testing.assert_allclose(
        radial_fourier(lambda r2: (1 + np.sqrt(r2)) ** -2, 0.0, 1), np.sqrt(2 / np.pi), rtol=1e-9
    )
