"""Losses against independent references, at their special points, and with bad parameters."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import hinge_loss, log_loss, mean_pinball_loss

from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PiecewisePolynomial,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
    check_loss,
)

r = np.linspace(-4.0, 4.0, 81)


def test_zero_epsilon_is_laplace():
    for method in ("value", "derivative", "noise_density"):
        np.testing.assert_array_equal(getattr(EpsilonInsensitive(0), method)(r), getattr(Laplace(), method)(r))
    a = np.linspace(-1.5, 1.5, 31)
    np.testing.assert_array_equal(EpsilonInsensitive(0).conjugate(a), Laplace().conjugate(a))
    assert EpsilonInsensitive(0).dual_interval == Laplace().dual_interval == (-1.0, 1.0)


def test_formula_of_the_epsilon_insensitive_loss():
    np.testing.assert_allclose(EpsilonInsensitive(0.3).value(r), np.maximum(0, np.abs(r) - 0.3))
    np.testing.assert_allclose(EpsilonInsensitive(0.3).conjugate([-1.0, -0.5, 0.0, 1.0]), [0.3, 0.15, 0.0, 0.3])
    np.testing.assert_allclose(EpsilonInsensitive((0.3, 0.1)).conjugate([-1.0, 1.0]), [0.3, 0.1])


def test_huber_is_scipys():
    for sigma in (0.2, 1.0, 3.0):
        np.testing.assert_allclose(Huber(sigma).value(r), special.huber(sigma, r) / sigma, atol=1e-15)


def test_quantile_is_scikit_learns():
    for q in (0.1, 0.5, 0.9):
        expected = [mean_pinball_loss([residual], [0.0], alpha=q) for residual in r]
        np.testing.assert_allclose(Quantile(q).value(r), expected)


def test_classification_losses_are_scikit_learns():
    f = np.array([2.0, -0.5, 0.3, -4.0])
    y = np.array([1, 1, -1, -1])
    margin = 1 - y * f
    np.testing.assert_allclose(Hinge().value(margin).mean(), hinge_loss(y, f))
    np.testing.assert_allclose(Logistic().value(margin).mean(), log_loss(y, special.expit(f)))
    np.testing.assert_allclose(SquaredHinge().value(margin), np.maximum(0, margin) ** 2 / 2)


def test_special_cases_agree():
    a = np.linspace(-2.0, 2.0, 41)
    pairs = [
        (PolynomialLoss(p=2), Squared()),
        (PiecewisePolynomial(p=2, sigma=0.4), Huber(sigma=0.4)),
        (PolynomialLoss(p=2, epsilon=0.2), Squared(epsilon=0.2)),
    ]
    for left, right in pairs:
        for method, x in (("value", r), ("derivative", r), ("conjugate", a), ("noise_density", r)):
            np.testing.assert_allclose(getattr(left, method)(x), getattr(right, method)(x), atol=1e-15)
    np.testing.assert_allclose(2 * Quantile(0.5).value(r), Laplace().value(r))
    np.testing.assert_allclose(2 * Expectile(0.5).value(r), Squared().value(r))
    np.testing.assert_allclose(Huber(sigma=1e-9).value(r), Laplace().value(r), atol=1e-9)


def test_epsilon_shifts_outwards():
    for loss in (Squared(), Huber(0.5), PolynomialLoss(3.0), PiecewisePolynomial(1.5), Quantile(0.3), Expectile(0.3)):
        shifted = np.sign(r) * np.maximum(0, np.abs(r) - 0.4)
        wide = type(loss)(**{**loss.get_params(), "epsilon": 0.4})
        np.testing.assert_allclose(wide.value(r), loss.value(shifted))
        np.testing.assert_allclose(wide.derivative(r), loss.derivative(shifted))
        np.testing.assert_allclose(wide.conjugate([-0.2, 0.1]), loss.conjugate([-0.2, 0.1]) + np.array([0.08, 0.04]))


@pytest.mark.parametrize(
    ("loss", "distribution"),
    [
        (Laplace(), stats.laplace()),
        (Squared(), stats.norm()),
        (PolynomialLoss(p=1.5), stats.gennorm(1.5, scale=1.5 ** (1 / 1.5))),
        (PolynomialLoss(p=4.0), stats.gennorm(4.0, scale=4.0**0.25)),
        (Quantile(q=0.8), stats.laplace_asymmetric(2.0, scale=1 / 0.4)),
    ],
    ids=lambda value: value.dist.name if hasattr(value, "dist") else repr(value),
)
def test_densities_are_scipys(loss, distribution):
    np.testing.assert_allclose(loss.noise_density(r), distribution.pdf(r), rtol=1e-12)


def test_density_of_the_epsilon_insensitive_loss():
    """Table 2.1 of Smola's thesis."""
    expected = np.exp(-np.maximum(0, np.abs(r) - 0.5)) / (2 * 1.5)
    np.testing.assert_allclose(EpsilonInsensitive(0.5).noise_density(r), expected)


def test_density_of_the_logistic_distribution_by_quadrature():
    """A loss without a closed form for its normalisation: that of logistic noise, 2 log cosh(r/2)."""

    class LogisticNoise(Laplace):
        def _growth(self, xi):
            return xi + 2 * np.log1p(np.exp(-xi)) - 2 * np.log(2)

        def _growth_mass(self, weight):
            return None

    np.testing.assert_allclose(LogisticNoise().noise_density(r), stats.logistic().pdf(r), rtol=1e-10)


def test_quadrature_for_each_sample():
    class Numerical(Huber):
        def _growth_mass(self, weight):
            return None

    for epsilon in (0.0, (0.5, 3.0), [0.1, 0.0, 100.0]):
        expected = Huber(sigma=0.01, epsilon=epsilon).noise_density([0.0, 1.0, -2.0])
        np.testing.assert_allclose(
            Numerical(0.01, epsilon=epsilon).noise_density([0.0, 1.0, -2.0]), expected, rtol=1e-9
        )


def test_weighted_sides_of_a_loss_with_a_linear_tail():
    """A loss of one's own: Huber's, steeper above than below; its normalisation is numerical."""

    class Steep(Huber):
        def _weights(self):
            return 0.5, 2.0

    assert check_loss(Steep(sigma=0.3)).errors["density"] < 1e-9


def test_quadrature_refuses_a_loss_without_a_finite_integral():
    class Boastful(Hinge):
        has_noise_density = True

        def _growth_mass(self, weight):
            return None

    with pytest.raises(ValueError, match="must grow on both sides to have a noise density"):
        Boastful().noise_density(0.0)


def test_kinks_have_the_subgradient_nearest_to_zero():
    assert Laplace().derivative(0.0) == 0.0
    assert Quantile(0.9).derivative(0.0) == 0.0
    assert Hinge().derivative(0.0) == 0.0
    np.testing.assert_array_equal(EpsilonInsensitive(0.1).derivative([-0.1, 0.1]), 0.0)
    assert EpsilonInsensitive(0.1).derivative(np.nextafter(0.1, 1)) == 1.0


def test_logistic_does_not_overflow():
    np.testing.assert_allclose(Logistic().value([-1e5, 1.0, 1e5]), [0.0, np.log(2), 1e5 - 1])
    np.testing.assert_allclose(Logistic().value(-50.0), np.exp(-51.0))
    np.testing.assert_array_equal(Logistic().derivative([-1e5, 1e5]), [0.0, 1.0])


def test_logistic_conjugate_near_the_ends_of_its_interval():
    loss = Logistic()
    np.testing.assert_array_equal(loss.conjugate([-1e-9, 0.0, 1.0, 1 + 1e-9]), [np.inf, 0.0, 1.0, np.inf])
    tiny = 1e-30
    np.testing.assert_allclose(loss.conjugate(tiny), tiny * np.log(tiny))
    np.testing.assert_allclose(loss.conjugate_slope(tiny, above=True), 1 + np.log(tiny))
    np.testing.assert_array_equal(loss.conjugate_slope([0.0, 1.0], above=True), [-np.inf, np.inf])
    np.testing.assert_array_equal(loss.conjugate_curvature([0.0, 1.0], above=True), np.inf)


def test_curvature_at_zero_depends_on_the_power():
    def at_zero(p):
        return PolynomialLoss(p).conjugate_curvature(0.0, above=True)

    assert at_zero(3.0) == np.inf
    assert at_zero(2.0) == 1.0
    assert at_zero(1.5) == 0.0
    assert PiecewisePolynomial(3.0).conjugate_curvature(0.0, above=False) == np.inf


def test_table_of_conjugates():
    s = np.array([0.2, 0.7])
    np.testing.assert_allclose(Squared().conjugate(-s), s**2 / 2)
    np.testing.assert_allclose(Huber(0.3).conjugate(s), 0.3 * s**2 / 2)
    np.testing.assert_allclose(PolynomialLoss(1.5).conjugate(s), s**3 / 3)
    np.testing.assert_allclose(PiecewisePolynomial(1.5, 0.3).conjugate(-s), 0.3 * s**3 / 3)
    np.testing.assert_allclose(Expectile(0.2).conjugate([-0.5, 0.5]), [0.25 / 1.6, 0.25 / 0.4])
    assert Quantile(0.25).dual_interval == (-0.75, 0.25)
    assert [loss.dual_interval for loss in (Hinge(), SquaredHinge(), Logistic())] == [(0, 1), (0, np.inf), (0, 1)]


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=repr)
def test_the_free_side_of_classification_losses(loss):
    assert loss.classification
    assert loss.insensitivity == (0.0, 0.0)
    np.testing.assert_array_equal(loss.conjugate_slope([0.0, 0.5], above=False), [0.0, np.nan])
    np.testing.assert_array_equal(loss.conjugate_curvature([0.0, 0.5], above=False), [0.0, np.nan])
    assert loss.value(-np.inf) == 0.0


def test_slopes_outside_the_interval_are_nan():
    for s in (1.1, -0.1):
        assert np.isnan(EpsilonInsensitive().conjugate_slope(s, above=True))
        assert np.isnan(PiecewisePolynomial().conjugate_curvature(s, above=True))
        assert np.isnan(Logistic().conjugate_curvature(s, above=True))


def test_sides_may_differ_from_sample_to_sample():
    loss = Expectile(0.2, epsilon=(0.1, 0.3))
    s, above = np.array([0.5, 0.5]), np.array([True, False])
    np.testing.assert_allclose(loss.conjugate_slope(s, above), [0.3 + 0.5 / 0.2, 0.1 + 0.5 / 0.8])
    np.testing.assert_allclose(loss.conjugate_curvature(s, above), [1 / 0.2, 1 / 0.8])


def test_a_tuple_is_a_pair_and_a_list_is_not():
    assert EpsilonInsensitive((0.1, 0.2)).insensitivity == (0.1, 0.2)
    below, above = EpsilonInsensitive([0.1, 0.2]).insensitivity
    np.testing.assert_array_equal(below, [0.1, 0.2])
    np.testing.assert_array_equal(above, [0.1, 0.2])


def test_long_parameters_are_shown_short():
    assert len(repr(EpsilonInsensitive(np.linspace(0, 1, 1000)))) < 100


@pytest.mark.parametrize(
    "epsilon",
    [
        *(-0.1, np.nan, np.inf, True, None, "wide"),
        *([0.1, -0.1], [0.1, np.nan], [], [[0.1, 0.2]], ["a"], [True, False], [None, 1.0]),
        *((0.1, -1.0), (0.1, None), ([0.1, -0.2], 0.0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("loss", [EpsilonInsensitive, Squared, Huber, Quantile])
def test_bad_epsilon(loss, epsilon):
    with pytest.raises(
        ValueError, match=f"epsilon of {loss.__name__} must be finite and not negative, got .* give one"
    ):
        loss(epsilon=epsilon).value(r)


def test_bad_pairs_of_epsilon():
    with pytest.raises(ValueError, match=r"epsilon of Huber must be a pair \(below, above\) if it is a tuple"):
        Huber(epsilon=(0.1, 0.2, 0.3)).value(r)
    with pytest.raises(ValueError, match="epsilon of Huber must be of one length below and above"):
        Huber(epsilon=([0.1, 0.2], [0.1, 0.2, 0.3])).insensitivity  # noqa: B018
    with pytest.raises(ValueError, match="must be one number, or 81, one for each sample, got 2; samples are on"):
        Huber(epsilon=[0.1, 0.2]).derivative(r)


@pytest.mark.parametrize("q", [0.0, 1.0, -0.2, 1.5, np.nan, None, "half", True, [0.5]], ids=repr)
@pytest.mark.parametrize("loss", [Quantile, Expectile])
def test_bad_q(loss, q):
    with pytest.raises(ValueError, match=f"q of {loss.__name__} must be a number between 0 and 1, got .*; give the"):
        loss(q=q).value(r)
    with pytest.raises(ValueError, match="q of"):
        loss(q=q).dual_interval  # noqa: B018


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, None, "1", True, [1.0]], ids=repr)
@pytest.mark.parametrize("loss", [Huber, PiecewisePolynomial])
def test_bad_sigma(loss, sigma):
    with pytest.raises(
        ValueError, match=f"sigma of {loss.__name__} must be a finite number > 0, got .*; give the size"
    ):
        loss(sigma=sigma).value(r)


@pytest.mark.parametrize("p", [1.0, 1, 0.5, -2.0, np.nan, np.inf, None, "2", [2.0]], ids=repr)
@pytest.mark.parametrize("loss", [PolynomialLoss, PiecewisePolynomial])
def test_bad_p(loss, p):
    with pytest.raises(ValueError, match=f"p of {loss.__name__} must be a finite number > 1, got .*take Laplace()"):
        loss(p=p).conjugate(0.5)


def test_parameters_are_checked_when_used_not_when_set():
    loss = Huber(sigma=-1.0)
    assert loss.set_params(sigma=2.0).value(2.0) == 1.0


def test_restriction_to_some_samples():
    from mercer.losses import EpsilonInsensitive, Huber

    assert Huber().restricted_to(np.array([0, 2])).epsilon == 0.0
    below, above = EpsilonInsensitive(([0.1, 0.2, 0.3], 0.5)).restricted_to(np.array([0, 2])).insensitivity
    np.testing.assert_array_equal(below, [0.1, 0.3])
    assert above == 0.5
