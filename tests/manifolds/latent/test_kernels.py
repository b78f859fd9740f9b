import numpy as np
import pytest

from mercer.kernels import BSpline, Gaussian, Linear, PeriodicGaussian, Periodized, Precomputed, check_kernel
from mercer.manifolds import LatentSpace, Length
from mercer.manifolds.latent.kernels import check_latent_kernel, default_kernel

CYLINDER = LatentSpace(("interval", "circle"))


def test_default_is_gaussian_on_intervals_and_periodic_on_circles():
    Z = np.random.default_rng(0).uniform(-1, 1, size=(10, 2))
    kernel = default_kernel(CYLINDER, np.array([0.3, 0.5]))
    images = sum(np.exp(-0.5 * ((Z[:, [1]] - Z[:, 1] + 2 * n) / 0.5) ** 2) for n in range(-5, 6))
    np.testing.assert_allclose(kernel(Z), np.exp(-0.5 * ((Z[:, [0]] - Z[:, 0]) / 0.3) ** 2) * images, rtol=1e-12)
    np.testing.assert_allclose(kernel(Z + np.array([0, 2]), Z), kernel(Z), atol=1e-12)
    assert check_latent_kernel(kernel, CYLINDER, "Owner") is kernel
    plane = default_kernel(LatentSpace(("interval", "interval")), np.array([0.3, 0.3]))
    assert plane.stationary
    step = 1e-6 * np.eye(2)
    for c in range(2):
        slope = (kernel(Z + step[c], Z) - kernel(Z - step[c], Z)) / 2e-6
        np.testing.assert_allclose(kernel.gradient(Z, Z)[..., c], slope, atol=1e-8)


def test_length_is_the_norm_of_the_first_derivative():
    nodes = np.sort(np.random.default_rng(0).uniform(-1, 1, size=(7, 1)), axis=0)
    alpha = np.random.default_rng(1).normal(size=7)
    fine = np.linspace(-1, 1, 200_001)
    f = Length()(fine[:, None], nodes) @ alpha
    integral = np.sum(np.diff(f) ** 2 / np.diff(fine))
    np.testing.assert_allclose(alpha @ Length()(nodes) @ alpha, integral, rtol=1e-3)
    np.testing.assert_allclose(Length().diag(nodes), np.diag(Length()(nodes)))
    check_kernel(Length(), nodes)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Periodized(Gaussian(0.2), period=3.0), Linear()])
def test_refuses_kernels_that_do_not_close(kernel):
    with pytest.raises(ValueError, match="kernel of Owner must have period 2 in coordinate 1, which is a circle"):
        check_latent_kernel(kernel, CYLINDER, "Owner")


def test_refuses_what_is_no_kernel_for_it():
    with pytest.raises(ValueError, match="kernel of Owner must be a Kernel or None, got 'gaussian'"):
        check_latent_kernel("gaussian", CYLINDER, "Owner")
    for kernel in (Precomputed(), BSpline(degree=2)):
        with pytest.raises(ValueError, match="must be differentiable and .conditionally. positive definite"):
            check_latent_kernel(kernel, CYLINDER, "Owner")
    check_latent_kernel(PeriodicGaussian(0.5, period=2.0), LatentSpace(("circle", "circle")), "Owner")
