import cvxpy as cp
import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.regularizers import (
    L1Coefficients,
    L2Coefficients,
    MapL1,
    MapL2,
    MapNorm,
    Mixed,
    RKHSNorm,
    as_map_penalty,
)
from tests.contracts.all_manifolds import MAP_PENALTIES


@pytest.mark.parametrize("penalty", MAP_PENALTIES, ids=repr)
def test_penalties_are_norms(penalty):
    rng = np.random.default_rng(0)
    V, W = rng.normal(size=(2, 6, 3))
    assert penalty.value(np.zeros((6, 3))) == 0.0
    assert penalty.value(V) > 0.0
    assert penalty.value(0.5 * (V + W)) <= 0.5 * (penalty.value(V) + penalty.value(W)) + 1e-12
    degree = 2 if penalty.quadratic else 1
    assert penalty.value(-3.0 * V) == pytest.approx(3.0**degree * penalty.value(V))
    assert as_map_penalty(penalty.name) == penalty


@pytest.mark.parametrize("penalty", MAP_PENALTIES, ids=repr)
def test_the_norm_of_a_map_is_that_of_its_features(penalty):
    rng = np.random.default_rng(0)
    K = Gaussian(1.0)(rng.normal(size=(6, 2)))
    features = np.linalg.cholesky(np.linalg.inv(K)) if penalty.whitened else np.eye(6)
    beta = rng.normal(size=(6, 3))
    assert penalty.of_map(features @ beta, K) == pytest.approx(penalty.value(beta))


@pytest.mark.parametrize("penalty", [each for each in MAP_PENALTIES if not each.quadratic], ids=repr)
def test_penalties_that_are_not_quadratic_are_minimised(penalty):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 6))
    G, C = A.T @ A, rng.normal(size=(6, 3)) * 4
    found = penalty.minimise(G, C, 2.0, 5, np.zeros((6, 3)), 2000)
    V = cp.Variable((6, 3))
    norm = cp.sum(cp.abs(V[:5])) if penalty.name == "l1" else cp.sum(cp.norm(V[:5], axis=1))
    goal = 0.5 * cp.sum_squares(A @ V) - cp.sum(cp.multiply(C, V)) + 2.0 * norm
    cp.Problem(cp.Minimize(goal)).solve(solver="CLARABEL")
    np.testing.assert_allclose(found, V.value, atol=1e-5)


def test_regularizers_of_machines_stand_for_penalties_of_maps():
    assert [as_map_penalty(each) for each in (RKHSNorm(), L1Coefficients(), L2Coefficients())] == [
        MapNorm(), MapL1(), MapL2()
    ]  # fmt: skip
    for other in (Mixed(0.5), L2Coefficients(np.eye(3))):
        with pytest.raises(TypeError, match="is no penalty of maps; choose 'rkhs'"):
            as_map_penalty(other)


def test_what_is_no_penalty_is_refused():
    with pytest.raises(ValueError, match="regularizer of Thing must be one of .*, got 'cubic'"):
        as_map_penalty("cubic", "Thing")
    with pytest.raises(ValueError, match=r"got <class '.*MapL1'>; .* or give an object such as MapL1\(\)"):
        as_map_penalty(MapL1, "Thing")
    with pytest.raises(TypeError, match="must define minimise"):
        MapNorm().minimise(np.eye(1), np.ones((1, 1)), 1.0, 1, np.zeros((1, 1)), 1)
