"""Spectra, water filling, entropy and covering numbers of kernel classes: numbers, properties, and what is refused."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mercer import capacity
from mercer.kernels import (
    BSpline,
    DampedOscillator,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Linear,
    Matern,
    Multiquadric,
    Periodized,
    ProductLaplace,
    RadialBSpline,
    RationalQuadratic,
)

BITS = np.log(2)
UNIT = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi)


def numbers(spectrum, *bits, **options):
    return [capacity.entropy_number(spectrum, b * BITS, clip=False, **options) for b in bits]


@pytest.mark.parametrize(
    ("n_dims", "expected", "axes"),
    [
        (1, [1.4070950, 0.51854863, 0.046820], [5, 7, 9]),
        (2, [3.6839509, 2.7275581, 1.3635820], [13, 21, 29]),
        (3, [4.9811469, 4.3994619, 3.4154810], [27, 33, 57]),
    ],
)
def test_entropy_numbers_of_a_gaussian(n_dims, expected, axes):
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=n_dims)
    np.testing.assert_allclose(numbers(spectrum, 10, 20, 50), expected, rtol=1e-6, atol=5e-8)
    assert [capacity.water_filling(spectrum, b * BITS).n_axes for b in (10, 20, 50)] == axes
    closed = [capacity.gaussian_entropy_number(b * BITS, 1.0, 2 * np.pi, n_dims=n_dims) for b in (10, 20, 50)]
    np.testing.assert_allclose(closed, expected, rtol={1: 0.025, 2: 0.008, 3: 0.0045}[n_dims])


@pytest.mark.parametrize(
    ("kernel", "period", "bits", "expected"),
    [
        (Gaussian(0.5), 4.0, 16, 1.0676169),
        (Exponential(1.0), 10.0, 20, 2.7946695),
        (DampedOscillator(1.0), 10.0, 20, 1.6984837),
    ],
)
def test_entropy_numbers_of_other_kernels(kernel, period, bits, expected):
    assert numbers(capacity.periodic_spectrum(kernel, period), bits)[0] == pytest.approx(expected, rel=1e-6)


def test_covering_numbers_of_a_gaussian():
    for epsilon, water, truncated in [(0.5, 14.12788, 7.6368), (0.1, 27.65002, 19.6527), (0.01, 51.02464, 40.6231)]:
        assert capacity.log_covering(UNIT, epsilon, method="water") == pytest.approx(water, abs=5e-6)
        assert capacity.log_covering(UNIT, epsilon, method="truncated") <= truncated + 5e-5
        assert capacity.log_covering(UNIT, epsilon) <= min(water, truncated) + 5e-5


def test_hulls_and_vectors():
    assert numbers(UNIT, 20, regularizer="l1")[0] == pytest.approx(0.32998605, rel=1e-6)
    assert numbers(UNIT, 30, n_outputs=3)[0] == pytest.approx(1.4070950, rel=1e-6)
    for bits in (8, 30, 300):
        hull, ball = numbers(UNIT, bits, regularizer="l1")[0], numbers(UNIT, bits / 2)[0]
        assert hull == pytest.approx(ball**2 / 6, rel=1e-10)
    assert capacity.log_covering(UNIT, 0.05, n_outputs=4) == pytest.approx(4 * capacity.log_covering(UNIT, 0.05))
    # The hull lies in the ball of radius sqrt(k(0)), which is a little more than 1 for the periodic kernel.
    ball = capacity.log_covering(UNIT, 0.05, norm=1.0001)
    assert capacity.log_covering(UNIT, 0.05, regularizer="l1") <= ball


def test_rate_of_a_gaussian():
    rate = capacity.entropy_rate(capacity.ExponentialDecay(0.5, 2.0))
    assert rate.constant == pytest.approx(0.52002096, rel=1e-7)
    logs = [-capacity.log_entropy_number(UNIT, bits * BITS) for bits in (1e7, 1e8)]
    assert logs[1] / (1e8 * BITS) ** (2 / 3) == pytest.approx(0.51999, abs=5e-6)
    assert np.log10(logs[1] / logs[0]) == pytest.approx(0.66674, abs=5e-6)
    assert rate.log_entropy_number(1e8 * BITS) == pytest.approx(-logs[1], rel=1e-4)
    assert rate.covering_exponent == pytest.approx(1.5)
    hull = capacity.entropy_rate(capacity.ExponentialDecay(0.5, 2.0), regularizer="l1")
    assert hull.constant / rate.constant == pytest.approx(2 ** (1 / 3))
    at = capacity.log_entropy_number(UNIT, 1e8 * BITS, regularizer="l1")
    assert hull.log_entropy_number(1e8 * BITS) == pytest.approx(at, rel=1e-4)


@pytest.mark.parametrize("n_dims", [2, 3])
def test_rate_of_a_gaussian_in_several_dimensions(n_dims):
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=n_dims)
    rate = capacity.entropy_rate(capacity.ExponentialDecay(0.5, 2.0), n_dims=n_dims)
    log_n = 1e7
    assert capacity.log_entropy_number(spectrum, log_n) == pytest.approx(rate.log_entropy_number(log_n), rel=0.03)


def test_rate_of_polynomial_decay():
    rate = capacity.entropy_rate(capacity.PolynomialDecay(1.0))
    assert np.exp(rate.log_entropy_number(1e4)) == pytest.approx(0.084853, abs=5e-7)
    j = np.arange(1, 200_001.0)
    spectrum = capacity.Spectrum(-2 * np.log(j), np.ones(len(j)), log_tail=np.log(1 / (j[-1] + 0.5)))
    assert numbers(spectrum, 1e4 / BITS)[0] == pytest.approx(0.084828, abs=5e-7)
    hull = capacity.entropy_rate(capacity.PolynomialDecay(1.0), regularizer="l1")
    value = capacity.entropy_number(spectrum, 1e4, regularizer="l1")
    assert np.exp(hull.log_entropy_number(1e4)) == pytest.approx(value, rel=2e-3)
    assert (rate.covering_exponent, hull.covering_exponent) == (2.0, 1.0)


def test_learning_rates():
    quadratic, linear = (
        [capacity.learning_rate(capacity.PolynomialDecay(a), regularizer=r) for a in (1.0, 3.0)] for r in ("rkhs", "l1")
    )
    assert quadratic == [1 / 4, 3 / 8]
    assert linear == pytest.approx([1 / 3, 3 / 7])
    assert capacity.learning_rate(capacity.ExponentialDecay(1.0)) == 0.5


def test_shells_are_counted():
    assert capacity.shell_counts(4, 8) == [1, 8, 24, 32, 24, 48, 96, 64, 24]
    assert capacity.shell_counts(8, 4) == [1, 16, 112, 448, 1136]
    counted = np.bincount([sum(x * x for x in v) for v in product(range(-5, 6), repeat=3)])[:26]
    assert capacity.shell_counts(3, 25) == counted.tolist()
    assert capacity.shell_counts(1, 4) == [1, 2, 0, 0, 2]
    assert all(isinstance(count, int) for count in capacity.shell_counts(20, 30))
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=20)
    np.testing.assert_allclose(spectrum.counts[:12], capacity.shell_counts(20, 11), rtol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "n_dims"),
    [
        (Gaussian(0.7), 2), (Gaussian([0.5, 1.5]), 2), (Exponential(1.0), 1), (Exponential(2.0), 2), (BSpline(3), 1),
        (BSpline(1, [1.0, 0.7]), 2), (ProductLaplace(0.5), 2), (Matern(width=1.0), 2), (RationalQuadratic(0.5, 3.0), 1),
        (2.5 * Gaussian(1.0), 3), (Gaussian(1.0) + Exponential(1.0), 1), (DampedOscillator(0.5), 1),
    ],
)  # fmt: skip
def test_eigenvalues_add_up_to_the_kernel_at_zero(kernel, n_dims):
    spectrum = capacity.periodic_spectrum(kernel, 4.0, n_dims=n_dims)
    origin = np.zeros((1, n_dims))
    assert np.exp(2 * spectrum.log_trivial) == pytest.approx(Periodized(kernel, 4.0)(origin)[0, 0], rel=1e-9)
    index = np.array(list(product(range(-3, 4), repeat=n_dims)))
    known = Periodized(kernel, 4.0).eigenvalues(index[:, 0] if n_dims == 1 else index, n_dims)
    listed = np.repeat(np.exp(spectrum.log_values), spectrum.counts.astype(int))
    assert np.all(np.diff(spectrum.log_values) <= 0)
    assert np.isin(known[known > 1e-12].round(10), listed.round(10)).all()


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.7), DampedOscillator(0.6), InverseMultiquadric(0.8), RationalQuadratic(0.5, 2.0), Matern(width=0.4)],
)
def test_logarithms_of_spectra_do_not_underflow(kernel):
    omega = np.linspace(0.3, 20.0, 40)
    np.testing.assert_allclose(np.exp(kernel.log_spectrum(omega)), kernel.spectrum(omega), rtol=1e-12)
    far = kernel.log_spectrum(np.array([1e3, 1e5]))
    assert np.isfinite(far).all()
    assert far[1] < far[0] < kernel.log_spectrum(1e2)
    np.testing.assert_allclose((3 * kernel).log_spectrum(omega), np.log(3) + kernel.log_spectrum(omega))


def test_a_kernel_without_spectrum_has_no_logarithm_of_it():
    with pytest.raises(TypeError, match="has no spectrum; take a kernel that has"):
        Linear().log_spectrum(1.0)


@pytest.mark.parametrize("log_n", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("decay", [0.5, 2.0])
def test_no_scaling_of_the_axes_is_better_than_water_filling(log_n, decay):
    values = np.arange(1, 13.0) ** -decay
    spectrum = capacity.Spectrum.of(values)
    filled = capacity.water_filling(spectrum, log_n)
    distortion = np.exp(filled.log_distortion)

    def cost(log_a):
        # sup_j over n^(-1/j) (a_1...a_j)^(1/j), at least 1, times the norm of the scaled eigenvalues
        order = np.sort(log_a)[::-1]
        largest = max(0.0, np.max((np.cumsum(order) - log_n) / np.arange(1, 13)))
        return np.exp(2 * largest) * np.sum(values * np.exp(-2 * log_a))

    assert cost(np.log(filled.radii)) == pytest.approx(distortion, rel=1e-9)
    best = minimize(cost, np.log(filled.radii) + 0.05, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12})
    assert best.fun >= distortion * (1 - 1e-9)
    spent = 0.5 * np.sum(np.maximum(np.log(values) - filled.log_level, 0))
    assert spent == pytest.approx(log_n)


spectra = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=12).map(capacity.Spectrum.of)


@settings(max_examples=60, deadline=None)
@given(spectra, st.floats(0.0, 40.0), st.floats(0.01, 20.0), st.sampled_from(["rkhs", "l1"]), st.integers(1, 3))
def test_entropy_and_covering_numbers_are_inverse(spectrum, log_n, norm, regularizer, n_outputs):
    options = {"norm": norm, "regularizer": regularizer, "n_outputs": n_outputs}
    epsilon = capacity.entropy_number(spectrum, log_n, **options)
    more = capacity.entropy_number(spectrum, log_n + 1.0, **options)
    trivial = capacity.entropy_number(spectrum, 0.0, **options)
    assert more <= epsilon <= trivial * (1 + 1e-12)
    power = 2 if regularizer == "l1" else 1
    assert trivial == pytest.approx(norm * np.exp(power * spectrum.log_trivial))
    if epsilon < trivial * (1 - 1e-9):
        water = capacity.log_covering(spectrum, epsilon, method="water", **options)
        assert water == pytest.approx(log_n, abs=1e-6)
        assert capacity.log_covering(spectrum, epsilon, **options) <= water
    assert capacity.log_covering(spectrum, trivial * 1.001, **options) == 0.0


@pytest.mark.parametrize("kernel", [Gaussian, lambda width: Exponential(1 / width), lambda width: BSpline(3, width)])
def test_units_do_not_matter(kernel):
    for log_n in (3.0, 30.0):
        one, other = (
            capacity.entropy_number(capacity.periodic_spectrum(kernel(c), 5.0 * c), log_n, clip=False)
            for c in (1.0, 1e3)
        )
        assert one == pytest.approx(other, rel=1e-8)


def test_one_ball_is_trivial_and_bounds_end_there():
    for n_dims in (1, 3, 20):
        spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=n_dims)
        assert capacity.entropy_number(spectrum, 0.0, norm=2.0) <= 2.0 * 1.3
        assert capacity.entropy_number(spectrum, 0.0) == pytest.approx(np.exp(spectrum.log_trivial))


def test_the_list_of_eigenvalues_grows_where_it_must():
    short = capacity.Spectrum(UNIT.log_values[:3], UNIT.counts[:3], scale=UNIT.scale, extend=lambda: UNIT)
    assert capacity.entropy_number(short, 50 * BITS) == pytest.approx(0.046820, abs=5e-8)
    assert capacity.log_covering(short, 0.01, method="water") == pytest.approx(51.02464, abs=5e-6)


def test_tails_that_are_not_listed_bound_from_above():
    j = np.arange(1, 100_001.0)
    whole = capacity.Spectrum.of(j**-2.0)
    head = capacity.Spectrum(-2 * np.log(j[:50]), np.ones(50), log_tail=np.log(np.sum(j[50:] ** -2.0)))
    for log_n in (1.0, 10.0, 30.0):
        assert capacity.entropy_number(head, log_n) >= capacity.entropy_number(whole, log_n) * (1 - 1e-9)
    assert capacity.log_covering(head, 1e-6) == np.inf


def test_best_period():
    best = capacity.best_period(Gaussian(1.0), 2.0, log_n=20 * BITS, coefficient_norm=10.0)
    assert best.period == pytest.approx(5.5907, abs=1e-3)
    assert best.entropy_number == pytest.approx(0.464102, abs=5e-7)
    assert best.wrap_error == pytest.approx(0.00159, abs=5e-6)
    scaled = capacity.best_period(Gaussian(10.0), 20.0, log_n=20 * BITS, coefficient_norm=10.0)
    assert scaled.period == pytest.approx(10 * best.period, rel=1e-3)


def test_compact_kernels_wrap_nothing():
    kernel = RadialBSpline(1, 1)  # zero beyond 2
    assert capacity.wrap_error(kernel, 4.01, 2.0) == pytest.approx(0.0, abs=1e-15)
    best = capacity.best_period(kernel, 2.0, log_n=200.0, coefficient_norm=1e3)
    assert best.period <= 4.001


def test_wrap_error_in_several_dimensions_bounds_the_difference():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2)) / np.sqrt(2)
    kernel = Gaussian(0.5)
    difference = np.abs(Periodized(kernel, 2.0)(X) - kernel(X)).max()
    assert difference <= capacity.wrap_error(kernel, 2.0, 1.0, n_dims=2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: capacity.periodic_spectrum(Linear(), 2.0), TypeError, "must be a kernel with a spectrum"),
        (lambda: capacity.periodic_spectrum("rbf", 2.0), TypeError, "must be a kernel with a spectrum, got 'rbf'"),
        (lambda: capacity.periodic_spectrum(Multiquadric(1.0), 2.0), ValueError, "project the polynomials out"),
        (
            lambda: capacity.periodic_spectrum(DampedOscillator(1.0), 9.0, n_dims=2),
            ValueError,
            "must be integrable in 2 dimensions, got DampedOscillator.*take one that falls faster",
        ),
        (lambda: capacity.periodic_spectrum(Gaussian([1.0, 2.0]), 9.0, n_dims=3), ValueError, "of length 3"),
        (lambda: capacity.periodic_spectrum(Gaussian(1.0), 0.0), ValueError, "period of periodic_spectrum must be"),
        (lambda: capacity.periodic_spectrum(Gaussian(1.0), 1.0, n_dims=0), ValueError, "n_dims of periodic_spectrum"),
        (lambda: capacity.periodic_spectrum(Gaussian(1.0), 1.0, tol=2), ValueError, "tol of periodic_spectrum must be"),
        (lambda: capacity.entropy_number(UNIT, -1.0), ValueError, "log_n of entropy_number must be a number >= 0"),
        (lambda: capacity.entropy_number(UNIT, 1.0, norm=0), ValueError, "norm of entropy_number must be a number > 0"),
        (lambda: capacity.entropy_number(UNIT, 1.0, regularizer="l2"), ValueError, "regularizer of entropy_number"),
        (lambda: capacity.log_covering(UNIT, 0.0), ValueError, "epsilon of log_covering must be a number > 0"),
        (lambda: capacity.log_covering(UNIT, 1.0, method="magic"), ValueError, "method of log_covering must be one of"),
        (lambda: capacity.Spectrum.of([]), ValueError, "Numbers of Spectrum.of must be finite"),
        (lambda: capacity.Spectrum.of([1.0, -1.0]), ValueError, "Numbers of Spectrum.of must be finite"),
        (lambda: capacity.Spectrum.of([0.0]), ValueError, "not all zero"),
        (lambda: capacity.shell_counts(2, -1), ValueError, "largest of shell_counts must be a whole number >= 0"),
        (lambda: capacity.wrap_error(Gaussian(1.0), 1.0, 2.0), ValueError, "period of wrap_error must be larger than"),
        (lambda: capacity.wrap_error(Gaussian([1.0, 2.0]), 4.0, 2.0), TypeError, "bring the columns to one scale"),
        (
            lambda: capacity.wrap_error(Exponential(1e-5), 2.0, 1.0, n_dims=2),
            ValueError,
            "the sum over its images does not converge",
        ),
        (lambda: capacity.PolynomialDecay(0), ValueError, "alpha of PolynomialDecay must be a number > 0"),
        (lambda: capacity.ExponentialDecay(-1), ValueError, "rate of ExponentialDecay must be a number > 0"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_spectra_can_be_stored():
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi)
    again = pickle.loads(pickle.dumps(spectrum))
    assert capacity.entropy_number(again, 1e4) == capacity.entropy_number(spectrum, 1e4)


@pytest.mark.parametrize("n_dims", [50, 200])
def test_many_dimensions(n_dims):
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=n_dims)
    assert spectrum.log_trivial == pytest.approx(n_dims / 2 * np.log1p(2 * np.exp(-2 * np.pi**2)), abs=1e-9)
    values = [capacity.entropy_number(spectrum, log_n, clip=False) for log_n in (10.0, 1e3, 1e5)]
    assert values == sorted(values, reverse=True)


def test_many_dimensions_of_a_kernel_that_is_not_radial_are_refused():
    with pytest.raises(ValueError, match="must be at most 20 for kernels that are not radial"):
        capacity.periodic_spectrum(ProductLaplace(1.0), 4.0, n_dims=25)


@pytest.mark.parametrize("n_dims", [0, 1.5, np.nan, "a", None])
def test_dimensions_of_wrapped_kernels_are_whole_numbers(n_dims):
    with pytest.raises(ValueError, match="n_dims of wrap_error must be a whole number >= 1"):
        capacity.wrap_error(Gaussian(1.0), 5.0, 2.0, n_dims=n_dims)
