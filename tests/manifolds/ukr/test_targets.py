import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import L1, Gaussian, Linear, Multiquadric
from mercer.manifolds.ukr.targets import GramTargets, VectorTargets, data_targets, feature_targets, padded

N = 30


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def some_weights(rng, n=N, m=N):
    B = rng.random((n, m))
    return B / B.sum(axis=0)


def explicit_errors(Y, B, rows):
    """Column by column and entry by entry, with weights over what is observed."""
    means = np.array([column[~np.isnan(column)].mean() for column in Y.T])
    errors = []
    for weights, s in zip(B.T, rows, strict=True):
        total = 0.0
        for c in np.flatnonzero(~np.isnan(Y[s])):
            seen = ~np.isnan(Y[:, c])
            weight = weights[seen].sum()
            f = weights[seen] @ Y[seen, c] / weight if weight > 0 else means[c]
            total += (Y[s, c] - f) ** 2
        errors.append(total)
    return np.array(errors)


def with_gaps(Y, rng, share=0.3):
    Y = Y.copy()
    Y[rng.random(Y.shape) < share] = np.nan
    return Y


def test_errors_of_data(rng):
    Y, B = rng.normal(size=(N, 3)) + 100.0, some_weights(rng)
    targets = data_targets(Y)
    assert targets.n_rows == N
    np.testing.assert_allclose(targets.errors(B), explicit_errors(Y, B, range(N)), rtol=1e-10)
    np.testing.assert_allclose(targets.errors(sparse.csc_array(B)), targets.errors(B), rtol=1e-12)
    rows = [4, 4, 0]
    np.testing.assert_allclose(targets.errors(B[:, :3], rows), explicit_errors(Y, B[:, :3], rows), rtol=1e-10)


def test_errors_with_missing_entries_count_what_is_observed(rng):
    Y, B = with_gaps(rng.normal(size=(N, 4)), rng), some_weights(rng)
    Y[3] = np.nan
    B[:, 5] = np.eye(N)[3]  # all the weight on a row without entries: the means of the columns
    targets = data_targets(Y)
    np.testing.assert_allclose(targets.errors(B), explicit_errors(Y, B, range(N)), rtol=1e-10, atol=1e-14)
    assert targets.errors(B)[3] == 0.0
    empty = np.column_stack([Y, np.full(N, np.nan)])
    np.testing.assert_array_equal(data_targets(empty).errors(B), targets.errors(B))


def test_null_directions_are_dropped_exactly(rng):
    Y = rng.normal(size=(N, 3)) @ rng.normal(size=(3, 8)) + 5.0
    targets, B = data_targets(Y), some_weights(rng)
    assert targets.n_dims == 3
    np.testing.assert_allclose(targets.errors(B), ((Y - B.T @ Y) ** 2).sum(axis=1), rtol=1e-10)
    # Small directions are no null directions.
    scaled = data_targets(rng.normal(size=(N, 3)) * [1.0, 1e-4, 1e-9])
    assert scaled.n_dims == 3


@pytest.mark.parametrize("d", [20, 200])
def test_wide_data_become_inner_products(rng, d):
    Y, B = rng.normal(size=(N, d)), some_weights(rng)
    targets = data_targets(Y)
    assert isinstance(targets, GramTargets)
    np.testing.assert_allclose(targets.errors(B), ((Y - B.T @ Y) ** 2).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(targets.errors(sparse.csc_array(B)), targets.errors(B), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "form"), [(L1(), GramTargets), (Gaussian(1.0), GramTargets), (Linear(), VectorTargets)]
)
def test_errors_in_feature_space(rng, kernel, form):
    Y, B = rng.normal(size=(N, 3)), some_weights(rng)
    K = kernel(Y)
    targets, D = feature_targets(K), B - np.eye(N)
    assert isinstance(targets, form)
    np.testing.assert_allclose(targets.errors(B), np.diag(D.T @ K @ D), rtol=1e-9)


def test_only_differences_matter(rng):
    """The negative distances are conditionally positive, and the L1 kernel is one with the same differences."""
    Y, B = rng.normal(size=(N, 3)), some_weights(rng)
    distances = np.abs(Y[:, None] - Y).sum(axis=2)
    np.testing.assert_allclose(feature_targets(-distances / 2).errors(B), feature_targets(L1()(Y)).errors(B), rtol=1e-9)
    K, D = Multiquadric(1.0)(Y), B - np.eye(N)
    np.testing.assert_allclose(feature_targets(K).errors(B), np.diag(D.T @ K @ D), rtol=1e-9)


def test_linear_kernel_is_data_space(rng):
    Y, B = rng.normal(size=(N, 4)), some_weights(rng)
    np.testing.assert_allclose(feature_targets(Linear()(Y)).errors(B), data_targets(Y).errors(B), rtol=1e-9)


@pytest.mark.parametrize("K", [[[0.0, 1.0], [1.0, 0.0]], -np.eye(5), np.diag([1.0, 1.0, 1.0, -0.9, 1.0])])
def test_indefinite_gram_matrix_is_refused(K):
    with pytest.raises(ValueError, match="K of feature_targets must be conditionally positive definite"):
        feature_targets(K)


def test_duplicates_in_feature_space(rng):
    Y = np.repeat(rng.normal(size=(5, 3)), 6, axis=0)
    targets, B = feature_targets(Gaussian(1.0)(Y)), some_weights(rng)
    assert targets.n_dims == 4  # five points span four dimensions
    D = B - np.eye(N)
    np.testing.assert_allclose(targets.errors(B), np.diag(D.T @ Gaussian(1.0)(Y) @ D), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("make", [lambda Y, rng: data_targets(Y), lambda Y, rng: data_targets(with_gaps(Y, rng)),
                                  lambda Y, rng: feature_targets(L1()(Y))])  # fmt: skip
def test_slopes_are_derivatives(rng, make):
    targets = make(rng.normal(size=(N, 3)), rng)
    W, rows, h = 3.0 * rng.random((4, N)), np.array([0, 5, 5, 29]), 1e-6
    slopes = np.empty((4, N))
    errors = targets.errors_and_slopes(W, rows, slopes)
    np.testing.assert_allclose(errors, targets.errors(W.T / W.sum(axis=1), rows), rtol=1e-10)
    np.testing.assert_allclose(errors, targets.errors_of(W, rows), rtol=1e-12)
    for r in range(0, N, 7):
        step = h * np.eye(N)[r]
        numeric = (targets.errors_of(W + step, rows) - targets.errors_of(W - step, rows)) / (2 * h)
        np.testing.assert_allclose(2 * slopes[:, r], numeric, atol=1e-7)


def test_inputs_may_be_single_precision_and_read_only(rng):
    Y = rng.normal(size=(N, 3)).astype(np.float32)
    Y.setflags(write=False)
    K = Linear()(Y.astype(np.float64))
    K.setflags(write=False)
    B = some_weights(rng)
    np.testing.assert_allclose(feature_targets(K).errors(B), data_targets(Y).errors(B), rtol=1e-6)


def test_padded():
    assert padded(np.ones((2, 3)), 4).tolist() == [[1, 1, 1, 0]] * 2
    assert padded(np.ones((2, 4)), 4).shape == (2, 4)
