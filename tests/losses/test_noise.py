import numpy as np
import pytest
from scipy import stats

from mercer.losses import optimal_epsilon, optimal_nu


def brute_force(distribution, n=200_001, tail=1e-5):
    """The best τ on a very fine grid of all τ, for a distribution with centre 0."""
    tau = np.linspace(0, distribution.isf(tail), n)
    return tau[np.argmin(2 * distribution.sf(tau) / (2 * distribution.pdf(tau)) ** 2)]


def test_names_are_powers():
    for name, p in (("normal", 2), ("laplace", 1.0), ("uniform", np.inf)):
        assert optimal_epsilon(name) == optimal_epsilon(p)
        assert optimal_nu(name) == optimal_nu(p)


def test_laplacian_noise_wants_no_tube():
    assert optimal_epsilon("laplace") == 0.0
    assert optimal_nu("laplace") == 1.0
    assert optimal_epsilon(stats.laplace(scale=7.0, loc=3.0)) == 0.0


@pytest.mark.parametrize("p", [0.2, 0.7, 0.99])
def test_heavier_tails_than_laplacian_want_no_tube_either(p):
    assert optimal_epsilon(p) == 0.0
    assert optimal_nu(p) == 1.0


def test_uniform_noise_wants_the_edge():
    np.testing.assert_allclose(optimal_epsilon("uniform"), np.sqrt(3))
    assert optimal_nu("uniform") == 0.0
    assert optimal_epsilon(stats.uniform(2.0, 6.0)) == 3.0


def test_large_powers_approach_uniform_noise():
    epsilon, nu = zip(*[(optimal_epsilon(p), optimal_nu(p)) for p in (10, 100, 1000, 10_000)], strict=True)
    assert np.all(np.diff(np.abs(np.array(epsilon) - np.sqrt(3))) < 0)
    assert np.all(np.diff(nu) < 0)
    assert nu[-1] > 0


def test_units_are_those_of_the_distribution():
    for scale in (1e-6, 3.0, 1e6):
        shifted = stats.norm(loc=-4 * scale, scale=scale)
        np.testing.assert_allclose(optimal_epsilon(shifted), scale * optimal_epsilon(2), rtol=1e-6)
        np.testing.assert_allclose(optimal_nu(shifted), optimal_nu(2), rtol=1e-6)
    assert round(optimal_epsilon(stats.norm(scale=3)), 4) == round(3 * 0.6120032, 4)


def test_logistic_noise():
    """Tail 2/(1 + e^τ), density e^τ/(1 + e^τ)²: (1 + e^τ)³/(2 e^(2τ)) is least at e^τ = 2."""
    np.testing.assert_allclose(optimal_epsilon(stats.logistic()), np.log(2), rtol=1e-6)
    np.testing.assert_allclose(optimal_nu(stats.logistic()), 2 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    "distribution",
    [stats.t(3), stats.cauchy(), stats.beta(3, 3, loc=-1, scale=2), stats.hypsecant(), stats.gennorm(1.3)],
    ids=lambda distribution: distribution.dist.name,
)
def test_other_symmetric_distributions(distribution):
    np.testing.assert_allclose(optimal_epsilon(distribution), brute_force(distribution, tail=1e-2), atol=1e-3)


def test_a_density_with_two_humps():
    """A tube up to the humps: local minima on the way do not deceive."""

    class TwoHumps(stats.rv_continuous):
        def _pdf(self, x):
            return (stats.norm.pdf(x, 3, 0.3) + stats.norm.pdf(x, -3, 0.3)) / 2

        def _cdf(self, x):
            return (stats.norm.cdf(x, 3, 0.3) + stats.norm.cdf(x, -3, 0.3)) / 2

        def _stats(self):
            return 0.0, 9.09, 0.0, None

    distribution = TwoHumps(name="two_humps")()
    np.testing.assert_allclose(optimal_epsilon(distribution), brute_force(distribution), atol=1e-4)


def test_where_all_tubes_are_equally_good_the_narrowest_is_taken():
    """For triangular noise P(|x| > τ) / (2 p(τ))² does not depend on τ."""
    assert optimal_epsilon(stats.triang(0.5, loc=-1, scale=2)) == 0.0
    assert optimal_nu(stats.triang(0.5, loc=-1, scale=2)) == 1.0


def test_a_density_that_is_steep_at_its_edge():
    """Semicircular noise: the variance falls to zero as the tube grows to the edge."""
    assert optimal_epsilon(stats.semicircular()) == 1.0
    assert optimal_nu(stats.semicircular()) == 0.0


def test_an_infinite_density_at_the_centre():
    assert optimal_epsilon(stats.dgamma(0.5)) == 0.0


@pytest.mark.parametrize("function", [optimal_epsilon, optimal_nu])
@pytest.mark.parametrize(
    "noise",
    [0, -1.0, np.nan, True, None, "gaussian", [1.0], stats.poisson(3)],
    ids=lambda value: "discrete" if hasattr(value, "dist") else str(value),
)
def test_what_is_no_noise(function, noise):
    with pytest.raises(ValueError, match=f"noise of {function.__name__} must be a kind of noise, got .*give a power p"):
        function(noise)


@pytest.mark.parametrize("function", [optimal_epsilon, optimal_nu])
def test_unsuitable_distributions(function):
    with pytest.raises(ValueError, match=f"noise of {function.__name__} must be symmetric about its mean, got expon"):
        function(stats.expon())
    with pytest.raises(ValueError, match=f"noise of {function.__name__} must be one distribution, got"):
        function(stats.norm(scale=[1.0, 2.0]))
