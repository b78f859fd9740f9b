"""Errors of predictions."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer.metrics.judges import are_classes, deviance_left, is_clearly_less, variance_left


def test_squares_are_shares_of_the_variance():
    Y = np.random.default_rng(0).normal(size=(50, 2))
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    assert variance_left(Y, np.zeros_like(Y)).mean() == pytest.approx(1.0)
    assert variance_left(Y, Y).tolist() == [0.0] * 50


def test_the_deviance_is_that_of_logistic_regression():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(400, 1))
    label = rng.random(400) < 1 / (1 + np.exp(-3 * f[:, 0] - 1))
    model = LogisticRegression(C=1e6).fit(f, label)
    expected = log_loss(label, model.predict_proba(f)) / log_loss(label, np.full(400, label.mean()))
    found = deviance_left(np.where(label, 1.0, -1.0)[:, None], 1e-3 * f + 5).mean()
    assert found == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("f", [np.zeros(40), np.full(40, 3.0)])
def test_values_that_tell_nothing_leave_everything(f):
    Y = np.where(np.arange(40) < 30, 1.0, -1.0)[:, None]
    assert deviance_left(Y, f[:, None]).mean() == pytest.approx(1.0, rel=0.05)


def test_values_on_the_wrong_side_tell_nothing():
    """Means of folds of noise are below those of the rest, and the other way round."""
    Y = np.where(np.arange(40) < 30, 1.0, -1.0)[:, None]
    np.testing.assert_array_equal(deviance_left(Y, -Y), 1.0)


def test_perfect_values_leave_little():
    Y = np.where(np.arange(40) < 30, 1.0, -1.0)[:, None]
    assert deviance_left(Y, Y).max() < 0.1
    assert deviance_left(np.ones((5, 1)), np.zeros((5, 1))).tolist() == [1.0] * 5  # no second class among the rows


def test_targets_of_two_values_are_classes():
    assert are_classes(np.array([[1.0, 0.2], [-1.0, 0.1], [1.0, 0.2]]))
    assert not are_classes(np.array([[1.0, 0.2], [-1.0, 0.1], [1.0, 0.3]]))


def test_less_is_clearly_less_beyond_standard_errors():
    losses, gains = np.random.default_rng(0).random(400), np.tile([-1.0, 1.0], 200)  # a standard error of 1/20
    assert is_clearly_less(losses, losses + 0.06 + gains, 1.0)
    assert not is_clearly_less(losses, losses + 0.06 + gains, 2.0)
    assert not is_clearly_less(losses, losses + 0.04 + gains, 1.0)
    assert not is_clearly_less(losses, losses, 1.0)
