"""Guarantees: published numbers, simulations in which they hold, and what is refused."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer.capacity import (
    bernstein_bound,
    binomial_bound,
    compression_bound,
    kl_inverse,
    pac_bayes_bound,
    samples_for_promise,
    samples_to_confirm,
)


def test_numbers_of_two_routes():
    assert binomial_bound(3, 100, 0.05) == pytest.approx(0.075710794, rel=1e-7)
    assert compression_bound(20, 0, 400, 0.05) == pytest.approx(0.20252949, rel=1e-7)
    assert kl_inverse(0.1, 0.02) == pytest.approx(0.17038363, rel=1e-7)
    langford = pac_bayes_bound(np.full(1000, 0.3), 0.05, form="langford")
    assert langford.value == pytest.approx(0.0620759, rel=1e-6)
    assert langford.scale == pytest.approx(9.037, abs=1e-3)
    assert pac_bayes_bound(np.full(1000, 0.3), 0.05).value == pytest.approx(0.0593282, rel=1e-6)


def test_held_out_rows_are_counted_exactly():
    for k, n in ((0, 1), (3, 100), (99, 100)):
        p = binomial_bound(k, n, 0.1)
        assert binom.cdf(k, n, p) == pytest.approx(0.1, rel=1e-9)
    assert binomial_bound(7, 7, 0.1) == 1.0


@pytest.mark.parametrize(("error", "rows"), [(0.5, 5), (0.2, 14), (0.1, 29), (0.05, 59)])
def test_rows_to_hold_out(error, rows):
    assert samples_for_promise(error, 0.05) == rows
    n = samples_for_promise(error, 0.05, n_errors=4)
    assert binomial_bound(4, n, 0.05) <= error < binomial_bound(4, n - 1, 0.05)


def test_rows_that_confirm_an_error():
    n = samples_to_confirm(0.1, 0.05, margin=0.02)
    assert binomial_bound(int(np.ceil(0.1 * n)), n, 0.05) <= 0.12
    assert samples_to_confirm(0.1, 0.05, margin=0.05) < n < samples_to_confirm(0.1, 0.01, margin=0.02)
    assert samples_to_confirm(0.0, 0.05, margin=0.02) == samples_for_promise(0.02, 0.05)


def test_more_rows_than_confirm_an_error_confirm_it_too():
    n = samples_to_confirm(0.1, 0.05, margin=0.02)
    confirmed = [binomial_bound(int(np.ceil(0.1 * rows)), rows, 0.05) <= 0.12 for rows in range(n - 1, n + 200)]
    assert confirmed == [False] + 200 * [True]


def test_compression_of_nothing_is_the_test_of_all_rows():
    loose = compression_bound(0, 3, 100, 0.05)
    assert binomial_bound(3, 100, 0.05) < loose < 0.15
    assert compression_bound(100, 0, 100, 0.05) == 1.0
    assert compression_bound(20, 380, 400, 0.05) == 1.0
    assert 0.9 < compression_bound(5000, 0, 20000, 1e-9) ** 0.001 <= 1.0, "logarithms do not overflow"


def test_bounds_grow_with_confidence_and_with_errors():
    for bound in (
        lambda d, k: binomial_bound(k, 60, d),
        lambda d, k: compression_bound(10, k, 60, d),
        lambda d, k: bernstein_bound(np.linspace(0, k, 60), d, width=100.0),
        lambda d, k: pac_bayes_bound(np.full(60, 0.5 - 0.1 * k), d).value,
    ):
        assert bound(0.2, 1) < bound(0.02, 1)
        assert bound(0.2, 1) < bound(0.2, 3)


def test_kl_is_inverted():
    p = kl_inverse(0.0, 0.3)
    assert -np.log1p(-p) == pytest.approx(0.3)
    assert kl_inverse(1.0, 0.3) == 1.0
    assert kl_inverse(0.4, 0.0) == pytest.approx(0.4, abs=1e-6)


def test_pac_bayes_is_no_less_than_the_gibbs_error():
    found = pac_bayes_bound(np.random.default_rng(0).uniform(-0.2, 0.9, 300), 0.05)
    assert found.gibbs_error <= found.value <= 1.0
    assert pac_bayes_bound([0.5], 0.05).value <= 1.0
    assert pac_bayes_bound(np.full(50, -1.0), 0.05).value > 0.4, "chance is always possible"


@pytest.mark.slow
def test_guarantees_hold_in_simulation():
    rng, delta, n, p = np.random.default_rng(0), 0.1, 50, 0.2
    allowed = delta + 3.0 * np.sqrt(delta * (1 - delta) / 1000)
    assert np.mean([binomial_bound(int(k), n, delta) < p for k in rng.binomial(n, p, 1000)]) <= allowed
    losses = rng.exponential(size=(1000, n)).clip(0.0, 3.0)
    mean = 1.0 - np.exp(-3.0)
    assert np.mean([bernstein_bound(row, delta, width=3.0) < mean for row in losses]) <= allowed
    # A rule that keeps one row, a threshold, of uniform rows whose label is x > 1/2.
    violated = 0
    for _ in range(1000):
        x = np.sort(rng.uniform(size=n))
        below = x[x <= 0.5]
        threshold = below.max() if len(below) else 0.0
        violated += compression_bound(1, 0, n, delta) < 0.5 - threshold
    assert violated / 1000 <= allowed
    # The mean of labels times directions: margins are cosines, and the error of the Gibbs classifier is known.
    centre, violated = np.zeros(5), 0
    centre[0] = 1.0
    many = np.where(rng.random(4000) < 0.5, 1, -1)
    others = many[:, None] * centre + 0.8 * rng.normal(size=(4000, 5))
    others *= (many / np.linalg.norm(others, axis=1))[:, None]
    for _ in range(1000):
        y = np.where(rng.random(n) < 0.5, 1, -1)
        X = y[:, None] * centre + 0.8 * rng.normal(size=(n, 5))
        X /= np.linalg.norm(X, axis=1)[:, None]
        w = y @ X
        w /= np.linalg.norm(w)
        found = pac_bayes_bound(y * (X @ w), delta)
        from scipy.stats import norm

        violated += found.value < norm.sf(found.scale * (others @ w)).mean()
    assert violated / 1000 <= allowed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binomial_bound(0, 10, 0.0), "delta of binomial_bound must be a number between 0 and 1, got 0.0"),
        (lambda: binomial_bound(0, 10, np.nan), "delta of binomial_bound must be a number between 0 and 1"),
        (lambda: binomial_bound(11, 10, 0.1), "n_errors of binomial_bound must be at most the 10 rows"),
        (lambda: binomial_bound(0, 0, 0.1), "n_held_out of binomial_bound must be a whole number >= 1"),
        (lambda: binomial_bound(-1, 5, 0.1), "n_errors of binomial_bound must be a whole number >= 0"),
        (lambda: samples_for_promise(1.5, 0.1), "error of samples_for_promise must be a number between 0 and 1"),
        (lambda: samples_to_confirm(0.99, 0.1, margin=0.02), "error \\+ margin of samples_to_confirm must be below 1"),
        (lambda: samples_to_confirm(0.1, 0.1, margin=0.0), "margin of samples_to_confirm must be a number > 0"),
        (lambda: compression_bound(11, 0, 10, 0.1), "n_support of compression_bound must be at most n_samples = 10"),
        (lambda: kl_inverse(2.0, 0.1), "q of kl_inverse must be a number from 0 to 1"),
        (lambda: kl_inverse(0.2, -0.1), "c of kl_inverse must be a number >= 0"),
        (lambda: pac_bayes_bound([2.0], 0.1), "margins of pac_bayes_bound must be numbers from -1 to 1"),
        (lambda: pac_bayes_bound([np.nan], 0.1), "margins of pac_bayes_bound must be numbers from -1 to 1"),
        (lambda: pac_bayes_bound([0.1], 0.1, form="x"), "form of pac_bayes_bound must be one of"),
        (lambda: bernstein_bound([np.nan], 0.1, width=1.0), "losses of bernstein_bound must be finite numbers"),
        (lambda: bernstein_bound([0.1], 0.1, width=0.0), "width of bernstein_bound must be a number > 0"),
    ],
    ids=range(16),
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_row_promises_nothing():
    assert bernstein_bound([0.1], 0.1, width=2.0) == 2.0
    assert binomial_bound(0, 1, 0.1) == pytest.approx(0.9)


@pytest.mark.parametrize("n", [10**6, 10**15, 10**18])
def test_compression_of_very_many_rows_pays_for_the_choice_of_support(n):
    # With no errors (1 - p)^(n - d) = delta / (n C(n, d)).
    paid = np.log(n) + np.log(n / 6.0) + np.log(n - 1.0) + np.log(n - 2.0) - np.log(0.05)
    assert compression_bound(3, 0, n, 0.05) == pytest.approx(-np.expm1(-paid / (n - 3)), rel=1e-6)
