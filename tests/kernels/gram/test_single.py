import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import Gaussian, Linear, Multiquadric
from mercer.kernels.gram import Gram, single_precision_error, single_precision_product


@pytest.mark.parametrize("n_dims", [1, 5, 64])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("n_columns", [7, 1500])
def test_error_is_within_its_bound(n_dims, spread, n_columns):
    rng = np.random.default_rng(0)
    Y = 1e3 + spread * rng.normal(size=(n_columns, n_dims)) / np.sqrt(n_dims)
    near = Y[rng.integers(n_columns, size=600)] + rng.normal(size=(600, n_dims)) / np.sqrt(n_dims)
    X = np.vstack([near, np.full((1, n_dims), 1e30), -near[:1]])
    V = np.column_stack([np.ones(n_columns), rng.normal(size=n_columns), rng.uniform(size=n_columns)])
    product = single_precision_product(Gaussian(), X, Y, V)
    assert product.dtype == np.float64
    error = np.abs(product - rbf_kernel(X, Y, gamma=0.5) @ V).max(axis=0)
    bound = single_precision_error(Gaussian(), Y) * np.abs(V).sum(axis=0)
    assert np.all(error <= bound)
    assert np.all(bound < 1e-3 * np.abs(V).sum(axis=0))
    assert product[600].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(single_precision_product(Gaussian(), X, Y, V[:, 1]).shape, 602)


def test_widths_by_column():
    rng = np.random.default_rng(0)
    X, Y, v = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)), rng.normal(size=500)
    kernel = Gaussian([0.5, 20.0])
    error = np.abs(single_precision_product(kernel, X, Y, v) - kernel(X, Y) @ v).max()
    assert 0 < error <= single_precision_error(kernel, Y) * np.abs(v).sum()


@pytest.mark.parametrize(
    ("kernel", "make"),
    [
        (Linear(), np.asarray),
        (Multiquadric(1.0), np.asarray),
        (Gaussian(), sparse.csr_array),
        (Gaussian(), lambda X: np.tile(X, 22)),
    ],
    ids=["linear", "multiquadric", "sparse", "many_columns"],
)
def test_double_precision_where_that_is_as_fast(kernel, make):
    X, v = make(np.random.default_rng(0).normal(size=(50, 3))), np.ones(50)
    assert single_precision_error(kernel, X) == 0.0
    np.testing.assert_array_equal(single_precision_product(kernel, X, X, v), Gram(kernel, X, X) @ v)
