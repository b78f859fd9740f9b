"""Expected features and products of Gaussian kernels at noisy rows."""

import numpy as np
import pytest

from mercer.kernels import (
    Exponential,
    Gaussian,
    expected_features,
    expected_moments,
    expected_products,
    smoothed_kernel,
)
from mercer.kernels.expectations import product_factors

RNG = np.random.default_rng(0)
X, NODES = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2))


@pytest.mark.parametrize(
    ("width", "noise"), [(0.8, 0.5), ([0.7, 1.5], 0.3), (1.0, [0.2, 0.9]), ([2.0, 0.5], [0.0, 0.4])]
)
def test_expectations_are_means_over_a_million_draws(width, noise):
    kernel, rng = Gaussian(width), np.random.default_rng(1)
    features, products = np.zeros((3, 4)), np.zeros((3, 4, 4))
    n_draws, at_once = 1_000_000, 100_000
    for _ in range(n_draws // at_once):
        for i, row in enumerate(X):
            K = kernel(row + np.asarray(noise) * rng.normal(size=(at_once, 2)), NODES)
            features[i] += K.sum(axis=0) / n_draws
            products[i] += K.T @ K / n_draws
    # Values are in [0, 1], so that one standard error is 5e-4 at most.
    np.testing.assert_allclose(expected_features(kernel, X, NODES, noise), features, atol=2e-3)
    np.testing.assert_allclose(expected_products(kernel, X, NODES, noise), products.sum(axis=0), atol=4e-3)


def test_expectations_agree_with_quadrature():
    kernel, noise = Gaussian(0.6), 0.8
    points, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / np.sqrt(2 * np.pi)
    x, nodes = np.array([[0.3]]), np.array([[-0.4], [0.1], [1.2]])
    K = kernel(x + noise * points[:, None], nodes)
    np.testing.assert_allclose(expected_features(kernel, x, nodes, noise)[0], weights @ K, atol=1e-10)
    np.testing.assert_allclose(expected_products(kernel, x, nodes, noise), K.T @ (weights[:, None] * K), atol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 0.8])
def test_moments_agree_with_quadrature(noise):
    kernel = Gaussian(0.6)
    points, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / np.sqrt(2 * np.pi)
    rows, nodes = np.array([[0.3], [-1.0]]), np.array([[-0.4], [0.1], [1.2]])
    expected = 0.0
    for row in rows:
        noisy = row + noise * points[:, None]
        expected = expected + (weights * noisy[:, 0]) @ kernel(noisy, nodes)
    np.testing.assert_allclose(expected_moments(kernel, rows, nodes, noise)[0], expected, atol=1e-10)


def test_moments_have_widths_and_noises_for_each_column():
    kernel, noise, rng = Gaussian([0.7, 1.5]), np.array([0.2, 0.9]), np.random.default_rng(1)
    total = 0.0
    for row in X:
        noisy = row + noise * rng.normal(size=(400_000, 2))
        total = total + noisy.T @ kernel(noisy, NODES) / len(noisy)
    np.testing.assert_allclose(expected_moments(kernel, X, NODES, noise), total, atol=6e-3)


def test_small_noise_is_the_second_order_of_differences():
    # E g(x + ε) = g(x) + s²/2 Δg(x) + O(s⁴), for g a feature and for g a product of two.
    kernel, s, step = Gaussian(0.9), 1e-2, 1e-3
    shifts = step * np.vstack([np.eye(2), -np.eye(2)])

    def laplacian(g, x):
        return (sum(g(x + shift) for shift in shifts) - 4 * g(x)) / step**2

    def features(x):
        return kernel(x[None], NODES)[0]

    def products(x):
        return np.outer(features(x), features(x))

    for x in X:
        change = (expected_features(kernel, x[None], NODES, s)[0] - features(x)) / s**2
        np.testing.assert_allclose(change, 0.5 * laplacian(features, x), atol=2e-3)
        change = (expected_products(kernel, x[None], NODES, s) - products(x)) / s**2
        np.testing.assert_allclose(change, 0.5 * laplacian(products, x), atol=5e-3)


def test_without_noise_they_are_features_and_products():
    kernel = Gaussian([0.5, 2.0])
    K = kernel(X, NODES)
    np.testing.assert_allclose(expected_features(kernel, X, NODES, 0.0), K, rtol=1e-14)
    np.testing.assert_allclose(expected_products(kernel, X, NODES, 0.0), K.T @ K, rtol=1e-13)


def test_products_of_blocks_add_up_and_are_positive():
    rows = RNG.normal(size=(50, 2))
    whole, *parts = (expected_products(Gaussian(1.0), part, NODES, 0.4) for part in (rows, rows[:20], rows[20:]))
    np.testing.assert_allclose(whole, sum(parts), rtol=1e-13)
    np.testing.assert_array_equal(whole, whole.T)
    features = expected_features(Gaussian(1.0), rows, NODES, 0.4)
    # E kkᵀ - (E k)(E k)ᵀ is a covariance.
    assert np.linalg.eigvalsh(whole - features.T @ features).min() > 0


def test_factors_give_the_product_at_each_row():
    A, u = product_factors(Gaussian([1.0, 0.7]), NODES, [0.3, 0.6])
    U = u(X, NODES)
    for i, x in enumerate(X):
        expected = expected_products(Gaussian([1.0, 0.7]), x[None], NODES, [0.3, 0.6])
        np.testing.assert_allclose(A * np.outer(U[i], U[i]), expected, rtol=1e-13)


def test_far_nodes_and_large_noise_do_not_overflow():
    nodes = np.array([[0.0], [1e3], [1e6]])
    products = expected_products(Gaussian(1e-3), nodes, nodes, 1e3)
    assert np.isfinite(products).all()
    assert (products >= 0).all()
    assert 0 < expected_features(Gaussian(1.0), np.zeros((1, 300)), np.zeros((1, 300)), 1.0)[0, 0] < 1e-40


def test_what_is_no_gaussian_or_no_noise_is_refused():
    with pytest.raises(TypeError, match="kernel of smoothed_kernel must be a Gaussian, got Exponential"):
        smoothed_kernel(Exponential(1.0), 0.1, 2)
    for noise in (-1.0, np.nan, np.inf, [0.1, 0.2, 0.3], [[0.1, 0.2]]):
        with pytest.raises(ValueError, match="noise of smoothed_kernel must be a number >= 0"):
            expected_features(Gaussian(), X, NODES, noise)
    with pytest.raises(ValueError, match="nodes must have the 2 columns of X, got 1"):
        expected_products(Gaussian(), X, NODES[:, :1], 0.1)
    with pytest.raises(ValueError, match="NaN"):
        expected_features(Gaussian(), [[np.nan, 0.0]], NODES, 0.1)
