"""The likelihood against its formula, and its gradient against differences."""

import numpy as np
import pytest

from mercer.metrics.families import FAMILIES
from mercer.metrics.likelihood import ProfileLikelihood, ScaleLikelihood, regression

families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.name} {getattr(family, 'nu', '')}")
SHARES = np.array([0.3, 2.0, 0.05, 1.0])
GROUPS = {"diagonal": np.arange(4), "isotropic": np.zeros(4, dtype=int), "groups": np.array([0, 1, 1, 2])}


def rows(n=90):
    """Rows of which two are equal, and two targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[5] = X[6]
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(n, 2))
    return X, Y


def by_formula(family, A, Y, ridge):
    """The negative log-likelihood per row, with mean and variance of each target at their best values."""
    n = len(A)
    M = family.kernel()(A) + ridge * np.eye(n)
    C, one = np.linalg.inv(M), np.ones(n)
    value = 0.5 * np.linalg.slogdet(M)[1] / n
    for y in Y.T:
        residual = y - one @ C @ y / (one @ C @ one)
        value += 0.5 * np.log(residual @ C @ residual / n) / Y.shape[1]
    return value


@families
def test_the_value_is_that_of_the_formula(family):
    X, Y = rows()
    weights, shares, ridge = np.array([0.5, 0.2, 1.0, 0.05]), SHARES if family.has_shares else [], 0.1
    likelihood = ProfileLikelihood(family, X, Y, np.arange(4), prior=2.0)
    value, _ = likelihood(np.log([*weights, *shares, ridge]))
    expected = by_formula(family.at(SHARES), X * weights, Y, ridge) + 2.0 / len(X) * 4 * np.log(weights).var()
    if family.has_shares:
        expected += 0.25 * 2.0 / len(X) * 4 * np.log(shares).var()
    np.testing.assert_allclose(value, expected, rtol=1e-10)


@families
@pytest.mark.parametrize("groups", GROUPS.values(), ids=list(GROUPS))
@pytest.mark.parametrize("turned", [False, True])
def test_the_gradient_is_that_of_differences(family, groups, turned):
    if turned and not family.turns:
        pytest.skip("city-block distances change when the rows are turned")
    rng = np.random.default_rng(1)
    rotation = rng.normal(size=(4, 4)) if turned else None
    likelihood = ProfileLikelihood(family, *rows(), groups, prior=0.7, rotation=rotation)
    theta, h = np.append(0.3 * rng.normal(size=(1 + family.has_shares) * likelihood.n_groups) - 0.5, -2.0), 1e-5
    differences = [(likelihood(theta + h * e)[0] - likelihood(theta - h * e)[0]) / (2 * h) for e in np.eye(len(theta))]
    np.testing.assert_allclose(likelihood(theta)[1], differences, atol=1e-8)


@families
def test_one_factor_of_all_weights_has_the_same_likelihood(family):
    if family.has_shares:
        pytest.skip("values of another factor are no powers of those of one")
    X, Y = rows()
    likelihood = ScaleLikelihood(family, X, Y)
    whole = ProfileLikelihood(family, X, Y, np.zeros(4, dtype=int))
    for theta in (np.array([0.3, -2.0]), np.array([-1.0, -4.0])):
        for found, expected in zip(likelihood(theta), whole(theta), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10)


@families
def test_the_regression_solves_its_equations(family):
    X, Y = rows()
    family = family.at(SHARES)
    fit = regression(family, X, Y, 0.1)
    values = family.kernel()(X) @ fit.coef + fit.offset
    np.testing.assert_allclose(values + 0.1 * fit.coef, Y, atol=1e-10)
    np.testing.assert_allclose(fit.coef.sum(axis=0), 0.0, atol=1e-10)


@families
def test_slopes_leave_the_own_row_out(family):
    X, Y = rows()
    family = family.at(SHARES)
    coef = regression(family, X, Y, 0.1).coef
    gradients = family.kernel().gradient(X)
    gradients[np.arange(len(X)), np.arange(len(X))] = 0.0
    np.testing.assert_allclose(family.slopes(X, coef), np.einsum("ikj,kc->cij", gradients, coef), atol=1e-10)


@families
def test_digits_do_not_depend_on_threads(family):
    """More rows than one thread takes, twice: sums over threads in another order would differ."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    theta = np.zeros(7 if family.has_shares else 4)
    results = [ProfileLikelihood(family, X, X[:, :1], np.arange(3))(theta) for _ in range(3)]
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])
