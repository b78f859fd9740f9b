import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.graphs import brute
from mercer.graphs.brute import BruteForce

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(1300, 4))
TABLES = {
    "plain": ROWS,
    "one_column": ROWS[:, :1],
    "far_from_origin": 1e6 + ROWS,
    # Distances within the clusters are less than the rounding of single precision.
    "clusters_far_apart": ROWS[:, :3] * 1e-3 + 1e4 * rng.integers(0, 3, size=(1300, 3)),
    "near_duplicates": np.repeat(ROWS[:130], 10, axis=0) + 1e-12 * rng.normal(size=(1300, 4)),
    "grid": rng.integers(0, 3, size=(1300, 6)).astype(float),
    "duplicates": np.repeat(ROWS[:100], 13, axis=0),
    "all_equal": np.full((1300, 3), 0.1),
    "outlier": np.vstack([ROWS, np.full((1, 4), 1e12)]),
    "many_columns": rng.normal(size=(1300, 300)),
    "tiny": 1e-90 * ROWS,
    "huge": 1e90 * ROWS,
}


@pytest.mark.parametrize("k", [1, 9])
@pytest.mark.parametrize("name", TABLES)
def test_neighbours_are_those_of_all_distances(name, k):
    X = TABLES[name]
    new = X[::5] + 0.3 * (X[::5] - X[::-5])
    expected = np.sort(cdist(new, X), axis=1)[:, :k]
    distances, indices = BruteForce(X).nearest(new, k)
    np.testing.assert_allclose(distances, expected, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(new[:, None] - X[indices], axis=2), distances, rtol=1e-12)
    assert all(len(set(row)) == k for row in indices.tolist())


def test_most_rows_are_proved_in_single_precision(monkeypatch):
    search = BruteForce(ROWS)
    monkeypatch.setattr(BruteForce, "_nearest_in_double", None)
    search.nearest(ROWS, 10)
    search = BruteForce(TABLES["clusters_far_apart"])
    with pytest.raises(TypeError):
        search.nearest(TABLES["clusters_far_apart"], 10)


def test_all_rows_and_few_rows():
    few = ROWS[:13]
    distances, indices = BruteForce(few).nearest(few, 13)
    np.testing.assert_allclose(distances, np.sort(cdist(few, few), axis=1), rtol=1e-12)
    np.testing.assert_array_equal(np.sort(indices, axis=1), np.tile(np.arange(13), (13, 1)))
    np.testing.assert_array_equal(BruteForce(few[:1]).nearest(few, 1)[1], 0)


def test_new_rows_of_any_distance():
    search = BruteForce(ROWS)
    for scale in (1e3, 1e10, 1e30, 1e140):
        new = scale * np.eye(4)
        distances, indices = search.nearest(new, 3)
        np.testing.assert_allclose(distances, scale, rtol=0.1)
        np.testing.assert_allclose(np.linalg.norm(new[:, None] - ROWS[indices], axis=2), distances, rtol=1e-12)
    np.testing.assert_array_equal(search.nearest(ROWS + 1e-9, 1)[1].ravel(), np.arange(1300))


def test_rows_in_any_memory(monkeypatch):
    expected = BruteForce(ROWS).nearest(ROWS[:30], 5)
    only_read = ROWS.copy()
    only_read.flags.writeable = False
    for X in (np.asfortranarray(ROWS), only_read, np.repeat(ROWS, 2, axis=0)[::2]):
        for found, known in zip(BruteForce(X).nearest(X[:30], 5), expected, strict=True):
            np.testing.assert_array_equal(found, known)
    monkeypatch.setattr(brute, "_HEIGHT", 7)
    monkeypatch.setattr(brute, "_WIDTH", 24)
    np.testing.assert_array_equal(BruteForce(ROWS).nearest(ROWS[:30], 5)[1], expected[1])
