import cvxpy as cp
import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.regularizers import sparse_coefficients


def sums(m=200, M=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    nodes = np.linspace(-1, 1, M)[:, None]
    Z = rng.uniform(-1, 1, size=(m, 1))
    features = np.hstack([Gaussian(0.2)(Z, nodes), np.ones((m, 1))])
    X = np.column_stack([np.sin(3 * Z[:, 0] + c) for c in range(d)]) + 0.1 * rng.normal(size=(m, d))
    return features.T @ features, features.T @ X


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("lam", [0.5, 5.0])
def test_optimality_conditions(group, lam):
    G, C = sums()
    V = sparse_coefficients(G, C, lam, 12, group=group)
    gradient = C - G @ V
    tol = 1e-6 * np.abs(C).max()
    np.testing.assert_allclose(gradient[12:], 0, atol=tol)
    if group:
        length = np.linalg.norm(V[:12], axis=1)
        used = length > 0
        assert lam < 5 or not used.all()
        np.testing.assert_allclose(gradient[:12][used], lam * V[:12][used] / length[used, None], atol=tol)
        assert np.all(np.linalg.norm(gradient[:12][~used], axis=1) <= lam + tol)
    else:
        used = V[:12] != 0
        assert not used.all()
        np.testing.assert_allclose(gradient[:12][used], lam * np.sign(V[:12])[used], atol=tol)
        assert np.all(np.abs(gradient[:12][~used]) <= lam + tol)


@pytest.mark.parametrize("group", [False, True])
def test_equals_a_convex_solver(group):
    G, C = sums()
    V = cp.Variable(C.shape)
    L = np.linalg.cholesky(G + 1e-12 * np.eye(len(G)))
    price = cp.sum(cp.norm(V[:12], axis=1)) if group else cp.sum(cp.abs(V[:12]))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(L.T @ V) - cp.sum(cp.multiply(C, V)) + 2.0 * price))
    problem.solve(solver="CLARABEL")

    def value(v):
        norms = np.linalg.norm(v[:12], axis=1) if group else np.abs(v[:12])
        return 0.5 * np.sum(v * (G @ v)) - np.sum(C * v) + 2.0 * np.sum(norms)

    ours = value(sparse_coefficients(G, C, 2.0, 12, group=group))
    np.testing.assert_allclose(ours, value(V.value), rtol=1e-7)
    start = np.random.default_rng(0).normal(size=C.shape)
    np.testing.assert_allclose(value(sparse_coefficients(G, C, 2.0, 12, group=group, start=start)), ours, rtol=1e-9)
