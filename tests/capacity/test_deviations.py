"""Deviations: numbers of the specification, what they guarantee, and what is refused."""

from math import comb

import numpy as np
import pytest

from mercer import capacity
from mercer.losses import EpsilonInsensitive, Hinge, Squared


class Logarithmic:
    """ln N(ε) = 5 ln(1 + 1/ε)."""

    def log_covering(self, scale, n_samples):
        return 5 * np.log1p(1 / scale)


def test_numbers_of_hoeffding_and_vapnik():
    assert capacity.hoeffding(1000, 0.05) == pytest.approx(0.038702276, rel=1e-6)
    assert capacity.log_growth(100, 10) == pytest.approx(np.log(sum(comb(100, i) for i in range(11))), rel=1e-12)
    assert capacity.log_growth(10, 12) == pytest.approx(10 * np.log(2))
    assert capacity.vc_deviation(10, 10_000, 0.05, form="two_sided") == pytest.approx(0.26579803, rel=1e-6)
    assert capacity.vc_deviation(10, 10_000, 0.05) == pytest.approx(0.094073794, rel=1e-6)
    assert capacity.vc_deviation(10, 1000, 0.05, form="no_errors") == pytest.approx(0.18632692, rel=1e-6)
    relative = capacity.vc_deviation(10, 10_000, 0.05, form="relative", training_error=0.05)
    assert 0.05 + relative == pytest.approx(0.113249, abs=5e-7)


def test_numbers_of_covering_bounds():
    value = capacity.deviation(capacity.FiniteClass(1000), 5000, 0.05).value
    assert value == pytest.approx(0.38796937, rel=1e-6)
    assert capacity.deviation(Logarithmic(), 20_000, 0.01).value == pytest.approx(0.24444342, rel=1e-6)
    lossy = capacity.deviation(Logarithmic(), 20_000, 0.01, loss=Squared(), loss_range=2.0)
    assert lossy.value == pytest.approx(0.48888684, rel=1e-6)
    assert capacity.samples_needed(Logarithmic(), 0.1, 0.01) == 142235


@pytest.mark.parametrize(
    ("epsilon", "covering", "rademacher", "hoeffding"),
    [(0.5, 1875, 148, 6), (0.2, 13492, 923, 38), (0.1, 59296, 3690, 150), (0.05, 258377, 14759, 600)],
)
def test_samples_that_a_deviation_needs(epsilon, covering, rademacher, hoeffding):
    assert capacity.samples_needed(capacity.FiniteClass(1), epsilon, 0.05) == covering
    assert capacity.rademacher_samples(epsilon, 0.05) == rademacher
    assert capacity.hoeffding_samples(epsilon, 0.05) == hoeffding
    m = capacity.vc_samples(3, epsilon, 0.05)
    assert capacity.vc_deviation(3, m, 0.05) <= epsilon < capacity.vc_deviation(3, m - 1, 0.05)


def test_one_sample_fewer_is_not_enough():
    functions = capacity.KernelBall(1.0) + capacity.Offsets(1.0)
    m = capacity.samples_needed(functions, 0.5, 0.1, loss=Hinge())
    assert capacity.deviation(functions, m, 0.1, loss=Hinge()).value <= 0.5
    assert capacity.deviation(functions, m - 1, 0.1, loss=Hinge()).value > 0.5


def test_no_bound_exceeds_the_largest_loss_and_such_are_called_vacuous():
    for m in (1, 2, 10, 1000):
        found = capacity.deviation(capacity.KernelBall(5.0), m, 0.05, loss=EpsilonInsensitive(0.1), loss_range=2.0)
        assert found.vacuous
        assert found.value == pytest.approx(1.9)
        assert capacity.hoeffding(m, 1e-300, width=2.0) <= 2.0
        assert capacity.rademacher_deviation(3.0, m, 0.05) == 1.0
    for form in ("vapnik", "two_sided", "devroye", "no_errors"):
        assert capacity.vc_deviation(50, 20, 0.05, form=form) == 1.0
    assert capacity.vc_deviation(50, 20, 0.05, form="relative", training_error=0.2) == pytest.approx(0.8)
    assert capacity.samples_needed(capacity.FiniteClass(10), 2.0, 0.05) == 1
    assert capacity.vc_samples(10, 1.5, 0.05) == capacity.rademacher_samples(1.5, 0.05) == 1


def test_surer_bounds_are_larger():
    deltas = (0.3, 0.1, 0.01, 1e-6)
    for bound in (
        lambda delta: capacity.hoeffding(50, delta, sides=2),
        lambda delta: capacity.vc_deviation(2, 5000, delta),
        lambda delta: capacity.vc_deviation(2, 5000, delta, form="devroye"),
        lambda delta: capacity.deviation(Logarithmic(), 20_000, delta).value,
        lambda delta: capacity.rademacher_deviation(0.1, 500, delta),
    ):
        values = [bound(delta) for delta in deltas]
        assert values == sorted(values)
        assert values[0] < values[-1]


def failures(deviations, bound):
    """Share of draws that violate a bound, and the share that is allowed at δ = .1 in so many draws."""
    return np.mean(deviations > bound), 0.1 + 3 * np.sqrt(0.1 * 0.9 / len(deviations))


def test_hoeffding_holds_in_simulation():
    rng = np.random.default_rng(0)
    means = rng.binomial(30, 0.5, size=1000) / 30
    share, allowed = failures(0.5 - means, capacity.hoeffding(30, 0.1))
    assert share <= allowed
    share, allowed = failures(np.abs(0.5 - means), capacity.hoeffding(30, 0.1, sides=2))
    assert share <= allowed


def threshold_risks(rng, m, n_draws):
    """Largest R - R_emp over all thresholds on the line (VC dimension 1), with one wrong label in five."""
    worst, without_errors = [], []
    for _ in range(n_draws):
        x = np.sort(rng.uniform(size=m))
        y = (x > 0.5) ^ (rng.uniform(size=m) < 0.2)
        below, above = np.r_[0, np.cumsum(y)], np.r_[0, np.cumsum(~y)]
        training = (below + above[-1] - above) / m
        edges = np.r_[0.0, x, 1.0]
        risks = 0.2 + 0.6 * np.maximum(np.abs(edges[:-1] - 0.5), np.abs(edges[1:] - 0.5))
        worst.append(np.max(risks - training))
        clean = x > 0.5
        right, left = x[clean].min(initial=1.0), x[~clean].max(initial=0.0)
        without_errors.append(max(right - 0.5, 0.5 - left))
    return np.array(worst), np.array(without_errors)


def test_vc_rademacher_and_covering_bounds_hold_in_simulation():
    m, delta = 300, 0.1
    worst, without_errors = threshold_risks(np.random.default_rng(1), m, 1000)
    for form in ("vapnik", "two_sided", "devroye"):
        share, allowed = failures(worst, capacity.vc_deviation(1, m, delta, form=form))
        assert share <= allowed
    share, allowed = failures(without_errors, capacity.vc_deviation(1, m, delta, form="no_errors"))
    assert share <= allowed
    massart = np.sqrt(2 * capacity.log_growth(m, 1) / m)
    share, allowed = failures(worst, capacity.rademacher_deviation(massart, m, delta))
    assert share <= allowed
    share, allowed = failures(worst, capacity.deviation(capacity.VCClass(1), m, delta).value)
    assert share <= allowed


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, np.nan, "high", True])
def test_delta_must_be_a_probability(delta):
    for bound in (
        lambda: capacity.hoeffding(10, delta),
        lambda: capacity.hoeffding_samples(0.1, delta),
        lambda: capacity.vc_deviation(3, 10, delta),
        lambda: capacity.deviation(capacity.FiniteClass(2), 10, delta),
        lambda: capacity.samples_needed(capacity.FiniteClass(2), 0.1, delta),
        lambda: capacity.rademacher_deviation(0.1, 10, delta),
        lambda: capacity.rademacher_samples(0.1, delta),
    ):
        with pytest.raises(ValueError, match=r"delta of \w+ must be a number between 0 and 1"):
            bound()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: capacity.hoeffding(0, 0.1), "n_samples of hoeffding must be a whole number >= 1"),
        (lambda: capacity.hoeffding(10, 0.1, sides=3), "sides of hoeffding must be 1 or 2"),
        (lambda: capacity.vc_deviation(2, 10, 0.1, form="magic"), "form of vc_deviation must be one of"),
        (lambda: capacity.vc_deviation(2, 10, 0.1, form="relative"), "training_error of vc_deviation must be given"),
        (lambda: capacity.vc_deviation(2, 9, 0.1, form="no_errors", training_error=0.1), "must be 0 for form"),
        (lambda: capacity.vc_deviation(2, 9, 0.1, training_error=3), "must be a number from 0 to 1, got 3"),
        (lambda: capacity.vc_samples(2, 0.1, 0.1, form="relative"), "form of vc_samples must be one of"),
        (lambda: capacity.rademacher_deviation(-1, 9, 0.1), "complexity of rademacher_deviation must be a number >= 0"),
        (lambda: capacity.samples_needed(capacity.FiniteClass(2), 0, 0.1), "epsilon of samples_needed must be"),
        (lambda: capacity.samples_needed(capacity.FiniteClass(2), 1e-12, 0.1), "ask for a larger deviation"),
        (
            lambda: capacity.deviation(capacity.FiniteClass(2), 9, 0.1, loss=EpsilonInsensitive(2.0)),
            "loss of deviation must be finite and not zero",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("epsilon", [1e-300, 1e-320])
def test_deviations_that_need_more_samples_than_can_be_counted_are_refused(epsilon):
    for count in (
        lambda: capacity.hoeffding_samples(epsilon, 0.05),
        lambda: capacity.rademacher_samples(epsilon, 0.05),
        lambda: capacity.samples_needed(capacity.FiniteClass(1), epsilon, 0.05),
        lambda: capacity.vc_samples(3, epsilon, 0.05),
    ):
        with pytest.raises(ValueError, match="samples are needed; ask for a larger deviation"):
            count()
    assert capacity.hoeffding_samples(0.1, 1e-320) > capacity.hoeffding_samples(0.1, 1e-300)


@pytest.mark.parametrize("functions", [None, 3, "KernelBall", np.ones(3)])
def test_classes_of_functions_must_know_their_covers(functions):
    with pytest.raises(TypeError, match="functions of deviation must have a method log_covering"):
        capacity.deviation(functions, 100, 0.05)
    with pytest.raises(TypeError, match="functions of samples_needed must have a method log_covering"):
        capacity.samples_needed(functions, 0.1, 0.05)
    with pytest.raises(TypeError, match="functions of general_deviation must have a method log_covering"):
        capacity.general_deviation(functions, 100, 0.05, factor=2.0, divisor=2.0)
