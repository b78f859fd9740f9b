import numpy as np
import pytest
from scipy import sparse

from mercer.graphs import NeighbourSearch, neighbours

rng = np.random.default_rng(0)
FEW_COLUMNS = rng.normal(size=(60, 3))
DUPLICATES = np.repeat(rng.integers(0, 3, size=(12, 2)).astype(float), 5, axis=0)
TABLES = {
    "plain": FEW_COLUMNS,
    "duplicates": DUPLICATES,
    "all_equal": np.full((60, 2), 0.1),
    "far_from_origin": 1e8 + FEW_COLUMNS,
    "tiny": 1e-170 * FEW_COLUMNS,
    "huge": 1e170 * FEW_COLUMNS,
    "tiny_beside_constant": np.column_stack([np.ones(60), 1e-170 * FEW_COLUMNS]),
    "near_duplicates": np.repeat(FEW_COLUMNS[:20], 3, axis=0) + 1e-11 * rng.normal(size=(60, 3)),
}


def slow_distances(X, Y):
    """Euclidean distances in the unit of the largest difference."""
    differences = X[:, None] - Y[None]
    unit = np.abs(differences).max() or 1.0
    return np.sqrt(np.sum((differences / unit) ** 2, axis=2)) * unit


@pytest.mark.parametrize("method", ["auto", "tree", "brute"])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [1, 7, 59])
def test_neighbours_of_rows_are_those_of_all_distances(name, method, k):
    X = TABLES[name]
    distances, indices = NeighbourSearch(X, method).of_rows(k)
    D = slow_distances(X, X)
    np.testing.assert_allclose(np.take_along_axis(D, indices, 1), distances, rtol=1e-12, atol=1e-14 * D.max())
    np.fill_diagonal(D, np.inf)
    assert distances.shape == indices.shape == (60, k)
    assert not np.any(indices == np.arange(60)[:, None])
    assert all(len(set(row)) == k for row in indices.tolist())
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :k], rtol=1e-9, atol=1e-14 * distances.max())


@pytest.mark.parametrize("method", ["tree", "brute"])
@pytest.mark.parametrize("name", TABLES)
def test_neighbours_of_new_rows(name, method):
    X = TABLES[name]
    new = X[:9] + 0.1 * (X[10:19] - X[20:29])
    distances, indices = NeighbourSearch(X, method).of(new, 4)
    D = slow_distances(new, X)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :4], rtol=1e-9, atol=1e-14 * D.max())
    np.testing.assert_allclose(np.take_along_axis(D, indices, 1), distances, rtol=1e-9, atol=1e-14 * D.max())


@pytest.mark.parametrize("method", ["tree", "brute"])
@pytest.mark.parametrize("name", TABLES)
def test_equal_rows_are_at_no_distance(name, method):
    X = TABLES[name]
    distances, found = NeighbourSearch(X, method).of(X, 1)
    np.testing.assert_array_equal(distances, 0.0)
    np.testing.assert_array_equal(X[found.ravel()], X)
    shift = np.ptp(X, axis=0).max() or 1.0
    assert np.all(NeighbourSearch(X, method).of(X + 2 * shift * np.eye(X.shape[1])[-1], 1)[0] > 0)


@pytest.mark.parametrize("name", ["plain", "duplicates", "tiny", "huge"])
def test_sparse_rows(name):
    X = TABLES[name] * (rng.uniform(size=TABLES[name].shape) < 0.6)
    search = NeighbourSearch(sparse.csr_array(X))
    assert search.method == "brute"
    D = slow_distances(X, X)
    np.testing.assert_array_equal(X[search.of(sparse.csr_array(X), 1)[1].ravel()], X)
    radius = float(np.quantile(D, 0.3))
    np.testing.assert_array_equal(search.within(sparse.csr_array(X), radius).toarray(), radius >= D)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(search.of_rows(5)[0], np.sort(D, axis=1)[:, :5], rtol=1e-9, atol=1e-14 * np.abs(X).max())


@pytest.mark.parametrize("method", ["tree", "brute"])
@pytest.mark.parametrize("name", TABLES)
def test_rows_within_a_radius(name, method):
    X = TABLES[name]
    D = slow_distances(X, X)
    radius = float(np.quantile(D, 0.3)) * (1 + 1e-9)
    found = NeighbourSearch(X, method).within(X, radius).toarray()
    np.testing.assert_array_equal(found, radius >= D)


def test_the_border_of_a_radius_is_inside():
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    assert NeighbourSearch(grid).within(grid, 1.0).nnz == 25 + 2 * 40


@pytest.mark.slow
def test_approximate_search_finds_most(monkeypatch):
    pytest.importorskip("pynndescent")
    monkeypatch.setattr(neighbours, "_SAMPLE", 100)
    d = 25
    X = rng.normal(size=(1500, d)) + 1e4
    search = NeighbourSearch(X, "approximate")
    exact, approximate = NeighbourSearch(X, "brute").of_rows(10), search.of_rows(10)
    assert search.method == "approximate"
    recall = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(exact[1].tolist(), approximate[1].tolist(), strict=True)]
    )
    assert recall > 0.9
    assert not np.any(approximate[1] == np.arange(1500)[:, None])
    differences = X[:, None] - X[approximate[1]]
    np.testing.assert_allclose(approximate[0], np.sqrt(np.sum(differences**2, axis=2)), rtol=1e-12)
    again = NeighbourSearch(X, "approximate").of_rows(10)
    np.testing.assert_array_equal(again[1], approximate[1])
    new = X[:50] + 0.01 * rng.normal(size=(50, d))
    assert np.mean(NeighbourSearch(X, "approximate").of(new, 1)[1].ravel() == np.arange(50)) > 0.9
    assert np.mean(search.of(X[:100], 1)[1].ravel() == np.arange(100)) > 0.9


def test_few_rows_are_never_searched_approximately():
    pytest.importorskip("pynndescent")
    assert NeighbourSearch(FEW_COLUMNS, "approximate").method == "tree"
    assert NeighbourSearch(sparse.csr_array(FEW_COLUMNS), "approximate").method == "brute"


def test_the_method_follows_the_intrinsic_dimension(monkeypatch):
    t = rng.uniform(size=(1500, 2))
    assert NeighbourSearch(np.tile(t, 20)).method == "tree"
    assert NeighbourSearch(np.zeros((1500, 3))).method == "tree"
    many = rng.normal(size=(1500, 30))
    assert NeighbourSearch(many).method == "brute"
    assert NeighbourSearch(1e200 * many).method == "brute"
    assert NeighbourSearch(many[:1000]).method == "tree"
    monkeypatch.setattr(neighbours, "_BRUTE_PRODUCTS", 1e7)
    assert NeighbourSearch(many, _exact=True).method == "brute"
    monkeypatch.setattr(neighbours, "find_spec", lambda name: object())
    assert NeighbourSearch(many).method == "approximate"
    monkeypatch.setattr(neighbours, "find_spec", lambda name: None)
    assert NeighbourSearch(many).method == "brute"
    with pytest.raises(ImportError, match="method='approximate' of NeighbourSearch needs pynndescent; install it"):
        NeighbourSearch(many, "approximate")


def test_new_rows_may_be_stored_otherwise():
    expected = NeighbourSearch(FEW_COLUMNS).of(FEW_COLUMNS[:5] + 0.1, 3)
    for rows in (FEW_COLUMNS, sparse.csr_array(FEW_COLUMNS), sparse.coo_matrix(FEW_COLUMNS)):
        for new in (FEW_COLUMNS[:5] + 0.1, sparse.coo_matrix(FEW_COLUMNS[:5] + 0.1)):
            distances, indices = NeighbourSearch(rows).of(new, 3)
            np.testing.assert_allclose(distances, expected[0], rtol=1e-12)
            np.testing.assert_array_equal(indices, expected[1])


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="method of NeighbourSearch must be one of .*, got 'ball'; 'auto'"):
        NeighbourSearch(FEW_COLUMNS, "ball")
    with pytest.raises(ValueError, match="must be 'brute' or 'auto' for sparse rows, got 'tree'; it needs dense"):
        NeighbourSearch(sparse.csr_array(FEW_COLUMNS), "tree")
    search = NeighbourSearch(FEW_COLUMNS)
    for k in (0, 60):
        with pytest.raises(ValueError, match=f"k of NeighbourSearch must be from 1 to 59, got {k}; there are no more"):
            search.of_rows(k)
    with pytest.raises(ValueError, match="k of NeighbourSearch must be from 1 to 60, got 61"):
        search.of(FEW_COLUMNS, 61)
    with pytest.raises(ValueError, match="X of NeighbourSearch must be of a size that can be squared"):
        search.of(1e160 * FEW_COLUMNS, 1)
