import numpy as np
import pytest

from mercer.relevance import LearningCurve

SIZES = np.array([50, 100, 150])


def curve(a, b, spread=1e-4):
    noise = spread * np.random.default_rng(0).normal(size=(3, 4))
    return LearningCurve(SIZES, (a + b / SIZES)[:, None] + noise, 200)


def test_line_through_the_errors():
    found = curve(0.1, 5.0)
    assert found.expected(200) == pytest.approx(0.125, abs=1e-3)
    assert found.gain == pytest.approx((0.125 - 0.1125) / 0.125, abs=0.01)


def test_no_gain_where_chance_explains_it():
    assert curve(0.2, -1.0).gain == 0
    mixed = np.array([[0.3, 0.1, 0.3, 0.1], [0.2, 0.2, 0.2, 0.2], [0.1, 0.3, 0.2, 0.1]])
    assert LearningCurve(SIZES, mixed, 200).gain == 0


def test_errors_never_fall_below_zero():
    found = LearningCurve(SIZES, np.repeat([[0.5], [0.1], [0.0]], 4, axis=1), 200)
    assert found.expected(10**6) >= 0
    assert 0 < found.gain <= 0.5
    assert LearningCurve(SIZES, np.zeros((3, 4)), 200).gain == 0


def test_subsamples_may_be_too_small_to_learn():
    assert curve(0.2, 1.0).learns
    assert not LearningCurve(SIZES, np.full((3, 4), 0.3), 200, guess_error=0.3).learns


@pytest.mark.parametrize(("size", "line", "power"), [(400, 0.2 + 20 / 400, None), (800, 0.2 + 20 / 800, None)])
def test_a_line_is_continued(size, line, power):
    low, high = LearningCurve(np.array([50, 100, 200]), np.repeat([[0.6], [0.4], [0.3]], 4, axis=1), 200).forecast(size)
    assert high == pytest.approx(line)
    # A power law through the logarithms of these errors falls faster.
    assert low == pytest.approx(0.3 * (size / 200) ** -0.5, rel=1e-9)


def test_forecasts_do_not_rise():
    rising = LearningCurve(np.array([50, 100, 200]), np.repeat([[0.1], [0.2], [0.3]], 4, axis=1), 200)
    assert rising.forecast(400) == (0.3, 0.3)
