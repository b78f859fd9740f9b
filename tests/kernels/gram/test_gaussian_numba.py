"""The compiled loops against their plain twins."""

import numpy as np
import pytest

from mercer.kernels.gram.gaussian_numba import BLOCK, add_products, fill
from mercer.kernels.kinds_numba import CITY_BLOCK, EUCLIDEAN, GAUSSIAN

pytestmark = pytest.mark.uncompiled  # also run without compilation

PRECISIONS = [(np.float64, 1e-15), (np.float32, 3e-7)]


def twin(X, Y, kind=GAUSSIAN):
    differences = X[:, None].astype(np.float64) - Y
    squares = (differences**2).sum(axis=2)
    return np.exp(-(0.5 * squares, np.abs(differences).sum(axis=2), np.sqrt(squares))[kind])


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["double", "single"])
@pytest.mark.parametrize("n_dims", [1, 3, 4, 5, 13])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, BLOCK), (5, BLOCK - 1), (7, 2 * BLOCK + 1)])
@pytest.mark.parametrize("kind", [GAUSSIAN, CITY_BLOCK, EUCLIDEAN])
def test_matrix_and_products(dtype, tolerance, n_dims, n, m, kind):
    rng = np.random.default_rng(n_dims)
    X, Y = (rng.normal(size=(size, n_dims)).astype(dtype) for size in (n, m))
    K, out = twin(X, Y, kind), np.empty((n, m), dtype=dtype)
    fill(X, Y, out, kind)
    np.testing.assert_allclose(out, K, atol=tolerance)
    for n_vectors in (1, 3):
        V, W = (rng.normal(size=(size, n_vectors)).astype(dtype) for size in (m, n))
        sums, transposed_sums = np.ones((n, n_vectors)), np.ones((m, n_vectors))
        add_products(X, Y, V, sums, W, transposed_sums, kind)
        np.testing.assert_allclose(sums, 1 + K @ V, atol=tolerance * (1 + np.abs(V).sum()))
        np.testing.assert_allclose(transposed_sums, 1 + K.T @ W, atol=tolerance * (1 + np.abs(W).sum()))
        alone, nothing = np.ones((n, n_vectors)), np.empty((0, n_vectors))
        add_products(X, Y, V, alone, nothing.astype(dtype), nothing, kind)
        np.testing.assert_allclose(alone, sums, atol=tolerance * (1 + np.abs(V).sum()))


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["double", "single"])
def test_nothing_cancels_far_from_the_origin(dtype, tolerance):
    near = np.random.default_rng(0).integers(-8, 9, size=(50, 3)) / 4
    far = (near + 2.0**12).astype(dtype)  # exact also in single precision
    out = np.empty((50, 50), dtype=dtype)
    fill(far, far, out, GAUSSIAN)
    np.testing.assert_array_equal(out, out.T)
    np.testing.assert_array_equal(np.diagonal(out), 1.0)
    # Scaled rows are rounded, so that errors grow with their size, but not with its square.
    np.testing.assert_allclose(out, twin(near, near), atol=tolerance * 2**12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_rows_know_nothing_of_each_other(dtype):
    X, out = np.array([[0.0], [40.0], [1e3], [1e15]], dtype=dtype), np.empty((4, 4), dtype=dtype)
    fill(X, X, out, GAUSSIAN)
    np.testing.assert_array_equal(out[2:], np.eye(4, dtype=dtype)[2:])
    np.testing.assert_array_equal(np.diagonal(out), 1.0)


def test_rows_in_any_layout():
    A, B = np.random.default_rng(0).normal(size=(2, 30, 9))
    X, Y, out = A[::2, 1:6], np.asfortranarray(B)[:, 1:6], np.empty((15, 30))
    fill(X, Y, out, GAUSSIAN)
    np.testing.assert_allclose(out, twin(X, Y), atol=1e-15)
