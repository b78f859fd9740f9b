import numpy as np
import pytest

from mercer.losses import (
    EpsilonInsensitive,
    Huber,
    HuberRows,
    Laplace,
    LaplaceRows,
    Squared,
    SquaredRows,
    as_row_loss,
)
from tests.contracts.all_losses import ROW_LOSSES


@pytest.mark.parametrize("cost", ROW_LOSSES, ids=lambda cost: type(cost).__name__)
def test_parabola_is_above_and_touches(cost):
    rng = np.random.default_rng(0)
    R, other = rng.normal(size=(2, 200, 3))
    weights = cost.weights(R)
    weights = np.ones((1, 1)) if weights is None else weights
    constant = cost.of_residuals(R) - np.sum(weights * R**2, axis=1)
    assert np.all(cost.of_residuals(other) <= np.sum(weights * other**2, axis=1) + constant + 1e-12)


def test_values():
    R = np.array([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(SquaredRows().of_residuals(R), [25, 0.25])
    np.testing.assert_allclose(HuberRows(1.0).of_residuals(R), [4.5, 0.125])
    np.testing.assert_allclose(LaplaceRows().of_residuals(R), [7, 0.7])


def test_smoothing_of_absolute_values_only_shrinks():
    R = np.random.default_rng(0).normal(size=(100, 2))
    cost = LaplaceRows().scaled_to(R)
    assert np.median(np.abs(R)) == cost.smoothing
    values = []
    for _ in range(60):
        values.append(cost.of_residuals(R).sum())
        cost = cost.annealed()
    assert np.all(np.diff(values) <= 0)
    np.testing.assert_allclose(values[-1], np.abs(R).sum(), rtol=1e-4)
    assert cost.exact() == LaplaceRows()
    assert SquaredRows().annealed() == SquaredRows().exact() == SquaredRows().scaled_to(R)


@pytest.mark.parametrize(
    ("word", "loss", "expected"),
    [("squared", Squared(), SquaredRows()), ("huber", Huber(0.3), HuberRows(0.3)), ("l1", Laplace(), LaplaceRows())],
)
def test_words_are_short_for_losses(word, loss, expected):
    assert as_row_loss(word, 0.3) == as_row_loss(loss) == as_row_loss(expected) == expected
    assert as_row_loss(expected) is expected


@pytest.mark.parametrize("loss", [Huber(0.5), Laplace()])
def test_losses_of_rows_are_those_of_residuals_in_one_column(loss):
    r = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(as_row_loss(loss).of_residuals(r[:, None]), loss.value(r))


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Huber(0.3, epsilon=0.1), Squared(epsilon=0.1)])
def test_other_losses_are_none_of_rows(loss):
    with pytest.raises(TypeError, match="is no loss of rows; choose Squared"):
        as_row_loss(loss)


@pytest.mark.parametrize("cost", ["cubic", None, 3, Huber])
def test_what_is_no_loss_is_refused(cost):
    message = r"cost of Thing must be one of \('squared', 'l1', 'huber'\), got .* or give an object such as Huber"
    with pytest.raises(ValueError, match=message):
        as_row_loss(cost, owner="Thing")


def test_sigma_is_checked():
    for sigma in (-1.0, 0, np.nan, np.inf, None, "a"):
        with pytest.raises(ValueError, match="sigma of HuberRows must be a number > 0, got"):
            HuberRows(sigma)
    with pytest.raises(ValueError, match="sigma of Huber must be"):
        as_row_loss(Huber(-1.0))
