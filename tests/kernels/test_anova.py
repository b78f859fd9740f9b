"""Sums over sets of columns of products of kernels."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Anova, Exponential, Matern, check_kernel
from mercer.kernels.gram import Gram


def factors(X, Y, width, nu=1.5):
    """m_c for each column, by other kernels."""
    kernels = [Matern(nu, w) if nu > 1 else Exponential(1 / w) for w in np.broadcast_to(width, X.shape[1])]
    return [kernel(x[:, None], y[:, None]) for x, y, kernel in zip(X.T, Y.T, kernels, strict=True)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 4))


@pytest.mark.parametrize("nu", [0.5, 1.5])
def test_it_is_the_sum_over_all_sets_of_columns(nu, X):
    share, width = np.array([0.3, 5.0, 1e-3, 1.0]), np.array([0.5, 1.0, 4.0, 0.2])
    m = factors(X, X[:7], width, nu)
    sets = [S for size in range(1, 5) for S in combinations(range(4), size)]
    weights = [np.prod(share[list(S)]) for S in sets]
    expected = sum(w * np.prod([m[c] for c in S], axis=0) for w, S in zip(weights, sets, strict=True)) / sum(weights)
    np.testing.assert_allclose(Anova(share, width, nu)(X, X[:7]), expected, rtol=1e-13)
    np.testing.assert_allclose(Anova(list(share), list(width), nu)(X[:7], X), expected.T, rtol=1e-13)


@pytest.mark.parametrize("share", [1e-300, 1e-14])
def test_small_shares_give_the_mean_of_functions_of_one_column(share, X):
    np.testing.assert_allclose(Anova(share, 0.7)(X), np.mean(factors(X, X, 0.7), axis=0), rtol=1e-12)


@pytest.mark.parametrize("share", [1e14, 1e300])
def test_large_shares_give_the_product(share, X):
    np.testing.assert_allclose(Anova(share, 2.0)(X), np.prod(factors(X, X, 2.0), axis=0), rtol=1e-9)


def test_one_column_is_that_of_matern(X):
    np.testing.assert_allclose(Anova(0.1, 0.8)(X[:, :1]), Matern(1.5, 0.8)(X[:, :1]), rtol=1e-13)


def test_thousands_of_columns_do_not_overflow():
    X = np.random.default_rng(0).normal(size=(6, 3000))
    K = Anova(share=1.0, width=300.0)(X)
    np.testing.assert_allclose(K, np.prod([(1 + m) / 2 for m in factors(X, X, 300.0)], axis=0), rtol=1e-10)
    assert Anova(share=1e308)(X, X[:1])[0, 0] == pytest.approx(1.0)
    assert np.isfinite(Anova(share=1.0, width=300.0).gradient(X)).all()


@pytest.mark.parametrize("shape", [(900, 700), (900, 20), (20, 900), (900, 3)])
@pytest.mark.parametrize(("n_dims", "nu"), [(1, 1.5), (6, 0.5), (40, 1.5)])
def test_compiled_values_are_those_of_numpy(shape, n_dims, nu):
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(n, n_dims)) for n in shape)
    kernel = Anova(rng.uniform(0.1, 3.0, size=n_dims), rng.uniform(0.3, 3.0, size=n_dims), nu)
    rows, columns = range(0, len(X), 300), range(0, len(Y), 300)  # too few for compiled loops
    expected = np.block([[kernel(X[i : i + 300], Y[j : j + 300]) for j in columns] for i in rows])
    np.testing.assert_allclose(kernel(X, Y), expected, atol=1e-14)
    np.testing.assert_allclose(Gram(kernel, X, Y) @ Y, expected @ Y, atol=1e-11)


@pytest.mark.parametrize("share", [1e-8, [0.5, 2.0, 1e-3, 40.0], 1e8])
def test_it_keeps_its_promises_for_all_shares(share, X):
    check_kernel(Anova(share, [0.5, 1.0, 2.0, 4.0]), X)
    check_kernel(Anova(share, [0.5, 1.0, 2.0, 4.0], nu=0.5), X)
    check_kernel(Anova(share), np.vstack([X, X[:5]]).astype(np.float32))


def test_equal_rows_are_one_far_rows_zero_and_nothing_is_written():
    X = np.array([[1e8, -1e8], [1e8, -1e8], [0.0, 0.0]])
    X.flags.writeable = False
    np.testing.assert_allclose(Anova()(X), [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], atol=0)
    assert Anova()(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Anova(share=0), "share of Anova must be positive, got 0; give share > 0"),
        (Anova(share=[1.0, -1.0, 1.0, 1.0]), "share of Anova must be positive and finite"),
        (Anova(share=[1.0, 2.0]), r"share of Anova must be of length 4, got \[1.0, 2.0\]; give a single share"),
        (Anova(width=[1.0, 2.0]), "width of Anova must be of length 4"),
        (Anova(width=np.inf), "width of Anova must be a positive finite number"),
        (Anova(nu=2.5), r"nu of Anova must be one of \(0.5, 1.5\), got 2.5; take 1.5 for smooth functions"),
        (Anova(width=1e-308), "must be finite, got an overflow; rescale X"),
    ],
)
def test_wrong_parameters_are_refused(kernel, message, X):
    for evaluate in (kernel, kernel.diag, kernel.gradient):
        with pytest.raises(ValueError, match=message):
            evaluate(X)


def test_sparse_rows_and_missing_values_are_refused(X):
    with pytest.raises(TypeError, match="[Ss]parse"):
        Anova()(sparse.csr_array(X))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        Anova()(X)
