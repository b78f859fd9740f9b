"""What holds for every kernel."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from mercer import SupportVectorRegressor
from mercer.kernels import check_kernel
from mercer.kernels.gram import Gram
from tests.contracts.all_kernels import INDEFINITE_KERNELS, STATIONARY_KERNELS, VECTOR_KERNELS, name_of, rows_for

every_kernel = pytest.mark.parametrize("kernel", VECTOR_KERNELS + INDEFINITE_KERNELS, ids=name_of)
every_positive_kernel = pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=name_of)
every_indefinite_kernel = pytest.mark.parametrize("kernel", INDEFINITE_KERNELS, ids=name_of)
every_stationary_kernel = pytest.mark.parametrize("kernel", STATIONARY_KERNELS, ids=name_of)


@every_positive_kernel
def test_keeps_its_promises(kernel):
    report = check_kernel(kernel, rows_for(kernel, 60))
    assert {"symmetry", "diagonal", "positivity", "clone"} <= set(report.errors)
    assert ("gradient" in report.errors) == kernel.differentiable


@every_indefinite_kernel
def test_says_that_it_promises_no_positivity(kernel):
    with pytest.raises(ValueError, match="must be positive definite or conditionally so, got order None"):
        check_kernel(kernel, rows_for(kernel, 60))


@every_indefinite_kernel
def test_the_gradient_of_an_indefinite_kernel_is_that_of_differences(kernel):
    X, h = rows_for(kernel, 8), 1e-6
    for column in range(2):
        step = h * np.eye(2)[column]
        difference = (kernel(X + step, X) - kernel(X - step, X)) / (2 * h)
        np.testing.assert_allclose(kernel.gradient(X)[..., column], difference, atol=1e-8)


@every_kernel
def test_is_exactly_symmetric_with_its_exact_diagonal(kernel):
    X = rows_for(kernel, 40)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), kernel.diag(X))


@every_kernel
def test_tiles_agree_with_single_values(kernel):
    """More rows than one tile holds, against the kernel on one pair at a time."""
    X, Y = rows_for(kernel, 400), rows_for(kernel, 390, seed=1)
    K = kernel(X, Y)
    scale = np.abs(K).max()
    for i, j in [(0, 0), (383, 383), (384, 385), (399, 389), (10, 386)]:
        np.testing.assert_allclose(K[i, j], kernel(X[[i]], Y[[j]])[0, 0], rtol=1e-9, atol=1e-12 * scale)


@every_kernel
def test_float32_is_kept_and_close_to_float64(kernel):
    X = rows_for(kernel, 30).astype(np.float32)
    K, K64 = kernel(X), kernel(X.astype(np.float64))
    if kernel.__class__.__name__ != "FromFunction":
        assert K.dtype == np.float32
        assert kernel.diag(X).dtype == np.float32
    assert K64.dtype == np.float64
    np.testing.assert_allclose(K, K64, rtol=2e-5, atol=2e-5 * np.abs(K64).max())


@every_kernel
def test_mixed_precision_is_computed_in_float64(kernel):
    assert kernel(rows_for(kernel, 5).astype(np.float32), rows_for(kernel, 4)).dtype == np.float64


@every_kernel
def test_does_not_change_its_input_and_takes_read_only_memory(kernel, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, rows_for(kernel, 20))
    X = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(kernel(X), kernel(rows_for(kernel, 20)))
    np.testing.assert_array_equal(X, rows_for(kernel, 20))


@every_kernel
def test_one_row_duplicates_and_constant_columns(kernel):
    one = kernel(rows_for(kernel, 1))
    assert one.shape == (1, 1)
    assert np.isfinite(one).all()
    X = rows_for(kernel, 5)
    duplicates = kernel(np.repeat(X, 3, axis=0))
    np.testing.assert_allclose(duplicates, np.kron(kernel(X), np.ones((3, 3))), rtol=1e-12, atol=1e-12)
    constant = rows_for(kernel, 10)
    constant[:, 1] = 3.0
    assert np.isfinite(kernel(constant)).all()


@every_kernel
def test_data_frames_give_the_same(kernel):
    X = rows_for(kernel, 12)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        np.testing.assert_array_equal(kernel(frame), kernel(X))


@every_kernel
def test_sparse_rows_give_the_same_or_are_refused(kernel):
    X = rows_for(kernel, 20) * (np.random.default_rng(2).normal(size=(20, 2)) > 0)
    expected = kernel(X)
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("the user's function decides")
    try:
        K = kernel(sparse.csr_array(X))
    except (TypeError, ValueError) as error:
        assert "parse" in str(error)  # noqa: PT017
    else:
        np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
        cross = kernel(sparse.csr_array(X[:7]), sparse.csr_array(X))
        np.testing.assert_allclose(cross, expected[:7], rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@every_kernel
def test_clone_pickle_and_parameters(kernel):
    X = rows_for(kernel, 10)
    K = kernel(X)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(copy(X), K)
        assert repr(copy) == repr(kernel)
    parameters = kernel.get_params(deep=False)
    np.testing.assert_array_equal(type(kernel)(**parameters)(X), K)
    np.testing.assert_array_equal(clone(kernel).set_params(**parameters)(X), K)


@every_kernel
@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=["nan", "inf"])
def test_values_that_are_not_finite_are_refused(kernel, bad):
    X = rows_for(kernel, 5)
    X[3, 1] = X[3, 0] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity|must be finite"):
        kernel(X)


@every_kernel
def test_wrong_shapes_are_refused(kernel):
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("takes objects of any shape")
    with pytest.raises(ValueError, match=r"2D array|two dimensions"):
        kernel(np.arange(4.0))
    with pytest.raises(ValueError, match=r"0 sample|two dimensions"):
        kernel(np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"must have the 2 columns of X|among the 1 columns|of length 1"):
        kernel(rows_for(kernel, 3), rows_for(kernel, 3)[:, :1])


@every_kernel
def test_text_is_refused(kernel):
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("takes objects of any kind")
    with pytest.raises(ValueError, match=r"could not convert string to float|convert"):
        kernel(np.array([["a", "b"], ["c", "d"]], dtype=object))


@every_kernel
def test_operator_equals_matrix(kernel):
    X, Y = rows_for(kernel, 400), rows_for(kernel, 30, seed=1)
    V = np.random.default_rng(3).normal(size=(400, 3))
    K, cross = kernel(X), kernel(X, Y)
    gram, cross_gram = Gram(kernel, X), Gram(kernel, X, Y)
    scale = np.abs(K).max() * 400
    np.testing.assert_allclose(gram @ V, K @ V, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(gram @ V[:, 0], K @ V[:, 0], rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(cross_gram @ V[:30], cross @ V[:30], rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(cross_gram.T @ V, cross.T @ V, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(gram.diagonal(), np.diagonal(K))
    np.testing.assert_allclose(gram.block([5, 399], [7, 2, 398]), K[np.ix_([5, 399], [7, 2, 398])], rtol=1e-9)


@every_stationary_kernel
def test_is_a_function_of_the_squared_distance(kernel):
    X = rows_for(kernel, 20)
    r2 = ((X[:, None] - X) ** 2).sum(axis=-1)
    before = r2.copy()
    np.testing.assert_allclose(kernel.of_squared_distance(r2, 2), kernel(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(r2, before)


@every_kernel
def test_polynomial_part_matches_the_order(kernel):
    n_columns = kernel.polynomial_part(rows_for(kernel, 6)).shape
    assert n_columns[0] == 6
    assert n_columns[1] == 0 if not kernel.order else n_columns[1] >= kernel.order


def runs(call):
    try:
        call()
    except (TypeError, ValueError) as error:
        assert "parse" in str(error)  # noqa: PT017
        return False
    return True


@every_kernel
def test_says_whether_it_takes_sparse_rows(kernel):
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("the user's function decides")
    X = sparse.csr_array(rows_for(kernel, 20) * (rows_for(kernel, 20, seed=2) > 0.1))
    for call in (lambda: kernel(X), lambda: kernel.diag(X), lambda: kernel.polynomial_part(X)):
        assert runs(call) == kernel.takes_sparse
    if kernel.takes_sparse:
        np.testing.assert_array_equal(kernel.polynomial_part(X), kernel.polynomial_part(X.toarray()))


@every_kernel
def test_machines_say_whether_they_take_sparse_rows(kernel):
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("the user's function decides")
    X, y = rows_for(kernel, 20) * (rows_for(kernel, 20, seed=2) > 0.1), np.random.default_rng(1).normal(size=20)
    machine = SupportVectorRegressor(kernel, regularizer="rkhs" if kernel.order is not None else "l2")
    tags = get_tags(machine).input_tags
    assert tags.sparse == kernel.takes_sparse
    assert tags.positive_only != kernel.takes_negative
    assert runs(lambda: clone(machine).fit(sparse.csr_array(X), y)) == tags.sparse
    if tags.sparse:
        dense, thin = (clone(machine).set_params(tol=1e-6).fit(rows, y) for rows in (X, sparse.csr_array(X)))
        np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-4)


@every_kernel
def test_says_whether_it_takes_negative_numbers(kernel):
    X = np.random.default_rng(0).normal(size=(5, 2))
    if kernel.takes_negative:
        assert np.isfinite(kernel(X)).all()
    else:
        with pytest.raises(ValueError, match="must be non-negative, got -"):
            kernel(X)


@every_kernel
def test_two_rows_give_a_number(kernel):
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("arrays of one dimension are sequences of objects")
    x, y = rows_for(kernel, 2)
    value = kernel(x, y)
    assert isinstance(value, float)
    assert value == kernel([x], [y])[0, 0] == kernel(list(x), tuple(y))
    assert isinstance(kernel(x.astype(np.float32), y.astype(np.float32)), np.float32)
    with pytest.raises(ValueError, match=r"2D array|two dimensions"):
        kernel(x, [y])


@every_kernel
@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int64])
def test_other_numbers_are_computed_in_double_precision(kernel, dtype):
    if kernel.__class__.__name__ == "FromFunction":
        pytest.skip("the user's function decides")
    X = (4 * rows_for(kernel, 6)).astype(dtype)
    K = kernel(X)
    assert K.dtype == kernel.diag(X).dtype == np.float64
    np.testing.assert_array_equal(K, kernel(X.astype(np.float64)))
