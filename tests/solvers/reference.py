"""Kernel programs in the words of cvxpy, from their definition in the primal and nothing else."""

import warnings

import cvxpy as cp
import numpy as np

from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PiecewisePolynomial,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
)


def cost(loss, r, n):
    """Costs of residuals (r = 1 - y f for classification), above and below the tube: two expressions of n entries."""
    if isinstance(loss, Hinge):
        return cp.pos(r), np.zeros(n)
    if isinstance(loss, SquaredHinge):
        return cp.square(cp.pos(r)) / 2, np.zeros(n)
    if isinstance(loss, Logistic):
        return cp.logistic(r - 1), np.zeros(n)
    epsilon = getattr(loss, "epsilon", 0.0)
    below, above = epsilon if isinstance(epsilon, tuple) else (epsilon, epsilon)
    return _growth(loss, cp.pos(r - above), up=True), _growth(loss, cp.pos(-r - below), up=False)


def _growth(loss, xi, *, up):
    """What a distance xi >= 0 from the tube costs."""
    if isinstance(loss, EpsilonInsensitive | Laplace):
        return xi
    if isinstance(loss, Squared):
        return cp.square(xi) / 2
    if isinstance(loss, Quantile):
        return (loss.q if up else 1 - loss.q) * xi
    if isinstance(loss, Expectile):
        return (loss.q if up else 1 - loss.q) * cp.square(xi) / 2
    if isinstance(loss, PolynomialLoss):
        return cp.power(xi, loss.p, approx=False) / loss.p
    # A curved part up to sigma and a straight one beyond: the cheapest way to split xi.
    p = 2.0 if isinstance(loss, Huber) else loss.p
    assert isinstance(loss, Huber | PiecewisePolynomial)
    curved = cp.Variable(xi.shape, nonneg=True)
    return cp.power(curved, p) / (p * loss.sigma ** (p - 1)) + cp.pos(xi - curved)


def square_root(K):
    """L with K = L Lᵀ; the eigenvalues decide, so that K may be singular."""
    values, vectors = np.linalg.eigh(K)
    assert values[0] > -1e-9 * values[-1]
    kept = values > 1e-14 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def minimum(loss, C, y, terms, price, *, budget=None):
    """Value and fitted values of min price + Σ C c(y - f), f the sum of the terms; with a tube if there is a budget."""
    n = len(y)
    below, above = C if isinstance(C, tuple) else (C, C)
    f = sum(terms)
    r = 1 - cp.multiply(y, f) if loss.classification else y - f
    if budget is None:
        up, down = cost(loss, r, n)
    else:
        width = cp.Variable(nonneg=True)
        up, down = cp.pos(r - width), cp.pos(-r - width)
        price = price + budget * width
    total = price + cp.sum(cp.multiply(np.broadcast_to(above, n), up) + cp.multiply(np.broadcast_to(below, n), down))
    problem = cp.Problem(cp.Minimize(total))
    with warnings.catch_warnings():
        # Short of 1e-9, which some cones do not reach; what is compared is coarser by far.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value), np.asarray(f.value)


def rkhs(K, Phi, *, weight=0.0, order_columns=None):
    """Terms and price of h + Φd with 1/2 ||h||² + Σ weight |d|.

    Where K is positive only on the complement of some columns, h = K Q b with Q a basis of that complement.
    """
    d = cp.Variable(Phi.shape[1]) if Phi.shape[1] else None
    parametric = [] if d is None else [Phi @ d]
    lasso = 0.0 if d is None else cp.sum(cp.multiply(np.broadcast_to(weight, Phi.shape[1]), cp.abs(d)))
    if order_columns is None:
        L = square_root(K)
        u = cp.Variable(L.shape[1])
        return [L @ u, *parametric], cp.sum_squares(u) / 2 + lasso
    Q = np.linalg.qr(order_columns, mode="complete")[0][:, order_columns.shape[1] :]
    L = square_root(Q.T @ K @ Q)
    # b = L u' solves the wrong system; with b free, ||h||² = bᵀ(QᵀKQ)b = ||Lᵀb||².
    b = cp.Variable(Q.shape[1])
    return [(K @ Q) @ b, *parametric], cp.sum_squares(L.T @ b) / 2 + lasso


def l1(K, Phi):
    a, d = cp.Variable(K.shape[1]), cp.Variable(Phi.shape[1])
    return [K @ a, Phi @ d], cp.norm1(a)


def l2(K, Phi, M):
    a, d = cp.Variable(K.shape[1]), cp.Variable(Phi.shape[1])
    return [K @ a, Phi @ d], cp.sum_squares(np.linalg.cholesky(M).T @ a) / 2
