import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer.graphs import NeighbourSearch
from mercer.graphs.searches import Approximate, SparseBruteForce, Tree, index_type, lengths, measured, stored_like

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3)) * (rng.uniform(size=(70, 3)) < 0.7)
NEW = rng.normal(size=(9, 3))


@pytest.mark.parametrize("k", [1, 5, 70])
@pytest.mark.parametrize(("search", "stored"), [(Tree, np.asarray), (SparseBruteForce, sparse.csr_array)])
def test_exact_searches(search, stored, k):
    rows = stored(X)
    found = search(rows)
    for new in (rows, stored(NEW)):
        dense = new.toarray() if sparse.issparse(new) else new
        distances, indices = found.nearest(new, k)
        np.testing.assert_allclose(distances, np.sort(cdist(dense, X), axis=1)[:, :k], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(np.take_along_axis(cdist(dense, X), indices, 1), distances, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("stored", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_measured(stored):
    indices = np.stack([rng.permutation(70)[:6] for _ in range(9)]).astype(np.int32)
    distances, ordered = measured(stored(NEW), stored(X), indices)
    expected = np.take_along_axis(cdist(NEW, X), indices, 1)
    np.testing.assert_allclose(distances, np.sort(expected, axis=1), rtol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(cdist(NEW, X), ordered, 1), distances, rtol=1e-12)


def test_lengths_of_no_pairs():
    none = np.empty(0, dtype=np.intp)
    assert lengths(sparse.csr_array(NEW), none, sparse.csr_array(X), none).shape == (0,)


def test_storage():
    assert index_type(2**31 - 1) is np.int32
    assert index_type(2**31) is np.int64
    for new in (NEW, sparse.csr_array(NEW), sparse.coo_matrix(NEW)):
        assert isinstance(stored_like(new, X), np.ndarray)
        assert isinstance(stored_like(new, sparse.csr_matrix(X)), sparse.csr_array)
        np.testing.assert_array_equal(stored_like(new, X), NEW)


@pytest.mark.parametrize("method", ["tree", "brute"])
def test_searches_are_stored_without_their_trees(method):
    search = NeighbourSearch(X, method)
    stored = pickle.dumps(search)
    assert b"cKDTree" not in stored
    for found, expected in zip(pickle.loads(stored).of(NEW, 4), search.of(NEW, 4), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_approximate_searches_are_stored_without_their_index():
    search = Approximate(X)
    search._index = object()
    assert pickle.loads(pickle.dumps(search))._index is None
