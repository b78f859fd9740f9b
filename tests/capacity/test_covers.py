"""Covers of ellipsoids and of functions on points, and classes of functions."""

from itertools import product
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import capacity
from mercer.kernels import Gaussian
from mercer.losses import Hinge

BITS = np.log(2)


def test_ellipsoid_of_the_specification():
    found = np.exp(capacity.ellipsoid_log_covering([1.0, 0.3, 0.1], 0.15))
    assert found[0] == pytest.approx(40 / 3)
    assert 45 <= found[1] <= 124


axes = st.lists(st.floats(1e-5, 1e2), min_size=1, max_size=10)


@settings(max_examples=60, deadline=None)
@given(axes, st.floats(1e-3, 0.999), st.floats(0.1, 30.0))
def test_covers_of_ellipsoids_have_lower_and_upper_bounds(sigma, share, log_n):
    epsilon = share * max(sigma)
    lower, upper = capacity.ellipsoid_log_covering(sigma, epsilon)
    assert lower <= upper <= np.sum(np.maximum(np.log(6 * np.array(sigma) / epsilon), 0)) + 1e-9
    low, high = capacity.diagonal_entropy_number(sigma, log_n)
    assert 0 < low <= high * (1 + 1e-9)
    assert high <= min(6 * low, max(sigma)) * (1 + 1e-9)
    assert capacity.ellipsoid_log_covering(sigma, high).upper <= log_n + 1e-6
    assert capacity.ellipsoid_log_covering(sigma, max(sigma)) == (0.0, 0.0)
    assert capacity.diagonal_entropy_number(sigma, 0.0) == (max(sigma), max(sigma))


def test_greedy_covers_of_an_ellipse_are_between_the_bounds():
    sigma, epsilon = np.array([1.0, 0.4]), 0.2
    grid = np.array(list(product(np.linspace(-1, 1, 121), np.linspace(-0.4, 0.4, 61))))
    points = grid[np.sum((grid / sigma) ** 2, axis=1) <= 1]
    left, n_balls = points, 0
    while len(left):
        left = left[np.linalg.norm(left - left[0], axis=1) > epsilon]
        n_balls += 1
    lower, upper = np.exp(capacity.ellipsoid_log_covering(sigma, epsilon))
    assert lower <= n_balls <= upper


def test_numbers_of_balls_on_points():
    assert capacity.ball_log_covering(0.2, 1000) == pytest.approx(log(comb(2024, 24)), rel=1e-12)
    assert capacity.ball_log_covering(0.2, 1000) == pytest.approx(127.78632, abs=5e-6)
    found = [capacity.ball_entropy_number(bits * BITS, 1000) for bits in (20, 40, 80, 160)]
    np.testing.assert_allclose(found, [0.70711, 0.44721, 1 / 3, 0.21822], atol=5e-6)
    assert [round(1 / e**2) - 1 for e in found] == [1, 4, 8, 20]
    assert capacity.ball_log_covering(1.0, 1000) == 0.0
    assert capacity.ball_entropy_number(0.0, 1000, norm=3.0) == 3.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", ["random", "corner"])
def test_the_perceptron_needs_no_more_steps_than_are_counted(seed, target):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = rng.normal(size=20) if target == "random" else X[:5].T @ np.sign(rng.normal(size=5))
    w /= np.linalg.norm(w)
    for epsilon in (0.5, 0.2, 0.1):
        found, steps = np.zeros(20), 0
        while np.abs(X @ (w - found)).max() > epsilon:
            worst = np.argmax(np.abs(X @ (w - found)))
            found += epsilon * np.sign(X[worst] @ (w - found)) * X[worst]
            steps += 1
        assert steps <= np.ceil(1 / epsilon**2) - 1


def test_random_combinations_cover_a_hull():
    rng = np.random.default_rng(0)
    m, n_functions, epsilon = 30, 6, 0.4
    G = rng.uniform(-1, 1, size=(n_functions, m))
    a = rng.dirichlet(np.ones(n_functions)) * np.sign(rng.normal(size=n_functions))
    k = int(2 / epsilon**2 * np.log(2 * m)) + 1
    draws = rng.choice(n_functions, p=np.abs(a), size=(200, k))
    means = (np.sign(a)[draws][..., None] * G[draws]).mean(axis=1)
    assert np.abs(means - a @ G).max(axis=1).min() <= epsilon
    value = capacity.hull_log_covering(epsilon, m, n_functions=n_functions)
    assert value == pytest.approx(log(comb(2 * n_functions + k, k)), rel=1e-10)
    assert capacity.hull_log_covering(1.0, m, n_functions=n_functions) == 0.0


def test_hulls_of_infinitely_many_functions():
    options = {"lipschitz": 1.0, "extent": 2.0, "norm": 2.0}
    values = [capacity.lipschitz_hull_log_covering(0.2, 100, n_dims=q, **options) for q in (1, 2, 10)]
    assert values == sorted(values)
    assert np.isfinite(values[-1])
    assert capacity.lipschitz_hull_log_covering(1e-9, 100, n_dims=50, **options) == np.inf
    assert capacity.lipschitz_hull_log_covering(2.0, 100, **options) == 0.0


CLASSES = [
    capacity.KernelBall(2.0, 1.5),
    capacity.KernelBall(2.0, spectrum=capacity.periodic_spectrum(Gaussian(1.0), 8.0)),
    capacity.KernelBall(2.0, n_outputs=3),
    capacity.KernelHull(2.0, 1.0, 10),
    capacity.KernelHull(2.0, 1.0, 10, spectrum=capacity.periodic_spectrum(Gaussian(1.0), 8.0)),
    capacity.Offsets(3.0),
    capacity.FiniteClass(17),
    capacity.VCClass(3),
    capacity.PseudoDimension(4, 2.0),
    capacity.KernelBall(1.0) + capacity.Offsets(1.0),
    capacity.VCClass(2) + capacity.FiniteClass(3) + capacity.Offsets(0.5),
]


@pytest.mark.parametrize("functions", CLASSES, ids=lambda c: type(c).__name__)
def test_covers_grow_with_points_and_shrink_with_scale(functions):
    scales = np.geomspace(1e-3, 50, 12)
    values = np.array([[functions.log_covering(scale, m) for scale in scales] for m in (1, 2, 10, 1000)])
    assert (values >= 0).all()
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=1) <= 1e-6 * values[:, :-1] + 1e-9).all()
    assert (np.diff(values, axis=0) >= -1e-9).all()
    found = capacity.deviation(functions, 10**7, 0.05, loss=Hinge())
    assert 0 < found.value < 2.0
    assert not found.vacuous


def test_samples_for_the_class_of_the_specification():
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 8.0)
    ball = capacity.KernelBall(1.0, spectrum=spectrum)
    assert capacity.samples_needed(ball, 0.1, 0.05, loss_range=2.0) == pytest.approx(932_415, rel=1e-3)
    assert capacity.samples_needed(capacity.KernelBall(), 0.1, 0.05, loss_range=2.0) == 759_330_155

    class Water:
        def log_covering(self, scale, n_samples):
            return capacity.log_covering(spectrum, scale, method="water")

    assert capacity.samples_needed(Water(), 0.1, 0.05, loss_range=2.0) == 1_110_673


def test_a_sum_costs_no_more_than_halves():
    ball, offsets = capacity.KernelBall(1.0), capacity.Offsets(4.0)
    both = (ball + offsets).log_covering(0.3, 200)
    assert both <= ball.log_covering(0.15, 200) + offsets.log_covering(0.15, 200)
    assert both >= ball.log_covering(0.3, 200)


def test_special_scales():
    assert capacity.VCClass(3).log_covering(1.0, 100) == 0.0
    assert capacity.VCClass(3).log_covering(0.99, 100) == capacity.log_growth(100, 3)
    assert capacity.VCClass(0).log_covering(0.5, 100) == 0.0
    assert capacity.PseudoDimension(3).log_covering(0.5, 100) == 0.0
    assert capacity.PseudoDimension(3).log_mean_covering(0.5) == 0.0
    assert capacity.PseudoDimension(3).log_mean_covering(0.1) == pytest.approx(log(np.e * 4 * (20 * np.e) ** 3))
    assert np.exp(capacity.Offsets(1.0).log_covering(0.1, 5)) == pytest.approx(10)
    assert capacity.KernelBall(2.0, 3.0).fat_dimension(0.5) == 144


def test_orthonormal_features_attain_the_fat_dimension():
    ball = capacity.KernelBall(1.0)
    m = 5
    margin = capacity.shattering_margin(np.eye(m))
    assert margin == pytest.approx(1 / np.sqrt(m))
    assert ball.fat_dimension(margin) == m


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: capacity.ellipsoid_log_covering([1.0, np.nan], 0.1),
            "Numbers of ellipsoid_log_covering must be finite",
        ),
        (lambda: capacity.ellipsoid_log_covering([1.0], -1), "epsilon of ellipsoid_log_covering must be a number > 0"),
        (lambda: capacity.diagonal_entropy_number([], 1.0), "Numbers of diagonal_entropy_number must be finite"),
        (lambda: capacity.diagonal_entropy_number([1.0], -1.0), "log_n of diagonal_entropy_number must be"),
        (lambda: capacity.ball_log_covering(0.1, 0), "n_samples of ball_log_covering must be a whole number >= 1"),
        (lambda: capacity.hull_log_covering(0.1, 10, n_functions=0), "n_functions of hull_log_covering must be"),
        (lambda: capacity.KernelBall(0.0), "norm of KernelBall must be a number > 0"),
        (lambda: capacity.KernelBall(1.0, -1.0), "radius of KernelBall must be a number > 0"),
        (lambda: capacity.KernelBall(1.0, n_outputs=0), "n_outputs of KernelBall must be a whole number >= 1"),
        (lambda: capacity.KernelHull(1.0, 0.0), "bound of KernelHull must be a number > 0"),
        (lambda: capacity.KernelHull(1.0, 1.0, 0), "n_functions of KernelHull must be a whole number >= 1"),
        (lambda: capacity.Offsets(0.0), "bound of Offsets must be a number > 0"),
        (lambda: capacity.FiniteClass(0), "n_functions of FiniteClass must be a whole number >= 1"),
        (lambda: capacity.VCClass(-1), "dimension of VCClass must be a whole number >= 0"),
        (lambda: capacity.PseudoDimension(0), "dimension of PseudoDimension must be a whole number >= 1"),
        (lambda: capacity.Offsets(1.0).log_covering(0, 1), "scale of Offsets must be a number > 0"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_only_classes_can_be_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        capacity.Offsets(1.0) + 3


@pytest.mark.parametrize("epsilon", [1e-2, 1e-8, 1e-9, 1e-12, 1e-100])
def test_covers_of_the_finest_scales_count_all_functions(epsilon):
    # C(2m + K, 2m) for K far beyond what floats resolve beside 2m: in whole numbers.
    steps = int(np.ceil((1 / epsilon) ** 2 * (1 - 1e-12))) - 1
    assert capacity.ball_log_covering(epsilon, 3) == pytest.approx(log(comb(6 + steps, 6)), rel=1e-9)
    functions = int(np.floor(2 * (1 / epsilon) ** 2 * np.log(6))) + 1
    assert capacity.hull_log_covering(epsilon, 3, n_functions=2) == pytest.approx(log(comb(4 + functions, 4)), rel=1e-9)


def test_covers_beyond_all_floats_are_infinite_and_finest_balls_stay_above_zero():
    assert capacity.ball_log_covering(1e-320, 3) == np.inf
    assert capacity.hull_log_covering(1e-320, 3, n_functions=2) == np.inf
    assert capacity.ball_log_covering(1e300, 3, norm=1e200) == 0.0
    radii = [capacity.ball_entropy_number(log_n, 100) for log_n in (1e3, 1e4, 1e6, 1e9)]
    assert radii == sorted(radii, reverse=True)
    assert 0 < radii[-1] < 1e-100
    assert capacity.ball_log_covering(radii[1] * (1 + 1e-9), 100) == pytest.approx(1e4, rel=1e-6)


@pytest.mark.parametrize("bound", ["a", None, np.nan, 10**400])
def test_bounds_of_lipschitz_hulls_must_be_numbers(bound):
    with pytest.raises(ValueError, match="bound of lipschitz_hull_log_covering must be a number > 0"):
        capacity.lipschitz_hull_log_covering(0.1, 10, lipschitz=1.0, extent=1.0, bound=bound)
