"""Losses with several kinks on one side."""

import numpy as np
import pytest

from mercer import SupportVectorRegressor
from mercer.losses import EpsilonInsensitive, TubeLoss, check_loss
from mercer.losses.kinks import jump_of_conjugate
from tests.contracts.all_losses import LOSSES


class TwoKinks(TubeLoss):
    """max(ξ, 3ξ - 2)."""

    piecewise_linear = True
    piecewise_quadratic = True

    def _steepest(self):
        return 3.0

    def _growth(self, xi):
        return np.maximum(xi, 3 * xi - 2)

    def _growth_slope(self, xi):
        return np.where(xi > 1, 3.0, np.sign(xi))

    def _growth_conjugate(self, t):
        return np.maximum(t - 1, 0.0)

    def _growth_conjugate_slope(self, t):
        return np.where(t > 1, 1.0, 0.0)

    def _growth_conjugate_curvature(self, t):
        return np.zeros_like(t)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_usual_losses_have_one(loss):
    assert jump_of_conjugate(loss) is None


def test_found_where_it_is():
    assert jump_of_conjugate(TwoKinks()) == pytest.approx(1.0)


def test_check_loss_tells():
    with pytest.raises(ValueError, match="have one kink at most on each side of zero, so that the slope .* at 1"):
        check_loss(TwoKinks())


@pytest.mark.parametrize("solver", ["auto", "smo", "interior_point", "linear_program"])
def test_machines_refuse_them(solver):
    X, y = np.arange(20.0)[:, None], np.sin(np.arange(20.0))
    regularizer = "l1" if solver == "linear_program" else "rkhs"
    machine = SupportVectorRegressor(loss=TwoKinks(), solver=solver, regularizer=regularizer)
    with pytest.raises(ValueError, match="one kink at most on each side of zero, got another one with the slope 1"):
        machine.fit(X, y)


def test_repeated_samples_do_instead():
    """max(ξ, 3ξ - 2) = ξ + 2 max(0, ξ - 1)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 1)), 3 * rng.normal(size=30)
    epsilon, weight = np.repeat([0.0, 1.0], 30), np.repeat([1.0, 2.0], 30)
    machine = SupportVectorRegressor(loss=EpsilonInsensitive(epsilon), C=0.5, tol=1e-8)
    machine.fit(np.vstack([X, X]), np.tile(y, 2), weight)
    found = machine.predict(X)

    def value(f, of_norm):
        return of_norm + 0.5 * np.sum(TwoKinks().value(y - f))

    K = machine.kernel_(X)

    def objective(p):
        a, b = p[:-1], p[-1]
        return value(K @ a + b, 0.5 * a @ K @ a)

    coef = np.zeros(60)
    coef[machine.support_] = machine.dual_coef_
    start = np.append(coef[:30] + coef[30:], machine.intercept_)
    np.testing.assert_allclose(K @ start[:-1] + start[-1], found, atol=1e-8)
    best = objective(start)
    for seed in range(20):
        step = 1e-3 * np.random.default_rng(seed).normal(size=31)
        assert objective(start + step) >= best - 1e-9
