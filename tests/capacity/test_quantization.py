"""Promises about manifolds: numbers, what holds in simulation, codes with noise, and what is refused."""

import numpy as np
import pytest
from scipy.integrate import quad

from mercer import PrincipalManifold, capacity
from mercer.datasets import make_arc
from mercer.kernels import Gaussian

SPECTRUM = capacity.periodic_spectrum(Gaussian(0.5), 4.5)
MAPS = capacity.ManifoldClass(SPECTRUM, norm=1.0, n_outputs=2, method="water")


class Circle:
    """The unit circle as a manifold of period 2."""

    def transform(self, X):
        return np.arctan2(X[:, 1], X[:, 0])[:, None] / np.pi

    def inverse_transform(self, Z):
        return np.column_stack([np.cos(np.pi * Z[:, 0]), np.sin(np.pi * Z[:, 0])])


class Means:
    """k points in a ball, as k-means has them: N(ε) by grids of the ball of radius 1 in two dimensions."""

    def __init__(self, k):
        self.k = k

    def log_covering(self, scale, n_samples):
        return 2 * self.k * np.log(1 + 2 / scale)


def test_numbers_of_the_specification():
    found = capacity.manifold_deviation(MAPS, 10_000, 0.05, radius=1.0)
    assert found.value == pytest.approx(0.41057559, rel=1e-6)
    assert 8 * found.scale == pytest.approx(0.0364, abs=1e-4)
    values = [capacity.manifold_excess(MAPS, m, radius=1.0).value for m in (10**3, 10**4, 10**5, 10**6)]
    np.testing.assert_allclose(values, [2.148865, 0.766255, 0.268712, 0.092839], atol=5e-7)


def test_expected_excess_is_the_integral_of_its_tail():
    m = 5000
    found = capacity.manifold_excess(MAPS, m, radius=1.0)
    epsilon, n = 8 * found.scale, np.exp(found.log_covering)
    tail = quad(lambda eta: min(1.0, 2 * (n + 1) * np.exp(-m * (eta - epsilon) ** 2 / 32)), epsilon, 20, limit=500)[0]
    assert epsilon + tail == pytest.approx(found.value, rel=1e-6)


def test_better_covers_and_more_rows_promise_more():
    best = capacity.ManifoldClass(SPECTRUM, norm=1.0, n_outputs=2)
    for m in (10, 1000, 10**6):
        for radius in (0.5, 3.0):
            better = capacity.manifold_deviation(best, m, 0.05, radius=radius)
            worse = capacity.manifold_deviation(MAPS, m, 0.05, radius=radius)
            assert better.value <= worse.value <= 4 * radius**2
            assert worse.vacuous == (worse.value >= radius**2)
    values = [capacity.manifold_deviation(MAPS, 10**5, delta, radius=1.0).value for delta in (0.5, 0.1, 1e-6)]
    assert values == sorted(values)
    linear = capacity.manifold_deviation(MAPS, 10**5, 0.1, radius=1.0, power=1.0)
    assert linear.value < values[1]
    excess = [capacity.manifold_excess(MAPS, 10**5, radius=1.0, delta=delta).value for delta in (0.5, 0.1, 1e-6)]
    assert excess == sorted(excess)
    hull = capacity.ManifoldClass(SPECTRUM, norm=1.0, n_outputs=2, regularizer="l1")
    assert capacity.manifold_excess(hull, 10**5, radius=1.0).value <= excess[0]


def test_deviation_and_excess_hold_in_simulation():
    rng, m, delta = np.random.default_rng(0), 200, 0.1
    centres = rng.normal(size=(50, 2, 2))
    centres /= np.maximum(np.linalg.norm(centres, axis=2, keepdims=True), 1.0)

    def errors(X):
        return np.min(np.sum((X[:, None, None] - centres) ** 2, axis=3), axis=2).mean(axis=0)

    def rows(size):
        angle, radius = rng.uniform(0, 2 * np.pi, size), np.sqrt(rng.uniform(size=size))
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    truth = errors(rows(20_000))
    bound = capacity.manifold_deviation(Means(2), m, delta, radius=1.0).value
    excess = capacity.manifold_excess(Means(2), m, radius=1.0)
    draws = np.array([errors(rows(m)) for _ in range(1000)])
    deviations = np.abs(draws - truth).max(axis=1)
    assert np.mean(deviations > bound) <= delta + 3 * np.sqrt(delta * (1 - delta) / 1000)
    gained = truth[np.argmin(draws, axis=1)] - truth.min()
    assert gained.mean() <= excess.value
    likely = capacity.manifold_excess(Means(2), m, radius=1.0, delta=delta).value
    assert np.mean(gained > likely) <= delta


def test_robust_coding_of_a_circle():
    angles = np.linspace(-3, 3, 13)
    X = 1.2 * np.column_stack([np.cos(angles), np.sin(angles)])
    found = capacity.robust_coding(Circle(), X, 0.1 / np.pi, share=0.25)
    assert found.error == pytest.approx(0.04)
    assert found.error + found.added == pytest.approx(0.052, rel=1e-6)
    sigma = 0.1 / np.pi
    exact = np.mean([1.44 + 1 - 2.4 * np.exp(-0.01 / 2)])
    assert found.error + found.added == pytest.approx(exact, abs=5e-5)
    assert found.added == pytest.approx(sigma**2 * found.sensitivity)
    rounded = (2 * 2**-found.bits) ** 2 / 12 * found.sensitivity
    assert rounded == pytest.approx(0.25 * found.error)


def test_codes_without_error_or_with_large_ones():
    angles = np.linspace(-2, 2, 9)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    assert capacity.robust_coding(Circle(), X, 0.01).bits > 10
    assert capacity.robust_coding(Circle(), 100 * X, 0.01, share=1.0).bits == 0.0


def test_a_fitted_manifold_has_a_class_and_a_code():
    X, _ = make_arc(150, noise=0.05, random_state=0)
    X = X - X.mean(axis=0)
    curve = PrincipalManifold(1, width=0.5, penalty=1e-3).fit(X)
    maps = capacity.ManifoldClass.of(curve)
    assert maps.n_outputs == 2
    assert maps.norm >= np.sqrt(np.sum(curve.dual_coef_ * (curve.kernel_(curve.nodes_) @ curve.dual_coef_)))
    assert maps.log_covering(maps.wrap_error / 2) == np.inf
    radius = np.linalg.norm(X, axis=1).max()
    found = capacity.manifold_deviation(maps, 150, 0.05, radius=radius)
    assert found.vacuous
    assert not capacity.manifold_deviation(maps, 10**7, 0.05, radius=radius).vacuous
    code = capacity.robust_coding(curve, X, 0.05)
    rng = np.random.default_rng(0)
    Z = curve.transform(X)
    inside = np.abs(Z[:, 0]) < 0.8
    noisy = [
        np.mean(np.sum((curve.inverse_transform(Z[inside] + rng.normal(0, 0.05, Z[inside].shape)) - X[inside]) ** 2, 1))
        for _ in range(200)
    ]
    of_these = capacity.robust_coding(curve, X[inside], 0.05)
    assert np.mean(noisy) == pytest.approx(of_these.error + of_these.added, rel=0.05)
    assert code.error == pytest.approx(np.mean(np.sum((curve.inverse_transform(Z) - X) ** 2, axis=1)))


def test_a_manifold_with_a_linear_part_has_no_such_class():
    X, _ = make_arc(60, noise=0.05, random_state=0)
    curve = PrincipalManifold(1, width=0.5, penalty=1e-2, linear_part=True).fit(X)
    with pytest.raises(TypeError, match="no linear part, got PrincipalManifold"):
        capacity.ManifoldClass.of(curve)


def test_covers_of_polygons():
    value = capacity.kegl_log_covering(0.1, length=2.0, n_segments=10, radius=1.0, n_dims=2)
    assert value == pytest.approx(115.775, abs=5e-4)
    assert value - 31 * np.log(2) == pytest.approx(94.288, abs=5e-4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: capacity.manifold_deviation(MAPS, 10, 1.0, radius=1.0),
            ValueError,
            "delta of manifold_deviation must",
        ),
        (lambda: capacity.manifold_deviation(MAPS, 0, 0.1, radius=1.0), ValueError, "n_samples of manifold_deviation"),
        (
            lambda: capacity.manifold_deviation(MAPS, 9, 0.1, radius=0.0),
            ValueError,
            "radius of manifold_deviation must",
        ),
        (lambda: capacity.manifold_excess(MAPS, 9, radius=1.0, power=0.5), ValueError, "power of manifold_excess must"),
        (
            lambda: capacity.manifold_excess(MAPS, 9, radius=1.0, delta=0),
            ValueError,
            "delta of manifold_excess must be",
        ),
        (lambda: capacity.ManifoldClass(SPECTRUM, norm=0), ValueError, "norm of ManifoldClass must be a number > 0"),
        (
            lambda: capacity.ManifoldClass(SPECTRUM, regularizer="l2"),
            ValueError,
            "regularizer of ManifoldClass must be",
        ),
        (lambda: capacity.ManifoldClass.of(PrincipalManifold()), TypeError, "must be a fitted PrincipalManifold"),
        (lambda: capacity.robust_coding(Circle(), [[1.0, 0.0]], 0.0), ValueError, "noise of robust_coding must be"),
        (
            lambda: capacity.robust_coding(Circle(), [[1.0, 0.0]], 0.1, share=0),
            ValueError,
            "share of robust_coding must",
        ),
        (lambda: capacity.robust_coding("circle", [[1.0, 0.0]], 0.1), TypeError, "must have transform and inverse"),
        (
            lambda: capacity.kegl_log_covering(0.1, length=0, n_segments=3, radius=1.0, n_dims=2),
            ValueError,
            "length of kegl_log_covering must be a number > 0",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
