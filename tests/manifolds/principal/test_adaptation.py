import cvxpy as cp
import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.manifolds import Adaptation, LatentBasis, LatentSpace, Rows, project
from mercer.manifolds.principal.adaptation_numba import subtract_tangential
from mercer.quantizers import AbsoluteCost, HuberCost, SquaredCost

SPACE = LatentSpace(("interval", "interval"))
BASIS = LatentBasis(SPACE, Gaussian(0.6), (5, 5))
PLAIN = LatentBasis(SPACE, Gaussian(0.6), (5, 5), whitened=False)


def data(m=300, d=4, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1, 1, size=(m, 2))
    X = np.sin(2 * Z @ rng.normal(size=(2, d))) + 0.1 * rng.normal(size=(m, d))
    X[:, 1:][rng.random((m, d - 1)) < missing] = np.nan
    return X, Z


def test_solves_equation_33():
    X, Z = data()
    lam, m = 1e-3, len(X)
    f = Adaptation(Rows(X), BASIS, lam).solve(Z, SquaredCost())
    K, K_zeta = BASIS.kernel(BASIS.nodes), BASIS.kernel(Z, BASIS.nodes)
    left = (lam * m / 2 * K + K_zeta.T @ K_zeta) @ f.alpha
    np.testing.assert_allclose(left, K_zeta.T @ (X - f.gamma[0]), atol=1e-8 * m)
    np.testing.assert_allclose((X - f(Z)).sum(axis=0), 0, atol=1e-8 * m)  # the free constant


def test_l2_and_linear_part():
    X, Z = data()
    lam, m = 1e-3, len(X)
    basis = LatentBasis(SPACE, Gaussian(0.6), (5, 5), linear=True, whitened=False)
    f = Adaptation(Rows(X), basis, lam, "l2").solve(Z, SquaredCost())
    features = np.hstack([basis.kernel(Z, basis.nodes), np.ones((m, 1)), Z])
    ridge = np.diag(np.r_[np.full(25, lam * m / 2), np.zeros(3)])
    expected = np.linalg.solve(features.T @ features + ridge, features.T @ X)
    np.testing.assert_allclose(f(Z), features @ expected, atol=1e-8)


def test_missing_entries_are_left_out():
    X, Z = data(missing=0.3)
    lam, m = 1e-3, len(X)
    f = Adaptation(Rows(X), BASIS, lam).solve(Z, SquaredCost())
    features = BASIS.features(Z)
    ridge = np.diag(np.r_[np.full(BASIS.n_features, lam * m / 2), 0.0])
    for c in range(X.shape[1]):
        seen = ~np.isnan(X[:, c])
        P = features[seen]
        expected = np.linalg.solve(P.T @ P + ridge, P.T @ X[seen, c])
        np.testing.assert_allclose(f(Z)[:, c], features @ expected, atol=1e-6)


def coupled_system(X, Z, f, mu):
    """H and b of the residuals whose part along the manifold has weight mu, by plain sums."""
    _, T = f.with_tangents(Z)
    T[np.abs(Z) >= 1] = 0.0
    features, d = f.basis.features(Z), X.shape[1]
    H, b = np.zeros((features.shape[1] * d,) * 2), np.zeros(features.shape[1] * d)
    for t, phi, x in zip(T, features, X, strict=True):
        Q = np.linalg.svd(t.T, full_matrices=False)
        Q = Q[0][:, Q[1] > 1e-8]
        A = np.eye(d) - (1 - mu) * Q @ Q.T
        H += np.kron(np.outer(phi, phi), A)
        b += np.kron(phi, A @ x)
    return H, b


@pytest.mark.parametrize("regularizer", ["rkhs", "l1", "group_l1"])
def test_point_to_tangent_step_solves_the_coupled_system(regularizer):
    X, Z = data(m=60, d=3)
    lam, mu = 1e-3, 0.2
    rows, basis = Rows(X), BASIS if regularizer == "rkhs" else PLAIN
    adaptation = Adaptation(rows, basis, lam, regularizer)
    f = adaptation.solve(Z, SquaredCost())
    Z = project(rows, f, start=Z).Z
    g = adaptation.solve(Z, SquaredCost(), f, tangential=mu)
    H, b = coupled_system(X, Z, f, mu)
    V = cp.Variable(f.coefficients.shape)
    norms = {"rkhs": 0.5 * cp.sum_squares(V[:-1]), "l1": cp.sum(cp.abs(V[:-1])),
             "group_l1": cp.sum(cp.norm(V[:-1], axis=1))}  # fmt: skip
    v = cp.vec(V, order="C")
    L = np.linalg.cholesky(H + 1e-10 * np.eye(len(H)))
    model = (cp.sum_squares(L.T @ v) - 2 * b @ v) / len(X) + lam * norms[regularizer]
    cp.Problem(cp.Minimize(model)).solve(solver="CLARABEL")
    least = model.value
    values = []
    for V.value in (f.coefficients, g.coefficients):
        values.append(model.value)
    assert 0.95 < (values[0] - values[1]) / (values[0] - least) <= 1 + 1e-5


@pytest.mark.parametrize("cost", [SquaredCost(), HuberCost(0.1), AbsoluteCost(0.05)], ids=["squared", "huber", "l1"])
@pytest.mark.parametrize("regularizer", ["rkhs", "l2", "l1", "group_l1"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_neither_half_step_raises_the_objective(cost, regularizer, missing):
    X, Z = data(m=150, missing=missing)
    rows = Rows(X)
    basis = BASIS if regularizer == "rkhs" else PLAIN
    adaptation = Adaptation(rows, basis, 1e-3, regularizer)
    f = adaptation.solve(SPACE.inside(Z + 0.2 * np.random.default_rng(1).normal(size=Z.shape)), SquaredCost())
    projection = project(rows, f, cost=cost)
    value = projection.costs.mean() + adaptation.penalty_of(f)
    for _ in range(5):
        f = adaptation.solve(projection.Z, cost, f)
        R = rows.residuals(slice(None), f(projection.Z))
        adapted = cost.of_residuals(R).mean() + adaptation.penalty_of(f)
        assert adapted <= value + 1e-10
        projection = project(rows, f, cost=cost, start=projection.Z, n_starts=1)
        value = projection.costs.mean() + adaptation.penalty_of(f)
        assert value <= adapted + 1e-10


def test_tangential_part_equals_plain_one():
    rng = np.random.default_rng(0)
    slopes, values = rng.normal(size=(20, 2, 4)).astype(np.float32), rng.normal(size=(20, 4))
    total = np.ones((20, 4))
    subtract_tangential(slopes, values, 0.7, total)
    along = np.einsum("iac,ic->ia", slopes, values)
    np.testing.assert_allclose(total, 1 - 0.7 * np.einsum("ia,iac->ic", along, slopes), rtol=1e-6, atol=1e-6)
