"""What holds for every problem of latent points: each density kernel, regularisation, constraint and optimiser.

Nothing that a solver says of itself is believed: values, gradients and constraints are computed by `slow_latent`.
"""

import numpy as np
import pytest

from mercer.datasets import make_arc
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS
from mercer.manifolds.ukr.fitting import OPTIMIZERS, fit_latent, homotopy
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.targets import data_targets
from tests.contracts import slow_latent

LINES, CYLINDER = np.array([np.inf, np.inf]), np.array([9.0, np.inf])
SPACES = pytest.mark.parametrize("periods", [LINES, CYLINDER], ids=["plane", "cylinder"])
KERNELS = pytest.mark.parametrize("kernel", DENSITY_KERNELS)
SCALES = {"gaussian": 2.0, "quartic": 0.6}
HOLES = pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
LEFT_OUT = pytest.mark.parametrize("n_excluded", [0, 3])


def rows(holes=False):
    X, t = make_arc(60, angle=3.0, noise=0.05, random_state=0)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    if holes:
        hidden = np.random.default_rng(1).random(X.shape) < 0.15
        hidden[hidden.all(axis=1)] = False
        X = np.where(hidden, np.nan, X)
    return X, np.column_stack([t - 1.5, np.random.default_rng(2).normal(size=60) / 4])


def problem(Y, kernel, n_excluded=0, periods=LINES):
    return LatentProblem(data_targets(Y), kernel, n_excluded, periods if np.isfinite(periods).any() else None)


def value_of(Y, Z, kernel, n_excluded=0, periods=LINES):
    return slow_latent.value_and_gradient(Y, Z, kernel, n_excluded, periods)[0]


@HOLES
@SPACES
@LEFT_OUT
@KERNELS
def test_values_and_gradients_are_those_of_the_slow_twin(kernel, n_excluded, periods, holes):
    Y, Z = rows(holes)
    Z = SCALES[kernel] * Z
    Z[0] += [0.0, 40.0]
    value, gradient, isolated = slow_latent.value_and_gradient(Y, Z, kernel, n_excluded, periods)
    ours = problem(Y, kernel, n_excluded, periods)
    found = ours.value_and_gradient(Z)
    assert found[0] == pytest.approx(value, rel=1e-10)
    assert ours.value(Z) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found[1], gradient, atol=1e-9 * np.abs(gradient).max())
    np.testing.assert_array_equal(ours.isolated(Z), isolated)
    assert isolated[0] == (kernel == "quartic")


@SPACES
@KERNELS
def test_densities_are_those_of_the_slow_twin(kernel, periods):
    Y, Z = rows()
    ours = problem(Y, kernel, 0, periods)
    shares = ours.density(Z, Z) * ours.density.integral(2)
    np.testing.assert_allclose(shares, slow_latent.densities(Z, kernel, periods), rtol=1e-9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@SPACES
@LEFT_OUT
@KERNELS
def test_descents_are_monotone_in_the_best_points(kernel, n_excluded, periods, optimizer):
    Y, Z = rows()
    Z, ours = SCALES[kernel] * Z, problem(Y, kernel, n_excluded, periods)
    told = []
    fit = fit_latent(
        ours, Z, optimizer=optimizer, max_iter=40, callback=lambda n, fit: told.append((n, fit.objective, fit.Z))
    )
    assert fit.history[0] == pytest.approx(value_of(Y, Z, kernel, n_excluded, periods), rel=1e-10)
    assert np.all(np.diff(fit.history) <= 0)
    assert fit.objective == fit.history[-1] < fit.history[0]
    assert fit.n_iter == len(fit.history) - 1 == len(told) <= 40
    assert fit.status in ("optimal", "max_iter")
    # What was told after each iteration is the best so far, and its value is that of its points.
    assert [n for n, _, _ in told] == list(range(1, fit.n_iter + 1))
    assert [value for _, value, _ in told] == fit.history[1:]
    for _, value, points in (told[0], told[len(told) // 2], told[-1]):
        assert value_of(Y, points, kernel, n_excluded, periods) == pytest.approx(value, rel=1e-9)
    isolated = [slow_latent.value_and_gradient(Y, each, kernel, n_excluded, periods)[2] for each in (Z, fit.Z)]
    assert not (isolated[1] & ~isolated[0]).any()


@pytest.mark.parametrize("thresholds", [(0.5,), (0.4, 0.2)])
@SPACES
@KERNELS
def test_densities_stay_above_thresholds(kernel, periods, thresholds):
    Y, Z = rows()
    fit = homotopy(problem(Y, kernel, 0, periods), Z, thresholds)
    assert slow_latent.densities(fit.Z, kernel, periods).min() >= thresholds[-1] * (1 - 1e-9)
    assert fit.objective == pytest.approx(value_of(Y, fit.Z, kernel, 0, periods), rel=1e-9)
    assert np.all(np.diff(fit.history) <= 0)
    assert fit.n_iter == len(fit.history) - 1 == 100 * len(thresholds)


@pytest.mark.parametrize("raises", [False, True], ids=["callback", "Ctrl-C"])
@pytest.mark.parametrize("when", [1, 2, 7])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_descents_end_where_they_are_told_to(kernel, optimizer, when, raises):
    Y, Z = rows()
    told = []

    def callback(n, fit):
        told.append(fit)
        if n == when and raises:
            raise KeyboardInterrupt
        return n == when

    fit = fit_latent(problem(Y, kernel), SCALES[kernel] * Z, optimizer=optimizer, callback=callback)
    assert fit.status == "interrupted"
    assert fit.n_iter == len(told) == when
    assert fit.history == told[-1].history
    np.testing.assert_array_equal(fit.Z, told[-1].Z)


@pytest.mark.parametrize("max_iter", [1, 2, 9])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_descents_make_as_many_iterations_as_they_may(kernel, optimizer, max_iter):
    Y, Z = rows()
    fit = fit_latent(problem(Y, kernel), SCALES[kernel] * Z, optimizer=optimizer, max_iter=max_iter)
    assert (fit.status, fit.n_iter) == ("max_iter", max_iter)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_descents_end_when_twenty_iterations_gain_little(kernel, optimizer):
    Y, Z = rows()
    fit = fit_latent(problem(Y, kernel, 3), SCALES[kernel] * Z, optimizer=optimizer, tol=0.05, max_iter=500)
    assert fit.status == "optimal"
    assert fit.n_iter < 300
    again = fit_latent(problem(Y, kernel, 3), SCALES[kernel] * Z, optimizer=optimizer, tol=0.05, max_iter=500)
    np.testing.assert_array_equal(fit.Z, again.Z)
