"""Random machines, and the gap of each recomputed in extended precision from its public attributes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import KernelRidge, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import Exponential, Gaussian, Linear, Multiquadric, Polynomial
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
)

LONG = np.longdouble


@dataclass
class Case:
    """A machine that is not yet fitted, and its training set."""

    machine: Any
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    name: str


def random_case(seed: int, *, largest: int = 2000) -> Case:
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(2), np.log(largest))))
    n_columns = int(rng.integers(1, 6))
    Z = rng.normal(size=(n, n_columns))
    if rng.random() < 0.3:
        Z = Z[rng.integers(0, n, size=n)]  # duplicates
    size = 10.0 ** rng.uniform(-6, 6)
    X = size * Z + (1e3 * size if rng.random() < 0.3 else 0.0)
    kernel = _kernel(rng, size, n_columns)
    classify = rng.random() < 0.35
    y = np.sin(2 * Z[:, 0]) + 0.3 * Z[:, -1] + rng.uniform(0.0, 0.5) * rng.normal(size=n)
    if classify:
        y = np.where(y > np.median(y) if n > 2 else np.arange(n) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    C, tol = 10.0 ** rng.uniform(-3, 5), 10.0 ** rng.uniform(-8, -3)
    weight = None
    if rng.random() < 0.3:
        weight = rng.uniform(0.1, 3.0, size=n) * (rng.random(n) > 0.2)
        weight[:2] = 1.0
    loss = _margin_loss(rng) if classify else _residual_loss(rng)
    solver = _solver(rng, loss, kernel)
    if not classify and loss.quadratic and rng.random() < 0.3:
        machine = KernelRidge(kernel, penalties=1.0 / C, tol=tol)
    else:
        maker = SupportVectorClassifier if classify else SupportVectorRegressor
        machine = maker(kernel, loss=loss, C=C, tol=tol, solver=solver)
    return Case(machine, X, y, weight, f"{seed}: n={n} size={size:.1e} {machine}")


def _kernel(rng, size, n_columns):
    width = size * 10.0 ** rng.uniform(-0.7, 1.0)
    scale = 1.0 / (size**2 * n_columns)
    basic = [
        Gaussian(width),
        Exponential(1.0 / width),
        Linear(),
        scale * Linear(),
        Polynomial(int(rng.integers(2, 4)), size**2 * 10.0 ** rng.uniform(-1, 1)),
        Multiquadric(width),
        Gaussian(width) + scale * Linear(),
        2.0 * Exponential(1.0 / width) + Gaussian(3 * width),
    ]
    return basic[rng.integers(len(basic))]


def _residual_loss(rng):
    losses = [
        EpsilonInsensitive(10.0 ** rng.uniform(-3, 0)),
        Laplace(),
        Squared(),
        Huber(10.0 ** rng.uniform(-2, 0)),
        Quantile(rng.uniform(0.1, 0.9)),
        Expectile(rng.uniform(0.1, 0.9)),
        PolynomialLoss(rng.choice([1.2, 1.5, 3.0])),
    ]
    return losses[rng.integers(len(losses))]


def _margin_loss(rng):
    return [Hinge(), SquaredHinge(), Logistic()][rng.integers(3)]


def _solver(rng, loss, kernel):
    names = ["auto", "interior_point", "working_set"]
    if loss.piecewise_quadratic:
        names.append("smo")
    return names[rng.integers(len(names))]


# Extended precision --------------------------------------------------------------------------------------------------


def exact_kernel(kernel, X, Y):
    """The matrix of a kernel in extended precision, from its definition."""
    name, p = type(kernel).__name__, kernel.get_params(deep=False)
    if name == "Sum":
        return exact_kernel(p["left"], X, Y) + exact_kernel(p["right"], X, Y)
    if name == "Scaled":
        return LONG(p["factor"]) * exact_kernel(p["kernel"], X, Y)
    if name in ("Linear", "Polynomial"):
        product = X @ Y.T
        return product if name == "Linear" else (product + LONG(p["offset"])) ** int(p["degree"])
    square = np.zeros((len(X), len(Y)), dtype=LONG)
    for j in range(X.shape[1]):
        square += (X[:, j, None] - Y[None, :, j]) ** 2
    if name == "Gaussian":
        return np.exp(-square / (2 * LONG(p["width"]) ** 2))
    if name == "Exponential":
        return np.exp(-LONG(p["rate"]) * np.sqrt(square))
    assert name == "Multiquadric"
    return -np.sqrt(square + LONG(p["offset"]) ** 2)


def exact_loss(loss, r):
    """c(r) in extended precision, from its definition."""
    name, p = type(loss).__name__, loss.get_params()
    zero = LONG(0)
    if name == "EpsilonInsensitive":
        return np.maximum(zero, np.abs(r) - LONG(p["epsilon"]))
    if name == "Laplace":
        return np.abs(r)
    if name == "Squared":
        return r * r / 2
    if name == "Huber":
        s = LONG(p["sigma"])
        return np.where(np.abs(r) <= s, r * r / (2 * s), np.abs(r) - s / 2)
    if name == "Quantile":
        q = LONG(p["q"])
        return np.where(r > 0, q * r, (q - 1) * r)
    if name == "Expectile":
        q = LONG(p["q"])
        return np.where(r > 0, q, 1 - q) * r * r / 2 * LONG(_expectile_factor(loss))
    if name == "PolynomialLoss":
        return np.abs(r) ** LONG(p["p"]) / LONG(p["p"])
    if name == "Hinge":
        return np.maximum(zero, r)
    if name == "SquaredHinge":
        return np.maximum(zero, r) ** 2 / 2
    assert name == "Logistic"
    f = 1 - r
    return np.logaddexp(zero, -f)


def _expectile_factor(loss):
    return float(loss.value(1.0)) / (loss.q / 2)


def exact_conjugate(loss, a):
    """c*(a) in extended precision, infinite outside the dual interval."""
    name, p = type(loss).__name__, loss.get_params()
    s = np.abs(a)
    low, high = (LONG(end) for end in loss.dual_interval)
    if name in ("EpsilonInsensitive",):
        value = LONG(p["epsilon"]) * s
    elif name in ("Laplace", "Quantile", "Hinge"):
        value = 0 * s
    elif name == "Squared":
        value = s * s / 2
    elif name == "Huber":
        value = LONG(p["sigma"]) * s * s / 2
    elif name == "Expectile":
        factor = LONG(_expectile_factor(loss))
        value = s * s / (2 * factor * np.where(a > 0, LONG(p["q"]), 1 - LONG(p["q"])))
    elif name == "PolynomialLoss":
        power = LONG(p["p"])
        q = power / (power - 1)
        value = s**q / q
    elif name == "SquaredHinge":
        value = s * s / 2
    else:
        inside = np.clip(a, LONG(0), LONG(1))
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(inside > 0, inside * np.log(inside), 0)
            entropy = entropy + np.where(inside < 1, (1 - inside) * np.log1p(-inside), 0)
        value = a + entropy
    return np.where((a < low) | (a > high), np.inf, value)


def exact_gap(case: Case) -> float:
    """Relative gap of the stored function; infinite if a dual variable is outside its box by more than rounding."""
    machine = case.machine
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    loss = Squared() if isinstance(machine, KernelRidge) else machine.loss
    C = LONG(1.0 / machine.penalty_ if isinstance(machine, KernelRidge) else machine.C) * weight.astype(LONG)
    used = weight > 0
    X, y = case.X.astype(LONG), case.y.astype(LONG)
    S = machine.support_
    B = np.zeros(len(y), dtype=LONG)
    B[S] = machine.dual_coef_.astype(LONG)
    h = exact_kernel(machine.kernel_, X, X[S]) @ B[S] if len(S) else np.zeros(len(y), dtype=LONG)
    Phi = np.ones((len(y), 1), dtype=LONG)
    d = np.atleast_1d(machine.parametric_coef_).astype(LONG)
    f = h + Phi @ d
    sign = y if loss.classification else np.ones_like(y)
    r = sign * (y - f)
    A = sign * B
    primal = B @ h / 2 + (C * exact_loss(loss, r))[used].sum()
    low, high = (LONG(end) for end in loss.dual_interval)
    ratio = np.zeros_like(A)
    ratio[used] = A[used] / C[used]
    inside = np.clip(ratio, low, high)
    outside = np.abs(ratio - inside).max()  # rounding of a division by C
    shares = (C * exact_conjugate(loss, inside))[used].sum()
    # Dual value with what the columns explain taken off, and the violated constraint at its price.
    dual = (y - Phi @ d) @ B - B @ h / 2 - shares
    worth = np.abs(B.sum() * d[0])
    dual = dual - worth
    of_constant = (C * exact_loss(loss, sign * (y - y[used].mean())))[used].sum()
    size = max(np.abs(primal), LONG(1e-12) * of_constant)
    gap = primal - dual
    if outside > 1e-12:
        return np.inf
    return float(gap / size) if size > 0 else (0.0 if gap == 0 else np.inf)
