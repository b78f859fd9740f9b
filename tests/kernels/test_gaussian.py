"""Gaussian Gram matrices by compiled loops are those by matrix products."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import Exponential, Gaussian
from mercer.kernels.gaussian import add_gaussian_products, compiled_rows, few_vectors, gaussian_tile
from mercer.kernels.gram import Gram

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n_dims", [1, 8, 32, 33])
@pytest.mark.parametrize("shape", [(900, 700), (900, 20), (20, 900), (900, 3), (500, 385)])
@pytest.mark.parametrize("n_vectors", [1, 8, 9])
def test_products_have_the_accuracy_of_double_precision(n_dims, shape, n_vectors):
    X, Y = (rng.normal(size=(n, n_dims)) for n in shape)
    V = rng.normal(size=(shape[1], n_vectors))
    width = np.sqrt(n_dims)
    K = rbf_kernel(X, Y, gamma=0.5 / width**2)
    product = Gram(Gaussian(width), X, Y) @ V
    np.testing.assert_allclose(product, K @ V, atol=2e-15 * np.abs(V).sum(axis=0).max())
    np.testing.assert_allclose(Gaussian(width)(X, Y), K, atol=2e-15)


@pytest.mark.parametrize("n", [384, 385, 900])
def test_symmetric_and_transposed_products(n):
    X, V = rng.normal(size=(n, 5)), rng.normal(size=(n, 2))
    K = rbf_kernel(X, gamma=0.5)
    np.testing.assert_allclose(Gram(Gaussian(), X) @ V, K @ V, atol=2e-15 * np.abs(V).sum())
    np.testing.assert_allclose(Gram(Gaussian(), X, X[:500]).T @ V, K[:500] @ V, atol=2e-15 * np.abs(V).sum())
    matrix = Gaussian()(X)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diagonal(matrix), 1.0)


def test_an_outlier_and_a_narrow_width_cost_no_accuracy():
    X = np.vstack([rng.normal(size=(500, 3)), [[1e6, 0.0, 0.0]]])
    Y = X + 1e-4 * rng.normal(size=X.shape)
    width, v = 1e-3, rng.normal(size=501)
    differences = (X[:, None] - Y) / width
    K = np.exp(-0.5 * np.einsum("ijk,ijk->ij", differences, differences))
    assert np.median(np.diagonal(K)) > 0.5
    np.testing.assert_allclose(Gram(Gaussian(width), X, Y) @ v, K @ v, atol=1e-12 * np.abs(v).sum())


def test_either_side_may_be_the_longer_one():
    X, Y = rng.normal(size=(700, 4)), rng.normal(size=(30, 4))
    K = rbf_kernel(X, Y, gamma=0.5)
    np.testing.assert_allclose(gaussian_tile(X, Y), K, atol=1e-15)
    np.testing.assert_allclose(gaussian_tile(Y, X), K.T, atol=1e-15)
    V, W = rng.normal(size=(30, 2)), rng.normal(size=(700, 2))
    for given in (False, True):
        sums, transposed_sums = np.zeros((700, 2)), np.zeros((30, 2))
        add_gaussian_products(X, Y, V, sums, *((W, transposed_sums) if given else ()))
        np.testing.assert_allclose(sums, K @ V, atol=1e-13)
        np.testing.assert_allclose(transposed_sums, K.T @ W if given else 0.0, atol=1e-12)


def test_what_compiled_loops_leave_to_matrix_products():
    kernel = Gaussian()

    def compiled(X, Y):
        sides = kernel._prepare(X, Y)
        return compiled_rows(sides.left, sides.right) is not None

    X = rng.normal(size=(400, 3))
    assert compiled(X, X[:16])
    assert compiled(X[:16], X)
    assert not compiled(X, X[:15])
    assert not compiled(X[:383], X[:383])
    assert not compiled(np.ones((400, 33)), np.ones((400, 33)))
    assert not compiled(sparse.csr_array(X), X)
    assert few_vectors(np.ones((3, 8)))
    assert not few_vectors(np.ones((3, 9)))
    assert not few_vectors(np.ones((3, 0)))
    assert not few_vectors(np.ones((3, 1), dtype=np.float32))


@pytest.mark.parametrize("kernel", [Gaussian, Exponential])
def test_the_two_ways_agree(kernel):
    class Formed(kernel):
        _compiled_kind = None

    X, v = rng.normal(size=(400, 6)), rng.normal(size=400)
    np.testing.assert_allclose(kernel(1.5)(X, X + 1.0), Formed(1.5)(X, X + 1.0), atol=1e-14)
    np.testing.assert_allclose(Gram(kernel(1.5), X) @ v, Gram(Formed(1.5), X) @ v, atol=1e-14 * np.abs(v).sum())


@pytest.mark.parametrize("n_dims", [1, 8, 32])
@pytest.mark.parametrize("n_vectors", [1, 3])
def test_products_with_exponentials_of_distances_are_not_formed(n_dims, n_vectors):
    X, V = rng.normal(size=(900, n_dims)), rng.normal(size=(900, n_vectors))
    X[500:600] = X[:100] + 1e-9  # near the kink
    rate = rng.uniform(0.5, 2.0, size=n_dims).tolist()
    K = np.exp(-cdist(X * rate, X * rate))
    np.testing.assert_allclose(Exponential(rate)(X), K, atol=2e-14)
    sides = Exponential(rate)._prepare(X, None)
    assert not Exponential(rate)._forms_tiles(sides.left, sides.right, V)
    np.testing.assert_allclose(Gram(Exponential(rate), X) @ V, K @ V, atol=2e-14 * np.abs(V).sum(axis=0).max())
    np.testing.assert_allclose(Gram(Exponential(rate), X, X[:40]) @ V[:40], K[:, :40] @ V[:40], atol=1e-12)


def test_a_few_hundred_rows_do_not_load_numba():
    code = (
        "import sys, numpy as np; from mercer.kernels import Gaussian; from mercer.kernels.gram import Gram; "
        "X = np.ones((300, 3)); Gaussian()(X); Gram(Gaussian(), X) @ X; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
