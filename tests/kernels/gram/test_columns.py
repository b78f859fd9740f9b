import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian, Polynomial
from mercer.kernels.gram import Gram, RowCache, columns_of, shifted_columns_of
from mercer.kernels.gram.rows_numba import add_rows, copy_parts

N, WIDE = 700, 100


def rows(n_columns=WIDE, n=N):
    return np.random.default_rng(0).normal(size=(n, n_columns))


def assert_columns_of(columns, K, atol=2e-6):
    rng = np.random.default_rng(1)
    for size in (1, 3, 40, 299):
        chosen, weights = rng.permutation(N)[:size], rng.normal(size=size)
        some, scale = np.sort(rng.permutation(N)[:50]), np.abs(weights).sum() * np.abs(K).max()
        np.testing.assert_allclose(columns.times(chosen, weights), K[:, chosen] @ weights, atol=atol * scale)
        np.testing.assert_allclose(
            columns.times(chosen, weights, some), K[some][:, chosen] @ weights, atol=atol * scale
        )
        np.testing.assert_allclose(columns.corner(chosen), K[np.ix_(chosen, chosen)], atol=atol * np.abs(K).max())


@pytest.mark.parametrize("n_kept", [2, 60, N])
@pytest.mark.parametrize("kernel", [Gaussian(7.0), Exponential(0.1), Polynomial(2)], ids=repr)
def test_columns_of_wide_data_whatever_is_kept(kernel, n_kept):
    X = rows()
    assert_columns_of(columns_of(Gram(kernel, X), memory=4 * N * n_kept), kernel(X))


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Gaussian([0.5, 2.0]), Exponential(1.0)], ids=repr)
def test_columns_of_narrow_data(kernel):
    X = rows(2)
    assert_columns_of(columns_of(Gram(kernel, X), memory=2**22), kernel(X))


@pytest.mark.parametrize("width", [7.0, 1.0])
def test_wide_rows_are_evaluated_in_single_precision_unless_they_are_far_out(width):
    X = rows()
    cache = RowCache(Gram(Gaussian(width), X), dtype=np.float32)
    assert cache._sides.left.dtype == (np.float32 if width == 7.0 else np.float64)
    np.testing.assert_allclose(cache.rows([3, 5]), Gaussian(width)(X[[3, 5]], X), atol=1e-6)
    assert RowCache(Gram(Gaussian(width), X))._sides.left.dtype == np.float64


def test_far_rows_that_are_near_each_other_keep_their_digits():
    X = rows() * 1e-3 + 1e3 * np.sign(rows()[:, :1])
    assert_columns_of(columns_of(Gram(Gaussian(0.01), X), memory=2**22), Gaussian(0.01)(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["C", "F", "view", "read-only"])
def test_columns_of_matrices_in_memory(form, dtype):
    K = Gaussian(2.0)(rows(5)).astype(dtype)
    given = {"F": np.asfortranarray(K), "view": np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)[::2, ::2]}.get(form, K)
    given.flags.writeable = form != "read-only"
    columns = columns_of(given, memory=2**20)
    assert columns.precision == np.finfo(dtype).eps
    assert columns.corner(np.arange(3)).dtype == dtype
    assert_columns_of(columns, K, atol=1e-13 if dtype == np.float64 else 2e-6)


@pytest.mark.parametrize("form", ["operator", "single", "matrix"])
def test_shifted_columns_keep_the_digits_in_which_entries_differ(form):
    X = rows(3).astype(np.float32 if form == "single" else np.float64)
    kernel, chosen = Gaussian(1e3), np.arange(0, N, 9)
    K = kernel(X.astype(np.float64))
    columns = shifted_columns_of(K if form == "matrix" else Gram(kernel, X), 1.0)
    squares = np.sum((X[chosen, None].astype(np.float64) - X[chosen]) ** 2, axis=2)
    np.testing.assert_allclose(columns.corner(chosen), np.expm1(-squares / 2e6), rtol=1e-6, atol=1e-14)
    weights = 1e6 * np.sin(np.arange(len(chosen)))
    for some in (None, np.arange(5, 50)):
        expected = K[:, chosen] @ weights if some is None else K[some][:, chosen] @ weights
        np.testing.assert_allclose(columns.times(chosen, weights, some), expected, rtol=1e-12)


def test_rows_are_kept_for_blocks_if_there_is_room_for_all():
    gram, chosen = Gram(Exponential(0.1), rows()), np.arange(0, N, 7)
    for n_kept, n_computed in ((N, len(chosen)), (N - 1, 2 * len(chosen))):
        cache = RowCache(gram, memory=4 * N * n_kept, dtype=np.float32)
        for _ in range(2):
            out = cache.part(chosen, chosen, np.empty((len(chosen), len(chosen)), np.float32))
        np.testing.assert_allclose(out, gram.block(chosen, chosen), rtol=1e-6)
        assert cache.n_computed == n_computed


def test_a_request_for_more_rows_than_are_kept():
    gram = Gram(Gaussian(7.0), rows())
    cache = RowCache(gram, memory=4 * N * 10, dtype=np.float32)
    cache.rows([1, 2, 3])
    np.testing.assert_allclose(cache.rows(np.arange(20)), gram.block(np.arange(20)), atol=1e-6)
    assert (cache.n_computed, cache.n_found) == (20, 3)


def test_rows_that_were_interrupted_are_not_taken_for_known(monkeypatch):
    kernel, X = Exponential(0.1), rows()
    cache = RowCache(Gram(kernel, X), memory=4 * N * 5, dtype=np.float32)
    cache.rows([0, 1, 2])
    with monkeypatch.context() as patch:
        patch.setattr(Exponential, "_tile", lambda self, left, right: 1 / 0)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            cache.rows([0, 7, 8, 9])
    np.testing.assert_allclose(cache.rows([0, 7, 8, 9]), kernel(X[[0, 7, 8, 9]], X), rtol=1e-6)
    np.testing.assert_allclose(cache.rows([1, 2]), kernel(X[[1, 2]], X), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 21])
def test_sums_and_parts_of_rows(n_rows, dtype):
    rng = np.random.default_rng(0)
    K, chosen, weights = rng.normal(size=(40, 90)).astype(dtype), rng.permutation(40)[:n_rows], rng.normal(size=n_rows)
    sums = np.ones(60)
    add_rows(K, chosen, weights.astype(dtype), 20, sums)
    np.testing.assert_allclose(sums, 1 + weights @ K[chosen, 20:80], atol=1e-5 if dtype == np.float32 else 1e-13)
    out, ranks = np.zeros((40, 4), dtype=dtype), np.array([2, 0, 1, 0])
    copy_parts(K, chosen, np.array([3, 50, 89]), ranks, out, chosen[::-1].copy())
    np.testing.assert_array_equal(out[chosen[::-1]], K[chosen][:, [89, 3, 50, 3]])
