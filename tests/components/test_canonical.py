"""Kernel canonical correlation analysis."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelCCA
from mercer.components.moments import Moments, folds_of, sum_of
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, WeightedDegree


def normal(n, rho, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, 1))


def shared(n, seed=0):
    """Two tables that share one angle, in a way that is not linear."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-np.pi, np.pi, size=n)
    X = np.column_stack([np.cos(t), np.sin(t), rng.normal(size=n)]) + 0.1 * rng.normal(size=(n, 3))
    Y = np.column_stack([np.cos(2 * t), rng.normal(size=n)]) + 0.1 * rng.normal(size=(n, 2))
    return X, Y


def monomials(x, degree):
    columns = x ** np.arange(1, degree + 1)
    return columns - columns.mean(axis=0)


def correlations_by_qr(X, Y):
    return np.linalg.svd(np.linalg.qr(X)[0].T @ np.linalg.qr(Y)[0], compute_uv=False)


@pytest.mark.filterwarnings("ignore:KernelCCA found .* components above rounding:UserWarning")
@parametrize_with_checks([KernelCCA(1), KernelCCA(1, penalty=0.1, n_landmarks=10, random_state=0)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("degrees", [(1, 1), (3, 3), (4, 2)])
def test_polynomial_kernels_without_penalty_are_correlations_of_monomials(degrees):
    x, y = normal(300, 0.7)
    k = min(degrees)
    kernels = tuple(Polynomial(degree) for degree in degrees)
    cca = KernelCCA(k, kernels=kernels, penalty=0.0).fit(x, y)
    left, right = monomials(x, degrees[0]), monomials(y, degrees[1])
    expected = correlations_by_qr(left, right)[:k]
    np.testing.assert_allclose(cca.singular_values_, expected, atol=1e-8)
    np.testing.assert_allclose(cca.correlations_, expected, atol=1e-8)
    A, B = cca.transform(x, y)
    np.testing.assert_allclose(np.einsum("ij,ij->j", A, B) / len(x), expected, atol=1e-8)
    np.testing.assert_allclose(A.T @ A / len(x), np.eye(k), atol=1e-8)
    for scores, columns in ((A, left), (B, right)):
        rest = scores - columns @ np.linalg.lstsq(columns, scores, rcond=None)[0]
        assert np.abs(rest).max() < 1e-6


def test_it_is_that_of_scikit_learn_for_linear_kernels():
    from sklearn.cross_decomposition import CCA

    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 2))
    X, Y = (
        Z @ rng.normal(size=(2, 4)) + rng.normal(size=(200, 4)),
        Z @ rng.normal(size=(2, 3)) + rng.normal(size=(200, 3)),
    )
    A, B = KernelCCA(2, kernels=Linear(), penalty=0.0).fit(X, Y).transform(X, Y)
    for ours, theirs in zip((A, B), CCA(2, max_iter=10_000, tol=1e-12).fit_transform(X, Y), strict=True):
        np.testing.assert_allclose(np.abs(np.corrcoef(ours.T, theirs.T)[:2, 2:]), np.eye(2), atol=1e-6)


def test_swapped_sides_have_swapped_functions():
    X, Y = shared(200)
    cca, swapped = KernelCCA(3, penalty=1e-3).fit(X, Y), KernelCCA(3, penalty=1e-3).fit(Y, X)
    np.testing.assert_allclose(cca.singular_values_, swapped.singular_values_, rtol=1e-8)
    for one, other in zip(cca.transform(X, Y), swapped.transform(Y, X)[::-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_powers_of_the_correlation_are_the_spectrum_of_a_normal_pair():
    rho, n = 0.8, 200_000
    cca = KernelCCA(4, kernels=Polynomial(4), penalty=0.0, random_state=0).fit(*normal(n, rho))
    # The errors of the higher ones are larger: functions of degree j have heavy tails.
    standard_error = 0.003 * np.arange(1, 5)
    assert (np.abs(cca.correlations_ - rho ** np.arange(1, 5)) < 3 * standard_error).all()
    assert (np.abs(cca.held_out_correlations_ - rho ** np.arange(1, 5)) < 3 * standard_error).all()


def test_independent_rows_are_correlated_only_where_functions_were_fitted():
    values = []
    for seed in range(20):
        x, y = normal(200, 0.0, seed)
        cca = KernelCCA(1, kernels=Gaussian(1.0)).fit(x, y)
        values.append(cca.held_out_correlations_[0])
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values)) + 0.02
    loose = KernelCCA(1, kernels=Gaussian(1.0), penalty=1e-5).fit(x, y)
    assert loose.correlations_[0] > 0.3
    assert loose.correlations_[0] > loose.held_out_correlations_[0] + 0.2


def test_shared_functions_are_found_and_hold_on_new_rows():
    X, Y = shared(600)
    cca = KernelCCA(1, random_state=0).fit(X, Y)
    X_new, Y_new = shared(600, seed=1)
    new = cca.score(X_new, Y_new)
    assert new > 0.75
    assert abs(new - cca.held_out_correlations_[0]) < 0.1
    assert cca.correlations_[0] >= cca.held_out_correlations_[0]
    assert cca.transform(X_new).shape == (600, 1)
    np.testing.assert_array_equal(cca.transform(X_new), cca.transform(X_new, Y_new)[0])


def test_units_and_single_precision():
    X, Y = shared(150)
    cca = KernelCCA(2).fit(X, Y)
    scaled = KernelCCA(2).fit(1e-6 * X, 1e6 * Y)
    np.testing.assert_allclose(scaled.held_out_correlations_, cca.held_out_correlations_, atol=1e-5)
    single = KernelCCA(2).fit(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(single.correlations_, cca.correlations_, atol=1e-3)


def test_objects_and_one_column():
    rng = np.random.default_rng(0)
    words = ["".join(word) for word in rng.choice(list("ab"), size=(200, 6))]
    counts = np.array([word.count("a") for word in words]) + 0.1 * rng.normal(size=200)
    cca = KernelCCA(1, kernels=(WeightedDegree(1), None)).fit(words, counts)
    assert cca.held_out_correlations_[0] > 0.9
    assert [scores.shape for scores in cca.transform(words[:7], counts[:7])] == [(7, 1), (7, 1)]


def test_equal_rows_with_different_partners_share_nothing():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    Y = np.random.default_rng(0).normal(size=(100, 1))
    cca = KernelCCA(1).fit(X, Y)
    assert abs(cca.held_out_correlations_[0]) < 0.35


def test_few_rows_have_no_held_out_correlations():
    cca = KernelCCA(1).fit([[0.0], [1.0], [2.0]], [[0.0], [2.0], [1.0]])
    assert np.isnan(cca.held_out_correlations_).all()
    assert cca.penalty_ == 1.0


def test_fewer_directions_than_components_give_a_warning():
    X, Y = shared(50)
    with pytest.warns(UserWarning, match="KernelCCA found 1 components above rounding, not the 2 asked for"):
        cca = KernelCCA(2, kernels=Linear()).fit(X, Y[:, 0])
    assert cca.transform(X).shape == (50, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components of KernelCCA must be a whole number >= 1"),
        ({"penalty": -1.0}, 'penalty of KernelCCA must be "auto" or a number >= 0'),
        ({"penalty": "least"}, 'penalty of KernelCCA must be "auto" or a number >= 0'),
        ({"n_landmarks": 0}, "n_landmarks of KernelCCA must be a whole number >= 1"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelCCA(**parameters).fit(*shared(20))


def test_bad_rows_are_refused():
    X, Y = shared(20)
    with pytest.raises(ValueError, match="KernelCCA requires y to be passed"):
        KernelCCA().fit(X, None)
    with pytest.raises(ValueError, match="Y of KernelCCA must have as many rows as X, 20, got 19"):
        KernelCCA().fit(X, Y[1:])
    for side in ("X", "Y"):
        rows = (np.ones((20, 2)), Y) if side == "X" else (X, np.ones((20, 2)))
        with pytest.raises(ValueError, match=f"{side} of KernelCCA must vary"):
            KernelCCA(kernels=Linear()).fit(*rows)
    with pytest.raises(TypeError, match="kernel of feature_map must be a function of rows"):
        KernelCCA(kernels=Precomputed()).fit(np.eye(20), np.eye(20))


def test_moments_of_parts_add_up():
    F = np.random.default_rng(0).normal(size=(100, 3)) + 5
    parts = [Moments.of(lambda positions: F[positions], fold) for fold in folds_of(100, 3)]
    assert sum(part.n for part in parts) == 100
    whole = sum_of(parts)
    np.testing.assert_allclose(whole.mean, F.mean(axis=0))
    np.testing.assert_allclose(whole.covariance, np.cov(F, rowvar=False, bias=True), atol=1e-12)
    np.testing.assert_allclose((whole - parts[0]).products, (parts[1] + parts[2]).products)
