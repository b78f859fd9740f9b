"""The compiled parts beside their twins in NumPy."""

import numpy as np
import pytest

from mercer.graphs.neighbours_numba import TOGETHER, keep_smallest, sort_by_distance

pytestmark = pytest.mark.uncompiled  # also run without compilation

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n_columns", [TOGETHER, 5 * TOGETHER, 200])
@pytest.mark.parametrize("n_kept", [1, 6])
def test_keep_smallest(n_columns, n_kept):
    n_tiles = 4
    values = rng.normal(size=(9, n_tiles * n_columns)).astype(np.float32)
    values[3, ::2] = np.inf
    values[4] = 0.5
    kept, indices = np.full((9, n_kept), np.inf, dtype=np.float32), np.zeros((9, n_kept), dtype=np.int64)
    for tile in range(n_tiles):
        start = tile * n_columns
        keep_smallest(np.ascontiguousarray(values[:, start : start + n_columns]), start, kept, indices)
    np.testing.assert_array_equal(kept, np.sort(values, axis=1)[:, :n_kept])
    np.testing.assert_array_equal(np.take_along_axis(values, indices, 1), kept)
    assert all(len(set(row)) == n_kept for row in indices.tolist())


def test_sort_by_distance():
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(20, 3))
    Y[5] = X[0]
    indices = np.stack([rng.permutation(20)[:8] for _ in range(6)])
    indices[0, 3] = 5
    found, distances = indices.copy(), np.empty((6, 8))
    sort_by_distance(X, Y, found, distances)
    expected = np.linalg.norm(X[:, None] - Y[indices], axis=2)
    order = np.argsort(expected, axis=1, kind="stable")
    np.testing.assert_allclose(distances, np.take_along_axis(expected, order, 1), rtol=1e-14)
    np.testing.assert_array_equal(found, np.take_along_axis(indices, order, 1))
    assert distances[0, 0] == 0.0
