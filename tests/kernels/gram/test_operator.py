import tracemalloc

import numpy as np
import pytest
from scipy.sparse.linalg import cg, eigsh

from mercer.kernels import Gaussian, Linear, Multiquadric
from mercer.kernels.gram import Gram, RowCache, gram_family, operator
from mercer.kernels.tiles import TILE


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(900, 3))


def test_iterative_solvers_of_scipy_work_on_it(X):
    gram = Gram(Gaussian(), X)
    K = Gaussian()(X)
    np.testing.assert_allclose(eigsh(gram, k=3, return_eigenvectors=False), np.linalg.eigvalsh(K)[-3:], rtol=1e-9)
    y = X[:, 0]
    regularised = gram + 0.1 * Gram(Linear(), X)
    solution, status = cg(regularised, K @ y, rtol=1e-3, maxiter=500)
    assert status == 0
    assert solution.shape == y.shape


def test_products_do_not_form_the_matrix():
    X = np.random.default_rng(0).normal(size=(6000, 3))
    gram = Gram(Gaussian(), X)
    gram @ np.ones(6000)
    tracemalloc.start()
    gram @ np.ones(6000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 6000**2


def test_a_small_budget_gives_the_same_product(X):
    V = np.random.default_rng(1).normal(size=(900, 50))
    np.testing.assert_allclose(Gram(Gaussian(), X, memory=10_000) @ V, Gaussian()(X) @ V, rtol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Multiquadric(), Linear()], ids=repr)
def test_products_leave_out_what_lies_between_rows_of_zeros(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(2500, 3)), np.zeros((2500, 2))
    V[rng.permutation(2500)[:500]] = rng.normal(size=(500, 2))
    n_values, add_products = [], type(kernel)._add_products

    def spy(self, left, right, *arguments):
        n_values.append(len(left) * len(right))
        add_products(self, left, right, *arguments)

    monkeypatch.setattr(type(kernel), "_add_products", spy)
    product = Gram(kernel, X) @ V
    np.testing.assert_allclose(product, kernel(X) @ V, rtol=1e-10, atol=1e-10)
    assert sum(n_values) < 0.36 * 2500**2  # all above the diagonal: half of them
    assert not (Gram(kernel, X) @ (0.0 * V)).any()


@pytest.mark.parametrize("n_vectors", [1, 2, 20])  # compiled loops that form no tile, and products of matrices
@pytest.mark.parametrize("n_used", [150, 2500])
def test_products_with_many_rows_take_longer_tiles(n_vectors, n_used, monkeypatch):
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(2500, 3)), np.zeros((2500, n_vectors))
    V[rng.permutation(2500)[:n_used]] = rng.normal(size=(n_used, n_vectors))
    sizes, add_products = set(), Gaussian._add_products

    def spy(self, left, right, *arguments):
        sizes.add((len(left), len(right)))
        add_products(self, left, right, *arguments)

    monkeypatch.setattr(Gaussian, "_add_products", spy)
    monkeypatch.setattr("mercer.kernels.gram.operator._MANY_TILES", 1)
    for Y in (None, X[:1300]):
        sizes.clear()
        product = Gram(Gaussian(), X, Y) @ (V if Y is None else V[:1300])
        assert (max(max(sizes)) > TILE) == (n_vectors < 20)
        np.testing.assert_allclose(product, Gaussian()(X, Y) @ V[: 2500 if Y is None else 1300], atol=1e-11)


def test_row_blocks_cover_the_matrix(X):
    K = Gaussian()(X)
    blocks = list(Gram(Gaussian(), X, memory=8 * 900 * 200).row_blocks())
    assert len(blocks) == 9
    np.testing.assert_allclose(np.vstack([values for _, values in blocks]), K, rtol=1e-12)
    with pytest.raises(ValueError, match="memory of Gram must hold two rows, got 100; give 14400 bytes or more"):
        list(Gram(Gaussian(), X, memory=100).row_blocks())


@pytest.mark.parametrize("chosen", [slice(3, 60), [5, -1, 5], np.arange(100) % 7 == 0], ids=["slice", "list", "mask"])
def test_some_columns(X, chosen):
    part, K = Gram(Gaussian(), X[:100]).columns(chosen), Gaussian()(X[:100])[:, chosen]
    assert part.shape == K.shape
    np.testing.assert_allclose(part.toarray(), K, rtol=1e-13)
    np.testing.assert_allclose(part @ np.ones(part.shape[1]), K.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(part.T @ np.ones(100), K.sum(axis=0), rtol=1e-13)


def test_whole_matrix_and_diagonal(X):
    np.testing.assert_array_equal(Gram(Gaussian(), X).toarray(), Gaussian()(X))
    with pytest.raises(ValueError, match="diagonal of Gram exists only for a symmetric matrix; leave Y out"):
        Gram(Gaussian(), X, X).diagonal()


def test_adjoint_and_precision(X):
    gram = Gram(Gaussian(), X.astype(np.float32), X[:50].astype(np.float32))
    assert gram.dtype == np.float32
    product = gram.T @ np.ones(900)
    np.testing.assert_allclose(product, Gaussian()(X, X[:50]).T @ np.ones(900), rtol=1e-5)
    symmetric = Gram(Gaussian(), X)
    np.testing.assert_allclose(symmetric.T @ X, symmetric @ X, rtol=1e-12)


def test_progress_bar(X, capsys):
    Gram(Gaussian(), X, verbose=True) @ np.ones(900)
    assert "Gram product" in capsys.readouterr().err


def test_products_refuse_vectors_of_another_length(X):
    with pytest.raises(ValueError, match="dimension mismatch|mismatch"):
        Gram(Gaussian(), X) @ np.ones(3)


def test_slow_matrices_are_formed_for_products_where_they_fit(X, monkeypatch):
    monkeypatch.setattr(operator, "_MANY_VALUES", 900**2)
    wide = np.random.default_rng(1).normal(size=(900, 80))
    for kernel, rows, is_formed in ((Gaussian(), X, False), (Gaussian(), wide, True), (Multiquadric(), X, True)):
        gram = Gram(kernel, rows)
        whole = gram.for_products(8 * 900**2)
        assert (whole.formed is not None) == is_formed
        assert Gram(kernel, rows.astype(np.float32)).for_products(8 * 900**2).dtype == (
            np.float64 if is_formed else np.float32
        )
        np.testing.assert_allclose(whole @ rows[:, 0], kernel(rows) @ rows[:, 0], rtol=1e-10)
        assert gram.for_products(8 * 900**2 - 1) is gram
    few = Gram(Multiquadric(), X[:899])
    assert few.for_products(2**30) is few


@pytest.mark.parametrize("capacity", [2, 7, 900])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_row_cache_gives_the_rows_whatever_it_holds(X, capacity, dtype):
    K = Gaussian()(X)
    cache = RowCache(Gram(Gaussian(), X), memory=capacity * 900 * np.dtype(dtype).itemsize, dtype=dtype)
    assert cache.capacity == capacity
    rng = np.random.default_rng(0)
    for _ in range(60):
        wanted = rng.integers(30, size=rng.integers(1, 12))
        rows = cache.rows(wanted)
        assert rows.dtype == dtype
        np.testing.assert_allclose(rows, K[wanted], rtol=1e-12 if dtype == np.float64 else 1e-6, atol=1e-7)
    if capacity == 900:
        assert cache.n_computed == 30
        assert cache.n_found > 0


def test_row_cache_drops_what_was_used_longest_ago(X):
    cache = RowCache(Gram(Gaussian(), X), memory=3 * 900 * 8)
    cache.rows([0, 1, 2])
    cache.rows([0, 2])
    cache.rows([5])  # takes the place of row 1
    computed = cache.n_computed
    cache.rows([0, 2, 5])
    assert cache.n_computed == computed
    cache.rows([1])
    assert cache.n_computed == computed + 1


def test_row_cache_needs_room_for_two_rows(X):
    with pytest.raises(ValueError, match="memory of RowCache must hold two rows, got 7200; give 14400 bytes or more"):
        RowCache(Gram(Gaussian(), X), memory=7200)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_family_equals_its_members(X, dtype):
    X = X[:500].astype(dtype)
    kernels = [Gaussian(0.5), Gaussian([1.0, 2.0, 3.0]), Multiquadric(1.0), Linear(), Gaussian(2.0) ** 2]
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    for Y in (None, X[:50]):
        matrices = list(gram_family(kernels, X, Y))
        for kernel, K in zip(kernels, matrices, strict=True):
            assert K.dtype == dtype
            np.testing.assert_allclose(K, kernel(X, Y), rtol=tolerance, atol=tolerance)


def test_family_can_reuse_its_buffer(X):
    sums = [K.sum() for K in gram_family([Gaussian(1.0), Gaussian(2.0)], X, reuse_buffer=True)]
    np.testing.assert_allclose(sums, [Gaussian(1.0)(X).sum(), Gaussian(2.0)(X).sum()])
    first, second = gram_family([Gaussian(1.0), Gaussian(2.0)], X, reuse_buffer=True)
    assert first is second


def test_rows_by_mask_slice_and_from_the_end(X):
    gram, K = Gram(Gaussian(), X), Gaussian()(X)
    mask = np.arange(900) % 300 == 4
    for index in (mask, slice(5, 50, 7), [-1, 3], 7, range(3)):
        rows = np.atleast_1d(np.arange(900)[index])
        np.testing.assert_allclose(gram.block(index), K[rows], rtol=1e-12)
        np.testing.assert_allclose(RowCache(gram).rows(index), K[rows], rtol=1e-12)
    for bad in ([900], [1.7], [[0, 1]], "all", [True, False]):
        with pytest.raises(
            ValueError, match="(rows|indices) must hold whole numbers from -900 to 899, or a mask of 900"
        ):
            gram.block(bad)
        with pytest.raises(ValueError, match="indices must hold whole numbers"):
            RowCache(gram).rows(bad)


def test_negative_rows_do_not_confuse_the_cache(X):
    cache = RowCache(Gram(Gaussian(), X[:10]), memory=160)
    K = Gaussian()(X[:10])
    for index in ([-1], [0, 1], [9], [-2, 3], [8]):
        np.testing.assert_allclose(cache.rows(index), K[index], rtol=1e-12)


def test_a_matrix_of_one_row():
    assert RowCache(Gram(Gaussian(), [[1.0]])).rows([0]) == 1


def test_only_kernels_have_gram_matrices():
    with pytest.raises(TypeError, match="kernel of Gram must be a Kernel, got <function"):
        Gram(lambda x, y: 1.0, [[1.0]])


def test_widths_far_from_one(X):
    (K,) = gram_family([Gaussian(1e200)], X[:5])
    np.testing.assert_array_equal(K, np.ones((5, 5)))
