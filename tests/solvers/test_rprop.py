import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from mercer.solvers import rprop


def quadratic(A, b):
    return lambda x: (float(0.5 * x @ A @ x - b @ x), A @ x - b)


def test_finds_the_minimum_of_a_quadratic():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(6, 6))
    A, b = M @ M.T + np.eye(6), rng.normal(size=6)
    result = rprop(quadratic(A, b), np.zeros(6), max_iter=2000, tol=1e-15)
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-5)
    assert result.status == "optimal"
    assert result.value == pytest.approx(quadratic(A, b)(result.x)[0])


def test_equals_another_optimiser_on_a_valley():
    start = np.array([-1.2, 1.0])
    result = rprop(lambda x: (float(rosen(x)), rosen_der(x)), start, max_iter=4000, first_step=0.01)
    expected = minimize(rosen, start, jac=rosen_der, method="BFGS")
    np.testing.assert_allclose(result.x, expected.x, atol=1e-3)


def test_sizes_of_derivatives_do_not_matter():
    A, b = np.diag([1.0, 4.0]), np.array([1.0, 1.0])
    small, large = (
        rprop(lambda x, c=c: tuple(c * part for part in quadratic(A, b)(x)), np.array([3.0, 3.0]), max_iter=40)
        for c in (1e-100, 1e100)
    )
    np.testing.assert_array_equal(small.x, large.x)


def test_keeps_the_best_and_the_shape():
    seen = []

    def function(x):
        seen.append(float(np.sum(x**2)))
        return seen[-1], 2 * x

    result = rprop(function, np.full((3, 2), 0.31), first_step=0.1, max_iter=15)
    assert result.x.shape == (3, 2)
    assert result.value == min(seen)
    np.testing.assert_array_equal(result.history, np.minimum.accumulate(seen))
    assert result.n_iter == 15
    assert result.status == "max_iter"


def test_steps_are_bounded():
    places = []
    rprop(lambda x: (places.append(x.copy()) or float(x[0]), np.ones(1)), np.zeros(1), largest_step=0.5, max_iter=50)
    steps = -np.diff(np.concatenate(places))
    assert steps[0] == pytest.approx(0.1)
    assert steps.max() == pytest.approx(0.5)


def test_points_stay_where_they_may_be():
    def function(Z):
        return float(np.sum(Z)), np.ones_like(Z)

    result = rprop(function, np.array([[1.0], [2.0]]), admissible=lambda Z: Z[:, 0] >= 0.5, max_iter=200)
    np.testing.assert_allclose(result.x, 0.5, atol=1e-6)


def test_all_stay_where_one_would_bring_another_out():
    # A point may be only where the other is near; both are drawn apart.
    def function(Z):
        return float(Z[0, 0] - Z[1, 0]), np.array([[1.0], [-1.0]])

    result = rprop(function, np.zeros((2, 1)), admissible=lambda Z: np.full(2, np.ptp(Z) <= 1.0), max_iter=200)
    assert 0.99 <= np.ptp(result.x) <= 1.0


def test_callbacks_and_interrupts_end_it():
    function = quadratic(np.eye(2), np.ones(2))
    told = []
    stopped = rprop(function, np.zeros(2), callback=lambda n, x, value: told.append(value) or n == 3)
    assert stopped.status == "interrupted"
    assert stopped.n_iter == 3
    assert told == stopped.history[1:]

    def interrupt(n, x, value):
        if n == 5:
            raise KeyboardInterrupt

    interrupted = rprop(function, np.zeros(2), callback=interrupt)
    assert interrupted.status == "interrupted"
    assert interrupted.value < function(np.zeros(2))[0]
