"""The Hilbert-Schmidt independence criterion and its tests."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kstest

from mercer.information import dependence, hsic, independence_test
from mercer.kernels import Gaussian, Linear, Polynomial, WeightedDegree

UNIT = (Gaussian(1.0), Gaussian(1.0))


def pair(n, rho, rng):
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)


def full(K, L, *, unbiased):
    """The two estimates as they are written, from whole Gram matrices."""
    n = len(K)
    if not unbiased:
        H = np.eye(n) - 1 / n
        return np.trace(K @ H @ L @ H) / n**2
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    one = np.ones(n)
    rest = one @ K @ one * (one @ L @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * one @ K @ L @ one
    return (np.trace(K @ L) + rest) / (n * (n - 3))


def closed_form(rho, w, v):
    """Of a bivariate normal with Gaussian kernels of widths w and v."""
    a, b = 1 / w**2, 1 / v**2
    both = (1 + 2 * a) * (1 + 2 * b)
    mixed = (1 + 1 / (w**2 + 1)) * (1 + 1 / (v**2 + 1)) - rho**2 / ((w**2 + 1) * (v**2 + 1))
    return (both - 4 * rho**2 * a * b) ** -0.5 + both**-0.5 - 2 * ((1 + a) * (1 + b)) ** -0.5 * mixed**-0.5


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernels", [UNIT, (Gaussian(0.3), Polynomial(3)), Linear()])
def test_low_rank_equals_full_matrices(kernels, unbiased):
    x, y = pair(150, 0.6, np.random.default_rng(0))
    k, ell = kernels if isinstance(kernels, tuple) else (kernels, kernels)
    K, L = k(x[:, None]), ell(y[:, None])
    expected = full(K, L, unbiased=unbiased)
    assert hsic(x, y, kernels=kernels, unbiased=unbiased) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("rho", "value"), [(0.3, 0.0035150), (0.5, 0.0107633), (0.8, 0.0356741), (0.95, 0.0612270)])
def test_bivariate_normal_has_the_closed_form(rho, value):
    assert closed_form(rho, 1.0, 1.0) == pytest.approx(value, abs=5e-8)
    x, y = pair(40_000, rho, np.random.default_rng(1))
    assert hsic(x, y, kernels=UNIT) == pytest.approx(value, abs=1e-3)
    widths = (Gaussian(0.5), Gaussian(2.0))
    assert hsic(x, y, kernels=widths) == pytest.approx(closed_form(rho, 0.5, 2.0), abs=1e-3)


def test_one_estimate_is_unbiased_and_the_other_is_not():
    rng = np.random.default_rng(2)
    draws = [pair(40, 0.8, rng) for _ in range(1000)]
    values = np.array([[hsic(x, y, kernels=UNIT, unbiased=unbiased) for unbiased in (True, False)] for x, y in draws])
    error = values.std(axis=0) / np.sqrt(len(draws))
    assert abs(values[:, 0].mean() - 0.0356741) < 3 * error[0]
    assert values[:, 1].mean() - 0.0356741 > 5 * error[1]


@pytest.mark.parametrize("method", ["permutation", "gamma"])
def test_p_values_are_uniform_under_independence(method):
    rng = np.random.default_rng(3)
    p_values = [
        independence_test(
            rng.normal(size=(40, 2)), rng.exponential(size=40), method=method, n_permutations=199, random_state=seed
        ).p_value
        for seed in range(200)
    ]
    assert kstest(p_values, "uniform").pvalue > 0.01


def test_moments_are_those_over_all_permutations():
    rng = np.random.default_rng(4)
    F, G = rng.normal(size=(6, 2)), rng.normal(size=(6, 3)) ** 3
    F, G = F - F.mean(axis=0), G - G.mean(axis=0)
    values = [np.sum((F.T @ G[list(order)]) ** 2) for order in permutations(range(6))]
    np.testing.assert_allclose(dependence.permutation_moments(F, G), [np.mean(values), np.var(values)], rtol=1e-10)


@pytest.mark.parametrize("method", ["auto", "permutation", "gamma"])
def test_dependence_that_is_no_correlation_is_found(method):
    rng = np.random.default_rng(5)
    angle = rng.uniform(0, 2 * np.pi, size=300)
    x, y = np.cos(angle) + 0.1 * rng.normal(size=300), np.sin(angle) + 0.1 * rng.normal(size=300)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.2
    result = independence_test(x, y, method=method, random_state=0)
    assert result.p_value < 0.002
    assert result.method == ("gamma" if method == "gamma" else "permutation")
    assert result.statistic == pytest.approx(hsic(x, y, unbiased=False), rel=1e-10)


def test_permutations_compare_nearly_all_of_the_statistic():
    x, y = pair(300, 0.5, np.random.default_rng(12))
    F = np.column_stack([x, y, x * y, 1e-4 * x**3])
    F -= F.mean(axis=0)
    leading = dependence._leading(F)
    assert leading.shape == (300, 3)
    np.testing.assert_allclose(leading @ leading.T, F @ F.T, atol=1e-2)
    assert dependence._leading(np.zeros((5, 3))).shape == (5, 1)


def test_much_work_is_left_to_the_gamma_distribution(monkeypatch):
    monkeypatch.setattr(dependence, "_BUDGET", 1e3)
    assert independence_test(*pair(50, 0.0, np.random.default_rng(6))).method == "gamma"


def test_fewer_features_than_rows_are_close_and_deterministic():
    x, y = (v[:, None] + np.zeros(3) for v in pair(1000, 0.7, np.random.default_rng(7)))
    x = x + np.random.default_rng(8).normal(size=x.shape)
    results = [independence_test(x, y, rank=30, n_permutations=50, random_state=0) for _ in range(2)]
    assert results[0] == results[1]
    assert results[0].statistic == pytest.approx(hsic(x, y, unbiased=False), rel=0.1)


def test_units_do_not_matter():
    x, y = pair(60, 0.3, np.random.default_rng(9))
    p_values = [
        independence_test(a * x, b * y, random_state=0).p_value for a, b in [(1, 1), (1e-9, 1e9), (1e30, 1e-30)]
    ]
    assert p_values[0] == p_values[1] == p_values[2]
    kernels = (1e-20 * Linear(), 1e20 * Linear())
    small, plain = (independence_test(x, y, kernels=k, random_state=0).p_value for k in (kernels, Linear()))
    assert small == plain


def test_rows_may_be_sparse_of_single_precision_frames_or_no_vectors():
    import pandas as pd

    rng = np.random.default_rng(10)
    X, y = rng.poisson(1.0, size=(50, 4)).astype(float), rng.normal(size=50)
    expected = hsic(X, y)
    assert hsic(sparse.csr_array(X), y) == pytest.approx(expected, rel=1e-9)
    assert hsic(X.astype(np.float32), y) == pytest.approx(expected, rel=1e-9)
    assert hsic(pd.DataFrame(X), pd.Series(y)) == pytest.approx(expected, rel=1e-12)
    words = np.array(["".join(row) for row in rng.choice(list("ab"), size=(50, 6))])
    first = (np.char.count(words, "a") + 0.1 * y)[:, None]
    assert independence_test(list(words), first, kernels=(WeightedDegree(2), None), random_state=0).p_value < 0.01


def test_constants_and_equal_rows_share_nothing():
    x = np.random.default_rng(11).normal(size=20)
    for method in ("permutation", "gamma"):
        result = independence_test(np.ones(20), x, method=method, n_permutations=20, random_state=0)
        assert result.statistic == pytest.approx(0.0, abs=1e-15)
        assert result.p_value == 1.0
    assert hsic(np.ones(20), x) == pytest.approx(0.0, abs=1e-12)
    repeated = np.repeat([0.0, 1.0], 10)
    assert independence_test(repeated, x, n_permutations=99, random_state=0).p_value > 0.01


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: hsic(x, x[:-1]), ValueError, "Y of hsic must have as many rows as X, 10, got 9"),
        (lambda x: hsic(x[:3], x[:3]), ValueError, "X of hsic must have 4 rows or more, got 3"),
        (lambda x: hsic(x, np.append(x[1:], np.nan)), ValueError, "NaN"),
        (lambda x: hsic(x, x, rank=0), ValueError, "rank of hsic must be a whole number >= 1"),
        (lambda x: hsic(x, x, kernels="rbf"), TypeError, "kernels of hsic must be a Kernel, a pair of Kernels or None"),
        (lambda x: hsic(x, x, kernels=(Linear(),)), TypeError, "kernels of hsic must be a Kernel, a pair"),
        (lambda x: independence_test(x, x, method="exact"), ValueError, "method of independence_test must be one of"),
        (lambda x: independence_test(x, x, n_permutations=0), ValueError, "n_permutations of independence_test must"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(np.arange(10.0))
