"""Lower bounds of mutual information from the values of a critic."""

import numpy as np
import pytest

from mercer.information import donsker_varadhan, infonce, nwj

BOUNDS = [infonce, nwj, donsker_varadhan]


def exact_critic(rho, n, n_batches, seed=0):
    """log p(x, y) / (p(x) p(y)) of a bivariate normal, for batches of pairs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_batches, n))
    y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n_batches, n))
    x, y = x[:, :, None], y[:, None, :]
    return -0.5 * np.log(1 - rho**2) - (rho**2 * (x**2 + y**2) - 2 * rho * x * y) / (2 * (1 - rho**2))


@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0, 1e8])
def test_infonce_never_exceeds_its_ceiling(scale):
    rng = np.random.default_rng(0)
    for n in (1, 2, 17):
        for critic in (rng.normal(size=(n, n)), np.eye(n), np.diag(rng.normal(size=n))):
            bound = infonce(scale * critic)
            assert bound.value <= bound.ceiling == np.log(n)
            assert bound.n == n


@pytest.mark.parametrize(
    ("rho", "values"),
    [
        (0.5, {2: 0.068498, 4: 0.105, 16: 0.133, 64: 0.142}),
        (0.8, {2: 0.223953, 4: 0.355, 16: 0.466, 64: 0.499}),
        (0.95, {2: 0.431171, 4: 0.736, 16: 1.033, 64: 1.126}),
        (0.99, {2: 0.573, 4: 1.054, 16: 1.651, 64: 1.867}),
        (0.999, {2: 0.655, 4: 1.274, 16: 2.291, 64: 2.839}),
    ],
)
def test_infonce_of_the_exact_critic_has_the_published_values(rho, values):
    for n, value in values.items():
        bound = infonce(exact_critic(rho, n, n_batches=200_000 // n**2 + 100))
        tabulated = 1e-6 if n == 2 else 0.004  # the table has errors of its own
        assert abs(bound.value - value) < 3 * bound.standard_error + tabulated


@pytest.mark.parametrize("bound", [nwj, donsker_varadhan])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_others_of_the_exact_critic_are_the_information(bound, rho):
    shift = 1.0 if bound is nwj else 0.0
    estimate = bound(exact_critic(rho, 64, n_batches=400, seed=1) + shift)
    assert abs(estimate.value + 0.5 * np.log(1 - rho**2)) <= 3 * estimate.standard_error + 1e-12
    assert estimate.ceiling == np.inf


@pytest.mark.parametrize("bound", BOUNDS)
def test_standard_error_is_the_spread_of_estimates(bound):
    single = [bound(exact_critic(0.6, 200, 1, seed=seed)) for seed in range(200)]
    spread = np.std([estimate.value for estimate in single])
    assert np.mean([estimate.standard_error for estimate in single]) == pytest.approx(spread, rel=0.2)
    batches = [bound(exact_critic(0.6, 20, 10, seed=seed)) for seed in range(200)]
    spread = np.std([estimate.value for estimate in batches])
    assert np.mean([estimate.standard_error for estimate in batches]) == pytest.approx(spread, rel=0.2)


def test_what_does_not_change_the_bounds():
    t = exact_critic(0.7, 30, 3)
    of_x = np.random.default_rng(0).normal(size=(3, 30, 1))
    assert infonce(t + of_x).value == pytest.approx(infonce(t).value, rel=1e-12)
    assert donsker_varadhan(t + 1e3).value == pytest.approx(donsker_varadhan(t).value, rel=1e-9)
    assert infonce(t + 1e6).value == pytest.approx(infonce(t).value, abs=1e-8)


def test_a_single_pair_tells_nothing():
    bound = infonce([[7.0]])
    assert (bound.value, bound.ceiling, bound.n) == (0.0, 0.0, 1)
    assert np.isnan(bound.standard_error)


def test_a_bound_says_when_it_is_near_its_ceiling():
    assert infonce(50 * np.eye(8)).near_ceiling
    assert not infonce(exact_critic(0.5, 64, 10)).near_ceiling
    assert not nwj(np.ones((4, 4))).near_ceiling


def test_values_that_overflow_are_no_bound_and_no_crash():
    assert nwj(1e4 * (1 - np.eye(3))).value == -np.inf
    assert donsker_varadhan(1e4 * np.eye(3)).value == 1e4


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("critic", [np.ones((2, 3)), np.ones(3), np.empty((0, 0)), np.ones((0, 2, 2))])
def test_matrices_that_are_not_square_are_refused(bound, critic):
    with pytest.raises(ValueError, match=f"critic of {bound.__name__} must be a square matrix"):
        bound(critic)


@pytest.mark.parametrize("bound", [nwj, donsker_varadhan])
def test_bounds_with_means_over_other_pairs_need_two_pairs(bound):
    with pytest.raises(ValueError, match="with 2 rows or more"):
        bound([[1.0]])


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_critics_with_infinities_are_refused(bound, value):
    with pytest.raises(ValueError, match=f"critic of {bound.__name__} must be finite, got NaN or infinity"):
        bound([[1.0, value], [0.0, 1.0]])
