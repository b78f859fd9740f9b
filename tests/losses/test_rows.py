import numpy as np
import pytest

from mercer.quantizers import AbsoluteCost, HuberCost, SquaredCost

COSTS = [SquaredCost(), HuberCost(0.7), AbsoluteCost(0.2)]


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: type(cost).__name__)
def test_parabola_is_above_and_touches(cost):
    rng = np.random.default_rng(0)
    R, other = rng.normal(size=(2, 200, 3))
    weights = cost.weights(R)
    weights = np.ones((1, 1)) if weights is None else weights
    constant = cost.of_residuals(R) - np.sum(weights * R**2, axis=1)
    assert np.all(cost.of_residuals(other) <= np.sum(weights * other**2, axis=1) + constant + 1e-12)


def test_values():
    R = np.array([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(SquaredCost().of_residuals(R), [25, 0.25])
    np.testing.assert_allclose(HuberCost(1.0).of_residuals(R), [4.5, 0.125])
    np.testing.assert_allclose(AbsoluteCost().of_residuals(R), [7, 0.7])


def test_smoothing_of_absolute_values_only_shrinks():
    R = np.random.default_rng(0).normal(size=(100, 2))
    cost = AbsoluteCost().scaled_to(R)
    assert np.median(np.abs(R)) == cost.smoothing
    values = []
    for _ in range(60):
        values.append(cost.of_residuals(R).sum())
        cost = cost.annealed()
    assert np.all(np.diff(values) <= 0)
    np.testing.assert_allclose(values[-1], np.abs(R).sum(), rtol=1e-4)
    assert cost.exact() == AbsoluteCost()
    assert SquaredCost().annealed() == SquaredCost().exact() == SquaredCost().scaled_to(R)
