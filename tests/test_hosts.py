"""Rows in blocks: what a fit gets through the seam does not depend on where rows are, on threads, or on blocks."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from mercer import hosts
from mercer.hosts import ArrayRows, column_means, largest_deviation

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(1000, 3)), rng.normal(size=1000)
HEIGHTS = [None, 1, 3, 7, 999, 1000, 5000]


@pytest.mark.parametrize("height", HEIGHTS)
def test_sums_are_those_of_all_rows(height):
    products = ArrayRows(X, Y, height=height).reduce(lambda X, y: (X.T @ X, X.T @ y, len(X)))
    np.testing.assert_allclose(products[0], X.T @ X, rtol=1e-12)
    np.testing.assert_allclose(products[1], X.T @ Y, rtol=1e-10)
    assert products[2] == 1000


@pytest.mark.parametrize("height", HEIGHTS)
def test_functions_of_rows_come_in_the_order_of_rows(height):
    rows = ArrayRows(X, Y, height=height)
    np.testing.assert_array_equal(rows.map(lambda X, y, power: (X[:, 0] + y) ** power, 2), (X[:, 0] + Y) ** 2)
    first, second = rows.map(lambda X, y: (X, y))
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, Y)


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 4, 5, 8, 13, 64])
def test_neighbours_are_added_in_a_fixed_order_whatever_the_threads(monkeypatch, n_blocks):
    def pairs(names):
        if len(names) == 1:
            return names[0]
        return pairs(
            [f"({''.join(names[i : i + 2])})" if i + 1 < len(names) else names[i] for i in range(0, len(names), 2)]
        )

    numbers = np.arange(n_blocks)
    for n_threads in (1, 4):
        monkeypatch.setattr(hosts, "allowed_threads", lambda n_threads=n_threads: n_threads)
        rows = ArrayRows(numbers, height=1)
        added = rows.reduce(lambda block: f"{block[0]},", add=lambda a, b: f"({a}{b})")
        assert added == pairs([f"{i}," for i in numbers])


def test_threads_do_not_change_a_bit(monkeypatch):
    results = []
    for n_threads in (1, 2, 4):
        monkeypatch.setattr(hosts, "allowed_threads", lambda n_threads=n_threads: n_threads)
        results.append(ArrayRows(X, height=7).reduce(lambda X: X.T @ X))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_parts_are_added_one_by_one():
    class Moments(NamedTuple):
        n: int
        sums: np.ndarray

    moments = ArrayRows(X, height=10).reduce(lambda X: Moments(len(X), X.sum(axis=0)))
    assert isinstance(moments, Moments)
    assert moments.n == 1000
    np.testing.assert_allclose(moments.sums, X.sum(axis=0), rtol=1e-10)


def test_another_operation_than_the_sum():
    assert ArrayRows(X, height=10).reduce(np.max, add=max) == X.max()


@pytest.mark.parametrize("kind", ["float32", "read-only map", "strided", "sparse"])
def test_rows_may_lie_anywhere(kind, tmp_path):
    if kind == "read-only map":
        np.save(tmp_path / "X.npy", X)
        table = np.load(tmp_path / "X.npy", mmap_mode="r")
    else:
        table = {"float32": X.astype(np.float32), "strided": np.asfortranarray(X)[::2], "sparse": sparse.csr_array(X)}[
            kind
        ]
    dense = table.toarray() if kind == "sparse" else np.asarray(table)
    rows = ArrayRows(table, height=10)
    product = rows.reduce(lambda X: X.T @ X)
    product = product.toarray() if kind == "sparse" else product
    np.testing.assert_allclose(product, dense.T @ dense, rtol=1e-4 if kind == "float32" else 1e-10)
    positions, some = rows.sample(20, random_state=0)
    np.testing.assert_array_equal(some.toarray() if kind == "sparse" else some, dense[positions])
    if kind != "sparse":
        mapped = rows.map(lambda X: X)
        assert mapped.dtype == table.dtype
        np.testing.assert_array_equal(mapped, dense)


def test_tables_that_are_not_there():
    rows = ArrayRows(X, None, height=100)
    assert rows.map(lambda X, weights: np.full(len(X), weights is None)).all()
    assert rows.sample(3, random_state=0)[2] is None


def test_no_rows_are_one_empty_block():
    rows = ArrayRows(X[:0])
    np.testing.assert_array_equal(rows.reduce(lambda X: X.sum(axis=0)), np.zeros(3))
    assert rows.map(lambda X: X).shape == (0, 3)
    assert len(rows.sample(5)[0]) == 0


def test_samples_depend_on_the_seed_alone():
    draws = [ArrayRows(X, Y, height=height).sample(50, random_state=3) for height in (7, 100)]
    for first, second in zip(*draws, strict=True):
        np.testing.assert_array_equal(first, second)
    positions, rows, targets = draws[0]
    assert np.all(np.diff(positions) > 0)
    np.testing.assert_array_equal(rows, X[positions])
    np.testing.assert_array_equal(targets, Y[positions])
    np.testing.assert_array_equal(ArrayRows(X).sample(10**6)[0], np.arange(1000))


def test_errors_of_a_block_are_raised():
    def fails(X):
        raise ValueError("no luck")

    with pytest.raises(ValueError, match="no luck"):
        ArrayRows(X, height=10).reduce(fails)


def test_bad_input():
    with pytest.raises(ValueError, match=r"tables of ArrayRows must have the same number of rows, got \[3, 1000\]"):
        ArrayRows(X, X[:3])
    with pytest.raises(ValueError, match="tables of ArrayRows must have .* give at least one table"):
        ArrayRows(None)
    with pytest.raises(ValueError, match="height of ArrayRows must be at least 1, got 0"):
        ArrayRows(X, height=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("height", [None, 7])
def test_means_are_those_of_known_entries(dtype, height):
    holes = X.astype(dtype)
    holes[rng.random(X.shape) < 0.2] = np.nan
    rows = ArrayRows(holes, height=height)
    means = column_means(rows)
    assert means.dtype == np.float64
    np.testing.assert_allclose(means, np.nanmean(holes.astype(np.float64), axis=0), rtol=1e-12)
    assert largest_deviation(rows, means) == np.nanmax(np.abs(holes - means))
    holes[:, 1] = np.nan
    assert np.isnan(column_means(ArrayRows(holes))).tolist() == [False, True, False]


def test_means_of_large_and_tiny_numbers():
    for scale in (1e300, 1e-300):
        np.testing.assert_allclose(column_means(ArrayRows(scale * X[:5])), scale * X[:5].mean(axis=0), rtol=1e-12)
