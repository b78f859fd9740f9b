import numpy as np
import pytest

from mercer.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    Loss,
    PolynomialLoss,
    Quantile,
    Squared,
    check_loss,
)


class Linex(Loss):
    """exp(r) - r - 1: convex, not symmetric, written from scratch."""

    def value(self, r):
        r = np.asarray(r, dtype=float)
        return np.expm1(r) - r

    def derivative(self, r):
        return np.expm1(np.asarray(r, dtype=float))

    @property
    def dual_interval(self):
        return -1.0, np.inf

    def conjugate(self, a):
        a = np.asarray(a, dtype=float)
        inside = np.where(a > -1, a, 0.0)
        values = (1 + inside) * np.log1p(inside) - inside
        return np.where(a > -1, values, np.where(a == -1, 1.0, np.inf))

    def conjugate_slope(self, s, above):
        return np.log1p(s) if above else -np.log1p(-np.asarray(s))

    def conjugate_curvature(self, s, above):
        return 1 / (1 + np.asarray(s)) if above else 1 / (1 - np.asarray(s))


class PerSample(Linex):
    """With weights for each sample, in plain NumPy broadcasting."""

    def __init__(self, weight=(1.0, 2.0)):
        self.weight = weight

    def value(self, r):
        return np.asarray(self.weight) * super().value(r)

    def derivative(self, r):
        return np.asarray(self.weight) * super().derivative(r)

    @property
    def dual_interval(self):
        return -np.asarray(self.weight), np.full(len(self.weight), np.inf)

    def conjugate(self, a):
        return np.asarray(self.weight) * super().conjugate(a / np.asarray(self.weight))

    def conjugate_slope(self, s, above):
        return super().conjugate_slope(s / np.asarray(self.weight), above)

    def conjugate_curvature(self, s, above):
        return super().conjugate_curvature(s / np.asarray(self.weight), above) / np.asarray(self.weight)


def test_report_reads_well():
    report = check_loss(Huber(sigma=0.5))
    assert str(report).startswith("Huber(sigma=0.5, epsilon=0.0) passes:\nconvexity")
    assert max(report.errors.values()) < 1e-6


@pytest.mark.parametrize("loss", [Linex(), PerSample(), PerSample((0.1, 1.0, 30.0))], ids=repr)
def test_accepts_a_users_loss(loss):
    assert "density" in check_loss(loss).errors


def test_residuals_of_the_users_choice():
    check_loss(Huber(sigma=1e-9), np.linspace(-1e-8, 1e-8, 31))
    check_loss(Huber(sigma=1e9), [-1e12, -1e9, -1.0, 1e7, 1e10])
    check_loss(EpsilonInsensitive([0.1, 0.2]), [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("r", [[1.0, 2.0], [1.0, 1.0, 1.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 2.0]], ids=str)
def test_refuses_useless_residuals(r):
    with pytest.raises(ValueError, match="r of check_loss must be a list of at least three different finite numbers"):
        check_loss(Huber(), r)


@pytest.mark.parametrize("what", [Huber, None, np.abs], ids=["class", "nothing", "function"])
def test_refuses_what_is_not_a_loss(what):
    with pytest.raises(ValueError, match="loss of check_loss must be an instance of Loss, got"):
        check_loss(what)


def test_bad_parameters_are_reported_as_such():
    with pytest.raises(ValueError, match="sigma of Huber must be a finite number > 0"):
        check_loss(Huber(sigma=-1.0))


def variant(base, **methods):
    """A subclass in which some methods are wrong."""
    return type("Wrong", (base,), methods)()


def test_rejects_a_loss_that_is_not_convex():
    wrong = variant(
        Squared,
        value=lambda self, r: np.log1p(np.square(r)),
        derivative=lambda self, r: 2 * np.asarray(r) / (1 + np.square(r)),
    )
    with pytest.raises(ValueError, match="must be convex, got a relative error of"):
        check_loss(wrong)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rejects_values_that_are_not_finite(bad):
    wrong = variant(Squared, value=lambda self, r: np.where(np.asarray(r) > 5, bad, np.square(r) / 2))
    with pytest.raises(ValueError, match=r"must be finite at all residuals|must have the"):
        check_loss(wrong)


@pytest.mark.parametrize("loss", [Squared, Laplace, Logistic, PolynomialLoss])
@pytest.mark.parametrize("factor", [1.01, 0.99, 1 + 1e-4, -1.0, np.nan])
def test_rejects_a_wrong_derivative(loss, factor):
    wrong = variant(loss, derivative=lambda self, r: factor * loss().derivative(r))
    with pytest.raises(ValueError, match=r"must have the derivative that its values have|be zero and flat"):
        check_loss(wrong)


def test_rejects_a_derivative_that_is_not_zero_at_the_kink():
    wrong = variant(Laplace, derivative=lambda self, r: np.where(np.asarray(r) < 0, -1.0, 1.0))
    with pytest.raises(ValueError, match=r"must be zero and flat on \[-below, above\], its insensitivity"):
        check_loss(wrong)


@pytest.mark.parametrize("loss", [Squared, Huber, Logistic, PolynomialLoss])
@pytest.mark.parametrize("factor", [1.01, 0.99, 1 + 1e-4])
def test_rejects_a_wrong_conjugate(loss, factor):
    wrong = variant(loss, conjugate=lambda self, a: factor * loss().conjugate(a))
    with pytest.raises(ValueError, match=r"must have the conjugate sup_r a r - c\(r\)"):
        check_loss(wrong)


def test_rejects_a_conjugate_that_forgets_the_tube():
    wrong = variant(EpsilonInsensitive, conjugate=lambda self, a: Laplace().conjugate(a))
    with pytest.raises(ValueError, match="must have the conjugate"):
        check_loss(wrong)


def test_rejects_a_conjugate_that_is_too_large_between_slopes():
    """Right at -1, 0 and 1, the only slopes of the absolute loss, and wrong between them."""
    wrong = variant(Laplace, conjugate=lambda self, a: Laplace().conjugate(a) + np.abs(a) * (1 - np.abs(a)))
    with pytest.raises(ValueError, match="must have the conjugate"):
        check_loss(wrong)


def test_rejects_a_conjugate_that_is_finite_everywhere():
    wrong = variant(Huber, conjugate=lambda self, a: np.square(a) / 2)
    with pytest.raises(ValueError, match="must have a conjugate that is finite inside dual_interval and infinite outs"):
        check_loss(wrong)


def interval(low, high):
    return {"dual_interval": property(lambda self: (low, high))}


@pytest.mark.parametrize("ends", [(-0.5, 0.5), (-1.0, 0.9), (-2.0, 1.0), (0.0, 1.0)], ids=str)
def test_rejects_a_wrong_interval(ends):
    conjugate = Laplace.conjugate
    for base in (Laplace, Huber):
        wrong = variant(base, **interval(*ends), conjugate=lambda self, a: conjugate(Laplace(), a))
        with pytest.raises(ValueError, match=r"must have the dual_interval \(low, high\) of its slopes"):
            check_loss(wrong)


def test_rejects_an_interval_that_should_end():
    wrong = variant(Laplace, **interval(-np.inf, np.inf))
    with pytest.raises(ValueError, match="must have the conjugate|must have a conjugate that is finite"):
        check_loss(wrong)
    wrong = variant(Squared, **interval(-1.0, 1.0))
    with pytest.raises(ValueError, match="must have the dual_interval"):
        check_loss(wrong)


def test_rejects_an_interval_without_zero():
    with pytest.raises(ValueError, match="must have a dual_interval with low <= 0 <= high"):
        check_loss(variant(Hinge, **interval(0.5, 1.0)))


def test_rejects_a_wrong_slope_or_curvature_of_the_conjugate():
    for loss in (Squared, Logistic, Quantile, PolynomialLoss):
        slope, curvature = loss.conjugate_slope, loss.conjugate_curvature
        wrong = variant(loss, conjugate_slope=lambda self, s, above, f=slope: 1.001 * f(self, s, above) + 1e-3)
        with pytest.raises(ValueError, match="must have the conjugate"):
            check_loss(wrong)
        wrong = variant(loss, conjugate_curvature=lambda self, s, above, f=curvature: 1.001 * f(self, s, above) + 1e-3)
        with pytest.raises(ValueError, match="must have the conjugate_curvature that finite differences"):
            check_loss(wrong)


def test_rejects_a_slope_that_differs_a_little():
    slope = Squared.conjugate_slope
    wrong = variant(Squared, conjugate_slope=lambda self, s, above: (1 + 1e-5) * slope(self, s, above))
    with pytest.raises(ValueError, match="must have the conjugate_slope that finite differences"):
        check_loss(wrong)


@pytest.mark.parametrize("widths", [(0.2, 0.1), (0.1, 0.2), (-0.1, 0.1), (np.nan, 0.1), (0.1, np.inf)], ids=str)
def test_rejects_a_wrong_insensitivity(widths):
    class Wrong(Loss):
        insensitivity = widths
        dual_interval = (-1.0, 1.0)

        def value(self, r):
            return EpsilonInsensitive(0.1).value(r)

        def derivative(self, r):
            return EpsilonInsensitive(0.1).derivative(r)

        def conjugate(self, a):
            return EpsilonInsensitive(0.1).conjugate(a)

        def conjugate_slope(self, s, above):
            return EpsilonInsensitive(0.1).conjugate_slope(s, above)

        def conjugate_curvature(self, s, above):
            return EpsilonInsensitive(0.1).conjugate_curvature(s, above)

    with pytest.raises(ValueError, match=r"must (be zero and flat on|have an insensitivity|be finite at)"):
        check_loss(Wrong())


def test_rejects_shapes_that_are_not_there():
    with pytest.raises(ValueError, match="must be r²/2, since it says that it is quadratic"):
        check_loss(variant(Huber, quadratic=True))
    with pytest.raises(ValueError, match="must have a conjugate without curvature, since it says that it is piecewise"):
        check_loss(variant(Huber, piecewise_linear=True))


def test_rejects_a_negative_regression_loss():
    """Convex, zero and flat at zero as far as its derivative says, but below zero elsewhere."""
    wrong = variant(
        Squared,
        value=lambda self, r: np.square(r) / 2 - np.asarray(r),
        derivative=lambda self, r: np.where(np.asarray(r) == 0, 0.0, np.asarray(r) - 1.0),
    )
    with pytest.raises(ValueError, match="must be nowhere negative"):
        check_loss(wrong)


@pytest.mark.parametrize("factor", [0.5, 1.0001, np.nan])
def test_rejects_a_density_that_is_not_normalised(factor):
    wrong = variant(Squared, noise_density=lambda self, r: factor * Squared().noise_density(r))
    with pytest.raises(ValueError, match=r"must have the noise_density exp\(-c\), normalised to one"):
        check_loss(wrong)


def test_rejects_a_density_of_another_loss():
    wrong = variant(Squared, noise_density=lambda self, r: Laplace().noise_density(r))
    with pytest.raises(ValueError, match="must have the noise_density"):
        check_loss(wrong)


def test_rejects_a_density_that_cannot_be():
    wrong = variant(Hinge, has_noise_density=True, noise_density=lambda self, r: np.exp(-Hinge().value(r)))
    with pytest.raises(ValueError, match="must grow on both sides to have a noise density"):
        check_loss(wrong)


def test_rejects_a_loss_that_clone_cannot_copy():
    class Forgetful(Huber):
        def get_params(self, deep=True):
            return {"sigma": 1.0, "epsilon": 0.0}

    with pytest.raises(ValueError, match="must be copied by sklearn.base.clone"):
        check_loss(Forgetful(sigma=2.0))
