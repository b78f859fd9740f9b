"""Classes that come from others, covers that are counted, penalties on coefficients, and fat-shattering dimensions."""

import numpy as np
import pytest

from mercer import capacity
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Squared

BALL = capacity.KernelBall(1.0)


def test_losses_are_covered_where_functions_are():
    losses = capacity.LossClass(BALL, Squared(), 2.0)
    for scale in (0.1, 0.5):
        assert losses.log_covering(scale, 50) == BALL.log_covering(scale / 2, 50)
    rng = np.random.default_rng(0)
    f, g, y = rng.uniform(-1, 1, size=(3, 100))
    loss = Squared()
    assert np.abs(loss.value(y - f) - loss.value(y - g)).max() <= 2 * np.abs(f - g).max()
    jumping = capacity.LossClass(BALL, Hinge(), 1.0, step=0.3)
    assert jumping.log_covering(0.2, 50) == np.inf
    assert jumping.log_covering(0.3, 50) == BALL.log_covering(0.3, 50)


def test_deviation_of_a_loss_is_that_of_its_class():
    loss, m = EpsilonInsensitive(0.1), 10**6
    by_loss = capacity.deviation(BALL, m, 0.1, loss=loss, loss_range=2.0)
    by_class = capacity.deviation(capacity.LossClass(BALL, loss, 2.0), m, 0.1, loss_range=1.9)
    assert by_class.value == pytest.approx(by_loss.value)


def test_functions_of_a_cube():
    kernel, norm = Gaussian(0.5), 1.0
    domain = capacity.LipschitzDomain(BALL, norm=norm, lipschitz=2.0, extent=2.0)
    values = [domain.log_covering(scale) for scale in (0.05, 0.2, 0.5, 1.0)]
    assert values == sorted(values, reverse=True)
    assert domain.log_covering(0.5, 1) == domain.log_covering(0.5, 1000)
    assert domain.log_covering(1e-9) == np.inf
    surface = capacity.LipschitzDomain(BALL, norm=norm, lipschitz=2.0, extent=2.0, n_dims=2)
    assert surface.log_covering(0.5) > domain.log_covering(0.5)
    # Features of the kernel move by no more than the distance over the width.
    x = np.linspace(0, 2, 200)[:, None]
    moved = np.sqrt(np.maximum(2 - 2 * kernel(x, x[:1])[:, 0], 0))
    assert (moved <= 2.0 * x[:, 0] + 1e-12).all()
    # Random functions that are near on the grid are near everywhere.
    spectrum = capacity.periodic_spectrum(kernel, 4.5)
    assert capacity.log_covering(spectrum, 0.1) < domain.log_covering(0.1)
    maps = capacity.manifold_excess(domain, 10**7, radius=1.0)
    assert maps.value < 4.0


def test_greedy_covers():
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, size=(500, 3))
    for metric in ("max", "mean_square"):
        previous = (np.inf, np.inf)
        for epsilon in (0.1, 0.3, 0.9, 3.0):
            lower, upper = capacity.greedy_log_covering(values, epsilon, metric=metric)
            assert 0 <= lower <= upper
            assert upper <= previous[1]
            previous = (lower, upper)
        assert previous == (0.0, 0.0)
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    assert np.exp(capacity.greedy_log_covering(signs, 0.99).lower) == pytest.approx(4)
    assert capacity.greedy_log_covering(signs, 1.0).lower == 0.0


def test_entropies_are_ordered():
    rng = np.random.default_rng(2)
    found = capacity.entropies(rng.uniform(0, 5, size=100))
    assert found.entropy <= found.annealed <= found.growth
    assert capacity.entropies([2.0]) == pytest.approx((2.0, 2.0, 2.0))


def test_general_bounds_contain_the_others():
    functions = capacity.KernelBall(1.0, spectrum=capacity.periodic_spectrum(Gaussian(1.0), 8.0))
    m = 10**6
    found = capacity.general_deviation(functions, m, 0.05, factor=3.0, divisor=8.0)
    left = np.log(3.0) + functions.log_covering(found.value, m) - found.value**2 * m / 8
    assert left == pytest.approx(np.log(0.05), abs=1e-4)
    assert found.log_covering == functions.log_covering(found.value, m)
    faster = capacity.general_deviation(functions, m, 0.05, factor=3.0, divisor=8.0, power=1.0)
    assert faster.value < found.value
    assert capacity.general_deviation(functions, 2, 0.05, factor=3.0, divisor=8.0).vacuous


def test_kernel_of_a_penalised_basis():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=20)
    F = np.vander(x, 4, increasing=True)
    D = np.diag([0.0, 1.0, 4.0, 9.0])
    K, free = capacity.penalized_basis(F, D)
    np.testing.assert_allclose(K, F @ np.linalg.pinv(D) @ F.T, atol=1e-12)
    assert free.shape == (20, 1)
    np.testing.assert_allclose(np.abs(free), 1.0)
    alpha = np.r_[0.0, rng.normal(size=3)]
    f = F @ alpha
    best = f @ np.linalg.pinv(K) @ f
    assert best <= alpha @ D @ alpha + 1e-8
    assert capacity.SampleCapacity.of(K).n_components == 3


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 4.0, np.inf])
def test_weight_decay_reaches_its_largest_value(power):
    rng = np.random.default_rng(4)
    K = Gaussian(1.0)(rng.normal(size=(30, 1)), rng.normal(size=(10, 1)))
    radius = capacity.coefficient_radius(K, power=power, norm=2.0)
    alpha = rng.normal(size=(2000, 10))
    alpha *= 2.0 / np.linalg.norm(alpha, ord=power, axis=1, keepdims=True)
    assert np.abs(alpha @ K.T).max() <= radius
    row = K[np.argmax(np.linalg.norm(K, axis=1))]
    if power == 2.0:
        assert row @ (2.0 * row / np.linalg.norm(row)) == pytest.approx(radius)


def test_fat_shattering():
    assert capacity.fat_log_covering(0.2, 1000, 400, width=2.0) == pytest.approx(41724.77, abs=5e-3)
    assert capacity.fat_log_covering(1.0, 10, 400, width=2.0) == 0.0
    assert capacity.fat_log_covering(0.1, 10, 0, width=2.0) == 0.0
    assert capacity.fat_log_covering_below(64) == pytest.approx(2 * np.log(2))
    assert [capacity.level_fat_factor(gamma) for gamma in (0.5, 0.25, 0.1)] == [1, 3, 9]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: capacity.LossClass(BALL, Squared(), 0.0), "loss_range of LossClass must be a number > 0"),
        (lambda: capacity.LossClass(BALL, Squared(), step=-1), "step of LossClass must be a number >= 0"),
        (lambda: capacity.LipschitzDomain(BALL, 0.0, 1.0, 1.0), "norm of LipschitzDomain must be a number > 0"),
        (lambda: capacity.LipschitzDomain(BALL, 1.0, 1.0, 1.0, 0), "n_dims of LipschitzDomain must be"),
        (lambda: capacity.greedy_log_covering([1.0], 0.1), "values of greedy_log_covering must be a finite table"),
        (lambda: capacity.greedy_log_covering([[1.0]], 0.0), "epsilon of greedy_log_covering must be a number > 0"),
        (lambda: capacity.greedy_log_covering([[1.0]], 1, metric="l1"), "metric of greedy_log_covering must be one"),
        (lambda: capacity.entropies([]), "log_coverings of entropies must be finite numbers >= 0"),
        (lambda: capacity.general_deviation(BALL, 9, 0.1, factor=0, divisor=1.0), "factor of general_deviation must"),
        (lambda: capacity.penalized_basis(np.ones((3, 2)), np.eye(3)), "penalty of penalized_basis must be square"),
        (
            lambda: capacity.penalized_basis(np.ones((3, 2)), [[1, 2], [0, 1]]),
            "of penalized_basis must be symmetric",
        ),
        (lambda: capacity.penalized_basis(np.ones((3, 2)), -np.eye(2)), "must have no negative eigenvalue"),
        (lambda: capacity.coefficient_radius(np.ones(3)), "K of coefficient_radius must be a finite matrix"),
        (
            lambda: capacity.coefficient_radius(np.eye(3), power=0.5),
            "power of coefficient_radius must be",
        ),
        (lambda: capacity.fat_log_covering(0.2, 10, 400, width=2.0), "must be at least fat_dimension = 400"),
        (lambda: capacity.fat_log_covering_below(-1), "fat_dimension of fat_log_covering_below must be"),
        (lambda: capacity.level_fat_factor(0), "margin of level_fat_factor must be a number > 0"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
