import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.components import RidgePreimages, distance_preimages, fixed_point_preimages
from mercer.kernels import DampedOscillator, Exponential, Gaussian, InverseMultiquadric, RadialBSpline

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(1.0), 2.0 * Gaussian(1.5), InverseMultiquadric(1.0), DampedOscillator(1.0), RadialBSpline(3, 2.0)],
    ids=repr,
)
def test_fixed_point_agrees_with_a_general_minimiser(kernel):
    coef = rng.dirichlet(np.full(40, 0.3), size=4)
    found = fixed_point_preimages(kernel, X, coef, max_iter=2000, tol=1e-10)

    def value(z, c):
        return -float(c @ kernel(X, z[None])[:, 0])

    for z, c in zip(found, coef, strict=True):
        best = minimize(value, z, args=(c,), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
        assert value(z, c) <= best.fun + 1e-9
        np.testing.assert_allclose(z, best.x, atol=1e-4)


def test_fixed_point_never_loses_the_best_row_with_negative_coefficients():
    coef = rng.normal(size=(10, 40))
    start = rng.normal(size=(10, 2))
    found = fixed_point_preimages(Gaussian(0.7), X, coef, start)
    values = [np.einsum("ij,ij->i", coef, Gaussian(0.7)(Z, X)) for Z in (start, found)]
    assert np.all(values[1] >= values[0])
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(0.5), InverseMultiquadric(1.0)], ids=repr)
def test_exact_images_are_found(kernel):
    # The image of a training row is a kernel function of its own.
    np.testing.assert_allclose(distance_preimages(kernel, X, np.eye(40)), X, atol=1e-6)
    np.testing.assert_allclose(fixed_point_preimages(Gaussian(0.05), X, np.eye(40)), X, atol=1e-3)


def test_many_points_are_done_in_blocks(monkeypatch):
    coef = rng.dirichlet(np.ones(40), size=30)
    whole = distance_preimages(Gaussian(1.0), X, coef)
    monkeypatch.setattr("mercer.components.preimages._BLOCK_MEMORY", 7 * 8 * 40)
    np.testing.assert_allclose(distance_preimages(Gaussian(1.0), X, coef), whole)


def test_ridge_agrees_with_brute_force_leave_one_out():
    Z = rng.normal(size=(25, 2))
    targets = np.column_stack([np.sin(Z[:, 0]), Z[:, 0] * Z[:, 1]]) + 0.1 * rng.normal(size=(25, 2))
    ridge = RidgePreimages(Z, targets)
    K, mean = Gaussian.scaled_to(Z)(Z), targets.mean(axis=0)

    def left_out_error(penalty):
        errors = []
        for i in range(25):
            rest = np.arange(25) != i
            solved = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * np.eye(24), targets[rest] - mean)
            errors.append(targets[i] - mean - K[i, rest] @ solved)
        return np.sum(np.square(errors))

    own = left_out_error(ridge.penalty)
    assert all(own <= left_out_error(ridge.penalty * factor) + 1e-12 for factor in (0.3, 3.0))
    expected = mean + K @ np.linalg.solve(K + ridge.penalty * np.eye(25), targets - mean)
    np.testing.assert_allclose(ridge(Z), expected, atol=1e-8)
